"""The page: facts, words and pictures put into the template."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from mercer.errors import MercerError
from mercer.report import estimates, words
from mercer.report.choices import CommitteeChoice
from mercer.report.facts import Facts
from mercer.report.pictures import pictures
from mercer.report.worries import worries
from mercer.text import legible, number, percent, tie_percent

_ROWS = 100  # of a table; more are counted
_LOOKED_AT = 5  # rows whose removal changes the error most


def page(facts: Facts) -> str:
    """The whole report as HTML; every text that came from outside is escaped."""
    worried = worries(facts)
    drawings = pictures(facts)
    return str(
        _template().render(
            facts=facts,
            style=_style(),
            title=words.title(facts),
            summary=words.summary(facts, worried),
            worries=worried,
            pictures=drawings,
            data_words=words.data_words(facts),
            choice_words=words.choice_words(facts),
            estimates=estimates.estimates(facts),
            optimism_words=estimates.optimism_words(facts),
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
    environment.filters |= {"legible": legible, "number": number, "percent": percent}
    environment.filters |= {"drawing": Markup, "tie_percent": tie_percent}
    return environment.from_string(_text("report.html.jinja"))


def _style() -> Any:
    from markupsafe import Markup

    return Markup(_text("report.css"))  # noqa: S704 - our own file


def _text(name: str) -> str:
    return files("mercer.report").joinpath("page", name).read_text(encoding="utf-8")
