"""The noise of real data, where it can be had: from repeated inputs, or from what a smoother leaves over."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mercer.data.checks import as_numbers, check_size, keyword_hints, refuse_not_finite
from mercer.data.rows import Array, Estimator, PerRow, Rows, XLike, YLike
from mercer.errors import InputError, refuse_if, sentence
from mercer.insight.bias_variance import is_smoother, smoother
from mercer.text import Shown


@dataclass(frozen=True, repr=False)
class NoiseEstimate(Shown):
    """An estimate of the standard deviation of the noise; `float` gives it.

    Attributes
    ----------
    value : float
        The estimate, in the units of y.
    standard_error : float
        Its own, if the noise is Gaussian: value / sqrt(2 degrees).
    degrees : float
        Degrees of freedom it rests on.
    how : str
        Where it comes from, and what may be wrong with it.

    Examples
    --------
    >>> from mercer.insight.noise import NoiseEstimate
    >>> print(NoiseEstimate(0.5, 50.0, "repeated inputs"))
    noise about 0.5 +- 0.05 (an estimate from 50 degrees of freedom: repeated inputs)
    """

    value: float
    degrees: float
    how: str

    @property
    def standard_error(self) -> float:
        """Standard error of the value, if the noise is Gaussian."""
        return self.value / math.sqrt(2.0 * self.degrees)

    def __float__(self) -> float:
        """The value."""
        return self.value

    def __str__(self) -> str:
        rests = f"an estimate from {self.degrees:.4g} degrees of freedom: {self.how}"
        return f"noise about {self.value:.4g} +- {self.standard_error:.2g} ({rests})"


@keyword_hints
def noise_estimate(X: XLike, y: YLike, estimator: Estimator = None, *, sample_weight: PerRow = None) -> NoiseEstimate:
    """Estimate the standard deviation of the noise in y, the same for all rows.

    Without an estimator it is taken from rows with equal inputs, whose targets differ by noise alone. With one it is
    the residual variance of a fit, sum of squares / (n - tr(2S - SS')), S being the smoother matrix; whatever the
    fit misses of the truth counts as noise there, so that a smooth fit makes it too large.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows.
    y : array-like of shape (n,)
        Targets.
    estimator : KernelRidge, KernelRidgeCV, a Pipeline that ends in one, or None, default=None
        A search is fitted first, and its `best_estimator_` used; so are transformers of a Pipeline, and these are
        taken as given. None: repeated inputs.
    sample_weight : array-like of shape (n,), default=None
        Weights that the estimator is fitted with.

    Returns
    -------
    NoiseEstimate

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, noise_estimate
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(np.linspace(0.0, 6.0, 40), 2)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=80)
    >>> print(noise_estimate(X, y))
    noise about 0.2635 +- 0.029 (an estimate from 40 degrees of freedom: repeated inputs)
    >>> round(float(noise_estimate(X, y, KernelRidge(alpha=0.1, kernel=Gaussian(1.0)))), 3)
    0.284
    """
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    targets = as_numbers(y)
    if targets is None or targets.ndim != 1:
        raise InputError(sentence("y of noise_estimate", "one finite number per row", f"shape {np.shape(y)}"))
    refuse_not_finite("y of noise_estimate", targets)
    check_size("y of noise_estimate", targets)
    if estimator is None:
        return _from_repeated_inputs(X, targets)
    if isinstance(estimator, Pipeline):
        X = clone(estimator[:-1]).fit_transform(X, targets) if len(estimator) > 1 else X
        estimator = estimator[-1]
    how = "the residuals of a fit; what it misses counts as noise"
    if not is_smoother(estimator) and hasattr(estimator, "kernels"):
        estimator = clone(estimator).fit(X, targets, sample_weight).best_estimator_
        how = "the residuals of the best candidate of a search, selected with the same y"
    must_be = "KernelRidge, KernelRidgeCV, a Pipeline that ends in one, or None"
    refuse_if(not is_smoother(estimator), "The estimator of noise_estimate", must_be, type(estimator).__name__)
    # residual sum of squares over its expectation in units of the noise variance, where the fit has no bias
    model = smoother(estimator, X, targets, None, sample_weight)
    used, rows = model.fitted_.numbers, model.check_rows(X)
    degrees = float(len(used))
    for _, part, S in model.fitted_.shares(Rows(rows.values[used], rows.names)):
        degrees += float(np.vdot(S, S)) - 2.0 * float(S[part].diagonal().sum())
    rest = (targets - model.predict(X))[used]
    what = "The residual degrees of freedom, n - tr(2S - SS') with predictions S y,"
    way_out = "The model interpolates the targets: use a larger alpha."
    refuse_if(degrees < 1e-6 * len(used), what, "positive", f"{degrees:.2g}", way_out)
    return NoiseEstimate(math.sqrt(float(rest @ rest) / degrees), degrees, how)


def _from_repeated_inputs(X: XLike, y: Array) -> NoiseEstimate:
    """Pooled variance within rows of equal inputs."""
    values = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    if values.dtype.kind in "biuf" and values.ndim == 2:
        group = np.asarray(np.unique(values, axis=0, return_inverse=True)[1]).ravel()
    else:
        numbers: dict[object, int] = {}
        keys = [tuple(row) if values.ndim == 2 else row for row in values]
        group = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)
    refuse_if(len(group) != len(y), "y of noise_estimate", f"{len(group)} numbers, one per row", f"{len(y)}")
    counts = np.bincount(group)
    degrees = len(y) - len(counts)
    must_be = "contain duplicate rows when no estimator is given"
    if degrees == 0:
        raise InputError(f"X of noise_estimate must {must_be}; got none. Pass an estimator.")
    rest = y - (np.bincount(group, y) / counts)[group]
    return NoiseEstimate(math.sqrt(float(rest @ rest) / degrees), float(degrees), "repeated inputs")
