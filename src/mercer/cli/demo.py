"""`mercer demo`: write a table, and run the commands of a first session on it."""

from __future__ import annotations

import csv
import shlex
from pathlib import Path
from typing import Any

from mercer.cli.refusals import say
from mercer.data.samples import houses
from mercer.errors import InputError, sentence

_SOLD, _NEW = 400, 200  # rows to learn from, and rows to predict


def run_demo(folder: str) -> None:
    """Write three tables of houses to a new folder, and fit, predict and score there."""
    from mercer.cli.commands import cli

    place = Path(folder)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        got = "a folder with files in it" if place.is_dir() else "a file"
        raise InputError(sentence(f"{folder!r}", "a new or empty folder", got, "Name another one: mercer demo FOLDER"))
    try:
        place.mkdir(parents=True, exist_ok=True)
        _write_tables(place)
    except OSError as problem:
        raise InputError(f"The folder {folder!r} cannot be written: {problem.strerror or problem}.") from None
    files = {name: str(place / name) for name in ("model.mercer", "report.html", "predicted.csv")}
    sold, unsold, later = (str(place / name) for name in ("houses.csv", "new_houses.csv", "sold_later.csv"))
    say(f"{_SOLD} sales of houses are in {sold}: area, year, district, energy class, walk to the station, garden, and")
    say(f"the price in thousands. {_NEW} other houses are in {unsold}, without prices. (The data are generated.)\n")
    model = files["model.mercer"]
    commands = (
        ("", ["fit", sold, "--target", "price", "--report", files["report.html"], "--out", model]),
        ("", ["predict", model, unsold, "--interval", "0.9", "--out", files["predicted.csv"]]),
        ("Later, the new houses are sold, too. How good were the predictions?\n", ["score", model, later]),
    )
    for words, command in commands:
        say(f"{words}$ mercer {shlex.join(command)}")
        cli.main(args=command, prog_name="mercer", standalone_mode=False)
        say("")
    say(f"Predictions with 90 % intervals: {files['predicted.csv']}. Report: {Path(files['report.html']).resolve()}")


def _write_tables(place: Path) -> None:
    """Houses with prices, new houses without, and the new houses with their prices."""
    for rows, seed, names in ((_SOLD, 0, ("houses.csv",)), (_NEW, 1, ("new_houses.csv", "sold_later.csv"))):
        table, price = houses(rows, seed)
        columns: dict[str, Any] = table | {"price": price.tolist()}
        for name in names:
            shown = table if name == "new_houses.csv" else columns
            with (place / name).open("x", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([list(shown), *zip(*shown.values(), strict=True)])
