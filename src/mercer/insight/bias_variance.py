"""Bias, variance and noise: exact for kernel ridge at a fixed design, by Monte Carlo for everything else.

A kernel ridge prediction is u(x0)'y with weights u(x0) that do not depend on y (equation (12) of docs/derivations has
them). For y = f(X) + noise of standard deviation s the bias at x0 is therefore u(x0)'f(X) - f(x0), and the
variance the sum of (s_i u_i(x0))^2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data.checks import checked_alpha
from mercer.data.rows import Array, Seed
from mercer.errors import InputError, sentence
from mercer.insight.bias_variance_draws import by_drawing
from mercer.insight.bias_variance_result import BiasVariance, Question, ask

_METHODS = ("auto", "exact", "monte_carlo", "bootstrap")


def bias_variance(
    estimator: Any,
    X: Any,
    truth: Any,
    noise: Any,
    *,
    X_test: Any = None,
    alphas: Any = None,
    sample_weight: Any = None,
    method: str = "auto",
    sampler: Any = None,
    draws: int = 200,
    random_state: Seed = None,
    verbose: int = 0,
) -> BiasVariance:
    """Where the expected error of an estimator comes from, when the truth is known.

    The risk at a test row is the expected squared error of predicting a new noisy target there, over training sets:
    bias squared + variance + noise. For a classifier it is the probability of a wrong label, and the parts are those
    of Kohavi and Wolpert, which add up as well.

    Parameters
    ----------
    estimator : estimator
        `KernelRidge` for exact numbers; any other scikit-learn regressor or classifier is fitted again and again.
    X : array-like of shape (n, d)
        Training rows.
    truth : callable, ndarray of shape (n,), or a pair of them
        A function of the rows; or its values at X, and with X_test the pair (at X, at X_test). Labels for classifiers.
        For a bootstrap: the observed targets.
    noise : float, or as truth
        Standard deviation of the targets around the truth; for a classifier, the probability that a label is another
        one than the truth (each of the others alike).
    X_test : array-like of shape (m, d), default=None
        Where the risk is taken. None: at X, with new noise.
    alphas : array-like, default=None
        One row of results for each. None: the alpha of the estimator.
    sample_weight : array-like of shape (n,), default=None
        Weights that the estimator is fitted with.
    method : {"auto", "exact", "monte_carlo", "bootstrap"}, default="auto"
        "auto" is exact for kernel ridge where no sampler is given, otherwise Monte Carlo: new targets at the fixed
        rows X, or whole training sets from `sampler`. "bootstrap" draws rows of the data given with replacement and
        predicts those left out: bias squared is then measured against single observed targets, and holds their
        noise unless `noise` tells how much to subtract; give 0 where it is not known.
    sampler : callable, default=None
        `sampler(rng)` returns a freshly drawn training set (X, y); `truth` and `noise` are then needed at the
        test rows alone.
    draws : int, default=200
        Training sets of the Monte Carlo.
    random_state : int, Generator or None, default=None
        Of the draws.
    verbose : int, default=0
        1: progress. 2: progress with a line for every half second, also in files.

    Returns
    -------
    BiasVariance
        Prints, gives a table, plots.

    See Also
    --------
    mercer.noise_estimate : The noise where it is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, bias_variance
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 6.0, 30)[:, None]
    >>> result = bias_variance(
    ...     KernelRidge(kernel=Gaussian(1.0)), X, lambda X: np.sin(X[:, 0]), 0.3, alphas=[0.01, 0.1, 1.0, 10.0]
    ... )
    >>> print(result)
    Expected squared loss at 30 test rows, exact at the given rows:
    alpha  bias squared  variance  noise    risk
    -----  ------------  --------  -----  ------
     0.01      3.14e-05   0.02402   0.09   0.114
      0.1     0.0004096   0.01803   0.09  0.1084
        1       0.00943   0.01016   0.09  0.1096
       10        0.1616  0.002032   0.09  0.2537
    """
    from sklearn.base import is_classifier

    _check_method(method)
    classifier = bool(is_classifier(estimator))
    exact = method == "exact" or (method == "auto" and sampler is None and is_smoother(estimator))
    _refuse_contradictions(estimator, method, sampler, sample_weight)
    question = ask(X, X_test, truth, noise, classifier=classifier, training=sampler is None)
    ladder = None if alphas is None else _ladder(estimator, alphas)
    if exact:
        return _exact(estimator, question, ladder, sample_weight)
    return by_drawing(
        estimator,
        question,
        ladder,
        sampler="bootstrap" if method == "bootstrap" else sampler,
        sample_weight=sample_weight,
        draws=draws,
        random_state=random_state,
        verbose=verbose,
        classifier=classifier,
    )


def _check_method(method: Any) -> None:
    if method not in _METHODS:
        raise InputError(sentence("method of bias_variance", f"one of {', '.join(_METHODS)}", repr(method)))


def is_smoother(estimator: Any) -> bool:
    """Kernel ridge, known by what it offers: this layer stands below the estimators."""
    return hasattr(type(estimator), "effective_dof_") and hasattr(type(estimator), "prior_variance_")


def _refuse_contradictions(estimator: Any, method: str, sampler: Any, sample_weight: Any) -> None:
    if method == "exact" and not is_smoother(estimator):
        way_out = "Use method='monte_carlo' for other estimators."
        raise InputError(sentence("The estimator of method='exact'", "KernelRidge", type(estimator).__name__, way_out))
    if sampler is None:
        return
    if not callable(sampler):
        raise InputError(sentence("sampler", "a function of a random generator that returns X, y", repr(sampler)))
    if method in ("exact", "bootstrap"):
        raise InputError(sentence("sampler", f"None with method={method!r}", "a function"))
    if sample_weight is not None:
        raise InputError(sentence("sample_weight", "None where a sampler draws the rows", "weights"))


def _ladder(estimator: Any, alphas: Any) -> Array:
    """Alphas in the order given."""
    if "alpha" not in estimator.get_params():
        what = "None for an estimator without an alpha"
        raise InputError(sentence("alphas of bias_variance", what, f"{type(estimator).__name__} and alphas"))
    count = np.size(alphas)
    if np.ndim(alphas) != 1 or not count:
        raise InputError(sentence("alphas of bias_variance", "a list of numbers", repr(alphas)))
    return checked_alpha(type(estimator).__name__, alphas, count)


def _exact(estimator: Any, question: Question, ladder: Array | None, sample_weight: Any) -> BiasVariance:
    """Mean predictions from a fit to the truth itself, one target per alpha; variances from the smoother's weights."""
    if question.truth is None or question.noise is None:  # pragma: no cover - refused before
        raise InputError("truth of bias_variance must have values at X; got None.")
    model = smoother(estimator, question.X, question.truth, ladder, sample_weight)
    m = len(question.truth_test)
    bias = model.predict(question.X_test).reshape(m, -1).T - question.truth_test
    variance = np.empty_like(bias)
    for mine, part, weights in model.fitted_.shares(model.checked_rows(question.X_test)):
        spread = question.noise[model.fitted_.numbers][:, None] * weights
        variance[mine[:, None], part] = np.einsum("ij,ij->j", spread, spread)
    noise = np.broadcast_to(question.noise_test.astype(np.float64) ** 2, bias.shape)
    at = 0 if ladder is None else slice(None)
    return BiasVariance((bias**2)[at], variance[at], noise[at], ladder, how="exact at the given rows")


def smoother(estimator: Any, X: Any, y: Array, ladder: Array | None, sample_weight: Any) -> Any:
    """Kernel ridge fitted to y once for each alpha; all of them share one spectrum."""
    from sklearn.base import clone

    model = clone(estimator)
    if ladder is None:
        checked_alpha(type(estimator).__name__, model.alpha, 1)
        return model.fit(X, y, sample_weight)
    model.set_params(alpha=ladder)
    return model.fit(X, np.repeat(y[:, None], len(ladder), axis=1), sample_weight)
