"""Fit a model to a prepared table, estimate its out-of-sample error, and say what that estimate rests on."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from sklearn.pipeline import Pipeline

import mercer
from mercer.cli.job import Job
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
    nearest,
    refuse,
    refuse_if,
)
from mercer.estimators.auto_evaluation import check_loss
from mercer.estimators.evaluation import refitted_baseline
from mercer.estimators.inputs import EncodedTable
from mercer.kernels import Kernel, parse
from mercer.kernels.views import On
from mercer.report.judging import own_outcome
from mercer.runtime.progress import duration
from mercer.selection.outcome import Outcome
from mercer.selection.scoring import resolve_scoring
from mercer.tables import TableEncoder

_FAMILIES = ["gaussian", "laplacian"]  # where a search is asked for and no kernel is named
_FINITE = ["linear", "polynomial(degree=2)"]  # the same, where no training row may be kept
_LEAST_SHARE = 0.3  # of a time budget that the last and longest step gets, whatever was spent before
_FOLDS = 10
_AFTER = 0.5  # seconds of a time budget that writing the model and looking for leaks take
_MANY = 200_000  # rows that a mean is judged by


Result: TypeAlias = tuple[Any, Outcome, list[str]]  # a model, how good it is, and what is warned of


class Fitted:
    """The model of a table, fitted as its job says, why it is of its class, how good it is, and what was warned of."""

    def __init__(self, table: Prepared) -> None:
        job, auto = table.job, table.model.startswith("Auto")
        self.why = table.model_because + "; with --class-weight balanced" * bool(job.class_weight)
        self.why += f"; with --loss {job.loss}" * (job.loss != "auto")
        refuse_unsupported(table)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            fit_model = _fit_auto if auto else _fit_landmarks if table.model.startswith("Nystroem") else _fit_search
            self.model, self.outcome, own = fit_model(table)
        self.warned = [*own, *worth_telling(heard, auto=auto)]


def refuse_unsupported(table: Prepared) -> None:
    """Refuse options that this target or this model does not have."""
    job, name, numbers = table.job, table.model, not table.labels
    refuse(job.class_weight and numbers, "--class-weight needs labels; this target is numeric. Remove --class-weight.")
    refuse(job.loss != "auto" and table.labels, "--loss needs a numeric target; this target has labels. Remove --loss.")
    if numbers:
        check_loss(job.loss, table.y, "The target", ordered=table.times is not None)
    unwanted = {
        "--time": table.times is not None,
        "--class-weight": job.class_weight and name.startswith("Nystroem"),
        "--loss": job.loss != "auto",
        "--copies": job.copies is not None,
    }
    option = next((option for option, given in unwanted.items() if given), "")
    if option and not name.startswith("Auto"):
        raise InputError(f"{option} is not supported for {name}. Remove {option}, or the options that selected {name}.")


def _fit_auto(table: Prepared) -> Result:
    """An automatic model; its error is its own estimate, or with `--folds` that of outer folds."""
    job, y = table.job, table.y
    folds = job.folds or 0  # outer folds; without them the error is the model's own estimate
    refuse_if(folds > len(y), "--folds", f"at most the number of rows, {len(y)}", folds)
    budget = None
    if job.time_budget is not None:
        left = job.time_budget - (time.monotonic() - job.begun) - _AFTER
        budget = max(left, _LEAST_SHARE * job.time_budget) / (folds + 1)
    model = getattr(mercer, table.model)(  # its encoder is for refits in outer folds; `fit` gets the one that is fitted
        time_budget=budget, copies=None if job.copies is None else job.copies == "together",
        encoder=TableEncoder.from_settings(table.encoder.settings), checkpoint=job.checkpoint, random_state=job.seed,
        verbose=int(not job.quiet), **({"class_weight": job.class_weight} if table.labels else {"loss": job.loss}),
    )  # fmt: skip
    beside = {"sample_weight": table.weights, "groups": table.groups, "time": table.times}
    model.fit(EncodedTable(table.features, table.encoder), y, **beside)
    if folds:
        outcome = model.evaluate(table.features, y, cv=folds, **beside)
    else:
        spread, widths = "the mean and standard deviation of the target", "the widths and alphas of the kernels"
        shared = (encoding_words(table), *([] if table.labels else [spread]), *([widths] if model.in_cells else []))
        outcome = replace(own_outcome(model, y), from_all_rows=shared)
    predicted = outcome.predicted
    if table.labels or predicted is None or not (y > 0).all() or not (predicted < 0).any():
        return model, outcome, []
    below, known = int(np.sum(predicted < 0)), int(np.sum(np.isfinite(predicted)))
    words = f"{below} of {known} held-out predictions are negative, but every target is positive."
    return model, outcome, [f"{words} --loss log fits the logarithm, so that predictions are positive."]


def _fit_search(table: Prepared) -> Result:
    """The search that the options ask for; its error is that of nested cross-validation."""
    job, y, groups, weights = table.job, table.y, table.groups, table.weights
    search, Z = search_for(table)
    if job.time_budget is not None:
        seconds = (1 + times_as_long(search, job)) * search.explain(Z, y, weights, groups).chosen.seconds
        way_out = "Use fewer kernels or alphas, or a larger --time-budget."
        take = f"This search and its nested cross-validation take about {duration(seconds)}"
        refuse(seconds > job.time_budget, f"{take}, more than --time-budget {job.time_budget:g}. {way_out}")
    search.fit(Z, y, sample_weight=weights, groups=groups)
    how = {"cv": search.cv, "repeats": search.repeats, "random_state": search.random_state, "groups": groups}
    refitted: tuple[Any, Any] = search, Z
    shared = _words_of_all_rows(table, search)
    if not _on_columns(job):
        refitted, shared = (Pipeline([("encoder", _fresh_encoder(table)), ("search", search)]), table.features), ()
        how["inner"] = max(2, int(search.cv) - 1)  # as many folds as there are besides the outer one
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the search has said what there is to say
        nested = mercer.nested_cross_validate(*refitted, y, sample_weight=weights, **how)
    nested, copies = replace(nested, from_all_rows=shared), None
    if groups is None:  # copies are dealt to different folds
        copies = Copies.among(Z, np.unique(y, return_inverse=True)[1])
    if copies is None or copies.by_chance:
        return search, nested, []
    hint = "Drop the copies, or mark them by a column and use --group."
    return search, nested, [f"{copies.words()}: a copy in another fold makes the error too low. {hint}"]


def _fresh_encoder(table: Prepared) -> TableEncoder:
    """An encoder, not fitted, with the kinds of columns that were found."""
    columns, settings = table.encoder.columns_, table.encoder.settings
    used = tuple((column.name, column.kind) for column in columns if column.outputs)
    unused = tuple(column.name for column in columns if not column.outputs)
    return TableEncoder.from_settings(replace(settings, kinds=used, drop=unused))


def search_for(table: Prepared) -> tuple[Any, Array]:
    """The search for this table, not fitted yet, and the table as numbers."""
    job, y = table.job, table.y
    if job.folds is not None:
        must_be = f"between 3 and the number of rows, {len(y)}, when kernel and alpha are searched"
        way_out = "The error is estimated by nested cross-validation, which needs at least 3 folds."
        refuse_if(not 3 <= job.folds <= len(y), "--folds", must_be, job.folds, way_out)
    if table.groups is None:
        most = np.unique(y, return_counts=True)[1].min() if table.labels else len(y)
    else:
        most = len(np.unique(table.groups))
    settings = _settings(table) | {"cv": job.folds or min(_FOLDS, int(most)), "repeats": job.repeats or 1}
    settings |= {} if table.groups is None else {"random_state": None}
    if job.class_weight:  # candidates are compared, and the error is told, with classes that count the same
        settings |= {"class_weight": job.class_weight, "scoring": job.scoring or "balanced_accuracy"}
    return getattr(mercer, table.model)(**settings), table.encoder.transform(table.features)


def _settings(table: Prepared) -> dict[str, Any]:
    """What all searches are made with."""
    job = table.job
    return {
        "kernels": _kernels(table), "alphas": sorted(job.alphas) or None, "scoring": job.scoring, "fit_intercept": True,
        "rule": job.rule or "best", "checkpoint": job.checkpoint, "random_state": job.seed,
        "verbose": int(not job.quiet),
    }  # fmt: skip


def _kernels(table: Prepared) -> list[Any]:
    """Names of families as they are, all other texts as kernels of the encoded table."""
    without, encoder = table.job.without_data, table.encoder
    texts = table.job.kernel or (_FINITE if without else _FAMILIES)
    kernels = [place_columns(parse(text), encoder) if "(" in text else text for text in texts]
    row = Rows(np.zeros((1, len(encoder.names_out_))))
    for kernel in (parse(f"{each}()") if isinstance(each, str) else each for each in kernels if without):
        if kernel.count_features(row) is None:
            need = "--without-data needs a kernel with a finite feature map, such as linear() or polynomial(degree=2)"
            way_out = "Choose another --kernel, or remove --without-data."
            raise InputError(f"{need}; {kernel!r} predicts from its training rows. {way_out}")
    return kernels


def place_columns(kernel: Kernel, encoder: TableEncoder) -> Kernel:
    """The kernel with the numbers of encoded columns in place of the names of columns.

    Examples
    --------
    >>> from mercer import TableEncoder
    >>> encoder = TableEncoder().fit({"age": [1.0, 2.0, 4.0], "city": ["Rome", "Bonn", "Rome"]})
    >>> place_columns(parse("linear().on('city')"), encoder)
    Linear().on([1, 2])
    """
    if isinstance(kernel, On):
        return place_columns(kernel.base, encoder).on(_places(kernel.columns, encoder))
    members = {name: place_columns(member, encoder) for name, member in kernel.members().items()}
    changed = {name: member for name, member in members.items() if member != kernel.members()[name]}
    return kernel.set_params(**changed) if changed else kernel


def _places(columns: Any, encoder: TableEncoder) -> list[int]:
    known = {column.name: place for place, column in enumerate(encoder.columns_) if column.outputs}
    places: list[int] = []
    for name in [columns] if isinstance(columns, str | int) else columns:
        if not isinstance(name, str):
            raise InputError(f".on(...) needs column names on the command line, such as .on('age'); got {name!r}.")
        if name not in known:
            raise InputError(f".on({name!r}): there is no feature column {name!r}. {nearest(name, known)}")
        places += np.flatnonzero(encoder.groups_ == known[name]).tolist()
    return places


def _on_columns(job: Job) -> bool:
    """Whether a kernel names columns: their numbers of the encoded table then hold for one encoder alone."""
    return any(".on(" in text for text in job.kernel)


def times_as_long(search: Estimator, job: Job) -> int:
    """How many times as long as the search its nested cross-validation takes, about."""
    return 1 if _on_columns(job) else int(search.cv) * int(search.repeats)


def _fit_landmarks(table: Prepared) -> Result:
    """The search on landmarks, in passes over the table; its error is that of nested cross-validation from sums."""
    job, classifier = table.job, table.labels
    search, given = landmarks_for(table)
    search.fit(*given)
    outcome = search.nested_
    if math.isnan(outcome.base):  # of scores that sums do not give
        y = table.y
        y = y[:: 1 + len(y) // _MANY]
        folds = draw(search.cv, y, y, random_state=job.seed, classifier=classifier)
        how = resolve_scoring(job.scoring, classifier=classifier)
        outcome = replace(outcome, base=refitted_baseline(y, folds, how, classifier=classifier))
    return search, replace(outcome, from_all_rows=(*_words_of_all_rows(table, search), "the landmarks")), []


def landmarks_for(table: Prepared) -> tuple[Any, tuple[Any, ...]]:
    """A search on landmarks, not fitted yet, and what to give it: the table as numbers, or passes over it."""
    job = table.job
    refuse(job.repeats, "--repeats is not supported for more than 1 000 000 rows or with --dask. Remove --repeats.")
    if job.dask is not None:
        must_be = "the address of a scheduler, such as tcp://10.0.0.1:8786"
        refuse_if("://" not in job.dask, "--dask", must_be, repr(job.dask))
    settings = _settings(table) | {"cv": job.folds or _FOLDS, "nested": True, "backend": job.dask}
    search = getattr(mercer, table.model)(**settings)
    given: tuple[Any, ...] = (table.stream,)
    if table.stream is None:
        given = table.encoder.transform(table.features), table.y, table.weights, table.groups
    if job.time_budget is not None:  # the search counts its pass alone, neither drawing landmarks nor pairs of folds
        begun = time.monotonic()
        search.set_params(time_budget=job.time_budget)
        seconds = search.explain(*given).seconds
        now = time.monotonic()
        left = max(job.time_budget - (now - job.begun) - (now - begun), _LEAST_SHARE * job.time_budget)
        search.set_params(time_budget=job.time_budget * min(1.0, left / seconds))
    return search, given


def encoding_words(table: Prepared) -> str:
    """The parts of the encoding that were computed from rows, and from which rows."""
    columns = [column for column in table.encoder.columns_ if column.outputs]
    kinds = {column.kind for column in columns}
    parts = {
        "means and standard deviations of numbers": "number" in kinds,
        "medians and standard deviations of dates": "date" in kinds,
        "fill values of missing values": any(column.missing and column.scale is not None for column in columns),
        "levels of categories": "category" in kinds,
        "vocabulary and SVD components of text columns": "text" in kinds,
        "which columns are dropped": True,
    }
    sampled = "" if table.stream is None else f", from {len(next(iter(table.features.values())))} sampled rows"
    return f"the encoding of the columns ({', '.join(words for words, true in parts.items() if true)}{sampled})"


def _words_of_all_rows(table: Prepared, search: Estimator) -> tuple[str, ...]:
    """What a search has from all rows: the encoding, and candidates that were derived from rows."""
    widths = any(isinstance(kernel, str) for kernel in search.kernels)
    derived = ["widths"] * widths + ["alphas"] * (search.alphas is None)
    return (encoding_words(table), *([f"the candidate {' and '.join(derived)}"] if derived else []))


def worth_telling(heard: Sequence[warnings.WarningMessage], *, auto: bool = False) -> list[str]:
    """Mercer's own warnings, each kind once.

    Columns that were left out have been told, and leaks are. Alphas of the automatic models are tuned by their held-out
    error; how their systems are conditioned is no news then.
    """
    known = (LeftOutWarning, LeakageWarning, *([IllConditionedWarning] if auto else []))
    told: dict[type[Warning], list[str]] = {}
    for each in heard:
        if isinstance(each.message, MercerWarning) and each.category not in known:
            told.setdefault(each.category, []).append(" ".join(each.message.in_terms(flags).split()))
    return [first + (f" (And {len(more)} more like it.)" if more else "") for first, *more in told.values()]
