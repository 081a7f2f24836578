"""`krr` and `cv` with the signatures of the lab course's problem set on cross-validation.

X holds rows, n x d (the slides store columns). Where the method is `krr` the closed forms do the work, and
the numbers are those of the plain loops; any other object with `fit` and `predict` is looped over.

Examples
--------
>>> import numpy as np
>>> from mercer.course import cv, krr, squared_error
>>> X = np.linspace(-2.0, 2.0, 60)[:, None]
>>> y = np.sinc(X[:, 0])
>>> parameters = {"kernel": ["gaussian"], "kernelparameter": [0.1, 0.5], "regularization": [1e-4, 1e-2]}
>>> method = cv(X, y, krr, parameters, nfolds=5, nrepetitions=2, loss_function=squared_error, verbose=0)
>>> method.kernelparameter, bool(method.cvloss < 1e-4)
(0.5, True)
"""

from __future__ import annotations

import copy
import itertools
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from mercer.course_data import IdaSet, IdaSplit, Qm7, load_ida, load_qm7
from mercer.data.checks import check_size
from mercer.data.folds import Split, draw
from mercer.data.rows import Array, Estimator, Rows, Seed, XLike, YLike, as_rows
from mercer.errors import InputError, nearest, refuse_if, sentence
from mercer.kernels import Gaussian, Kernel, Linear, Polynomial
from mercer.kernels.value import is_real
from mercer.runtime.progress import duration
from mercer.selection.candidate import Candidate
from mercer.selection.ladders import resolve_alphas
from mercer.selection.removals import Removals
from mercer.solvers import DualSystem
from mercer.solvers.gram import times, training_matrix
from mercer.solvers.problem import Problem
from mercer.text import counted
from mercer.tuning.held_out import leave_one_out

__all__ = (
    "IdaSet", "IdaSplit", "Qm7", "cv", "krr", "load_ida", "load_qm7", "mean_absolute_error", "squared_error",
    "zero_one_loss",
)  # fmt: skip

Loss: TypeAlias = Callable[[Any, Any], npt.ArrayLike]  # of targets and predictions: a number, or an array of them
Grid: TypeAlias = Mapping[str, Sequence[Any]]  # values to try of each parameter

_KERNELS = ("linear", "polynomial", "gaussian")
_LADDER = 60
_SHORT = 3.0  # seconds of work that need no word


def zero_one_loss(y_true: YLike, y_pred: YLike) -> float:
    """Share of wrong labels; real-valued guesses, some of which are no whole numbers, mean -1 or +1 by their sign.

    >>> zero_one_loss([-1, 1, 1, 1], [-0.2, 0.3, -0.1, 2.0])
    0.25
    >>> zero_one_loss([1, 1, 1, 1], [0, 1, 2, 1])
    0.5
    """
    truth, guess = np.asarray(y_true), np.asarray(y_pred)
    decisions = guess.dtype.kind == "f" and bool((guess % 1 != 0).any())
    if decisions and truth.dtype.kind in "iuf" and np.isin(truth, (-1, 1)).all():
        return float(np.mean(np.where(guess >= 0, 1, -1) != truth))
    return float(np.mean(truth != guess))


def mean_absolute_error(y_true: YLike, y_pred: YLike) -> float:
    """Mean of |y - f(x)|.

    >>> mean_absolute_error([1.0, 2.0], [1.5, 2.5])
    0.5
    """
    return float(np.mean(np.abs(np.asarray(y_true) - np.asarray(y_pred))))


def squared_error(y_true: YLike, y_pred: YLike) -> float:
    """Mean of (y - f(x))^2.

    >>> squared_error([1.0, 2.0], [1.5, 2.5])
    0.25
    """
    return float(np.mean((np.asarray(y_true) - np.asarray(y_pred)) ** 2))


