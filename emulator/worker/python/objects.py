"""The Durable Objects of one load of a Python Worker: a Python object for each that the runtime has in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from stepwell.bindings.entrypoints import DurableObjectContext
from stepwell.bindings.object_ids import DurableObjectId

if TYPE_CHECKING:
    from stepwell.bindings.durable import DurableObjectState
    from stepwell.bindings.held import Reach


class _InMemory(NamedTuple):
    token: str
    instance: Any
    state: DurableObjectState


class PythonObjects:
    """Makes an object when the runtime's is new, and gives the same one until the runtime has another."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str], _InMemory] = {}

    async def entered(self, kind: type, target: Mapping[str, Any], env: Any, reach: Reach) -> Any:
        """The object that an event is for, ready to take it. Raises what its constructor raises.

        `target` is {"class", "id", "name", "token"}; another token means that the runtime's object is new.
        """
        from stepwell.bindings.durable import DurableObjectState

        key = (target["class"], target["id"])
        found = self._objects.get(key)
        if found is None or found.token != target["token"]:
            state = DurableObjectState(reach, target["class"], DurableObjectId(target["id"], target.get("name")))
            found = _InMemory(target["token"], kind(DurableObjectContext(state), env), state)
            self._objects[key] = found
        try:
            await found.state.entered()
        except BaseException:
            self._objects.pop(key, None)  # an object that failed to begin is made anew
            raise
        return found.instance
