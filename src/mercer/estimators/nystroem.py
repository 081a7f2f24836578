"""Ridge regression and classification on landmarks: one pass over the rows, however many there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer.data.folds import checked_names
from mercer.data.rows import Array
from mercer.estimators.base import LabelsMixin
from mercer.estimators.nystroem_base import found_labels, refuse_one_class
from mercer.estimators.nystroem_core import NystroemCore
from mercer.selection.removals import label_numbers
from mercer.streaming.blocks import Block, Source
from mercer.streaming.sums import State, Targets


class NystroemRidge(MultiOutputMixin, RegressorMixin, NystroemCore):  # type: ignore[misc]
    """Kernel ridge regression on the features of a few landmark rows, from one pass over all rows.

    The rows are read block by block and never held together; the model keeps the landmarks alone. With every row as a
    landmark it is kernel ridge regression.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        Regularization, not negative; the same as `KernelRidge` has.
    kernel : Kernel, str or callable, default="gaussian"
        As for `KernelRidge`, of rows of numbers. "gaussian" has gamma = 1 / n_features.
    landmarks : int, array-like of shape (n_landmarks, n_features) or None, default=None
        How many, or the rows themselves. None: as many as rows, memory and `budget` suggest, at most 2000.
    method : {"pivoted", "kmeans", "uniform"}, default="pivoted"
        How landmarks are drawn from a sample: by what those before leave open (randomly pivoted Cholesky), by the
        seeding of k-means++ in feature space, or by chance.
    fit_intercept : bool, default=False
        Whether the model has an unpenalized constant.
    budget : float, default=120.0
        Seconds that the pass may take, by prediction, where the number of landmarks is left open.
    backend : str, Client or None, default=None
        Where blocks are summed: "serial", "threads", "dask", a scheduler's address or a Dask client. None: Dask for
        Dask collections while a client is there, otherwise here.
    checkpoint : path, default=None
        File that keeps the sums; a pass that was killed goes on from it.
    block_rows : int or None, default=None
        Rows read together; None: about 30 MB of kernel values.
    random_state : int, RandomState or None, default=0
        Of the landmarks.
    verbose : int, default=0
        1: progress. 2: progress with a line for every half second, also in files.

    Attributes
    ----------
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        Those that tell something new.
    dual_coef_ : ndarray of shape (n_landmarks,) or (n_landmarks, n_targets)
        f(x) = k(x, landmarks_) dual_coef_ + intercept_.
    intercept_ : float or ndarray of shape (n_targets,)
        The constant.
    kernel_ : Kernel
        The kernel itself.
    n_rows_ : int
        Rows that were summed.
    condition_ : float
        A bound of the condition number of the system.
    plan_ : StreamPlan
        What the pass was predicted to take.

    See Also
    --------
    mercer.NystroemRidgeCV : Chooses kernel and alpha, from the same pass.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NystroemRidge
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 6.0, size=(5000, 1))
    >>> model = NystroemRidge(1e-3, kernel=Gaussian(1.0), landmarks=20).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.0], [2.0]]).round(3)
    array([0.841, 0.909])

    Blocks that come one after the other, from anywhere:

    >>> def blocks():
    ...     for seed in range(5):
    ...         X = np.random.default_rng(seed).uniform(0.0, 6.0, size=(1000, 1))
    ...         yield X, np.sin(X[:, 0])
    >>> NystroemRidge(1e-3, kernel=Gaussian(1.0), landmarks=20).fit(blocks).predict([[1.0]]).round(3)
    array([0.841])
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Draw landmarks, read all rows once, and solve.

        Parameters
        ----------
        X : array-like, DataFrame, path, memory map, Dask collection, or blocks
            Rows: a table in memory; the path of a .npy, .csv, .tsv or .parquet file or of a folder of Parquet files; or
            blocks (X, y) or (X, y, weights), as something that can be iterated over again or a function that returns
            an iterator.
        y : array-like, column name or list of them, path or None
            Targets; None where blocks bring their own.
        sample_weight : float, array-like, column name or path, default=None
            Weights of the squared errors.

        Returns
        -------
        self
        """
        return self._fitted(X, y, sample_weight, more=False)

    def publish(self) -> None:
        """Set the attributes that follow from what predictions need."""
        self.dual_coef_ = self._out(self._dual)
        self.intercept_ = self._out(self._intercept[None])[0]

    def _out(self, table: Array) -> Array:
        return table[:, 0] if self._one_target else table

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows: the model is what `fit` to all of them together, with the same landmarks, would have given.

        The first call draws the landmarks, from its own rows alone.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import NystroemRidge
        >>> X = np.linspace(0.0, 6.0, 900)[:, None]
        >>> whole = NystroemRidge(landmarks=X[::100]).fit(X, np.sin(X[:, 0]))
        >>> pieces = NystroemRidge(landmarks=X[::100])
        >>> for part in (slice(0, 300), slice(300, 900)):
        ...     pieces = pieces.partial_fit(X[part], np.sin(X[part, 0]))
        >>> bool(np.abs(pieces.predict(X) - whole.predict(X)).max() < 1e-9)
        True
        """
        if not hasattr(self, "_dual"):
            return self._fitted(X, y, sample_weight, more=True)
        return self._more(X, y, sample_weight)

    def predict(self, X: Any) -> Array:
        """Predict, block by block; only the predictions are held.

        Parameters
        ----------
        X : array-like, DataFrame, path, memory map, Dask collection, or blocks
            New rows. Of a file or a Dask DataFrame the columns of training are taken by name, others are left alone.
            A DataFrame in memory must have these columns alone, in the same order, as everywhere in scikit-learn.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets)
        """
        return self._out(self._values(X))

    def predict_blocks(self, X: Any) -> Iterator[Array]:
        """Predictions that do not fit in memory: those of one block of rows after the other.

        Parameters
        ----------
        X : array-like, DataFrame, path, memory map, Dask collection, or blocks
            New rows.

        Yields
        ------
        ndarray of shape (n_rows,) or (n_rows, n_targets)

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import NystroemRidge
        >>> X = np.linspace(0.0, 6.0, 40_000)[:, None]
        >>> model = NystroemRidge(landmarks=20).fit(X, np.sin(X[:, 0]))
        >>> [len(values) for values in model.predict_blocks(X)]
        [32768, 7232]
        """
        for values in self._value_blocks(X):
            yield self._out(np.asarray(values))


