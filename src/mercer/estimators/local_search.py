"""Kernel ridge regression and classification in cells that choose their kernel and alpha."""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.data.folds import Folds, Split, draw
from mercer.data.rows import AlphaLike, Array, ClassWeight, PerRow, Rows, ScoringLike, Seed, SplitsLike, XLike, YLike
from mercer.estimators.base import is_tuned
from mercer.estimators.local import (
    LocalCore,
    LocalLabels,
    LocalNumbers,
    LocalRidge,
    LocalRidgeClassifier,
)
from mercer.kernels import Kernel
from mercer.local.search import LocalCandidates, LocalPlan, tuned_kernels
from mercer.selection.ladders import resolve_alphas, resolve_kernels, warn_of_scales
from mercer.selection.scoring import resolve_scoring
from mercer.solvers.problem import Problem
from mercer.text import counted, plain
from mercer.tuning.held_out import start_alpha

_VERIFIED = 20  # rows that verify=True refits


@dataclass(eq=False, repr=False)
class LocalSearch(LocalCore):
    """A model in cells that chooses its kernel and alpha."""

    kernels: Any = "tuned"
    alphas: AlphaLike = None
    _: KW_ONLY
    cv: SplitsLike = None
    repeats: int = 1
    scoring: ScoringLike = None
    verify: bool = False
    random_state: Seed = 0

    _fewest: ClassVar[int] = 2
    _words: list[str] = field(init=False)  # of the summary, which files keep
    _model: ClassVar[Any]

    def fit(self, X: XLike, y: YLike, sample_weight: PerRow = None, groups: PerRow = None) -> Self:
        """Compare candidates on a sample of their cells, and solve all cells of the best one.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; for a classifier labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of training; scores are not weighted. Rows of weight zero are left out.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group are never on both sides of a split: they are left out of every cell they are in.

        Returns
        -------
        self
        """
        for name in ("verified_", "folds_"):
            self.__dict__.pop(name, None)  # of a fit before
        rows, problem, targets, order = self.prepare(X, y, sample_weight)
        place, splits = np.argsort(order), None
        classes = None if targets.classes is None else replace(targets.classes, numbers=targets.classes.numbers[order])
        folds = self._folds(rows.values[place], targets.y, groups)
        if folds is not None:
            self.folds_ = folds
            splits = [Split(place[split.train], np.sort(place[split.test])) for split in self.folds_.splits]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        starts, cells_of = self._starts(rows, problem, seed), self.by_metric(rows, problem, splits)
        scoring = resolve_scoring(self.scoring, classifier=is_classifier(self))
        candidates = LocalCandidates(cells_of, targets.y[order], scoring, classes, seed, int(self.verbose))
        self._promise(rows, problem.Y.shape[1], 0 if splits is None else len(splits))
        alphas = None if self.alphas is None else resolve_alphas(self.alphas, [], rows)
        fitted = candidates.search(starts, alphas, tuned=is_tuned(self))
        self.best_kernel_, self.alpha_, self.best_score_ = fitted.kernel, fitted.alpha, candidates.score_of(fitted)
        self.cv_results_ = candidates.results()
        self._hold(fitted, targets, order)
        self.cv_predictions_ = self._by_repeat(order)
        how = "leave-one-out of every row" if folds is None else folds.label
        best = f"Best of {counted(len(self.cv_results_['params']), 'candidate')}, compared on a sample of cells."
        self._words = [f"{best} Score of all rows: {plain(self.best_score_)} ({how})."]
        if self.verify:
            self.verified_ = self._verify(np.random.default_rng(seed))
            self._words.append(f"Refitting some rows agreed to {self.verified_:.1e}, in the units of y.")
        return self

    def _folds(self, X: Array, y: Array, groups: PerRow) -> Folds | None:
        """The splits, in the order of rows as given; None for leave-one-out of single rows."""
        if self.cv is None and groups is None:
            return None
        classifier, seed = is_classifier(self), self.random_state
        return draw(self.cv, X, y, classifier=classifier, repeats=self.repeats, groups=groups, random_state=seed)

    def _by_repeat(self, order: Array) -> Array:
        """Held-out predictions of all rows for each repeat."""
        held_out, parts = self.fitted_.held_out, [self.fitted_.held_out[None]]
        if held_out.ndim == 3:
            parts = np.split(held_out, np.cumsum([len(repeat) for repeat in self.folds_.repeats])[:-1])
        table = np.full((len(parts), *held_out.shape[-2:]), np.nan)
        for repeat, part in zip(table, parts, strict=True):
            for values in part:  # of rows that are tested again in one repeat, the last time
                repeat[order] = np.where(np.isnan(values), repeat[order], values)
        return table[:, :, 0] if table.shape[2] == 1 else table

    def _verify(self, rng: np.random.Generator) -> float:
        """Largest difference between held-out predictions of a few rows and refits of their cells from raw rows."""
        fitted, gaps = self.fitted_, [0.0]
        for row in map(int, rng.permutation(len(fitted.cells.rows))[:_VERIFIED]):
            splits = [None] if fitted.cells.splits is None else np.flatnonzero(fitted.cells.test_marks[:, row]).tolist()
            for split in splits:
                held_out = fitted.held_out[row] if split is None else fitted.held_out[split, row]
                gaps.append(float(np.abs(fitted.refit_row(row, split) - held_out).max()))
        return float(np.max(gaps))

    def _starts(self, rows: Rows, problem: Problem, seed: int) -> list[tuple[Kernel, float]]:
        """Candidate kernels, and the alpha that each begins with."""
        if is_tuned(self):
            return tuned_kernels(rows, problem, seed)
        kernels = resolve_kernels(self.kernels, rows)
        for kernel in kernels:
            self._refuse_kernel(kernel, rows)
        warn_of_scales(kernels, rows)
        return [(kernel, 1.0 if self.alphas is not None else start_alpha(kernel, rows, problem)) for kernel in kernels]

    def explain(self, X: XLike, y: YLike, sample_weight: PerRow = None, groups: PerRow = None) -> LocalPlan:
        """Cells, time and memory that `fit` on this data would take; nothing is solved.

        Parameters
        ----------
        X, y, sample_weight, groups
            As for `fit`.

        Returns
        -------
        LocalPlan
        """
        model = copy.copy(self)  # so that nothing looks fitted that is not
        rows, problem, targets, order = model.prepare(X, y, sample_weight)
        kernels = 5 if is_tuned(self) else len(resolve_kernels(self.kernels, rows))
        candidates = kernels * (6 if self.alphas is None else np.size(self.alphas))
        folds = self._folds(rows.values[np.argsort(order)], targets.y, groups)
        splits = 0 if folds is None else len(folds.splits)
        return LocalPlan.of(len(rows), rows.width, problem.Y.shape[1], self, candidates, splits)

    @property
    def best_estimator_(self) -> Any:
        """The best candidate as a model of its own, fitted to all rows."""
        check_is_fitted(self, "fitted_")
        model = self._model(self.alpha_, kernel=self.best_kernel_)
        shared = self.get_params(deep=False).keys() & model.get_params(deep=False).keys()
        model.set_params(**{name: getattr(self, name) for name in shared})
        kept = ("n_features_in_", "feature_names_in_", "classes_", "temperature_", "_one_target")
        vars(model).update({name: getattr(self, name) for name in kept if hasattr(self, name)})
        model.publish(self.fitted_, self._order)
        return model

    def _cell_words(self) -> list[str]:
        return [*super()._cell_words(), *self._words]


