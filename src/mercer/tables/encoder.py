"""A table of mixed columns as a matrix of numbers, visibly: what each column was taken for, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, nearest, sentence
from mercer.tables.cells import read_cells, texts_of
from mercer.tables.columns import Column, encode, is_truth, learn, output_names, rounded
from mercer.tables.frames import Table, as_table
from mercer.tables.kinds import as_read, decide
from mercer.tables.report import Encoded, EncoderReport, Unfamiliar
from mercer.tables.state import EncoderSettings, read, written
from mercer.text import counted, quoted, text_table


class TableEncoder:
    """Turn a table of numbers, categories, dates and texts into a matrix of numbers, and say how.

    Numbers are standardised, categories become one column per level, dates become a number, the time of the year and
    the day of the week, texts become the main directions of their words or letters, and what does not vary or only
    identifies rows is left out with a reason. See the page on tables for every rule.

    Parameters
    ----------
    kinds : dict, default=None
        `number`, `category`, `date` or `text` for columns that the rules would take for something else. Columns of
        arrays are numbered from 0.
    drop : list of column names, default=()
        Columns to leave out.
    decimal : str, default="."
        The decimal sign of numbers that are text; "," for 3,5.
    thousands : str, default=""
        What stands between thousands in numbers that are text; "," for 1,234.
    missing : {"mark", "mean"}, default="mark"
        Missing numbers and dates get the median and a further column that marks them, or the mean and no mark.

    Attributes
    ----------
    columns_ : list of Column
        What each column was taken for, why, and what was learned about it.
    names_out_ : list of str
        The names of the columns of numbers.
    groups_ : ndarray of int
        The place in `columns_` that each column of numbers came from.
    texts_ : list of str
        The names of the text columns.

    Examples
    --------
    >>> from mercer import TableEncoder
    >>> table = {"age": [20, 30, 40, 50], "smoker": [True, False, False, True], "city": ["Rome", "Bonn"] * 2}
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.names_out_
    ['age', 'smoker=True', 'city=Bonn', 'city=Rome']
    >>> encoder.transform(table).round(2)
    array([[-1.34,  1.  ,  0.  ,  0.71],
           [-0.45,  0.  ,  0.71,  0.  ],
           [ 0.45,  0.  ,  0.  ,  0.71],
           [ 1.34,  1.  ,  0.71,  0.  ]])
    """

    columns_: list[Column]
    names_out_: list[str]
    groups_: Array
    texts_: list[str]

    def __init__(
        self,
        kinds: Mapping[Any, str] | None = None,
        drop: Iterable[str | int] = (),
        *,
        decimal: str = ".",
        thousands: str = "",
        missing: str = "mark",
    ) -> None:
        self.settings = EncoderSettings.checked(kinds, drop, decimal, thousands, missing)
        self._named = False

    def __repr__(self) -> str:
        style = self.settings.style
        return (
            f"TableEncoder(kinds={dict(self.settings.kinds)}, drop={list(self.settings.drop)}, "
            f"decimal={style.decimal!r}, thousands={style.thousands!r}, missing={self.settings.missing!r})"
        )

    def fit(self, X: Any) -> TableEncoder:
        """Decide what each column is, and learn from the rows how to encode it."""
        self._learn(as_table(X))
        return self

    def fit_transform(self, X: Any) -> Array:
        """Learn from a table, and encode it."""
        return self.fit(X).transform(X)

    def transform(self, X: Any) -> Array:
        """The table as numbers, one row per row. Columns are found by name if they have names, else by place."""
        return self.encode(X).values

    def encode(self, X: Any) -> Encoded:
        """The table as numbers, with a report about what is unlike the training table.

        Examples
        --------
        >>> from mercer import TableEncoder
        >>> encoder = TableEncoder().fit({"age": [20, 30, 40]})
        >>> print(encoder.encode({"age": [25, 99, None]}).report)
        3 rows, 33% of them outside the range of training
        <BLANKLINE>
        column  newly missing  unseen level  out of range
        ------  -------------  ------------  ------------
        age                 1             0             1
        """
        self._check_fitted()
        table = as_table(X)
        places = self._places(table)
        values = np.zeros((table.rows, len(self.names_out_)))
        outside = np.zeros(table.rows, dtype=bool)
        found, start = [], 0
        for column in self.columns_:
            if not column.outputs:
                continue
            stop = start + len(column.outputs)
            cells = read_cells(column.name, table.column(places[column.name]))
            cells = as_read(cells, column.kind, self.settings.style, column.levels + column.pooled)
            strangers = encode(column, cells, self.settings.style, values[:, start:stop])
            outside |= strangers.outside
            found.append(Unfamiliar.counted(column.name, strangers))
            start = stop
        told = tuple(each for each in found if each.missing or each.unseen or each.outside)
        return Encoded(values, EncoderReport(table.rows, int(outside.sum()), told))

    def texts(self, X: Any) -> Array:
        """The text columns as they are, for a kernel on texts; without white space around, missing ones are empty.

        Examples
        --------
        >>> from mercer import TableEncoder
        >>> notes = {"note": ["rather good wine", "not so good", None]}
        >>> TableEncoder(kinds={"note": "text"}).fit(notes).texts(notes).ravel().tolist()
        ['rather good wine', 'not so good', '']
        """
        self._check_fitted()
        table = as_table(X)
        places = self._places(table)
        found = np.empty((table.rows, len(self.texts_)), dtype=object)
        for place, name in enumerate(self.texts_):
            codes, levels = texts_of(read_cells(name, table.column(places[name])))
            found[:, place] = np.array([*levels, ""], dtype=object)[codes]
        return found

    def describe(self) -> str:
        """What each column was taken for, and why, as a table for people."""
        self._check_fitted()
        rows = [
            (" ".join(column.name.split()), column.kind, column.missing, _becomes(column), column.why)
            for column in self.columns_
        ]
        return text_table(["column", "taken for", "missing", "becomes", "why"], rows)

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Everything there is to know, as a dictionary that JSON can hold and a dictionary of arrays."""
        self._check_fitted()
        return written(self.settings, self.columns_, named=self._named)

    @classmethod
    def from_state(cls, record: Mapping[str, Any], arrays: Mapping[str, Array]) -> TableEncoder:
        """The encoder that `state` was taken from.

        Examples
        --------
        >>> import json
        >>> from mercer import TableEncoder
        >>> record, arrays = TableEncoder().fit({"age": [20, 30, 40]}).state()
        >>> TableEncoder.from_state(json.loads(json.dumps(record)), arrays).names_out_
        ['age']
        """
        settings, columns, named = read(record, arrays)
        encoder = cls.from_settings(settings)
        encoder.set_columns(columns, named=named)
        return encoder

    def rounded(self) -> TableEncoder:
        """The same encoder with the ranges and fills of numbers and dates rounded, so that it holds no cell of them.

        Levels of categories, and words that two rows share, stay as they are.

        Examples
        --------
        >>> from mercer import TableEncoder
        >>> TableEncoder().fit({"age": [20.125, 33.75, 48.5]}).rounded().columns_[0].scale.low
        20.0
        """
        self._check_fitted()
        encoder = self.from_settings(self.settings)
        encoder.set_columns([rounded(column) for column in self.columns_], named=self._named)
        return encoder

    @classmethod
    def from_settings(cls, settings: EncoderSettings) -> TableEncoder:
        """An encoder of which this was asked, and which has seen nothing yet."""
        encoder = cls()
        encoder.settings = settings
        return encoder

    def _learn(self, table: Table) -> None:
        asked = {_place(table, key): kind for key, kind in self.settings.kinds}
        dropped = {_place(table, key) for key in self.settings.drop}
        columns: list[Column] = []
        taken: set[str] = set()
        for place, name in enumerate(table.names):
            if place in dropped:
                columns.append(Column(name, "dropped", "as asked"))
                continue
            cells = as_read(read_cells(name, table.column(place)), asked.get(place), self.settings.style)
            kind, why = decide(cells, asked.get(place), self.settings.style)
            column = learn(cells, kind, why, self.settings.style, marked=self.settings.missing == "mark")
            names = [_unused(each, taken) for each in output_names(column, is_truth(column, cells))]
            columns.append(replace(column, outputs=tuple(names)))
        self.set_columns(columns, named=table.named)

    def set_columns(self, columns: list[Column], *, named: bool) -> None:
        """Take these columns for fitted."""
        self._named = named
        self.columns_ = columns
        self.names_out_ = [name for column in columns for name in column.outputs]
        self.groups_ = np.repeat(np.arange(len(columns)), [len(column.outputs) for column in columns])
        self.texts_ = [column.name for column in columns if column.kind == "text"]

    def _check_fitted(self) -> None:
        if not hasattr(self, "columns_"):
            raise InputError("TableEncoder must have seen a table first. Call fit.")

    def _places(self, table: Table) -> dict[str, int]:
        """Where each column of training is now."""
        names = [column.name for column in self.columns_]
        if not (self._named and table.named):
            if len(table.names) != len(names):
                must_be = f"a table of {len(names)} columns, as in training"
                raise InputError(sentence("X of TableEncoder", must_be, len(table.names)))
            return {name: place for place, name in enumerate(names)}
        needed = [column.name for column in self.columns_ if column.outputs or column.kind == "text"]
        given, known = set(table.names), set(names)
        gone = [name for name in needed if name not in given]
        extra = [name for name in table.names if name not in known]
        if gone or extra:
            parts = [f"without {quoted(gone)}"] * bool(gone) + [f"with {quoted(extra)}"] * bool(extra)
            way_out = "Rename or leave out what is new." if extra else "Give the columns of training."
            raise InputError(
                sentence("X of TableEncoder", "a table like that of training", "one " + " and ".join(parts), way_out)
            )
        return {name: place for place, name in enumerate(table.names)}


def _place(table: Table, key: str | int) -> int:
    """Where a column that the settings name is: by name, or by number where the table has no names."""
    if not table.named and isinstance(key, int) and not isinstance(key, bool):
        if not 0 <= key < len(table.names):
            raise InputError(sentence("A column number", f"between 0 and {len(table.names) - 1}", key))
        return key
    if str(key) not in table.names:
        raise InputError(f"There is no column {str(key)!r}. {nearest(str(key), table.names)}")
    return table.names.index(str(key))


def _unused(name: str, taken: set[str]) -> str:
    """A name that no other output has."""
    while name in taken:
        name += "'"
    taken.add(name)
    return name


def _becomes(column: Column) -> str:
    if not column.outputs:
        return "nothing"
    return counted(len(column.outputs), "column")
