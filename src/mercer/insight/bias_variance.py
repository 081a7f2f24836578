"""Bias, variance and noise: exact for kernel ridge at a fixed design, by Monte Carlo for every other regressor.

A kernel ridge prediction is u(x0)'y with weights u(x0) that do not depend on y (equation (12) of docs/derivations has
them). For y = f(X) + noise of standard deviation s the bias at x0 is therefore u(x0)'f(X) - f(x0), and the
variance the sum of (s_i u_i(x0))^2.

By Monte Carlo, with d_r the deviation of draw r from the truth, bias squared is estimated by the mean of d_r d_s over
all pairs of different draws. Unlike the square of the mean it is unbiased; it can be negative where the bias is nearly
zero. The risk less noise is the mean of d_r^2 and the variance the difference, so that the parts add up to rounding.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mercer.data.checks import as_numbers, check_alpha, keyword_hints
from mercer.data.rows import AlphaLike, Array, Estimator, PerRow, Seed, XLike
from mercer.errors import InputError, refuse_if, sentence
from mercer.runtime import promise
from mercer.runtime.progress import Progress
from mercer.text import Shown, counted, plain, text_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mercer.displays import BiasVarianceDisplay

Both: TypeAlias = tuple[Array, Array]  # at the training rows and at the test rows

PARTS = ("bias_squared", "variance", "noise", "risk")
_METHODS = ("auto", "exact", "monte_carlo")


@dataclass(frozen=True, eq=False, repr=False)
class BiasVariance(Shown):
    """Where the expected error of an estimator comes from: risk = bias squared + variance + noise.

    Attributes
    ----------
    bias_squared_at, variance_at, noise_at, risk_at : ndarray of shape (m,) or (alphas, m)
        At each test row; one row per alpha where `alphas` was given.
    bias_squared, variance, noise, risk : float or ndarray of shape (alphas,)
        Means over the test rows.
    alphas : ndarray or None
        The alphas, as they were given.
    standard_errors : mapping or None
        Of the averages bias_squared, variance and risk, over the draws; None where the numbers are exact.
    how : str
        How they were found, and what they are.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.insight.bias_variance import BiasVariance
    >>> print(BiasVariance(np.array([1.0, 3.0]), np.array([0.5, 0.5]), np.array([1.0, 1.0]), how="exact"))
    Expected squared loss at 2 test rows, exact:
    bias squared  variance  noise  risk
    ------------  --------  -----  ----
               2       0.5      1   3.5
    """

    bias_squared_at: Array
    variance_at: Array
    noise_at: Array
    alphas: Array | None = None
    standard_errors: Mapping[str, Any] | None = None
    how: str = "exact"

    @property
    def risk_at(self) -> Array:
        """Expected loss at each test row: the sum of its parts."""
        return np.asarray(self.bias_squared_at + self.variance_at + self.noise_at)

    @property
    def bias_squared(self) -> Any:
        """Mean squared distance of the mean prediction from the truth."""
        return _average(self.bias_squared_at)

    @property
    def variance(self) -> Any:
        """Mean variance of the predictions over training sets."""
        return _average(self.variance_at)

    @property
    def noise(self) -> Any:
        """Mean loss that no prediction can avoid."""
        return _average(self.noise_at)

    @property
    def risk(self) -> Any:
        """Mean expected loss."""
        return _average(self.risk_at)

    @property
    def best_alpha(self) -> float | None:
        """The alpha with the least risk; None where no alphas were given."""
        return None if self.alphas is None else float(self.alphas[int(np.argmin(self.risk))])

    def table(self) -> dict[str, Array]:
        """Columns of numbers, ready for a data frame: alpha if there are several, the parts, their standard errors.

        Returns
        -------
        dict of str to ndarray

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.insight.bias_variance import BiasVariance
        >>> list(BiasVariance(np.zeros(2), np.ones(2), np.ones(2)).table())
        ['bias_squared', 'variance', 'noise', 'risk']
        """
        columns = {} if self.alphas is None else {"alpha": self.alphas.copy()}
        columns |= {name: np.atleast_1d(getattr(self, name)) for name in PARTS}
        errors = self.standard_errors or {}
        return columns | {f"{name}_error": np.atleast_1d(error) for name, error in errors.items()}

    def _columns(self) -> dict[str, list[Any]]:
        """The columns of `table` as lists."""
        return {name: values.tolist() for name, values in self.table().items()}

    def plot(self, ax: Axes | None = None) -> BiasVarianceDisplay:
        """Draw it: curves over alpha, or over the test rows where there is one alpha.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        BiasVarianceDisplay
        """
        from mercer.displays import BiasVarianceDisplay

        return BiasVarianceDisplay.from_result(self, ax=ax)

    def __str__(self) -> str:
        columns = self._columns()
        for name in self.standard_errors or {}:
            pairs = zip(columns[name], columns.pop(f"{name}_error"), strict=True)
            columns[name] = [f"{value:.4g} +- {error:.2g}" for value, error in pairs]
        table = text_table([name.replace("_", " ") for name in columns], list(zip(*columns.values(), strict=True)))
        return f"Expected squared loss at {counted(self.risk_at.shape[-1], 'test row')}, {self.how}:\n{table}"

    def __repr__(self) -> str:
        columns, best = self._columns(), int(np.argmin(self.risk))
        numbers = ", ".join(f"{name.replace('_', ' ')} {plain(columns[name][best], 3)}" for name in PARTS)
        several = f"least risk at alpha {plain(columns['alpha'][best], 3)}: " if len(columns["risk"]) > 1 else ""
        return f"<BiasVariance: {several}{numbers}>"


def _average(values: Array) -> Any:
    means = values.mean(axis=-1)
    return float(means) if means.ndim == 0 else means


def _at_both(name: str, given: Any, X: XLike, X_test: XLike, *, training: bool) -> Both:
    """Values of a function, a number or values at X and at X_test; both at X_test unless `training` needs the first."""
    test, differ = X if X_test is None else X_test, training and X_test is not None
    single = name == "noise" and (np.isscalar(given) or getattr(given, "ndim", 1) == 0)
    at = at_test = given(test) if callable(given) else given
    if differ and callable(given):
        at = given(X)
    elif differ and not single:
        if not isinstance(given, list | tuple) or len(given) != 2 or 0 in (np.ndim(given[0]), np.ndim(given[1])):
            must_be = "a function, or a pair: its values at X and its values at X_test"
            raise InputError(sentence(name, must_be, type(given).__name__, f"Pass ({name} at X, {name} at X_test)."))
        at, at_test = given
    at_test = _one_each(name, at_test, test)
    return (_one_each(name, at, X) if training else at_test), at_test


def _one_each(name: str, values: Any, X: XLike) -> Array:
    """One finite number per row, for noise not negative; a single noise serves all rows."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    found = as_numbers(values)
    least = 0.0 if name == "noise" else -np.inf
    if found is None or not (np.isfinite(found) & (found >= least)).all():
        must_be = "a finite, non-negative standard deviation" if name == "noise" else "finite numbers"
        bad = values if found is None or name == "truth" else found[~(np.isfinite(found) & (found >= 0))][0].item()
        raise InputError(sentence(name, must_be, repr(bad)))
    if found.ndim == 0 and name == "noise":
        found = np.broadcast_to(found, (n,))
    refuse_if(found.shape != (n,), name, f"one value for each of {n} rows", f"shape {found.shape}")
    return found


