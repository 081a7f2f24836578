"""Kernel ridge regression: scikit-learn's signature, an exact intercept, and an account of itself."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer.data.folds import Folds, draw
from mercer.data.rows import Array, Seed
from mercer.estimators.base import RidgeCore
from mercer.estimators.conformal import hulls, sets_of_model
from mercer.estimators.inputs import as_sample_weight, coverage_of
from mercer.estimators.parameters import KernelSettings
from mercer.estimators.updating import Updatable
from mercer.insight.intervals import Coverage, interval_bounds


class KernelRidge(MultiOutputMixin, RegressorMixin, Updatable, RidgeCore):  # type: ignore[misc]
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

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        degree: Any = 3,
        coef0: Any = 1,
        kernel_params: Any = None,
        fit_intercept: bool = False,
        solver: str = "auto",
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.solver = solver

    _kept_factor = True

    def _settings(self) -> KernelSettings:
        return KernelSettings(self.gamma, self.degree, self.coef0, self.kernel_params)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Training rows; for a precomputed kernel the n_samples x n_samples Gram matrix.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the squared errors; a row of weight zero is left out.

        Returns
        -------
        self
        """
        X, y = self.checked_data(X, y, multi_output=True, y_numeric=True)
        weights = as_sample_weight(sample_weight, X)
        Y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        self._one_target, self._per_target = y.ndim == 1, np.ndim(self.alpha) > 0
        self._fit_targets(X, Y, weights)
        return self

    def publish(self) -> None:
        """Set the attributes that follow from `fitted_`."""
        super().publish()
        self.dual_coef_ = self._out(self.fitted_.dual)
        self.intercept_ = self._out(self.fitted_.constant[None])[0]

    def _out(self, table: Array) -> Array:
        return table[:, 0] if self._one_target else table

    def predict(self, X: Any, return_std: bool = False, *, diag: Any = None) -> Any:
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
        rows = self.checked_rows(X, diag)
        values = self._out(self.fitted_.values(rows))
        if not return_std:
            return values
        variance = self.fitted_.evidence()[0] * self.fitted_.variance(rows, self._diagonal(rows, diag))
        return values, self._out(np.sqrt(variance))

    def predict_interval(
        self,
        X: Any,
        confidence: float = 0.9,
        method: str = "jackknife+",
        *,
        cv: Any = 10,
        random_state: Seed = None,
        diag: Any = None,
    ) -> tuple[Array, Array]:
        """Intervals that hold the target of a new row with this confidence; nothing is refitted.

        With q = 1 - confidence and n training rows, `jackknife+` takes the predictions of the n models that leave one
        row out, less and plus the error of each at its row, and cuts off the outermost floor(q (n + 1)) on either
        side. If all rows are drawn alike and independently, the intervals hold at least 1 - 2q of new targets, for
        any number of rows and any distribution, and typically 1 - q. `cv+` leaves folds out and promises a little less.
        After kernel or alpha were chosen on the same rows both promises are nominal.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows, as for `predict`.
        confidence : float, default=0.9
            Between 0 and 1.
        method : {"jackknife+", "cv+", "gaussian", "full"}, default="jackknife+"
            `full` gives the ends of `predict_set`, whose promise is 1 - q. `gaussian` believes in a Gaussian prior: the
            standard deviation of `predict` and noise of variance alpha times `prior_variance_`, without any promise
            about data of another kind.
        cv : int, splitter or iterable of (train, test), default=10
            The folds of `cv+`, a partition of the rows; an int is scikit-learn's unshuffled KFold.
        random_state : int, RandomState or None, default=None
            Shuffles the folds of an int.
        diag : array-like of shape (n_rows,), default=None
            k(x, x) of the new rows, for `gaussian` with a precomputed kernel.

        Returns
        -------
        lower, upper : ndarray of shape (n_rows,) or (n_rows, n_targets)
            Infinite where there are too few rows for this confidence, q (n + 1) < 1. Rows of weight zero do not count.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRidge
        >>> from mercer.kernels import Gaussian
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0.0, 6.0, size=(60, 1))
        >>> y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=60)
        >>> model = KernelRidge(alpha=0.1, kernel=Gaussian(width=1.0)).fit(X, y)
        >>> lower, upper = model.predict_interval([[1.5], [9.0]])
        >>> lower.round(1), upper.round(1)
        (array([ 0.6, -0.3]), array([1.3, 0.4]))
        """
        if method == "full":
            return hulls(self.predict_set(X, confidence, diag=diag))
        rows = self.checked_rows(X, diag)
        folds = None
        if method == "cv+":
            given = isinstance(cv, Folds)
            folds = cv if given else draw(cv, self.X_fit_, self.fitted_.targets, random_state=random_state)
        diagonal = self._diagonal(rows, diag) if method == "gaussian" else None
        lower, upper = interval_bounds(self.fitted_, rows, confidence, method, folds, diagonal)
        return self._out(lower), self._out(upper)

    def predict_set(self, X: Any, confidence: float = 0.9, *, categories: Any = None, diag: Any = None) -> Any:
        """Full conformal prediction: all targets that conform to the training rows, as unions of intervals.

        Kernel and alpha stay as they are and must not have been chosen on these rows; `KernelRidgeCV.predict_set` does
        that.
        A value z is in the set if, of the leave-one-out residuals of the n + 1 rows with z as the new target, more than
        q (n + 1) are at least as large as that of the new row, q = 1 - confidence. If all rows are drawn alike and
        independently, the set holds the target with probability at least 1 - q, for any number of rows and any
        distribution.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows.
        confidence : float, default=0.9
            Between 0 and 1.
        categories : tuple of two array-likes, default=None
            Labels of the training rows and of the new rows: each new row is compared with training rows of its label
            only, and the guarantee holds within every label.
        diag : array-like of shape (n_rows,), default=None
            k(x, x) of the new rows, for a precomputed kernel.

        Returns
        -------
        list of ndarray of shape (k, 2)
            For each new row the lower and upper ends of k intervals, in order, rounded outwards by their error; the
            whole line where there are too few rows for this confidence. For several targets a list of such lists, one
            per target. A warning says how many digits of the ends are correct if these are few.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRidge
        >>> from mercer.kernels import Gaussian
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0.0, 6.0, size=(60, 1))
        >>> y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=60)
        >>> model = KernelRidge(alpha=0.1, kernel=Gaussian(width=1.0)).fit(X, y)
        >>> [each.round(1).tolist() for each in model.predict_set([[1.5], [9.0]])]
        [[[0.6, 1.3]], [[-0.3, 0.4]]]
        """
        rows = self.checked_rows(X, diag)
        diagonal = self._diagonal(rows, diag) if self.kernel_.kind == "gram" else None
        found = sets_of_model(self.fitted_, rows, confidence, diagonal, categories)
        return found[0] if self._one_target else found

    def coverage(
        self,
        X: Any,
        y: Any,
        confidence: float = 0.9,
        method: str = "jackknife+",
        *,
        cv: Any = 10,
        random_state: Seed = None,
        diag: Any = None,
    ) -> Coverage:
        """Share of new rows whose target lies inside its interval, and the mean width of the intervals.

        Parameters
        ----------
        X, y : array-like
            Rows that the model was not fitted to, and their targets.
        confidence, method, cv, random_state, diag
            As for `predict_interval`.

        Returns
        -------
        Coverage
            Prints; `share` and `width` are per target; `float` gives the share.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRidge
        >>> from mercer.kernels import Gaussian
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0.0, 6.0, size=(560, 1))
        >>> y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=560)
        >>> model = KernelRidge(alpha=0.1, kernel=Gaussian(width=1.0)).fit(X[:60], y[:60])
        >>> print(model.coverage(X[60:], y[60:]))
        coverage 88.4 % on 500 rows (nominal 90 %, jackknife+); mean width 0.623
        """
        bounds = self.predict_interval(X, confidence, method, cv=cv, random_state=random_state, diag=diag)
        return coverage_of(bounds, y, confidence, method)

    @property
    def primal_coef_(self) -> Array:
        """Weights w of the explicit features, ``f(x) = phi(x)'w + intercept_``; one row of them per target."""
        weights = self._feature_weights()
        return weights[:, 0] if self._one_target else weights.T

    @property
    def prior_variance_(self) -> Any:
        """Variance of the Gaussian prior by maximum likelihood, y'a / n; per target."""
        check_is_fitted(self)
        return self._out(self.fitted_.evidence()[0][None])[0]

    @property
    def log_marginal_likelihood_(self) -> Any:
        """Log probability of y under the Gaussian view, at the best prior variance; per target.

        The noise variance is alpha times the prior variance. NaN for a singular system.
        """
        check_is_fitted(self)
        return self._out(self.fitted_.evidence()[1][None])[0]

    @property
    def effective_dof_(self) -> Any:
        """Effective degrees of freedom, the trace of the smoother matrix, intercept included.

        One number, or one per target where alpha is.
        """
        check_is_fitted(self)
        result = self.fitted_.degrees_of_freedom()
        return self._out(result[None])[0] if self._per_target else float(result[0])
