"""The one table encoder: mixed columns in, numbers out, and every decision told."""

from mercer.tables.columns import Column
from mercer.tables.encoder import TableEncoder

__all__ = ["Column", "TableEncoder"]
