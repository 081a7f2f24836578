"""What an automatic fit costs, roughly, before it is made."""

from __future__ import annotations

from mercer.cli.fitting import FitOptions
from mercer.cli.preparing import Prepared
from mercer.estimators.auto_core import FULL_SYSTEMS, fixed_seconds, tuning_seconds
from mercer.runtime import readable
from mercer.runtime.progress import duration

_TUNED_ON = 1200  # rows beyond which widths are tuned on a part
_MEMBERS = 4  # in cells and on landmarks
_USUAL = 0.35  # of the seconds that a time budget is compared with, which are rather too many
_IN_CELLS = 0.75  # the same for members in cells
_MATRICES = 8  # of rows x rows at once while tuning: counted generously, not measured


def fit_seconds(rows: int, columns: int, encoded: int) -> float:
    """Processor seconds of an automatic fit to so many rows, columns that are used, and columns of numbers."""
    return tuning_seconds(rows, columns, encoded) + (_USUAL if rows <= FULL_SYSTEMS else _IN_CELLS) * fixed_seconds(
        rows
    )


def auto_plan(table: Prepared, asked: FitOptions) -> str:
    """What `fit` would do without settings, in words, with time and memory."""
    rows = len(table.target.values)
    tuned, in_cells = min(rows, _TUNED_ON), rows > FULL_SYSTEMS
    folds = asked.folds or 0
    parts = [rows, *([rows * (folds - 1) // max(folds, 1)] * folds)]
    columns, encoded = len(set(table.encoder.groups_)), len(table.encoder.names_out_)
    seconds = sum(fit_seconds(part, columns, encoded) for part in parts)
    if asked.time_budget is not None:
        seconds = min(seconds, 1.2 * asked.time_budget)
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
