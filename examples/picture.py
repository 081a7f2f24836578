"""The picture at the top of the README: held-out predictions, coverage of intervals and the effect of a column.

Run ``python examples/picture.py``; it writes ``docs/_static/first.png``.
"""

import warnings
from pathlib import Path

from matplotlib.figure import Figure

from mercer import AutoRegressor, evaluate
from mercer.data.samples import concrete
from mercer.displays import CoverageDisplay, ResidualDisplay

PLACE = Path(__file__).resolve().parent.parent / "docs" / "_static" / "first.png"


def main() -> None:
    """Fit concrete's strength and draw."""
    table = concrete()
    X = dict(zip(table.names, table.X.T, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AutoRegressor().fit(X, table.y)
        found = evaluate(model, X, table.y, target="strength (MPa)")
    figure = Figure(figsize=(12.6, 3.9), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    ResidualDisplay.from_predictions(found.held.observed, found.held.predicted, y_label="strength (MPa)", ax=left)
    left.set_title("rows that were held out", loc="left")
    CoverageDisplay.from_coverages(found.coverage, ax=middle)
    middle.set_title("do intervals hold?", loc="left")
    next(each for each in found.effects if "age" in each.column).plot(right)
    right.set_title("how a column acts, with its error", loc="left")
    figure.savefig(PLACE, dpi=100)


if __name__ == "__main__":
    main()
