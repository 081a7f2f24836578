"""Predictions for a new table, as columns, and their way into a file or a pipe."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, printable, sentence
from mercer.estimators.pipelines import predict_interval
from mercer.estimators.table_model import TableModel
from mercer.runtime.disk import write_whole
from mercer.tables.parquet import LongTable, one_line
from mercer.tables.reading import Reading, Rules, arrow_reading, read_table
from mercer.tables.report import EncoderReport

_FEWER = "Predict for fewer rows at a time."


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
    if parts is None:
        return read_table(
            source,
            kinds=model.kinds,
            only_kinds=True,
            separator=separator,
            decimal=decimal,
            style=model.style,
            writings=model.writings,
            date_format=date_format,
            encoding=encoding,
            too_large=_FEWER,
        )
    import pyarrow as pa

    parts.promise(_FEWER)
    try:
        table = pa.concat_tables(parts.blocks(parts.names), promote_options="permissive")
    except pa.ArrowException as error:
        raise InputError(
            f"The Parquet files of {parts.what} cannot be read as one table: {one_line(error)}. Save every file with "
            "the same column types."
        ) from None
    return arrow_reading(
        table,
        parts.what,
        Rules(model.kinds, frozenset(), True, decimal, model.style, writings=model.writings, date_format=date_format),
    )


def predicted(
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
    answer[_free("prediction", answer)] = pipeline.predict(rows)
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


def _free(name: str, taken: dict[str, Any]) -> str:
    if name in taken:
        raise InputError(
            f"The id column must not be called {name!r}: the column of predictions has this name. Rename the id column."
        )
    return name


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

    def quoted(cell: str) -> str:  # the csv package leaves \r unquoted, which other readers take for the end of a row
        return '"' + cell.replace('"', '""') + '"' if special & set(cell) else cell

    columns = [[name, *map(_cell, column.tolist())] for name, column in answer.items()]
    return "".join(separator.join(map(quoted, row)) + "\n" for row in zip(*columns, strict=True))


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
