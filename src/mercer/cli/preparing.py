"""From a table and what was said about its columns to features, a target, groups and weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.cli.choices import Target, as_label, choose_task, common_labels
from mercer.cli.refusals import flags
from mercer.data.rows import Array
from mercer.errors import InputError, LeftOutWarning, nearest, sentence
from mercer.tables import TableEncoder
from mercer.tables.alike import alike
from mercer.tables.cells import Cells
from mercer.tables.encoding import LONG, TOO_LARGE, Passes, fit_encoder, look_at
from mercer.tables.kinds import odd_warning
from mercer.tables.parquet import LongTable
from mercer.tables.reading import Reading, Rules, read_table
from mercer.tables.settings import EncoderSettings
from mercer.tables.values import is_word_for_missing
from mercer.text import counted, quoted

_FEWEST = 6  # rows that folds can be made of
_KINDS = ("number", "category", "date", "text", "drop")


@dataclass(frozen=True)
class Said:
    """What was said about a table on the command line."""

    target: str
    kinds: dict[str, str] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    group: str | None = None
    weight: str | None = None
    row_id: str | None = None
    task: str | None = None
    missing: str | None = None
    rows_kept: bool = True
    separator: str | None = None
    decimal: str | None = None
    date_format: str | None = None
    encoding: str | None = None
    time: str | None = None
    missing_target: str = "refuse"
    rare_labels: str = "refuse"
    strict: bool = False

    @property
    def read_as(self) -> dict[str, str]:
        """Kinds of columns that are learned from, and of the weights."""
        kinds = {name: kind for name, kind in self.kinds.items() if kind != "drop"}
        return kinds if self.weight is None else kinds | {self.weight: "number"}

    @property
    def unused(self) -> list[str]:
        """Columns that are not looked at."""
        return [name for name in self.aside if name not in {self.weight, self.time}]

    @property
    def aside(self) -> list[str]:
        """Columns that are not learned from."""
        dropped = (name for name, kind in self.kinds.items() if kind == "drop")
        return [*self.drop, *dropped, *(name for name in (self.group, self.row_id) if name is not None)]

    @property
    def always_there(self) -> list[str]:
        """Columns that must not have gaps."""
        return [self.target, *(name for name in (self.weight, self.group, self.time) if name is not None)]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table ready to be fitted.

    Attributes
    ----------
    reading : Reading
        The table as it was read.
    rows : int
        How many the table has.
    features : dict of str to Cells
        The columns to learn from.
    encoder : TableEncoder
        Their kinds, and how they become numbers.
    target : Target
        What is to be predicted.
    groups, weights, times : ndarray or None
        One per row, if said.
    ignored : tuple of str
        Columns that are not learned from.
    notes : list of str
        What should be told.
    warned : list of str
        What should be warned of.
    stream : callable or None
        Starts a pass over blocks of all rows, for a table of which only a sample is held here.
    """

    reading: Reading
    rows: int
    features: dict[str, Cells]
    encoder: TableEncoder
    target: Target
    groups: Array | None
    weights: Array | None
    ignored: tuple[str, ...]
    notes: list[str]
    warned: list[str]
    times: Array | None = None
    stream: Callable[[], Iterator[Any]] | None = None


def asked_kinds(given: Sequence[str]) -> dict[str, str]:
    """`--as` options as a dictionary.

    >>> asked_kinds(["zip=category", "note=text"])
    {'zip': 'category', 'note': 'text'}
    """
    kinds = {}
    for text in given:
        name, _, kind = text.rpartition("=")
        if not name or kind not in _KINDS:
            raise InputError(sentence("--as", "COLUMN=number, category, date, text or drop", repr(text)))
        kinds[name] = kind
    return kinds


def learned_from(said: Said, column: Callable[[str], Any], names: Sequence[str], what: str) -> list[str]:
    """The feature columns; `column` raises an error for unknown names."""
    for name in (said.target, *said.kinds, *said.always_there[1:], *said.aside):
        column(name)
    if said.target in {*said.aside, said.weight, said.time}:
        raise InputError(f"Target {said.target!r} cannot also be used with --drop, --group, --time, --weight or --id.")
    features = [name for name in names if name not in {said.target, said.weight, *said.aside}]
    if not features:
        raise InputError(f"{what} has no columns besides the target {said.target!r}.")
    return features


