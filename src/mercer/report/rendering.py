"""The page: facts, words and pictures put into the template.

Pictures of matplotlib become parts of it: no identifiers that clash, colours of the page, a title for readers.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal
from xml.etree import ElementTree as ET

import numpy as np

from mercer.displays import CoverageDisplay, NestedDisplay, ResidualDisplay, SearchDisplay, look
from mercer.displays.look import BLACK, BLUE, COLOURS, GREY, MAP, STYLES, TURNED, grid_lines, short_kernel
from mercer.insight.intervals import Coverage
from mercer.report.effects import ColumnEffect
from mercer.report.evaluation import ModelEvaluation, SpectrumFact
from mercer.report.facts import CommitteeChoice, SearchChoice
from mercer.report.judging import HeldOutFacts, LabelFacts
from mercer.report.refits import ColumnImportance
from mercer.report.words import estimates, page_file, templates, worries
from mercer.selection.outcome import Outcome
from mercer.text import legible, number, percent

POINTS = 1500  # drawn at most; more make the file large, and hide one another
_BARS = 15
_FOLDS = 30
_APART = 20.0  # times the smallest error: what one axis from 0 can show
CELLS = "cells"  # what the cells of a heat map are called
_FAINTEST = 0.35  # points that can be seen in the dark, too
# Colours that the page sets, so that they can change in the dark.
_COLOURS = {look.BLACK: "currentColor", "#ffffff": "var(--paper)", "#e6e6e6": "var(--line)", "#e5e5e5": "var(--line)"}
_COLOURS |= {
    getattr(look, name.upper()).lower(): f"var(--{name})"
    for name in ("grey", "blue", "vermilion", "green", "purple", "orange", "sky")
}
_HEX = re.compile(r"#[0-9a-f]{6}\b")
_FONT = re.compile(r"font: (?:[a-z]+ )*([0-9.]+)px [^;]*")
_DIGITS = re.compile(r"-?[0-9]+\.[0-9]{3,}")
_NUMBERS = ("d", "x", "y", "transform", "points", "x1", "x2", "y1", "y2", "width", "height")
_LINK = "{http://www.w3.org/1999/xlink}href"
_BROAD = 420  # points from which a picture is not made smaller than can be read
_ZOOM = 1.3  # pixels of the page for a point of the picture
_ROWS = 100  # of a table; more are counted
_LOOKED_AT = 5  # rows whose removal changes the error most


def page(facts: ModelEvaluation) -> str:
    """The whole report as HTML; every text that came from outside is escaped."""
    single, template = facts.single_rows, templates().get_template("report.html.jinja")
    shown = {"facts": facts, "worries": worries(facts), "pictures": pictures(facts), "estimates": estimates(facts)}
    rows = [] if single is None else single.order[:_LOOKED_AT].tolist()
    return str(template.render(shown, style=page_file("report.css"), most=_ROWS, rows_to_look_at=rows))


def pictures(facts: ModelEvaluation) -> dict[str, dict[str, str]]:
    """All pictures that these facts have something for, by name, each with the sentence below it."""
    from matplotlib import style

    own = {"svg.fonttype": "none", "svg.hashsalt": "mercer", "font.size": 10.0, "axes.unicode_minus": True}
    drawings = {}
    with warnings.catch_warnings(), style.context(["default", own]):
        # letters that the measuring font lacks are the browser's business, and layout is best effort
        warnings.simplefilter("ignore", UserWarning)
        for name, (title, what, draw) in DRAWERS.items():
            shown = getattr(facts, what)
            if shown and (drawing := draw(facts, shown)):
                figure, caption = drawing
                drawings[name] = {"svg": as_svg(figure, f"picture-{name}", title, caption), "caption": caption}
    return drawings


def as_svg(figure: Any, key: str, title: str, text: str) -> str:
    """A figure as an element of a page.

    Parameters
    ----------
    figure : matplotlib Figure
        What to draw.
    key : str
        What identifiers begin with; one for each picture of a page.
    title, text : str
        What it is, and what can be seen, for those who cannot see it.

    Returns
    -------
    str
        `<svg ...>...</svg>`, text in it escaped.
    """
    file = io.StringIO()
    figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    root = ET.fromstring(file.getvalue())  # noqa: S314 - written a line above
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    for parent in root.iter():
        for child in [child for child in parent if child.tag in ("metadata", "style")]:
            parent.remove(child)
    for element in root.iter():
        element.attrib |= {name: _as_on_the_page(name, value) for name, value in element.attrib.items()}
    _rename_ids(root, key)
    _share_styles(root)
    _add_title(root, key, title, text)
    return ET.tostring(root, encoding="unicode")


def _as_on_the_page(name: str, value: str) -> str:
    """An attribute with the colours and the font of the page, and numbers of two decimals."""
    if name == "style":
        value = _HEX.sub(lambda found: _COLOURS.get(found[0], found[0]), value)
        return _FONT.sub(r"font-size: \1px", value)
    return _DIGITS.sub(lambda found: f"{float(found[0]):.2f}", value) if name in _NUMBERS else value


def _rename_ids(root: ET.Element, key: str) -> None:
    """Identifiers that are referred to get the key in front; others go."""
    text = " ".join(value for element in root.iter() for value in element.attrib.values() if "#" in value)
    needed = set(re.findall(r"#([A-Za-z][\w.-]*)", text))
    for element in root.iter():
        if _LINK in element.attrib:
            element.set("href", element.attrib.pop(_LINK))
        own = element.get("id", "")
        if own in needed:
            element.set("id", f"{key}-{own}")
        elif element.attrib.pop("id", None) == CELLS:
            element.set("class", CELLS)  # drawn without the seams that smoothing leaves
        for name in ("clip-path", "href"):
            if name in element.attrib:
                element.set(name, re.sub(r"#([\w.-]+)", rf"#{key}-\1", element.attrib[name]))


def _share_styles(root: ET.Element) -> None:
    """A style that all children of a group have is the group's: of a thousand points it is most of the file."""
    for group in root.iter("g"):
        styles = {child.get("style") for child in group}
        if len(group) > 2 and len(styles) == 1 and None not in styles and "style" not in group.attrib:
            group.set("style", str(styles.pop()))
            for child in group:
                child.attrib.pop("style")


