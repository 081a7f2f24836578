"""Classification by ridge regression on landmarks: one pass over the rows, however many there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin

from mercer.data.blocks import Block, Source
from mercer.data.folds import checked_names
from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.estimators.nystroem_core import NystroemCore
from mercer.estimators.nystroem_input import opened
from mercer.runtime.passes import run_pass
from mercer.streaming.losses import FindLabels, LabelLosses, class_counts
from mercer.streaming.sums import State, Targets

_AT_ONCE = 65_536


def found_labels(owner: str, source: Source, backend: Any, given: Any = None) -> LabelLosses:
    """The classes: those given, or those that a pass finds."""
    if given is None:
        classes = run_pass(source, FindLabels(), at_once=_AT_ONCE, backend=backend)["labels"]
    else:
        classes = np.unique(given)
    if len(classes) < 2:
        got = f"1 class, {classes.tolist()[0]!r}"
        raise InputError(sentence(f"y of {owner}", "labels of at least two classes", got))
    return LabelLosses(classes)


def refuse_one_class(owner: str, state: State, labels: LabelLosses) -> None:
    """Refuse labels of which one class alone has weight."""
    counts = class_counts(state["sums"], state["weights"], len(labels.classes)).sum(axis=0)
    left = labels.classes[counts > 1e-9 * max(float(counts.max()), 1e-300)].tolist()
    if len(left) < 2:
        got = f"1 class, {left[0]!r}" if left else "no class with weight"
        raise InputError(sentence(f"y of {owner}", "labels of at least two classes", got))


def chosen_labels(classes: Array, values: Array) -> Array:
    """The label with the largest decision value."""
    chosen = (values[:, 0] > 0).astype(int) if values.shape[1] == 1 else values.argmax(axis=1)
    return np.asarray(classes[chosen])


class NystroemRidgeClassifier(ClassifierMixin, NystroemCore):  # type: ignore[misc]
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

    _labels: ClassVar[bool] = True
    _known: Array | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Without a constant, classes of very different weight all look alike far from the origin.
        tags.classifier_tags.poor_score = not self.fit_intercept
        return tags

    def _opened(self, X: Any, y: Any, sample_weight: Any, *, reset: bool = True) -> Source:
        return opened(self, X, y, sample_weight, labels=True, reset=reset)

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
            yield chosen_labels(self.classes_, values)
