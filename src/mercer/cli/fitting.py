"""Fit a model to a prepared table, estimate its out-of-sample error, and say what that estimate rests on."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from mercer.cli.choices import choose_model, rarest_label
from mercer.cli.options import FitOptions, kernels_of
from mercer.cli.preparing import Prepared
from mercer.cli.refusals import flags
from mercer.data.folds import Copies, draw
from mercer.data.rows import Array, Estimator, Rows
from mercer.errors import (
    IllConditionedWarning,
    InputError,
    LeakageWarning,
    LeftOutWarning,
    MercerWarning,
    refuse_if,
    sentence,
)
from mercer.estimators.auto_evaluation import check_loss
from mercer.estimators.evaluation import refitted_baseline
from mercer.estimators.inputs import EncodedTable
from mercer.kernels import parse
from mercer.report.judging import own_outcome
from mercer.report.subject import subject_of
from mercer.selection.outcome import Outcome
from mercer.selection.scoring import resolve_scoring
from mercer.tables import TableEncoder

_FAMILIES = ["gaussian", "laplacian"]  # where a search is asked for and no kernel is named
_FINITE = ["linear", "polynomial(degree=2)"]  # the same, where no training row may be kept
_LEAST_SHARE = 0.3  # of a time budget that the last and longest step gets, whatever was spent before
_FOLDS = 10
_AFTER = 0.5  # seconds of a time budget that writing the model and looking for leaks take
_MANY = 200_000  # rows that a mean is judged by


@dataclass(frozen=True, eq=False)
class FitJob:
    """A table ready to be fitted, how to fit it, and the class of model that follows from both.

    Attributes
    ----------
    table : Prepared
        Features, target, groups and weights.
    options : FitOptions
        Settings of the fit.
    name, why : str
        The class of the model, and the reason for it.
    """

    table: Prepared
    options: FitOptions
    name: str
    why: str

    @classmethod
    def of(cls, table: Prepared, options: FitOptions) -> FitJob:
        """The job with the class of model that `choose_model` chooses."""
        rows, streamed = len(table.target.values), table.stream is not None
        return cls(table, options, *choose_model(table.target.task, vars(options), rows, streamed=streamed))


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, why it is of its class, how good it is, and what was warned of."""

    model: Estimator
    why: str
    outcome: Outcome
    warned: list[str]


def fit(job: FitJob) -> Fitted:
    """Fit what the settings ask for, and judge it."""
    table, options, why = job.table, job.options, job.why
    why += "; with --class-weight balanced" * bool(options.class_weight)
    why += f"; with --loss {options.loss}" * (options.loss != "auto")
    refuse_unsupported(job)
    auto, landmarks = job.name.startswith("Auto"), job.name.startswith("Nystroem")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model, outcome = (_fit_auto if auto else _fit_landmarks if landmarks else _fit_search)(job)
    own = _below_zero(table, outcome) if auto else [] if landmarks else _copies_apart(table)
    return Fitted(model, why, outcome, [*own, *worth_telling(heard, auto=auto)])


def _copies_apart(table: Prepared) -> list[str]:
    """A warning of copies of rows, which a search without groups deals to different folds."""
    if table.groups is not None:
        return []
    numbers = np.unique(table.target.values, return_inverse=True)[1]
    found = Copies.among(table.encoder.transform(table.features), numbers)
    if found.by_chance:
        return []
    hint = "Drop the copies, or mark them by a column and use --group."
    return [f"{found.words()}: a copy in another fold makes the error too low. {hint}"]


def _below_zero(table: Prepared, outcome: Outcome) -> list[str]:
    """A warning of negative predictions for a positive target, with the way out."""
    y, predicted = table.target.values, outcome.predicted
    if table.target.task == "classification" or predicted is None or not (y > 0).all():
        return []
    below, known = int(np.sum(predicted < 0)), int(np.sum(np.isfinite(predicted)))
    said = f"{below} of {known} held-out predictions are negative, but every target is positive."
    return [f"{said} --loss log fits the logarithm, so that predictions are positive."] if below else []


