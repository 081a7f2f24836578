"""What comes in: rows that have been looked at once, and the checks every estimator shares."""

from mercer.data.rows import Array, Rows, as_rows

__all__ = ["Array", "Rows", "as_rows"]
