"""Kernel ridge regression and classification: scikit-learn's signature, and an exact intercept."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer.data.rows import AlphaLike, Array, ClassWeight, XLike
from mercer.estimators.base import RidgeCore, store
from mercer.estimators.intervals import IntervalsMixin
from mercer.estimators.parameters import resolve
from mercer.estimators.targets import LabelsMixin
from mercer.estimators.updating import Updatable
from mercer.kernels import Kernel


class KernelRidge(IntervalsMixin, MultiOutputMixin, RegressorMixin, Updatable, RidgeCore):  # type: ignore[misc]
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
        alpha: AlphaLike = 1.0,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        degree: Any = 3,
        coef0: Any = 1,
        kernel_params: Any = None,
        fit_intercept: bool = False,
        solver: str = "auto",
    ) -> None:
        store(self, locals())

    _kept_factor = True

    def resolved_kernel(self, columns: int) -> Kernel:
        """The kernel that the parameters stand for, on rows of so many columns."""
        named = self.gamma, self.degree, self.coef0, self.kernel_params
        return resolve(type(self).__name__, self.kernel, columns, *named)

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

    def __init__(
        self,
        alpha: AlphaLike = 1.0,
        *,
        kernel: Any = "linear",
        fit_intercept: bool = False,
        class_weight: ClassWeight = None,
        solver: str = "auto",
    ) -> None:
        store(self, locals())

    def decision_function(self, X: XLike) -> Array:
        """Regression on the labels: positive for the second of two classes, or one column per class.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        check_is_fitted(self)
        values = self.fitted_.values(self.check_rows(X))
        return values[:, 0] if len(self.classes_) == 2 else values