def _add_title(root: ET.Element, key: str, title: str, text: str) -> None:
    width, height = (float(size) for size in root.attrib["viewBox"].split()[2:])
    broad = {"class": "broad"} if width > _BROAD else {}
    size = {"width": f"{_ZOOM * width:.0f}", "height": f"{_ZOOM * height:.0f}"}
    names = {"role": "img", "aria-labelledby": f"{key}-title {key}-text"}
    root.attrib = broad | {"viewBox": root.attrib["viewBox"]} | size | names
    for place, (tag, name, content) in enumerate((("title", "title", title), ("desc", "text", text))):
        root.insert(place, ET.Element(tag, {"id": f"{key}-{name}"}))
        root[place].text = content


# -- pictures ---------------------------------------------------------------------------------------

Drawing = tuple[Any, str]  # the figure, and what can be seen


def _axes(width: float, height: float, grid: Literal["both", "x", "y"] | None = None) -> Any:
    """Axes of a figure that no window knows of, in the style of displays."""
    from matplotlib.figure import Figure

    ax = Figure(figsize=(width, height), layout="constrained").subplots()
    if grid is not None:
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_axisbelow(True)
        grid_lines(ax, grid)
    return ax


def _axes_of_shares(x: str, y: str) -> Any:
    ax = _axes(4.9, 4.5, "both")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal", xlabel=x, ylabel=y)
    return ax


def plain(name: str, most: int = 28) -> str:
    r"""A name as matplotlib takes it: no mathematics between dollars.

    >>> plain("cost in $ or $")
    'cost in \\$ or \\$'
    """
    return legible(name, most).replace("$", r"\$")


def _surface(_: ModelEvaluation, choice: SearchChoice | CommitteeChoice) -> Drawing | None:
    if not isinstance(choice, SearchChoice) or choice.search is None:
        return None
    ax = _axes(max(6.0, min(9.0, 2.8 + 0.35 * choice.kernels)), 4.6)
    SearchDisplay.from_estimator(choice.search, ax=ax)
    ax.collections[0].set_gid(CELLS)
    return ax.figure, (
        f"Scores of {choice.kernels} kernels and {choice.alphas} alphas. The star is the best candidate, "
        f"{choice.kernel} with alpha {choice.alpha}; inside the outline are the {choice.close} within one standard "
        "error of the best."
    )


def _estimates(facts: ModelEvaluation, outcome: Outcome) -> Drawing:
    found, measure, spread = estimates(facts), outcome.measure, outcome.error_standard_error
    ax = _axes(6.4, 0.9 + 0.42 * len(found), "x")
    places, scale = np.arange(len(found)), 100.0 if measure.share else 1.0
    colours = [BLUE if each.quoted else GREY for each in found]
    values = np.array([scale * each.value for each in found])
    apart = values.min() > 0 and values.max() > _APART * values.min()
    if apart:  # bars from 0 would hide all but the longest
        ax.scatter(values, places, color=colours, s=60)
        ax.set_xscale("log")
        ax.margins(x=0.08, y=0.2)
    else:
        ax.barh(places, values, color=colours, height=0.6)
    if np.isfinite(spread):
        quoted = [place for place, each in enumerate(found) if each.quoted]
        ax.errorbar([outcome.error * scale], quoted, xerr=[spread * scale], color=BLACK, capsize=4, linewidth=1.5)
    ax.set_yticks(places, [each.name for each in found])
    ax.invert_yaxis()
    name = f"{measure.name} of {facts.data.target}" if measure.smaller_is_better else measure.name
    ax.set_xlabel("% of labels wrong" if measure.share else plain(name, 70))
    shape = "points to the left" if apart else "shorter bars"
    better = f"{shape} are better" if measure.smaller_is_better else "larger scores are better"
    return ax.figure, f"{'; '.join(f'{each.name}: {each.text}' for each in found)} ({better})."


