"""From a table and what its columns are for to features, a target, groups and weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from mercer.cli.hints import alike
from mercer.cli.job import Job
from mercer.cli.refusals import flags
from mercer.data.rows import Array
from mercer.errors import InputError, LeftOutWarning, nearest, refuse, refuse_if, sentence
from mercer.estimators.auto_core import fixed_seconds
from mercer.estimators.auto_evaluation import FULL_SYSTEMS
from mercer.tables import TableEncoder
from mercer.tables.cells import Cells
from mercer.tables.encoder import EncoderSettings
from mercer.tables.encoding import LONG, TOO_LARGE, Passes, TableLook, fit_encoder, look_at
from mercer.tables.kinds import odd_warning
from mercer.tables.parquet import LongTable
from mercer.tables.reading import Reading, Rules, read_table
from mercer.tables.values import is_word_for_missing
from mercer.text import counted, quoted

Task: TypeAlias = Literal["regression", "classification"]
Target: TypeAlias = tuple[Array, Task, str]  # numbers or labels, what they are, and why

_FEWEST = 3  # rows of a label, so that folds can have some
_FEW_ROWS = 2000  # up to which the automatic models are tried in any time
MANY = 1_000_000  # rows beyond which models of landmarks are fitted; as many as a Parquet table that is held may have
# Options that the automatic models do not have; --checkpoint only those of many rows.
_SEARCHED = ("kernel", "alphas", "rule", "scoring", "repeats", "checkpoint", "without_data")
_FEW = 10  # whole numbers with no more distinct values may be labels


class Prepared:
    """The table of a job with its columns sorted; of one with many rows, a sample and passes over all rows.

    Attributes
    ----------
    job : Job
        What the command line says.
    reading : Reading
        The table as it was read.
    rows : int
        How many the table has.
    features : dict of str to Cells
        The columns to learn from.
    encoder : TableEncoder
        Their kinds, and how they become numbers.
    y : ndarray
        What is to be predicted: numbers or labels, one per row.
    task, task_because : str
        `regression` or `classification`, and the reason, for people.
    labels : bool
        Whether the target is labels.
    model, model_because : str
        The class of the model to be fitted, and the reason.
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

    FEWEST: ClassVar[int] = 6  # rows that folds can be made of

    def __init__(self, job: Job) -> None:
        refuse(None not in {job.time, job.group}, "--time and --group cannot be used together. Remove one of them.")
        long = LongTable.find(job.table, above=LONG)
        look, names = _read_all(job) if long is None else _read_sample(job, long)
        table, self.reading, self.job = look.whole, look.sample, job
        self.notes = notes = list(dict.fromkeys([*table.notes, *self.reading.notes]))
        kept = ~rows_left_out(table, job, look.gaps, notes)
        if long is not None:
            notes.append(f"Columns were judged by {self.reading.rows} evenly spaced rows; all rows are read in blocks.")
        elif job.rare_labels == "drop":
            kept &= _rows_of_common_labels(table, job, kept, notes)
        rows, drawn, self.rows = np.flatnonzero(kept), np.flatnonzero(kept[look.rows]), len(kept)
        self.features = {name: look.columns[name][drawn] for name in names}
        self.encoder = fit_table_encoder(self.features, job, self.reading, notes)
        notes += alike(self.encoder, self.features) if long is None else []
        self.y, self.task, self.task_because = choose_target(table, job, rows, notes)
        self.labels = self.task == "classification"
        self.model, self.model_because = choose_model(job, self.task, len(self.y), streamed=long is not None)
        self.groups, self.weights, self.times = _columns_beside(table, job, rows, notes)
        odd = (odd_warning(column, self.features[column.name]) for column in self.encoder.columns_)
        self.warned = [warning.in_terms(flags) for warning in odd if warning is not None]
        self.ignored = tuple(name for name in self.reading.raw if name not in self.features and name != job.target)
        beside = self.y, self.weights, self.groups
        self.stream = None if long is None else Passes(long, self.encoder, look.how, kept, *beside)


