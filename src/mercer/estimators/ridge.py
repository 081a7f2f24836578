"""Kernel ridge regression and classification: scikit-learn's signature, and an exact intercept.

A fitted regressor without some of its rows, or with more, comes from the factor that it has. Without rows R the model
is the one of all rows whose targets at R are what it predicts there: y_R less E_R, the errors of leaving R out
(docs/derivations, section 28). More rows are appended to the Cholesky factor.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.data.rows import Array, ClassWeight, Rows, XLike, YLike
from mercer.errors import InputError, refuse_if, sentence
from mercer.estimators.base import RidgeCore
from mercer.estimators.intervals import IntervalsMixin
from mercer.estimators.parameters import is_precomputed
from mercer.estimators.refitting import like_training, part_of
from mercer.estimators.targets import LabelsMixin
from mercer.kernels.tiles import between, underflow_is_zero
from mercer.solvers.cholesky import Cholesky, NotPositiveDefinite
from mercer.solvers.dual import DualSolved, Solution
from mercer.solvers.fitted import FittedRidge, count_cancelled
from mercer.solvers.gram import training_matrix
from mercer.solvers.plan import EPS

_DRIFT = 1e-11  # of the targets, left over by a grown factor: beyond, it is made anew


@dataclass(eq=False, repr=False, kw_only=True)
class KernelRidge(IntervalsMixin, MultiOutputMixin, RegressorMixin, RidgeCore):  # type: ignore[misc]
    """Kernel ridge regression, a drop-in for scikit-learn's.

    Minimizes sum_i w_i (y_i - f(x_i))^2 + alpha ||f||^2 over functions f of the kernel's space, plus an
    unpenalized constant on request. `alpha` is what is added to the diagonal of the Gram matrix.

    Parameters
    ----------
    alpha : float or array of shape (n_targets,), default=1.0
        Regularization, not negative; one number or one per target.
    kernel : Kernel, str or callable, default="linear"
        A kernel of `mercer.kernels`; or scikit-learn's strings linear, rbf (gaussian), poly (polynomial),
        laplacian, cosine, sigmoid, chi2, additive_chi2, precomputed; or a function of two rows.
    gamma, degree, coef0 : float, default=None, 3, 1
        Parameters of kernel strings, as scikit-learn has them; an error with a kernel object.
    kernel_params : dict, default=None
        Further arguments of a kernel function.
    fit_intercept : bool, default=False
        Whether the model has an unpenalized constant, solved inside the system.
    solver : {"auto", "cholesky", "spectral", "primal", "cg"}, default="auto"
        `auto` takes the primal where an explicit feature map makes it cheaper, and the dual otherwise: by a factor, or
        from 10 000 rows on, and where a factor does not fit, by preconditioned conjugate gradients (`cg`).

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        f(x) = k(x, X_fit_) dual_coef_ + intercept_.
    primal_coef_ : ndarray of shape (n_features_phi,) or (n_targets, n_features_phi)
        Weights of the explicit features, f(x) = phi(x)'primal_coef_ + intercept_, whatever the solver; only where
        phi is finite. `kernel_.feature_names` names them.
    intercept_ : float or ndarray of shape (n_targets,)
        Zero unless `fit_intercept`.
    X_fit_ : ndarray or sparse matrix
        The training rows, needed for prediction.
    kernel_ : Kernel
        The kernel that the argument stood for.
    route_ : Route
        How the system was solved, its estimated condition number, and the number of correct digits.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    mercer.KernelRidgeClassifier : The same for labels.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 6.0, 25)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> model = KernelRidge(alpha=1e-3, kernel=Gaussian(width=1.0), fit_intercept=True).fit(X, y)
    >>> model.predict([[1.5]]).round(3)
    array([0.997])
    >>> print(model.route_.name, f"{model.route_.digits:.0f} correct digits")
    cholesky 11 correct digits
    """

    gamma: Any = None
    degree: Any = 3
    coef0: Any = 1
    kernel_params: Any = None

    _kept_factor = True

    def _model_for(self, X: XLike) -> Self:
        return self

    def predict(self, X: XLike, return_std: bool = False, *, diag: Any = None) -> Any:
        """Predict, by tiles: no matrix of new rows against training rows is ever held.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows; for a precomputed kernel their k(x, X_fit_), of shape (n_rows, n_samples).
        return_std : bool, default=False
            Also the posterior standard deviation of the latent function: alpha read as the ratio of
            noise variance and prior variance, the prior variance taken by maximum likelihood.
        diag : array-like of shape (n_rows,), default=None
            k(x, x) of the new rows, for `return_std` with a precomputed kernel.

        Returns
        -------
        prediction : ndarray of shape (n_rows,) or (n_rows, n_targets)
        std : ndarray of the same shape
            Only with `return_std`.
        """
        rows = self.check_rows(X, diag)
        values = self.as_given(self.fitted_.values(rows))
        if not return_std:
            return values
        variance = self.fitted_.evidence()[0] * self.fitted_.variance(rows, self.diagonal_of(rows, diag))
        return values, self.as_given(np.sqrt(variance))

    @property
    def prior_variance_(self) -> Any:
        """Variance of the Gaussian prior by maximum likelihood, y'a / n; per target."""
        check_is_fitted(self)
        return self.as_given(self.fitted_.evidence()[0][None])[0]

    @property
    def log_marginal_likelihood_(self) -> Any:
        """Log probability of y under the Gaussian view, at the best prior variance; per target.

        The noise variance is alpha times the prior variance. NaN for a singular system.
        """
        check_is_fitted(self)
        return self.as_given(self.fitted_.evidence()[1][None])[0]

    @property
    def effective_dof_(self) -> Any:
        """Effective degrees of freedom, the trace of the smoother matrix, intercept included.

        One number, or one per target where alpha is.
        """
        check_is_fitted(self)
        result = self.fitted_.degrees_of_freedom()
        return self.as_given(result[None])[0] if self._per_target else float(result[0])

    @underflow_is_zero
    def without(self, rows: Any) -> Self:
        """The model fitted without some of its rows, from the factor of all of them.

        Kernel and alpha stay as they are. Costs O(n^2) per row, and one factor for the first call of a model that was
        loaded or has more than 1000 rows.

        Parameters
        ----------
        rows : int, array-like of int, or array-like of bool of shape (n_samples,)
            The rows to leave out.

        Returns
        -------
        KernelRidge
            A new model; this one stays as it is.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRidge
        >>> X, y = np.arange(5.0)[:, None], np.array([0.0, 1.0, 2.0, 3.0, 40.0])
        >>> model = KernelRidge(1e-6, fit_intercept=True).fit(X, y)
        >>> model.without(4).predict([[4.0]]).round(3)
        array([4.])
        """
        check_is_fitted(self)
        fitted, used = self.fitted_, self.fitted_.numbers
        numbers = check_numbers(rows, len(fitted.targets))
        kept = np.setdiff1d(np.arange(len(fitted.targets)), numbers)
        places = np.flatnonzero(np.isin(used, numbers))
        if len(places) == len(used):
            raise InputError("without() cannot leave out all rows of positive weight.")
        X, weights = fitted.rows(kept).values, part_of(fitted.weights, kept)
        rest = replace(fitted, X=X, weights=weights, targets=fitted.targets[kept])
        if fitted.route.singular or (fitted.alphas <= 0).any():
            return self._refit(rest)
        if not len(places):
            return self._rebuild(replace(rest, dual=fitted.dual[kept]))
        dual, constant, primal = fitted.dual.copy(), fitted.constant.copy(), copy(fitted.primal)
        condition, lost = fitted.route.condition, 1.0
        for (mine, solved), (_, left_out) in zip(fitted.systems, fitted.leave_outs, strict=True):
            (E,) = left_out.residuals([places])
            if E is None:
                return self._refit(rest)
            part = np.ix_(used, mine)
            centre = fitted.targets[part].mean(axis=0) if fitted.intercept else np.zeros(len(mine))
            Y = fitted.targets[part] - centre  # targets far from zero lose no digits
            Y[places] -= E / solved.root[places, None]
            solution = solved.solve(Y)
            dual[part], constant[mine] = solution.dual, centre + solution.intercept
            if primal is not None:
                primal[:, mine], lost = solution.primal, max(lost, solution.route.cancelled)
                condition = max(condition, left_out.condition)
        route = replace(fitted.route, condition=condition, cancelled=lost)
        if primal is None:
            left = np.setdiff1d(used, numbers)
            lost = count_cancelled(fitted.kernel.diagonal(fitted.rows(left)), dual[left], fitted.targets[left])
            route = replace(route, rank=len(left), size=len(left), cancelled=lost)
        return self._rebuild(replace(rest, dual=dual[kept], constant=constant, primal=primal, route=route))

    def with_rows(self, X: XLike, y: YLike) -> Self:
        """The model fitted to its rows and these, by appending them to its Cholesky factor.

        Kernel and alpha stay as they are. Costs O(n^2) per row where the dual was solved and rows have no weights, and
        one factor for the first call of a model that was loaded or has more than 1000 rows; otherwise, and where a
        grown factor has become inaccurate, the model is fitted again.

        Parameters
        ----------
        X, y : array-like
            More rows and their targets.

        Returns
        -------
        KernelRidge
            A new model; this one stays as it is.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRidge
        >>> from mercer.kernels import Gaussian
        >>> X = np.linspace(0.0, 6.0, 20)[:, None]
        >>> model = KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X[:15], np.sin(X[:15, 0]))
        >>> whole = KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X, np.sin(X[:, 0]))
        >>> bool(np.allclose(model.with_rows(X[15:], np.sin(X[15:, 0])).dual_coef_, whole.dual_coef_))
        True
        """
        check_is_fitted(self)
        return self._with_more(X, y, "with_rows")

    @available_if(lambda model: not is_precomputed(model.kernel))  # type: ignore[untyped-decorator]
    def partial_fit(self, X: XLike, y: YLike) -> Self:
        """Fit to more rows: the first call is `fit`, every other one appends its rows as `with_rows` does.

        Models of precomputed kernels do not have it: their matrix would have to grow, too.

        Parameters
        ----------
        X, y : array-like
            Rows that the model has not seen, and their targets.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRidge
        >>> from mercer.kernels import Gaussian
        >>> X, model = np.linspace(0.0, 6.0, 20)[:, None], KernelRidge(0.1, kernel=Gaussian(1.0))
        >>> for part in (slice(0, 8), slice(8, 20)):
        ...     model = model.partial_fit(X[part], np.sin(X[part, 0]))
        >>> whole = KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X, np.sin(X[:, 0]))
        >>> bool(np.allclose(model.dual_coef_, whole.dual_coef_))
        True
        """
        if not hasattr(self, "fitted_"):
            return self.fit(X, y)
        self.fitted_ = self._with_more(X, y, "partial_fit").fitted_
        self.publish()
        return self

    @underflow_is_zero
    def _with_more(self, X: XLike, y: YLike, what: str) -> Self:
        """The model of the rows it has and these, of weight 1 each."""
        if self.kernel_.kind == "gram":
            raise InputError(f"{what} does not support precomputed kernels. Fit again with the larger kernel matrix.")
        fitted, new = self.fitted_, self.check_rows(X)
        try:
            given = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.empty(0)
        Y = given.reshape(-1, 1) if self._one_target and given.ndim == 1 else given
        if Y.shape != (len(new), fitted.targets.shape[1]):
            must_be = f"{fitted.targets.shape[1]} for each of {len(new)} rows"
            raise InputError(sentence(f"y of {what}", must_be, f"shape {given.shape}" if given.size else repr(y)[:60]))
        refuse_if(not np.isfinite(Y).all(), f"y of {what}", "finite", "NaN or infinity")
        targets = np.vstack([fitted.targets, Y])
        weights = None if fitted.weights is None else np.append(fitted.weights, np.ones(len(Y)))
        if hasattr(fitted.X, "tocsr") or new.sparse:
            raise InputError("Sparse rows cannot be added to a model. Use X.toarray().")
        X = np.concatenate([np.asarray(fitted.X), np.asarray(new.values)])
        start = replace(fitted, X=X, targets=targets, weights=weights, primal=None)
        systems = _append_systems(fitted, new)
        dual, constant = np.zeros(targets.shape), np.zeros(targets.shape[1])
        for mine, solved in systems:
            solution = solved.solve(targets[:, mine])
            dual[:, mine], constant[mine] = solution.dual, solution.intercept
            if _has_drifted(solved, solution, targets[:, mine]):
                return self._refit(start)
        if not systems:
            return self._refit(start)
        route = max((solved.inverse.route() for _, solved in systems), key=lambda route: route.condition)
        lost = count_cancelled(fitted.kernel.diagonal(start.rows()), dual, targets)
        grown = replace(start, dual=dual, constant=constant, route=replace(route, cancelled=max(route.cancelled, lost)))
        vars(grown)["systems"] = systems
        return self._rebuild(grown)

    def _refit(self, start: FittedRidge) -> Self:
        """Fitted to the rows and targets of `start`, with the kernel and alpha that the model was fitted with."""
        alpha = start.alphas if len(np.unique(start.alphas)) > 1 else float(start.alphas[0])
        fresh = type(self)(alpha, kernel=start.kernel, fit_intercept=start.intercept, solver=self.solver)
        fresh.fit(like_training(self, start.X), self.as_given(start.targets), start.weights)
        return self._rebuild(fresh.fitted_)

    def _rebuild(self, fitted: FittedRidge) -> Self:
        """A model of the same class and parameters that has this fit."""
        rebuilt = copy(self)
        if fitted.kernel.kind == "gram":
            rebuilt.n_features_in_ = len(fitted.targets)
        rebuilt.fitted_ = fitted
        rebuilt.publish()
        return rebuilt