def refuse_unsupported(job: FitJob) -> None:
    """Refuse options that this target or this model does not have."""
    table, options, name = job.table, job.options, job.name
    if options.class_weight and table.target.task == "regression":
        raise InputError("--class-weight needs labels; this target is numeric. Remove --class-weight.")
    if options.loss != "auto" and table.target.task == "classification":
        raise InputError("--loss needs a numeric target; this target has labels. Remove --loss.")
    if table.target.task == "regression":
        check_loss(options.loss, table.target.values, "The target", ordered=table.times is not None)
    unwanted = {
        "--time": table.times is not None,
        "--class-weight": options.class_weight and name.startswith("Nystroem"),
        "--loss": options.loss != "auto",
        "--copies": options.copies is not None,
    }
    for option, given in unwanted.items() if not name.startswith("Auto") else ():
        if given:
            raise InputError(
                f"{option} is not supported for {name}. Remove {option}, or the options that selected {name}."
            )


def worth_telling(heard: list[warnings.WarningMessage], *, auto: bool = False) -> list[str]:
    """Mercer's own warnings, each kind once.

    Columns that were left out have been told, and leaks are. Alphas of the automatic models are tuned by their held-out
    error; how their systems are conditioned is no news then.
    """
    told: dict[type[Warning], list[str]] = {}
    for each in heard:
        known = each.category in (LeftOutWarning, LeakageWarning) or (auto and each.category is IllConditionedWarning)
        if issubclass(each.category, MercerWarning) and not known:
            said = each.message.in_terms(flags) if isinstance(each.message, MercerWarning) else str(each.message)
            told.setdefault(each.category, []).append(" ".join(said.split()))
    return [said[0] + (f" (And {len(said) - 1} more like it.)" if said[1:] else "") for said in told.values()]


def _fit_auto(job: FitJob) -> tuple[Any, Outcome]:
    import mercer

    table, options, y = job.table, job.options, job.table.target.values
    folds = options.folds or 0  # outer folds; without them the error is the model's own estimate
    refuse_if(folds > len(y), "--folds", f"at most the number of rows, {len(y)}", folds)
    budget = None
    if options.time_budget is not None:
        left = options.time_budget - (time.monotonic() - options.begun) - _AFTER
        budget = max(left, _LEAST_SHARE * options.time_budget) / (folds + 1)
    encoder = TableEncoder.from_settings(table.encoder.settings)
    how: dict[str, Any] = {
        "time_budget": budget,
        "encoder": encoder,
        "checkpoint": options.checkpoint,
        "random_state": options.seed,
        "verbose": options.verbose,
    }
    how |= {"class_weight": options.class_weight} if options.class_weight else {}
    how |= {"loss": options.loss} if options.loss != "auto" else {}
    how |= {"copies": options.copies == "together"} if options.copies else {}
    beside = {"sample_weight": table.weights, "groups": table.groups, "time": table.times}
    model = getattr(mercer, job.name)(**how).fit(EncodedTable(table.features, table.encoder), y, **beside)
    if folds:
        return model, model.evaluate(table.features, y, cv=folds, **beside)
    shared = [encoding_words(table)]
    shared += [] if table.target.task == "classification" else ["the mean and standard deviation of the target"]
    shared += ["the widths and alphas of the kernels"] if model.in_cells else []
    own = own_outcome(subject_of(model, table.features, y, target=""))
    return model, replace(own, from_all_rows=tuple(shared))


