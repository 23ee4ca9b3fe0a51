"""Whether a project has a dev server of its own, which `stepwell dev` would better run."""

from __future__ import annotations

import json
import re
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
    try:
        scripts = json.loads((folder / "package.json").read_text(encoding="utf-8")).get("scripts")
        match = _SERVERS.search(scripts.get(_SCRIPT, ""))
    except (OSError, ValueError, AttributeError, TypeError):
        return None
    if match is None:
        return None
    manager = next((run for lock, run in _MANAGERS if (folder / lock).exists()), "npm run")
    return (
        f'package.json starts {match[1]}. To run your app with it, use "stepwell dev -- {manager} {_SCRIPT}"; '
        "this command runs the Worker alone."
    )