def _read_all(job: Job) -> tuple[TableLook, list[str]]:
    """A table that is held in memory, which is its own sample, and the names of its features."""
    how, separator, encoding = _rules(job), job.separator, job.encoding
    table = read_table(job.table, how, separator=separator, encoding=encoding, too_large=TOO_LARGE)
    names = feature_names(job, table.raw, table.what, table.exactly)
    looked_at = [*job.always_there, *(names if job.missing in {"drop", "refuse"} else [])]
    gaps = {name: table.gaps(name) for name in looked_at}
    return TableLook(table, np.arange(table.rows), table.columns, table, gaps, how), names


def _read_sample(job: Job, table: LongTable) -> tuple[TableLook, list[str]]:
    """A table that is read in blocks: a sample of its rows, and the names of its features."""

    def known(name: str) -> None:
        if name not in table.names:
            raise InputError(f"There is no column {name!r} in {table.what}. {nearest(name, table.names)}")

    blocks = f"is not supported for tables that are read in blocks ({table.rows} rows)"
    refuse(job.time is not None, f"--time {blocks}. Fit fewer rows, or remove --time.")
    why = "their Nystroem model stores some of the training rows, its landmarks"
    refuse(job.without_data, f"--without-data {blocks}: {why}. Remove --without-data, or fit a smaller table.")
    names = feature_names(job, table.names, table.what, known)
    return look_at(table, _rules(job), job.always_there, names if job.missing in {"drop", "refuse"} else []), names


def _rules(job: Job) -> Rules:
    """How the cells of a table are read, whether it is held whole or not."""
    endless, strict = job.missing not in {None, "refuse"}, job.strict or job.always_there
    how: Any = {"decimal": job.decimal, "date_format": job.date_format, "endless": endless, "strict": strict}
    skipped = [name for name in job.aside if name not in {job.weight, job.time}]
    return Rules(job.read_as, skipped, **how)


def feature_names(job: Job, names: Collection[str], what: str, column: Callable[[str], object]) -> list[str]:
    """The feature columns; `column` raises an error for unknown names."""
    for name in (job.target, *job.kinds, *job.always_there[1:], *job.aside):
        column(name)
    if job.target in {*job.aside, job.weight, job.time}:
        raise InputError(f"Target {job.target!r} cannot also be used with --drop, --group, --time, --weight or --id.")
    features = [name for name in names if name not in {job.target, job.weight, *job.aside}]
    refuse(not features, f"{what} has no columns besides the target {job.target!r}.")
    return features


def rows_left_out(table: Reading, job: Job, gaps: Mapping[str, Array], notes: list[str]) -> Array:
    """A mask of the dropped rows: those with missing values, or with a missing target, as the options ask for.

    `--missing drop` and `--missing-target drop` drop rows. Without them missing values are an error: in the columns of
    target, group, weight and time always, in other columns with `--missing refuse`.
    """
    gone = np.zeros_like(gaps[job.target])
    targets = gaps[job.target] if job.missing_target == "drop" else gone.copy()
    refuse(targets.all(), f"Every row of {table.what} has a missing target: --missing-target drop would leave no rows.")
    for name, gap in gaps.items():
        missing = gap & ~targets
        gone |= missing
        if missing.any() and job.missing != "drop":
            count, where = int(missing.sum()), table.where(int(np.argmax(missing)))
            option = "--missing-target drop" if name == job.target else "--missing drop"
            way_out = f"To drop these rows, use {option}."
            raise InputError(f"Column {name!r} has {counted(count, 'missing value')}, the first in {where}. {way_out}")
    if (gone | targets).all():
        raise InputError(f"Every row of {table.what} has a missing value: --missing drop would leave no rows.")
    for marks, what in ((targets, "no target"), (gone, "missing values")):
        if marks.any():
            has, was = ("has", "was") if marks.sum() == 1 else ("have", "were")
            notes.append(f"{int(marks.sum())} of {len(marks)} rows {has} {what} and {was} dropped.")
    gone |= targets
    left, after = int((~gone).sum()), " after dropping rows with missing values" if gone.any() else ""
    got = f"at least {Prepared.FEWEST} are needed; got {left}{after}."
    refuse(left < Prepared.FEWEST, f"{table.what} has too few rows: {got}")
    return gone


