"""Tables of one's own as points of the page, and what can be taken along from it: a model, a report, Python, a page."""

from __future__ import annotations

import re
import secrets
import tempfile
import threading
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from mercer import models
from mercer.data.rows import Array
from mercer.errors import InputError, refuse, refuse_if, sentence
from mercer.lab.answers import estimator_of, fitted_model
from mercer.lab.jobs import SearchJob
from mercer.lab.questions import MOST_ROWS, Answer, Question
from mercer.report import write_report
from mercer.runtime import readable
from mercer.runtime.disk import write_whole
from mercer.tables.delimited import SEPARATORS
from mercer.tables.parquet import bytes_held, parquet_file
from mercer.tables.reading import Reading, read_table

EXPORTS = ("model", "report", "python")
# The modules of the page, each after those that it imports.
MODULES = (
    "samples.js", "problems.js", "state.js", "kernels.js", "algebra.js", "systems.js", "losses.js", "local.js",
    "draw.js", "views.js", "hand.js", "play.js", "select.js", "tours.js", "app.js",
)  # fmt: skip
_LINKED = re.compile(r"^import [^;]*;\n|^export (?=const|class|function|async)", re.MULTILINE)
_SCRIPT = '<script type="module" src="app.js"></script>'
LARGEST = 20_000_000  # bytes of an upload
_KEPT = 4
_MOST_ROWS = 100_000  # that a table keeps of each column
_MOST_COLUMNS = 8  # of points
_MOST_WIDE, _MOST_LONG, _MOST_CELLS = 1000, 1_000_000, 5_000_000  # columns, rows and cells of a table
_MOST_BYTES = 500_000_000  # that a Parquet file takes in memory
_LONGEST = 1_000_000  # bytes of a first line that are looked at
_LARGEST_CELL = 1e100


def export(what: str, asked: object, job: SearchJob | None, folder: Path | None = None) -> bytes:
    """The bytes of a file, which is written to `folder` for the moment if it must be one."""
    question = Question(asked)
    if what == "python":
        return _python_lines(question)
    with tempfile.TemporaryDirectory(dir=folder) as inside:
        path = Path(inside, "export")
        if what == "model":
            models.save(fitted_model(question), path)
        else:
            _write_report(question, job, path)
        return path.read_bytes()


def _write_report(question: Question, job: SearchJob | None, path: Path) -> None:
    """Write the report of a search that is done."""
    way_out = "Choose the squared loss, or export a model file or Python code."
    refuse_if(question.loss != "squared", "The loss of reports", "'squared'", repr(question.loss), way_out)
    if job is None or job.result is None:
        raise InputError("There is no report before a search is done. Run the search first.")
    refuse(job.question.words, "A report needs rows of numbers; these points are words.")
    write_report(job.search, job.question.X, job.question.y, path, evaluation=job.nested, target="y")


def _python_lines(question: Question) -> bytes:
    """Lines of Python that fit the same model to the same points."""
    kind, settings = estimator_of(question)
    more = ", ".join(f"{name}={value!r}" for name, value in ({"fit_intercept": question.intercept} | settings).items())
    lines = [
        "import numpy as np",
        f"from mercer import {kind.__name__}",
        "from mercer.kernels import parse",
        "",
        f"X = {question.X!r}" if question.words else f"X = np.array({question.X.tolist()!r})",
        f"y = np.array({question.y.tolist()!r})",
        f"kernel = parse({repr(question.kernel)!r})",
        f"model = {kind.__name__}({question.alpha!r}, kernel=kernel, {more}).fit(X, y)",
        "print(model.predict(X))",
        "",
    ]
    return "\n".join(lines).encode()


