"""Everything that a report says, as values: gathered once, then put into words, pictures and tables."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from mercer.displays import SpectrumDisplay
from mercer.models.records import FileStamp
from mercer.report.data import Origin
from mercer.report.evaluation import ModelEvaluation, evaluated
from mercer.report.refits import sampled
from mercer.report.subject import Subject


@dataclass(frozen=True, eq=False)
class SpectrumFact:
    """Eigenvalues of the kernel on the rows, and the degrees of freedom that alpha leaves.

    Attributes
    ----------
    display : SpectrumDisplay
        The numbers, ready to be drawn.
    degrees : float or None
        Effective degrees of freedom; None without a penalty.
    rows : int
        How many rows it is about.
    what : str
        Whose kernel it is.
    """

    display: SpectrumDisplay
    degrees: float | None
    rows: int
    what: str


@dataclass(frozen=True)
class Reproduction:
    """What it takes to do it again."""

    command: str
    versions: dict[str, str]
    when: str
    seed: str
    digest: str
    digest_of: str


@dataclass(frozen=True, eq=False, repr=False)
class Facts(ModelEvaluation):
    """An evaluation, and what a page shows besides."""

    spectrum: SpectrumFact | None = None
    reproduction: Reproduction | None = None


def gather(subject: Subject, result: Any, origin: Origin) -> Facts:
    """Everything that a report says.

    Parameters
    ----------
    subject : Subject
        The model and its rows.
    result : Evaluation, NestedCrossValidation or None
        The outer loop, if it was run.
    origin : Origin
        Where the table came from.

    Returns
    -------
    Facts
    """
    found = evaluated(subject, result, origin)
    shared = {each.name: getattr(found, each.name) for each in fields(found)}
    return Facts(**shared, spectrum=spectrum_of(subject), reproduction=reproduction_of(subject, origin))


# -- the spectrum ---------------------------------------------------------------------------------


def spectrum_of(subject: Subject) -> SpectrumFact | None:
    """The spectrum of the best candidate, or of the member with the largest weight; on a sample of many rows."""
    if not subject.Z.shape[1]:
        return None
    from matplotlib.figure import Figure

    model, rows, where = subject.model, sampled(subject), Figure().subplots()
    if subject.auto:
        heaviest = int(np.argmax([member.weight for member in model.members_]))
        kernel, alpha = model.members_[heaviest].kernel, float(model.members_[heaviest].alpha)
        what = model.members_[heaviest].name
    else:
        kernel, alpha, what = model.best_kernel_, float(model.alpha_), "the best candidate"
    display = SpectrumDisplay.from_kernel(
        kernel, subject.framed(subject.Z[rows]), alphas=[alpha] if alpha > 0 else [], ax=where
    )
    degrees = float(display.degrees[0]) if alpha > 0 else None
    return SpectrumFact(display, degrees, len(rows), what)


# -- doing it again -------------------------------------------------------------------------------


def reproduction_of(subject: Subject, origin: Origin) -> Reproduction:
    """Command, versions, seed and the digest of the data."""
    stamp = FileStamp.now()
    if origin.path and Path(origin.path).is_file():
        with Path(origin.path).open("rb") as file:
            digest, of = hashlib.file_digest(file, "sha256").hexdigest(), f"the file {origin.name or origin.path}"
    else:
        whole = hashlib.sha256(np.ascontiguousarray(subject.Z).tobytes())
        whole.update("\n".join(map(str, subject.y.tolist())).encode())
        digest, of = whole.hexdigest(), "the rows as numbers, with their targets"
    return Reproduction(origin.command, stamp.versions, stamp.when, str(subject.model.random_state), digest, of)
