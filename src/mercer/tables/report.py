"""What is unlike the training table in new rows, counted."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mercer.data.rows import Array
from mercer.errors import UnfamiliarRowsWarning, warn
from mercer.tables.columns import Strangers
from mercer.text import Brief, Shown, counted, text_table


@dataclass(frozen=True)
class Unfamiliar:
    """How many cells of one column are unlike those of training.

    Attributes
    ----------
    name : str
        The column.
    missing : int
        Missing cells, where none was missing in training.
    unseen : int
        Cells with a level that training did not have.
    outside : int
        Numbers and dates outside the range of training.
    example : str
        The first unseen level.
    """

    name: str
    missing: int
    unseen: int
    outside: int
    example: str = ""

    @classmethod
    def count(cls, name: str, strangers: Strangers) -> Unfamiliar:
        """The marks of rows, counted."""
        missing, unseen, outside = (int(m.sum()) for m in (strangers.missing, strangers.unseen, strangers.outside))
        return cls(name, missing, unseen, outside, strangers.example)


@dataclass(frozen=True, repr=False)
class EncoderReport(Shown):
    """What is unlike the training table in new rows; prints as a table.

    Attributes
    ----------
    rows : int
        Number of rows looked at.
    rows_outside : int
        Number of rows with at least one number or date outside the range of training.
    columns : tuple of Unfamiliar
        The columns with something to tell, and only those.
    """

    rows: int
    rows_outside: int
    columns: tuple[Unfamiliar, ...]

    def _columns(self) -> dict[str, list[object]]:
        names = {"name": "column", "missing": "newly missing", "unseen": "unseen category", "outside": "out of range"}
        return {said: [getattr(each, name) for each in self.columns] for name, said in names.items()}

    def __str__(self) -> str:
        if not self.columns:
            return f"{self.rows} rows, all like the training rows"
        lines = [(each.name, each.missing, each.unseen, each.outside) for each in self.columns]
        head = f"{self.rows_outside} of {counted(self.rows, 'row')} with a value outside the training range"
        return head + "\n\n" + text_table(["column", "newly missing", "unseen category", "out of range"], lines)

    def warn(self, usual: int | None = None) -> None:
        """Issue one warning, if anything is to report; with `usual`, if more cells are out of range or missing."""
        cells = sum(each.outside + each.missing + (each.unseen if usual is None else 0) for each in self.columns)
        if cells > (usual or 0):
            names = ", ".join(repr(each.name) for each in self.columns[:5]) + (", ..." if self.columns[5:] else "")
            parts = {
                "out of range": sum(each.outside for each in self.columns),
                "of unseen categories": sum(each.unseen for each in self.columns),
                "newly missing": sum(each.missing for each in self.columns),
            }
            said = ", ".join(f"{counted(count, 'value')} {what}" for what, count in parts.items() if count)
            message = (
                f"New rows are unlike the training rows in {names}: {said} ({counted(self.rows, 'row')} in all). "
                "Predictions for such rows are extrapolations."
            )
            warn(message, UnfamiliarRowsWarning)


@dataclass(frozen=True, eq=False, repr=False)
class Encoded(Brief):
    """A table as numbers.

    Attributes
    ----------
    values : ndarray of shape (n, outputs)
        The numbers.
    report : EncoderReport
        What is unlike the training table.
    """

    values: Array
    report: EncoderReport


def usually_outside(rows: int, columns: int, trained: float) -> int:
    """Most cells that new rows drawn like the training rows have out of range: the mean and four standard deviations.

    A new number is the smallest or the largest of n + 1 with chance 2 / (n + 1); the ends of the range are shared by
    all new rows, so that their count varies by more than its square root.
    """
    mean = 2.0 * rows * columns / (trained + 1)
    return int(mean + 4.0 * math.sqrt(mean + mean**2 / max(2 * columns, 1)))