@dataclass(eq=False, repr=False, kw_only=True)
class LocalRidgeCV(LocalNumbers, LocalSearch):
    """Kernel ridge regression in cells that tunes its kernel, with a width per column, and chooses alpha.

    By default four kernels are tuned on draws of at most 1200 rows. Those that are not far behind the best are tried
    in cells, the best also with twice its widths, alpha downhill, by the held-out score of some 3 % of their cells. All
    cells of the best candidate are then solved. Held-out predictions equal those of refitting with the same partition,
    kernel and alpha; these have seen all rows.

    Parameters
    ----------
    kernels : "tuned", Kernel, list of Kernel or str, default="tuned"
        Candidates: tuned, as above; or as for `KernelRidgeCV`, of rows of numbers.
    alphas : array-like, default=None
        Candidates. None: downhill from the tuned alpha, or from the best of a ladder on 500 rows.
    cv : int, splitter, iterable of (train, test) or None, default=None
        None is leave-one-out of every row; with `groups`, of every group. Others cost about four times as much.
    repeats : int, default=1
        How often the folds are drawn.
    scoring : str, scorer, callable or None, default=None
        As for `KernelRidgeCV`. Leave-one-out is scored on all rows at once.
    core_rows, system_rows, mix, fit_intercept
        As for `LocalRidge`.
    verify : bool, default=False
        Whether the held-out predictions of 20 rows are compared with refits of their cells: `verified_`.
    random_state : int, RandomState or None, default=0
        Random seed of the rows and cells that are drawn, and of shuffled folds.
    verbose : int, default=0
        1: progress with the time left on a terminal. 2: everywhere.

    Attributes
    ----------
    best_kernel_, alpha_, best_score_ : Kernel, float, float
        The best candidate, and its held-out score over all rows.
    cv_results_ : dict
        Kernel, alpha and score of every candidate on its sample of cells.
    cv_predictions_ : ndarray of shape (repeats, n_samples) or (repeats, n_samples, n_targets)
        Held-out predictions of the best candidate.
    best_estimator_ : LocalRidge
        The best candidate fitted to all rows.
    verified_ : float
        Largest difference between held-out predictions and refits; only with `verify`.
    residuals_, partition_, kernel_, condition_, digits_
        As for `LocalRidge`; residuals are held-out predictions less targets.

    See Also
    --------
    mercer.KernelRidgeCV : One system of all rows, for up to some thousand of them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LocalRidgeCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 6.0, size=(3000, 2))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=3000)
    >>> search = LocalRidgeCV(core_rows=64, system_rows=256).fit(X, y)
    >>> bool(0.009 < -search.best_score_ < 0.012)  # the variance of the noise is 0.01
    True
    """

    _model = LocalRidge


