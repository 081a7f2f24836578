"""A table of mixed columns as a matrix of numbers, with a report of the kind of each column, and why."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt
from narwhals.exceptions import DuplicateError
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from mercer.data.rows import Array, XLike, YLike
from mercer.errors import InputError, MercerWarning, nearest, refuse, refuse_if, sentence, warn
from mercer.tables.cells import read_cells
from mercer.tables.columns import Column, Encoded, EncoderReport, encode, learn, output_names, round_range
from mercer.tables.dates import check_format
from mercer.tables.delimited import refuse_twice
from mercer.tables.kinds import PANDAS_INDEX, ROW_NUMBERS, decide, interpret, is_constant, odd_warning, warn_of_left_out
from mercer.tables.values import NumberStyle, find_style
from mercer.text import Text, counted, quoted, text_below, text_table

_ASKABLE = ("number", "category", "date", "text")  # kinds
_MISSING = ("mark", "mean")
_WHAT = "X of TableEncoder"


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by place, with their names.

    Attributes
    ----------
    names : tuple of str
        One per column; `x1`, `x2`, ... where the table has none.
    named : bool
        Whether the names are the table's own.
    rows : int
        Number of rows.
    column : callable
        The column at a place, as the table gives it.
    """

    names: tuple[str, ...]
    named: bool
    rows: int
    column: Callable[[int], object]


def as_table(X: XLike) -> Table:
    """Take a DataFrame (pandas, polars, pyarrow), a mapping of columns, an array or a list of rows.

    Examples
    --------
    >>> from mercer.tables.encoder import as_table
    >>> as_table({"age": [31, 45], "city": ["Rome", "Bonn"]}).names
    ('age', 'city')
    >>> as_table([[31, "Rome"], [45, "Bonn"]]).names
    ('x1', 'x2')
    """
    refuse_if(hasattr(X, "tocsr"), _WHAT, "a dense table", "a sparse matrix", "Use X.toarray() if it fits in memory.")
    if isinstance(X, Mapping):
        table = _table_of_columns(X, list(X))
    elif isinstance(X, np.ndarray) and X.dtype.names:
        table = _table_of_columns(X, list(X.dtype.names))
    elif isinstance(X, list | tuple):
        table = _table_of_rows(X)
    else:
        try:
            frame = nw.from_native(X, eager_only=True, pass_through=True)
        except DuplicateError:
            refuse_twice(list(map(str, X.columns)))
            raise
        table = _frame(frame) if isinstance(frame, nw.DataFrame) else _array(X)
    rows, width = table.rows, len(table.names)
    what = f"{width} feature(s)" if rows else f"{rows} sample(s)"
    got = f"{what} (shape=({rows}, {width})) while a minimum of 1 is required"
    refuse_if(not (rows and width), _WHAT, "a table with rows and columns", got)
    return table


def _frame(frame: nw.DataFrame[Any]) -> Table:
    """A data frame; names may be anything, and are taken by place."""
    names = tuple(map(str, frame.to_native().columns if frame.implementation.is_pandas_like() else frame.columns))
    refuse_twice(names)
    return Table(names, True, len(frame), lambda place: frame[:, place])


def _table_of_columns(X: XLike, keys: list[Hashable]) -> Table:
    names = tuple(map(str, keys))
    refuse_twice(names)
    rows = len(X[keys[0]]) if keys and hasattr(X[keys[0]], "__len__") else 0
    for name, key in zip(names, keys, strict=True):
        column = X[key]
        sound = not isinstance(column, str | bytes) and hasattr(column, "__len__")
        refuse_if(not sound, f"Column {name!r}", "a sequence of values", type(column).__name__)
        length, must_be = len(column), f"as long as column {names[0]!r} ({rows} rows)"
        refuse_if(length != rows, f"Column {name!r}", must_be, f"{length} rows")
    return Table(names, True, rows, lambda place: X[keys[place]])


def _numbered_names(width: int) -> tuple[str, ...]:
    return tuple(f"x{place + 1}" for place in range(width))


def _table_of_rows(X: Sequence[Sequence[object]]) -> Table:
    """A list of rows. Cells are taken one by one: NumPy would turn the numbers of a mixed list into text."""
    for place, row in enumerate(X):
        if not isinstance(row, list | tuple | np.ndarray) or np.ndim(row) == 0:
            got, way_out = f"{row!r} in place of row {place}", "For one column, use [[a], [b]]."
            raise InputError(sentence(_WHAT, "a list of rows", got, way_out))
        if len(row) != len(X[0]):
            must_be = f"as long as row 0 ({len(X[0])} cells)"
            raise InputError(sentence(f"Row {place} of X", must_be, f"{len(row)} cells"))
    width = len(X[0]) if X else 0

    def column(place: int) -> Array:
        return np.fromiter((row[place] for row in X), dtype=object, count=len(X))

    return Table(_numbered_names(width), False, len(X), column)