@keyword_hints
def bias_variance(
    estimator: Estimator,
    X: XLike,
    truth: Any,
    noise: Any,
    *,
    X_test: XLike = None,
    alphas: AlphaLike = None,
    sample_weight: PerRow = None,
    method: str = "auto",
    sampler: Any = None,
    draws: int = 200,
    random_state: Seed = 0,
    verbose: int = 0,
) -> BiasVariance:
    """Where the expected error of an estimator comes from, when the truth is known.

    The risk at a test row is the expected squared error of predicting a new noisy target there, over training sets:
    bias squared + variance + noise.

    Parameters
    ----------
    estimator : estimator
        `KernelRidge` for exact numbers; any other scikit-learn regressor is fitted again and again.
    X : array-like of shape (n, d)
        Training rows.
    truth : callable, ndarray of shape (n,), or a pair of them
        A function of the rows; or its values at X, and with X_test the pair (at X, at X_test).
    noise : float, or as truth
        Standard deviation of the targets around the truth.
    X_test : array-like of shape (m, d), default=None
        Where the risk is taken. None: at X, with new noise.
    alphas : array-like, default=None
        One row of results for each. None: the alpha of the estimator.
    sample_weight : array-like of shape (n,), default=None
        Weights that the estimator is fitted with.
    method : {"auto", "exact", "monte_carlo"}, default="auto"
        "auto" is exact for kernel ridge where no sampler is given, otherwise Monte Carlo: new targets at the fixed
        rows X, or whole training sets from `sampler`.
    sampler : callable, default=None
        `sampler(rng)` returns a freshly drawn training set (X, y); `truth` and `noise` are then needed at the
        test rows alone.
    draws : int, default=200
        Training sets of the Monte Carlo.
    random_state : int, Generator or None, default=0
        Random seed of the draws.
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
    from sklearn.base import clone, is_classifier

    refuse_if(method not in _METHODS, "method of bias_variance", f"one of {', '.join(_METHODS)}", repr(method))
    owner, needs, smooth = "The estimator of bias_variance", "The estimator of method='exact'", is_smoother(estimator)
    refuse_if(is_classifier(estimator), owner, "a regressor", type(estimator).__name__)
    way_out = "Use method='monte_carlo' for other estimators."
    refuse_if(method == "exact" and not smooth, needs, "KernelRidge", type(estimator).__name__, way_out)
    if sampler is not None:
        refuse_if(not callable(sampler), "sampler", "a function of a random generator that returns X, y", repr(sampler))
        refuse_if(method == "exact", "sampler", "None with method='exact'", "a function")
        refuse_if(sample_weight is not None, "sample_weight", "None where a sampler draws the rows", "weights")
    f = _at_both("truth", truth, X, X_test, training=sampler is None)
    s = _at_both("noise", noise, X, X_test, training=sampler is None)
    X_test = X if X_test is None else X_test
    ladder = None if alphas is None else _ladder(estimator, alphas)
    if method == "exact" or (method == "auto" and sampler is None and smooth):
        return _exact(estimator, (X, X_test), f, s, ladder, sample_weight)
    if not isinstance(draws, numbers.Integral) or isinstance(draws, bool) or draws < 3:
        raise InputError(sentence("draws of bias_variance", "an integer of at least 3", repr(draws)))
    models = [estimator] if ladder is None else [clone(estimator).set_params(alpha=float(alpha)) for alpha in ladder]
    count, rng = int(draws), np.random.default_rng(random_state)
    progress = Progress("bias_variance", count, verbose)

    def draw() -> Iterator[object]:
        for _ in range(count):
            yield (X, f[0] + s[0] * rng.normal(size=len(f[0]))) if sampler is None else sampler(rng)
            progress.step()

    more = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)}
    found = _deviations(models, draw(), more, X_test, f[1], count)
    what = "targets at the given rows" if sampler is None else "training sets"
    how = f"Monte Carlo ({count} draws of {what}, standard errors after +-)"
    return _decompose(found, s[1] ** 2, ladder, how)


def is_smoother(estimator: Estimator) -> bool:
    """Kernel ridge, known by what it offers: this layer stands below the estimators."""
    return hasattr(type(estimator), "effective_dof_") and hasattr(type(estimator), "prior_variance_")


def _ladder(estimator: Estimator, alphas: AlphaLike) -> Array:
    """Alphas in the order given."""
    if "alpha" not in estimator.get_params():
        what = "None for an estimator without an alpha"
        raise InputError(sentence("alphas of bias_variance", what, f"{type(estimator).__name__} and alphas"))
    refuse_if(np.ndim(alphas) != 1 or not np.size(alphas), "alphas of bias_variance", "a list of numbers", repr(alphas))
    return check_alpha(type(estimator).__name__, alphas, np.size(alphas))


def _exact(
    estimator: Estimator, rows: tuple[XLike, XLike], truth: Both, noise: Both, ladder: Array | None, weights: PerRow
) -> BiasVariance:
    """Mean predictions from a fit to the truth itself, one target per alpha; variances from the smoother's weights."""
    (X, X_test), (s, s_test) = rows, noise
    model = smoother(estimator, X, truth[0], ladder, weights)
    bias = model.predict(X_test).reshape(len(s_test), -1).T - truth[1]
    variance = np.empty_like(bias)
    for mine, part, shares in model.fitted_.shares(model.check_rows(X_test)):
        spread = s[model.fitted_.numbers][:, None] * shares
        variance[mine[:, None], part] = np.einsum("ij,ij->j", spread, spread)
    at, variances = slice(None) if ladder is not None else 0, np.broadcast_to(s_test**2, bias.shape)
    return BiasVariance((bias**2)[at], variance[at], variances[at], ladder, how="exact at the given rows")