class krr:  # noqa: N801 - the course's own name
    """Kernel ridge regression, as the problem set asks for it.

    Parameters
    ----------
    kernel : {"linear", "polynomial", "gaussian"}, default="linear"
        x'z; (x'z + 1)^p; exp(-||x - z||^2 / (2 d w^2)), d being the number of columns.
    kernelparameter : float, default=1.0
        The degree p or the width w.
    regularization : float, default=0.0
        What is added to the diagonal of the Gram matrix; 0 has it chosen by exact leave-one-out.

    Attributes
    ----------
    alpha_ : ndarray of shape (n,) or (n, t)
        Dual coefficients.
    regularization_ : float
        What was added, chosen or given.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.course import krr
    >>> X = np.arange(10.0)[:, None]
    >>> model = krr("polynomial", 2, 1e-6).fit(X, X[:, 0] ** 2)
    >>> model.predict([[3.5]]).round(3)
    array([12.25])
    """

    def __init__(self, kernel: str = "linear", kernelparameter: float = 1.0, regularization: float = 0.0) -> None:
        self.kernel = kernel
        self.kernelparameter = kernelparameter
        self.regularization = regularization

    def kernel_object(self) -> Kernel:
        """The kernel that the name and its parameter stand for."""
        if self.kernel not in _KERNELS:
            raise InputError(f"There is no kernel {self.kernel!r}. {nearest(str(self.kernel), _KERNELS)}")
        if self.kernel == "linear":
            return Linear()
        given, whole = self.kernelparameter, self.kernel == "polynomial"
        must_be = "an integer" if whole else "a positive number"
        bad = not is_real(given) or (whole and given != int(given))
        refuse_if(bad, f"kernelparameter of the {self.kernel} kernel", must_be, repr(given))
        return Polynomial(int(given)) if whole else Gaussian(float(given), per_dimension=True)

    def fit(self, X: XLike, y: YLike) -> Self:
        """Fit to rows X (n x d) and targets y (n or n x t).

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,) or (n, t)
            Targets.

        Returns
        -------
        self
        """
        rows, targets = _training_data(X, y)
        kernel = self.kernel_object()
        given = _check_regularization(self.regularization)
        self.regularization_ = given or by_leave_one_out(kernel, rows, targets)
        Y = targets.reshape(len(targets), -1)
        solution = DualSystem(training_matrix(kernel, rows), None).solve(Y, self.regularization_, "cholesky")
        self.kernel_, self.rows_, self.alpha_ = kernel, rows, solution.dual.reshape(targets.shape)
        return self

    def predict(self, X: XLike) -> Array:
        """f at rows X.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of shape (m,) or (m, t)
        """
        if not hasattr(self, "alpha_"):
            raise InputError("This krr is not fitted yet. Call fit(X, y) before predict.")
        rows = as_rows(X)
        if rows.width != self.rows_.width:
            raise InputError(f"X must have {counted(self.rows_.width, 'column')}, as in fit; got {rows.width}.")
        values = times(self.kernel_, rows, self.rows_, self.alpha_.reshape(len(self.rows_), -1))
        return values.reshape(-1, *self.alpha_.shape[1:])

    def __repr__(self) -> str:
        return f"krr({self.kernel!r}, {self.kernelparameter!r}, {self.regularization!r})"


def _check_regularization(value: float) -> float:
    bad, way_out = not is_real(value) or value < 0, "With 0, it is chosen by leave-one-out cross-validation."
    refuse_if(bad, "regularization of krr", "a finite, non-negative number", repr(value), way_out)
    return float(value)


def _training_data(X: XLike, y: YLike) -> tuple[Rows, Array]:
    rows, targets = as_rows(X), np.asarray(y, dtype=np.float64)
    refuse_if(len(rows) != len(targets), "y", f"as long as X, {len(rows)} rows", f"{len(targets)}")
    bad = ~np.isfinite(targets).reshape(len(targets), -1).all(axis=1)
    if bad.any():
        raise InputError(sentence("y of krr", "finite", f"{targets[bad][0]} in row {int(bad.argmax())}"))
    check_size("y of krr", targets)
    return rows, targets


