"""`workers.blob`."""

from stepwell.bindings.modules.workers.types import BlobValue as BlobValue
from stepwell.bindings.web.forms import Blob as Blob
from stepwell.bindings.web.forms import BlobEnding as BlobEnding
from stepwell.bindings.web.forms import File as File
