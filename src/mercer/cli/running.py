"""What each command does: read, call the library, say or write what came out."""

from __future__ import annotations

import csv
import io
import json
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from mercer.cli.fitting import (
    Fitted,
    landmarks_for,
    refuse_unsupported,
    search_for,
    times_as_long,
)
from mercer.cli.hints import LEAKAGE, find_leaks, hints
from mercer.cli.job import Job
from mercer.cli.preparing import Prepared
from mercer.cli.refusals import report_interrupts, say, warn
from mercer.cli.summary import data_words, facts_of, file_words, fit_words
from mercer.data.samples import houses
from mercer.errors import InputError, MercerError, printable, refuse, refuse_if
from mercer.estimators.auto_core import fixed_seconds, tuning_seconds
from mercer.estimators.auto_evaluation import FULL_SYSTEMS
from mercer.estimators.table_model import TableModel
from mercer.models import inspect, load, save
from mercer.runtime import readable
from mercer.runtime.progress import duration
from mercer.tables.reading import no_file
from mercer.text import quoted

_TUNED_ON = 1200  # rows beyond which widths are tuned on a part
_MEMBERS = 4  # in cells and on landmarks
_USUAL = 0.35  # of the seconds that a time budget is compared with, which are rather too many
_IN_CELLS = 0.75  # the same for members in cells
_MATRICES = 8  # of rows x rows at once while tuning: counted generously, not measured
_SOLD, _NEW = 400, 200  # rows to learn from, and rows to predict
_FILES = ("houses.csv", "new_houses.csv", "sold_later.csv", "model.mercer", "report.html", "predicted.csv")
_CLEAR = "\r\033[2K"  # what is on the last line of a terminal goes


def run_fit(options: dict[str, Any]) -> None:
    """`mercer fit`."""
    begin = time.monotonic()
    with report_interrupts({"model": options["out"], "report": options["report"], "checkpoint": options["checkpoint"]}):
        job = Job.parse(options)
        with job.limits():
            table = Prepared(job)
            _refuse_replacing(table, options)
            if not job.as_json and not job.quiet:
                lines = hints(table)
                say("\n".join([data_words(table), *([""] if lines else []), *lines]) + "\n")
            what = f"--report is not supported for {table.model} ({table.model_because})"
            reason = "this model does not store held-out predictions. Remove --report, or fit a sample of the rows."
            refuse(job.report is not None and table.model.startswith("Nystroem"), f"{what}: {reason}")
            fitted = Fitted(table)
            fitted.warned = [*table.warned, *find_leaks(table, fitted.outcome), *fitted.warned]
        _write_progress(_CLEAR)
        facts = facts_of(table, fitted, time.monotonic() - begin)
        model = _save(table, fitted, facts)
        _write_report(model, table, fitted)
        _tell(table, fitted, model)


def _save(table: Prepared, fitted: Fitted, facts: dict[str, Any]) -> TableModel:
    """The model with its table, as it was written."""
    job, encoder = table.job, None if hasattr(fitted.model, "encoder_") else table.encoder
    row_id, style = job.row_id or "", table.reading.style
    model = TableModel(fitted.model, encoder, job.target, row_id, table.ignored, facts, style)
    save(model, job.out, rows=not job.without_data)
    return model


def _write_report(model: TableModel, table: Prepared, fitted: Fitted) -> None:
    """Write the report, if `--report` was set."""
    job, outcome = table.job, fitted.outcome
    if job.report is None:
        return
    from mercer.report import Origin, write_report

    path, command = "" if job.table == "-" else job.table, command_text(click.get_current_context())
    notes = tuple(note for note in (*table.notes, outcome.all_rows_words) if note)
    leaks = tuple(warning.removeprefix(LEAKAGE) for warning in fitted.warned if warning.startswith(LEAKAGE))
    origin = Origin(table.reading.what, path, command, notes, leaks)
    with show_activity("writing the report", quiet=job.quiet):
        write_report(
            model, table.features, table.y, job.report, origin=origin, groups=table.groups,
            evaluation=outcome if outcome.outer else None, sample_weight=table.weights,
        )  # fmt: skip


