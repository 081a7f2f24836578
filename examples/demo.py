"""The main job on real data, with two commands: how strong will the concrete be?

1030 concrete mixtures are split into 830 to learn from and 200 to be judged by. `mercer fit` sees the first table,
`mercer predict` the second without its strengths, and what they said is then compared with what was measured.
"""

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from mercer.data.samples import concrete
from mercer.text import text_table

HELD_OUT = 200


def write(path, names, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])


def mercer(folder, *words):
    """Run the command as you would, and show it."""
    print(f"$ mercer {' '.join(words)}", flush=True)
    command = [str(Path(sys.executable).parent / "mercer"), *words]
    subprocess.run(command, cwd=folder, check=True)  # noqa: S603 - our own command


def main():
    table = concrete()
    order = np.random.default_rng(0).permutation(len(table.y))
    train, test = order[:-HELD_OUT], order[-HELD_OUT:]
    folder = Path(tempfile.mkdtemp(prefix="mercer-demo-"))
    names = [*table.names, "strength"]
    write(folder / "mixtures.csv", names, [[*map(float, table.X[i]), float(table.y[i])] for i in train])
    write(folder / "new.csv", table.names, [list(map(float, table.X[i])) for i in test])
    print("Concrete: strength in MPa of 1030 mixtures, from 7 ingredients and age.")
    print(f"({table.source}; {table.licence})")
    print(f"{len(train)} of them are in mixtures.csv; {HELD_OUT} others, without their strength, in new.csv.\n")
    mercer(folder, "fit", "mixtures.csv", "--target", "strength", "--report", "report.html")
    print()
    mercer(folder, "predict", "model.mercer", "new.csv", "--interval", "0.9", "--out", "predicted.csv")
    with (folder / "predicted.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    said, lower, upper = (np.array([float(row[name]) for row in rows]) for name in ("prediction", "lower", "upper"))
    y = table.y[test]
    inside = float(np.mean((lower <= y) & (y <= upper)))
    print(f"\nNow the {HELD_OUT} strengths that nobody has shown it:")
    errors = {"always the mean": table.y[train].mean() - y, "mercer": said - y}
    print(text_table(["", "error (MPa)"], [[name, float(np.sqrt(np.mean(e**2)))] for name, e in errors.items()]))
    print(f"{100 * inside:.0f} % of the strengths lie between lower and upper; 90 % were promised.\n")
    shown = [
        [*table.X[test[i], [0, 3, 7]].tolist(), float(y[i]), f"{said[i]:.1f} ({lower[i]:.1f} to {upper[i]:.1f})"]
        for i in range(5)
    ]
    print(text_table(["cement", "water", "age (days)", "measured", "predicted (90 %)"], shown))
    print(f"\nEverything is in {folder}. The report: {(folder / 'report.html').as_uri()}")


if __name__ == "__main__":
    main()
