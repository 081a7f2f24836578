"""Fit a model to a prepared table, estimate its out-of-sample error, and say what that estimate rests on."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

import mercer
from mercer.cli.job import Job
from mercer.cli.preparing import Prepared, Task
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
    refuse_if,
)
from mercer.estimators.auto_core import fixed_seconds
from mercer.estimators.auto_evaluation import FULL_SYSTEMS, check_loss
from mercer.estimators.evaluation import refitted_baseline
from mercer.estimators.inputs import EncodedTable
from mercer.kernels import Kernel, parse
from mercer.kernels.views import On
from mercer.report.judging import own_outcome
from mercer.report.subject import subject_of
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
_FEW_ROWS = 2000  # up to which the automatic models are tried in any time
MANY = 1_000_000  # rows beyond which models of landmarks are fitted; as many as a Parquet table that is held may have
# Options that the automatic models do not have; --checkpoint only those of many rows.
_SEARCHED = ("kernel", "alphas", "rule", "scoring", "repeats", "checkpoint", "without_data")


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, why it is of its class, how good it is, and what was warned of."""

    model: Estimator
    why: str
    outcome: Outcome
    warned: list[str]


def choose_model(job: Job, task: Task, rows: int = 0, *, streamed: bool = False) -> tuple[str, str]:
    """The class of the model, and why; the first line that fits decides.

    =====================================================  ===============================================
    --dask, more than a million rows, or a table that is  NystroemRidgeCV or NystroemRidgeClassifierCV
    read in passes (`streamed`)
    a --time-budget that the automatic models cannot       NystroemRidgeCV or NystroemRidgeClassifierCV
    keep for so many rows, and none of the options below
    any of --kernel, --alphas, --rule, --scoring,          KernelRidgeCV or KernelRidgeClassifierCV
    --repeats, --without-data, or --checkpoint with at
    most 5000 rows
    none of them                                           AutoRegressor or AutoClassifier
    =====================================================  ===============================================

    Automatic models of at most 5000 rows are fitted in seconds and have no checkpoint.
    `--without-data` wants weights of features and not landmarks, which are rows, so it never takes the first line.

    Examples
    --------
    >>> choose_model(Job("houses.csv", "price", rule="one_se"), "regression")
    ('KernelRidgeCV', 'because of --rule')
    """
    kind = "Ridge" if task == "regression" else "RidgeClassifier"
    asked = [f"--{name.replace('_', '-')}" for name in _SEARCHED if getattr(job, name)]
    if rows > FULL_SYSTEMS and asked == ["--checkpoint"]:
        asked = []
    if (job.dask or rows > MANY or streamed) and not job.without_data:
        why = "because of --dask" if job.dask else f"landmarks in place of all pairs of {rows} rows"
        return f"Nystroem{kind}CV", why
    if asked:
        return f"Kernel{kind}CV", f"because of {' and '.join(asked)}"
    if job.time_budget is not None and rows > _FEW_ROWS and fixed_seconds(rows) > job.time_budget:
        return f"Nystroem{kind}CV", f"landmarks, to keep --time-budget with {rows} rows"
    return "AutoRegressor" if task == "regression" else "AutoClassifier", "the default"


def fit(table: Prepared, name: str, why: str) -> Fitted:
    """A model of this class fitted to the table as its job says, and what is known about its error."""
    job = table.job
    why += "; with --class-weight balanced" * bool(job.class_weight) + f"; with --loss {job.loss}" * (
        job.loss != "auto"
    )
    refuse_unsupported(table, name)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        if name.startswith("Auto"):
            model, outcome = _fit_auto(table, name)
        elif name.startswith("Nystroem"):
            model, outcome = _fit_landmarks(table, name)
        else:
            model, outcome = _fit_search(table, name)
    auto, searched = name.startswith("Auto"), name.startswith("Kernel")
    own = _below_zero(table, outcome) if auto else _copies_apart(table) if searched else []
    return Fitted(model, why, outcome, [*own, *worth_telling(heard, auto=auto)])