def _rows_of_common_labels(table: Reading, job: Job, kept: Array, notes: list[str]) -> Array:
    """A mask of the kept rows with a label that enough of them have; all where the target is numeric."""
    cells, written, rows = table.columns[job.target], table.exactly(job.target), np.flatnonzero(kept)
    if job.task == "regression" or (cells.family == "number" and not cells.declared and job.task is None):
        return kept
    labels = np.array([as_label(written[row]) for row in rows])
    _, places, counts = np.unique(labels, return_inverse=True, return_counts=True)
    rare = counts[places] < _FEWEST
    if rare.any():
        dropped = quoted(sorted(set(labels[rare].tolist())))
        notes.append(f"{counted(int(rare.sum()), 'row')} with rare labels dropped: {dropped}.")
    common = kept.copy()
    common[rows[rare]] = False
    return common


def fit_table_encoder(features: Mapping[str, Cells], job: Job, table: Reading, notes: list[str]) -> TableEncoder:
    """The fitted encoder of these columns; an error if no column can be a feature."""
    kinds = {name: kind for name, kind in job.read_as.items() if name in features}
    if job.time is not None and job.time in features and features[job.time].family == "number":
        kinds.setdefault(job.time, "number")  # row numbers, too, if time goes by them
    missing = "mean" if job.missing == "mean" else "mark"
    settings = EncoderSettings(tuple(kinds.items()), (), table.style, missing, job.date_format, job.strict)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", LeftOutWarning)
        encoder = fit_encoder(features, settings, table.what)
    notes += [each.message.in_terms(flags) for each in heard if isinstance(each.message, LeftOutWarning)]
    return encoder.rounded() if job.without_data else encoder


def choose_target(table: Reading, job: Job, rows: Array, notes: list[str]) -> Target:
    """The target of these rows, and whether it is for regression or classification; the first line that fits decides.

    ================================================  =====================
    dates                                             refused
    one distinct value                                refused
    set by --task                                     that task
    text, booleans, or --as TARGET=category           classification
    numbers, two distinct values                      classification
    whole numbers that count the rows: n, n+1, ...    refused
    other numbers                                     regression
    ================================================  =====================

    Labels are the cells as they are in the file. Those of which more than half are distinct are refused, since they
    name rows, and so are labels of one or two rows.
    """
    name = job.target
    what, cells, written = f"Target {name!r}", table.columns[name][rows], table.exactly(name)
    if cells.family == "text":
        counts = zip(cells.levels, cells.counts, strict=True)
        words = [f"{text!r} ({count})" for text, count in counts if is_word_for_missing(text)]
        meant = "If it means that the label is missing, empty these cells and use --missing-target drop."
        notes += [f"{what}: {', '.join(words)} taken as a label. {meant}"] if words else []
    hint = "Replace the dates by a number, such as days since a fixed date."
    refuse_if(cells.family == "date", what, "numbers or labels", "dates", hint)
    numbers = cells.family == "number"
    labels = cells.values if numbers and not cells.declared else np.array([as_label(written[row]) for row in rows])
    distinct = np.unique(labels)
    refuse(len(distinct) < 2, f"{what} is constant: {as_label(distinct[0])} in every row. Choose another target.")
    if job.task == "regression":
        refuse_if(not numbers, what, "numbers for regression", f"text such as {str(labels[0])!r}")
        return cells.values, "regression", "set by --task"
    by_task = "set by --task" if job.task else ""
    if cells.declared or not numbers:
        return _label_target(name, labels, by_task or f"its values are labels, {len(distinct)} distinct")
    whole = bool((distinct == np.floor(distinct)).all())
    if job.task or len(distinct) == 2:
        labels = labels.astype(np.int64) if whole else np.array([as_label(number) for number in labels])
        return _label_target(name, labels, by_task or "its values are numbers, but only two distinct ones")
    if whole and len(distinct) == len(labels) and (np.diff(labels) == 1).all():
        first, way_out = ", ".join(map(as_label, labels[:3])), "Choose another target, or use --task regression."
        raise InputError(f"{what} looks like a row number ({first}, ...). {way_out}")
    few = "; if they are labels, use --task classification" * (whole and len(distinct) <= _FEW)
    return labels, "regression", f"its values are numbers, {len(distinct)} distinct{few}"


