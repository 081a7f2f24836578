"""The decomposition by Monte Carlo: repeated fits, with standard errors of the draws.

With d_r the deviation of draw r from the truth, bias squared is estimated by the mean of d_r d_s over all pairs of
different draws. Unlike the square of the mean it is unbiased; it can be negative where the bias is nearly zero.
The risk less noise is the mean of d_r^2 and the variance the difference, so that the parts add up to
rounding. A standard error is the spread of what single draws add to an average; that of bias squared has a second
term, without which it would vanish where the bias does.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from mercer.data.rows import Array, Seed
from mercer.errors import InputError, MercerError, sentence
from mercer.insight.bias_variance_result import BiasVariance, Question
from mercer.runtime import promise
from mercer.runtime.progress import Progress

Fitted: TypeAlias = Callable[[Any], Array]


def by_drawing(
    estimator: Any,
    question: Question,
    ladder: Array | None,
    *,
    sampler: Any,
    sample_weight: Any,
    draws: int,
    random_state: Seed,
    verbose: int,
    classifier: bool,
) -> BiasVariance:
    """The decomposition over training sets that are drawn; see `bias_variance`."""
    if not isinstance(draws, numbers.Integral) or isinstance(draws, bool) or draws < 3:
        raise InputError(sentence("draws of bias_variance", "an integer of at least 3", repr(draws)))
    rng = np.random.default_rng(random_state)
    models = [estimator] if ladder is None else [_with_alpha(estimator, alpha) for alpha in ladder]
    source = _Source(question, sampler, sample_weight, classifier=classifier)
    coding = _Coding(question, source.labels(rng)) if classifier else None
    width = 1 if coding is None else len(coding.labels)
    m = len(question.truth_test)
    promise(
        6 * 8 * draws * m * width * len(models),  # deviations, their squares and what each draw adds
        f"Storing the predictions of {draws} draws at {m} rows",
        "Use fewer test rows or draws.",
    )
    found = np.full((len(models), draws, m, width), np.nan)
    progress = Progress("bias_variance", draws, verbose)
    for r in range(draws):
        X, y, weights, test = source.draw(rng)
        for a, model in enumerate(models):
            predicted = _predicted(model, X, y, weights, source.rows(test))
            found[a, r, test] = predicted[:, None] if coding is None else coding.one_hot(predicted)
        progress.step()
    truth = question.truth_test.astype(np.float64)[:, None] if coding is None else coding.probabilities
    noise = question.noise_test.astype(np.float64) ** 2 if coding is None else coding.noise
    found -= truth
    if source.bootstrap:  # an observed target brings its own noise, which is then in the deviations
        return _decomposed(found, noise, ladder, source.label(draws), classifier=classifier, lost=noise)
    return _decomposed(found, noise, ladder, source.label(draws), classifier=classifier, lost=0.0)


def _with_alpha(estimator: Any, alpha: float) -> Any:
    from sklearn.base import clone

    return clone(estimator).set_params(alpha=float(alpha))


def _predicted(estimator: Any, X: Any, y: Array, weights: Array | None, X_test: Any) -> Array:
    from sklearn.base import clone

    model = clone(estimator)
    model = model.fit(X, y) if weights is None else model.fit(X, y, sample_weight=weights)
    found = np.asarray(model.predict(X_test))
    count = X_test.shape[0] if hasattr(X_test, "shape") else len(X_test)
    if found.shape != (count,):
        raise InputError(sentence("Predictions in bias_variance", "one value per row", f"shape {found.shape}"))
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise InputError(sentence("Predictions in bias_variance", "finite", "NaN or infinity"))
    return found


class _Source:
    """Where training sets come from: fresh targets at fixed rows, a sampler, or rows drawn with replacement."""

    def __init__(self, question: Question, sampler: Any, sample_weight: Any, *, classifier: bool) -> None:
        self.question, self.classifier = question, classifier
        self.bootstrap = isinstance(sampler, str)
        self.sampler: Any = None if self.bootstrap else sampler
        if self.bootstrap and classifier and question.noise_test.any():
            raise InputError(
                "noise must be 0 for a classifier with method='bootstrap', because the bootstrap counts label noise as "
                f"bias; got {question.noise_test.max():.3g}. Remove noise, or use method='monte_carlo'."
            )
        self.weights = None if sample_weight is None else np.asarray(sample_weight)
        self.everywhere = np.arange(len(question.truth_test))
        self.classes = None if question.truth is None else np.unique(question.truth)

    def label(self, draws: int) -> str:
        """How the numbers were computed."""
        if self.bootstrap:
            known = "minus the given noise" if self.question.noise_test.any() else "noise included"
            where = "out-of-bag rows" if self.question.same else "the test rows"
            return (
                f"bootstrap of the data ({draws} draws, {where}; bias squared is measured against observed "
                f"targets, {known})"
            )
        what = "targets at the given rows" if self.sampler is None else "training sets"
        return f"Monte Carlo ({draws} draws of {what}, standard errors after +-)"

    def labels(self, rng: np.random.Generator) -> Array:
        """The classes that can be predicted; those of a sampler are the truth's at the test rows and of one draw."""
        seen = [np.unique(self.question.truth_test)]
        if self.classes is not None:
            seen.append(self.classes)
        elif self.sampler is not None:
            seen.append(np.unique(self._sampled(rng)[1]))
        return np.unique(np.concatenate(seen))

    def draw(self, rng: np.random.Generator) -> tuple[Any, Array, Array | None, Array]:
        """X, y, weights, and the test rows that may be predicted."""
        if self.sampler is not None:
            X, y = self._sampled(rng)
            return X, y, None, self.everywhere
        truth, noise = self.question.truth, self.question.noise
        if truth is None or noise is None:  # pragma: no cover - there are only these three sources
            raise MercerError("bias_variance needs truth and noise at X.")
        if self.bootstrap:
            chosen = rng.integers(len(truth), size=len(truth))
            test = np.setdiff1d(self.everywhere, chosen) if self.question.same else self.everywhere
            weights = None if self.weights is None else self.weights[chosen]
            return _part(self.question.X, chosen), truth[chosen], weights, test
        if not self.classifier:
            return self.question.X, truth + noise * rng.normal(size=len(truth)), self.weights, self.everywhere
        return self.question.X, _flipped(truth, noise, self.classes, rng), self.weights, self.everywhere

    def rows(self, test: Array) -> Any:
        """The test rows with these numbers."""
        X = self.question.X_test
        return X if len(test) == len(self.everywhere) else _part(X, test)

    def _sampled(self, rng: np.random.Generator) -> tuple[Any, Array]:
        drawn = self.sampler(rng)
        if not isinstance(drawn, list | tuple) or len(drawn) != 2:
            raise InputError(sentence("The result of sampler", "a pair X, y", type(drawn).__name__))
        return drawn[0], np.asarray(drawn[1])


