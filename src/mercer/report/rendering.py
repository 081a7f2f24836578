"""The page: facts, words and pictures put into the template.

Pictures of matplotlib become parts of it: no identifiers that clash, colours of the page, a title for readers.
"""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import dataclass
from importlib.resources import files
from typing import Any
from xml.etree import ElementTree as ET

from mercer.displays.look import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from mercer.errors import MercerError
from mercer.report import words
from mercer.report.evaluation import ModelEvaluation
from mercer.report.facts import CommitteeChoice
from mercer.report.pictures import CELLS, DRAWERS
from mercer.report.worries import worries
from mercer.text import legible, number, percent, tie_percent

# Colours that the page sets, so that they can change in the dark.
_COLOURS = {
    BLACK: "currentColor",
    "#ffffff": "var(--paper)",
    "#e6e6e6": "var(--line)",
    "#e5e5e5": "var(--line)",
    GREY: "var(--grey)",
    BLUE: "var(--blue)",
    VERMILION: "var(--vermilion)",
    GREEN: "var(--green)",
    PURPLE: "var(--purple)",
    ORANGE: "var(--orange)",
    SKY: "var(--sky)",
}
_COLOURS = {colour.lower(): there for colour, there in _COLOURS.items()}
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
    worried = worries(facts)
    drawings = pictures(facts)
    return str(
        _template().render(
            facts=facts,
            style=_text("report.css"),
            title=words.title(facts),
            summary=words.summary(facts, worried),
            worries=worried,
            pictures=drawings,
            data_words=words.data_words(facts),
            choice_words=words.choice_words(facts),
            estimates=words.estimates(facts),
            optimism_words=words.optimism_words(facts),
            held_out_words=words.held_out_words(facts),
            calibration_words=words.calibration_words(facts),
            coverage_words=words.coverage_words(facts),
            spectrum_words=words.spectrum_words(facts),
            influence_words=words.influence_words(facts),
            committee=isinstance(facts.choice, CommitteeChoice),
            most=_ROWS,
            rows_to_look_at=[] if facts.single_rows is None else facts.single_rows.order[:_LOOKED_AT].tolist(),
        )
    )


def _template() -> Any:
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ModuleNotFoundError:  # pragma: no cover - the tests have it
        raise MercerError("A report needs jinja2. Install it with: pip install 'mercer[cli]'.") from None
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "legible": legible,
        "number": number,
        "percent": percent,
        "markup": Markup,
        "tie_percent": tie_percent,
    }
    return environment.from_string(_text("report.html.jinja"))


def _text(name: str) -> str:
    return files("mercer.report").joinpath("page", name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Picture:
    """A drawing and the sentence below it."""

    svg: str
    caption: str


def pictures(facts: ModelEvaluation) -> dict[str, Picture]:
    """All pictures that these facts have something for, by name."""
    from matplotlib import style

    own = {"svg.fonttype": "none", "svg.hashsalt": "mercer", "font.size": 10.0, "axes.unicode_minus": True}
    drawings = {}
    with warnings.catch_warnings(), style.context(["default", own]):
        # letters that the measuring font lacks are the browser's business, and layout is best effort
        warnings.simplefilter("ignore", UserWarning)
        for name, draw in DRAWERS.items():
            drawing = draw(facts)
            if drawing is not None:
                figure, title, caption = drawing
                drawings[name] = Picture(as_svg(figure, f"picture-{name}", title, caption), caption)
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
    _remove(root, "metadata")
    _remove(root, "style")
    for element in root.iter():
        _recolour(element)
        _round_numbers(element)
    _rename_ids(root, key)
    _share_styles(root)
    _add_title(root, key, title, text)
    return ET.tostring(root, encoding="unicode")


def _remove(root: ET.Element, tag: str) -> None:
    for parent in root.iter():
        for child in [child for child in parent if child.tag == tag]:
            parent.remove(child)


def _recolour(element: ET.Element) -> None:
    style = element.get("style")
    if style:
        style = _HEX.sub(lambda found: _COLOURS.get(found[0], found[0]), style)
        element.set("style", _FONT.sub(r"font-size: \1px", style))


def _round_numbers(element: ET.Element) -> None:
    for name in _NUMBERS:
        if name in element.attrib:
            element.set(name, _DIGITS.sub(lambda found: f"{float(found[0]):.2f}", element.attrib[name]))


def _rename_ids(root: ET.Element, key: str) -> None:
    """Identifiers that are referred to get the key in front; others go."""
    text = " ".join(value for element in root.iter() for value in element.attrib.values() if "#" in value)
    needed = set(re.findall(r"#([A-Za-z][\w.-]*)", text))
    for element in root.iter():
        if _LINK in element.attrib:
            element.set("href", element.attrib.pop(_LINK))
        if element.get("id") == CELLS:
            element.set("class", element.attrib.pop("id"))  # drawn without the seams that smoothing leaves
        elif element.get("id") in needed:
            element.set("id", f"{key}-{element.get('id')}")
        else:
            element.attrib.pop("id", None)
        for name, value in list(element.attrib.items()):
            if name == "clip-path":
                element.set(name, re.sub(r"#([\w.-]+)", rf"#{key}-\1", value))
            elif name == "href" and value.startswith("#"):
                element.set(name, f"#{key}-{value[1:]}")


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
    root.attrib = broad | {
        "viewBox": root.attrib["viewBox"],
        "width": f"{_ZOOM * width:.0f}",
        "height": f"{_ZOOM * height:.0f}",
        "role": "img",
        "aria-labelledby": f"{key}-title {key}-text",
    }
    for place, (tag, content) in enumerate((("title", title), ("desc", text))):
        element = ET.Element(tag, {"id": f"{key}-{'title' if tag == 'title' else 'text'}"})
        element.text = content
        root.insert(place, element)