def _label_target(name: str, labels: Array, why: str) -> Target:
    """The labels; an error if they name rows, or if one is too rare."""
    what, (distinct, counts) = f"Target {name!r}", np.unique(labels, return_counts=True)
    count = len(distinct)
    many = f"{count} distinct labels in {len(labels)} rows. If the target is numeric, use --task regression."
    refuse(count > 2 and 2 * count > labels.size, f"{what} has too many classes: {many}")
    rarest = str(distinct[counts.argmin()])
    least, must_be = int(counts.min()), f"labels with at least {_FEWEST} rows each"
    got, way_out = f"{least} for {rarest!r}", "To drop such rows, use --rare-labels drop."
    refuse_if(least < _FEWEST, what, must_be, got, way_out)
    return labels, "classification", why


def as_label(cell: Any) -> str:
    """A cell as a label: 3.0 and 3 are the same one."""
    if isinstance(cell, float | np.floating) and float(cell).is_integer() and abs(float(cell)) < 1e15:
        return str(int(cell))
    return str(cell).strip()


def _columns_beside(
    table: Reading, job: Job, rows: Array, notes: list[str]
) -> tuple[Array | None, Array | None, Array | None]:
    """The groups of these rows, as strings, their weights, and their times, as days or numbers; None without option."""
    groups = weights = times = None
    if (name := job.group) is not None:
        cells = table.exactly(name)
        groups = np.array([str(cells[row]) for row in rows])
        count = len(np.unique(groups))
        way_out = "All rows of a group are in the same fold, and at least 3 folds are needed."
        refuse_if(count < 3, f"--group {name}", "a column with at least 3 distinct values", f"{count}", way_out)
        notes.append(f"--group {name}: {count} groups; rows of one group are in the same fold.")
    if (name := job.weight) is not None:
        weights = np.asarray(table.columns[name].values[rows])
        if len(bad := np.flatnonzero(~(weights >= 0))):
            got = f"{weights[bad[0]]:g} in {table.where(int(rows[bad[0]]))}"
            raise InputError(sentence(f"Column {name!r}", "non-negative, to be used as weights", got))
        notes.append(f"--weight {name}: weights of {weights.min():g} to {weights.max():g}.")
    if (name := job.time) is not None:
        column = table.columns[name]
        if column.family not in {"date", "number"}:
            must_be, way_out = "a column of dates or numbers", "For dates in another format, set --date-format."
            raise InputError(sentence(f"--time {name}", must_be, column.found(int(np.argmin(column.missing))), way_out))
        notes.append(f"--time {name}: every fold is predicted from earlier rows, so the error is about the future.")
        times = np.asarray(column.values[rows])
    return groups, weights, times


def choose_model(job: Job, task: Task, rows: int = 0, *, streamed: bool = False) -> tuple[str, str]:
    """The class of the model, and why; the first line that fits decides.

    =====================================================  ===============================================
    --dask, more than a million rows, or a table that is  NystroemRidgeCV or NystroemRidgeClassifierCV
    read in passes (`streamed`)
    a --time-budget that the automatic models cannot       NystroemRidgeCV or NystroemRidgeClassifierCV
    keep for so many rows, and none of the options below
    any of --kernel, --alphas, --rule, --scoring,          KernelRidgeCV or KernelRidgeClassifierCV
    --repeats, --without-data, or --checkpoint with at
    most 5000 rows
    none of them                                           AutoRegressor or AutoClassifier
    =====================================================  ===============================================

    Automatic models of at most 5000 rows are fitted in seconds and have no checkpoint.
    `--without-data` wants weights of features and not landmarks, which are rows, so it never takes the first line.

    Examples
    --------
    >>> choose_model(Job("houses.csv", "price", rule="one_se"), "regression")
    ('KernelRidgeCV', 'because of --rule')
    """
    kind = "Ridge" if task == "regression" else "RidgeClassifier"
    asked = [f"--{name.replace('_', '-')}" for name in _SEARCHED if getattr(job, name)]
    if rows > FULL_SYSTEMS and asked == ["--checkpoint"]:
        asked = []
    if (job.dask or rows > MANY or streamed) and not job.without_data:
        why = "because of --dask" if job.dask else f"landmarks in place of all pairs of {rows} rows"
        return f"Nystroem{kind}CV", why
    if asked:
        return f"Kernel{kind}CV", f"because of {' and '.join(asked)}"
    if job.time_budget is not None and rows > _FEW_ROWS and fixed_seconds(rows) > job.time_budget:
        return f"Nystroem{kind}CV", f"landmarks, to keep --time-budget with {rows} rows"
    return "AutoRegressor" if task == "regression" else "AutoClassifier", "the default"
