"""The other bindings: kinds, their shape in the file, and their names. Stepwell hands them on as they are.

Only the shape is checked, so that nothing behind can stumble over it; wrangler and workerd check the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from stepwell.emulator.config.checks import Entry, check_array, check_object, is_object
from stepwell.emulator.config.problems import Problems, shown

Shape = Literal["list", "object", "bindings", "queues"]


class Kind(NamedTuple):
    """`label` is wrangler's name for the kind. `name_key` is the key of an entry that holds the binding's name.

    Shapes: a list of entries, one object, an object with a list `bindings`, and the one of queues.
    """

    key: str
    label: str
    shape: Shape = "list"
    name_key: str = "binding"


# In the order in which wrangler names them in its messages.
KINDS: Final = (
    Kind("durable_objects", "Durable Object", "bindings", "name"),
    Kind("kv_namespaces", "KV Namespace"),
    Kind("send_email", "Send Email", name_key="name"),
    Kind("queues", "Queue", "queues"),
    Kind("d1_databases", "D1 Database"),
    Kind("vectorize", "Vectorize Index"),
    Kind("ai_search_namespaces", "AI Search Namespace"),
    Kind("ai_search", "AI Search Instance"),
    Kind("agent_memory", "Agent Memory"),
    Kind("hyperdrive", "Hyperdrive Config"),
    Kind("r2_buckets", "R2 Bucket"),
    Kind("logfwdr", "logfwdr", "bindings", "name"),
    Kind("services", "Worker"),
    Kind("analytics_engine_datasets", "Analytics Engine Dataset"),
    Kind("browser", "Browser Run", "object"),
    Kind("analytics", "Analytics SQL", "object"),
    Kind("ai", "AI", "object"),
    Kind("images", "Images", "object"),
    Kind("stream", "Stream", "object"),
    Kind("media", "Media", "object"),
    Kind("version_metadata", "Worker Version Metadata", "object"),
    Kind("unsafe", "Unsafe Metadata", "bindings", "name"),
    Kind("dispatch_namespaces", "Dispatch Namespace"),
    Kind("mtls_certificates", "mTLS Certificate"),
    Kind("workflows", "Workflow"),
    Kind("pipelines", "Pipeline"),
    Kind("k2", "K2 Stream"),
    Kind("secrets_store_secrets", "Secrets Store Secret"),
    Kind("artifacts", "Artifacts"),
    Kind("ratelimits", "Rate Limit", name_key="name"),
    Kind("assets", "Assets", "object"),
    Kind("unsafe_hello_world", "Hello World"),
    Kind("flagship", "Flagship"),
    Kind("worker_loaders", "Worker Loader"),
    Kind("vpc_services", "VPC Service"),
    Kind("vpc_networks", "VPC Network"),
)
BY_KEY: Final = {kind.key: kind for kind in KINDS}
# Kinds with records of their own, or whose name may be left out.
_READ_ELSEWHERE: Final = ("workflows",)
_NAMELESS: Final = ("assets", "unsafe")


def check_bindings(raw: Entry, prefix: str, problems: Problems) -> None:
    """The shape of every binding but Workflows; `prefix` is "" or `env.NAME.`."""
    for kind in KINDS:
        if kind.key in raw and kind.key not in _READ_ELSEWHERE:
            _check_kind(kind, raw[kind.key], prefix + kind.key, problems)


def _check_kind(kind: Kind, value: object, field: str, problems: Problems) -> None:
    if kind.shape == "list":
        if check_array(value, field, problems):
            _check_entries(kind, value, field, problems)
    elif check_object(value, field, problems):
        if kind.shape == "object":
            _check_entry(kind, value, field, problems)
        else:
            key = "producers" if kind.shape == "queues" else "bindings"
            entries = value.get(key, [])
            if check_array(entries, f"{field}.{key}", problems):
                _check_entries(kind, entries, f"{field}.{key}", problems)


def _check_entries(kind: Kind, entries: list[object], field: str, problems: Problems) -> None:
    for index, entry in enumerate(entries):
        if is_object(entry):
            _check_entry(kind, entry, f"{field}[{index}]", problems)
        else:
            problems.error(f'"{kind.key}" bindings should be objects, but got {shown(entry)}')


def _check_entry(kind: Kind, entry: Entry, field: str, problems: Problems) -> None:
    if kind.key in _NAMELESS or isinstance(entry.get(kind.name_key), str):
        return
    if kind.shape == "object":
        problems.error(f'"{field}" binding should have a string "{kind.name_key}" field.')
    else:
        problems.error(f'"{field}" bindings should have a string "{kind.name_key}" field but got {shown(entry)}.')


def binding_names(kind: Kind, value: object) -> list[str]:
    """The names that a binding of this kind puts into `env`; whatever is malformed has none."""
    if kind.shape == "queues":
        value = value.get("producers") if is_object(value) else None
    elif kind.shape == "bindings":
        value = value.get("bindings") if is_object(value) else None
    entries = value if isinstance(value, list) else [value]
    names = (entry.get(kind.name_key) for entry in entries if is_object(entry))
    return [name for name in names if isinstance(name, str)]


def names_by_kind(raw: Entry) -> Iterator[tuple[str, list[str]]]:
    """(what a message calls the kind, the names) of everything that ends up in `env`."""
    variables, secrets = raw.get("vars"), raw.get("secrets")
    for kind in KINDS:
        yield kind.label, binding_names(kind, raw.get(kind.key))
        if kind.key == "unsafe":  # their place in wrangler's messages
            yield "Environment Variable", list(variables) if is_object(variables) else []
    required = secrets.get("required") if is_object(secrets) else None
    yield "Secret", [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
