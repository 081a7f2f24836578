"""A picture of matplotlib's as part of a page: no identifiers that clash, colours of the page, a title for readers."""

from __future__ import annotations

import io
import re
from typing import Any
from xml.etree import ElementTree as ET

from mercer.displays.look import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION

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
CELLS = "cells"  # what the cells of a heat map are called
_BROAD = 420  # points from which a picture is not made smaller than can be read
_ZOOM = 1.3  # pixels of the page for a point of the picture


def drawn(figure: Any, key: str, title: str, text: str) -> str:
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
    _without(root, "metadata")
    _without(root, "style")
    for element in root.iter():
        _recoloured(element)
        _rounded(element)
    _renamed(root, key)
    _shared(root)
    _named(root, key, title, text)
    return ET.tostring(root, encoding="unicode")


def _without(root: ET.Element, tag: str) -> None:
    for parent in root.iter():
        for child in [child for child in parent if child.tag == tag]:
            parent.remove(child)


def _recoloured(element: ET.Element) -> None:
    style = element.get("style")
    if style:
        style = _HEX.sub(lambda found: _COLOURS.get(found[0], found[0]), style)
        element.set("style", _FONT.sub(r"font-size: \1px", style))


def _rounded(element: ET.Element) -> None:
    for name in _NUMBERS:
        if name in element.attrib:
            element.set(name, _DIGITS.sub(lambda found: f"{float(found[0]):.2f}", element.attrib[name]))


def _renamed(root: ET.Element, key: str) -> None:
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


def _shared(root: ET.Element) -> None:
    """A style that all children of a group have is the group's: of a thousand points it is most of the file."""
    for group in root.iter("g"):
        styles = {child.get("style") for child in group}
        if len(group) > 2 and len(styles) == 1 and None not in styles and "style" not in group.attrib:
            group.set("style", str(styles.pop()))
            for child in group:
                child.attrib.pop("style")


def _named(root: ET.Element, key: str, title: str, text: str) -> None:
    width, height = (float(size) for size in root.attrib["viewBox"].split()[2:])
    broad = {"class": "broad"} if width > _BROAD else {}
    root.attrib = broad | {
        "viewBox": root.attrib["viewBox"],
        "width": f"{_ZOOM * width:.0f}",
        "height": f"{_ZOOM * height:.0f}",
        "role": "img",
        "aria-labelledby": f"{key}-title {key}-text",
    }
    for place, (tag, words) in enumerate((("title", title), ("desc", text))):
        element = ET.Element(tag, {"id": f"{key}-{'title' if tag == 'title' else 'text'}"})
        element.text = words
        root.insert(place, element)
