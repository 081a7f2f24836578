"""The one table encoder: mixed columns in, numbers out, and every decision told."""

from mercer.data.encoding.columns import Column
from mercer.data.encoding.encoder import TableEncoder

__all__ = ["Column", "TableEncoder"]