def _part(X: Any, rows: Array) -> Any:
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, rows)


def _flipped(truth: Array, noise: Array, classes: Array | None, rng: np.random.Generator) -> Array:
    """Labels, each replaced with its probability by one of the others."""
    labels = np.unique(truth) if classes is None else classes
    numbers_of = np.searchsorted(labels, truth)
    shift = rng.integers(1, max(len(labels), 2), size=len(truth))
    wrong = rng.uniform(size=len(truth)) < noise
    return np.asarray(labels[np.where(wrong, (numbers_of + shift) % len(labels), numbers_of)])


class _Coding:
    """Labels as unit vectors, and the truth as their probabilities."""

    def __init__(self, question: Question, labels: Array) -> None:
        self.labels = labels
        noise = question.noise_test.astype(np.float64)[:, None]
        self.probabilities = np.where(
            question.truth_test[:, None] == labels, 1.0 - noise, noise / max(len(labels) - 1, 1)
        )
        self.noise = 0.5 * (1.0 - (self.probabilities**2).sum(axis=1))

    def one_hot(self, predicted: Array) -> Array:
        """A row of zeros with a single one for each label."""
        coded = predicted[:, None] == self.labels
        if not coded.any(axis=1).all():
            strange = predicted[~coded.any(axis=1)][0]
            way_out = "Use test rows of every class."
            got = repr(getattr(strange, "item", lambda: strange)())
            raise InputError(sentence("Every predicted label", "one of the labels in truth", got, way_out))
        return np.asarray(coded, dtype=np.float64)