def smoother(estimator: Estimator, X: XLike, y: Array, ladder: Array | None, sample_weight: PerRow) -> Estimator:
    """Kernel ridge fitted to y once for each alpha; all of them share one spectrum."""
    from sklearn.base import clone

    if ladder is None:
        check_alpha(type(estimator).__name__, estimator.alpha, 1)
        return clone(estimator).fit(X, y, sample_weight)
    return clone(estimator).set_params(alpha=ladder).fit(X, np.repeat(y[:, None], len(ladder), axis=1), sample_weight)


def _deviations(
    models: list[Estimator], sets: Iterator[object], more: dict[str, Array], X_test: XLike, truth: Array, draws: int
) -> Array:
    """Predictions less the truth at the test rows, of models fitted to each set: alphas x draws x rows."""
    from sklearn.base import clone

    m = len(truth)
    taken = 6 * 8 * draws * m * len(models)  # deviations, their squares and what each draw adds
    promise(taken, f"Storing the predictions of {draws} draws at {m} rows", "Use fewer test rows or draws.")
    found = np.empty((len(models), draws, m))
    for r, drawn in enumerate(sets):
        if not isinstance(drawn, list | tuple) or len(drawn) != 2:
            raise InputError(sentence("The result of sampler", "a pair X, y", type(drawn).__name__))
        X, y = drawn[0], np.asarray(drawn[1])
        for a, model in enumerate(models):
            predicted = np.asarray(clone(model).fit(X, y, **more).predict(X_test))
            got = f"shape {predicted.shape}"
            refuse_if(predicted.shape != (m,), "Predictions in bias_variance", "one value per row", got)
            refuse_if(not np.isfinite(predicted).all(), "Predictions in bias_variance", "finite", "NaN or infinity")
            found[a, r] = predicted - truth
    return found