def _outer_folds(_: ModelEvaluation, result: Outcome) -> Drawing | None:
    if result.inner_scores is None or result.scores.size < 2:
        return None
    chosen = result.chosen if len(result.chosen) == result.scores.size else []
    texts = [plain(f"{short_kernel(each['kernel'])}, alpha {each['alpha']:.3g}", 60) for each in chosen[:_FOLDS]]
    ax = _axes(7.2, 1.7 + 0.26 * min(result.scores.size, _FOLDS))
    inner, outer = result.inner_scores.ravel()[:_FOLDS], result.scores.ravel()[:_FOLDS]
    NestedDisplay(outer, inner, texts, plain(result.scoring, 50)).plot(ax)
    return ax.figure, (
        "The best candidate of each outer fold (kernel, alpha), the inner score (squares) and the outer score (dots). "
        "Inner scores come from fewer training rows, so they can be worse."
    )


def _against(facts: ModelEvaluation, held: HeldOutFacts, kind: str) -> Drawing:
    """Observed or residual against predicted, a part of many rows."""
    some, part, target = np.arange(len(held.rows)), "", facts.data.target
    if len(some) > POINTS:
        some = np.sort(np.random.default_rng(0).permutation(len(some))[:POINTS])
        part = f" {POINTS} of {len(held.rows)} rows are shown."
    ax = _axes(4.9, 4.5)
    ResidualDisplay.from_predictions(held.observed[some], held.predicted[some], kind=kind, y_label=plain(target), ax=ax)
    ax.set_title("", loc="left")
    ax.lines[0].set_alpha(max(float(ax.lines[0].get_alpha()), _FAINTEST))
    if kind == "observed":
        return ax.figure, f"Observed against predicted {legible(target)}; on the dashed line they agree.{part}"
    return ax.figure, (
        f"Residual (observed minus predicted) against predicted {legible(target)}; a visible pattern means the model "
        f"missed something.{part}"
    )


def _confusion(_: ModelEvaluation, labels: LabelFacts) -> Drawing:
    names, matrix = [plain(name, 16) for name in labels.names], labels.matrix
    size, middles = min(7.0, 3.4 + 0.42 * len(names)), np.arange(len(names)) + 0.5
    ax = _axes(size, size - 0.5)
    share = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    ax.pcolormesh(share, cmap=MAP, vmin=0.0, vmax=1.0).set_gid(CELLS)
    for (i, j), count in np.ndenumerate(matrix):
        # fixed colours, since the ground below is the same in the light and in the dark
        colour = "#fffffe" if share[i, j] < 0.6 else "#000001"
        ax.text(j + 0.5, i + 0.5, str(int(count)), ha="center", va="center", color=colour)
    ax.set_xticks(middles, names, **(TURNED if max(map(len, names)) > 6 else {}))
    ax.set_yticks(middles, names)
    ax.invert_yaxis()
    ax.set(aspect="equal", xlabel="predicted", ylabel="observed")
    right = f"{int(np.trace(matrix))} of {int(matrix.sum())} are correct"
    return ax.figure, f"Confusion matrix: rows by observed and predicted label; {right}."


def _calibration(_: ModelEvaluation, labels: LabelFacts) -> Drawing:
    found = labels.calibration
    ax = _axes_of_shares(f"probability of {plain(found.of)}", "observed frequency")
    ax.plot([0, 1], [0, 1], "--", color=BLACK, linewidth=1.2, label="perfectly calibrated")
    spread = np.sqrt(np.maximum(found.seen * (1 - found.seen), 0.25 / found.rows) / found.rows)
    bars = {"color": BLUE, "markersize": 5, "linewidth": 1.6, "elinewidth": 1.0}
    ax.errorbar(found.said, found.seen, yerr=spread, fmt="-o", label=f"observed, {int(found.rows.sum())} rows", **bars)
    ax.legend(frameon=False, loc="upper left")
    return ax.figure, (
        f"Held-out probabilities of {legible(found.of)} in bins of equally many rows; mean calibration error "
        f"{percent(found.gap)}."
    )


