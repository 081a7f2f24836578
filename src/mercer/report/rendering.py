"""The page: facts, words and pictures put into the template.

Pictures of matplotlib become parts of it: no identifiers that clash, colours of the page, a title for readers.
"""

from __future__ import annotations

import io
import re
import warnings
from typing import Any
from xml.etree import ElementTree as ET

from mercer.displays import look
from mercer.report.evaluation import ModelEvaluation
from mercer.report.pictures import CELLS, DRAWERS
from mercer.report.words import estimates, page_file, templates, worries

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
