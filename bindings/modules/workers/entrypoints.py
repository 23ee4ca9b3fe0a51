"""`workers.entrypoints`."""

from bindings.entrypoints import DurableObject as DurableObject
from bindings.entrypoints import WorkerEntrypoint as WorkerEntrypoint
from bindings.entrypoints import WorkflowEntrypoint as WorkflowEntrypoint
from bindings.entrypoints import handler as handler