def _decomposed(d: Array, noise: Array, ladder: Array | None, how: str, *, classifier: bool, lost: Any) -> BiasVariance:
    """From deviations d (alphas x draws x rows x columns); NaN where a row was not predicted."""
    there = ~np.isnan(d[:, :, :, 0])
    count = there.sum(axis=1)
    if (count < 3).any():
        few = int(count.min())
        must_be = "large enough that every row is out of bag at least 3 times"
        got = f"a row that is out of bag {few} times"
        raise InputError(sentence("draws of bias_variance", must_be, got, "Use more draws."))
    half = 0.5 if classifier else 1.0
    d = np.nan_to_num(d, copy=False)
    total, squares = d.sum(axis=1), half * (d**2).sum(axis=(1, 3))
    bias = (half * (total**2).sum(axis=2) - squares) / (count * (count - 1))
    error = squares / count
    standard_errors = _standard_errors(np.sqrt(half) * d, there)
    noises = np.broadcast_to(noise, bias.shape)
    at = slice(None) if ladder is not None else 0
    told = {name: values[at] for name, values in standard_errors.items()}
    loss = "0/1" if classifier else "squared"
    return BiasVariance((bias - lost)[at], (error - bias)[at], noises[at], ladder, told, how, loss)


def _standard_errors(d: Array, there: Array) -> dict[str, Array]:
    """Of the averages over rows, from what each draw adds to them (alphas x draws).

    F is the squared length of the covariance matrix of the rows' predictions over m^2, and z the variance of what
    draws add to bias squared. A square is nearly flat where the mean of the draws happens to meet the truth, so 4 F
    over draws^2 is added for the error of that mean, and 2 F for that of a mean over pairs. Where the bias is nearly
    zero this is about twice too wide, elsewhere the usual error. Squares about the mean of the draws scatter less than
    squares about the true mean: that of the variance is widened for it, by (draws / (draws - 1))^3/2.
    """
    draws, rows = d.shape[1], d.shape[2]
    count = there.sum(axis=1)
    share = (draws / count)[:, None]  # rows that few draws predict count as much as others
    centre = d.sum(axis=1) / count[..., None]
    c = (d - centre[:, None]) * there[..., None]
    near, far = (c**2).sum(axis=3), (d**2).sum(axis=3)
    add_bias = 2.0 * (share * np.einsum("amt,armt->arm", centre, c)).mean(axis=2)
    add_variance = (share * (near - there * (near.sum(axis=1) / count)[:, None])).mean(axis=2)
    add_risk = (share * (far - there * (far.sum(axis=1) / count)[:, None])).mean(axis=2)
    flat = (np.sqrt(share)[..., None] * c).reshape(len(d), draws, -1) / np.sqrt((draws - 1) * rows)
    F = ((flat @ flat.transpose(0, 2, 1)) ** 2).sum(axis=(1, 2))
    return {
        "bias_squared": np.sqrt(add_bias.var(axis=1, ddof=1) / draws + 6.0 * F / draws**2),
        "variance": add_variance.std(axis=1, ddof=1) * draws / (draws - 1) ** 1.5,
        "risk": add_risk.std(axis=1, ddof=1) / np.sqrt(draws),
    }
