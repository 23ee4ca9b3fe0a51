"""`workers.blob`."""

from bindings.http import Blob as Blob
from bindings.http import BlobEnding as BlobEnding
from bindings.http import File as File
from bindings.modules.workers.types import BlobValue as BlobValue
