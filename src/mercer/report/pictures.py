"""The pictures of a report, drawn by mercer's displays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.displays import CoverageDisplay, NestedDisplay, ResidualDisplay, SearchDisplay
from mercer.displays.look import BLACK, BLUE, COLOURS, GREY, MAP, STYLES, TURNED, grid_lines, label_axes, short_kernel
from mercer.report.evaluation import ModelEvaluation
from mercer.report.facts import SearchChoice
from mercer.report.words import estimates
from mercer.text import legible, number, percent

POINTS = 1500  # drawn at most; more make the file large, and hide one another
_BARS = 15
_FOLDS = 30
_APART = 20.0  # times the smallest error: what one axis from 0 can show
CELLS = "cells"  # what the cells of a heat map are called
_FAINTEST = 0.35  # points that can be seen in the dark, too


Drawing = tuple[Any, str, str]


def _axes(width: float, height: float) -> Any:
    """Axes of a figure that no window knows of."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").subplots()


def plain(name: str, most: int = 28) -> str:
    r"""A name as matplotlib takes it: no mathematics between dollars.

    >>> plain("cost in $ or $")
    'cost in \\$ or \\$'
    """
    return legible(name, most).replace("$", r"\$")


def _surface(facts: ModelEvaluation) -> Drawing | None:
    choice = facts.choice
    if not isinstance(choice, SearchChoice) or choice.search is None:
        return None
    ax = _axes(max(6.0, min(9.0, 2.8 + 0.35 * choice.kernels)), 4.6)
    SearchDisplay.from_estimator(choice.search, ax=ax)
    ax.collections[0].set_gid(CELLS)
    text = (
        f"Scores of {choice.kernels} kernels and {choice.alphas} alphas. The star is the best candidate, "
        f"{choice.kernel} with alpha {choice.alpha}; inside the outline are the {choice.close} within one standard "
        "error of the best."
    )
    return ax.figure, "Scores of all candidates", text


def _estimates(facts: ModelEvaluation) -> Drawing:
    found, outcome = estimates(facts), facts.outcome
    ax = _axes(6.4, 0.9 + 0.42 * len(found))
    grid_lines(ax, "x")
    places = np.arange(len(found))
    scale = 100.0 if outcome.measure.share else 1.0
    colours = [BLUE if each.quoted else GREY for each in found]
    values = np.array([scale * each.value for each in found])
    apart = values.min() > 0 and values.max() > _APART * values.min()
    if apart:  # bars from 0 would hide all but the longest
        ax.scatter(values, places, color=colours, s=60)
        ax.set_xscale("log")
        ax.margins(x=0.08, y=0.2)
    else:
        ax.barh(places, values, color=colours, height=0.6)
    if np.isfinite(outcome.error_standard_error):
        quoted = [place for place, each in enumerate(found) if each.quoted]
        spread = outcome.error_standard_error * scale
        ax.errorbar([outcome.error * scale], quoted, xerr=[spread], color=BLACK, capsize=4, linewidth=1.5)
    ax.set_yticks(places, [each.name for each in found])
    ax.invert_yaxis()
    _bare(ax)
    label_axes(ax, "% of labels wrong" if outcome.measure.share else plain(_of_target(facts), 70), "")
    shape = "points to the left" if apart else "shorter bars"
    better = f"{shape} are better" if outcome.measure.smaller_is_better else "larger scores are better"
    said = "; ".join(f"{each.name}: {each.text}" for each in found)
    return ax.figure, "Error estimates", f"{said} ({better})."


def _of_target(facts: ModelEvaluation) -> str:
    measure = facts.outcome.measure
    return f"{measure.name} of {facts.data.target}" if measure.smaller_is_better else measure.name


