"""The commands and their options; the work is done elsewhere and imported when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import cleandoc
from textwrap import indent
from typing import Any, TypeVar

import click

from mercer.cli.refusals import CommandGroup, say

Command = TypeVar("Command", bound=Callable[..., Any])


class ExampleCommand(click.Command):
    """A command whose docstring ends in examples, which its help shows last."""

    def __init__(self, name: str | None, help: str, **how: Any) -> None:  # noqa: A002 - click's word
        text, head, examples = cleandoc(help).partition("Examples\n--------\n")
        epilog = "\b\nExamples:\n" + indent(examples, "  ") if head else None  # which click shall not wrap
        super().__init__(name, help=text, epilog=epilog, **how)


class ExampleGroup(CommandGroup):
    """A group of such commands."""

    command_class = ExampleCommand


@click.group(
    cls=ExampleGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Two commands take you from a table to predictions (mercer demo runs them on a generated one):
  mercer fit houses.csv --target price
  mercer predict model.mercer new_houses.csv > prices.csv""",
)
@click.version_option(package_name="mercer", message="%(prog)s %(version)s")
def cli() -> None:
    """Kernel models for tables; every model comes with an estimate of its out-of-sample error."""


# Options as the help shows them: a flag, an option with a value, or one with several choices; and their texts.
_FILE = {
    "--separator SIGN": "Column separator: , ; | or tab. Default: detected from the table.",
    "--decimal [.|,]": "Decimal sign. Default: detected from the table.",
    "--date-format FORMAT": "Format of dates, such as %d/%m/%Y (day first) or %m/%d/%Y (month first). Default: "
    "detected from the table.",
    "--encoding NAME": "Encoding of a text file, such as latin-1. Default: UTF-8, UTF-16 or Windows-1252, as detected.",
}
_COLUMNS = {
    "--target COLUMN": "The column to predict.",
    "--task [regression|classification]": "Default: detected from the target.",
    "--as COLUMN=KIND": "Kind of a column: number, category, date or text, or drop to leave it out; may be repeated.",
    "--drop COLUMN": "Drop a column; may be repeated.",
    "--id COLUMN": "Column with row identifiers; not used as a feature.",
    "--group COLUMN": "Keep rows of one group in the same fold.",
    "--time COLUMN": "Column of dates or numbers that rows are ordered by. Folds follow in time: every fold is "
    "predicted from earlier rows, so the error is that of predicting the future.",
    "--weight COLUMN": "Sample weights.",
    "--class-weight [balanced]": "balanced: every class counts the same in the choice of labels and in the error; with "
    "--kernel, in the fit.",
    "--missing [mark|mean|drop|refuse]": "Missing values: fill with the median and add an indicator (mark, the "
    "default), fill with the mean, drop the rows, or stop with an error (refuse). Infinite values count as missing if "
    "--missing mark, mean or drop is given explicitly; otherwise their column is not used as a number (see --strict).",
    "--missing-target [drop|refuse]": "Rows without a target: drop them, or stop with an error (refuse).",
    "--rare-labels [drop|refuse]": "Rows with a label that fewer than 3 rows have: drop them, or stop with an error "
    "(refuse).",
    "--strict": "Stop with an error at a column of numbers or dates with a few other or infinite values. Default: such "
    "a column is a category or text, or dropped, with a warning.",
    "--copies [together|apart]": "Whether rows that are identical, target included, are kept in one fold. Default: "
    "together, if there are too many of them to be chance.",
    "--loss [auto|squared|log|poisson|gamma]": "What the automatic model minimizes: squared errors of the target or of "
    "its logarithm (log), Poisson loss of counts, gamma loss of positive targets. auto: Poisson or gamma loss, if it "
    "is better.",
}
_FIT = {
    "--kernel KERNEL": "A kernel name such as gaussian (several widths are tried), or a kernel expression such as "
    "'gaussian(2)'; may be repeated, and the best is selected.",
    "--alphas NUMBERS": "Values of alpha to try, such as 0.01,0.1,1.",
    "--rule [best|one_se]": "best: the alpha with the best score. one_se: the largest alpha within one standard error "
    "of the best score. Default: best.",
    "--scoring NAME": "A scikit-learn scorer, such as r2. Default: neg_mean_squared_error, or accuracy.",
    "--folds N": "Number of folds for the error estimate. Default: 10; none for the automatic model, which estimates "
    "its error during the fit. (The automatic model is used for tables of at most 1 000 000 rows, unless --kernel, "
    "--alphas, --rule, --scoring, --repeats, --without-data or --dask is given, or --checkpoint with at most 5000 "
    "rows.)",
    "--repeats N": "Number of repetitions of the cross-validation, with different folds.",
    "--seed INTEGER RANGE": "Random seed.",
    "--time-budget SECONDS": "Time limit. The automatic model stops tuning; a Nystroem model (more than 1 000 000 "
    "rows, or --dask) uses fewer landmarks; a search over kernels and alphas that would take longer stops with an "
    "error.",
    "--memory-limit SIZE": "Memory limit, such as 2GB; a fit that needs more stops with an error.",
    "--threads N": "Number of threads.",
    "--checkpoint PATH": "Save finished parts of the fit here, and resume from them: a file, or a directory for the "
    "automatic model of more than 5000 rows.",
    "--dask ADDRESS": "Address of a Dask scheduler to fit a Nystroem model on.",
    "--without-data": "Save the model without training rows. Needs a kernel with finitely many features, such as "
    "linear().",
}
_OUTPUT = {
    "--out FILE": "Model file.",
    "--force": "Replace a file that is not a model of this table, target and task.",
    "--report FILE": "Also write a report (one HTML file).",
}
_JSON = {"--json": "Print one JSON object instead of text."}
_APPLIED = {"--drop COLUMN": "Ignore a column that was not in the training table."} | _FILE
# What the help does not show of them: names of their values, types, defaults, and what may be repeated.
_NAMES = {"--as": "kinds", "--id": "row_id", "--json": "as_json"}
_SETTINGS: dict[str, dict[str, Any]] = {
    "--target": {"required": True},
    "--as": {"multiple": True},
    "--drop": {"multiple": True},
    "--kernel": {"multiple": True},
    "--missing-target": {"default": "refuse"},
    "--rare-labels": {"default": "refuse"},
    "--loss": {"default": "auto"},
    "--folds": {"type": click.IntRange(2)},
    "--repeats": {"type": click.IntRange(1)},
    "--threads": {"type": click.IntRange(1)},
    "--seed": {"type": click.IntRange(0), "default": 0},
    "--time-budget": {"type": click.FloatRange(0, min_open=True)},
    "--interval": {"type": float},
    "--port": {"type": click.IntRange(0, 65535)},
    "--out": {"default": "model.mercer"},
}