def by_leave_one_out(kernel: Kernel, rows: Rows, y: Array) -> float:
    """The regularization with the smallest exact leave-one-out squared error, of 60 spread over the spectrum."""
    ladder = resolve_alphas(None, [kernel], rows)
    alphas = np.geomspace(ladder.min(), ladder.max(), _LADDER)
    problem = Problem(y.reshape(len(rows), -1), None, intercept=False)
    return float(alphas[int(np.argmin(leave_one_out(rows, problem, kernel, alphas)))])


def cv(
    X: XLike,
    y: YLike,
    method: Estimator,
    parameters: Grid | Sequence[Grid],
    nfolds: int = 10,
    nrepetitions: int = 5,
    loss_function: Loss = mean_absolute_error,
    *,
    random_state: Seed = None,
    verbose: int = 1,
) -> Estimator:
    """Choose parameters by repeated cross-validation, and fit the method with the best ones to all rows.

    Folds are shuffled anew in every repetition and shared by all parameter combinations; their sizes
    differ by at most one where n is not divisible. Work of more than three seconds prints the time that is left.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows.
    y : array-like of shape (n,) or (n, t)
        Targets.
    method : class or object with fit and predict
        Such as `krr`; its parameters are attributes (or scikit-learn parameters).
    parameters : dict of name to list of values, or list of such dicts
        All combinations of each dict are tried.
    nfolds, nrepetitions : int, default=10, 5
        Folds, and how often they are drawn.
    loss_function : callable, default=mean_absolute_error
        loss(y_true, y_pred), lower is better. It may return an array (a curve): arrays are averaged, and
        combinations are compared by the mean of their entries.
    random_state : int or None, default=None
        Random seed for shuffling.
    verbose : int, default=1
        0 prints nothing, 2 prints every combination.

    Returns
    -------
    method
        Fitted with the best parameters, with `cvloss` (mean over all folds) and `cvloss_std` (their standard
        deviation).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.course import cv, krr
    >>> X = np.linspace(0.0, 1.0, 33)[:, None]
    >>> best = cv(X, X[:, 0], krr, {"regularization": [1e-6, 10.0]}, nfolds=4, nrepetitions=1, verbose=0)
    >>> best.regularization
    1e-06
    """
    targets = np.asarray(y)
    grids = [parameters] if isinstance(parameters, Mapping) else list(parameters)
    combinations = [
        dict(zip(grid, values, strict=True)) for grid in grids for values in itertools.product(*_lists(grid))
    ]
    refuse_if(not combinations, "Every value of parameters", "a non-empty list", repr(parameters))
    listed = [values for grid in grids for values in grid.values() if isinstance(values, list | tuple)]
    tried = [getattr(method, "kernel", None), *itertools.chain.from_iterable(listed)]
    objects = any(getattr(kernel, "kind", "") == "objects" for kernel in tried)  # rows, whatever they look like
    table = X if hasattr(X, "shape") else as_rows(X, objects=objects).values
    if random_state is None:  # the course reshuffles always
        random_state = int(np.random.default_rng().integers(2**31 - 1))
    folds = draw(nfolds, table, targets, repeats=nrepetitions, random_state=random_state)
    candidates, losses, start = [_with(method, values) for values in combinations], dict[int, Array](), time.monotonic()
    for i, found in _losses(candidates, table, targets, folds.splits, loss_function):
        losses[i], spent = found, time.monotonic() - start
        if verbose > 1 or (verbose and spent > _SHORT):
            left = duration(spent / len(losses) * (len(combinations) - len(losses)))
            sys.stdout.write(f"{len(losses)} of {len(combinations)} parameter combinations, remaining time {left}\n")
            sys.stdout.flush()
    means = np.array([np.mean(losses[i]) for i in range(len(combinations))])
    if np.isnan(means).all():
        raise InputError(
            "loss_function returned NaN for every combination of parameters. Check y and the predictions for NaN."
        )
    winner = int(np.argmin(np.where(np.isnan(means), np.inf, means)))  # what is no number never wins
    best = _fit(candidates[winner], table, targets)
    mean, spread = losses[winner].mean(axis=0), losses[winner].std(axis=0)
    best.cvloss, best.cvloss_std = (float(mean), float(spread)) if np.ndim(mean) == 0 else (mean, spread)
    return best


