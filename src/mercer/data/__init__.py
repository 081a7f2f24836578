"""What comes in: rows that have been looked at once, and the checks every estimator shares."""

from mercer.data.encoding import TableEncoder
from mercer.data.rows import Array, Rows, as_rows

__all__ = ["Array", "Rows", "TableEncoder", "as_rows"]
