"""The documentation as something to try: every example is run."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from stepwell.emulator.config import open_project
from stepwell.emulator.config.problems import Problems
from stepwell.emulator.config.settings import file_layer, resolve_settings
from stepwell.emulator.limits import Limits
from tests.docs.markdown import ROOT, Block, blocks, pages
from tests.docs.sessions import commands, follow
from tests.e2e.conftest import dev as dev  # the fixture
from tests.e2e.process import DevProcess

OURS = [page for page in pages() if page.name not in ("javascript.md", "testing.md")]
#: How the blocks of a language are tried; `text` are drawings and output that a session checks.
TRIED = {"sh", "console", "toml", "text", "python"}
SAMPLES = ROOT / "fixtures" / "workers"


def found(page: Path, *languages: str) -> list[Block]:
    return [block for block in blocks(page.read_text(encoding="utf-8")) if block.language in languages]


@pytest.mark.parametrize("page", OURS, ids=lambda page: page.name)
def test_every_example_is_of_a_kind_that_is_tried(page: Path) -> None:
    assert {block.language for block in blocks(page.read_text(encoding="utf-8"))} <= TRIED


@pytest.mark.skipif(shutil.which("curl") is None or shutil.which("bash") is None, reason="needs curl and bash")
def test_the_calls_of_the_http_api_page_are_answered_as_it_says(dev: Callable[..., DevProcess]) -> None:
    server = dev(SAMPLES / "py-orders")

    for block in found(ROOT / "docs" / "http-api.md", "console"):
        for command in commands(block.text):
            follow(command, server)


def test_the_settings_file_of_the_page_is_one_that_is_read(tmp_path: Path) -> None:
    (block,) = found(ROOT / "docs" / "settings.md", "toml")
    (tmp_path / "stepwell.toml").write_text(block.text, encoding="utf-8")
    problems = Problems()

    layer = file_layer(tmp_path, problems)
    settings = resolve_settings(tmp_path, tmp_path / "wrangler.jsonc", (layer,), problems)

    assert problems.errors == []
    assert settings.port == tomllib.loads(block.text)["port"]
    assert settings.limits == {"steps": 20, "step_result_bytes": 2 * 1024 * 1024}
    assert Limits.profile(settings.limits_profile).with_overrides(settings.limits).steps == 20
    assert settings.compat.waiting_status is False


CONFIGS = sorted([*SAMPLES.glob("*/wrangler.*"), *SAMPLES.glob("*/*/wrangler.*")])


@pytest.mark.parametrize("folder", sorted(SAMPLES.glob("*")), ids=lambda path: path.name)
def test_a_sample_has_a_readme_of_three_lines(folder: Path) -> None:
    lines = [line for line in (folder / "README.md").read_text(encoding="utf-8").splitlines() if line]

    assert lines[0] == f"# {folder.name}"
    assert len(lines) == 3


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: str(path.relative_to(SAMPLES)))
def test_the_configuration_of_a_sample_is_named_like_it_and_gives_no_warnings(config: Path) -> None:
    opened = open_project(config.parent, environ={})

    assert opened.project.config.name == config.parent.name
    assert opened.project.warnings == ()


def test_the_bodies_in_the_samples_readmes_are_json() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "fixtures" / "workers").glob("*/README.md")]
    bodies = [part[part.index("{") :] for text in texts for part in text.split("`")[1::2] if "{" in part]

    assert len(bodies) >= 5
    assert all(isinstance(json.loads(body), dict) for body in bodies)
