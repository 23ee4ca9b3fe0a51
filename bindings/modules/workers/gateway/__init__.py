"""`workers.gateway`."""

from bindings.gateway import BaseOptions as BaseOptions
from bindings.gateway import EncodeBody as EncodeBody

__all__ = ["BaseOptions", "EncodeBody"]
