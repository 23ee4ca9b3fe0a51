"""`workers.gateway.options`."""

from stepwell.bindings.gateway import BaseOptions as BaseOptions
from stepwell.bindings.gateway import EncodeBody as EncodeBody
