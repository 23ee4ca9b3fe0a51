"""`workers.blob`."""

from bindings.forms import Blob as Blob
from bindings.forms import BlobEnding as BlobEnding
from bindings.forms import File as File
from bindings.modules.workers.types import BlobValue as BlobValue
