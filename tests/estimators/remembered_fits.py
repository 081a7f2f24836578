"""Estimators for scikit-learn's searches to refit, which remember: what several searches fit again, they fit once."""

from typing import ClassVar

import numpy as np

from mercer import KernelRidge, KernelRidgeClassifier


class Remembered:
    """The same rows with the same settings are fitted once, whoever asks."""

    _fits: ClassVar[dict] = {}

    def fit(self, X, y, sample_weight=None):
        """The fit of the estimator, or what it left behind the first time."""
        settings = repr(sorted(self.get_params(deep=False).items()))
        given = [np.asarray(part) for part in (X, y, sample_weight)]
        key = (type(self), settings, *((part.shape, part.dtype.str, part.tobytes()) for part in given))
        if key not in self._fits:
            super().fit(X, y, sample_weight)
            self._fits[key] = vars(self).copy()
        vars(self).update(self._fits[key])
        return self


class RememberedRidge(Remembered, KernelRidge):
    """KernelRidge, fitted once."""


class RememberedClassifier(Remembered, KernelRidgeClassifier):
    """KernelRidgeClassifier, fitted once."""