def _option(declared: str, text: str) -> Callable[[Command], Command]:
    """The option with this text that is declared as the help shows it."""
    name, _, value = declared.partition(" ")
    how = dict(_SETTINGS.get(name, {}))
    if value.startswith("["):
        how["type"] = click.Choice(value.strip("[]").split("|"))
    elif value:
        how["metavar"] = value
    names = [name, _NAMES[name]] if name in _NAMES else [name]
    return click.option(*names, help=text, is_flag=not value, show_default="default" in how, **how)


def _takes(*parts: str | Mapping[str, str]) -> Callable[[Command], Command]:
    """Arguments by their names and options by tables, in the order of the help."""

    def add(command: Command) -> Command:
        for part in reversed(parts):
            if isinstance(part, str):
                command = click.argument(part)(command)
                continue
            for declared, text in reversed(list(part.items())):
                command = _option(declared, text)(command)
        return command

    return add


@cli.command(short_help="Fit a model to a table and estimate its error.")
@_takes("table", _COLUMNS, _FILE, _FIT, _OUTPUT, _JSON, {"--quiet": "Print warnings only."})
def fit(**options: Any) -> None:
    """Fit a model to TABLE (CSV or TSV, also compressed by gzip or zstd; Parquet; or - for standard input) and estimate
    its out-of-sample error.

    Examples
    --------
    mercer fit houses.csv --target price
    mercer fit visits.parquet --target ill --as ward=category --group patient --kernel laplacian
    """
    from mercer.cli.running import run_fit

    run_fit(options)