def _bare(ax: Any) -> None:
    """Style the axes as displays do: no frame on top and to the right, lines below what is drawn."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)


def _outer_folds(facts: ModelEvaluation) -> Drawing | None:
    result = facts.outcome
    if result.inner_scores is None or result.scores.size < 2:
        return None
    several = len(result.chosen) == result.scores.size
    count = min(result.scores.size, _FOLDS)
    texts = (
        [plain(f"{short_kernel(each['kernel'])}, alpha {each['alpha']:.3g}", 60) for each in result.chosen]
        if several
        else []
    )
    ax = _axes(7.2, 1.7 + 0.26 * count)
    inner, outer = result.inner_scores.ravel()[:count], result.scores.ravel()[:count]
    NestedDisplay(outer, inner, texts[:count], plain(result.scoring, 50)).plot(ax)
    text = (
        "The best candidate of each outer fold (kernel, alpha), the inner score (squares) and the outer score (dots). "
        "Inner scores come from fewer training rows, so they can be worse."
    )
    return ax.figure, "Outer folds", text


def _points(facts: ModelEvaluation) -> tuple[Any, Any, str]:
    """Observed and predicted, a part of many."""
    held = facts.held
    assert held is not None  # noqa: S101 - asked for by pictures of numbers alone
    if len(held.rows) <= POINTS:
        return held.observed, held.predicted, ""
    some = np.sort(np.random.default_rng(0).permutation(len(held.rows))[:POINTS])
    return held.observed[some], held.predicted[some], f" {POINTS} of {len(held.rows)} rows are shown."


def _against(facts: ModelEvaluation, kind: str) -> Drawing | None:
    if facts.held is None:
        return None
    observed, predicted, part = _points(facts)
    ax = _axes(4.9, 4.5)
    ResidualDisplay.from_predictions(observed, predicted, kind=kind, y_label=plain(facts.data.target), ax=ax)
    ax.set_title("", loc="left")
    ax.lines[0].set_alpha(max(float(ax.lines[0].get_alpha()), _FAINTEST))
    if kind == "observed":
        text = f"Observed against predicted {legible(facts.data.target)}; on the dashed line they agree.{part}"
        return ax.figure, "Predicted and observed", text
    text = (
        f"Residual (observed minus predicted) against predicted {legible(facts.data.target)}; a visible pattern means "
        f"the model missed something.{part}"
    )
    return ax.figure, "Residuals", text


def _confusion(facts: ModelEvaluation) -> Drawing | None:
    if facts.labels is None:
        return None
    names, matrix = [plain(name, 16) for name in facts.labels.names], facts.labels.matrix
    many = len(names)
    size = min(7.0, 3.4 + 0.42 * many)
    ax = _axes(size, size - 0.5)
    share = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    ax.pcolormesh(share, cmap=MAP, vmin=0.0, vmax=1.0).set_gid(CELLS)
    for i in range(many):
        for j in range(many):
            # fixed colours, since the ground below is the same in the light and in the dark
            colour = "#fffffe" if share[i, j] < 0.6 else "#000001"
            ax.text(j + 0.5, i + 0.5, str(int(matrix[i, j])), ha="center", va="center", color=colour)
    ax.set_xticks(np.arange(many) + 0.5, names, **(TURNED if max(map(len, names)) > 6 else {}))
    ax.set_yticks(np.arange(many) + 0.5, names)
    ax.invert_yaxis()
    ax.set_aspect("equal")
    label_axes(ax, "predicted", "observed")
    right = int(np.trace(matrix))
    text = f"Confusion matrix: rows by observed and predicted label; {right} of {int(matrix.sum())} are correct."
    return ax.figure, "Confusion matrix", text


def _calibration(facts: ModelEvaluation) -> Drawing | None:
    if facts.labels is None:
        return None
    found = facts.labels.calibration
    ax = _axes(4.9, 4.5)
    grid_lines(ax)
    ax.plot([0, 1], [0, 1], "--", color=BLACK, linewidth=1.2, label="perfectly calibrated")
    spread = np.sqrt(np.maximum(found.seen * (1 - found.seen), 0.25 / found.rows) / found.rows)
    bars = {"color": BLUE, "markersize": 5, "linewidth": 1.6, "elinewidth": 1.0}
    ax.errorbar(found.said, found.seen, yerr=spread, fmt="-o", label=f"observed, {int(found.rows.sum())} rows", **bars)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set_aspect("equal")
    _bare(ax)
    label_axes(ax, f"probability of {plain(found.of)}", "observed frequency")
    ax.legend(frameon=False, loc="upper left")
    off = percent(found.gap)
    text = f"Held-out probabilities of {legible(found.of)} in bins of equally many rows; mean calibration error {off}."
    return ax.figure, "Calibration curve", text


def _coverage(facts: ModelEvaluation) -> Drawing | None:
    if not facts.coverage:
        return None
    ax = _axes(4.9, 4.5)
    CoverageDisplay.from_coverages(facts.coverage, ax=ax)
    shares = ", ".join(f"{100 * each.confidence:.0f} %: {percent(float(each))}" for each in facts.coverage[-3:])
    return (
        ax.figure,
        "Interval coverage",
        f"Coverage of the intervals on held-out targets, by nominal confidence ({shares}).",
    )


def _spectrum(facts: ModelEvaluation) -> Drawing | None:
    if facts.spectrum is None:
        return None
    ax = _axes(6.2, 3.8)
    facts.spectrum.display.plot(ax)
    degrees = facts.spectrum.degrees
    said = "" if degrees is None else f"; {degrees:.3g} effective degrees of freedom"
    return ax.figure, "Spectrum", f"Eigenvalues of the kernel matrix of {facts.spectrum.rows} rows{said}."


def _influence(facts: ModelEvaluation) -> Drawing | None:
    shown = facts.influence[:_BARS]
    if not shown:
        return None
    scale = 100.0 if facts.labels is not None else 1.0
    ax = _axes(6.4, 1.0 + 0.32 * len(shown))
    grid_lines(ax, "x")
    places = np.arange(len(shown))
    rises, spreads = (scale * np.array([getattr(each, name) for each in shown]) for name in ("rise", "standard_error"))
    sure = rises > 2 * spreads
    ax.barh(places, rises, color=[BLUE if each else GREY for each in sure], height=0.6)
    ax.errorbar(rises, places, xerr=spreads, fmt="none", ecolor=BLACK, elinewidth=1.4, capsize=3)
    ax.set_yticks(places, [plain(each.name) for each in shown])
    ax.invert_yaxis()
    ax.axvline(0.0, color=BLACK, linewidth=0.8)
    _bare(ax)
    rise = (
        "increase in % of labels wrong" if facts.labels is not None else f"increase of the error of {facts.data.target}"
    )
    label_axes(ax, f"{plain(rise, 60)} when permuted", "")
    first = shown[0]
    rise = f"{100 * first.rise:.1f} percentage points" if facts.labels is not None else number(first.rise)
    text = (
        "Columns by permutation importance, with standard errors (grey: not significant); permuting "
        f"{legible(first.name)} increases the error by {rise}."
    )
    return ax.figure, "Importance of columns", text


def _effects(facts: ModelEvaluation) -> Drawing | None:
    shown = facts.effects
    if not shown:
        return None
    from matplotlib.figure import Figure

    across = min(2, len(shown))
    down = -(-len(shown) // across)
    figure = Figure(figsize=(4.0 * across, 3.0 * down), layout="constrained")
    axes = np.atleast_1d(figure.subplots(down, across)).ravel()
    for ax, effect in zip(axes, shown, strict=False):
        effect.plot(ax)
        ax.set_ylabel("")
    for ax in axes[len(shown) :]:
        ax.set_axis_off()
    figure.supylabel(f"change of {plain(shown[0].of, 50)}", fontsize="medium")
    return figure, "Effects of columns", " ".join(str(each) for each in shown)


def _ranking(facts: ModelEvaluation, kind: str) -> Drawing | None:
    if facts.labels is None or not facts.labels.curves:
        return None
    ax = _axes(4.9, 4.5)
    grid_lines(ax)
    said = []
    for place, each in enumerate(facts.labels.curves):
        number = each.area if kind == "roc" else each.average_precision
        across, up = (each.false, each.found) if kind == "roc" else (each.recall, each.precision)
        line = {"color": COLOURS[place], "linestyle": STYLES[place], "linewidth": 1.8}
        ax.plot(across, up, drawstyle="default" if kind == "roc" else "steps-post", label=plain(each.label, 20), **line)
        said.append(f"{legible(each.label)} {number:.3f}")
    if kind == "roc":
        ax.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1.2, label="guessing")
        label_axes(ax, "share of other labels above the threshold", "share of the label above the threshold")
        title, text = "ROC curve", f"Area under the ROC curve: {', '.join(said)}; guessing gives 0.5."
    else:
        label_axes(ax, "recall", "precision")
        title, text = "Precision and recall", f"Average precision: {', '.join(said)}."
        text += f" Guessing gives {', '.join(f'{each.share:.3f}' for each in facts.labels.curves)}."
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set_aspect("equal")
    _bare(ax)
    ax.legend(frameon=False, loc="lower right" if kind == "roc" else "lower left")
    return ax.figure, title, text


DRAWERS: dict[str, Callable[[ModelEvaluation], Drawing | None]] = {
    "surface": _surface,
    "estimates": _estimates,
    "nested": _outer_folds,
    "observed": lambda facts: _against(facts, "observed"),
    "residuals": lambda facts: _against(facts, "residuals"),
    "confusion": _confusion,
    "calibration": _calibration,
    "coverage": _coverage,
    "spectrum": _spectrum,
    "influence": _influence,
    "effects": _effects,
    "roc": lambda facts: _ranking(facts, "roc"),
    "recall": lambda facts: _ranking(facts, "recall"),
}