def refuse_unsupported(table: Prepared, name: str) -> None:
    """Refuse options that this target or this model does not have."""
    job = table.job
    if job.class_weight and not table.labels:
        raise InputError("--class-weight needs labels; this target is numeric. Remove --class-weight.")
    if job.loss != "auto" and table.labels:
        raise InputError("--loss needs a numeric target; this target has labels. Remove --loss.")
    if not table.labels:
        check_loss(job.loss, table.target.values, "The target", ordered=table.times is not None)
    unwanted = {
        "--time": table.times is not None,
        "--class-weight": job.class_weight and name.startswith("Nystroem"),
        "--loss": job.loss != "auto",
        "--copies": job.copies is not None,
    }
    for option, given in unwanted.items() if not name.startswith("Auto") else ():
        if given:
            raise InputError(
                f"{option} is not supported for {name}. Remove {option}, or the options that selected {name}."
            )


def _fit_auto(table: Prepared, name: str) -> tuple[Any, Outcome]:
    job, y = table.job, table.target.values
    folds = job.folds or 0  # outer folds; without them the error is the model's own estimate
    refuse_if(folds > len(y), "--folds", f"at most the number of rows, {len(y)}", folds)
    budget = None
    if job.time_budget is not None:
        left = job.time_budget - (time.monotonic() - job.begun) - _AFTER
        budget = max(left, _LEAST_SHARE * job.time_budget) / (folds + 1)
    model = getattr(mercer, name)(
        time_budget=budget, copies=None if job.copies is None else job.copies == "together",
        encoder=TableEncoder.from_settings(table.encoder.settings), checkpoint=job.checkpoint, random_state=job.seed,
        verbose=int(not job.quiet), **({"class_weight": job.class_weight} if table.labels else {"loss": job.loss}),
    )  # fmt: skip
    beside = {"sample_weight": table.weights, "groups": table.groups, "time": table.times}
    model.fit(EncodedTable(table.features, table.encoder), y, **beside)
    if folds:
        return model, model.evaluate(table.features, y, cv=folds, **beside)
    shared = {
        encoding_words(table): True,
        "the mean and standard deviation of the target": not table.labels,
        "the widths and alphas of the kernels": model.in_cells,
    }
    own = own_outcome(subject_of(model, table.features, y, target=""))
    return model, replace(own, from_all_rows=tuple(words for words, true in shared.items() if true))


def _below_zero(table: Prepared, outcome: Outcome) -> list[str]:
    """A warning of negative predictions for a positive target, with the way out."""
    predicted = outcome.predicted
    if table.labels or predicted is None or not (table.target.values > 0).all():
        return []
    below, known = int(np.sum(predicted < 0)), int(np.sum(np.isfinite(predicted)))
    words = f"{below} of {known} held-out predictions are negative, but every target is positive."
    return [f"{words} --loss log fits the logarithm, so that predictions are positive."] if below else []


def _fit_search(table: Prepared, name: str) -> tuple[Any, Outcome]:
    job, y, groups, weights = table.job, table.target.values, table.groups, table.weights
    search, Z = search_for(table, name)
    if job.time_budget is not None:
        seconds = (1 + times_as_long(search, job)) * search.explain(Z, y, weights, groups).chosen.seconds
        if seconds > job.time_budget:
            raise InputError(
                f"This search and its nested cross-validation take about {duration(seconds)}, more than --time-budget "
                f"{job.time_budget:g}. Use fewer kernels or alphas, or a larger --time-budget."
            )
    search.fit(Z, y, sample_weight=weights, groups=groups)
    how = {"cv": search.cv, "repeats": search.repeats, "random_state": search.random_state, "groups": groups}
    refitted: tuple[Any, Any] = search, Z
    shared = _words_of_all_rows(table, search)
    if not _on_columns(job):
        used = tuple((column.name, column.kind) for column in table.encoder.columns_ if column.outputs)
        unused = tuple(column.name for column in table.encoder.columns_ if not column.outputs)
        encoder = TableEncoder.from_settings(replace(table.encoder.settings, kinds=used, drop=unused))
        refitted, shared = (Pipeline([("encoder", encoder), ("search", search)]), table.features), ()
        how["inner"] = max(2, int(search.cv) - 1)  # as many folds as there are besides the outer one
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the search has said what there is to say
        nested = mercer.nested_cross_validate(*refitted, y, sample_weight=weights, **how)
    return search, replace(nested, from_all_rows=shared)


