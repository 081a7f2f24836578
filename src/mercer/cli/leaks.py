"""Possible target leakage: columns that nearly determine the target, reported by every fit."""

from __future__ import annotations

import shlex

import numpy as np

from mercer.cli.preparing import Prepared
from mercer.errors import printable
from mercer.text import legible

_COLUMNS = 200  # of more the neighbours take longer than the fit does
_NAMED = 4  # columns in a command


def given_away(table: Prepared, target: str) -> list[str]:
    """A warning that names the columns, if there are any.

    The only column of a table is what the model is about, and no leak. Of a table that is read in passes, and of one
    with more columns than can be afforded, nothing is said.
    """
    from mercer.report.alone import NEARLY_ALL, share_alone, some_rows
    from mercer.text import listed

    used = [place for place, column in enumerate(table.encoder.columns_) if column.outputs]
    if table.stream is not None or not 1 < len(used) <= _COLUMNS:
        return []
    rows, owner = some_rows(len(table.target.values)), np.asarray(table.encoder.groups_)
    Z = table.encoder.transform({name: column[rows] for name, column in table.features.items()})
    y, classifier = table.target.values[rows], table.target.task == "classification"
    shares = {place: share_alone(Z[:, owner == place], y, classifier=classifier) for place in used}
    names = [table.encoder.columns_[place].name for place, share in shares.items() if share > NEARLY_ALL]
    if not names:
        return []
    subject = f"column {listed(names)} alone" if len(names) == 1 else f"each of {listed(names)} alone"
    drop = " ".join(f"--drop {shlex.quote(printable(name))}" for name in names[:_NAMED])
    what = legible(target)
    rule = f"Drop columns that were computed from {what}, or are known only after it: {drop}."
    return [f"Possible target leakage: {subject} nearly determines {what}. {rule}"]
