"""Kernel models with other losses than the squared error: `KernelRegressor`, and `KernelLogistic` for labels."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.data.checks import check_alpha, check_size, check_weights
from mercer.data.rows import AlphaLike, Array, ClassWeight, Estimator, PerRow, XLike, YLike
from mercer.errors import ConvergenceWarning, refuse_if, warn
from mercer.estimators.base import KernelEstimator
from mercer.estimators.inputs import as_sample_weight, width_of
from mercer.estimators.intervals import check_levels
from mercer.estimators.parameters import validate
from mercer.estimators.ridge import KernelRidge
from mercer.estimators.targets import LabelsMixin, Targets
from mercer.kernels import Kernel
from mercer.runtime import promise
from mercer.runtime.resources import blas_for
from mercer.selection.scoring import Classes
from mercer.solvers.gram import times, training_matrix
from mercer.solvers.newton import Optimum, Task
from mercer.solvers.problem import LOSSES, Expectile, Huber, Loss, Pinball, label_loss

_HUBER = 1.345  # standard deviations of normal noise that give 95 % of the efficiency of least squares
_NORMAL = 1.4826  # standard deviation of normal noise over its median absolute deviation
# Of the pinball loss, over the mean distance of targets from their quantile.
_SMOOTHINGS = tuple(0.1 * 10 ** (-step / 2) for step in range(7))


def noise_scale(y: Array, K: Array) -> float:
    """Standard deviation of the noise, robustly: from the differences of rows to their nearest ones in kernel distance.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators.loss_models import noise_scale
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 6.0, 400)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=400)
    >>> y[::10] += 50.0
    >>> 0.08 < noise_scale(y, Gaussian(1.0)(X)) < 0.15
    True
    """
    gaps = np.diagonal(K)[None, :] - 2.0 * K
    np.fill_diagonal(gaps, np.inf)
    differences = np.abs(y - y[gaps.argmin(axis=1)]) / math.sqrt(2.0) if len(y) > 1 else np.zeros(1)
    spread = np.abs(y - np.median(y))
    candidates = (_NORMAL * np.median(differences), _NORMAL * np.median(spread), float(spread.mean()), 1.0)
    return float(next(size for size in candidates if size > 0))


def minimize(task: Task, alpha: float, start: Array | None = None) -> Optimum:
    """The minimum for one alpha; of the pinball loss by less and less smoothing, each from the one before."""
    loss = task.loss
    if not isinstance(loss, Pinball):
        return task.minimize(alpha, start)
    for factor in _SMOOTHINGS:
        wide = Pinball(loss.level, loss.smoothing * factor / _SMOOTHINGS[-1])
        found = Task(task.K, task.y, task.weights, wide, task.intercept).minimize(alpha, start)
        start = found.f
    return found


@dataclass(eq=False, repr=False, kw_only=True)
class LossOfNumbers(RegressorMixin):  # type: ignore[misc]
    """Targets that are numbers, and their losses."""

    loss: str = "squared"
    delta: Any = None
    quantiles: Any = 0.5

    def _read(self, X: XLike, y: YLike, sample_weight: PerRow) -> tuple[Array, Array | None, None]:
        """y as one column of finite numbers, sample weights, and no labels."""
        found = np.asarray(column_or_1d(y, warn=True), dtype=np.float64)
        check_size(f"y of {type(self).__name__}", found[:, None])
        return found, own_weights(self, as_sample_weight(sample_weight, X)), None

    def _losses(self, y: Array, weights: Array, K: Array) -> list[Loss]:
        """One for each level; `delta` of Huber's in units of y."""
        name, owner = self.loss, type(self).__name__
        refuse_if(name not in LOSSES, f"loss of {owner}", f"one of {', '.join(map(repr, LOSSES))}", repr(name))
        loss = LOSSES[name]()
        refuse_if(not loss.fits(y), f"y of {owner} with loss={name!r}", loss.needs, f"{y.min():g}")
        if isinstance(loss, Huber):
            delta = self.delta
            positive = isinstance(delta, int | float) and 0 < delta < math.inf
            refuse_if(not (delta is None or positive), f"delta of {owner}", "a positive number, or None", repr(delta))
            return [Huber(_HUBER * noise_scale(y, K) if delta is None else float(delta))]
        if not isinstance(loss, Expectile | Pinball):
            return [loss]
        levels = check_levels(f"quantiles of {owner}", self.quantiles)
        if isinstance(loss, Expectile):
            return [Expectile(float(level)) for level in levels]
        gaps = [np.abs(y - Pinball(level).constant(y, weights)) for level in levels]
        least, spread = 1e-12 * max(1.0, float(np.abs(y).max())), np.average(gaps, axis=1, weights=weights)
        smoothings = np.maximum(_SMOOTHINGS[-1] * spread, least)
        return [Pinball(float(level), float(smoothing)) for level, smoothing in zip(levels, smoothings, strict=True)]


