"""What each command does: read, call the library, say or write what came out."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from mercer.cli import reporting
from mercer.cli.fitting import FitOptions, Fitted, fit, landmarks_for, refuse_unsupported, search_for, times_as_long
from mercer.cli.leaks import given_away
from mercer.cli.preparing import Prepared, Said, asked_kinds, prepare
from mercer.cli.refusals import flags, say, says_when_stopped
from mercer.errors import InputError, MercerError, MercerWarning, ModelFileError, nearest, printable, sentence
from mercer.runtime import readable, threads
from mercer.tables.reading import no_file
from mercer.text import counted, plain, quoted

_UNITS = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "tb": 10**12}
_SHORT = 0.05  # of coverage below what intervals say: worth a warning
_TABLES = {".csv", ".tsv", ".txt", ".parquet", ".gz", ".zst"}  # endings of files that are no models
_SIGNS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|"}


@says_when_stopped(out="model", report="report", checkpoint="checkpoint")
def run_fit(options: dict[str, Any]) -> None:
    """`mercer fit`."""
    from mercer.cli.hints import hints
    from mercer.cli.kernel_text import refuse_unknown
    from mercer.cli.summary import as_json, data_words

    begin = time.monotonic()
    out, target = options["out"], options["target"]
    speak = not options["as_json"] and not options["quiet"]
    _refuse_out(out, "--out")
    _refuse_out(options["report"], "--report")
    written = {f"--{name}": options[name] for name in ("out", "report", "checkpoint")}
    _refuse_overwriting({"the table": options["table"]}, written)
    refuse_unknown(options["kernel"])
    asked = _asked(options, verbose=0 if options["quiet"] else 1)
    with _limits(options):
        table = prepare(options["table"], _said(options))
        _refuse_replacing(table, options)
        if speak:
            told = hints(table, _said(options))
            say("\n".join([data_words(table, target), *([""] if told else []), *told]) + "\n")
        reporting.refuse_landmarks(table, asked, options["report"])
        found = fit(table, asked)
        found = replace(found, warned=[*table.warned, *given_away(table, target, found.judgement), *found.warned])
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[2K")  # what is left of the last line of progress
        sys.stderr.flush()
    summary = as_json(table, found, target, time.monotonic() - begin)
    whole = _save(table, found.model, options, summary)
    reporting.write(whole, table, found, options)
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
        say(error_words(found.judgement, options["target"], y, logs=options["loss"] == "log"))
        labels, columns = label_words(found.model, y, weighted=weighted), importance_words(whole, table)
        copies = getattr(found.model, "copies_", "")
        tried = log_hint(table) if hasattr(found.model, "committee_") and options["loss"] == "auto" else []
        for line in filter(None, (copies, unstable_words(found.model), labels, columns, *tried)):
            say(line)
    _warn(found.warned)
    if speak:
        size = readable(Path(out).stat().st_size)
        place = printable(out)
        say(f"Written to {place} ({size}). Next: mercer predict {shlex.quote(place)} NEW_TABLE")
        if options["report"]:
            say(f"The report is in {printable(options['report'])}; it opens in a browser.")


def _warn(words: list[str]) -> None:
    for warning in words:
        say(warning, head="Warning:", colour="yellow", err=True)


def _save(table: Prepared, model: Any, options: dict[str, Any], summary: dict[str, Any]) -> Any:
    from mercer.estimators.table_model import TableModel
    from mercer.models import save

    encoder = None if hasattr(model, "encoder_") else table.encoder
    row_id, style = options["row_id"] or "", table.reading.style
    whole = TableModel(model, encoder, options["target"], row_id, table.ignored, summary, style)
    save(whole, options["out"], rows=not options["without_data"])
    return whole


def _refuse_out(out: str | None, option: str) -> None:
    """Raise an error before the fit if a file cannot be written."""
    if out is None:
        return
    if out == "-" or Path(out).is_dir():
        raise InputError(sentence(option, "the path of a file", repr(out) + " (a directory)" * Path(out).is_dir()))
    path = Path(os.path.realpath(out) if Path(out).is_symlink() else out)  # what is written is where a link points to
    if not path.parent.is_dir():
        raise InputError(f"There is no directory {str(path.parent)!r} to write {path.name!r} to.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{out!r} cannot be written: permission denied.")


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


def _refuse_overwriting(read: dict[str, str], written: dict[str, str | None]) -> None:
    """Refuse an output that is an input or another output, whatever path or link leads to it."""
    taken = {what: _files(path) for what, path in read.items()}
    for option, path in written.items():
        found = set() if path in {None, "-"} else _files(str(path))
        for what, others in taken.items():
            if found & others:
                raise InputError(f"{option} would overwrite {what}: {path!r}. Use a different file name.")
        taken[option] = found


def _files(path: str) -> set[Any]:
    """What a file is known by, its real path and its place on the disk: two names of one file have one in common.

    A directory is its Parquet files; pipes and devices, which are not replaced, are none.
    """
    try:
        if path != "-" and Path(path).is_dir():
            return {each for file in Path(path).glob("*.parquet") for each in _files(str(file))}
        status = os.fstat(sys.stdin.fileno()) if path == "-" else Path(path).stat()
    except (OSError, ValueError):  # not there yet, or no stream of the system's
        return set() if path == "-" else {os.path.realpath(path)}
    place = {(status.st_dev, status.st_ino)} if stat.S_ISREG(status.st_mode) else set()
    return place | {os.path.realpath(path)} if place and path != "-" else place


def _said(options: dict[str, Any]) -> Said:
    return Said(
        target=options["target"],
        kinds=asked_kinds(options["kinds"]),
        drop=options["drop"],
        group=options["group"],
        weight=options["weight"],
        row_id=options["row_id"],
        task=options["task"],
        missing=options["missing"],
        rows_kept=not options.get("without_data"),
        separator=_sign(options["separator"]),
        decimal=options["decimal"],
        date_format=options["date_format"],
        encoding=options["encoding"],
        time=options["time"],
        missing_target=options["missing_target"],
        rare_labels=options["rare_labels"],
        strict=options["strict"],
    )


def _sign(given: str | None) -> str | None:
    if given is None:
        return None
    sign = _SIGNS.get(given.lower(), given)
    if len(sign) != 1 or sign in '"\r\n':
        raise InputError(sentence("--separator", "one character, or the word tab", repr(given)))
    return sign


def _asked(options: dict[str, Any], verbose: int = 1) -> FitOptions:
    scoring = options["scoring"]
    if scoring is not None:
        from sklearn.metrics import get_scorer_names

        if scoring not in get_scorer_names():
            hint = nearest(scoring, get_scorer_names())
            hint = hint if hint.startswith("Did") else "Use a scikit-learn scorer name, such as r2."
            raise InputError(f"Unknown scoring {scoring!r}. {hint}")
    names = ("kernel", "rule", "folds", "repeats", "time_budget", "checkpoint", "seed", "dask", "without_data")
    given = {name: options[name] for name in (*names, "class_weight", "copies", "loss")}
    return FitOptions(**given, scoring=scoring, alphas=_numbers(options["alphas"]), verbose=verbose)


def _numbers(text: str | None) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        found = tuple(float(part) for part in text.replace(",", " ").split())
    except ValueError:
        found = ()
    if not found or not all(0 <= number < float("inf") for number in found):
        raise InputError(sentence("--alphas", "non-negative numbers, such as 0.01,0.1,1", repr(text)))
    return found


@contextmanager
def _limits(options: dict[str, Any]) -> Iterator[None]:
    """Threads and memory for the time of a command."""
    before = os.environ.get("MERCER_MEMORY_LIMIT")
    if options["memory_limit"]:
        os.environ["MERCER_MEMORY_LIMIT"] = str(_size(options["memory_limit"]))
    try:
        with threads(options["threads"]) if options["threads"] else nullcontext():
            yield
    finally:
        if options["memory_limit"]:
            os.environ.pop("MERCER_MEMORY_LIMIT")
            os.environ.update({} if before is None else {"MERCER_MEMORY_LIMIT": before})


def _size(text: str) -> int:
    """Bytes.

    >>> _size("2GB"), _size("500 mb")
    (2000000000, 500000000)
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([a-z]*)", text.strip().lower())
    if not found or found[2] not in _UNITS:
        raise InputError(sentence("--memory-limit", "a size, such as 500MB or 2GB", repr(text)))
    return int(float(found[1]) * _UNITS[found[2]])


