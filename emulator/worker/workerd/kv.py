"""KV as wrangler keeps it: Miniflare's own Worker in our workerd, so that both read and write the same files.

The Worker that workerd brings itself stores in tables of another shape, which wrangler cannot read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stepwell.emulator.worker.workerd.capnp import Node, Verbatim, quoted

#: The service of a namespace is called so, with the id of the namespace behind a colon.
KV_SERVICE: Final = "stepwell-kv"
_OBJECT_SERVICE: Final = "stepwell-kv-object"
_CLASS: Final = "KVNamespaceObject"
_DATE: Final = "2023-07-24"  # Miniflare's own for this Worker
#: A static or dynamic import, and the name of its module.
_IMPORTED: Final = re.compile(r"""(?:^|[;}\s])(?:from|import)\s*\(?\s*["']([^"'\n]+)["']""", re.MULTILINE)
#: How the names of modules begin that the runtime itself has.
_BUILT_IN: Final = ("node:", "node-internal:", "cloudflare:", "workerd:")

_WORKERS: Final = Path("dist") / "src" / "workers"


def kv_namespace_id(entry: Mapping[str, Any]) -> str:
    """The namespace of a binding on this machine, as wrangler chooses it."""
    return str(entry.get("preview_id") or entry.get("id") or entry["binding"])


@dataclass(frozen=True, slots=True)
class WranglersKv:
    """Scripts of an installed Miniflare: what finds the object of a namespace, the object, what both import."""

    entry: Path
    object: Path
    imported: Mapping[str, Path]

    @staticmethod
    def of(miniflare: Path | None) -> WranglersKv | None:
        """None where Miniflare is not installed, or has other scripts than those known here."""
        if miniflare is None:
            return None
        workers = miniflare / _WORKERS
        shared = workers / "shared"
        imported = {"miniflare:shared": shared / "index.worker.js", "miniflare:zod": shared / "zod.worker.js"}
        found = WranglersKv(shared / "object-entry.worker.js", workers / "kv" / "namespace.worker.js", imported)
        return found if found._is_known() else None

    def _is_known(self) -> bool:
        """Whether the scripts are of the kind that the configuration here is for.

        One that imports a module we do not give, or has other names, would keep the whole runtime from starting.
        """
        try:
            entry, held, *shared = (file.read_text() for file in (self.entry, self.object, *self.imported.values()))
        except (OSError, UnicodeDecodeError):
            return False
        modules = {module for text in (entry, held, *shared) for module in _IMPORTED.findall(text)}
        has_names = _CLASS in held
        return has_names and all(name in self.imported or name.startswith(_BUILT_IN) for name in modules)

    def extension(self, folder: Path) -> dict[str, Node]:
        """The modules that the scripts import by name."""
        return {"modules": [{**_module(file, folder), "name": name} for name, file in self.imported.items()]}

    def services(self, namespaces: Iterable[str], disk: str, folder: Path) -> Iterator[dict[str, Node]]:
        """One service for each namespace, and the one that holds them on `disk`. Paths are relative to `folder`."""
        for namespace in namespaces:
            target: dict[str, Node] = {"className": _CLASS, "serviceName": _OBJECT_SERVICE}
            worker: dict[str, Node] = {
                "modules": [_module(self.entry, folder)],
                "compatibilityDate": _DATE,
                "compatibilityFlags": ["nodejs_compat", "experimental"],
                "bindings": [
                    {"name": "MINIFLARE_NAMESPACE", "text": namespace},
                    {"name": "MINIFLARE_OBJECT", "durableObjectNamespace": target},
                ],
            }
            yield {"name": f"{KV_SERVICE}:{namespace}", "worker": worker}
        held: dict[str, Node] = {
            "modules": [_module(self.object, folder)],
            "compatibilityDate": _DATE,
            "compatibilityFlags": ["nodejs_compat", "experimental"],
            "durableObjectNamespaces": [{"className": _CLASS, "uniqueKey": f"miniflare-{_CLASS}"}],
            "durableObjectStorage": {"localDisk": disk},
            "bindings": [{"name": "MINIFLARE_BLOBS", "service": disk}],
        }
        yield {"name": _OBJECT_SERVICE, "worker": held}


def _module(script: Path, folder: Path) -> dict[str, Node]:
    return {"name": script.name, "esModule": Verbatim(f"embed {quoted(os.path.relpath(script, folder))}")}
