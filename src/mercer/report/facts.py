"""Everything that a report says, as values: gathered once, then put into words, pictures and tables."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.data.rows import Array
from mercer.displays import SpectrumDisplay
from mercer.insight.intervals import Coverage
from mercer.models.records import FileStamp
from mercer.report.choices import CommitteeChoice, SearchChoice, choice_of
from mercer.report.data import Data, Origin, data_of
from mercer.report.judging import Judgement, judge
from mercer.report.labels import LabelFacts, labels_of
from mercer.report.refits import Influence, coverages, influences, refitted, sampled
from mercer.report.subject import Subject


@dataclass(frozen=True, eq=False)
class HeldOutFacts:
    """Targets, what was predicted of them unseen, and the residuals that stand out.

    Attributes
    ----------
    rows : ndarray of int
        Which rows these are, from 0.
    observed, predicted : ndarray
        In the target's unit.
    half, most : float
        Half of the predictions are off by less, nine in ten by less.
    explained : float
        One less the share of the variance that is left.
    outliers : tuple of int
        Places in the arrays, the largest residual first.
    """

    rows: Array
    observed: Array
    predicted: Array
    half: float
    most: float
    explained: float
    outliers: tuple[int, ...]


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


@dataclass(frozen=True, eq=False)
class Facts:
    """All of it."""

    subject: Subject
    data: Data
    judged: Judgement
    choice: SearchChoice | CommitteeChoice
    held: HeldOutFacts | None
    labels: LabelFacts | None
    coverage: tuple[Coverage, ...]
    coverage_how: str
    spectrum: SpectrumFact | None
    influence: tuple[Influence, ...]
    tried_on: int
    parts: int
    reproduction: Reproduction

    @property
    def relevant(self) -> bool:
        """Whether kernels have widths per column that are worth telling."""
        return any(each.relevance is not None for each in self.influence)


def gather(subject: Subject, evaluation: Any, origin: Origin) -> Facts:
    """Everything that a report says.

    Parameters
    ----------
    subject : Subject
        The model and its rows.
    evaluation : Evaluation, NestedCrossValidation or None
        The outer loop, if it was run.
    origin : Origin
        Where the table came from.

    Returns
    -------
    Facts
    """
    judged = judge(subject, evaluation)
    refits = refitted(subject)
    found, how = coverages(subject, refits, judged)
    return Facts(
        subject,
        data_of(subject, origin),
        judged,
        choice_of(subject, judged),
        None if subject.classifier else held_out_of(subject.y, judged.predicted),
        labels_of(subject, judged) if subject.classifier else None,
        tuple(found),
        how,
        spectrum_of(subject),
        tuple(influences(subject, refits, _relevance(subject))) if refits else (),
        sum(len(each.test) for each in refits),
        len(refits),
        reproduction_of(subject, origin),
    )


def _relevance(subject: Subject) -> dict[str, float]:
    """Of committees in which kernels with a width per column have most of the vote."""
    if not subject.auto:
        return {}
    members = subject.model.members_
    own = sum(member.weight for member in members if np.ndim(getattr(member.kernel, "width", 0)))
    return dict(subject.model.relevance()) if own > 0.5 else {}


# -- held-out predictions -------------------------------------------------------------------------


def held_out_of(y: Array, predicted: Array) -> HeldOutFacts:
    """Predictions of unseen rows beside what was observed.

    A residual stands out if it is more than eight times as far from the median as half of them are; of bell-shaped
    ones that is more than five standard deviations.
    """
    rows = np.flatnonzero(np.isfinite(np.asarray(predicted, dtype=np.float64)))
    observed, said = y[rows], np.asarray(predicted, dtype=np.float64)[rows]
    residual = observed - said
    half, most = np.quantile(np.abs(residual), [0.5, 0.9])
    total = float(np.sum((observed - observed.mean()) ** 2))
    explained = 1.0 - float(np.sum(residual**2)) / total if total else 0.0
    off = np.abs(residual - np.median(residual))
    order = np.argsort(-off, kind="stable")
    outliers = tuple(int(i) for i in order if off[i] > 8.0 * max(float(np.median(off)), 1e-300))
    return HeldOutFacts(rows, observed, said, float(half), float(most), explained, outliers if np.median(off) else ())


# -- the spectrum ---------------------------------------------------------------------------------


def spectrum_of(subject: Subject) -> SpectrumFact | None:
    """Of the winner's kernel, or of the member with the largest weight; on a part of many rows."""
    if not subject.Z.shape[1]:
        return None
    from matplotlib.figure import Figure

    model, rows, where = subject.model, sampled(subject), Figure().subplots()
    if subject.auto:
        heaviest = int(np.argmax([member.weight for member in model.members_]))
        kernel, alpha = model.members_[heaviest].kernel, float(model.members_[heaviest].alpha)
        what = model.members_[heaviest].name
    else:
        kernel, alpha, what = model.best_kernel_, float(model.alpha_), "the winner"
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
