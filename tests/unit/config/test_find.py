"""Which configuration file is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stepwell.emulator.config import ConfigError, find_config


def put(path: Path, text: str = "{}") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_file_of_the_folder_is_found(tmp_path: Path) -> None:
    config = put(tmp_path / "wrangler.jsonc")

    assert find_config(tmp_path).path == config


def test_the_search_goes_upward(tmp_path: Path) -> None:
    config = put(tmp_path / "wrangler.toml")
    (tmp_path / "a" / "b").mkdir(parents=True)

    found = find_config(tmp_path / "a" / "b")

    assert found.path == config
    assert found.folder == tmp_path


@pytest.mark.parametrize(
    ("nearer", "farther"),
    [
        ("wrangler.toml", "wrangler.json"),
        ("wrangler.toml", "wrangler.jsonc"),
        ("wrangler.jsonc", "wrangler.json"),
    ],
)
def test_a_name_is_searched_all_the_way_up_before_the_next_one(tmp_path: Path, nearer: str, farther: str) -> None:
    put(tmp_path / "a" / nearer)
    config = put(tmp_path / farther)

    assert find_config(tmp_path / "a").path == config


def test_a_folder_with_the_name_of_a_configuration_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "wrangler.json").mkdir()
    config = put(tmp_path / "wrangler.toml")

    assert find_config(tmp_path).path == config


def test_a_given_file_ends_the_search(tmp_path: Path) -> None:
    put(tmp_path / "wrangler.jsonc")
    config = put(tmp_path / "other" / "my.jsonc")

    found = find_config(tmp_path, config)

    assert found.path == config
    assert found.folder == tmp_path / "other"


def test_a_file_may_stand_in_the_place_of_the_folder(tmp_path: Path) -> None:
    config = put(tmp_path / "my.toml")

    assert find_config(config).path == config


def test_a_relative_file_counts_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = put(tmp_path / "my.toml")
    monkeypatch.chdir(tmp_path)

    assert find_config(Path("elsewhere"), Path("my.toml")).path == config


def test_no_configuration_at_all_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"No wrangler\.jsonc.*was found in .*\n.*stepwell init"):
        find_config(tmp_path)


def test_a_given_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Configuration file .*nope\.jsonc not found"):
        find_config(tmp_path, tmp_path / "nope.jsonc")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Folder .*nope not found"):
        find_config(tmp_path / "nope")


class TestRedirect:
    """A build tool points to the configuration that it wrote."""

    def test_the_redirect_is_followed_and_the_project_stays_where_it_is(self, tmp_path: Path) -> None:
        own = put(tmp_path / "wrangler.jsonc")
        built = put(tmp_path / "dist" / "wrangler.json")
        put(tmp_path / ".wrangler/deploy/config.json", json.dumps({"configPath": "../../dist/wrangler.json"}))

        found = find_config(tmp_path)

        assert (found.path, found.user_path) == (built, own)
        assert found.redirected
        assert found.folder == tmp_path

    def test_it_counts_without_a_configuration_of_the_user(self, tmp_path: Path) -> None:
        built = put(tmp_path / "dist" / "wrangler.json")
        put(tmp_path / ".wrangler/deploy/config.json", json.dumps({"configPath": "../../dist/wrangler.json"}))

        assert find_config(tmp_path).path == built

    def test_a_given_file_is_not_redirected(self, tmp_path: Path) -> None:
        own = put(tmp_path / "wrangler.jsonc")
        put(tmp_path / ".wrangler/deploy/config.json", "nonsense")

        assert not find_config(tmp_path, own).redirected

    @pytest.mark.parametrize("content", ["{}", "[]", '{"configPath": 5}', '{"configPath": ""}'])
    def test_a_redirect_without_a_path_is_refused(self, tmp_path: Path, content: str) -> None:
        put(tmp_path / ".wrangler/deploy/config.json", content)

        with pytest.raises(ConfigError, match='the required "configPath" property was not found'):
            find_config(tmp_path)

    def test_a_redirect_that_cannot_be_read_is_refused(self, tmp_path: Path) -> None:
        put(tmp_path / ".wrangler/deploy/config.json", "{")

        with pytest.raises(ConfigError, match="Failed to parse the deploy configuration file"):
            find_config(tmp_path)

    def test_a_redirect_to_nowhere_is_refused(self, tmp_path: Path) -> None:
        put(tmp_path / ".wrangler/deploy/config.json", json.dumps({"configPath": "gone.json"}))

        with pytest.raises(ConfigError, match=r"it points to, .*gone\.json\", does not exist"):
            find_config(tmp_path)

    def test_a_redirect_that_does_not_lie_beside_the_configuration_is_refused(self, tmp_path: Path) -> None:
        put(tmp_path / "app" / "wrangler.jsonc")
        put(tmp_path / "built.json")
        put(tmp_path / ".wrangler/deploy/config.json", json.dumps({"configPath": "../../built.json"}))

        with pytest.raises(ConfigError, match="do not share the same base path"):
            find_config(tmp_path / "app")
