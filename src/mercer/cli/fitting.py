"""Fit a model to a prepared table, and say honestly how good it is."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.cli.choices import choose_judge, choose_model, rarest_label
from mercer.cli.preparing import Prepared
from mercer.data.rows import Array
from mercer.errors import IllConditionedWarning, InputError, MercerWarning, sentence

_FAMILIES = ["gaussian", "laplacian"]  # where a search is asked for and no kernel is named
_FOLDS = 10
# Scores that are minus a mean of squares: people want the root.
_SQUARES = {None, "neg_mean_squared_error", "mean_squared_error"}


@dataclass(frozen=True)
class Asked:
    """How to fit, as said on the command line."""

    kernel: tuple[str, ...] = ()
    alphas: tuple[float, ...] = ()
    rule: str | None = None
    folds: int | None = None
    repeats: int | None = None
    scoring: str | None = None
    time_budget: float | None = None
    checkpoint: str | None = None
    seed: int = 0
    verbose: int = 1


@dataclass(frozen=True, eq=False)
class Judgement:
    """How good a model is on rows that it has not seen.

    Attributes
    ----------
    measure : str
        What the number is.
    error, standard_error, baseline : float
        Of the model, and of the mean or the most common label.
    how : str
        How it was found.
    smaller_is_better : bool
        True for errors, False for scores.
    predictions : ndarray or None
        Out-of-fold predictions of numbers; NaN where time ran out.
    share : bool
        Whether it is a share of wrong labels.
    """

    measure: str
    error: float
    standard_error: float
    baseline: float
    how: str
    smaller_is_better: bool = True
    predictions: Array | None = None
    share: bool = False


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, why it is of its class, how good it is, and what was warned of."""

    model: Any
    why: str
    judgement: Judgement
    warned: list[str]


def fit(table: Prepared, asked: Asked, group: str | None, weight: str | None) -> Fitted:
    """Fit what the settings ask for, and judge it."""
    given = vars(asked) | {"group": group, "weight": weight}
    name, why = choose_model(table.target.task, given)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        auto = name.startswith("Auto")
        model, judgement = _fit_auto(name, table, asked) if auto else _fit_search(name, table, asked)
    return Fitted(model, why, judgement, worth_telling(heard, auto=auto))


def worth_telling(heard: list[warnings.WarningMessage], *, auto: bool = False) -> list[str]:
    """Mercer's own warnings, each kind once.

    Alphas of the automatic models are tuned by their held-out error; how their systems are conditioned is
    no news then.
    """
    told: dict[type[Warning], list[str]] = {}
    for each in heard:
        if issubclass(each.category, MercerWarning) and not (auto and each.category is IllConditionedWarning):
            told.setdefault(each.category, []).append(_without_python(" ".join(str(each.message).split())))
    return [said[0] + (f" (And {len(said) - 1} more like it.)" if said[1:] else "") for said in told.values()]


def _without_python(said: str) -> str:
    """The way out, as the command line has it."""
    return said.replace("Try further ones, or use extend_grid=True.", "Try others with --kernel or --alphas.")


def _fit_auto(name: str, table: Prepared, asked: Asked) -> tuple[Any, Judgement]:
    import mercer

    y = table.target.values
    folds = choose_judge(len(y), asked.folds)
    if folds > len(y):
        raise InputError(sentence("--folds", f"at most the number of rows, {len(y)}", folds))
    budget = None if asked.time_budget is None else asked.time_budget / (folds + 1)
    make = getattr(mercer, name)
    model = make(time_budget=budget, random_state=asked.seed, verbose=asked.verbose).fit(table.features, y)
    classes = table.target.task == "classification"
    measure = "share of wrong labels" if classes else "root mean squared error"
    if not folds:
        error = float(model.error_)
        spread = math.sqrt(error * (1 - error) / len(y)) if classes else float(model.error_standard_error_)
        how = f"out of fold: {model._how()}"
        held_out = None if classes or len(model.committee_.held_out) < len(y) else _held_out(model)
        return model, Judgement(measure, error, spread, model.baseline_, how, predictions=held_out, share=classes)
    model.verbose = _OuterLoop(asked.verbose)
    result = model.evaluate(table.features, y, folds=folds)
    model.verbose = asked.verbose
    how = f"{len(result.errors)} outer folds, everything repeated in each"
    held = None if classes else result.predictions
    numbers = result.error, result.standard_error, result.baseline
    return model, Judgement(measure, *numbers, how, predictions=held, share=classes)


