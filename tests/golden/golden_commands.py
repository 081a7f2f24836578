"""What the command line prints: exit code, standard output and standard error, masked."""

import io
import sys
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
from golden_records import mask

import mercer
from mercer.cli import main

FIT = ("fit", "houses.csv", "--target", "price")
FAST = ("--kernel", "gaussian(3)", "--alphas", "0.1,1", "--folds", "3")

# Lines that are run one after the other in one folder; what all of them print is compared.
COMMANDS = {
    "fit of a search, inspect and predict": [
        (*FIT, *FAST),
        ("inspect", "model.mercer"),
        ("predict", "model.mercer", "new.csv", "--interval", "0.9", "--id", "house"),
    ],
    "fit of a committee and predict": [
        (*FIT, "--drop", "house", "--folds", "3"),
        ("predict", "model.mercer", "new.csv", "--drop", "house"),
    ],
    "fit of classes with groups": [
        ("fit", "houses.csv", "--target", "heating", "--group", "town", "--id", "house", *FAST),
        ("predict", "model.mercer", "new.csv", "--drop", "house"),
    ],
    "fit of a committee of classes": [("fit", "houses.csv", "--target", "heating", "--drop", "house", "--folds", "3")],
    "fit as JSON with weights": [(*FIT, *FAST, "--weight", "size", "--json")],
    "explain of a search": [("explain", "houses.csv", "--target", "price", *FAST)],
    "explain of a committee": [("explain", "houses.csv", "--target", "price")],
    "certify of a proved kernel": [("certify", "gaussian(2) * linear() + 0.5 * polynomial(degree=3)")],
    "certify of a refuted kernel": [("certify", "sigmoid(scale=2)")],
    "refusals": [
        ("fit", "houses.csv", "--target", "prize"),
        ("certify", "gausian(2)"),
        ("predict", "nowhere.mercer", "new.csv"),
        (*FIT, "--folds", "50"),
    ],
    "help": [("--help",), ("fit", "--help")],
}


def houses(folder):
    """Two small tables: houses.csv to learn from, new.csv to predict."""
    for name, rows, seed in (("houses.csv", 24, 0), ("new.csv", 6, 1)):
        rng = np.random.default_rng(seed)
        lines = ["house,size,heating,sold,town,price"]
        for i in range(rows):
            size, kind, day = rng.integers(400, 2000) / 10, int(rng.integers(3)), int(rng.integers(0, 500))
            price = 50 + 2 * size + 30 * (kind == 1) + rng.integers(-20, 21) / 10
            date = np.datetime64("2020-01-01") + day
            heating = ("gas", "oil", "heat pump")[kind]
            lines.append(f"h-{i:03d},{size:.1f},{heating},{date},{'ABCDE'[i % 5]},{price:.1f}")
        (Path(folder) / name).write_text("\n".join(lines) + "\n")


def run(*words):
    """Exit code, standard output and standard error of one command, in this process."""
    streams = {name: io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for name in ("stdin", "stdout", "stderr")}
    quiet = patch("mercer.runtime.progress._SELDOM", float("inf"))  # lines of progress come on slow machines only
    with patch.multiple(sys, argv=["mercer", *words], **streams), quiet, mercer.threads(1):
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
    for stream in streams.values():
        stream.flush()
    return (code, *(streams[name].buffer.getvalue().decode() for name in ("stdout", "stderr")))


def output(name):
    """What the commands under this name print, by command."""
    found = {}
    with TemporaryDirectory() as folder, chdir(folder):
        houses(folder)
        for words in COMMANDS[name]:
            code, out, err = run(*words)
            found[" ".join(words)] = mask(f"exit code {code}\n{out}---\n{err}", Path(folder))
    return found
