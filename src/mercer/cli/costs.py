"""What an automatic fit costs, roughly, before it is made."""

from __future__ import annotations

from mercer.cli.choices import choose_judge
from mercer.cli.fitting import FitOptions
from mercer.cli.preparing import Prepared
from mercer.runtime import readable
from mercer.runtime.progress import duration

# Seconds of one committee, from four fits of the concrete table on one busy thread: 100 rows 1.8, 200 rows 3.4,
# 400 rows 9.9, 1030 rows 23. A rule of thumb and no promise; the plans of searches are held to theirs by a benchmark.
_START, _SCALE, _POWER = 0.5, 1.3, 1.3
_TUNED_ON, _FACTORED = 2000, 12_000  # rows: beyond, widths are tuned on a part, and members fitted by iteration
_MATRICES = 8  # of rows x rows at once while tuning: counted generously, not measured


def auto_plan(table: Prepared, asked: FitOptions) -> str:
    """What `fit` would do without settings, in words, with time and memory."""
    rows = len(table.target.values)
    used, tuned = min(rows, _FACTORED), min(rows, _TUNED_ON)
    folds = choose_judge(rows, asked.folds)
    once = _seconds(tuned) + 160 * (used / 10_000) ** 3 * (rows / used) ** 2
    seconds = once + folds * _seconds(min(tuned, tuned * (folds - 1) // folds)) if folds else once
    if asked.time_budget is not None:
        seconds = min(seconds, 1.2 * asked.time_budget)
    judged = f"everything repeated in {folds} outer folds" if folds else "the error out of fold, part of the fit"
    lines = [
        f"1. Encode {len(table.encoder.columns_)} columns as {len(table.encoder.names_out_)} columns of numbers.",
        f"2. Tune four or five kernels by the gradient of their leave-one-out error on {tuned} rows.",
        "3. Repeat that on two thirds of the rows, three times, and weigh the kernels by what they predict there.",
        f"4. Fit those that matter to all {rows} rows.",
        f"5. Judge: {judged}.",
        f"Time: roughly {duration(seconds)}; a rule of thumb, other tables may take several times as long.",
        f"Memory: roughly {readable(8 * (_MATRICES * tuned**2 + 3 * used**2))}.",
    ]
    return "\n".join(lines)


def _seconds(rows: int) -> float:
    return float(_START + _SCALE * (rows / 100) ** _POWER)