def run_explain(options: dict[str, Any]) -> None:
    """`mercer explain`."""
    from mercer.cli.choices import choose_model
    from mercer.cli.costs import auto_plan
    from mercer.cli.kernel_text import refuse_unknown
    from mercer.cli.summary import data_words

    refuse_unknown(options["kernel"])
    asked = _asked(options)
    with _limits(options):
        table = prepare(options["table"], _said(options))
        streamed = table.stream is not None
        name, why = choose_model(table.target.task, vars(asked), len(table.target.values), streamed=streamed)
        refuse_unsupported(table, asked, name)
        say(data_words(table, options["target"]) + f"\n\n{name} ({why}).")
        _warn(table.warned)
        if name.startswith("Auto"):
            say(auto_plan(table, asked))
            return
        if name.startswith("Nystroem"):
            search, rows = landmarks_for(name, table, asked)
            say(str(search.explain(*rows)))
        else:
            search, Z = search_for(name, table, asked)
            say(str(search.explain(Z, table.target.values, table.weights, table.groups)))
            times = times_as_long(search, asked)
            long = "about as long" if times == 1 else f"about {times} times as long"
            say(f"Nested cross-validation, which gives the error, comes on top and takes {long}.")


@says_when_stopped(out="table")
def run_predict(options: dict[str, Any]) -> None:
    """`mercer predict`."""
    from mercer.cli.predicting import predicted, write

    _refuse_overwriting({"the model": options["model"], "the table": options["table"]}, {"--out": options["out"]})
    model, table = _opened(options)
    for note in table.notes:
        say(note, err=True)
    with _print_warnings():
        answer, report = predicted(model, table, options["drop"], options["row_id"], options["interval"])
    write(answer, options["out"])
    if options["out"] != "-":
        say(f"Written to {printable(options['out'])} ({counted(table.rows, 'row')}).", err=True)
    _tell_unused(model, table, options["drop"])
    _tell_strangers(report)
    _tell_coverage(model, options["interval"])
    if model.target in table.raw and model.target not in options["drop"]:
        _tell_scores(model, table, answer, options["interval"])