@dataclass(eq=False, repr=False, kw_only=True)
class LossOfLabels(LabelsMixin):
    """Targets that are labels, and their log loss."""

    class_weight: ClassWeight = None

    def _read(self, X: XLike, y: YLike, sample_weight: PerRow) -> tuple[Array, Array | None, Classes]:
        """Labels as the log loss takes them, weights of rows, and the labels."""
        targets = Targets.read(self, y, as_sample_weight(sample_weight, X))
        assert targets.classes is not None  # noqa: S101 - of a classifier
        self.classes_ = targets.classes.labels
        numbers = label_loss(len(self.classes_), targets.classes.numbers)[1]
        return numbers, own_weights(self, targets.weights), targets.classes

    def _losses(self, y: Array, weights: Array, K: Array) -> list[Loss]:
        return [label_loss(len(self.classes_), y.astype(np.intp))[0]]

    def predict_proba(self, X: XLike) -> Array:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        values = self._values(X)
        fitted: Any = getattr(self, "best_estimator_", self)
        found = fitted.losses_[0].mean(values)
        return np.hstack([1.0 - found, found]) if found.shape[1] == 1 else np.asarray(found)


def own_weights(estimator: Estimator, weights: Array | None) -> Array | None:
    """A copy of sample weights, validated; None for None."""
    return None if weights is None else check_weights(type(estimator).__name__, weights.copy())