def search_for(table: Prepared, name: str) -> tuple[Any, Array]:
    """The search for this table, not fitted yet, and the table as numbers."""
    job, y = table.job, table.target.values
    if job.folds is not None:
        must_be = f"between 3 and the number of rows, {len(y)}, when kernel and alpha are searched"
        way_out = "The error is estimated by nested cross-validation, which needs at least 3 folds."
        refuse_if(not 3 <= job.folds <= len(y), "--folds", must_be, job.folds, way_out)
    if table.groups is not None:
        most = len(np.unique(table.groups))
    else:
        most = np.unique(y, return_counts=True)[1].min() if table.labels else len(y)
    settings = _settings(table) | {
        "cv": job.folds or min(_FOLDS, int(most)),
        "repeats": job.repeats or 1,
        "random_state": job.seed if table.groups is None else None,
    }
    if job.class_weight:  # candidates are compared, and the error is told, with classes that count the same
        settings |= {"class_weight": job.class_weight, "scoring": job.scoring or "balanced_accuracy"}
    return getattr(mercer, name)(**settings), table.encoder.transform(table.features)


def _settings(table: Prepared) -> dict[str, Any]:
    """What all searches are made with."""
    job = table.job
    return {
        "kernels": _kernels(table), "alphas": sorted(job.alphas) or None, "scoring": job.scoring,
        "fit_intercept": True, "rule": job.rule or "best", "checkpoint": job.checkpoint,
        "random_state": job.seed, "verbose": int(not job.quiet),
    }  # fmt: skip


def _kernels(table: Prepared) -> list[Any]:
    """Names of families as they are, all other texts as kernels of the encoded table."""
    without, encoder = table.job.without_data, table.encoder
    texts = table.job.kernel or (_FINITE if without else _FAMILIES)
    kernels = [place_columns(parse(text), encoder) if "(" in text else text for text in texts]
    row = Rows(np.zeros((1, len(encoder.names_out_))))
    for kernel in (parse(f"{each}()") if isinstance(each, str) else each for each in kernels if without):
        if kernel.count_features(row) is None:
            raise InputError(
                "--without-data needs a kernel with a finite feature map, such as linear() or polynomial(degree=2); "
                f"{kernel!r} predicts from its training rows. Choose another --kernel, or remove --without-data."
            )
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


def _copies_apart(table: Prepared) -> list[str]:
    """A warning of copies of rows, which a search without groups deals to different folds."""
    if table.groups is not None:
        return []
    numbers = np.unique(table.target.values, return_inverse=True)[1]
    copies = Copies.among(table.encoder.transform(table.features), numbers)
    hint = "Drop the copies, or mark them by a column and use --group."
    words = f"{copies.words()}: a copy in another fold makes the error too low. {hint}"
    return [] if copies.by_chance else [words]


def _fit_landmarks(table: Prepared, name: str) -> tuple[Any, Outcome]:
    job, classifier = table.job, table.labels
    search, given = landmarks_for(table, name)
    search.fit(*given)
    outcome = search.nested_
    if math.isnan(outcome.base):  # of scores that sums do not give
        y = table.target.values
        y = y[:: 1 + len(y) // _MANY]
        folds = draw(search.cv, y, y, random_state=job.seed, classifier=classifier)
        how = resolve_scoring(job.scoring, classifier=classifier)
        outcome = replace(outcome, base=refitted_baseline(y, folds, how, classifier=classifier))
    return search, replace(outcome, from_all_rows=(*_words_of_all_rows(table, search), "the landmarks"))


def landmarks_for(table: Prepared, name: str) -> tuple[Any, tuple[Any, ...]]:
    """A search on landmarks, not fitted yet, and what to give it: the table as numbers, or passes over it."""
    job = table.job
    if job.repeats:
        raise InputError("--repeats is not supported for more than 1 000 000 rows or with --dask. Remove --repeats.")
    if job.dask is not None:
        must_be = "the address of a scheduler, such as tcp://10.0.0.1:8786"
        refuse_if("://" not in job.dask, "--dask", must_be, repr(job.dask))
    settings = _settings(table) | {"cv": job.folds or _FOLDS, "nested": True, "backend": job.dask}
    search = getattr(mercer, name)(**settings)
    given: tuple[Any, ...] = (table.stream,)
    if table.stream is None:
        given = table.encoder.transform(table.features), table.target.values, table.weights, table.groups
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