def check_numbers(rows: Any, n: int) -> Array:
    """Row numbers, at least one and not all; negative ones count from the end."""
    given, what = np.atleast_1d(np.asarray(rows)), "rows of without()"
    numbers = np.flatnonzero(given) if given.dtype == bool and given.shape == (n,) else given
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not len(numbers):
        raise InputError(sentence(what, "row numbers, or True and False for every row", repr(rows)))
    numbers = np.unique(np.where(numbers < 0, numbers + n, numbers))
    refuse_if(numbers[0] < 0 or numbers[-1] >= n, what, f"between 0 and {n - 1}", repr(rows))
    if len(numbers) == n:
        raise InputError(f"without() cannot leave out all {n} rows.")
    return numbers


def _append_systems(fitted: FittedRidge, new: Rows) -> list[tuple[Array, DualSolved]]:
    """The factors of a dual system with these rows; none where they have weights or a factor cannot grow."""
    if fitted.weights is not None or fitted.primal is not None or (fitted.alphas <= 0).any():
        return []
    features = fitted.kernel.count_features(fitted.rows())
    if features is not None and features < len(fitted.targets) + len(new):  # a fit to all rows would be in the primal
        return []
    side, corner = between(fitted.kernel, new, fitted.against), between(fitted.kernel, new, new)
    ones = np.ones(len(fitted.targets) + len(new))
    known = [(mine, getattr(solved, "inverse", None)) for mine, solved in fitted.systems]
    factors = [(mine, factor) for mine, factor in known if isinstance(factor, Cholesky)]
    if len(factors) < len(known):  # of a spectrum: factors are made now
        rows, reason, alphas = fitted.rows(), fitted.choice.reason, fitted.alphas
        groups = ((np.flatnonzero(alphas == alpha), float(alpha)) for alpha in np.unique(alphas))
        factors = [(mine, Cholesky(training_matrix(fitted.kernel, rows), alpha, reason)) for mine, alpha in groups]
    try:
        grown = [(mine, factor.with_rows(side, corner)) for mine, factor in factors]
    except NotPositiveDefinite:
        return []
    return [(mine, DualSolved(factor, ones, intercept=fitted.intercept)) for mine, factor in grown]


