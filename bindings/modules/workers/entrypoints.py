"""`workers.entrypoints`."""

from stepwell.bindings.entrypoints import DurableObject as DurableObject
from stepwell.bindings.entrypoints import DurableObjectAbort as DurableObjectAbort
from stepwell.bindings.entrypoints import DurableObjectContext as DurableObjectContext
from stepwell.bindings.entrypoints import WorkerEntrypoint as WorkerEntrypoint
from stepwell.bindings.entrypoints import WorkflowEntrypoint as WorkflowEntrypoint
from stepwell.bindings.entrypoints import handler as handler