def _opened(options: dict[str, Any]) -> tuple[Any, Any]:
    """The model, and the table that it is applied to."""
    from mercer.cli.predicting import read_new

    model = _loaded(options["model"])
    how = {name: options[name] for name in ("decimal", "date_format", "encoding")}
    return model, read_new(options["table"], model, separator=_sign(options["separator"]), **how)


def _tell_coverage(model: Any, confidence: float | None) -> None:
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
        say(f"{words} Expect those of new rows to hold less than they say.", head="Warning:", colour="yellow", err=True)
    else:
        say(words, err=True)


def _tell_scores(model: Any, table: Any, answer: dict[str, Any], confidence: float | None) -> None:
    """The errors on rows with a known target, beside the predictions; or why they are not known."""
    from mercer.cli.scoring import scores

    try:
        result = scores(model, table, answer, confidence)
    except InputError as error:
        say(f"The predictions are not compared with {model.target}: {error.in_terms(flags)}", err=True)
        return
    say(f"\n{result.rows} rows have a known {model.target}:\n\n{result}", err=True)


def run_score(options: dict[str, Any]) -> None:
    """`mercer score`."""
    from mercer.cli.predicting import predicted
    from mercer.cli.scoring import CONFIDENCE, scores
    from mercer.estimators.table_model import FeatureRegressor

    model, table = _opened(options)
    table.exactly(model.target)
    group = options["group"]
    aside = (*options["drop"], *(name for name in (group,) if name is not None and name not in model.kinds))
    able = hasattr(model.model, "predict_interval") and not isinstance(model.model, FeatureRegressor)
    confidence = CONFIDENCE if able and not model.is_classifier else None
    with _print_warnings():
        answer, report = predicted(model, table, aside, None, confidence)
    found = scores(model, table, answer, confidence, group)
    if options["as_json"]:
        say(json.dumps(found.as_json(), ensure_ascii=False))
        return
    for note in table.notes:
        say(note, err=True)
    say(
        f"{options['model']} on {table.what}: {found.rows} of {table.rows} rows have a known {model.target}.\n\n{found}"
    )
    told = model.facts.get("error")
    if isinstance(told, dict) and isinstance(told.get("value"), float) and isinstance(told.get("measure"), str):
        unit, sign = (100.0, " %") if "share" in told["measure"] else (1.0, "")
        by = told.get("standard_error")
        spread = f" +- {plain(unit * by, 2)}{sign}" if isinstance(by, float) else ""
        say(f"\nExpected when it was fitted: {plain(unit * told['value'])}{sign}{spread} ({told['measure']}).")
    _tell_strangers(report)


def _tell_unused(model: Any, table: Any, drop: Sequence[str]) -> None:
    """A line about columns that the model does not know."""
    unused = [name for name in model.unknown_columns(table.raw) if name not in drop]
    if unused:
        say(f"Not used by the model: {quoted(unused)}.", err=True)


@contextmanager
def _print_warnings() -> Iterator[None]:
    """Print the warnings of mercer that are issued meanwhile, each once, as lines of the command."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", MercerWarning)
        yield
    for words in dict.fromkeys(str(each.message) for each in heard):
        say(words, head="Warning:", colour="yellow", err=True)


def _tell_strangers(report: Any) -> None:
    for each in report.columns[:10]:
        parts = {
            "outside the training range": each.outside,
            f"in categories not seen in training ({each.example!r})": each.unseen,
            "missing (never missing in training)": each.missing,
        }
        of = counted(report.rows, "value")
        said = "; ".join(f"{count} of {of} {what}" for what, count in parts.items() if count)
        say(f"column {each.name!r}: {said}.", head="Warning:", colour="yellow", err=True)
    if report.columns:
        say("Predictions for such rows are extrapolations.", err=True)


def _loaded(path: str) -> Any:
    from mercer.estimators.table_model import TableModel
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
    from mercer.lab.exports import write_static

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