def _has_drifted(solved: DualSolved, solution: Solution, Y: Array) -> bool:
    """Whether the solution leaves more of the targets than rounding explains, after many rows were added."""
    assert isinstance(solved.inverse, Cholesky)  # noqa: S101 - made so
    terms = solved.inverse.times(solution.dual)
    y = Y - solution.intercept  # which may be far larger than what is fitted
    size = np.abs(y).max(axis=0) + np.abs(terms).max(axis=0)
    return bool((np.abs(y - terms).max(axis=0) > _DRIFT * size + 4 * EPS * np.abs(Y).max(axis=0)).any())


@dataclass(eq=False, repr=False, kw_only=True)
class KernelRidgeClassifier(LabelsMixin, RidgeCore):
    """Least squares on labels: +-1 for two classes, one-hot for more; the largest value wins.

    Parameters
    ----------
    alpha : float, default=1.0
        Regularization, not negative.
    kernel : Kernel, str or callable, default="linear"
        As for `KernelRidge`.
    fit_intercept : bool, default=False
        Whether the model has an unpenalized constant.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; "balanced" makes all classes weigh the same.
    solver : {"auto", "cholesky", "spectral", "primal", "cg"}, default="auto"
        As for `KernelRidge`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    dual_coef_ : ndarray of shape (n_samples, 1) or (n_samples, n_classes)
        Coefficients of the decision function.
    primal_coef_ : ndarray of shape (1, n_features_phi) or (n_classes, n_features_phi)
        Weights of the explicit features in it, where phi is finite.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Its constant.
    X_fit_, kernel_, route_
        As for `KernelRidge`.

    See Also
    --------
    mercer.KernelRidge : The same for numbers.

    Examples
    --------
    >>> from mercer import KernelRidgeClassifier
    >>> from mercer.kernels import Gaussian
    >>> X = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    >>> KernelRidgeClassifier(0.1, kernel=Gaussian(0.5)).fit(X, ["same", "same", "odd", "odd"]).predict(X).tolist()
    ['same', 'same', 'odd', 'odd']
    """

    class_weight: ClassWeight = None

    def _values(self, X: XLike) -> Array:
        """Decision values of new rows."""
        rows = self.check_rows(X)
        return self.fitted_.values(rows)
