"""`workers.formdata`."""

from bindings.http import FormData as FormData
from bindings.modules.workers.types import FormDataValue as FormDataValue
