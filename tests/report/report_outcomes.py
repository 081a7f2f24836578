"""Outcomes with given predictions, evaluations with a given spectrum, and the sentences of a section."""

import copy
import re
from html import unescape

import numpy as np

from mercer.report.words import templates
from mercer.selection.outcome import Measure, Outcome


def predicting(predicted, error=None):
    """The outcome of a loop that predicted these numbers; with `error` that is what it tells."""
    measure = Measure.of("r2") if error is None else Measure.of("neg_mean_squared_error")
    score = 0.5 if error is None else -(error**2)
    return Outcome(measure, "", np.array([[score]]), score, 0.1, "by hand", predictions=predicted[None])


def replace(facts, **values):
    """A copy with other values; of what is computed when it is first read, nothing is copied."""
    found = copy.copy(facts)
    for name in ("spectrum", "reproduction"):
        vars(found).pop(name, None)
    vars(found).update(values)
    return found


def with_spectrum(facts, spectrum):
    """The evaluation with another spectrum."""
    return replace(facts, spectrum=spectrum)


def told(section, facts, worries=()):
    """The sentences of a section of the report, one text per paragraph."""
    words = templates().get_template("words.jinja").make_module({"facts": facts, "worries": worries})
    return [unescape(text) for text in re.findall("<p>(.*?)</p>", getattr(words, section)(), flags=re.DOTALL)]