def prepare(source: str, said: Said) -> Prepared:
    """Read a table and sort its columns; of one with many rows, read a sample and promise the rest."""
    if said.time is not None and said.group is not None:
        raise InputError("--time and --group cannot be used together. Remove one of them.")
    long = LongTable.find(source, above=LONG)
    if long is not None:
        return prepare_long(long, said)
    table = read_table(
        source,
        kinds=said.read_as,
        unused=said.unused,
        separator=said.separator,
        decimal=said.decimal,
        infinite=infinite_cells(said),
        date_format=said.date_format,
        encoding=said.encoding,
        strict=said.strict or said.always_there,
        too_large=TOO_LARGE,
    )
    names = learned_from(said, table.exactly, list(table.raw), table.what)
    notes = list(table.notes)
    looked_at = [*said.always_there, *(names if said.missing in {"drop", "refuse"} else [])]
    gaps = {name: table.gaps(name) for name in looked_at}
    rows = np.flatnonzero(~rows_left_out(table, said, gaps, notes))
    if said.rare_labels == "drop":
        cells = table.exactly(said.target)
        common = common_labels(table.columns[said.target][rows], [cells[row] for row in rows], said.task)
        if not common.all():
            labels = quoted(sorted({as_label(cells[row]) for row in rows[~common]}))
            notes.append(f"{counted(int((~common).sum()), 'row')} with rare labels dropped: {labels}.")
        rows = rows[common]
    features = {name: table.columns[name][rows] for name in names}
    encoder = fitted_encoder(features, said, table, notes)
    notes += alike(encoder, features)
    target = chosen_task(table, said, rows, notes)
    groups, weights = check_groups(table, said.group, rows), check_weights(table, said.weight, rows)
    times = check_times(table, said.time, rows)
    notes += structure_words(said, groups, weights, times)
    ignored = tuple(name for name in table.raw if name not in features and name != said.target)
    warned = odd_words(encoder, features)
    return Prepared(table, table.rows, features, encoder, target, groups, weights, ignored, notes, warned, times)


def prepare_long(table: LongTable, said: Said) -> Prepared:
    """Look at a long table once, and sort its columns."""

    def column(name: str) -> None:
        if name not in table.names:
            raise InputError(f"There is no column {name!r} in {table.what}. {nearest(name, table.names)}")

    if said.time is not None:
        raise InputError(
            f"--time is not supported for tables that are read in blocks ({table.rows} rows). Fit fewer rows, or "
            "remove --time."
        )
    if not said.rows_kept:
        raise InputError(
            f"--without-data is not supported for tables that are read in blocks ({table.rows} rows): their Nystroem "
            "model stores some of the training rows, its landmarks. Remove --without-data, or fit a smaller table."
        )
    names = learned_from(said, column, table.names, table.what)
    how = Rules(
        said.read_as, frozenset(said.unused), decimal=said.decimal, endless=infinite_cells(said) == "missing",
        date_format=said.date_format, strict=said.strict or frozenset(said.always_there),
    )  # fmt: skip
    look = look_at(table, how, said.always_there, names if said.missing in {"drop", "refuse"} else [])
    sample, whole = look.sample, look.whole
    notes = list(dict.fromkeys([*whole.notes, *sample.notes]))
    kept = ~rows_left_out(whole, said, look.gaps, notes)
    rows = np.flatnonzero(kept)
    notes.append(f"Columns were judged by {sample.rows} evenly spaced rows; all rows are read in blocks.")
    drawn = np.flatnonzero(kept[look.rows])
    features = {name: look.columns[name][drawn] for name in names}
    encoder = fitted_encoder(features, said, sample, notes)
    target = chosen_task(whole, said, rows, notes)
    groups, weights = check_groups(whole, said.group, rows), check_weights(whole, said.weight, rows)
    notes += structure_words(said, groups, weights, None)
    ignored = tuple(name for name in table.names if name not in features and name != said.target)
    warned = odd_words(encoder, features)
    stream = Passes(table, encoder, look.how, kept, target.values, weights, groups)
    return Prepared(
        sample, table.rows, features, encoder, target, groups, weights, ignored, notes, warned, stream=stream
    )


def odd_words(encoder: TableEncoder, features: Mapping[str, Cells]) -> list[str]:
    """Warnings of columns that are mostly numbers or dates and were taken for something else."""
    warned = (odd_warning(column, features[column.name]) for column in encoder.columns_)
    return [warning.in_terms(flags) for warning in warned if warning is not None]


def structure_words(said: Said, groups: Array | None, weights: Array | None, times: Array | None) -> list[str]:
    """What groups, weights and times do to the fit."""
    words = []
    if groups is not None:
        words.append(f"--group {said.group}: {len(np.unique(groups))} groups; rows of one group are in the same fold.")
    if weights is not None:
        words.append(f"--weight {said.weight}: weights of {weights.min():g} to {weights.max():g}.")
    if times is not None:
        words.append(
            f"--time {said.time}: every fold is predicted from earlier rows, so the error is about the future."
        )
    return words


def infinite_cells(said: Said) -> str:
    """How infinite numbers are treated."""
    return "refuse" if said.missing in {None, "refuse"} else "missing"