def _tell(table: Prepared, fitted: Fitted, model: TableModel) -> None:
    """What was found, what to beware of, and what comes next; with `--quiet` warnings alone."""
    job = table.job
    if job.as_json:
        paths = {"out": job.out} | ({"report": job.report} if job.report else {})
        say(json.dumps(model.facts | paths, ensure_ascii=False))
        return
    if not job.quiet:
        for text in fit_words(table, fitted, model):
            say(text)
    for warning in fitted.warned:
        warn(warning)
    if not job.quiet:
        place, size = printable(job.out), readable(Path(job.out).stat().st_size)
        say(f"Written to {place} ({size}). Next: mercer predict {shlex.quote(place)} NEW_TABLE")
        if job.report:
            say(f"The report is in {printable(job.report)}; it opens in a browser.")


def _write_progress(text: str) -> bool:
    """Write to stderr if it is a terminal; whether it is one."""
    if shown := sys.stderr.isatty():
        sys.stderr.write(text)
        sys.stderr.flush()
    return shown


@contextmanager
def show_activity(what: str, *, quiet: bool) -> Iterator[None]:
    """On a terminal, say what is going on for as long as it goes on."""
    shown = not quiet and _write_progress(f"{what} ...")
    try:
        yield
    finally:
        if shown:
            _write_progress(_CLEAR)


def command_text(context: click.Context) -> str:
    """The command as it can be typed again: arguments, then every option that is not as it is by itself."""
    words = ["mercer", context.info_name or "fit"]
    for param in context.command.params:
        value = context.params.get(param.name or "")
        if isinstance(param, click.Argument):
            words.append(str(value))
        elif isinstance(param, click.Option) and param.is_flag:
            words += [param.opts[0]] * bool(value)
        elif isinstance(value, tuple):
            words += [word for part in value for word in (param.opts[0], str(part))]
        elif value is not None and value != param.get_default(context):
            words += [param.opts[0], str(value)]
    return shlex.join(words)


def _refuse_replacing(table: Prepared, options: dict[str, Any]) -> None:
    """Refuse to replace what is not a model of these columns, this target and this task, unless that was said."""
    place = Path(options["out"])
    if options["force"] or not place.is_file() or not place.stat().st_size:
        return
    try:
        held = load(place)
        what = f"holds a {type(held).__name__} saved from Python"
    except MercerError:
        held, what = None, "is not a model file"
    if isinstance(held, TableModel):
        columns = [column.name for column in held.columns]
        task = "classification" if held.is_classifier else "regression"
        names = {held.target, held.row_id, *held.ignored, *columns} - {""}
        if (held.target, task, names) == (options["target"], table.task, set(table.reading.raw)):
            return
        what = f"holds the model of another table (it predicts {held.target!r}, by {task}, from {quoted(columns, 3)})"
    raise InputError(f"{options['out']!r} {what}. Choose another --out, or replace it with --force.")


def run_explain(options: dict[str, Any]) -> None:
    """`mercer explain`."""
    job = Job.parse(options)
    with job.limits():
        table = Prepared(job)
        refuse_unsupported(table)
        say(f"{data_words(table)}\n\n{table.model} ({table.model_because}).")
        for warning in table.warned:
            warn(warning)
        if table.model.startswith("Auto"):
            say(auto_plan(table))
        elif table.model.startswith("Nystroem"):
            search, rows = landmarks_for(table)
            say(str(search.explain(*rows)))
        else:
            search, Z = search_for(table)
            say(str(search.explain(Z, table.y, table.weights, table.groups)))
            times = times_as_long(search, job)
            long = "about as long" if times == 1 else f"about {times} times as long"
            say(f"Nested cross-validation, which gives the error, comes on top and takes {long}.")


def fit_seconds(rows: int, columns: int, encoded: int) -> float:
    """Processor seconds of an automatic fit to so many rows, columns that are used, and columns of numbers."""
    usual = _USUAL if rows <= FULL_SYSTEMS else _IN_CELLS
    return tuning_seconds(rows, columns, encoded) + usual * fixed_seconds(rows)


