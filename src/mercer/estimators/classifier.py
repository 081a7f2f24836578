"""Classification by kernel ridge regression on labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.estimators.base import LabelsMixin, RidgeCore
from mercer.estimators.inputs import as_sample_weight
from mercer.selection.removals import balanced, label_targets


def checked_labels(y: Any) -> tuple[Array, Array]:
    """The classes in order, and the class number of each row."""
    check_classification_targets(y)
    classes, numbers = np.unique(y, return_inverse=True)
    return classes, numbers


def class_weights(given: Any, y: Any, weights: Array | None) -> Array | None:
    """Sample weights times those of the classes; "balanced" counts a row of weight two as two rows."""
    if given is None:
        return weights
    own = np.ones(len(y)) if weights is None else weights
    if given == "balanced":
        return np.asarray(own * balanced(np.unique(y, return_inverse=True)[1], own))
    return np.asarray(own * np.asarray(compute_sample_weight(given, y)))


def at_least_two(owner: str, labels: Array, numbers: Array, weights: Array | None) -> None:
    """Raise an error unless at least two classes have positive sample weight."""
    counts = np.bincount(numbers, weights, minlength=len(labels))
    left = labels[counts > 0].tolist()
    if len(left) < 2:
        got = f"1 class, {left[0]!r}" if left else "only zero weights"
        raise InputError(sentence(f"y of {owner}", "labels of at least two classes with positive sample weight", got))


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
        alpha: Any = 1.0,
        *,
        kernel: Any = "linear",
        fit_intercept: bool = False,
        class_weight: Any = None,
        solver: str = "auto",
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Training rows; for a precomputed kernel the Gram matrix.
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights, multiplied by those of `class_weight`.

        Returns
        -------
        self
        """
        X, y = self.checked_data(X, y)
        self.classes_, numbers = checked_labels(y)
        weights = as_sample_weight(sample_weight, X)
        at_least_two(type(self).__name__, self.classes_, numbers, weights)
        weights = class_weights(self.class_weight, y, weights)
        self._per_target = np.ndim(self.alpha) > 0
        self._fit_targets(X, label_targets(numbers, len(self.classes_)), weights)
        return self

    def publish(self) -> None:
        """Set the attributes that follow from `fitted_`."""
        super().publish()
        self.dual_coef_, self.intercept_ = self.fitted_.dual, self.fitted_.constant

    @property
    def primal_coef_(self) -> Array:
        """Weights w of the explicit features, ``decision = phi(x)'w + intercept_``; one row for two classes."""
        return self._feature_weights().T

    def decision_function(self, X: Any) -> Array:
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
        values = self.fitted_.values(self.checked_rows(X))
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> Array:
        """The label with the largest decision value.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        values = self.decision_function(X)
        chosen = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return np.asarray(self.classes_[chosen])
