"""`mercer predict` and `mercer score`: a model applied to a new table, and what is written and said of it."""

from __future__ import annotations

import io
import json
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from mercer.cli.job import parse_separator, refuse_overwriting
from mercer.cli.preparing import as_label
from mercer.cli.refusals import flags, report_interrupts, say, warn
from mercer.data.rows import Array
from mercer.errors import InputError, MercerWarning, ModelFileError, printable, refuse, refuse_if, sentence
from mercer.estimators.auto_classifier import wrong_share
from mercer.estimators.auto_evaluation import root_mean_square
from mercer.estimators.pipelines import predict_interval
from mercer.estimators.table_model import FeatureRegressor, TableModel
from mercer.models import load
from mercer.runtime.disk import write_whole
from mercer.selection.outcome import ROOT_MEAN_SQUARE, WRONG, Outcome
from mercer.selection.table import mean_with_error
from mercer.tables.cells import Writing, read_cells, text_cells
from mercer.tables.columns import EncoderReport
from mercer.tables.kinds import interpret
from mercer.tables.parquet import LongTable, one_line
from mercer.tables.reading import Reading, Rules, arrow_reading, read_table
from mercer.tables.values import NumberStyle, level_name
from mercer.text import counted, legible, plain, quoted

_SHORT = 0.05  # of coverage below what intervals say: worth a warning
_TABLES = {".csv", ".tsv", ".txt", ".parquet", ".gz", ".zst"}  # endings of files that are no models
_FEWER = "Predict for fewer rows at a time."
CONFIDENCE = 0.9  # of the intervals that `mercer score` checks
_MOST = 20  # groups that are listed
_BINS = 5  # of predicted probabilities
_TINY = 1e-12
_DUST = 1e-9  # of the error: what rounding leaves

Estimate: TypeAlias = Callable[[Array, Array | None], tuple[Array, Array]]
Answer: TypeAlias = dict[str, Array]  # the columns that are written: predictions and what is beside them
# What is wrong in each row; errors with their standard errors, and tables of more, by what they are called.
Scores: TypeAlias = tuple[Array, dict[str, tuple[float, float]], dict[str, tuple[list[str], list[tuple[Any, ...]]]]]


def run_predict(options: dict[str, Any]) -> None:
    """`mercer predict`."""
    out, drop, confidence = options["out"], options["drop"], options["interval"]
    with report_interrupts({"table": out}):
        refuse_overwriting({"the model": options["model"], "the table": options["table"]}, {"--out": out})
        model, table = read_both(options)
        for note in table.notes:
            say(note, err=True)
        with _print_warnings():
            answer, report = predict_table(model, table, drop, options["row_id"], confidence)
        write(answer, out)
        unused = [name for name in model.unknown_columns(table.raw) if name not in drop]
        if out != "-":
            say(f"Written to {printable(out)} ({counted(table.rows, 'row')}).", err=True)
        if unused:
            say(f"Not used by the model: {quoted(unused)}.", err=True)
        _tell_strangers(report)
        _tell_coverage(model, confidence)
        if model.target not in table.raw or model.target in drop:
            return
        try:
            outcome = score_table(model, table, answer, confidence)
            say(f"\n{outcome.rows} rows have a known {model.target}:\n\n{outcome}", err=True)
        except InputError as error:
            say(f"The predictions are not compared with {model.target}: {error.in_terms(flags)}", err=True)


def run_score(options: dict[str, Any]) -> None:
    """`mercer score`."""
    model, table = read_both(options)
    table.exactly(model.target)
    group = options["group"]
    aside = options["drop"] if group is None or group in model.kinds else (*options["drop"], group)
    able = hasattr(model.model, "predict_interval") and not isinstance(model.model, FeatureRegressor)
    confidence = CONFIDENCE if able and not model.is_classifier else None
    with _print_warnings():
        answer, report = predict_table(model, table, aside, None, confidence)
    outcome = score_table(model, table, answer, confidence, group)
    if options["as_json"]:
        say(json.dumps(as_json(outcome), ensure_ascii=False))
        return
    for note in table.notes:
        say(note, err=True)
    known = f"{outcome.rows} of {table.rows} rows have a known {model.target}"
    say(f"{options['model']} on {table.what}: {known}.\n\n{outcome}")
    error = model.facts.get("error")
    if isinstance(error, dict) and isinstance(error.get("value"), float) and isinstance(error.get("measure"), str):
        unit, sign = (100.0, " %") if "share" in error["measure"] else (1.0, "")
        by = error.get("standard_error")
        spread = f" +- {plain(unit * by, 2)}{sign}" if isinstance(by, float) else ""
        say(f"\nExpected when it was fitted: {plain(unit * error['value'])}{sign}{spread} ({error['measure']}).")
    _tell_strangers(report)


