"""Models that several tests look at, each fitted once in a session."""

import pickle
from typing import ClassVar

from sklearn.base import clone

from mercer import KernelRidge, KernelRidgeClassifier

_MODELS: dict = {}


def fitted(model, X, y, **more):
    """The model fitted to a table: the same object for the same class, parameters and table. It must not be changed."""
    key = _key(model, X, y, more)
    if key not in _MODELS:
        _MODELS[key] = clone(model).fit(X, y, **more)
    return _MODELS[key]


def _key(model, *given):
    return type(model), repr(sorted(model.get_params(deep=False).items())), pickle.dumps(given)


class Remembered:
    """An estimator for scikit-learn's searches to refit: the same rows with the same settings are fitted once."""

    _fits: ClassVar[dict] = {}

    def fit(self, X, y, sample_weight=None):
        """The fit of the estimator, or what it left behind the first time."""
        key = _key(self, X, y, sample_weight)
        if key not in self._fits:
            super().fit(X, y, sample_weight)
            self._fits[key] = vars(self).copy()
        vars(self).update(self._fits[key])
        return self


class RememberedRidge(Remembered, KernelRidge):
    """KernelRidge, fitted once."""


class RememberedClassifier(Remembered, KernelRidgeClassifier):
    """KernelRidgeClassifier, fitted once."""