def search_for(job: FitJob) -> tuple[Any, Array]:
    """The search for these options, not fitted yet, and the table as numbers."""
    import mercer

    table, options, y = job.table, job.options, job.table.target.values
    if options.folds is not None and not 3 <= options.folds <= len(y):
        must_be = f"between 3 and the number of rows, {len(y)}, when kernel and alpha are searched"
        way_out = "The error is estimated by nested cross-validation, which needs at least 3 folds."
        raise InputError(sentence("--folds", must_be, options.folds, way_out))
    settings: dict[str, Any] = {
        "kernels": _kernels(job),
        "alphas": sorted(options.alphas) or None,
        "cv": options.folds or min(_FOLDS, _most_folds(table)),
        "repeats": options.repeats or 1,
        "scoring": options.scoring,
        "fit_intercept": True,
        "rule": options.rule or "best",
        "checkpoint": options.checkpoint,
        "random_state": options.seed if table.groups is None else None,
        "verbose": options.verbose,
    }
    if options.class_weight:  # candidates are compared, and the error is told, with classes that count the same
        settings |= {"class_weight": options.class_weight, "scoring": options.scoring or "balanced_accuracy"}
    return getattr(mercer, job.name)(**settings), table.encoder.transform(table.features)


def _kernels(job: FitJob) -> list[Any]:
    options, encoder = job.options, job.table.encoder
    if not options.without_data:
        return kernels_of(options.kernel or _FAMILIES, encoder)
    kernels, row = kernels_of(options.kernel or _FINITE, encoder), Rows(np.zeros((1, len(encoder.names_out_))))
    for kernel in (parse(f"{each}()") if isinstance(each, str) else each for each in kernels):
        if kernel.count_features(row) is None:
            raise InputError(
                "--without-data needs a kernel with a finite feature map, such as linear() or polynomial(degree=2); "
                f"{kernel!r} predicts from its training rows. Choose another --kernel, or remove --without-data."
            )
    return kernels


def _most_folds(table: Prepared) -> int:
    """The largest possible number of folds: the number of rows, of groups, or of rows of the rarest label."""
    if table.groups is not None:
        return len(np.unique(table.groups))
    y = table.target.values
    return rarest_label(y)[1] if table.target.task == "classification" else len(y)


def _fit_search(job: FitJob) -> tuple[Any, Outcome]:
    import mercer
    from mercer.runtime.progress import duration

    table, options = job.table, job.options
    search, Z = search_for(job)
    y, groups, weights = table.target.values, table.groups, table.weights
    if options.time_budget is not None:
        seconds = (1 + times_as_long(search, options)) * search.explain(Z, y, weights, groups).chosen.seconds
        if seconds > options.time_budget:
            raise InputError(
                f"This search and its nested cross-validation take about {duration(seconds)}, more than --time-budget "
                f"{options.time_budget:g}. Use fewer kernels or alphas, or a larger --time-budget."
            )
    search.fit(Z, y, sample_weight=weights, groups=groups)
    how = {"cv": search.cv, "repeats": search.repeats, "random_state": search.random_state, "groups": groups}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the search has said what there is to say
        if on_columns(options):
            nested = mercer.nested_cross_validate(search, Z, y, sample_weight=weights, **how)
        else:
            pipeline = Pipeline([("encoder", fresh_encoder(table.encoder)), ("search", search)])
            inner = max(2, int(search.cv) - 1)  # as many folds as there are besides the outer one
            nested = mercer.nested_cross_validate(
                pipeline, table.features, y, inner=inner, sample_weight=weights, **how
            )
    shared = (encoding_words(table), *_ladder_words(search)) if on_columns(options) else ()
    return search, replace(nested, from_all_rows=shared)


def on_columns(options: FitOptions) -> bool:
    """Whether a kernel names columns: their numbers of the encoded table then hold for one encoder alone."""
    return any(".on(" in text for text in options.kernel)


def times_as_long(search: Estimator, options: FitOptions) -> int:
    """How many times as long as the search its nested cross-validation takes, about."""
    return 1 if on_columns(options) else int(search.cv) * int(search.repeats)