def _array(X: XLike) -> Table:
    bad = X is None or isinstance(X, str | bytes) or not hasattr(X, "__array__")
    refuse_if(bad, _WHAT, "a DataFrame, a mapping of columns, an array or a list of rows", type(X).__name__)
    values = X if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
    refuse_if(values.dtype.kind == "c", _WHAT, "real numbers", "complex ones", "Complex data not supported.")
    way_out = "Reshape your data: for one column, use X.reshape(-1, 1)." if values.ndim == 1 else ""
    refuse_if(values.ndim != 2, _WHAT, "a table with rows and columns", f"{values.ndim} dimensions", way_out)
    return Table(_numbered_names(values.shape[1]), False, len(values), lambda place: values[:, place])


@dataclass(frozen=True)
class EncoderSettings:
    """The parameters of an encoder: kinds, columns to drop, number format, what to do with missing and odd values."""

    kinds: tuple[tuple[str | int, str], ...]
    drop: tuple[str | int, ...]
    style: NumberStyle | None
    missing: str = "mark"
    date_format: str | None = None
    strict: bool = False


@dataclass(eq=False, repr=False)
class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode a table of numbers, categories, dates and texts as a matrix of numbers.

    A scikit-learn transformer for data frames (pandas, polars, pyarrow), mappings of columns, arrays and lists of rows.
    Numbers are standardized, categories become one column per level, dates become a number, the time of the year and
    of the day and the day of the week, texts become the main directions of their words or letters, and what does not
    vary or only identifies rows is left out with a reason. See the page on tables for every rule.

    Parameters
    ----------
    kinds : dict, default=None
        `number`, `category`, `date` or `text` for columns that the rules would take for something else. Columns of
        arrays are numbered from 0.
    drop : list of column names, default=()
        Columns to leave out.
    decimal : {".", ","}, default=None
        The decimal sign of numbers that are text. None finds out, and refuses what could be either.
    thousands : {"", ".", ",", "'", " "}, default=None
        What may stand between thousands in numbers that are text. None takes the other one of "." and "," where
        `decimal` is given.
    missing : {"mark", "mean"}, default="mark"
        Missing numbers and dates get the median and a further column that marks them, or the mean and no mark.
    date_format : str, default=None
        A format of strptime, such as "%d/%m/%Y", for dates that are text. None finds out, and refuses columns in which
        the day or the month may come first.
    strict : bool, default=False
        Whether a column of numbers or dates in which a few cells are something else, or infinite, is refused. By
        default it is a category, a text or left out, by the rules for texts, with a warning.

    Attributes
    ----------
    columns_ : list of Column
        The kind of each column, why, and what was learned about it.
    names_out_ : list of str
        The names of the columns of numbers.
    groups_ : ndarray of int
        The place in `columns_` that each column of numbers came from.
    texts_ : list of str
        The names of the text columns.
    n_features_in_, feature_names_in_ : int, ndarray of str
        How many columns the table has, and their names if it has some.

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

    kinds: Mapping[Any, str] | None = None
    drop: Iterable[str | int] = ()
    _: KW_ONLY
    decimal: str | None = None
    thousands: str | None = None
    missing: str = "mark"
    date_format: str | None = None
    strict: bool = False

    columns_: list[Column] = field(init=False)
    names_out_: list[str] = field(init=False)
    groups_: Array = field(init=False)
    texts_: list[str] = field(init=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def settings(self) -> EncoderSettings:
        """The parameters, validated."""
        must_be = "a mapping of columns to kinds, such as {'colour': 'category'}"
        refuse_if(not isinstance(self.kinds, Mapping | None), "kinds of TableEncoder", must_be, repr(self.kinds))
        kinds = tuple((key if isinstance(key, int) else str(key), kind) for key, kind in (self.kinds or {}).items())
        for column, kind in kinds:
            must_be, way_out = "'number', 'category', 'date' or 'text'", "To drop it, use drop."
            refuse_if(kind not in _ASKABLE, f"The kind of column {column!r}", must_be, repr(kind), way_out)
        listed = not isinstance(self.drop, str | int) and all(isinstance(column, str | int) for column in self.drop)
        refuse_if(not listed, "drop of TableEncoder", "a list of columns, such as ['id']", repr(self.drop))
        refuse_if(self.missing not in _MISSING, "missing of TableEncoder", "'mark' or 'mean'", repr(self.missing))
        refuse_if(not isinstance(self.strict, bool), "strict of TableEncoder", "True or False", repr(self.strict))
        style, dates = NumberStyle.from_settings(self.decimal, self.thousands), check_format(self.date_format)
        return EncoderSettings(kinds, tuple(self.drop), style, self.missing, dates, self.strict)

    def fit(self, X: XLike, y: YLike = None) -> Self:
        """Decide what each column is, and learn from the rows how to encode it.

        Parameters
        ----------
        X : data frame, mapping of columns, array or list of rows
            The training table.
        y : object, default=None
            Not used.

        Returns
        -------
        self
        """
        table, settings = as_table(X), self.settings
        asked = {_place(table, key): kind for key, kind in settings.kinds}
        dropped = {_place(table, key) for key in settings.drop}
        kept = [place for place in range(len(table.names)) if place not in dropped]
        read = {place: read_cells(table.names[place], table.column(place)) for place in kept}
        may_be_numbers = (read[place] for place in kept if asked.get(place) in {None, "number"})
        style = find_style(may_be_numbers) if settings.style is None else settings.style
        made = {}
        for place, raw in read.items():  # arrays of numbers with infinite ones are refused, as scikit-learn has it
            strict = settings.strict or (not table.named and set(raw.levels) == set(raw.numbers))
            own, dates = style or NumberStyle(), settings.date_format
            made[place] = interpret(raw, asked.get(place), own, date_format=dates, strict=strict)
        varied = [place for place, cells in made.items() if len(cells.present) and not is_constant(cells)]
        columns: list[Column] = []
        taken: set[str] = set()
        for place, name in enumerate(table.names):
            if place in dropped:
                columns.append(Column(name, "dropped", "set by drop"))
                continue
            cells = made[place]
            kind, why = decide(cells, asked.get(place), rows_counted=table.named and len(varied) > 1)
            column = learn(cells, kind, why, marked=settings.missing == "mark")
            names = tuple(_free_name(each, taken) for each in output_names(column, cells))
            columns.append(replace(column, outputs=names))
            odd = None if read[place].style is not None else odd_warning(column, cells)
            if odd is not None:  # what a reader has made of a file is told by whoever reads
                warn(odd)
            elif column.kind == "identifier" and cells.odd is None:
                warn_of_left_out(column, read[place])
        return self.set_columns(columns, settings, style, named=table.named)

    def transform(self, X: XLike) -> Array:
        """Encode a table as numbers, one row per row.

        Parameters
        ----------
        X : data frame, mapping of columns, array or list of rows
            Columns are found by name if they have names, in any order; otherwise by place.

        Returns
        -------
        ndarray of shape (n_rows, n_columns_out)
        """
        return self.encode(X).values

    def get_feature_names_out(self, input_features: npt.ArrayLike | None = None) -> Array:
        """Names of the columns of numbers.

        Parameters
        ----------
        input_features : array-like of str, default=None
            The names of the columns of the table, which must be those of training.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return np.array(self.names_out_, dtype=object)

    def encode(self, X: XLike) -> Encoded:
        """The table as numbers, with a report about what is unlike the training table.

        Examples
        --------
        >>> from mercer import TableEncoder
        >>> encoder = TableEncoder().fit({"age": [20, 30, 40]})
        >>> print(encoder.encode({"age": [25, 99, None]}).report)
        1 of 3 rows with a value outside the training range
        <BLANKLINE>
        column  newly missing  unseen category  out of range
        ------  -------------  ---------------  ------------
        age                 1                0             1
        """
        check_is_fitted(self)
        table = as_table(X)
        used = [column for column in self.columns_ if column.outputs]
        places = self._places(table, [column.name for column in used])
        read = {column.name: read_cells(column.name, table.column(places[column.name])) for column in used}
        style, trained = self._style, self._style is not None
        if style is None:
            style = find_style(read[column.name] for column in used if column.kind == "number")
        values = np.zeros((table.rows, len(self.names_out_)))
        outside = np.zeros(table.rows, dtype=bool)
        told, start = [], 0
        for column in used:
            stop, levels, raw = start + len(column.outputs), column.levels + column.pooled, read[column.name]
            own = raw.style or style or NumberStyle()
            cells = interpret(raw, column.kind, own, levels=levels, trained=trained, writing=column.writing)
            unfamiliar, rows_outside = encode(column, cells, own, values[:, start:stop])
            outside |= rows_outside
            told += [unfamiliar] * bool(unfamiliar.missing or unfamiliar.unseen or unfamiliar.outside)
            start = stop
        return Encoded(values, EncoderReport(table.rows, int(outside.sum()), tuple(told)))

    def describe(self) -> str:
        """The kind of each column, and why, as a text table."""
        check_is_fitted(self)
        rows = []
        for each in self.columns_:
            features = counted(len(each.outputs), "feature") if each.outputs else "none"
            rows.append((" ".join(each.name.split()), each.kind, each.missing, features, each.why))
        return Text(text_table(["column", "kind", "missing", "features", "why"], rows))

    def _html_repr(self) -> str:
        diagram = super()._html_repr()
        return text_below(diagram, self.describe()) if hasattr(self, "columns_") else diagram

    def rounded(self) -> TableEncoder:
        """The encoder with the ranges and fills of numbers and dates rounded, so that it holds no cell of them.

        Levels of categories, and words that two rows share, stay as they are.

        Examples
        --------
        >>> from mercer import TableEncoder
        >>> TableEncoder().fit({"age": [20.125, 33.75, 48.5]}).rounded().columns_[0].scale.low
        20.0
        """
        check_is_fitted(self)
        columns = [round_range(column) for column in self.columns_]
        return self.from_settings(self._settings).set_columns(columns, self._settings, self._style, named=self._named)

    @classmethod
    def from_settings(cls, settings: EncoderSettings) -> TableEncoder:
        """An encoder with these parameters, not fitted."""
        how = {name: getattr(settings, name) for name in ("missing", "date_format", "strict")}
        if settings.style is not None:
            how |= {"decimal": settings.style.decimal, "thousands": settings.style.thousands}
        return cls(dict(settings.kinds) or None, list(settings.drop) or (), **how)

    def pinned(self, X: XLike) -> tuple[XLike, TableEncoder]:
        """A named table with its texts read, and the encoder for parts of it: what all rows tell is told once.

        The format of dates and numbers, and whether a column counts the rows, cannot be seen in every part. Tables
        without names are returned as they are.
        """
        table = as_table(X)
        if not table.named:
            return X, clone(self)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MercerWarning)
            whole = clone(self).fit(X)
        settings, own = whole.settings, whole._style or NumberStyle()  # noqa: SLF001 - an encoder like this one
        asked = {str(key): kind for key, kind in settings.kinds}
        cells = {}
        for place, name in enumerate(table.names):
            made = read_cells(name, table.column(place))
            if name not in settings.drop:
                dates = settings.date_format
                made = interpret(made, asked.get(name), made.style or own, date_format=dates, strict=settings.strict)
            declared = made.declared or asked.get(name) == "category"
            cells[name] = replace(made, declared=declared, style=made.style or own)
        counted_rows = [column.name for column in whole.columns_ if column.why.startswith((ROW_NUMBERS, PANDAS_INDEX))]
        return cells, clone(self).set_params(drop=[*settings.drop, *counted_rows])

    def set_columns(
        self, columns: list[Column], settings: EncoderSettings, style: NumberStyle | None, *, named: bool
    ) -> Self:
        """Set the fitted attributes from these columns."""
        self._settings, self._style, self._named = settings, style, named
        self.columns_ = columns
        self.names_out_ = [name for column in columns for name in column.outputs]
        self.groups_ = np.repeat(np.arange(len(columns)), [len(column.outputs) for column in columns])
        self.texts_ = [column.name for column in columns if column.kind == "text"]
        self.n_features_in_ = len(columns)
        self.__dict__.pop("feature_names_in_", None)
        if named:
            self.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
        return self

    def _places(self, table: Table, needed: list[str]) -> dict[str, int]:
        """The places of the training columns; missing or unknown columns are an error."""
        known = {column.name: place for place, column in enumerate(self.columns_)}
        if not (self._named and table.named):
            words = f"X has {len(table.names)} features, but TableEncoder is expecting {len(known)} features as input."
            refuse(len(table.names) != len(known), f"{words} Use the same columns as in fit.")
            return known
        places = {name: place for place, name in enumerate(table.names)}
        gone = [name for name in needed if name not in places]
        extra = [name for name in places if name not in known]
        parts = [f"{what} columns {quoted(names)}" for what, names in (("missing", gone), ("unknown", extra)) if names]
        way_out = "Rename or drop the unknown columns." if extra else "Add the missing columns."
        refuse_if(parts, _WHAT, "a table with the training columns", " and ".join(parts), way_out)
        return places


def _place(table: Table, key: str | int) -> int:
    """Where a column that the settings name is: by name, or by number where the table has no names."""
    if not table.named and isinstance(key, int) and not isinstance(key, bool):
        refuse_if(not 0 <= key < len(table.names), "A column index", f"between 0 and {len(table.names) - 1}", key)
        return key
    if str(key) not in table.names:
        raise InputError(f"There is no column {str(key)!r}. {nearest(str(key), table.names)}")
    return table.names.index(str(key))


def _free_name(name: str, taken: set[str]) -> str:
    """A name that no other output has."""
    while name in taken:
        name += "'"
    taken.add(name)
    return name