def fitted_encoder(features: Mapping[str, Cells], said: Said, table: Reading, notes: list[str]) -> TableEncoder:
    """The fitted encoder of these columns; an error if no column can be a feature."""
    kinds = {name: kind for name, kind in said.read_as.items() if name in features}
    if said.time is not None and said.time in features and features[said.time].family == "number":
        kinds.setdefault(said.time, "number")  # row numbers, too, if time goes by them
    missing = "mean" if said.missing == "mean" else "mark"
    settings = EncoderSettings(tuple(kinds.items()), (), table.style, missing, said.date_format, said.strict)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", LeftOutWarning)
        encoder = fit_encoder(features, settings, table.what)
    notes += [each.message.in_terms(flags) for each in heard if isinstance(each.message, LeftOutWarning)]
    return encoder if said.rows_kept else encoder.rounded()


def chosen_task(table: Reading, said: Said, rows: Array, notes: list[str]) -> Target:
    """The target of these rows; labels as they are in the file."""
    cells, column = table.exactly(said.target), table.columns[said.target][rows]
    if column.family == "text":
        words = [
            f"{text!r} ({count})"
            for text, count in zip(column.levels, column.counts, strict=True)
            if is_word_for_missing(text)
        ]
        if words:
            notes.append(
                f"Target {said.target!r}: {', '.join(words)} taken as a label. If it means that the label is missing, "
                "empty these cells and use --missing-target drop."
            )
    return choose_task(said.target, table.columns[said.target][rows], [cells[row] for row in rows], said.task)


def rows_left_out(table: Reading, said: Said, gaps: Mapping[str, Array], notes: list[str]) -> Array:
    """A mask of the dropped rows: with `--missing drop` those with missing values, otherwise none.

    Otherwise missing values are an error: in target, group and weight always, in other columns with `--missing refuse`.
    """
    gone = np.zeros(len(next(iter(gaps.values()))), dtype=bool)
    targets = gaps[said.target] if said.missing_target == "drop" else np.zeros(len(gone), dtype=bool)
    if targets.all():
        raise InputError(f"Every row of {table.what} has a missing target: --missing-target drop would leave no rows.")
    for name, found in gaps.items():
        missing = found & ~targets
        gone |= missing
        if missing.any() and said.missing != "drop":
            count = int(missing.sum())
            where = table.where(int(np.argmax(missing)))
            option = "--missing-target drop" if name == said.target else "--missing drop"
            raise InputError(
                f"Column {name!r} has {counted(count, 'missing value')}, the first in {where}. To drop these rows, use "
                f"{option}."
            )
    if (gone | targets).all():
        raise InputError(f"Every row of {table.what} has a missing value: --missing drop would leave no rows.")
    for marks, what in ((targets, "no target"), (gone, "missing values")):
        if marks.any():
            verbs = ("has", "was") if marks.sum() == 1 else ("have", "were")
            notes.append(f"{int(marks.sum())} of {len(marks)} rows {verbs[0]} {what} and {verbs[1]} dropped.")
    gone |= targets
    if (~gone).sum() < _FEWEST:
        after = " after dropping rows with missing values" if gone.any() else ""
        raise InputError(
            f"{table.what} has too few rows: at least {_FEWEST} are needed; got {int((~gone).sum())}{after}."
        )
    return gone


def check_groups(table: Reading, name: str | None, rows: Array) -> Array | None:
    """The groups of these rows, as strings."""
    if name is None:
        return None
    cells = table.exactly(name)
    groups = np.array([str(cells[row]) for row in rows])
    count = len(np.unique(groups))
    if count < 3:
        must_be = "a column with at least 3 distinct values"
        way_out = "All rows of a group are in the same fold, and at least 3 folds are needed."
        raise InputError(sentence(f"--group {name}", must_be, f"{count}", way_out))
    return groups


def check_times(table: Reading, name: str | None, rows: Array) -> Array | None:
    """When each of these rows was: days or numbers."""
    if name is None:
        return None
    cells = table.columns[name]
    if cells.family not in {"date", "number"}:
        must_be, way_out = "a column of dates or numbers", "For dates in another format, set --date-format."
        raise InputError(sentence(f"--time {name}", must_be, cells.found(int(np.argmin(cells.missing))), way_out))
    return np.asarray(cells.values[rows])


def check_weights(table: Reading, name: str | None, rows: Array) -> Array | None:
    """The weights of these rows."""
    if name is None:
        return None
    weights = table.columns[name].values[rows]
    bad = np.flatnonzero(~(weights >= 0))
    if len(bad):
        where = table.where(int(rows[bad[0]]))
        raise InputError(
            sentence(f"Column {name!r}", "non-negative, to be used as weights", f"{weights[bad[0]]:g} in {where}")
        )
    return np.asarray(weights)
