"""`workers.entrypoints`."""

from bindings.entrypoints import DurableObject as DurableObject
from bindings.entrypoints import DurableObjectAbort as DurableObjectAbort
from bindings.entrypoints import DurableObjectContext as DurableObjectContext
from bindings.entrypoints import WorkerEntrypoint as WorkerEntrypoint
from bindings.entrypoints import WorkflowEntrypoint as WorkflowEntrypoint
from bindings.entrypoints import handler as handler