def _lists(parameters: Grid) -> list[list[object]]:
    """The values to try of each parameter."""
    other = not isinstance(parameters, Mapping)
    refuse_if(other, "parameters", "a dict of lists, or a list of such dicts", repr(parameters)[:60])
    for name, values in parameters.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            got = f"{name!r}: {values!r}"
            raise InputError(sentence("parameters", "lists of values to try", got, f"Use {name!r}: [{values!r}]."))
    return [list(values) for values in parameters.values()]


def _as_table(losses: list[npt.ArrayLike]) -> Array:
    """Losses of all folds, one number or one curve each."""
    shapes, what = sorted({np.shape(loss) for loss in losses}), "The result of loss_function"
    got, way_out = " and ".join(map(str, shapes)), "Evaluate curves on the same grid, for example with np.interp."
    refuse_if(len(shapes) > 1, what, "of the same shape in all folds", got, way_out)
    try:
        return np.array(losses, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(sentence(what, "a number or an array of them", repr(losses[0]))) from None


def _with(method: Estimator, values: dict[str, object]) -> Estimator:
    """A fresh method with these parameters."""
    made = method() if isinstance(method, type) else copy.deepcopy(method)
    if hasattr(made, "set_params"):
        return made.set_params(**values)
    for name, value in values.items():
        if not hasattr(made, name):
            raise InputError(f"{type(made).__name__} has no parameter {name!r}. {nearest(name, vars(made))}")
        setattr(made, name, value)
    return made


def _losses(
    candidates: Sequence[Estimator], X: XLike, y: Array, splits: Sequence[Split], loss: Loss
) -> Iterator[tuple[int, Array]]:
    """Losses of every fold for each candidate: in closed form for krr with a given regularization."""
    groups: dict[Kernel | int, list[int]] = {}
    for i, candidate in enumerate(candidates):
        closed = type(candidate) is krr and _check_regularization(candidate.regularization) > 0
        key = candidate.kernel_object() if closed else i
        groups.setdefault(key, []).append(i)
    for key, members in groups.items():
        if isinstance(key, Kernel):
            alphas = {i: float(candidates[i].regularization) for i in members}
            yield from _formula_losses(key, alphas, X, y, splits, loss)
        else:
            parts = []
            for split in splits:
                model = _fit(copy.deepcopy(candidates[key]), _take(X, split.train), y[split.train])
                parts.append(loss(y[split.test], model.predict(_take(X, split.test))))
            yield key, _as_table(parts)


def _formula_losses(
    kernel: Kernel, alphas: dict[int, float], X: XLike, y: Array, splits: Sequence[Split], loss: Loss
) -> Iterator[tuple[int, Array]]:
    rows, targets = _training_data(X, y)
    removals = Removals.of(splits, len(rows))
    problem = Problem(targets.reshape(len(targets), -1), None, intercept=False)
    route = "spectral" if len(alphas) > 6 else "inverse"
    system = Candidate(kernel, rows, problem, removals, route, whole=route == "spectral")
    for i, alpha in alphas.items():
        values = system.at(alpha).values.reshape(-1, *targets.shape[1:])
        parts = [(y[test], values[removals.part(s)].copy()) for s, test in enumerate(removals.tests)]
        yield i, _as_table([loss(*part) for part in parts])


def _fit(method: Estimator, X: XLike, y: Array) -> Estimator:
    """The fitted method, whatever its `fit` returns."""
    returned = method.fit(X, y)
    return returned if hasattr(returned, "predict") else method


def _take(X: XLike, rows: Array) -> XLike:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
