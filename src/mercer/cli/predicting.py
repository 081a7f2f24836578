"""`mercer predict` and `mercer score`: a model applied to a new table, and what is written and said of it."""

from __future__ import annotations

import io
import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli.options import parse_separator, refuse_overwriting
from mercer.cli.refusals import flags, report_interrupts, say, warn
from mercer.data.rows import Array, Estimator
from mercer.errors import InputError, MercerWarning, ModelFileError, printable, sentence
from mercer.estimators.pipelines import predict_interval
from mercer.estimators.table_model import TableModel
from mercer.runtime.disk import write_whole
from mercer.tables.columns import EncoderReport
from mercer.tables.parquet import LongTable, one_line
from mercer.tables.reading import Reading, Rules, arrow_reading, read_table
from mercer.text import counted, plain, quoted

_SHORT = 0.05  # of coverage below what intervals say: worth a warning
_TABLES = {".csv", ".tsv", ".txt", ".parquet", ".gz", ".zst"}  # endings of files that are no models
_FEWER = "Predict for fewer rows at a time."


@report_interrupts(out="table")
def run_predict(options: dict[str, Any]) -> None:
    """`mercer predict`."""
    refuse_overwriting({"the model": options["model"], "the table": options["table"]}, {"--out": options["out"]})
    model, table = _read_both(options)
    for note in table.notes:
        say(note, err=True)
    with _print_warnings():
        answer, report = predict_table(model, table, options["drop"], options["row_id"], options["interval"])
    write(answer, options["out"])
    if options["out"] != "-":
        say(f"Written to {printable(options['out'])} ({counted(table.rows, 'row')}).", err=True)
    unused = [name for name in model.unknown_columns(table.raw) if name not in options["drop"]]
    if unused:
        say(f"Not used by the model: {quoted(unused)}.", err=True)
    _tell_strangers(report)
    _tell_coverage(model, options["interval"])
    if model.target in table.raw and model.target not in options["drop"]:
        _tell_scores(model, table, answer, options["interval"])


def _read_both(options: dict[str, Any]) -> tuple[Any, Any]:
    """The model, and the table that it is applied to."""
    model = _load_model(options["model"])
    how = {name: options[name] for name in ("decimal", "date_format", "encoding")}
    return model, read_new(options["table"], model, separator=parse_separator(options["separator"]), **how)


def _load_model(path: str) -> Any:
    from mercer.models import load

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


def run_score(options: dict[str, Any]) -> None:
    """`mercer score`."""
    from mercer.cli.scoring import CONFIDENCE, as_json, score_table
    from mercer.estimators.table_model import FeatureRegressor

    model, table = _read_both(options)
    table.exactly(model.target)
    group = options["group"]
    aside = (*options["drop"], *(name for name in (group,) if name is not None and name not in model.kinds))
    able = hasattr(model.model, "predict_interval") and not isinstance(model.model, FeatureRegressor)
    confidence = CONFIDENCE if able and not model.is_classifier else None
    with _print_warnings():
        answer, report = predict_table(model, table, aside, None, confidence)
    found = score_table(model, table, answer, confidence, group)
    if options["as_json"]:
        say(json.dumps(as_json(found), ensure_ascii=False))
        return
    for note in table.notes:
        say(note, err=True)
    known = f"{found.rows} of {table.rows} rows have a known {model.target}"
    say(f"{options['model']} on {table.what}: {known}.\n\n{found}")
    told = model.facts.get("error")
    if isinstance(told, dict) and isinstance(told.get("value"), float) and isinstance(told.get("measure"), str):
        unit, sign = (100.0, " %") if "share" in told["measure"] else (1.0, "")
        by = told.get("standard_error")
        spread = f" +- {plain(unit * by, 2)}{sign}" if isinstance(by, float) else ""
        say(f"\nExpected when it was fitted: {plain(unit * told['value'])}{sign}{spread} ({told['measure']}).")
    _tell_strangers(report)


def _tell_coverage(model: Estimator, confidence: float | None) -> None:
    """What share of held-out rows intervals had held when the model was fitted."""
    told = model.facts.get("intervals") if confidence is not None else None
    if not isinstance(told, dict) or not all(
        isinstance(told.get(name), int | float) for name in ("confidence", "held")
    ):
        return
    nominal, held = told["confidence"], told["held"]
    words = f"{100 * nominal:g} % intervals held {100 * held:.0f} % of the rows that were held out in training."
    if confidence is not None and abs(confidence - nominal) > _SHORT:
        words += f" How many intervals of {100 * confidence:g} % hold was not counted."
    if held < nominal - _SHORT:
        warn(f"{words} Expect those of new rows to hold less than they say.")
    else:
        say(words, err=True)


