"""From a table and the options about its columns to features, a target, groups and weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.cli.choices import Target, as_label, choose_task, common_labels
from mercer.cli.leaks import alike
from mercer.cli.options import TableOptions
from mercer.cli.refusals import flags
from mercer.data.rows import Array
from mercer.errors import InputError, LeftOutWarning, nearest, sentence
from mercer.tables import TableEncoder
from mercer.tables.cells import Cells
from mercer.tables.encoder import EncoderSettings
from mercer.tables.encoding import LONG, TOO_LARGE, Passes, fit_encoder, look_at
from mercer.tables.kinds import odd_warning
from mercer.tables.parquet import LongTable
from mercer.tables.reading import Reading, Rules, read_table
from mercer.tables.values import is_word_for_missing
from mercer.text import counted, quoted

_FEWEST = 6  # rows that folds can be made of


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
        One per row, if options.
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


def learned_from(options: TableOptions, column: Callable[[str], Any], names: Sequence[str], what: str) -> list[str]:
    """The feature columns; `column` raises an error for unknown names."""
    for name in (options.target, *options.kinds, *options.always_there[1:], *options.aside):
        column(name)
    if options.target in {*options.aside, options.weight, options.time}:
        raise InputError(
            f"Target {options.target!r} cannot also be used with --drop, --group, --time, --weight or --id."
        )
    features = [name for name in names if name not in {options.target, options.weight, *options.aside}]
    if not features:
        raise InputError(f"{what} has no columns besides the target {options.target!r}.")
    return features


def prepare(source: str, options: TableOptions) -> Prepared:
    """Read a table and sort its columns; of one with many rows, read a sample and promise the rest."""
    if options.time is not None and options.group is not None:
        raise InputError("--time and --group cannot be used together. Remove one of them.")
    long = LongTable.find(source, above=LONG)
    if long is not None:
        return prepare_long(long, options)
    how, separator, encoding = rules_for(options), options.separator, options.encoding
    table = read_table(source, how, separator=separator, encoding=encoding, too_large=TOO_LARGE)
    names = learned_from(options, table.exactly, list(table.raw), table.what)
    notes = list(table.notes)
    looked_at = [*options.always_there, *(names if options.missing in {"drop", "refuse"} else [])]
    gaps = {name: table.gaps(name) for name in looked_at}
    rows = np.flatnonzero(~rows_left_out(table, options, gaps, notes))
    if options.rare_labels == "drop":
        cells = table.exactly(options.target)
        common = common_labels(table.columns[options.target][rows], [cells[row] for row in rows], options.task)
        if not common.all():
            labels = quoted(sorted({as_label(cells[row]) for row in rows[~common]}))
            notes.append(f"{counted(int((~common).sum()), 'row')} with rare labels dropped: {labels}.")
        rows = rows[common]
    features = {name: table.columns[name][rows] for name in names}
    encoder = fit_table_encoder(features, options, table, notes)
    notes += alike(encoder, features)
    target = choose_target(table, options, rows, notes)
    groups, weights = check_groups(table, options.group, rows), check_weights(table, options.weight, rows)
    times = check_times(table, options.time, rows)
    notes += structure_words(options, groups, weights, times)
    ignored = tuple(name for name in table.raw if name not in features and name != options.target)
    warned = odd_words(encoder, features)
    return Prepared(table, table.rows, features, encoder, target, groups, weights, ignored, notes, warned, times)


def prepare_long(table: LongTable, options: TableOptions) -> Prepared:
    """Look at a long table once, and sort its columns."""

    def column(name: str) -> None:
        if name not in table.names:
            raise InputError(f"There is no column {name!r} in {table.what}. {nearest(name, table.names)}")

    if options.time is not None:
        raise InputError(
            f"--time is not supported for tables that are read in blocks ({table.rows} rows). Fit fewer rows, or "
            "remove --time."
        )
    if not options.rows_kept:
        raise InputError(
            f"--without-data is not supported for tables that are read in blocks ({table.rows} rows): their Nystroem "
            "model stores some of the training rows, its landmarks. Remove --without-data, or fit a smaller table."
        )
    names = learned_from(options, column, table.names, table.what)
    looked_at = names if options.missing in {"drop", "refuse"} else []
    look = look_at(table, rules_for(options), options.always_there, looked_at)
    sample, whole = look.sample, look.whole
    notes = list(dict.fromkeys([*whole.notes, *sample.notes]))
    kept = ~rows_left_out(whole, options, look.gaps, notes)
    rows = np.flatnonzero(kept)
    notes.append(f"Columns were judged by {sample.rows} evenly spaced rows; all rows are read in blocks.")
    drawn = np.flatnonzero(kept[look.rows])
    features = {name: look.columns[name][drawn] for name in names}
    encoder = fit_table_encoder(features, options, sample, notes)
    target = choose_target(whole, options, rows, notes)
    groups, weights = check_groups(whole, options.group, rows), check_weights(whole, options.weight, rows)
    notes += structure_words(options, groups, weights, None)
    ignored = tuple(name for name in table.names if name not in features and name != options.target)
    warned = odd_words(encoder, features)
    stream = Passes(table, encoder, look.how, kept, target.values, weights, groups)
    return Prepared(
        sample, table.rows, features, encoder, target, groups, weights, ignored, notes, warned, stream=stream
    )


def odd_words(encoder: TableEncoder, features: Mapping[str, Cells]) -> list[str]:
    """Warnings of columns that are mostly numbers or dates and were taken for something else."""
    warned = (odd_warning(column, features[column.name]) for column in encoder.columns_)
    return [warning.in_terms(flags) for warning in warned if warning is not None]


def structure_words(
    options: TableOptions, groups: Array | None, weights: Array | None, times: Array | None
) -> list[str]:
    """What groups, weights and times do to the fit."""
    words = []
    if groups is not None:
        words.append(
            f"--group {options.group}: {len(np.unique(groups))} groups; rows of one group are in the same fold."
        )
    if weights is not None:
        words.append(f"--weight {options.weight}: weights of {weights.min():g} to {weights.max():g}.")
    if times is not None:
        words.append(
            f"--time {options.time}: every fold is predicted from earlier rows, so the error is about the future."
        )
    return words


def rules_for(options: TableOptions) -> Rules:
    """How the columns of the table are read."""
    return Rules(
        options.read_as, frozenset(options.columns_to_skip), decimal=options.decimal, date_format=options.date_format,
        endless=options.missing not in {None, "refuse"}, strict=options.strict or frozenset(options.always_there),
    )  # fmt: skip


def fit_table_encoder(
    features: Mapping[str, Cells], options: TableOptions, table: Reading, notes: list[str]
) -> TableEncoder:
    """The fitted encoder of these columns; an error if no column can be a feature."""
    kinds = {name: kind for name, kind in options.read_as.items() if name in features}
    if options.time is not None and options.time in features and features[options.time].family == "number":
        kinds.setdefault(options.time, "number")  # row numbers, too, if time goes by them
    missing = "mean" if options.missing == "mean" else "mark"
    settings = EncoderSettings(tuple(kinds.items()), (), table.style, missing, options.date_format, options.strict)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", LeftOutWarning)
        encoder = fit_encoder(features, settings, table.what)
    notes += [each.message.in_terms(flags) for each in heard if isinstance(each.message, LeftOutWarning)]
    return encoder if options.rows_kept else encoder.rounded()


def choose_target(table: Reading, options: TableOptions, rows: Array, notes: list[str]) -> Target:
    """The target of these rows; labels as they are in the file."""
    cells, column = table.exactly(options.target), table.columns[options.target][rows]
    if column.family == "text":
        words = [
            f"{text!r} ({count})"
            for text, count in zip(column.levels, column.counts, strict=True)
            if is_word_for_missing(text)
        ]
        if words:
            notes.append(
                f"Target {options.target!r}: {', '.join(words)} taken as a label. If it means that the label is "
                "missing, empty these cells and use --missing-target drop."
            )
    return choose_task(options.target, table.columns[options.target][rows], [cells[row] for row in rows], options.task)


def rows_left_out(table: Reading, options: TableOptions, gaps: Mapping[str, Array], notes: list[str]) -> Array:
    """A mask of the dropped rows: with `--missing drop` those with missing values, otherwise none.

    Otherwise missing values are an error: in target, group and weight always, in other columns with `--missing refuse`.
    """
    gone = np.zeros(len(next(iter(gaps.values()))), dtype=bool)
    targets = gaps[options.target] if options.missing_target == "drop" else np.zeros(len(gone), dtype=bool)
    if targets.all():
        raise InputError(f"Every row of {table.what} has a missing target: --missing-target drop would leave no rows.")
    for name, found in gaps.items():
        missing = found & ~targets
        gone |= missing
        if missing.any() and options.missing != "drop":
            count = int(missing.sum())
            where = table.where(int(np.argmax(missing)))
            option = "--missing-target drop" if name == options.target else "--missing drop"
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
