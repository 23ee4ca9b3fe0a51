"""`workers.gateway.options`."""

from bindings.gateway import BaseOptions as BaseOptions
from bindings.gateway import EncodeBody as EncodeBody