@dataclass(eq=False, repr=False, kw_only=True)
class LocalRidgeClassifierCV(LocalLabels, LocalSearch):
    """Least squares on labels in cells, with tuned kernels and calibrated probabilities.

    Parameters
    ----------
    kernels, alphas, cv, repeats, core_rows, system_rows, mix, fit_intercept, verify, random_state, verbose
        As for `LocalRidgeCV`; an int for `cv` is stratified.
    scoring : str, scorer, callable or None, default=None
        None is accuracy; otherwise as for `LocalRidgeCV`.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; "balanced" counts the classes of all rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    cv_predictions_ : ndarray of shape (repeats, n_samples) or (repeats, n_samples, n_classes)
        Held-out decision values of the best candidate.
    best_kernel_, alpha_, best_score_, best_estimator_, cv_results_, residuals_, partition_, digits_
        As for `LocalRidgeCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LocalRidgeClassifierCV
    >>> X = np.random.default_rng(0).uniform(0.0, 10.0, size=(2000, 2))
    >>> y = np.where(np.sin(X[:, 0]) * np.sin(X[:, 1]) > 0, "up", "down")
    >>> search = LocalRidgeClassifierCV(core_rows=64, system_rows=256).fit(X, y)
    >>> bool(search.best_score_ > 0.95), search.predict([[1.5, 1.5], [1.5, 4.5]]).tolist()
    (True, ['up', 'down'])
    """

    class_weight: ClassWeight = None

    _model = LocalRidgeClassifier