def _decompose(d: Array, noise: Array, ladder: Array | None, how: str) -> BiasVariance:
    """The parts from deviations d (alphas x draws x rows), with standard errors of their averages over rows.

    A standard error is the spread of what single draws add to an average. F is the squared length of the covariance
    matrix of the rows' predictions over m^2, and z the variance of what draws add to bias squared. A square is nearly
    flat where the mean of the draws happens to meet the truth, so 4 F over draws^2 is added for the error of that mean,
    and 2 F for that of a mean over pairs. Where the bias is nearly zero this is about twice too wide, elsewhere the
    usual error. Squares about the mean of the draws scatter less than squares about the true mean: that of the variance
    is widened for it, by (draws / (draws - 1))^3/2.
    """
    draws, m = d.shape[1:]
    total, squares = d.sum(axis=1), (d**2).sum(axis=1)
    bias, error, centre = (total**2 - squares) / (draws * (draws - 1)), squares / draws, total / draws
    c = d - centre[:, None]
    add_bias, flat = 2.0 * np.einsum("am,arm->ar", centre, c) / m, c / np.sqrt((draws - 1) * m)
    F = ((flat @ flat.transpose(0, 2, 1)) ** 2).sum(axis=(1, 2))
    errors = {
        "bias_squared": np.sqrt(add_bias.var(axis=1, ddof=1) / draws + 6.0 * F / draws**2),
        "variance": (c**2).mean(axis=2).std(axis=1, ddof=1) * draws / (draws - 1) ** 1.5,
        "risk": (d**2).mean(axis=2).std(axis=1, ddof=1) / np.sqrt(draws),
    }
    at = slice(None) if ladder is not None else 0
    spread = {name: values[at] for name, values in errors.items()}
    return BiasVariance(bias[at], (error - bias)[at], np.broadcast_to(noise, bias.shape)[at], ladder, spread, how)
