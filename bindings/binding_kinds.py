"""The methods of each kind of binding, by wrangler's name for the kind: so that `hasattr(env.X, "fetch")` holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# Kinds that are not here, such as services, have whatever name they are asked for.
METHODS: Final[Mapping[str, frozenset[str]]] = {
    "KV Namespace": frozenset({"get", "getWithMetadata", "put", "delete", "list"}),
    "R2 Bucket": frozenset(
        {"head", "get", "put", "delete", "list", "createMultipartUpload", "resumeMultipartUpload"}
    ),
    "D1 Database": frozenset({"prepare", "batch", "exec", "dump", "withSession"}),
    "Queue": frozenset({"send", "sendBatch", "metrics"}),
    "AI": frozenset({"run", "models", "gateway", "toMarkdown", "autorag", "aiGatewayLogId"}),
    "Assets": frozenset({"fetch", "connect"}),
    "Vectorize Index": frozenset({"describe", "query", "queryById", "insert", "upsert", "deleteByIds", "getByIds"}),
    "Analytics Engine Dataset": frozenset({"writeDataPoint"}),
    "Rate Limit": frozenset({"limit"}),
    "Send Email": frozenset({"send"}),
    "Secrets Store Secret": frozenset({"get"}),
    "Images": frozenset({"info", "input", "hosted"}),
    "Durable Object": frozenset({"get", "getByName", "idFromName", "idFromString", "newUniqueId", "jurisdiction"}),
    "Workflow": frozenset({"create", "create_batch", "createBatch", "get", "deleteBatch"}),
}


def has_method(kind: str, name: str) -> bool:
    """Whether a binding of `kind` has a method `name`."""
    known = METHODS.get(kind)
    return known is None or name in known