class _OuterLoop(int):
    """Tells the progress of an outer loop, and not that of every fold: what is cloned from it is silent."""

    def __deepcopy__(self, _: Any) -> int:
        return 0


def _held_out(model: Any) -> Array:
    return np.asarray(model._centre + model._scale * model.committee_.held_out[:, 0])


def search_for(name: str, table: Prepared, asked: Asked) -> tuple[Any, Array]:
    """The search that was asked for, not fitted yet, and the table as numbers."""
    import mercer
    from mercer.cli.kernel_text import kernels_of

    y = table.target.values
    if asked.folds is not None and not 3 <= asked.folds <= len(y):
        must_be = f"from 3 to the number of rows, {len(y)}, for a search"
        raise InputError(sentence("--folds", must_be, asked.folds, "Its error comes from nested cross-validation."))
    options: dict[str, Any] = {
        "kernels": kernels_of(asked.kernel, table.encoder) if asked.kernel else _FAMILIES,
        "alphas": sorted(asked.alphas) or None,
        "cv": asked.folds or min(_FOLDS, _most_folds(table)),
        "repeats": asked.repeats or 1,
        "scoring": asked.scoring,
        "fit_intercept": True,
        "rule": asked.rule or "best",
        "checkpoint": asked.checkpoint,
        "random_state": asked.seed if table.groups is None else None,
        "verbose": asked.verbose,
    }
    return getattr(mercer, name)(**options), table.encoder.transform(table.features)


def _most_folds(table: Prepared) -> int:
    """As many as there are rows, groups, or rows of the rarest label."""
    if table.groups is not None:
        return len(np.unique(table.groups))
    y = table.target.values
    return rarest_label(y)[1] if table.target.task == "classification" else len(y)


def _fit_search(name: str, table: Prepared, asked: Asked) -> tuple[Any, Judgement]:
    from sklearn.dummy import DummyClassifier, DummyRegressor

    import mercer
    from mercer.selection.progress import duration

    search, Z = search_for(name, table, asked)
    y, groups, weights = table.target.values, table.groups, table.weights
    if asked.time_budget is not None:
        seconds = search.explain(Z, y, weights, groups).chosen.seconds
        if 2 * seconds > asked.time_budget:
            raise InputError(
                f"This search and its judgement take about {duration(2 * seconds)}, more than --time-budget "
                f"{asked.time_budget:g}. Name fewer kernels or alphas, or leave out --time-budget."
            )
    search.fit(Z, y, sample_weight=weights, groups=groups)
    how = {"cv": search.cv, "repeats": search.repeats, "random_state": search.random_state, "groups": groups}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IllConditionedWarning)  # the search has said it
        nested = mercer.nested_cross_validate(search, Z, y, sample_weight=weights, **how)
    dummy = DummyRegressor() if table.target.task == "regression" else DummyClassifier()
    base = mercer.cross_validate(dummy, Z, y, scoring=asked.scoring, **how).mean
    return search, _judged(nested, base, asked.scoring, table)


def _judged(nested: Any, base: float, scoring: str | None, table: Prepared) -> Judgement:
    how = f"nested cross-validation, {nested.folds}"
    held = nested.predictions.mean(axis=0) if table.target.task == "regression" else None
    if table.target.task == "regression" and scoring in _SQUARES:
        error = math.sqrt(max(-nested.mean, 0.0))
        spread = nested.standard_error / (2 * error) if error else 0.0
        return Judgement("root mean squared error", error, spread, math.sqrt(-base), how, True, held)
    if scoring in {None, "accuracy"}:
        return Judgement("share of wrong labels", 1 - nested.mean, nested.standard_error, 1 - base, how, share=True)
    return Judgement(nested.scoring, nested.mean, nested.standard_error, base, how, False, held)