def write_static(folder: Path) -> list[str]:
    """The page and its tours as plain files that need no server; the names of what was written.

    Nothing that is there is replaced: the folder must be new or empty. Either all of it is written or nothing.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{str(folder)!r} must be a new or an empty folder, so that nothing is replaced.")
    page = page_text("index.html").replace('data-edition="server"', 'data-edition="static"')
    written = {
        "index.html": page.replace(_SCRIPT, '<script defer src="lab.js"></script>'),
        "style.css": page_text("style.css"),
        "lab.js": bundle_modules(),
    }
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in written.items():
            write_whole(folder / name, [text.encode()], "page")
    except BaseException as problem:  # a page of which a part is missing is none
        for name in written:
            (folder / name).unlink(missing_ok=True)
        for each in new:
            with suppress(OSError):
                each.rmdir()
        if isinstance(problem, OSError):
            raise InputError(f"The folder {str(folder)!r} cannot be made: {problem.strerror or problem}.") from None
        raise
    return list(written)


def page_text(name: str) -> str:
    """A file of the page."""
    return files("mercer.lab").joinpath("page", name).read_text(encoding="utf-8")


def bundle_modules() -> str:
    """All modules as one script, which a browser also runs from a disk: modules it takes from servers alone."""
    parts = [_LINKED.sub("", page_text(name)) for name in MODULES]
    return "\n".join(['"use strict";', "(() => {", "const remoteEngine = null;", *parts, "})();", ""])


class Upload:
    """The columns of numbers of a table, and those with two values.

    Attributes
    ----------
    name : str
        What the table is called.
    columns : dict of str to ndarray
        Numbers by column; NaN where a cell is missing.
    labels : dict of str to (list of str, ndarray)
        Columns that may be labels: their two values, and -1 and 1 for them; NaN where a cell is missing.
    notes : list of str
        What was left out, and why.
    """

    def __init__(self, reading: Reading, name: str) -> None:
        self.name, self.notes = name, list[str]()
        self.columns: dict[str, Array] = {}
        self.labels: dict[str, tuple[list[str], Array]] = {}
        for each, cells in reading.columns.items():
            values = np.where(cells.missing, np.nan, cells.values.astype(np.float64))[:_MOST_ROWS]
            values = np.where(np.abs(values) <= _LARGEST_CELL, values, np.nan)
            different = np.unique(values[np.isfinite(values)])
            text = cells.family == "text"
            if not text and len(different) > 1:
                self.columns[each] = values
            elif not text:
                self.notes.append(f"Column {each!r} does not vary and is left out.")
            if len(different) == 2:
                texts = [cells.levels[int(place)] if text else f"{place:g}" for place in different]
                signs = np.where(np.isfinite(values), np.where(values == different[1], 1.0, -1.0), np.nan)
                self.labels[each] = texts, signs
            elif text:
                self.notes.append(f"Column {each!r} is text and is left out.")
        few = not self.columns or len(self.columns | self.labels) < 2
        refuse(few, f"{name} has too few columns of numbers: one to predict from and one to predict are needed.")

    def description(self) -> Answer:
        """What the page shows of it."""
        return {"name": self.name, "columns": list(self.columns), "labels": list(self.labels), "notes": self.notes}

    def points(self, axes: object, target: object, *, others: bool) -> Answer:
        """One or two columns and a target as points, other columns beside them; a sample of many rows is announced.

        Columns are standardized; `scale` has the mean and the standard deviation of each.
        """
        axes, target = self._axes_and_target(axes, target)
        others_there = [name for name in self.columns if name not in (*axes, target)] if others else []
        beside = others_there[: _MOST_COLUMNS - len(axes)]
        cut = len(beside) < len(others_there)
        names, notes = [*axes, *beside], [f"Of the other columns the first {len(beside)} are used."] * cut
        texts, y = self.labels[target] if target in self.labels else (None, self.columns[target])
        table = np.column_stack([self.columns[name] for name in names])
        whole = np.flatnonzero(np.isfinite(table).all(axis=1) & np.isfinite(y))
        if len(whole) < len(y):
            notes.append(f"{len(y) - len(whole)} of {len(y)} rows have missing values and are left out.")
        refuse(len(whole) < 2, "Fewer than 2 rows have values in all of these columns.")
        if len(whole) > MOST_ROWS:
            notes.append(f"A random sample of {MOST_ROWS} of {len(whole)} rows is shown.")
            whole = np.sort(np.random.default_rng(0).permutation(whole)[:MOST_ROWS])
        table, y = table[whole], y[whole]
        refuse(len(np.unique(y)) < 2, f"Column {target!r} has only one value in these rows.")
        centre, spread = table.mean(axis=0), table.std(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        return {
            "x": np.round((table - centre) / spread, 6),
            "y": y,
            "names": names,
            "axes": len(axes),
            "target": target,
            "labels": texts,
            "scale": np.column_stack([centre, spread]),
            "notes": notes,
        }

    def _axes_and_target(self, axes: object, target: object) -> tuple[list[str], str]:
        if not isinstance(axes, list) or not 1 <= len(axes) <= 2 or not all(isinstance(each, str) for each in axes):
            raise InputError("Choose one or two columns.")
        refuse(target in axes or len(set(axes)) < len(axes), "Choose different columns.")
        for each in axes:
            refuse_if(each not in self.columns, "An axis", "a column of numbers", repr(each)[:60])
        if not isinstance(target, str) or (target not in self.columns and target not in self.labels):
            raise InputError(sentence("The target", "a column of numbers or of two labels", repr(target)[:60]))
        return axes, target


class Uploads:
    """The last few tables."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._tables: dict[str, Upload] = {}  # the oldest first
        self._reading = threading.Lock()

    def read(self, raw: bytes, name: str) -> tuple[str, Upload]:
        """A table from the bytes of a file; they go through a file of our own, whatever the name says."""
        refuse(len(raw) > LARGEST, f"A table must have at most {LARGEST // 10**6} MB; got {len(raw)} bytes.")
        parquet = raw[:4] == b"PAR1"
        if not parquet:
            _refuse_text(raw)
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            path = Path(folder, _safe_name(name))  # errors name the file
            path.write_bytes(raw)
            return self.open(path, name, parquet=parquet)

    def open(self, path: Path, name: str, *, parquet: bool = False) -> tuple[str, Upload]:
        """A table from a file, kept under a name of its own; tables are read one after the other."""
        with self._reading:
            if parquet or path.suffix == ".parquet":
                _refuse_parquet(path)
            key, upload = secrets.token_hex(8), Upload(read_table(str(path)), name)
            while len(self._tables) >= _KEPT:
                del self._tables[next(iter(self._tables))]
            self._tables[key] = upload
        return key, upload

    def descriptions(self) -> list[Answer]:
        """All tables that are kept."""
        return [{"key": key, **upload.description()} for key, upload in self._tables.items()]

    def get(self, key: object) -> Upload:
        """The table of this key."""
        found = self._tables.get(key) if isinstance(key, str) else None
        if found is None:
            raise InputError("This table is not kept any more. Open it again.")
        return found


