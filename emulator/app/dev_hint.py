"""What the scripts of a project run: a dev server, which `stepwell dev` would better start, or vitest."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_SCRIPT: Final = "dev"
#: Programs that serve an app by themselves, at the beginning of a command.
_SERVERS: Final = re.compile(
    r"(?:^|&&|\s)(?:npx\s+)?(vite|astro|react-router|svelte-kit|next|nuxt|nuxi|vinxi|waku|remix|rwsdk)\b(?! build)"
)
_MANAGERS: Final = (("pnpm-lock.yaml", "pnpm run"), ("yarn.lock", "yarn"), ("package-lock.json", "npm run"))


def dev_server_hint(folder: Path) -> str | None:
    """The line that names the dev server of `package.json` and the command for it; None without one."""
    match = _SERVERS.search(_scripts(folder).get(_SCRIPT, ""))
    if match is None:
        return None
    manager = next((run for lock, run in _MANAGERS if (folder / lock).exists()), "npm run")
    return (
        f'package.json starts {match[1]}. To run your app with it, use "stepwell dev -- {manager} {_SCRIPT}"; '
        "this command runs the Worker alone."
    )


def runs_vitest(command: Sequence[str], folder: Path) -> bool:
    """Whether a command is vitest, or a script of `package.json` that starts it."""
    if any("vitest" in word for word in command):
        return True
    words = [word for word in command if word not in ("run", "run-script", "--")]
    name = words[1] if len(words) > 1 and words[0] in ("npm", "pnpm", "yarn") else ""
    return "vitest" in _scripts(folder).get("test" if name == "t" else name, "")


def _scripts(folder: Path) -> dict[str, str]:
    """The scripts of `package.json`; those that are no texts are left out."""
    try:
        scripts = json.loads((folder / "package.json").read_text(encoding="utf-8"))["scripts"]
        return {name: text for name, text in scripts.items() if isinstance(text, str)}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return {}