@dataclass(eq=False, repr=False)
class LossModel(KernelEstimator):
    """What models with a loss share: one kernel matrix, Newton's method, and predictions from dual coefficients."""

    alpha: AlphaLike = 1.0
    _: KW_ONLY
    kernel: Any = "linear"
    fit_intercept: bool = False

    def fit(self, X: XLike, y: YLike, sample_weight: PerRow = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Training rows; for a precomputed kernel the kernel matrix.
        y : array-like of shape (n_samples,)
            Targets; labels for a classifier.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the losses, times those of classes; a row of weight zero has no effect.

        Returns
        -------
        self
        """
        X, y = self.check_data(X, y)
        validate(self)
        y, weights, _ = self._read(X, y, sample_weight)
        kernel = self.resolved_kernel(width_of(X))
        kernel.check(self._as_rows(X))
        self._minimize(kernel, X, y, weights)
        return self

    def _minimize(self, kernel: Kernel, X: XLike, y: Array, weights: Array | None) -> None:
        """Fit the losses that the parameters stand for, and set what they have in common."""
        owner, n = type(self).__name__, len(y)
        weights = np.ones(n) if weights is None else weights
        (alpha,) = check_alpha(owner, self.alpha, 1)
        refuse_if(not alpha > 0, f"alpha of {owner}", "above 0", alpha, "Use a small positive number.")
        refuse_if(kernel.verdict()[0] is False, f"kernel of {owner}", "a Mercer kernel", repr(kernel))
        promise(48 * n * n, f"{owner} with {n} rows", "Use fewer rows.")
        self.X_fit_ = X.copy()
        self.kernel_ = kernel
        with blas_for(n), np.errstate(under="ignore"):
            K = training_matrix(kernel, self._as_rows(self.X_fit_))
            self.losses_, found = self._losses(y, weights, K), list[Optimum]()
            for loss in self.losses_:
                task = Task(K, y, weights, loss, bool(self.fit_intercept))
                found.append(minimize(task, float(alpha), found[-1].f if found else None))
        self._dual = np.hstack([each.a for each in found])
        self._constant = np.concatenate([each.b for each in found])
        flat = self._dual.shape[1] == 1
        self.dual_coef_ = self._dual[:, 0] if flat else self._dual
        self.intercept_ = float(self._constant[0]) if flat else self._constant
        self.n_iter_ = max(each.steps for each in found)
        self.converged_ = all(each.converged for each in found)
        if not self.converged_:
            words = f"Newton's method of {owner} has not converged after {self.n_iter_} steps."
            warn(f"{words} Use a larger alpha, or rescale the target.", ConvergenceWarning)

    def _values(self, X: XLike) -> Array:
        """f at new rows (m, outputs)."""
        check_is_fitted(self, "dual_coef_")
        return np.asarray(times(self.kernel_, self.check_rows(X), self._fit_rows(), self._dual) + self._constant)


@dataclass(eq=False, repr=False, kw_only=True)
class KernelRegressor(LossOfNumbers, LossModel):
    """Kernel regression with a choice of loss.

    Minimizes sum_i w_i l(y_i, f(x_i)) + alpha / 2 ||f||^2, plus an unpenalized constant on request.

    ============== ================================== ==============================================================
    loss           l(y, f)                            prediction
    ============== ================================== ==============================================================
    `squared`      (y - f)^2 / 2                      mean; the same model as `KernelRidge`
    `huber`        squared up to delta, then linear   mean, where a few targets are far off
    `poisson`      exp(f) - y f                       mean exp(f) of counts
    `gamma`        y exp(-f) + f                      mean exp(f) of positive targets with errors in proportion
    `expectile`    (y - f)^2, weighted by its sign    expectiles
    `quantile`     pinball loss                       quantiles, which never cross
    ============== ================================== ==============================================================

    Parameters
    ----------
    alpha : float, default=1.0
        Regularization, above 0.
    loss : {"squared", "huber", "poisson", "gamma", "expectile", "quantile"}, default="squared"
        What is minimized.
    kernel : Kernel, str or callable, default="linear"
        As for `KernelRidge`.
    delta : float, default=None
        Of Huber's loss, in units of y. None: 1.345 standard deviations of the noise, estimated robustly from the
        differences of neighbouring rows.
    quantiles : float or sequence of float, default=0.5
        Levels of quantiles or expectiles, in ascending order.
    fit_intercept : bool, default=False
        Whether the model has an unpenalized constant.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_quantiles)
        f(x) = k(x, X_fit_) dual_coef_ + intercept_.
    intercept_ : float or ndarray of shape (n_quantiles,)
        Zero unless `fit_intercept`.
    losses_ : list of Loss
        The loss of each level, with the `delta` that was used.
    n_iter_, converged_ : int, bool
        Steps of Newton's method, and whether they have converged.
    X_fit_, kernel_
        As for `KernelRidge`.

    See Also
    --------
    mercer.KernelRegressorCV : Selects kernel and alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 6.0, size=(200, 1))
    >>> counts = rng.poisson(np.exp(1.0 + np.sin(X[:, 0])))
    >>> model = KernelRegressor(0.1, loss="poisson", kernel=Gaussian(1.0), fit_intercept=True).fit(X, counts)
    >>> bool(abs(model.predict([[1.5]])[0] - np.exp(2.0)) < 1.0)
    True
    """

    def _minimize(self, kernel: Kernel, X: XLike, y: Array, weights: Array | None) -> None:
        if self.loss != "squared":
            super()._minimize(kernel, X, y, weights)
            return
        # the solution of `KernelRidge`, which solves one system and takes alpha of 0
        ridge = KernelRidge(self.alpha, kernel=kernel, fit_intercept=self.fit_intercept).fit(X, y, weights)
        self.X_fit_, self.kernel_, self.losses_ = ridge.X_fit_, kernel, [LOSSES["squared"]()]
        self.dual_coef_, self.intercept_ = ridge.dual_coef_, ridge.intercept_
        self._ridge, self.n_iter_, self.converged_ = ridge, 1, True

    def predict(self, X: XLike) -> Array:
        """Predict on the scale of y.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows; for a precomputed kernel their k(x, X_fit_).

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_quantiles)
            One column for each of several `quantiles`, in ascending order.
        """
        check_is_fitted(self, "dual_coef_")
        if self.losses_[0].name == "squared":
            return np.asarray(self._ridge.predict(X))
        values = np.sort(self.losses_[0].mean(self._values(X)), axis=1)
        return values[:, 0] if np.ndim(self.quantiles) == 0 or values.shape[1] == 1 else values


@dataclass(eq=False, repr=False, kw_only=True)
class KernelLogistic(LossOfLabels, LossModel):
    """Kernel logistic regression: probabilities of two classes or many, without calibration.

    Minimizes minus the log likelihood plus alpha / 2 ||f||^2. With a linear kernel and an intercept it is the model of
    scikit-learn's `LogisticRegression(C=1 / alpha)`. More than two classes have one f each, symmetrically.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularization, above 0.
    kernel : Kernel, str or callable, default="linear"
        As for `KernelRidge`.
    fit_intercept : bool, default=False
        Whether each class has an unpenalized constant.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; "balanced" makes all classes weigh the same.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Coefficients of the decision function.
    intercept_ : float or ndarray of shape (n_classes,)
        Its constant.
    n_iter_, converged_, X_fit_, kernel_
        As for `KernelRegressor`.

    See Also
    --------
    mercer.KernelLogisticCV : Selects kernel and alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelLogistic
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.where((X**2).sum(axis=1) > 1.4, "out", "in")
    >>> model = KernelLogistic(0.1, kernel=Gaussian(1.0), fit_intercept=True).fit(X, y)
    >>> model.predict([[0.0, 0.0], [2.0, 2.0]]).tolist()
    ['in', 'out']
    >>> bool(model.predict_proba([[0.0, 0.0]])[0, 0] > 0.9)
    True
    """