@cli.command(short_help="Predict for the rows of a new table.")
@_takes("model", "table", _APPLIED)
@click.option("--out", default="-", metavar="FILE", help="A .csv, .tsv or .parquet file. Default: standard output.")
@_takes(
    {"--interval CONFIDENCE": "Also write prediction intervals with this confidence, such as 0.9."},
    {"--id COLUMN": "Row identifiers to write beside the predictions."},
)
def predict(**options: Any) -> None:
    """Predict the target of MODEL for every row of TABLE (CSV, TSV, Parquet, or - for standard input).

    Examples
    --------
    mercer predict model.mercer new.csv --interval 0.9 > prices.csv
    zcat new.csv.gz | mercer predict model.mercer - --id house --out prices.parquet
    """
    from mercer.cli.predicting import run_predict

    run_predict(options)


@cli.command(short_help="Compare predictions with known targets.")
@_takes("model", "table", _APPLIED, {"--group COLUMN": "Also show the error for each value of this column."}, _JSON)
def score(**options: Any) -> None:
    """Show the errors of MODEL on TABLE, whose rows have known targets, with standard errors.

    For numbers: errors, bias and the share inside 90 % intervals. For labels: wrong labels, log loss, AUC,
    precision and recall of each class, and calibration.

    Examples
    --------
    mercer score model.mercer test.csv
    mercer score model.mercer test.csv --group town --json
    """
    from mercer.cli.predicting import run_score

    run_score(options)


@cli.command(short_help="Show what fit would do, with time and memory.")
@_takes("table", _COLUMNS, _FILE, _FIT)
def explain(**options: Any) -> None:
    """Show which model `fit` would choose with the same options, and its time and memory. Nothing is fitted.

    Examples
    --------
    mercer explain houses.csv --target price
    mercer explain houses.csv --target price --kernel gaussian --kernel laplacian --folds 5
    """
    from mercer.cli.running import run_explain

    run_explain(options)


@cli.command(short_help="Prove that a kernel is a Mercer kernel, or show why not.")
@click.argument("kernel")
def certify(kernel: str) -> None:
    """Prove that KERNEL is a Mercer kernel (all its kernel matrices are positive semi-definite), or show why not.

    The answer is valid, not valid or unknown. The exit code is 0 for valid, and 1 otherwise.

    Examples
    --------
    mercer certify "gaussian(2) * linear() + 0.5 * polynomial(degree=3)"
    mercer certify "sigmoid(scale=2)"
    """
    from mercer.kernels import parse

    proof = parse(kernel).certificate()
    say(str(proof))
    if proof.valid is not True:
        click.get_current_context().exit(1)


@cli.command
@_takes("model", _JSON)
def inspect(model: str, as_json: bool) -> None:
    """Show what a model file contains.

    Examples
    --------
    mercer inspect model.mercer
    mercer inspect model.mercer --json
    """
    from mercer.cli.running import run_inspect

    run_inspect(model, as_json=as_json)


@cli.command(short_help="Run fit, predict and score on a generated table.")
@click.argument("folder", default="mercer-demo", required=False)
def demo(folder: str) -> None:
    """Write a generated table of houses to FOLDER (default: mercer-demo) and run a first session on it.

    The session fits a model with a report, predicts new houses with intervals, and compares the predictions with the
    prices.
    """
    from mercer.cli.running import run_demo

    run_demo(folder)


@cli.command(short_help="Play with kernels on a page in the browser.")
@click.argument("table", required=False)
@_takes(
    {"--port N": "Port. Default: any that is free."},
    {"--no-browser": "Print the address only, and open no browser."},
    {"--export FOLDER": "Write the page and its tours as plain files for a web site, which need no server, and stop."},
)
def lab(table: str | None, port: int | None, no_browser: bool, export: str | None) -> None:
    """Open a page in the browser, on this machine only, to play with kernels, alpha and points, or with TABLE.

    The first line printed is the address of the page; only people who know this address can open the page. Ctrl-C ends
    the server.

    Examples
    --------
    mercer lab
    mercer lab houses.csv
    mercer lab --export lecture_page
    """
    from mercer.cli.running import run_lab

    run_lab(table, port or 0, browser=not no_browser, folder=export)