def fresh_encoder(encoder: TableEncoder) -> TableEncoder:
    """An encoder, not fitted, with the kinds of columns that `encoder` has."""
    used = tuple((column.name, column.kind) for column in encoder.columns_ if column.outputs)
    unused = tuple(column.name for column in encoder.columns_ if not column.outputs)
    return TableEncoder.from_settings(replace(encoder.settings, kinds=used, drop=unused))


def encoding_words(table: Prepared) -> str:
    """The parts of the encoding that were computed from rows, and from which rows."""
    columns = [column for column in table.encoder.columns_ if column.outputs]
    kinds = {column.kind for column in columns}
    learned = [
        *(["means and standard deviations of numbers"] if "number" in kinds else []),
        *(["medians and standard deviations of dates"] if "date" in kinds else []),
        *(["fill values of missing values"] if any(c.missing and c.scale is not None for c in columns) else []),
        *(["levels of categories"] if "category" in kinds else []),
        *(["vocabulary and SVD components of text columns"] if "text" in kinds else []),
        "which columns are dropped",
    ]
    sampled = "" if table.stream is None else f", from {len(next(iter(table.features.values())))} sampled rows"
    return f"the encoding of the columns ({', '.join(learned)}{sampled})"


def _ladder_words(search: Estimator) -> list[str]:
    """The candidates that were derived from rows."""
    widths = any(isinstance(kernel, str) for kernel in search.kernels)
    found = ["widths"] * widths + ["alphas"] * (search.alphas is None)
    return [f"the candidate {' and '.join(found)}"] if found else []


def landmarks_for(job: FitJob) -> tuple[Any, tuple[Any, ...]]:
    """A search on landmarks, not fitted yet, and what to give it: the table as numbers, or passes over it."""
    import mercer

    table, options = job.table, job.options
    if options.repeats:
        raise InputError("--repeats is not supported for more than 1 000 000 rows or with --dask. Remove --repeats.")
    if options.dask is not None and "://" not in options.dask:
        raise InputError(
            sentence("--dask", "the address of a scheduler, such as tcp://10.0.0.1:8786", repr(options.dask))
        )
    settings: dict[str, Any] = {
        "kernels": _kernels(job),
        "alphas": sorted(options.alphas) or None,
        "cv": options.folds or _FOLDS,
        "nested": True,
        "scoring": options.scoring,
        "fit_intercept": True,
        "rule": options.rule or "best",
        "backend": options.dask,
        "checkpoint": options.checkpoint,
        "random_state": options.seed,
        "verbose": options.verbose,
    }
    if options.time_budget is not None:
        settings["time_budget"] = options.time_budget
    search = getattr(mercer, job.name)(**settings)
    given: tuple[Any, ...] = (table.stream,)
    if table.stream is None:
        given = table.encoder.transform(table.features), table.target.values, table.weights, table.groups
    if (
        options.time_budget is not None
    ):  # the search counts its pass alone, neither drawing landmarks nor pairs of folds
        begun = time.monotonic()
        seconds = search.explain(*given).seconds
        now = time.monotonic()
        left = max(options.time_budget - (now - options.begun) - (now - begun), _LEAST_SHARE * options.time_budget)
        search.set_params(time_budget=options.time_budget * min(1.0, left / seconds))
    return search, given


def _fit_landmarks(job: FitJob) -> tuple[Any, Outcome]:
    table, options = job.table, job.options
    search, given = landmarks_for(job)
    search.fit(*given)
    outcome = search.nested_
    if math.isnan(outcome.base):  # of scores that sums do not give
        classifier, y = table.target.task == "classification", table.target.values
        y = y[:: 1 + len(y) // _MANY]
        folds = draw(search.cv, y, y, random_state=options.seed, classifier=classifier)
        how = resolve_scoring(options.scoring, classifier=classifier)
        outcome = replace(outcome, base=refitted_baseline(y, folds, how, classifier=classifier))
    return search, replace(outcome, from_all_rows=(encoding_words(table), *_ladder_words(search), "the landmarks"))
