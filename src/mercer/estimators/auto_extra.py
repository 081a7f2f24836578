"""Estimators of the user's own in the committee of an automatic model: fitted in its folds and weighted with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from mercer.data.rows import Array, Estimator, XLike
from mercer.errors import InputError, sentence
from mercer.estimators.refitting import Refitting
from mercer.runtime.progress import Progress
from mercer.tuning.committee import Committee, trained_on
from mercer.tuning.weights import weigh_members


@dataclass(frozen=True, eq=False)
class ExtraMember:
    """An estimator of the user's own as a member of a committee.

    Attributes
    ----------
    name : str
        Its class.
    model : estimator
        Fitted to all rows.
    weight : float
        Weight of its predictions.
    error : float
        Its root mean squared out-of-fold error, on the scale of the committee's targets.
    """

    name: str
    model: Estimator
    weight: float
    error: float


def check_extra(owner: Any) -> None:
    """Raise an error unless `extra` of an automatic model is a list of estimators of its own kind."""
    wanted, method = ("classifier", "predict_proba") if is_classifier(owner) else ("regressor", "predict")
    what, must_be = f"extra of {type(owner).__name__}", f"a list of {wanted}s with fit and {method}"
    given = owner.extra
    if given is None:
        return
    if not isinstance(given, list | tuple):
        raise InputError(sentence(what, must_be, type(given).__name__, "Put the estimator in a list: extra=[...]."))
    for each in given:
        name = getattr(each, "__name__", type(each).__name__)
        if isinstance(each, type) or not (hasattr(each, "fit") and hasattr(each, method)):
            raise InputError(sentence(what, must_be, name, f"Write {name}()." if isinstance(each, type) else ""))
        if isinstance(each, BaseEstimator) and is_classifier(each) != is_classifier(owner):
            raise InputError(sentence(what, must_be, name))


def refuse_extra(model: Estimator, what: str) -> None:
    """Raise an error if estimators of the user's own have weight in a model, which `what` cannot take apart."""
    names = [each.name for each in getattr(model, "extra_", ()) if each.weight > 0]
    if names:
        raise InputError(
            f"{what} does not support estimators in extra; {', '.join(names)} has weight in this model. Fit the model "
            "without extra."
        )


@dataclass(frozen=True, eq=False)
class ExtraWork:
    """What the estimators in `extra` are fitted to, and what their predictions are for the committee.

    Attributes
    ----------
    X, y : table, ndarray
        Rows as the user gave them, and targets.
    weights : ndarray or None
        Sample weights.
    votes : callable
        From a fitted estimator and rows to predictions on the scale of the committee's targets (m x t).
    """

    X: XLike
    y: Array
    weights: Array | None
    votes: Callable[[Any, Any], Array]

    def join(
        self, committee: Committee, extra: Sequence[Any], Y: Array, folds: Array, weigh: Any, verbose: int
    ) -> tuple[Committee, list[ExtraMember]]:
        """The committee with the weights of its members lowered by those of the estimators, and these.

        Every estimator is fitted without each fold, and to all rows. The committee as it is and the estimators are
        weighted by their predictions of the folds.

        Parameters
        ----------
        committee : Committee
            Kernel members and their out-of-fold predictions.
        extra : sequence of estimator
            Copied before they are fitted.
        Y, folds : ndarray of shape (n, t) and (n,)
            Targets of the committee; the fold that holds out each row, -1 for rows that are never held out.
        weigh : callable
            Weights of members from their held-out predictions, the targets and the sample weights.
        verbose : int
            1: progress.
        """
        held, everything = np.flatnonzero(folds >= 0), np.arange(len(Y))
        progress = Progress("fitting the estimators in extra", len(extra) * (int(folds.max()) + 2), verbose)
        held_out, models = np.empty((1 + len(extra), *Y[held].shape)), []
        held_out[0] = committee.held_out
        for place, estimator in enumerate(extra, 1):
            values = np.empty_like(Y)
            for fold in range(int(folds.max()) + 1):
                own = np.flatnonzero(folds == fold)
                values[own] = self._fit(estimator, np.flatnonzero(trained_on(folds, fold)), own)[1]
                progress.step()
            held_out[place] = values[held]
            models.append(self._fit(estimator, everything, everything[:1])[0])
            progress.step()
        of_rows = None if self.weights is None else self.weights[held]
        weights, voted, _ = weigh_members(weigh, held_out, Y[held], of_rows, folds[held])
        errors = np.sqrt(np.mean((held_out - Y[held]) ** 2, axis=(1, 2)))
        tried = [replace(member, weight=float(weights[0]) * member.weight) for member in committee.tried]
        members = [member for member, old in zip(tried, committee.tried, strict=True) if old.weight > 0]
        joined = replace(committee, members=members, tried=tried, held_out=voted)
        return joined, [
            ExtraMember(_name(estimator), model, float(weight), float(error))
            for estimator, model, weight, error in zip(extra, models, weights[1:], errors[1:], strict=True)
        ]

    def _fit(self, estimator: Estimator, train: Array, test: Array) -> tuple[Any, Array]:
        """A copy of an estimator fitted to some rows, and its predictions of others."""
        what = f"{_name(estimator)} in extra could not be fitted to {len(train)} rows"
        with _in_words(what, estimator):
            model, rows = Refitting(estimator, self.X, self.y, self.weights)(train, test)
        return model, votes_of(_name(estimator), model, rows, self.votes, len(test))


def votes_of(name: str, model: Estimator, X: XLike, votes: Callable[[Any, Any], Array], count: int) -> Array:
    """Predictions of a fitted estimator for so many rows, as the committee needs them; raises an error otherwise."""
    with _in_words(f"{name} in extra could not predict {count} rows", model):
        found = votes(model, X)
    if len(found) != count:
        raise InputError(sentence(f"Predictions of {name} in extra", f"one for each of {count} rows", len(found)))
    if not np.isfinite(found).all():
        raise InputError(sentence(f"Predictions of {name} in extra", "finite", "NaN or infinity"))
    return found


@contextmanager
def _in_words(what: str, estimator: Estimator) -> Iterator[None]:
    """Tell an error of a user's estimator in a sentence."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise InputError(
            f"{what}: {reason} Estimators in extra receive the table unchanged; for columns that it does not support, "
            f"use make_pipeline(TableEncoder(), {_name(estimator)}(...))."
        ) from error


def _name(estimator: Estimator) -> str:
    """The class of an estimator; of a pipeline, of its last step."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    return type(last).__name__
