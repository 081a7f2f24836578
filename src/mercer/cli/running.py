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
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from mercer.cli.fitting import FitJob, Fitted, fit, landmarks_for, refuse_unsupported, search_for, times_as_long
from mercer.cli.leaks import LEAKAGE, find_leaks
from mercer.cli.options import (
    FitOptions,
    TableOptions,
    limits,
    refuse_out,
    refuse_overwriting,
    refuse_unknown_kernels,
)
from mercer.cli.preparing import Prepared, prepare
from mercer.cli.refusals import report_interrupts, say, warn
from mercer.data.rows import Estimator
from mercer.data.samples import houses
from mercer.errors import InputError, MercerError, printable, sentence
from mercer.estimators.auto_core import fixed_seconds, tuning_seconds
from mercer.estimators.auto_evaluation import FULL_SYSTEMS
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


@report_interrupts(out="model", report="report", checkpoint="checkpoint")
def run_fit(options: dict[str, Any]) -> None:
    """`mercer fit`."""
    from mercer.cli.hints import hints
    from mercer.cli.summary import as_json, data_words

    begin = time.monotonic()
    out, target = options["out"], options["target"]
    speak = not options["as_json"] and not options["quiet"]
    refuse_out(out, "--out")
    refuse_out(options["report"], "--report")
    written = {f"--{name}": options[name] for name in ("out", "report", "checkpoint")}
    refuse_overwriting({"the table": options["table"]}, written)
    refuse_unknown_kernels(options["kernel"])
    how = FitOptions.parse(options, verbose=0 if options["quiet"] else 1)
    with limits(options):
        columns = TableOptions.parse(options)
        table = prepare(options["table"], columns)
        _refuse_replacing(table, options)
        if speak:
            lines = hints(table, columns)
            say("\n".join([data_words(table, target), *([""] if lines else []), *lines]) + "\n")
        job = FitJob.of(table, how)
        if options["report"] is not None and job.name.startswith("Nystroem"):
            raise InputError(
                f"--report is not supported for {job.name} ({job.why}): this model does not store held-out "
                "predictions. Remove --report, or fit a sample of the rows."
            )
        found = fit(job)
        found = replace(found, warned=[*table.warned, *find_leaks(table, target, found.outcome), *found.warned])
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[2K")  # what is left of the last line of progress
        sys.stderr.flush()
    summary = as_json(table, found, target, time.monotonic() - begin)
    whole = _save(table, found.model, options, summary)
    _write_report(whole, table, found, options)
    if options["as_json"]:
        paths = {"out": out} | ({"report": options["report"]} if options["report"] else {})
        say(json.dumps(summary | paths, ensure_ascii=False))
    else:
        _tell(table, found, whole, options)


def _tell(table: Prepared, found: Fitted, whole: Any, options: dict[str, Any]) -> None:
    """What was found, what to beware of, and what comes next; with `--quiet` warnings alone."""
    from mercer.cli.hints import log_hint
    from mercer.cli.summary import choice_words, error_words, importance_words, label_words, unstable_words

    out, speak = options["out"], not options["quiet"]
    if speak:
        say(choice_words(found))
        y, weighted = table.target.values, bool(options["class_weight"])
        say(error_words(found.outcome, options["target"], y, logs=options["loss"] == "log"))
        labels, columns = label_words(found.model, y, weighted=weighted), importance_words(whole, table)
        copies = getattr(found.model, "copies_", "")
        plain_loss = options["loss"] == "auto" and getattr(found.model, "loss_", "") == "squared"
        tried = log_hint(table) if plain_loss else []
        for line in filter(None, (copies, unstable_words(found.model), labels, columns, *tried)):
            say(line)
    for warning in found.warned:
        warn(warning)
    if speak:
        size = readable(Path(out).stat().st_size)
        place = printable(out)
        say(f"Written to {place} ({size}). Next: mercer predict {shlex.quote(place)} NEW_TABLE")
        if options["report"]:
            say(f"The report is in {printable(options['report'])}; it opens in a browser.")


def _save(table: Prepared, model: Estimator, options: dict[str, Any], summary: dict[str, Any]) -> Any:
    from mercer.estimators.table_model import TableModel
    from mercer.models import save

    encoder = None if hasattr(model, "encoder_") else table.encoder
    row_id, style = options["row_id"] or "", table.reading.style
    whole = TableModel(model, encoder, options["target"], row_id, table.ignored, summary, style)
    save(whole, options["out"], rows=not options["without_data"])
    return whole


def _write_report(whole: Any, table: Prepared, fitted: Fitted, options: dict[str, Any]) -> None:
    """Write the report, if `--report` was set."""
    if options["report"] is None:
        return
    from mercer.report import Origin, write_report

    source = options["table"]
    origin = Origin(
        table.reading.what,
        "" if source == "-" else source,
        command_text(click.get_current_context()),
        tuple(note for note in (*table.notes, fitted.outcome.all_rows_words) if note),
        tuple(said.removeprefix(LEAKAGE) for said in fitted.warned if said.startswith(LEAKAGE)),
    )
    with show_activity("writing the report", quiet=options["quiet"]):
        write_report(
            whole,
            table.features,
            table.target.values,
            options["report"],
            evaluation=fitted.outcome if fitted.outcome.outer else None,
            sample_weight=table.weights,
            groups=table.groups,
            origin=origin,
        )


@contextmanager
def show_activity(what: str, *, quiet: bool) -> Iterator[None]:
    """On a terminal, say what is going on for as long as it goes on."""
    shown = sys.stderr.isatty() and not quiet
    if shown:
        sys.stderr.write(f"{what} ...")
        sys.stderr.flush()
    try:
        yield
    finally:
        if shown:
            sys.stderr.write("\r\033[2K")
            sys.stderr.flush()


def command_text(context: click.Context) -> str:
    """The command as it can be typed again: arguments, then every option that is not as it is by itself."""
    said = ["mercer", context.info_name or "fit"]
    for param in context.command.params:
        value = context.params.get(param.name or "")
        if isinstance(param, click.Argument):
            said.append(str(value))
        elif isinstance(param, click.Option) and param.is_flag:
            said += [param.opts[0]] * bool(value)
        elif isinstance(value, tuple):
            said += [word for each in value for word in (param.opts[0], str(each))]
        elif value is not None and value != param.get_default(context):
            said += [param.opts[0], str(value)]
    return shlex.join(said)


def _refuse_replacing(table: Prepared, options: dict[str, Any]) -> None:
    """Refuse to replace what is not a model of these columns, this target and this task, unless that was said."""
    from mercer.estimators.table_model import TableModel
    from mercer.models import load

    place = Path(options["out"])
    if options["force"] or not place.is_file() or not place.stat().st_size:
        return
    what, held = "is not a model file", None
    try:
        held = load(options["out"])
        what = f"holds a {type(held).__name__} saved from Python"
    except MercerError:
        pass
    if isinstance(held, TableModel):
        names = {held.target, held.row_id, *held.ignored, *(column.name for column in held.columns)} - {""}
        task = "classification" if held.is_classifier else "regression"
        if (held.target, task, names) == (options["target"], table.target.task, set(table.reading.raw)):
            return
        what = (
            f"holds the model of another table (it predicts {held.target!r}, by {task}, from "
            f"{quoted([column.name for column in held.columns], 3)})"
        )
    raise InputError(f"{options['out']!r} {what}. Choose another --out, or replace it with --force.")


def run_explain(options: dict[str, Any]) -> None:
    """`mercer explain`."""
    from mercer.cli.summary import data_words

    refuse_unknown_kernels(options["kernel"])
    how = FitOptions.parse(options)
    with limits(options):
        table = prepare(options["table"], TableOptions.parse(options))
        job = FitJob.of(table, how)
        refuse_unsupported(job)
        say(data_words(table, options["target"]) + f"\n\n{job.name} ({job.why}).")
        for warning in table.warned:
            warn(warning)
        if job.name.startswith("Auto"):
            say(auto_plan(job))
            return
        if job.name.startswith("Nystroem"):
            search, rows = landmarks_for(job)
            say(str(search.explain(*rows)))
        else:
            search, Z = search_for(job)
            say(str(search.explain(Z, table.target.values, table.weights, table.groups)))
            times = times_as_long(search, how)
            long = "about as long" if times == 1 else f"about {times} times as long"
            say(f"Nested cross-validation, which gives the error, comes on top and takes {long}.")


def fit_seconds(rows: int, columns: int, encoded: int) -> float:
    """Processor seconds of an automatic fit to so many rows, columns that are used, and columns of numbers."""
    return tuning_seconds(rows, columns, encoded) + (_USUAL if rows <= FULL_SYSTEMS else _IN_CELLS) * fixed_seconds(
        rows
    )


def auto_plan(job: FitJob) -> str:
    """What `fit` would do without settings, in words, with time and memory."""
    table, options = job.table, job.options
    rows = len(table.target.values)
    tuned, in_cells = min(rows, _TUNED_ON), rows > FULL_SYSTEMS
    folds = options.folds or 0
    parts = [rows, *([rows * (folds - 1) // max(folds, 1)] * folds)]
    columns, encoded = len(set(table.encoder.groups_)), len(table.encoder.names_out_)
    seconds = sum(fit_seconds(part, columns, encoded) for part in parts)
    if options.time_budget is not None:
        seconds = min(seconds, 1.2 * options.time_budget)
    judged = f"all steps repeated in {folds} outer folds" if folds else "estimated from the three folds of step 2"
    steps = [
        "In three folds: tune four to six kernels on the other rows; weigh them by how they predict the fold.",
        f"Tune the kernels with weight on {tuned} rows, choose alpha, and fit them to all {rows} rows.",
    ]
    if in_cells:
        judged = judged.replace("three folds of step 2", "five folds of step 3")
        steps = [
            f"Tune four kernels with a width per column on {tuned} rows at a time; choose alpha in some of the cells.",
            "Solve the best kernels in cells of neighbouring rows, five folds left out in closed form; weigh them.",
        ]
    held = _MEMBERS * rows * (encoded + 10) if in_cells else 3 * rows**2
    lines = [
        f"1. Encode {len(table.encoder.columns_)} columns as {encoded} columns of numbers.",
        *(f"{place}. {step}" for place, step in enumerate(steps, start=2)),
        f"4. Error: {judged}.",
        f"Time: roughly {duration(seconds)}.",
        f"Memory: roughly {readable(8 * (_MATRICES * tuned**2 + held))}.",
    ]
    return "\n".join(lines)


def run_inspect(path: str, *, as_json: bool) -> None:
    """`mercer inspect`."""
    from dataclasses import asdict

    from mercer.estimators.table_model import TableModel
    from mercer.models import inspect, load

    file, model = inspect(path), load(path)
    table = model if isinstance(model, TableModel) else None
    if table is not None:
        file = replace(file, kind=type(table.model).__name__)
    if as_json:
        say(json.dumps(asdict(file) | ({} if table is None else {"fit": table.facts}), ensure_ascii=False))
    elif table is None:
        say(str(file))
    else:
        from mercer.cli.summary import file_words

        say(file_words(file, table))


def run_lab(table: str | None, port: int, *, browser: bool, folder: str | None) -> None:
    """`mercer lab`."""
    from mercer.lab.files import write_static

    if folder is not None:
        if table is not None:
            raise InputError("The page that --export writes cannot contain your own table. Remove TABLE or --export.")
        written = write_static(Path(folder))
        say(f"Wrote {', '.join(written)} to {folder}. Open index.html in a browser, or publish the folder.")
        return
    if table is not None and Path(table).is_dir():
        raise InputError(sentence("TABLE", "a file", f"the folder {table!r}"))
    if table is not None and not Path(table).is_file():
        raise no_file(Path(table))
    try:
        from mercer.lab.server import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("mercer"):
            raise
        way_out = "Install them with: pip install 'mercer[lab]'."
        raise InputError(f"mercer lab needs starlette and uvicorn. {way_out}") from None
    serve(None if table is None else Path(table), port, browser=browser, say=say)


def run_demo(folder: str) -> None:
    """Write three tables of houses to a new folder, and fit, predict and score there."""
    from mercer.cli.commands import cli

    place = Path(folder)
    others = [each.name for each in place.iterdir() if each.name not in _FILES] if place.is_dir() else []
    if others or (place.exists() and not place.is_dir()) or folder.startswith("-"):
        got = f"{others[0]!r} in it" if others else "a file" if place.exists() else "an option"
        raise InputError(sentence(f"{folder!r}", "a new or empty folder", got, "Name another one: mercer demo FOLDER"))
    try:
        place.mkdir(parents=True, exist_ok=True)
        _write_tables(place)
    except OSError as problem:
        raise InputError(f"The folder {folder!r} cannot be written: {problem.strerror or problem}.") from None
    sold, unsold, later, model, report, predicted = (str(place / name) for name in _FILES)
    say(f"{_SOLD} sales of houses are in {sold}: area, year, district, energy class, walk to the station, garden, and")
    say(f"the price in thousands. {_NEW} other houses are in {unsold}, without prices. (The data are generated.)\n")
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
    for rows, seed, names in ((_SOLD, 0, ("houses.csv",)), (_NEW, 1, ("new_houses.csv", "sold_later.csv"))):
        table, price = houses(rows, seed)
        columns: dict[str, Any] = table | {"price": price.tolist()}
        for name in names:
            shown = table if name == "new_houses.csv" else columns
            text = io.StringIO()
            csv.writer(text).writerows([list(shown), *zip(*shown.values(), strict=True)])
            path, written = place / name, text.getvalue().encode("utf-8")
            if path.exists() and path.read_bytes() != written:
                raise InputError(f"{str(path)!r} is not the table of mercer demo. Name another folder.")
            path.write_bytes(written)