class NystroemRidgeClassifier(LabelsMixin, NystroemCore):
    """Least squares on labels with the features of a few landmark rows, from one pass over all rows.

    Labels become -1 and +1 for two classes, one-hot columns for more; the largest value wins. Where the rows are read
    in passes, one more pass finds the labels.

    Parameters
    ----------
    alpha, kernel, landmarks, method, fit_intercept, budget, backend, checkpoint, block_rows, random_state, verbose
        As for `NystroemRidge`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    landmarks_, kernel_, n_rows_, condition_, plan_
        As for `NystroemRidge`.
    dual_coef_ : ndarray of shape (n_landmarks, 1) or (n_landmarks, n_classes)
        Coefficients of the decision function.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Its constant.

    See Also
    --------
    mercer.NystroemRidge : The same for numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NystroemRidgeClassifier
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(3000, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "odd")
    >>> model = NystroemRidgeClassifier(0.1, kernel=Gaussian(1.0), landmarks=50).fit(X, y)
    >>> model.predict([[1.0, 1.0], [1.0, -1.0]]).tolist()
    ['same', 'odd']
    """

    _classifies: ClassVar[bool] = True
    _known: Array | None = None

    def _targets_of(self, sample: Block, source: Source) -> Targets:
        return found_labels(type(self).__name__, source, self.backend, self._known)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the labels, draw landmarks, read all rows once, and solve.

        Parameters
        ----------
        X, sample_weight
            As for `NystroemRidge`.
        y : array-like of shape (n_samples,), column name, path or None
            Labels of at least two classes; None where blocks bring their own.

        Returns
        -------
        self
        """
        self._known = None
        return self._fitted(X, y, sample_weight, more=False)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows: the model is what `fit` to all of them together, with the same landmarks, would have given.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array-like, default=None
            All labels that will ever come, for the first call; None: those of its rows.

        Returns
        -------
        self
        """
        if hasattr(self, "_dual"):
            return self._more(X, y, sample_weight)
        self._known = None if classes is None else np.unique(checked_names("classes", classes, len(classes)))
        return self._fitted(X, y, sample_weight, more=True)

    def _solve(self, work: Any, state: State) -> None:
        if self._known is None:  # labels that were promised may still come
            refuse_one_class(type(self).__name__, state, work.targets)
        super()._solve(work, state)
        self.classes_ = work.targets.classes

    def publish(self) -> None:
        """Set the attributes that follow from what predictions need."""
        self.dual_coef_, self.intercept_ = self._dual, self._intercept

    def decision_function(self, X: Any) -> Array:
        """Regression on the labels: positive for the second of two classes, or one column per class.

        Parameters
        ----------
        X : array-like, DataFrame, path, memory map, Dask collection, or blocks
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        values = self._values(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> Array:
        """The label with the largest decision value.

        Parameters
        ----------
        X : array-like, DataFrame, path, memory map, Dask collection, or blocks
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return np.concatenate(list(self.predict_blocks(X)))

    def predict_blocks(self, X: Any) -> Iterator[Array]:
        """Labels of one block of rows after the other.

        Parameters
        ----------
        X : array-like, DataFrame, path, memory map, Dask collection, or blocks
            New rows.

        Yields
        ------
        ndarray of shape (n_rows,)
        """
        for values in self._value_blocks(X):
            chosen = label_numbers(values)
            yield np.asarray(self.classes_[chosen])
