"""`workers.formdata`."""

from bindings.forms import FormData as FormData
from bindings.modules.workers.types import FormDataValue as FormDataValue
