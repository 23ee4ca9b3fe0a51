"""`env`: vars and bindings as attributes, and what stands for a binding that this host does not have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from stepwell.bindings.binding_kinds import has_method
from stepwell.bindings.errors import ErrorInfo, JsException
from stepwell.bindings.values import JsDict


class Env:
    """Attribute access to vars, secrets and bindings; a name that is not there raises `AttributeError`."""

    def __init__(self, members: Mapping[str, Any]) -> None:
        self.__dict__.update(members)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"env has no '{name}': declare it in the wrangler configuration (vars, workflows, ...) or in .dev.vars",
            name=name,
            obj=self,
        )

    def __repr__(self) -> str:
        # No values: they may be secrets.
        return f"<env with {', '.join(sorted(self.__dict__)) or 'nothing'}>"


@contextmanager
def patched(env: Env, members: Mapping[str, Any] | Sequence[tuple[str, Any]]) -> Iterator[None]:
    """Other members for the length of a `with` block: `workers.patch_env`."""
    before = dict(env.__dict__)
    env.__dict__.update(members)
    try:
        yield
    finally:
        env.__dict__.clear()
        env.__dict__.update(before)


class MissingBinding:
    """A binding that needs Cloudflare's runtime: it exists, and says what is missing when it is used."""

    __slots__ = ("_kind", "_name", "_why")

    def __init__(self, name: str, kind: str, why: str) -> None:
        self._name = name
        self._kind = kind
        self._why = why

    def _refuse(self, use: str) -> NoReturn:
        text = f"env.{self._name}{use}: the binding {self._name} ({self._kind}) is not available here. {self._why}"
        raise JsException(ErrorInfo("Error", text))

    def __getattr__(self, name: str) -> Any:
        """The method, which says what is missing when it is called; `hasattr` answers as it would on Cloudflare."""
        if name.startswith("__") or not has_method(self._kind, name):
            raise AttributeError(f"a binding of the kind {self._kind} has no {name!r}", name=name, obj=self)

        def method(*_: Any, **__: Any) -> NoReturn:
            self._refuse(f".{name}()")

        return method

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse("()")

    def __getitem__(self, key: Any) -> NoReturn:
        self._refuse(f"[{key!r}]")

    def __repr__(self) -> str:
        return f"<binding {self._name} ({self._kind}), not available>"


def js_value(value: Any) -> Any:
    """JSON data of the configuration as user code sees it: objects with attribute access."""
    if isinstance(value, Mapping):
        return JsDict((key, js_value(item)) for key, item in value.items())
    return [js_value(item) for item in value] if isinstance(value, list | tuple) else value
