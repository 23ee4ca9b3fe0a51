"""Cloudflare Workflows on your own machine: the one name that an installed Stepwell adds.

Installed, `stepwell.emulator` and `stepwell.bindings` are folders beside this file. In a checkout they are at the
top level of the repository, so its root joins the places where this package looks for its parts.
"""

from pathlib import Path

_HERE = Path(__file__).parent
if not (_HERE / "emulator").is_dir():
    __path__.append(str(_HERE.parent))
