"""Select kernel and alpha for any loss: held-out predictions of all candidates from one factor at each optimum."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, check_random_state

from mercer.data.folds import Folds
from mercer.data.rows import AlphaLike, Array, PerRow, Rows, ScoringLike, SplitsLike, XLike, YLike
from mercer.errors import InputError, MercerWarning, refuse_if, sentence
from mercer.estimators.loss_models import KernelLogistic, KernelRegressor, LossOfLabels, LossOfNumbers, minimize
from mercer.estimators.parameters import validate
from mercer.estimators.search_core import SearchInputs, keep_choice
from mercer.runtime import promise
from mercer.runtime.progress import Progress
from mercer.runtime.resources import blas_for
from mercer.selection.removals import Removals
from mercer.selection.scoring import Truth, resolve_scoring
from mercer.selection.table import SearchTable
from mercer.solvers.gram import training_matrix
from mercer.solvers.newton import LEVERAGE, Optimum, Task
from mercer.solvers.problem import Loss, Pinball
from mercer.text import Text, counted

_REPLAYED = 5  # splits of the best candidate that are refitted


@dataclass(eq=False, repr=False)
class LossSearch(SearchInputs):
    """What the searches of regressors and of logistic models share."""

    kernels: Any = "gaussian"
    alphas: AlphaLike = None
    _: KW_ONLY
    cv: SplitsLike = None
    repeats: int = 1
    exact: bool = False
    scoring: ScoringLike = None
    fit_intercept: bool = False
    rule: str = "best"
    random_state: Any = None
    verbose: int = 0

    _model: ClassVar[Any]  # the class of the best candidate

    def fit(self, X: XLike, y: YLike, sample_weight: PerRow = None, groups: PerRow = None) -> Self:
        """Search, and fit the best candidate to all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows; for precomputed kernels the kernel matrix.
        y : array-like of shape (n_samples,)
            Targets or labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of training; scores are not weighted.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group are never on both sides of a split.

        Returns
        -------
        self
        """
        X, y = self.check_data(X, y)
        validate(self)
        numbers, weights, classes = self._read(X, y, sample_weight)
        given, n = numbers if classes is None else np.asarray(y), len(numbers)
        weights = np.ones(n) if weights is None else weights
        rows = Rows(X, getattr(self, "feature_names_in_", None))
        kernels, alphas, folds, _ = self._resolve(rows, given, groups)
        refuse_if(not (alphas > 0).all(), f"alphas of {type(self).__name__}", "above 0", alphas.min())
        promise(64 * n * n, f"{type(self).__name__} with {n} rows", "Use fewer rows.")
        removals = Removals.of(folds.splits, n)
        scoring = None if self.scoring is None else resolve_scoring(self.scoring, classifier=classes is not None)
        truth = Truth(given, removals, classes)
        name = "neg_mean_loss" if scoring is None else scoring.name
        table = SearchTable.empty(kernels, alphas, len(removals), 1, name)

        def score(loss: Loss, values: list[Array]) -> Array:
            if scoring is None:  # minus the mean loss
                tests = zip(removals.tests, values, strict=True)
                return np.array([-np.mean(loss.rows(numbers[test], part)) for test, part in tests])
            shown = values if classes is not None else [loss.mean(part) for part in values]
            return scoring.by_split(truth, np.concatenate(shown))

        with blas_for(n), np.errstate(under="ignore"):
            K = training_matrix(kernels[0], rows)
            first = Task(K, numbers, weights, self._loss(numbers, weights, K), bool(self.fit_intercept))
            optimum, values = self._run(table, folds, removals, first, rows, score)
        self._keep_difference(optimum, removals, values)
        loss = optimum.task.loss
        self.cv_predictions_ = self._by_repeat(loss, folds, removals, values)
        model = self._model(self.alpha_, kernel=self.best_kernel_)
        settings = {name: getattr(self, name) for name in vars(model).keys() & vars(self).keys()}
        if "delta" in settings:
            settings["delta"] = getattr(loss, "delta", None)
        self.best_estimator_ = model.set_params(**settings).fit(X, given, sample_weight)
        return self

    def _run(
        self, table: SearchTable, folds: Folds, removals: Removals, first: Task, rows: Rows,
        score: Callable[[Loss, list[Array]], Array],
    ) -> tuple[Optimum, list[Array]]:  # fmt: skip
        """Fill the table and choose; the optimum of the best candidate, and its values at held-out rows."""
        progress = Progress("comparing candidates", len(table.kernels) * len(table.alphas), self.verbose)
        held: dict[tuple[int, int], tuple[Array, list[Array]]] = {}  # values at all rows, and at held-out ones

        def task_of(k: int) -> Task:
            return first if k == 0 else replace(first, K=training_matrix(table.kernels[k], rows))

        def judge(task: Task, place: tuple[int, int], start: Array | None, *, sure: bool) -> None:
            found = minimize(task, float(table.alphas[place[1]]), start)
            values, table.refits[place] = self._held_out(found, removals, sure=sure)
            scores = score(task.loss, values)
            table.scores[place][:, 0], table.condition[place] = scores, 1.0
            table.pooled[place][0] = float(np.mean(scores))
            held[place] = found.f, values

        for k in range(len(table.kernels)):
            task, start = task_of(k), None
            for a in np.argsort(-table.alphas, kind="stable").tolist():  # from smooth to close fits
                judge(task, (k, a), start, sure=False)
                start = held[k, a][0]
                progress.step()
        choice = table.choose(self.rule, folds)
        refined = set(held) if self.exact or isinstance(first.loss, Pinball) else set()
        while (place := (int(choice.kernel), int(choice.alphas[0]))) not in refined:  # one step may flatter it
            judge(task_of(place[0]), place, held[place][0], sure=True)
            refined.add(place)
            choice = table.choose(self.rule, folds)
        keep_choice(self, table, choice, folds)
        self.alpha_ = float(table.alphas[place[1]])
        start, values = held[place]
        return minimize(task_of(place[0]), self.alpha_, start), values

    def _loss(self, y: Array, weights: Array, K: Array) -> Loss:
        """The loss of all candidates."""
        losses: list[Loss] = self._losses(y, weights, K)
        if len(losses) > 1:
            must_be = "one level; each level has its own best alpha"
            raise InputError(sentence(f"quantiles of {type(self).__name__}", must_be, repr(self.quantiles)))
        return losses[0]

    def _held_out(self, found: Optimum, removals: Removals, *, sure: bool) -> tuple[list[Array], int]:
        """Values at the test rows of every split by the model without its removed rows; and how many were refitted.

        `sure`: exactly where one step goes so far that it is not believed.
        """
        refitted = 0
        if isinstance(found.task.loss, Pinball):  # which rows are on the quantile changes with every set
            values, refitted = [found.refit(rows) for rows in removals.sets], len(removals)
        elif self.exact:
            values = found.leave_out_exactly(removals.sets)
        else:
            values, leverage = found.leave_out(removals.sets)
            large = ~(leverage < LEVERAGE)
            unsure = np.flatnonzero(large | found.go_far(removals.sets, values) if sure else large).tolist()
            refitted = len(unsure)
            for place, exact in zip(unsure, found.leave_out_exactly([removals.sets[i] for i in unsure]), strict=True):
                values[place] = exact
        places = zip(values, removals.sets, removals.tests, strict=True)
        return [part[np.searchsorted(rows, test)] for part, rows, test in places], refitted

    def _keep_difference(self, optimum: Optimum, removals: Removals, values: list[Array]) -> None:
        """Refit some splits of the best candidate and keep the largest difference and that of the mean loss."""
        some = check_random_state(0).choice(len(removals), min(_REPLAYED, len(removals)), replace=False)
        loss, y = optimum.task.loss, optimum.task.y
        off, total, refitted = 0.0, 0.0, 0.0
        for i in some.tolist():
            rows, test = removals.sets[i], removals.tests[i]
            with warnings.catch_warnings(action="ignore", category=MercerWarning):
                truth = optimum.refit(rows)[np.searchsorted(rows, test)]
            off = max(off, float(np.abs(loss.mean(truth) - loss.mean(values[i])).max(initial=0.0)))
            total += float(np.mean(loss.rows(y[test], values[i])))
            refitted += float(np.mean(loss.rows(y[test], truth)))
        self.verified_, self._replayed = off, len(some)
        self._loss_ratio = total / refitted if refitted else 1.0

    @staticmethod
    def _by_repeat(loss: Loss, folds: Folds, removals: Removals, values: list[Array]) -> Array:
        """Held-out predictions (repeats x n, or with an axis for classes); NaN for rows that are not tested."""
        repeats = np.repeat(np.arange(len(folds.repeats)), [len(splits) for splits in folds.repeats])
        found = np.full((len(folds.repeats), folds.n, loss.mean(values[0]).shape[1]), np.nan)
        for repeat, test, part in zip(repeats, removals.tests, values, strict=True):
            found[repeat, test] = loss.mean(part)
        return found[:, :, 0] if found.shape[2] == 1 else found

    @property
    def how_(self) -> str:
        """How held-out predictions were computed, and how far they are from refits of some splits."""
        check_is_fitted(self, "best_estimator_")
        loss = self.best_estimator_.losses_[0]
        approximately = "approximately (one Newton step; more for large steps of the best candidates)"
        how = "by refitting" if isinstance(loss, Pinball) else "exactly" if self.exact else approximately
        splits = f"Refitting {counted(self._replayed, 'split')} of the best candidate"
        off = f"predictions differ by at most {self.verified_:.2g}, the mean loss by a factor of {self._loss_ratio:.4f}"
        return f"Held-out predictions were computed {how}. {splits}: {off}."

    def summary(self) -> str:
        """The candidates, the best one, and how its score was computed, as text.

        Returns
        -------
        str
        """
        check_is_fitted(self, "best_estimator_")
        tried = f"{counted(len(self.kernels_), 'kernel')} x {counted(len(self.alphas_), 'alpha')}"
        lines = [f"{tried} by {self.folds_.label}.", self.table_.text(self.choice_, self.folds_), self.how_]
        return Text("\n".join(lines))

    def predict(self, X: XLike) -> Any:
        """Predict with the best candidate, fitted to all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._model_for(X).predict(X)


