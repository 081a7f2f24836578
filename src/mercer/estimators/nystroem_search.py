"""Ridge regression on landmarks that chooses its kernel and alpha by exact cross-validation, from one pass."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer.data.blocks import Block, Source
from mercer.estimators.nystroem import NystroemRidge
from mercer.estimators.nystroem_input import opened
from mercer.estimators.nystroem_search_core import NystroemSearchCore
from mercer.streaming.landmarks import numbers_of
from mercer.streaming.sums import Targets


class NystroemRidgeCV(MultiOutputMixin, RegressorMixin, NystroemSearchCore):  # type: ignore[misc]
    """Ridge regression on landmarks that chooses its kernel and alpha by exact cross-validation, from one pass.

    Sums over the rows of each fold give the models without that fold, for every alpha, and their squared errors on it:
    the same numbers as refitting with the same landmarks. Landmarks, ladders and the offset of y come from
    a sample of all rows, before any split, and do not look at scores.

    Parameters
    ----------
    kernels : Kernel, list of Kernel or str, default="gaussian"
        Candidates, as for `KernelRidgeCV`; ladders of widths come from a sample of rows.
    alphas : array-like, default=None
        Candidates. None: a ladder from the spectra of the kernels on the sample.
    cv : int, default=10
        Folds. A row's fold is a hash of its number, or of its key where `groups` are given: neither the size of blocks
        nor the number of workers changes it. Where that would leave a fold empty, the rows or groups are dealt to the
        folds evenly, in the order of their hashes.
    landmarks, method, budget
        As for `NystroemRidge`, for each kernel.
    nested : bool, default=False
        Whether pairs of folds are left out as well, for an honest score of the whole search: `nested_`.
    scoring : str, scorer, callable or None, default=None
        As for `KernelRidgeCV`. Squared errors (None), their root and "r2" come from the sums.
        "neg_mean_absolute_error" and "max_error" take a second pass; any other a second pass that keeps all
        held-out predictions.
    fit_intercept : bool, default=False
        Whether the model has an unpenalised constant.
    rule : {"best", "one_se"}, default="best"
        "one_se" keeps the winner's kernel and takes the largest alpha within one standard error.
    backend, checkpoint, block_rows, verbose
        As for `NystroemRidge`.
    random_state : int, RandomState or None, default=0
        Of landmarks and folds.

    Attributes
    ----------
    best_kernel_, alpha_, best_score_, best_index_ : Kernel, float, float, int
        The winner.
    best_estimator_ : NystroemRidge
        The winner fitted to all rows.
    cv_results_, kernels_, alphas_, digits_, folds_
        As for `KernelRidgeCV`.
    landmark_check_ : LandmarkCheck
        Held-out error with all landmarks and with half of them: whether more would still help.
    nested_ : NestedScores
        Only with `nested`; its scores are also `nested_scores_`, and `optimism_` is what plain scores hide.
    fold_rows_ : ndarray of shape (cv,)
        Rows of each fold.
    plan_ : StreamPlan
        What the passes were predicted to take.

    See Also
    --------
    mercer.KernelRidgeCV : The same with every row as a landmark, for tables of some thousand rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NystroemRidgeCV
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 6.0, size=(4000, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=4000)
    >>> kernels, alphas = [Gaussian(w) for w in (0.1, 1.0, 10.0)], [1e-3, 0.1, 10.0, 1000.0]
    >>> search = NystroemRidgeCV(kernels, alphas, landmarks=30).fit(X, y)
    >>> search.best_kernel_, search.alpha_
    (Gaussian(width=1.0), 0.1)
    """

    def _opened(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Source:
        return opened(self, X, y, sample_weight, groups, labels=False, least=2)

    def _targets_of(self, sample: Block, source: Source) -> Targets:
        return numbers_of(sample)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Draw landmarks, read all rows once (or a few times), choose, and keep the winner.

        Parameters
        ----------
        X, y
            As for `NystroemRidge`.
        sample_weight : float, array-like, column name or path, default=None
            Weights of training; scores are not weighted.
        groups : array-like, column name or path, default=None
            Keys; rows with the same key are always in the same fold.

        Returns
        -------
        self
        """
        search = self._settled(X, y, sample_weight, groups)
        found, k, a = self._searched(search)
        self.best_estimator_ = self._winner(NystroemRidge, search, found, k, a)
        self.best_estimator_.publish()
        return self
