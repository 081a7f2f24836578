"""Kernel ridge regression that chooses its kernel and alpha by exact cross-validation."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from mercer.data.checks import checked_gram, checked_weights
from mercer.data.folds import Folds, draw
from mercer.data.rows import Array, Rows
from mercer.errors import EdgeOfGridWarning, IllConditionedWarning, InputError, sentence
from mercer.estimators.base import KernelSetter
from mercer.estimators.calibration import Temperature
from mercer.estimators.classifier import KernelRidgeClassifier, at_least_two, checked_labels, class_weights
from mercer.estimators.names import is_positive_only, is_precomputed, takes_sparse
from mercer.estimators.ridge import KernelRidge
from mercer.kernels import Kernel
from mercer.selection.ladders import resolve_alphas, resolve_kernels, rounded
from mercer.selection.plan import Plan, Rates
from mercer.selection.problem import Problem
from mercer.selection.scoring import Classes, resolve_scoring
from mercer.selection.search import Ordered, Search
from mercer.selection.table import Choice, SearchTable, joined
from mercer.solvers.route import EPS

_ROUNDS = 6  # of extending the grid
_REPLAYED = 5  # splits refitted by verify=True


class SearchCore(KernelSetter, BaseEstimator):  # type: ignore[misc]
    """What the regressor and the classifier share: candidates, splits, the search, the choice."""

    kernels: Any
    alphas: Any
    cv: Any
    repeats: int
    scoring: Any
    fit_intercept: bool
    rule: str
    extend_grid: bool
    verify: bool
    checkpoint: Any
    random_state: Any
    verbose: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        listed = self.kernels if isinstance(self.kernels, list | tuple) else [self.kernels]
        tags.input_tags.pairwise = any(is_precomputed(kernel) for kernel in listed)
        tags.input_tags.positive_only = any(is_positive_only(kernel) for kernel in listed)
        tags.input_tags.sparse = all(takes_sparse(kernel) for kernel in listed)
        return tags

    def _checked(self, X: Any, y: Any, sample_weight: Any, **how: Any) -> tuple[Any, Any, Array | None]:
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)  # a second fit forgets the first
        if self.rule not in ("best", "one_se"):
            raise InputError(sentence(f"rule of {type(self).__name__}", "'best' or 'one_se'", repr(self.rule)))
        listed = self.kernels if isinstance(self.kernels, list | tuple) else [self.kernels]
        sparse = "csr" if all(takes_sparse(kernel) for kernel in listed) else False
        X, y = validate_data(self, X, y, accept_sparse=sparse, dtype=np.float64, ensure_min_samples=2, **how)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
            checked_weights(type(self).__name__, weights)
        return X, y, weights

    def _candidates(self, X: Any) -> tuple[Rows, list[Kernel], Array]:
        """Kernels and alphas, from all of X and before any split."""
        rows = Rows(X, getattr(self, "feature_names_in_", None))
        kernels = resolve_kernels(self.kernels, rows)
        kinds = {kernel.kind == "gram" for kernel in kernels if kernel.kind != "any"}
        if len(kinds) > 1:
            raise InputError("kernels must all take a Gram matrix or all take rows; got both kinds.")
        for kernel in kernels:
            kernel.check(rows)
        if True in kinds:
            checked_gram(rows.dense())
        return rows, kernels, resolve_alphas(self.alphas, kernels, rows)

    def _is_gram(self, kernels: list[Kernel]) -> bool:
        return any(kernel.kind == "gram" for kernel in kernels)

    def _search(self, X: Any, y: Any, weights: Array | None, groups: Any) -> tuple[Search, list[Kernel], Array]:
        raise NotImplementedError

    def _folds(self, X: Any, y: Any, groups: Any, *, classifier: bool) -> Folds:
        return draw(
            self.cv, X, y, repeats=self.repeats, groups=groups, random_state=self.random_state, classifier=classifier
        )

    def _fit_search(self, search: Search, kernels: list[Kernel], alphas: Array) -> tuple[Ordered, Plan, Choice]:
        """Run the search, extend it if asked to, and choose."""
        ordered = search.ordered()
        route = search.plan(kernels, alphas)
        try:
            table = ordered.run(kernels, alphas, route, verbose=self.verbose, checkpoint=self.checkpoint)
        except KeyboardInterrupt as stop:
            if hasattr(stop, "table"):
                self.cv_results_ = stop.table.results()
            raise
        if not np.isfinite(table.mean).any():
            raise InputError(
                sentence(
                    "scoring", "a number for some candidate", "NaN for every one", "Try another score or other folds."
                )
            )
        choice = table.choose(self.rule, search.folds)
        if self.extend_grid:
            table, choice = self._extended(search, ordered, table, choice)
            route = search.plan(table.kernels, table.alphas)
        self.kernels_, self.alphas_ = list(table.kernels), table.alphas
        self.folds_, self.plan_, self.table_ = search.folds, route, table
        self.cv_results_ = table.results()
        self.best_kernel_ = self.kernels_[choice.kernel]
        mean = table.mean[choice.kernel]
        self.best_score_ = float(np.mean([mean[a, t] for t, a in enumerate(choice.alphas)]))
        self.digits_ = table.digits(choice)
        self.best_index_ = choice.kernel * len(table.alphas) + choice.alphas[0]
        self._choice = choice
        self._warn(table, choice)
        return ordered, route, choice

    def _extended(
        self, search: Search, ordered: Ordered, table: SearchTable, choice: Choice
    ) -> tuple[SearchTable, Choice]:
        """Add rungs beyond the edge that the winner stands on, until it does not."""
        for turn in range(_ROUNDS):
            kernels, alphas = further_kernels(table, choice), further_alphas(table, choice)
            if not kernels and not len(alphas):
                break
            again = None if self.checkpoint is None else f"{self.checkpoint}.{turn + 1}"
            if len(alphas):
                route = search.plan(table.kernels, alphas)
                found = ordered.run(table.kernels, alphas, route, verbose=self.verbose, checkpoint=again)
                table = joined(table, found, axis=1)
            else:
                route = search.plan(kernels, table.alphas)
                found = ordered.run(kernels, table.alphas, route, verbose=self.verbose, checkpoint=again)
                table = joined(table, found, axis=0)
            choice = table.choose(self.rule, search.folds)
        return table, choice

    def _warn(self, table: SearchTable, choice: Choice) -> None:
        edges = []
        rungs = further_alphas(table, choice)
        if len(rungs):
            low = rungs[0] < table.alphas.min()
            edge = table.alphas.min() if low else table.alphas.max()
            edges.append(f"its alpha, {edge:.3g}, is the {'smallest' if low else 'largest'}")
        wider = further_kernels(table, choice)
        if wider:
            own, new = (np.asarray(k.get_params()["width"]) for k in (table.kernels[choice.kernel], wider[0]))
            edges.append(f"its width, {float(own):.3g}, is the {'largest' if new > own else 'smallest'}")
        if edges:
            warnings.warn(
                f"The winner of {type(self).__name__} stands on the edge of the grid: {' and '.join(edges)} of those "
                "tried. Try further ones, or use extend_grid=True.",
                EdgeOfGridWarning,
                stacklevel=4,
            )
        condition = max(float(table.condition[choice.kernel, a]) for a in choice.alphas)
        if condition * EPS > 1e-6:
            warnings.warn(
                f"The winner of {type(self).__name__} is nearly singular: condition about {condition:.1g}, so about "
                f"{self.digits_:.0f} digits of its scores can be trusted. Larger alphas give more.",
                IllConditionedWarning,
                stacklevel=4,
            )

    def _held_out(self, ordered: Ordered, route: Plan, alphas: list[float]) -> Array:
        """Held-out values of the winner, repeats x n x t; replayed by refitting where asked for."""
        values = ordered.kept_values(self.best_kernel_, alphas)
        if values is None or self.verify:
            values, system = ordered.values(self.best_kernel_, alphas, route)
        if self.verify:
            self.verified_ = _replayed(ordered, system, values, alphas, self.random_state)
        return ordered.by_repeat(values)

    def explain(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, rates: Rates | None = None
    ) -> Plan:
        """The plan of `fit` on this data, with predicted time and memory; nothing is run.

        Parameters
        ----------
        X, y, sample_weight, groups
            As for `fit`.
        rates : Rates, default=None
            Speeds of the machine, as `mercer.selection.plan.measure()` finds them. The defaults are fixed, so that
            the same call takes the same route on every run; `fit` goes by them.

        Returns
        -------
        Plan
            Prints as a table of routes; the arrow marks the one that would be taken.
        """
        fresh: SearchCore = clone(self)  # so that nothing looks fitted that is not
        X, y, weights = fresh._checked(X, y, sample_weight, **self._how())
        search, kernels, alphas = fresh._search(X, y, weights, groups)
        return search.plan(kernels, alphas, rates)

    def _how(self) -> dict[str, Any]:
        return {}

    def summary(self) -> str:
        """What was tried, what won and how far to trust it, for people.

        Returns
        -------
        str
        """
        check_is_fitted(self, "best_estimator_")
        lines = [
            (
                f"{len(self.kernels_)} kernels x {len(self.alphas_)} alphas by {self.folds_.label}, "
                f"{self.plan_.chosen.name} route."
            ),
            self.table_.text(self._choice, self.folds_),
            f"The winner's numbers can be trusted to about {self.digits_:.0f} digits.",
        ]
        if hasattr(self, "verified_"):
            lines.append(f"Refitting {_REPLAYED} splits agreed to {self.verified_:.1e}.")
        lines.append(
            "The winner's score is the best of many and so a little optimistic; nested_cross_validate says how much."
        )
        return "\n".join(lines)


class KernelRidgeCV(MultiOutputMixin, RegressorMixin, SearchCore):  # type: ignore[misc]
    """Kernel ridge regression that chooses its kernel and alpha by exact cross-validation.

    Every score is the one that refitting would give; the fits are not made. One factor per kernel and
    alpha yields the held-out predictions of every split and repeat.

    Parameters
    ----------
    kernels : Kernel, list of Kernel or str, default="gaussian"
        Candidates. A family's name (gaussian, laplacian, matern, rational_quadratic, polynomial, linear, cosine)
        stands for a ladder; widths come from quantiles of the distances in X, before any split.
    alphas : array-like, default=None
        Candidates. None: a ladder from the spectra of the kernels on X, before any split.
    cv : int, splitter, iterable of (train, test) or None, default=None
        None is leave-one-out. An int is scikit-learn's unshuffled KFold, shuffled with `repeats` or `random_state`.
    repeats : int, default=1
        How often the folds are drawn.
    scoring : str, scorer, callable or None, default=None
        None is neg_mean_squared_error; a scikit-learn name or scorer; or a loss(y_true, y_pred), lower is better.
    fit_intercept : bool, default=False
        Whether the model has an unpenalised constant.
    rule : {"best", "one_se"}, default="best"
        "one_se" keeps the winner's kernel and takes the largest alpha within one standard error.
    alpha_per_target : bool, default=False
        Whether each target gets an alpha of its own.
    extend_grid : bool, default=False
        Whether ladders grow until the winner does not stand on their edge.
    verify : bool, default=False
        Whether five random splits of the winner are refitted; the largest difference is `verified_`.
    checkpoint : path, default=None
        File that keeps finished kernels; a search that was killed resumes from it.
    random_state : int, RandomState or None, default=None
        Of shuffling, and of what `verify` replays.
    verbose : int, default=0
        1: progress with the time left on a terminal. 2: everywhere.

    Attributes
    ----------
    best_kernel_, alpha_ : Kernel, float or ndarray of shape (n_targets,)
        The winner.
    best_score_ : float
        Its mean score over splits.
    best_estimator_ : KernelRidge
        The winner fitted to all rows.
    cv_results_ : dict
        As GridSearchCV has it, with pooled_test_score, condition and refits beside.
    cv_predictions_ : ndarray of shape (repeats, n_samples) or (repeats, n_samples, n_targets)
        Held-out predictions of the winner.
    kernels_, alphas_ : list of Kernel, ndarray
        What was tried.
    digits_ : float
        Decimal digits to which the winner's scores can be trusted.
    plan_, folds_ : Plan, Folds
        How it was done.
    verified_ : float
        Largest difference between closed forms and refits; only with `verify`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidgeCV
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 6.0, 40)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(25.0 * X[:, 0])
    >>> search = KernelRidgeCV([Gaussian(w) for w in (0.1, 1.0, 10.0)], [1e-3, 1e-2, 1e-1, 1.0]).fit(X, y)
    >>> search.best_kernel_, search.alpha_
    (Gaussian(width=1.0), 0.1)
    """

    def __init__(
        self,
        kernels: Any = "gaussian",
        alphas: Any = None,
        *,
        cv: Any = None,
        repeats: int = 1,
        scoring: Any = None,
        fit_intercept: bool = False,
        rule: str = "best",
        alpha_per_target: bool = False,
        extend_grid: bool = False,
        verify: bool = False,
        checkpoint: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernels = kernels
        self.alphas = alphas
        self.cv = cv
        self.repeats = repeats
        self.scoring = scoring
        self.fit_intercept = fit_intercept
        self.rule = rule
        self.alpha_per_target = alpha_per_target
        self.extend_grid = extend_grid
        self.verify = verify
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    def _how(self) -> dict[str, Any]:
        return {"multi_output": True, "y_numeric": True}

    def _search(self, X: Any, y: Any, weights: Array | None, groups: Any) -> tuple[Search, list[Kernel], Array]:
        rows, kernels, alphas = self._candidates(X)
        y = np.asarray(y, dtype=np.float64)
        problem = Problem(y.reshape(len(y), -1), weights, bool(self.fit_intercept), gram=self._is_gram(kernels))
        folds = self._folds(X, y, groups, classifier=False)
        scoring = resolve_scoring(self.scoring, classifier=False)
        return Search(rows, y, problem, folds, scoring, per_target=bool(self.alpha_per_target)), kernels, alphas

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Search, choose, and fit the winner to all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows; for precomputed kernels the Gram matrix.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of training; scores are not weighted.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group are never on both sides of a split.

        Returns
        -------
        self
        """
        given = X
        X, y, weights = self._checked(X, y, sample_weight, **self._how())
        search, kernels, alphas = self._search(X, y, weights, groups)
        ordered, route, choice = self._fit_search(search, kernels, alphas)
        chosen = [float(self.alphas_[a]) for a in choice.alphas]
        self.alpha_ = np.array(chosen) if self.alpha_per_target and y.ndim == 2 else chosen[0]
        spread = chosen if self.alpha_per_target else chosen * search.problem.Y.shape[1]
        held_out = self._held_out(ordered, route, spread)
        self.cv_predictions_ = held_out[:, :, 0] if y.ndim == 1 else held_out
        self.best_estimator_ = KernelRidge(self.alpha_, kernel=self.best_kernel_, fit_intercept=self.fit_intercept)
        self.best_estimator_.fit(given, y, weights)
        return self

    def predict(self, X: Any, return_std: bool = False, *, diag: Any = None) -> Any:
        """Predict with the winner.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows.
        return_std, diag
            As for `KernelRidge.predict`.

        Returns
        -------
        ndarray, or two of them
        """
        check_is_fitted(self, "best_estimator_")
        validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self.best_estimator_.predict(X, return_std=return_std, diag=diag)


