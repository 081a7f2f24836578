"""The commands and their options; the work is done elsewhere and imported when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from mercer.cli.refusals import Told, say

Command = TypeVar("Command", bound=Callable[..., Any])


def _examples(*lines: str, head: str = "Examples:") -> str:
    """Lines that click shall not wrap."""
    return "\n".join(["\b", head, *(f"  {line}" for line in lines)])


@click.group(
    cls=Told,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_examples(
        "mercer fit houses.csv --target price",
        "mercer predict model.mercer new_houses.csv > prices.csv",
        head="Two commands take you from a table to predictions:",
    ),
)
@click.version_option(package_name="mercer", message="%(prog)s %(version)s")
def cli() -> None:
    """Kernel models for tables, with an honest error."""


def _options(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def _file_options() -> list[Callable[[Any], Any]]:
    return [
        click.option(
            "--separator", metavar="SIGN", help="What stands between cells: , ; | or tab. Found out otherwise."
        ),
        click.option("--decimal", type=click.Choice([".", ","]), help="The decimal sign. Found out otherwise."),
    ]


_COLUMNS = _options(
    click.argument("table"),
    click.option("--target", required=True, metavar="COLUMN", help="The column to predict."),
    click.option("--task", type=click.Choice(["regression", "classification"]), help="Seen from the target otherwise."),
    click.option("--as", "kinds", multiple=True, metavar="COLUMN=KIND", help="number, category, date, text or drop."),
    click.option("--drop", multiple=True, metavar="COLUMN", help="Leave a column out; may be repeated."),
    click.option("--id", "row_id", metavar="COLUMN", help="Names the rows; not learned from."),
    click.option("--group", metavar="COLUMN", help="Rows of one group are never on both sides of a split."),
    click.option("--weight", metavar="COLUMN", help="How much each row counts in training."),
    click.option(
        "--missing", type=click.Choice(["mark", "mean", "drop", "refuse"]),
        help="Missing cells: fill and mark them (if nothing is said), fill with the mean, drop the rows, or refuse. "
        "Infinite numbers are refused, or with mark, mean or drop taken as missing.",
    ),
    *_file_options(),
)  # fmt: skip

_SETTINGS = _options(
    click.option(
        "--kernel", multiple=True, metavar="TEXT", help="A family, as gaussian, or a kernel, as 'gaussian(2)'."
    ),
    click.option("--alphas", metavar="NUMBERS", help="Penalties to try, as 0.01,0.1,1."),
    click.option("--rule", type=click.Choice(["best", "one_se"]), help="Which alpha to take."),
    click.option("--scoring", metavar="NAME", help="A score of scikit-learn's, as r2."),
    click.option("--folds", type=click.IntRange(2), metavar="N", help="Folds of the outer loop; 10 for searches."),
    click.option("--repeats", type=click.IntRange(1), metavar="N", help="How often folds are drawn."),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of everything drawn by chance."),
    click.option("--time-budget", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help="Stop tuning then."),
    click.option("--memory-limit", metavar="SIZE", help="Refuse work that needs more, as 2GB."),
    click.option("--threads", type=click.IntRange(1), metavar="N", help="How many to use."),
    click.option("--checkpoint", metavar="FILE", help="Keeps finished parts of a search, to go on later."),
    click.option("--dask", metavar="ADDRESS", help="Of a Dask scheduler, to work there; a model of landmarks."),
    click.option("--without-data", is_flag=True, help="Keep no training row in the model, where the kernel allows it."),
)


@cli.command(
    short_help="Fit a model to a table, and say how good it is.",
    epilog=_examples(
        "mercer fit houses.csv --target price",
        "mercer fit visits.parquet --target ill --as ward=category --group patient --kernel laplacian",
    ),
)
@_COLUMNS
@_SETTINGS
@click.option("--out", default="model.mercer", show_default=True, metavar="FILE", help="Where the model goes.")
@click.option("--report", metavar="FILE", help="Also write a report, one HTML file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of words.")
@click.option("--quiet", is_flag=True, help="Print nothing but warnings.")
def fit(**options: Any) -> None:
    """Fit a model to TABLE (CSV, TSV, Parquet, or - for standard input), and say how good it is."""
    from mercer.cli.running import run_fit

    run_fit(options)


@cli.command(
    short_help="Predict for the rows of a new table.",
    epilog=_examples(
        "mercer predict model.mercer new.csv --interval 0.9 > prices.csv",
        "zcat new.csv.gz | mercer predict model.mercer - --id house --out prices.parquet",
    ),
)
@click.argument("model")
@click.argument("table")
@click.option("--out", default="-", metavar="FILE", help="A .csv, .tsv or .parquet file; standard output otherwise.")
@click.option("--interval", type=float, metavar="SHARE", help="Also lower and upper bounds; 0.9 holds nine in ten.")
@click.option("--id", "row_id", metavar="COLUMN", help="Put this column first, to name the rows.")
@click.option("--drop", multiple=True, metavar="COLUMN", help="Leave out a column that the model does not know.")
@_options(*_file_options())
def predict(**options: Any) -> None:
    """Predict the target of MODEL for every row of TABLE (CSV, TSV, Parquet, or - for standard input)."""
    from mercer.cli.running import run_predict

    run_predict(options)


@cli.command(
    short_help="Say what fit would do and cost, and stop.",
    epilog=_examples(
        "mercer explain houses.csv --target price",
        "mercer explain houses.csv --target price --kernel gaussian --kernel laplacian --folds 5",
    ),
)
@_COLUMNS
@_SETTINGS
def explain(**options: Any) -> None:
    """Say what `fit` with the same options would do, and what it would cost; then stop."""
    from mercer.cli.running import run_explain

    run_explain(options)


@cli.command(
    short_help="Prove that a kernel is a Mercer kernel, or show why not.",
    epilog=_examples(
        'mercer certify "gaussian(2) * linear() + 0.5 * polynomial(degree=3)"',
        'mercer certify "sigmoid(scale=2)"',
    ),
)
@click.argument("kernel")
def certify(kernel: str) -> None:
    """Prove that KERNEL is a Mercer kernel, or show why not; the exit code is 1 if it is not proved."""
    from mercer.kernels import parse

    proof = parse(kernel).certificate()
    say(str(proof))
    if proof.valid is not True:
        click.get_current_context().exit(1)


@cli.command(
    epilog=_examples(
        "mercer inspect model.mercer",
        "mercer inspect model.mercer --json",
    )
)
@click.argument("model")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of words.")
def inspect(model: str, as_json: bool) -> None:
    """Say what a model file holds."""
    from mercer.cli.running import run_inspect

    run_inspect(model, as_json=as_json)