def read_both(options: dict[str, Any]) -> tuple[TableModel, Reading]:
    """The model, and the table to predict for: a file, standard input, or a directory of Parquet files."""
    model, source = _load_model(options["model"]), options["table"]
    separator = parse_separator(options["separator"])
    signs = {name: options[name] for name in ("decimal", "date_format")}
    how = Rules(model.kinds, only_kinds=True, style=model.style, writings=model.writings, **signs)
    parts = LongTable.find(source, above=0) if Path(source).is_dir() else None
    if parts is None:
        encoding = options["encoding"]
        return model, read_table(source, how, separator=separator, encoding=encoding, too_large=_FEWER)
    import pyarrow as pa

    parts.promise(_FEWER)
    try:
        table = pa.concat_tables(parts.blocks(parts.names), promote_options="permissive")
    except pa.ArrowException as error:
        what, way_out = parts.what, "Save every file with the same column types."
        raise InputError(
            f"The Parquet files of {what} cannot be read as one table: {one_line(error)}. {way_out}"
        ) from None
    return model, arrow_reading(table, parts.what, how)


def _load_model(path: str) -> TableModel:
    try:
        model = load(path)
    except ModelFileError:
        if Path(path).suffix.lower() in _TABLES:
            raise InputError(f"{path!r} is a table. The order is MODEL TABLE: the model file comes first.") from None
        raise
    if not isinstance(model, TableModel):
        got, way_out = f"a {type(model).__name__} saved from Python", f"Use mercer.load({path!r}).predict in Python."
        raise InputError(sentence(path, "a model file written by `mercer fit`", got, way_out))
    return model


def _tell_coverage(model: TableModel, confidence: float | None) -> None:
    """What share of held-out rows intervals had held when the model was fitted."""
    facts = model.facts.get("intervals")
    nominal, held = (facts.get(name) if isinstance(facts, dict) else None for name in ("confidence", "held"))
    if confidence is None or not isinstance(nominal, int | float) or not isinstance(held, int | float):
        return
    words = f"{100 * nominal:g} % intervals held {100 * held:.0f} % of the rows that were held out in training."
    if abs(confidence - nominal) > _SHORT:
        words += f" How many intervals of {100 * confidence:g} % hold was not counted."
    if held < nominal - _SHORT:
        warn(f"{words} Expect those of new rows to hold less than they say.")
    else:
        say(words, err=True)


