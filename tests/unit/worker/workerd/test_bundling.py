from __future__ import annotations

from pathlib import Path

from stepwell.emulator.worker.workerd.bundling import arguments, write_entry
from tests.unit.worker.workerd.conftest import MakeConfig


def test_our_setup_is_evaluated_before_the_users_module(make_config: MakeConfig, tmp_path: Path) -> None:
    config = make_config()

    text = write_entry(config, tmp_path / "out").read_text()

    assert text.index("setup.mjs") < text.index(str(config.main))
    assert "export default user.default ?? {};" in text


def test_what_the_project_says_about_bundling_is_passed_on(make_config: MakeConfig) -> None:
    config = make_config(
        define={"VERSION": '"1"'},
        alias={"old": "./src/new.ts", "pkg": "other"},
        minify=True,
        tsconfig="tsconfig.worker.json",
    )

    given = arguments(config, Path("entry.mjs"), Path("out"))

    assert '--define:VERSION="1"' in given
    assert f"--alias:old={config.folder / './src/new.ts'}" in given
    assert "--alias:pkg=other" in given
    assert "--minify" in given
    assert f"--tsconfig={config.folder / 'tsconfig.worker.json'}" in given


def test_only_with_nodejs_compat_are_bare_names_of_node_left_to_workerd(make_config: MakeConfig) -> None:
    plain = arguments(make_config("a"), Path("e"), Path("o"))
    with_node = arguments(make_config("b", compatibility_flags=["nodejs_compat"]), Path("e"), Path("o"))

    assert "--external:fs" not in plain
    assert "--external:fs" in with_node
    assert any(argument.startswith("--banner:js=var require") for argument in with_node)