def auto_plan(table: Prepared) -> str:
    """What `fit` would do without settings, in words, with time and memory."""
    rows, folds, budget = len(table.y), table.job.folds or 0, table.job.time_budget
    tuned, in_cells = min(rows, _TUNED_ON), rows > FULL_SYSTEMS
    columns, encoded = len(set(table.encoder.groups_)), len(table.encoder.names_out_)
    parts = [rows, *([rows * (folds - 1) // max(folds, 1)] * folds)]
    seconds = sum(fit_seconds(part, columns, encoded) for part in parts)
    if budget is not None:
        seconds = min(seconds, 1.2 * budget)
    first = "In three folds: tune four to six kernels on the other rows; weigh them by how they predict the fold."
    second = f"Tune the kernels with weight on {tuned} rows, choose alpha, and fit them to all {rows} rows."
    judged, held = "three folds of step 2", 3 * rows**2
    if in_cells:
        first = (
            f"Tune four kernels with a width per column on {tuned} rows at a time; choose alpha in some of the cells."
        )
        second = "Solve the best kernels in cells of neighbouring rows, five folds left out in closed form; weigh them."
        judged, held = "five folds of step 3", _MEMBERS * rows * (encoded + 10)
    error = f"all steps repeated in {folds} outer folds" if folds else f"estimated from the {judged}"
    return (
        f"1. Encode {len(table.encoder.columns_)} columns as {encoded} columns of numbers.\n2. {first}\n3. {second}\n"
        f"4. Error: {error}.\nTime: roughly {duration(seconds)}.\n"
        f"Memory: roughly {readable(8 * (_MATRICES * tuned**2 + held))}."
    )


def run_inspect(path: str, *, as_json: bool) -> None:
    """`mercer inspect`."""
    file, model = inspect(path), load(path)
    facts = {}
    if isinstance(model, TableModel):
        file, facts = replace(file, kind=type(model.model).__name__), {"fit": model.facts}
    if as_json:
        say(json.dumps(asdict(file) | facts, ensure_ascii=False))
    else:
        say(file_words(file, model) if isinstance(model, TableModel) else str(file))


def run_lab(table: str | None, port: int, *, browser: bool, folder: str | None) -> None:
    """`mercer lab`."""
    from mercer.lab.files import write_static

    place = None if table is None else Path(table)
    if folder is not None:
        refuse(place, "The page that --export writes cannot contain your own table. Remove TABLE or --export.")
        written = write_static(Path(folder))
        say(f"Wrote {', '.join(written)} to {folder}. Open index.html in a browser, or publish the folder.")
        return
    if place is not None:
        refuse_if(place.is_dir(), "TABLE", "a file", f"the folder {table!r}")
        if not place.is_file():
            raise no_file(place)
    try:
        from mercer.lab.server import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("mercer"):
            raise
        way_out = "Install them with: pip install 'mercer[lab]'."
        raise InputError(f"mercer lab needs starlette and uvicorn. {way_out}") from None
    serve(place, port, browser=browser, say=say)


def run_demo(folder: str) -> None:
    """Write three tables of houses to a new folder, and fit, predict and score there."""
    from mercer.cli.commands import cli

    place = Path(folder)
    others = [file.name for file in place.iterdir() if file.name not in _FILES] if place.is_dir() else []
    got = f"{others[0]!r} in it" if others else "a file" if place.exists() else "an option"
    bad = others or (place.exists() and not place.is_dir()) or folder.startswith("-")
    refuse_if(bad, f"{folder!r}", "a new or empty folder", got, "Name another one: mercer demo FOLDER")
    try:
        place.mkdir(parents=True, exist_ok=True)
        _write_tables(place)
    except OSError as problem:
        raise InputError(f"The folder {folder!r} cannot be written: {problem.strerror or problem}.") from None
    sold, unsold, later, model, report, predicted = (str(place / name) for name in _FILES)
    say(
        f"{_SOLD} sales of houses are in {sold}: area, year, district, energy class, walk to the station, garden, and\n"
        f"the price in thousands. {_NEW} other houses are in {unsold}, without prices. (The data are generated.)\n"
    )
    commands = (
        ("", ["fit", sold, "--target", "price", "--report", report, "--out", model]),
        ("", ["predict", model, unsold, "--interval", "0.9", "--out", predicted]),
        ("Later, the new houses are sold, too. How good were the predictions?\n", ["score", model, later]),
    )
    for words, command in commands:
        say(f"{words}$ mercer {shlex.join(command)}")
        cli.main(args=command, prog_name="mercer", standalone_mode=False)
        say("")
    say(f"Predictions with 90 % intervals: {predicted}. Report: {Path(report).resolve()}")


def _write_tables(place: Path) -> None:
    """Houses with prices, new houses without, and the new houses with their prices."""
    sold, new = houses(_SOLD, 0), houses(_NEW, 1)
    for name, (table, price) in zip(_FILES, (sold, (new[0], None), new), strict=False):
        columns = table if price is None else table | {"price": price.tolist()}
        text = io.StringIO()
        csv.writer(text).writerows([list(columns), *zip(*columns.values(), strict=True)])
        path, content = place / name, text.getvalue().encode("utf-8")
        if path.exists() and path.read_bytes() != content:
            raise InputError(f"{str(path)!r} is not the table of mercer demo. Name another folder.")
        path.write_bytes(content)