@contextmanager
def _print_warnings() -> Iterator[None]:
    """Print the warnings of mercer that are issued meanwhile, each once, as lines of the command."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", MercerWarning)
        yield
    for words in dict.fromkeys(str(each.message) for each in heard):
        warn(words)


def _tell_strangers(report: EncoderReport) -> None:
    """Warnings of columns with values unlike those of training."""
    of = counted(report.rows, "value")
    for column in report.columns[:10]:
        parts = {
            "outside the training range": column.outside,
            f"in categories not seen in training ({column.example!r})": column.unseen,
            "missing (never missing in training)": column.missing,
        }
        words = "; ".join(f"{count} of {of} {what}" for what, count in parts.items() if count)
        warn(f"column {column.name!r}: {words}.")
    if report.columns:
        say("Predictions for such rows are extrapolations.", err=True)


def predict_table(
    model: TableModel, table: Reading, drop: tuple[str, ...], row_id: str | None, confidence: float | None
) -> tuple[Answer, EncoderReport]:
    """The columns of the answer by name, and what is unlike the training table."""
    for name in drop:
        table.exactly(name)
    aside = {*drop, *({row_id} - set(model.kinds))}  # a column that names rows may also be learned from
    taken = {name: table.columns.get(name) for name in table.raw if name not in aside}
    report = model.report(taken)
    if hasattr(type(model.model), "tells"):
        model.model.tells = False  # of rows unlike those of training: the report does
    rows, pipeline = model.fitting(taken), model.pipeline  # which does not tell of them, either
    answer: Answer = {}
    first = row_id or (model.row_id if model.row_id in table.raw else None)
    if first:
        answer[first] = np.fromiter(table.exactly(first), dtype=object, count=table.rows)
    name, why = "prediction", "the column of predictions has this name"
    refuse(first == name, f"The id column must not be called {name!r}: {why}. Rename the id column.")
    answer[name] = pipeline.predict(rows)
    if confidence is not None:
        way_out = "Remove --interval: class probabilities are always written."
        refuse(model.is_classifier, f"--interval needs a regression model; this model is a classifier. {way_out}")
        kind, able = type(model.model).__name__, hasattr(model.model, "predict_interval")
        refuse(not able, f"--interval is not supported for {kind} models. Remove --interval.")
        answer["lower"], answer["upper"] = predict_interval(pipeline, rows, confidence)
    if model.is_classifier:
        shares = pipeline.predict_proba(rows)
        answer |= {f"probability_{label}": shares[:, place] for place, label in enumerate(model.model.classes_)}
    return answer, report


def write(answer: Answer, out: str) -> None:
    """To a CSV or Parquet file by its ending, which appears whole or not at all; to standard output for "-".

    Files and pipes get every cell as it is; a terminal gets what it can show.
    """
    if out == "-":
        text = as_csv(answer)
        sys.stdout.write(printable(text, lines=True) if sys.stdout.isatty() else text)
        sys.stdout.flush()
        return
    ending = Path(out).suffix.lower()
    if ending == ".parquet":
        content = _as_parquet(answer)
    elif ending in {".csv", ".tsv", ".txt", ""}:
        content = as_csv(answer, "\t" if ending == ".tsv" else ",").encode()
    else:
        raise InputError(sentence("--out", "a file that ends in .csv, .tsv or .parquet", repr(out)))
    write_whole(Path(out), [content], "table")


def as_csv(answer: Answer, separator: str = ",") -> str:
    """CSV with numbers that read back exactly.

    >>> import numpy as np
    >>> print(as_csv({"id": np.array(["a", "b"]), "prediction": np.array([0.1, 2.0])}), end="")
    id,prediction
    a,0.1
    b,2.0
    """
    special = {separator, '"', "\r", "\n"}

    def quote(cell: str) -> str:  # the csv package leaves \r unquoted, which other readers take for the end of a row
        return '"' + cell.replace('"', '""') + '"' if special & set(cell) else cell

    columns = [[name, *map(_cell, column.tolist())] for name, column in answer.items()]
    return "".join(separator.join(map(quote, row)) + "\n" for row in zip(*columns, strict=True))


def _cell(value: Any) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _as_parquet(answer: Answer) -> bytes:
    """Parquet; strings where pyarrow has no type for all values of a column."""
    import pyarrow as pa
    from pyarrow import parquet

    def column(values: list[Any]) -> Any:
        try:
            return pa.array(values)
        except (pa.ArrowException, OverflowError):
            return pa.array([None if value is None else _cell(value) for value in values])

    file = io.BytesIO()
    parquet.write_table(pa.table({name: column(values.tolist()) for name, values in answer.items()}), file)
    return file.getvalue()


# -- scores ------------------------------------------------------------------------------------------


def known_targets(model: TableModel, table: Reading) -> tuple[Array, Array]:
    """The targets of the rows that have one, and which rows these are; refused where they are of another kind."""
    name, raw = model.target, table.raw[model.target]
    cells = (text_cells if isinstance(raw, list) else read_cells)(name, raw, table.where)
    if not model.is_classifier:
        around = model.facts.get("target_writing")
        writing = Writing("", *around) if isinstance(around, list) and len(around) == 2 else None
        cells = interpret(cells, "number", model.style or table.style or NumberStyle(), writing=writing)
    rows = np.flatnonzero(~cells.missing)
    refuse(not len(rows), f"Column {model.target!r} of {table.what} is empty: there is nothing to compare with.")
    if not model.is_classifier:
        return cells.values[rows].astype(np.float64), rows
    written = table.exactly(name)
    return _label_texts(written[row] for row in rows), rows


def _label_texts(cells: Iterable[Any]) -> Array:
    """Labels, however they are written: 1.0 is 1, and TRUE is True."""
    return np.array([level_name(as_label(cell), NumberStyle()) for cell in cells], dtype=object)


def score_table(
    model: TableModel, table: Reading, answer: Answer, confidence: float | None, group: str | None = None
) -> Outcome:
    """How good the predictions are on the rows with a target.

    Parameters
    ----------
    model, table : TableModel, Reading
        What predicted, and for what.
    answer : dict of str to ndarray
        The predictions by name, as `predict_table` gives them.
    confidence : float or None
        That of the intervals among them; None where there are none.
    group : str, default=None
        A column; errors are also given for each of its values.
    """
    y, rows = known_targets(model, table)
    groups = None if group is None else np.array([as_label(cell) for cell in table.exactly(group)], dtype=object)[rows]
    answer = {name: values[rows] for name, values in answer.items()}
    notes: list[str] = []
    numbers_of: Callable[[Array], tuple[float, ...]]
    if model.is_classifier:
        measure, base = WRONG, 1.0 - np.unique(y, return_counts=True)[1].max() / len(y)
        off, measures, tables = _score_labels(model, y, answer, groups, notes)
        (error, by), header, numbers_of = _mean(off, groups), ["% wrong", "+-"], _percent
    else:
        measure, base = ROOT_MEAN_SQUARE, float(np.std(y))
        off, measures, tables = _score_numbers(y, answer, confidence, groups)
        error, by = _mean(off, groups, root_mean_square)
        header, numbers_of = ["root mean squared error", "+-", "mean of prediction - target"], _root_and_bias
    if groups is not None:
        names, counts = np.unique(groups, return_counts=True)
        order, all_groups = np.argsort(-counts, kind="stable")[:_MOST], counted(len(names), "group")
        notes.insert(0, f"+- of all rows: the larger of the standard errors over rows and over {all_groups}.")
        if len(names) > _MOST:
            notes.insert(1, f"The {_MOST} largest of {all_groups} are listed.")
        found = [(legible(names[i]), int(counts[i]), *numbers_of(off[groups == names[i]])) for i in order]
        tables["Per group"] = ["group", "rows", *header], found
    return Outcome(
        measure, f"minus {measure.name}", np.array([[-error]]), -error, by, "rows with a known target", base=-base,
        predictions=answer["prediction"][None], measures=measures, tables=tables, notes=notes,
    )  # fmt: skip


def _score_numbers(y: Array, answer: Answer, confidence: float | None, groups: Array | None) -> Scores:
    """Residuals, and errors of numbers."""
    off = answer["prediction"] - y
    (error, by), (bias, bias_by) = _mean(off, groups, root_mean_square), _mean(off, groups)
    variance, bias = float(np.var(y)), bias if abs(bias) > _DUST * error else 0.0
    measures = {
        "root mean squared error": (error, by),
        "mean absolute error": _mean(np.abs(off), groups),
        "mean of prediction - target": (bias, bias_by),
        "R2": (1.0 - float(np.mean(off**2)) / variance if variance else math.nan, math.nan),
    }
    if confidence is not None:
        inside = (answer["lower"] <= y) & (y <= answer["upper"])
        measures[f"% inside the {100 * confidence:g} % intervals"] = _percent(inside)
    return off, measures, {}


def _score_labels(model: TableModel, y: Array, answer: Answer, groups: Array | None, notes: list[str]) -> Scores:
    """Which labels are wrong; errors of labels and probabilities, recall and precision, and calibration."""
    labels, predicted = _label_texts(model.model.classes_).tolist(), _label_texts(answer["prediction"])
    shares = np.column_stack([answer[f"probability_{label}"] for label in model.model.classes_])
    known, wrong = np.isin(y, labels), predicted != y
    refuse_if(not known.any(), f"Column {model.target!r}", f"labels of the model, such as {labels[0]!r}", repr(y[0]))
    if not known.all():
        new = ", ".join(map(repr, sorted(set(y[~known]))[:5]))
        notes.append(f"Labels that training did not have count as wrong: {new}.")
    place = np.array([labels.index(label) for label in y[known]])
    hits, known_groups = np.eye(len(labels))[place], None if groups is None else groups[known]
    costs, measures = getattr(model.model, "costs_", np.ones(1)), {"% wrong": _percent(wrong, groups)}
    if (costs != 1.0).any():  # the measure of the error when it was fitted
        share, by = wrong_share(np.where(wrong[known], -1, place), place, costs, known_groups)
        measures["% wrong, weighted by class"] = 100 * share, 100 * by
    squares = ((shares[known] - hits) ** 2).sum(axis=1)
    measures["log loss"] = _mean(-np.log(np.clip(shares[known][hits > 0], _TINY, 1.0)), known_groups)
    measures["Brier score"] = _mean(squares / (2.0 if len(labels) == 2 else 1.0), known_groups)
    if len(labels) == 2 and 0 < hits[:, 1].sum() < len(hits):
        measures[f"AUC of {labels[1]}"] = _auc(shares[known][:, 1], hits[:, 1] > 0)
    per_class: list[tuple[Any, ...]] = []
    for label in labels:
        rows, named, right = (int(marks.sum()) for marks in (y == label, predicted == label, ~wrong & (y == label)))
        recall, precision = (100.0 * right / count if count else math.nan for count in (rows, named))
        per_class.append((legible(label), rows, recall, precision))
    # the predicted label is not the most probable one where classes have weights
    sure = shares[np.arange(len(y)), [labels.index(label) for label in predicted]]
    bins = np.minimum((sure * _BINS).astype(int), _BINS - 1)
    calibration: list[tuple[Any, ...]] = []
    for b in np.unique(bins).tolist():
        own = bins == b
        means = (100 * float(marks[own].mean()) for marks in (sure, ~wrong))
        calibration.append((f"{b / _BINS:.1f} to {(b + 1) / _BINS:.1f}", int(own.sum()), *means))
    title = "Calibration (probability of the predicted class, and how often it was right)"
    tables = {"Per class": (["class", "rows", "recall %", "precision %"], per_class)}
    tables[title] = ["probability", "rows", "mean predicted %", "% right"], calibration
    return wrong, measures, tables


def as_json(outcome: Outcome) -> dict[str, Any]:
    """The scores of a table as plain values, for JSON."""

    def by_header(header: Iterable[str], row: Sequence[object]) -> dict[str, object]:
        nothing = (isinstance(value, float) and not math.isfinite(value) for value in row)
        return {name: None if none else value for name, value, none in zip(header, row, nothing, strict=True)}

    measures = {name: by_header(("value", "standard_error"), pair) for name, pair in outcome.measures.items()}
    tables = {title: [by_header(header, row) for row in rows] for title, (header, rows) in outcome.tables.items()}
    return {"rows": outcome.rows, "measures": measures, "tables": tables, "notes": list(outcome.notes)}


def _mean(values: Array, groups: Array | None = None, estimate: Estimate = mean_with_error) -> tuple[float, float]:
    """A mean, or another estimate, and its standard error: over rows, or over groups if that is larger."""
    column = values.astype(np.float64)[:, None]
    (value,), (by,) = estimate(column, None)
    return float(value), float(by) if groups is None else float(np.fmax(by, estimate(column, groups)[1][0]))


def _root_and_bias(off: Array) -> tuple[float, ...]:
    return *_mean(off, None, root_mean_square), float(off.mean())


def _percent(marks: Array, groups: Array | None = None) -> tuple[float, float]:
    """A share in percent, and its standard error."""
    share, by = _mean(marks, groups)
    return 100 * share, 100 * by


def _auc(values: Array, positive: Array) -> tuple[float, float]:
    """The area under the ROC curve, and its standard error by DeLong's variance of placements."""
    from scipy.stats import rankdata

    ours, others = values[positive], values[~positive]
    all_ranks = rankdata(np.concatenate([ours, others]))
    above = (all_ranks[: len(ours)] - rankdata(ours)) / len(others)
    below = 1.0 - (all_ranks[len(ours) :] - rankdata(others)) / len(ours)
    parts = [part.var(ddof=1) / len(part) if len(part) > 1 else math.nan for part in (above, below)]
    return float(above.mean()), float(math.sqrt(sum(parts)))
