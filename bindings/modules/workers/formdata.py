"""`workers.formdata`."""

from stepwell.bindings.modules.workers.types import FormDataValue as FormDataValue
from stepwell.bindings.web.forms import FormData as FormData
