"""What may be the name of a step, the id of an instance, the type of an event (areas naming, ids, events)."""

from __future__ import annotations

import re
from typing import Final

from stepwell.bindings.errors import WorkflowError, WorkflowFatalError
from stepwell.bindings.values.texts import javascript_text
from stepwell.emulator.limits import Limits

_IDENTIFIER: Final = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9-_]*\Z")
#: Ids that may be addressed also hold what cron expressions hold.
_ADDRESSABLE: Final = re.compile(r"[a-zA-Z0-9, */#_-]{1,271}\Z")
_RESERVED: Final = frozenset({"batch", "terminate", "terminateAll"})
_SYSTEM: Final = re.compile(r"cf_[0-9a-f]{64}\Z")
_CONTROL: Final = re.compile("[\x00-\x1f]")


def step_name(name: object, longest: int) -> str:
    """The name of a step, checked. Raises `WorkflowFatalError`. `longest` counts UTF-16 units."""
    # Half of the limit in characters is below it in units, whatever they are.
    fits = isinstance(name, str) and (len(name) <= longest // 2 or utf16_units(name) <= longest)
    if isinstance(name, str) and fits and not _CONTROL.search(name):
        return _well_formed(name)
    shown = javascript_text(name)
    raise WorkflowFatalError(
        f'Step name "{shown}" exceeds max length ({longest} chars) or invalid characters found'
    )


def _well_formed(text: str) -> str:
    """As JavaScript writes it in UTF-8: half of a surrogate pair becomes U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def is_identifier(text: object, longest: int | None) -> bool:
    """Whether it has the form that ids, event types and names of Workflows share."""
    if not isinstance(text, str) or (longest is not None and len(text) > longest):
        return False
    return _IDENTIFIER.match(text) is not None


def is_reserved(instance_id: str) -> bool:
    """Ids that the REST API or the system uses; only the object form of createBatch refuses them."""
    return instance_id in _RESERVED or _SYSTEM.match(instance_id) is not None


def is_addressable(instance_id: object) -> bool:
    """Whether an instance may have this id, those made by a schedule included."""
    return isinstance(instance_id, str) and _ADDRESSABLE.match(instance_id) is not None


def event_type(kind: object, limits: Limits) -> str:
    """The type of an event or a wait, checked. Raises `WorkflowError` (workflow.invalid_event_type)."""
    if limits.event_type_length is None:
        return _well_formed(kind) if isinstance(kind, str) else javascript_text(kind)
    if not is_identifier(kind, limits.event_type_length):
        raise WorkflowError(
            f'(workflow.invalid_event_type) Event type "{javascript_text(kind)}" is invalid: expected at most '
            f"{limits.event_type_length} letters, digits, dashes and underscores, not starting with a dash",
            code="workflow.invalid_event_type",
        )
    return str(kind)
