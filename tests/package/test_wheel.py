"""What the wheel and the source distribution contain."""

from __future__ import annotations

import re
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

from tests.package.conftest import ROOT, Installed

#: What may be in a wheel, as patterns of whole paths.
ALLOWED = (
    r"stepwell/(__init__|__main__|testing)\.py",
    r"stepwell/(emulator/|bindings/)?py\.typed",
    r"stepwell/(emulator|bindings)/([a-z_]+/)*[a-z_]+\.py",
    r"stepwell/bindings/javascript/([a-z]+/)?[a-z_]+\.mjs",
    r"stepwell/emulator/storage/sql/(migrations/\d{4}_)?[a-z]+\.sql",
    r"stepwell/emulator/dashboard/templates/[a-z_/]+\.html",
    r"stepwell/emulator/dashboard/static/((workers/)?[a-z]+\.js|icon\.svg|css/\d-[a-z]+\.css)",
    r"stepwell/emulator/cli/templates/(python|typescript)/.+",
    r"stepwell/emulator/testing/contract/suite/.+\.(capnp|js|json|jsonc|md|py|toml)",
    r"stepwell-[\d.]+\.dist-info/(METADATA|RECORD|WHEEL|entry_points\.txt|licenses/LICENSE)",
)


def names(installed: Installed) -> set[str]:
    (wheel,) = installed.dist.glob("*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_contains_nothing_but_the_product(installed: Installed) -> None:
    allowed = re.compile("|".join(ALLOWED))

    assert [name for name in names(installed) if not allowed.fullmatch(name)] == []


def test_every_file_of_the_product_is_in_the_wheel(installed: Installed) -> None:
    folders = {"emulator": "stepwell/emulator", "bindings": "stepwell/bindings", "stepwell": "stepwell"}
    files = {
        f"{target}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, target in folders.items()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not {"__pycache__", ".mypy_cache"} & set(path.parts)
    }

    assert files - names(installed) == set()


def test_a_wheel_can_be_built_from_the_source_distribution_without_links(installed: Installed) -> None:
    (sdist,) = installed.dist.glob("*.tar.gz")  # the wheel beside it was built from it

    with tarfile.open(sdist) as archive:
        assert [member.name for member in archive if member.issym() or member.islnk()] == []


def test_the_metadata_names_licence_links_and_pythons(installed: Installed) -> None:
    (wheel,) = installed.dist.glob("*.whl")
    archive = zipfile.ZipFile(wheel)
    (path,) = (name for name in archive.namelist() if name.endswith("METADATA"))
    metadata = Parser().parsestr(archive.read(path).decode())

    assert metadata["License-File"] == "LICENSE"
    assert {entry.split(",")[0] for entry in metadata.get_all("Project-URL", [])} >= {
        "Source",
        "Issues",
        "Changelog",
    }
    assert metadata["Requires-Python"] == ">=3.11"


def test_links_of_the_readme_work_on_a_package_index(installed: Installed) -> None:
    (wheel,) = installed.dist.glob("*.whl")
    archive = zipfile.ZipFile(wheel)
    (path,) = (name for name in archive.namelist() if name.endswith("METADATA"))
    readme = Parser().parsestr(archive.read(path).decode()).get_payload()

    targets = re.findall(r"\]\(([^)\s]+)\)", str(readme))

    assert targets
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []


def test_the_only_import_name_is_stepwell(installed: Installed) -> None:
    assert {Path(name).parts[0] for name in names(installed) if ".dist-info" not in name} == {"stepwell"}