def _coverage(_: ModelEvaluation, coverages: Sequence[Coverage]) -> Drawing:
    ax = _axes(4.9, 4.5)
    CoverageDisplay.from_coverages(coverages, ax=ax)
    shares = ", ".join(f"{100 * each.confidence:.0f} %: {percent(float(each))}" for each in coverages[-3:])
    return ax.figure, f"Coverage of the intervals on held-out targets, by nominal confidence ({shares})."


def _spectrum(_: ModelEvaluation, spectrum: SpectrumFact) -> Drawing:
    ax = _axes(6.2, 3.8)
    spectrum.display.plot(ax)
    left = "" if spectrum.degrees is None else f"; {spectrum.degrees:.3g} effective degrees of freedom"
    return ax.figure, f"Eigenvalues of the kernel matrix of {spectrum.rows} rows{left}."


def _influence(facts: ModelEvaluation, influence: Sequence[ColumnImportance]) -> Drawing:
    shown, first, labels = influence[:_BARS], influence[0], facts.labels is not None
    ax = _axes(6.4, 1.0 + 0.32 * len(shown), "x")
    places, scale = np.arange(len(shown)), 100.0 if labels else 1.0
    rises, spreads = (scale * np.array([getattr(each, name) for each in shown]) for name in ("rise", "standard_error"))
    ax.barh(places, rises, color=[BLUE if each else GREY for each in rises > 2 * spreads], height=0.6)
    ax.errorbar(rises, places, xerr=spreads, fmt="none", ecolor=BLACK, elinewidth=1.4, capsize=3)
    ax.set_yticks(places, [plain(each.name) for each in shown])
    ax.invert_yaxis()
    ax.axvline(0.0, color=BLACK, linewidth=0.8)
    what = "increase in % of labels wrong" if labels else f"increase of the error of {facts.data.target}"
    ax.set_xlabel(f"{plain(what, 60)} when permuted")
    rise = f"{100 * first.rise:.1f} percentage points" if labels else number(first.rise)
    return ax.figure, (
        "Columns by permutation importance, with standard errors (grey: not significant); permuting "
        f"{legible(first.name)} increases the error by {rise}."
    )


def _effects(_: ModelEvaluation, shown: Sequence[ColumnEffect]) -> Drawing:
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
    return figure, " ".join(map(str, shown))


def _roc(_: ModelEvaluation, labels: LabelFacts) -> Drawing | None:
    ax = _axes_of_shares("share of other labels above the threshold", "share of the label above the threshold")
    for each, line in zip(labels.curves, _LINES, strict=False):
        ax.plot(each.false, each.found, label=plain(each.label, 20), **line)
    ax.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1.2, label="guessing")
    ax.legend(frameon=False, loc="lower right")
    areas = ", ".join(f"{legible(each.label)} {each.area:.3f}" for each in labels.curves)
    return (ax.figure, f"Area under the ROC curve: {areas}; guessing gives 0.5.") if labels.curves else None


def _recall(_: ModelEvaluation, labels: LabelFacts) -> Drawing | None:
    ax = _axes_of_shares("recall", "precision")
    for each, line in zip(labels.curves, _LINES, strict=False):
        ax.plot(each.recall, each.precision, drawstyle="steps-post", label=plain(each.label, 20), **line)
    ax.legend(frameon=False, loc="lower left")
    means = ", ".join(f"{legible(each.label)} {each.average_precision:.3f}" for each in labels.curves)
    shares = ", ".join(f"{each.share:.3f}" for each in labels.curves)
    return (ax.figure, f"Average precision: {means}. Guessing gives {shares}.") if labels.curves else None


_LINES = [{"color": c, "linestyle": s, "linewidth": 1.8} for c, s in zip(COLOURS, STYLES, strict=True)]

# The title of each picture, the attribute of an evaluation that it shows, and the function that draws it.
DRAWERS: dict[str, tuple[str, str, Callable[[ModelEvaluation, Any], Drawing | None]]] = {
    "surface": ("Scores of all candidates", "choice", _surface),
    "estimates": ("Error estimates", "outcome", _estimates),
    "nested": ("Outer folds", "outcome", _outer_folds),
    "observed": ("Predicted and observed", "held", partial(_against, kind="observed")),
    "residuals": ("Residuals", "held", partial(_against, kind="residuals")),
    "confusion": ("Confusion matrix", "labels", _confusion),
    "calibration": ("Calibration curve", "labels", _calibration),
    "coverage": ("Interval coverage", "coverage", _coverage),
    "spectrum": ("Spectrum", "spectrum", _spectrum),
    "influence": ("Importance of columns", "influence", _influence),
    "effects": ("Effects of columns", "effects", _effects),
    "roc": ("ROC curve", "labels", _roc),
    "recall": ("Precision and recall", "labels", _recall),
}
