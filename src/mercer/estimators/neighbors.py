"""Nearest neighbours by the distance a kernel defines: k(x, x) + k(z, z) - 2 k(x, z)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin

from mercer.data.rows import Array, XLike, YLike
from mercer.errors import refuse_if
from mercer.estimators.base import KernelEstimator
from mercer.estimators.inputs import check_kernels, width_of
from mercer.estimators.parameters import is_whole
from mercer.estimators.targets import class_numbers
from mercer.kernels.tiles import finite_on
from mercer.solvers.gram import nearest_rows


@dataclass(eq=False, repr=False)
class KernelNeighbors(KernelEstimator):
    """What both neighbour estimators share: the training rows and the search among them."""

    kernel: Any = "linear"
    n_neighbors: int = 1

    _remember: ClassVar[Any]  # keeps the targets

    def fit(self, X: XLike, y: YLike) -> Self:
        """Remember the rows and their targets.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets, or labels for a classifier.

        Returns
        -------
        self
        """
        X, y = self.check_data(X, y)
        self._remember(y)
        self._check_count(self.n_neighbors, X.shape[0])
        self._as_fitted = {"n_neighbors": self.n_neighbors}
        self.kernel_, rows = self.resolved_kernel(width_of(X)), self._as_rows(X)
        check_kernels([self.kernel_], rows)
        finite_on(self.kernel_, rows)
        self.X_fit_, self._diagonal_fit = X.copy(), self.kernel_.diagonal(rows)
        return self

    def _check_count(self, count: Any, n: int) -> None:
        bad, must_be = not is_whole(count, 1) or int(count) > n, f"an integer between 1 and n_samples = {n}"
        refuse_if(bad, f"n_neighbors of {type(self).__name__}", must_be, repr(count))

    def kneighbors(
        self, X: XLike, n_neighbors: int | None = None, return_distance: bool = True, *, diag: Any = None
    ) -> Any:
        """The nearest training rows of each row, nearest first; ties go to the earlier row.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows; for a precomputed kernel their k(x, X_fit_).
        n_neighbors : int, default=None
            How many; that of the constructor at fit by default.
        return_distance : bool, default=True
            Whether distances come too.
        diag : array-like of shape (n_rows,), default=None
            k(x, x) of the new rows, for distances with a precomputed kernel.

        Returns
        -------
        distances : ndarray of shape (n_rows, n_neighbors)
            In feature space; only with `return_distance`.
        numbers : ndarray of int, shape (n_rows, n_neighbors)
            Rows of the training table.
        """
        rows = self.check_rows(X, diag)
        count = self._as_fitted["n_neighbors"] if n_neighbors is None else n_neighbors
        self._check_count(count, self.X_fit_.shape[0])
        places, gaps = nearest_rows(self.kernel_, rows, self._fit_rows(), self._diagonal_fit, int(count))
        if not return_distance:
            return places
        what = f"Distances of {type(self).__name__} with a precomputed kernel need"
        own = self.own_similarity(rows, diag, what, ", or use return_distance=False")
        return np.sqrt(np.maximum(gaps + own[:, None], 0.0)), places


class KernelNeighborsClassifier(ClassifierMixin, KernelNeighbors):  # type: ignore[misc]
    """The most common label among the nearest rows in feature space.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="linear"
        As for `KernelRidge`; with the linear kernel the distance is the Euclidean one.
    n_neighbors : int, default=1
        How many neighbours vote; equal votes go to the class that comes first.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    X_fit_, kernel_
        As for `KernelRidge`.

    Examples
    --------
    >>> from mercer import KernelNeighborsClassifier
    >>> from mercer.kernels import Polynomial
    >>> model = KernelNeighborsClassifier(Polynomial(2), n_neighbors=1)
    >>> model.fit([[0.0], [1.0], [5.0]], ["low", "low", "high"]).predict([[0.4], [4.0]]).tolist()
    ['low', 'high']
    """

    def _remember(self, y: YLike) -> None:
        self.classes_, self._labels = class_numbers(y)

    def predict_proba(self, X: XLike) -> Array:
        """The share of each class among the neighbours.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        places = self.kneighbors(X, return_distance=False)
        votes = np.zeros((len(places), len(self.classes_)))
        for column in self._labels[places].T:
            votes[np.arange(len(votes)), column] += 1.0
        return np.asarray(votes / places.shape[1])

    def predict(self, X: XLike) -> Array:
        """The most common label among the neighbours.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[shares.argmax(axis=1)])


class KernelNeighborsRegressor(MultiOutputMixin, RegressorMixin, KernelNeighbors):  # type: ignore[misc]
    """The mean target of the nearest rows in feature space.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="linear"
        As for `KernelRidge`; with the linear kernel the distance is the Euclidean one.
    n_neighbors : int, default=1
        How many neighbours are averaged.

    Attributes
    ----------
    X_fit_, kernel_
        As for `KernelRidge`.

    Examples
    --------
    >>> from mercer import KernelNeighborsRegressor
    >>> model = KernelNeighborsRegressor("rbf", n_neighbors=2)
    >>> model.fit([[0.0], [1.0], [5.0]], [1.0, 2.0, 9.0]).predict([[0.4]]).tolist()
    [1.5]
    """

    def _remember(self, y: YLike) -> None:
        self._targets = np.array(y, dtype=np.float64)

    def predict(self, X: XLike) -> Array:
        """The mean target of the neighbours.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets)
        """
        places = self.kneighbors(X, return_distance=False)
        return np.asarray(self._targets[places].mean(axis=1))