def _tell_scores(model: Estimator, table: Any, answer: dict[str, Any], confidence: float | None) -> None:
    """The errors on rows with a known target, beside the predictions; or why they are not known."""
    from mercer.cli.scoring import score_table

    try:
        result = score_table(model, table, answer, confidence)
    except InputError as error:
        say(f"The predictions are not compared with {model.target}: {error.in_terms(flags)}", err=True)
        return
    say(f"\n{result.rows} rows have a known {model.target}:\n\n{result}", err=True)


@contextmanager
def _print_warnings() -> Iterator[None]:
    """Print the warnings of mercer that are issued meanwhile, each once, as lines of the command."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", MercerWarning)
        yield
    for words in dict.fromkeys(str(each.message) for each in heard):
        warn(words)


def _tell_strangers(report: Any) -> None:
    for each in report.columns[:10]:
        parts = {
            "outside the training range": each.outside,
            f"in categories not seen in training ({each.example!r})": each.unseen,
            "missing (never missing in training)": each.missing,
        }
        of = counted(report.rows, "value")
        said = "; ".join(f"{count} of {of} {what}" for what, count in parts.items() if count)
        warn(f"column {each.name!r}: {said}.")
    if report.columns:
        say("Predictions for such rows are extrapolations.", err=True)


def read_new(
    source: str,
    model: TableModel,
    *,
    separator: str | None = None,
    decimal: str | None = None,
    date_format: str | None = None,
    encoding: str | None = None,
) -> Reading:
    """The table to predict for: a file, standard input, or a directory of Parquet files as `fit` takes them."""
    parts = LongTable.find(source, above=0) if Path(source).is_dir() else None
    how = Rules(model.kinds, (), True, decimal, model.style, writings=model.writings, date_format=date_format)
    if parts is None:
        return read_table(source, how, separator=separator, encoding=encoding, too_large=_FEWER)
    import pyarrow as pa

    parts.promise(_FEWER)
    try:
        table = pa.concat_tables(parts.blocks(parts.names), promote_options="permissive")
    except pa.ArrowException as error:
        raise InputError(
            f"The Parquet files of {parts.what} cannot be read as one table: {one_line(error)}. Save every file with "
            "the same column types."
        ) from None
    return arrow_reading(table, parts.what, how)


def predict_table(
    model: TableModel, table: Reading, drop: tuple[str, ...], row_id: str | None, confidence: float | None
) -> tuple[dict[str, Array], EncoderReport]:
    """The columns of the answer by name, and what is unlike the training table."""
    for name in drop:
        table.exactly(name)
    aside = {*drop, *({row_id} - set(model.kinds))}  # a column that names rows may also be learned from
    taken = {name: table.columns.get(name) for name in table.raw if name not in aside}
    report = model.report(taken)
    if hasattr(type(model.model), "tells"):
        model.model.tells = False  # of rows unlike those of training: the report does
    rows, pipeline = model.fitting(taken), model.pipeline  # which does not tell of them, either
    answer: dict[str, Array] = {}
    first = row_id or (model.row_id if model.row_id in table.raw else None)
    if first:
        answer[first] = np.fromiter(table.exactly(first), dtype=object, count=table.rows)
    name = "prediction"
    if name in answer:
        raise InputError(
            f"The id column must not be called {name!r}: the column of predictions has this name. Rename the id column."
        )
    answer[name] = pipeline.predict(rows)
    if confidence is not None:
        if model.is_classifier:
            raise InputError(
                "--interval needs a regression model; this model is a classifier. Remove --interval: class "
                "probabilities are always written."
            )
        if not hasattr(model.model, "predict_interval"):
            kind = type(model.model).__name__
            raise InputError(f"--interval is not supported for {kind} models. Remove --interval.")
        answer["lower"], answer["upper"] = predict_interval(pipeline, rows, confidence)
    if model.is_classifier:
        shares = pipeline.predict_proba(rows)
        for label, column in zip(model.model.classes_, shares.T, strict=True):
            answer[f"probability_{label}"] = column
    return answer, report


def write(answer: dict[str, Array], out: str) -> None:
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


def as_csv(answer: dict[str, Array], separator: str = ",") -> str:
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


def _arrow(values: list[Any]) -> Any:
    """A pyarrow column; strings if pyarrow has no type for all of the values."""
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if value is None else _cell(value) for value in values])


def _as_parquet(answer: dict[str, Array]) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    columns = {name: _arrow(column.tolist()) for name, column in answer.items()}
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()