class KernelRidgeClassifierCV(ClassifierMixin, SearchCore):  # type: ignore[misc]
    """Kernel ridge classification that chooses its kernel and alpha by exact cross-validation.

    Probabilities are calibrated on held-out decision values.

    Parameters
    ----------
    kernels, alphas, cv, repeats, fit_intercept, rule, extend_grid, verify, checkpoint, random_state, verbose
        As for `KernelRidgeCV`; an int for `cv` is stratified.
    scoring : str, scorer, callable or None, default=None
        None is accuracy; otherwise as for `KernelRidgeCV`.
    class_weight : dict, "balanced" or None, default=None
        "balanced" is worked out anew in every training set, by refitting.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    cv_predictions_ : ndarray of shape (repeats, n_samples) or (repeats, n_samples, n_classes)
        Held-out decision values of the winner.
    best_kernel_, alpha_, best_score_, best_estimator_, cv_results_, kernels_, alphas_, digits_, plan_, folds_
        As for `KernelRidgeCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidgeClassifierCV
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "odd")
    >>> kernels, alphas = [Gaussian(w) for w in (0.3, 1.0, 3.0)], [0.01, 0.1, 1.0, 10.0, 100.0]
    >>> search = KernelRidgeClassifierCV(kernels, alphas, cv=5).fit(X, y)
    >>> search.predict([[1.0, 1.0], [1.0, -1.0]]).tolist()
    ['same', 'odd']
    """

    def __init__(
        self,
        kernels: Any = "gaussian",
        alphas: Any = None,
        *,
        cv: Any = None,
        repeats: int = 1,
        scoring: Any = None,
        fit_intercept: bool = False,
        class_weight: Any = None,
        rule: str = "best",
        extend_grid: bool = False,
        verify: bool = False,
        checkpoint: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernels = kernels
        self.alphas = alphas
        self.cv = cv
        self.repeats = repeats
        self.scoring = scoring
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.rule = rule
        self.extend_grid = extend_grid
        self.verify = verify
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Without a constant, classes of very different weight all look alike far from the origin.
        tags.classifier_tags.poor_score = not self.fit_intercept
        return tags

    def _search(self, X: Any, y: Any, weights: Array | None, groups: Any) -> tuple[Search, list[Kernel], Array]:
        labels, numbers = checked_labels(y)
        at_least_two(type(self).__name__, labels, numbers, weights)
        rows, kernels, alphas = self._candidates(X)
        classes = Classes(labels, numbers)
        balanced = isinstance(self.class_weight, str)
        if not balanced:
            weights = class_weights(self.class_weight, y, weights)
        problem = Problem(
            classes.targets(),
            weights,
            bool(self.fit_intercept),
            np.asarray(y) if balanced else None,
            gram=self._is_gram(kernels),
        )
        folds = self._folds(X, y, groups, classifier=True)
        scoring = resolve_scoring(self.scoring, classifier=True)
        return Search(rows, np.asarray(y), problem, folds, scoring, classes, refit_only=balanced), kernels, alphas

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Search, choose, calibrate, and fit the winner to all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows; for precomputed kernels the Gram matrix.
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of training; scores are not weighted.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group are never on both sides of a split.

        Returns
        -------
        self
        """
        given = X
        X, y, weights = self._checked(X, y, sample_weight)
        if isinstance(self.class_weight, str) and self.class_weight != "balanced":
            must_be = "a dict, 'balanced' or None"
            raise InputError(sentence(f"class_weight of {type(self).__name__}", must_be, repr(self.class_weight)))
        search, kernels, alphas = self._search(X, y, weights, groups)
        ordered, route, choice = self._fit_search(search, kernels, alphas)
        self.alpha_ = float(self.alphas_[choice.alphas[0]])
        held_out = self._held_out(ordered, route, [self.alpha_] * search.problem.Y.shape[1])
        self.cv_predictions_ = held_out[:, :, 0] if held_out.shape[2] == 1 else held_out
        self.best_estimator_ = KernelRidgeClassifier(
            self.alpha_, kernel=self.best_kernel_, fit_intercept=self.fit_intercept, class_weight=self.class_weight
        )
        self.best_estimator_.fit(given, y, weights)
        self.classes_ = self.best_estimator_.classes_
        tested = ~np.isnan(held_out[:, :, 0])
        numbers = np.broadcast_to(checked_labels(y)[1], tested.shape)
        self.temperature_ = Temperature.fitted(held_out[tested], numbers[tested])
        return self

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self, "best_estimator_")
        validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return X

    def decision_function(self, X: Any) -> Array:
        """Decision values of the winner.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        X = self._rows(X)
        return self.best_estimator_.decision_function(X)

    def predict(self, X: Any) -> Array:
        """Labels by the winner.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        X = self._rows(X)
        return self.best_estimator_.predict(X)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, calibrated on held-out decision values.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        values = self.decision_function(X)
        return self.temperature_.probabilities(values.reshape(len(values), -1))


def further_alphas(table: SearchTable, choice: Choice) -> Array:
    """Three rungs beyond the edge of the ladder that the winner stands on; none where it does not."""
    alphas = np.unique(table.alphas)
    if len(alphas) < 3:
        return np.empty(0)
    chosen = [float(table.alphas[a]) for a in choice.alphas]
    if any(alpha == alphas[-1] for alpha in chosen) and alphas[-1] < 1e12:
        ratio = alphas[-1] / max(alphas[-2], alphas[-1] / 10)
        return rounded(alphas[-1] * ratio ** np.arange(1, 4))
    if any(alpha == alphas[0] for alpha in chosen) and alphas[0] > 1e-12:
        ratio = max(alphas[0] / alphas[1], 0.1)
        return rounded(alphas[0] * ratio ** np.arange(1, 4))
    return np.empty(0)


def further_kernels(table: SearchTable, choice: Choice) -> list[Kernel]:
    """Three widths beyond the edge that the winner stands on, where the kernels are a ladder of widths."""
    winner = table.kernels[choice.kernel]
    family = [kernel for kernel in table.kernels if _same_but_width(kernel, winner)]
    if len(family) < 3:
        return []
    widths = np.unique([float(kernel.get_params()["width"]) for kernel in family])
    own = float(winner.get_params()["width"])
    if own == widths[-1] and own < 1e12:
        return [winner.set_params(width=float(w)) for w in rounded(own * (widths[-1] / widths[-2]) ** np.arange(1, 4))]
    if own == widths[0] and own > 1e-12:
        return [winner.set_params(width=float(w)) for w in rounded(own * (widths[0] / widths[1]) ** np.arange(1, 4))]
    return []


def _same_but_width(kernel: Kernel, other: Kernel) -> bool:
    mine, theirs = (k.get_params(deep=False) for k in (kernel, other))
    if "width" not in mine or type(kernel) is not type(other) or np.ndim(mine["width"]) or np.ndim(theirs["width"]):
        return False
    return kernel.set_params(width=1.0) == other.set_params(width=1.0)


def _replayed(ordered: Ordered, system: Any, values: Array, alphas: list[float], random_state: Any) -> float:
    """Largest difference between closed forms and refits over a random handful of splits."""
    from sklearn.utils import check_random_state

    count = len(ordered.removals)
    chosen = check_random_state(random_state).choice(count, size=min(_REPLAYED, count), replace=False)
    worst = 0.0
    for i in chosen:
        part = values[ordered.removals.part(int(i))]
        for t, alpha in enumerate(alphas):
            worst = max(worst, float(np.abs(system.refit(int(i), alpha)[0][:, t] - part[:, t]).max()))
    return worst