def _safe_name(name: str) -> str:
    """A name for a file of our own: that of the upload, without what could lead elsewhere.

    >>> _safe_name("../prices 2.csv"), _safe_name("")
    ('_prices 2.csv', 'upload')
    """
    return "".join(sign if sign.isalnum() or sign in " ._-" else "_" for sign in name)[-60:].strip(" .") or "upload"


def _refuse_text(raw: bytes) -> None:
    """Refuse delimited text that is too large; separators inside of quotes are counted, too."""
    signs = [sign.encode() for sign in SEPARATORS]
    first = raw[:_LONGEST].replace(b"\r", b"\n").split(b"\n", 1)[0]
    rows = max(raw.count(b"\n"), raw.count(b"\r")) - 1  # beside the header
    _refuse_size(max(map(first.count, signs)), rows, rows + max(map(raw.count, signs)))


def _refuse_parquet(path: Path) -> None:
    """Refuse a Parquet file that is too large by its footer: few bytes can stand for a table that fills the memory."""
    from pyarrow import ArrowException

    with parquet_file(path) as file:
        rows, columns = file.metadata.num_rows, file.metadata.num_columns
        _refuse_size(columns, rows, rows * columns)
        try:
            held = _bytes_at_most(file)
        except (ArrowException, OSError, ValueError):
            return  # the reader says what is wrong
    limit = f"A table for this page may take at most {readable(_MOST_BYTES)} of memory"
    refuse(held > _MOST_BYTES, f"{limit}; got {readable(held)}. Open a part of it.")


def _bytes_at_most(file: Any) -> int:
    """Bytes that a Parquet file may take in memory.

    A text that is stored by how it differs from the one before is no longer than all that is stored.
    """
    groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
    stored = sum(int(group.total_byte_size) for group in groups)
    if stored > _MOST_BYTES:
        return stored
    held, places = bytes_held(file), range(file.metadata.num_columns)  # which refuses damaged descriptions of columns
    chunks = (group.column(place) for group in groups for place in places)
    shared = [chunk for chunk in chunks if "DELTA_BYTE_ARRAY" in chunk.encodings]
    return held + sum(int(chunk.num_values * chunk.total_uncompressed_size) for chunk in shared)


def _refuse_size(columns: int, rows: int, cells: int) -> None:
    limits = (columns, _MOST_WIDE, "columns"), (rows, _MOST_LONG, "rows"), (cells, _MOST_CELLS, "cells")
    for count, most, what in limits:
        refuse(count > most, f"A table for this page may have at most {most} {what}; got {count}. Open a part of it.")
