"""The report of a fit, and the command that makes it again."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from mercer.cli.choices import choose_model
from mercer.cli.fitting import FitOptions, Fitted
from mercer.cli.leaks import LEAKAGE
from mercer.cli.preparing import Prepared
from mercer.errors import InputError


def refuse_landmarks(table: Prepared, asked: FitOptions, report: str | None) -> None:
    """Raise an error before the fit if the model stores no held-out predictions, which a report needs."""
    streamed = table.stream is not None
    name, why = choose_model(table.target.task, vars(asked), len(table.target.values), streamed=streamed)
    if report is not None and name.startswith("Nystroem"):
        raise InputError(
            f"--report is not supported for {name} ({why}): this model does not store held-out predictions. Remove "
            "--report, or fit a sample of the rows."
        )


def write(whole: Any, table: Prepared, fitted: Fitted, options: dict[str, Any]) -> None:
    """Write the report, if `--report` was set."""
    if options["report"] is None:
        return
    from mercer.report import Origin, write_report

    source = options["table"]
    origin = Origin(
        table.reading.what,
        "" if source == "-" else source,
        command_text(click.get_current_context()),
        tuple(note for note in (*table.notes, fitted.judgement.all_rows_words) if note),
        tuple(said.removeprefix(LEAKAGE) for said in fitted.warned if said.startswith(LEAKAGE)),
    )
    with telling("writing the report", quiet=options["quiet"]):
        write_report(
            whole,
            table.features,
            table.target.values,
            options["report"],
            evaluation=fitted.judgement.result,
            sample_weight=table.weights,
            groups=table.groups,
            origin=origin,
        )


@contextmanager
def telling(what: str, *, quiet: bool) -> Iterator[None]:
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
