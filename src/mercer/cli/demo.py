"""`mercer demo`: write a table, and run the commands of a first session on it."""

from __future__ import annotations

import csv
import io
import shlex
from pathlib import Path
from typing import Any

from mercer.cli.refusals import say
from mercer.data.samples import houses
from mercer.errors import InputError, sentence

_SOLD, _NEW = 400, 200  # rows to learn from, and rows to predict
_FILES = ("houses.csv", "new_houses.csv", "sold_later.csv", "model.mercer", "report.html", "predicted.csv")


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