@dataclass(eq=False, repr=False, kw_only=True)
class KernelRegressorCV(LossOfNumbers, LossSearch):
    """`KernelRegressor` with kernel and alpha selected by cross-validation.

    Parameters
    ----------
    kernels : Kernel, list of Kernel or str, default="gaussian"
        As for `KernelRidgeCV`.
    alphas : array-like, default=None
        Candidates, above 0. None: a grid computed from the eigenvalues of the kernel matrices.
    loss, delta, quantiles, fit_intercept
        As for `KernelRegressor`; one level of `quantiles`.
    cv, repeats, rule, random_state, verbose
        As for `KernelRidgeCV`; None is leave-one-out.
    exact : bool, default=False
        False: held-out predictions by one Newton step from the optimum of all rows, except for sets of rows with a
        leverage above one half. True: Newton steps until they equal refits.
    scoring : str, callable or None, default=None
        None: minus the mean loss of held-out rows. Otherwise a score of predictions, as for `KernelRidgeCV`.

    Attributes
    ----------
    best_kernel_, alpha_, best_score_, cv_results_, kernels_, alphas_, folds_
        As for `KernelRidgeCV`.
    best_estimator_ : KernelRegressor
        Fitted to all rows.
    cv_predictions_ : ndarray of shape (repeats, n_samples)
        Held-out predictions on the scale of y.
    verified_, how_ : float, str
        Largest difference between held-out predictions and those of refits of some splits, and that in words.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 6.0, size=(100, 1))
    >>> counts = rng.poisson(np.exp(1.0 + np.sin(X[:, 0])))
    >>> search = KernelRegressorCV(loss="poisson", fit_intercept=True).fit(X, counts)
    >>> bool(abs(search.predict([[1.5]])[0] - np.exp(2.0)) < 2.0)
    True
    """

    _model = KernelRegressor


@dataclass(eq=False, repr=False, kw_only=True)
class KernelLogisticCV(LossOfLabels, LossSearch):
    """`KernelLogistic` with kernel and alpha selected by cross-validation.

    Parameters
    ----------
    kernels, alphas, cv, repeats, exact, rule, random_state, verbose
        As for `KernelRegressorCV`.
    scoring : str, callable or None, default=None
        None: minus the log loss of held-out rows. Otherwise a score of labels or of decision values.
    fit_intercept, class_weight
        As for `KernelLogistic`; class weights are those of all rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    best_kernel_, alpha_, best_score_, cv_results_, kernels_, alphas_, folds_, verified_, how_
        As for `KernelRegressorCV`.
    best_estimator_ : KernelLogistic
        Fitted to all rows.
    cv_predictions_ : ndarray of shape (repeats, n_samples) or (repeats, n_samples, n_classes)
        Held-out probabilities: of the second of two classes, or of all.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelLogisticCV
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> y = np.where((X**2).sum(axis=1) > 1.4, "out", "in")
    >>> search = KernelLogisticCV(fit_intercept=True).fit(X, y)
    >>> search.predict([[0.0, 0.0], [2.0, 2.0]]).tolist()
    ['in', 'out']
    """

    _model = KernelLogistic
