"""Fit a model to a prepared table, estimate its out-of-sample error, and say what that estimate rests on."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from mercer.cli import clock
from mercer.cli.choices import choose_model, rarest_label
from mercer.cli.preparing import Prepared
from mercer.cli.refusals import flags
from mercer.data.folds import Copies
from mercer.data.rows import Array
from mercer.errors import IllConditionedWarning, InputError, LeakageWarning, LeftOutWarning, MercerWarning, sentence
from mercer.estimators.auto_losses import check_loss
from mercer.estimators.evaluation import AsError
from mercer.kernels import Kernel, parse
from mercer.report.judging import Judgement, baseline_score, dummy_score, judge, judged_search
from mercer.report.subject import subject_of
from mercer.tables import TableEncoder

_FAMILIES = ["gaussian", "laplacian"]  # where a search is asked for and no kernel is named
_FINITE = ["linear", "polynomial(degree=2)"]  # the same, where no training row may be kept
_LEAST_SHARE = 0.3  # of a time budget that the last and longest step gets, whatever was spent before
_FOLDS = 10
_AFTER = 0.5  # seconds of a time budget that writing the model and looking for leaks take
_MANY = 200_000  # rows that a mean is judged by


@dataclass(frozen=True)
class FitOptions:
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
    dask: str | None = None
    without_data: bool = False
    class_weight: str | None = None
    loss: str = "auto"
    copies: str | None = None
    begun: float = field(default_factory=lambda: clock.pop("begun", time.monotonic()))


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, why it is of its class, how good it is, and what was warned of."""

    model: Any
    why: str
    judgement: Judgement
    warned: list[str]


def fit(table: Prepared, asked: FitOptions) -> Fitted:
    """Fit what the settings ask for, and judge it."""
    task, rows = table.target.task, len(table.target.values)
    name, why = choose_model(task, vars(asked), rows, streamed=table.stream is not None)
    why += "; with --class-weight balanced" * bool(asked.class_weight) + f"; with --loss {asked.loss}" * (
        asked.loss != "auto"
    )
    refuse_unsupported(table, asked, name)
    make = _fit_auto if name.startswith("Auto") else _fit_landmarks if name.startswith("Nystroem") else _fit_search
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model, judgement = make(name, table, asked)
    auto = make is _fit_auto
    own = _below_zero(table, judgement) if auto else _copies_apart(table) if make is _fit_search else []
    return Fitted(model, why, judgement, [*own, *worth_telling(heard, auto=auto)])


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


def _below_zero(table: Prepared, judged: Judgement) -> list[str]:
    """A warning of negative predictions for a positive target, with the way out."""
    y, predicted = table.target.values, judged.predicted
    if table.target.task == "classification" or predicted is None or not (y > 0).all():
        return []
    below, known = int(np.sum(predicted < 0)), int(np.sum(np.isfinite(predicted)))
    said = f"{below} of {known} held-out predictions are negative, but every target is positive."
    return [f"{said} --loss log fits the logarithm, so that predictions are positive."] if below else []


def refuse_unsupported(table: Prepared, asked: FitOptions, name: str) -> None:
    """Refuse options that this target or this model does not have."""
    if asked.class_weight and table.target.task == "regression":
        raise InputError("--class-weight needs labels; this target is numeric. Remove --class-weight.")
    if asked.loss != "auto" and table.target.task == "classification":
        raise InputError("--loss needs a numeric target; this target has labels. Remove --loss.")
    if table.target.task == "regression":
        check_loss(asked.loss, table.target.values, "The target", ordered=table.times is not None)
    unwanted = {
        "--time": table.times is not None,
        "--class-weight": asked.class_weight and name.startswith("Nystroem"),
        "--loss": asked.loss != "auto",
        "--copies": asked.copies is not None,
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


def _fit_auto(name: str, table: Prepared, asked: FitOptions) -> tuple[Any, Judgement]:
    import mercer

    y = table.target.values
    folds = asked.folds or 0  # outer folds; without them the error is the model's own estimate
    if folds > len(y):
        raise InputError(sentence("--folds", f"at most the number of rows, {len(y)}", folds))
    budget = None
    if asked.time_budget is not None:
        left = asked.time_budget - (time.monotonic() - asked.begun) - _AFTER
        budget = max(left, _LEAST_SHARE * asked.time_budget) / (folds + 1)
    encoder = TableEncoder.from_settings(table.encoder.settings)
    how: dict[str, Any] = {
        "time_budget": budget,
        "encoder": encoder,
        "checkpoint": asked.checkpoint,
        "random_state": asked.seed,
        "verbose": asked.verbose,
    }
    how |= {"class_weight": asked.class_weight} if asked.class_weight else {}
    how |= {"loss": asked.loss} if asked.loss != "auto" else {}
    how |= {"copies": asked.copies == "together"} if asked.copies else {}
    beside = {"sample_weight": table.weights, "groups": table.groups, "time": table.times}
    model = getattr(mercer, name)(**how).fit(table.features, y, **beside)
    result = model.evaluate(table.features, y, cv=folds, **beside) if folds else None
    judged = judge(subject_of(model, table.features, y, target=""), result)
    if result is not None:
        return model, judged
    shared = [encoding_words(table)]
    shared += [] if table.target.task == "classification" else ["the mean and standard deviation of the target"]
    shared += ["the widths and alphas of the kernels"] if model.in_cells else []
    return model, replace(judged, from_all_rows=tuple(shared))


def search_for(name: str, table: Prepared, asked: FitOptions) -> tuple[Any, Array]:
    """The search for these options, not fitted yet, and the table as numbers."""
    import mercer

    y = table.target.values
    if asked.folds is not None and not 3 <= asked.folds <= len(y):
        must_be = f"between 3 and the number of rows, {len(y)}, when kernel and alpha are searched"
        way_out = "The error is estimated by nested cross-validation, which needs at least 3 folds."
        raise InputError(sentence("--folds", must_be, asked.folds, way_out))
    options: dict[str, Any] = {
        "kernels": _kernels(table, asked),
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
    if asked.class_weight:  # candidates are compared, and the error is told, with classes that count the same
        options |= {"class_weight": asked.class_weight, "scoring": asked.scoring or "balanced_accuracy"}
    return getattr(mercer, name)(**options), table.encoder.transform(table.features)


def _kernels(table: Prepared, asked: FitOptions) -> list[Any]:
    from mercer.cli.kernel_text import kernels_of

    if not asked.without_data:
        return kernels_of(asked.kernel or _FAMILIES, table.encoder)
    kernels = kernels_of(asked.kernel or _FINITE, table.encoder)
    for kernel in kernels:
        refuse_rows_needed(parse(f"{kernel}()") if isinstance(kernel, str) else kernel, len(table.encoder.names_out_))
    return kernels


def refuse_rows_needed(kernel: Kernel, columns: int) -> None:
    """Refuse a kernel that predicts from training rows, before the work and not after."""
    from mercer.data.rows import Rows

    if kernel.count_features(Rows(np.zeros((1, columns)))) is None:
        raise InputError(
            "--without-data needs a kernel with a finite feature map, such as linear() or polynomial(degree=2); "
            f"{kernel!r} predicts from its training rows. Choose another --kernel, or remove --without-data."
        )


def _most_folds(table: Prepared) -> int:
    """The largest possible number of folds: the number of rows, of groups, or of rows of the rarest label."""
    if table.groups is not None:
        return len(np.unique(table.groups))
    y = table.target.values
    return rarest_label(y)[1] if table.target.task == "classification" else len(y)


def _fit_search(name: str, table: Prepared, asked: FitOptions) -> tuple[Any, Judgement]:
    import mercer
    from mercer.runtime.progress import duration

    search, Z = search_for(name, table, asked)
    y, groups, weights = table.target.values, table.groups, table.weights
    if asked.time_budget is not None:
        seconds = (1 + times_as_long(search, asked)) * search.explain(Z, y, weights, groups).chosen.seconds
        if seconds > asked.time_budget:
            raise InputError(
                f"This search and its nested cross-validation take about {duration(seconds)}, more than --time-budget "
                f"{asked.time_budget:g}. Use fewer kernels or alphas, or a larger --time-budget."
            )
    search.fit(Z, y, sample_weight=weights, groups=groups)
    how = {"cv": search.cv, "repeats": search.repeats, "random_state": search.random_state, "groups": groups}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the search has said what there is to say
        if on_columns(asked):
            nested = mercer.nested_cross_validate(search, Z, y, sample_weight=weights, **how)
        else:
            pipeline = Pipeline([("encoder", fresh_encoder(table.encoder)), ("search", search)])
            inner = max(2, int(search.cv) - 1)  # as many folds as there are besides the outer one
            nested = mercer.nested_cross_validate(
                pipeline, table.features, y, inner=inner, sample_weight=weights, **how
            )
    subject = subject_of(search, Z, y, target="", weights=weights, groups=groups)
    judged = judged_search(subject, nested, baseline_score(subject, how))
    shared = (encoding_words(table), *_ladder_words(search)) if on_columns(asked) else ()
    return search, replace(judged, from_all_rows=shared)


def on_columns(asked: FitOptions) -> bool:
    """Whether a kernel names columns: their numbers of the encoded table then hold for one encoder alone."""
    return any(".on(" in text for text in asked.kernel)


def times_as_long(search: Any, asked: FitOptions) -> int:
    """How many times as long as the search its nested cross-validation takes, about."""
    return 1 if on_columns(asked) else int(search.cv) * int(search.repeats)


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


def _ladder_words(search: Any) -> list[str]:
    """The candidates that were derived from rows."""
    widths = any(isinstance(kernel, str) for kernel in search.kernels)
    found = ["widths"] * widths + ["alphas"] * (search.alphas is None)
    return [f"the candidate {' and '.join(found)}"] if found else []


def landmarks_for(name: str, table: Prepared, asked: FitOptions) -> tuple[Any, tuple[Any, ...]]:
    """A search on landmarks, not fitted yet, and what to give it: the table as numbers, or passes over it."""
    import mercer

    if asked.repeats:
        raise InputError("--repeats is not supported for more than 1 000 000 rows or with --dask. Remove --repeats.")
    if asked.dask is not None and "://" not in asked.dask:
        raise InputError(
            sentence("--dask", "the address of a scheduler, such as tcp://10.0.0.1:8786", repr(asked.dask))
        )
    options: dict[str, Any] = {
        "kernels": _kernels(table, asked),
        "alphas": sorted(asked.alphas) or None,
        "cv": asked.folds or _FOLDS,
        "nested": True,
        "scoring": asked.scoring,
        "fit_intercept": True,
        "rule": asked.rule or "best",
        "backend": asked.dask,
        "checkpoint": asked.checkpoint,
        "random_state": asked.seed,
        "verbose": asked.verbose,
    }
    if asked.time_budget is not None:
        options["time_budget"] = asked.time_budget
    search = getattr(mercer, name)(**options)
    given: tuple[Any, ...] = (table.stream,)
    if table.stream is None:
        given = table.encoder.transform(table.features), table.target.values, table.weights, table.groups
    if asked.time_budget is not None:  # the search counts its pass alone, neither drawing landmarks nor pairs of folds
        begun = time.monotonic()
        seconds = search.explain(*given).seconds
        now = time.monotonic()
        left = max(asked.time_budget - (now - asked.begun) - (now - begun), _LEAST_SHARE * asked.time_budget)
        search.set_params(time_budget=asked.time_budget * min(1.0, left / seconds))
    return search, given


def _fit_landmarks(name: str, table: Prepared, asked: FitOptions) -> tuple[Any, Judgement]:
    search, given = landmarks_for(name, table, asked)
    search.fit(*given)
    classifier, y = table.target.task == "classification", table.target.values
    y = y[:: 1 + len(y) // _MANY]
    folds = {"cv": search.cv, "random_state": asked.seed}
    base = dummy_score(np.zeros((len(y), 1)), y, asked.scoring, folds, classifier=classifier)
    read, nested = AsError.of(asked.scoring, classifier=classifier), search.nested_
    judged = Judgement(
        read.measure,
        read.value(nested.mean),
        read.spread(nested.standard_error, nested.mean),
        read.value(base),
        f"nested cross-validation, {search.cv} folds by hash",
        smaller_is_better=read.smaller_is_better,
        share=read.kind == "share",
        from_all_rows=(encoding_words(table), *_ladder_words(search), "the landmarks"),
    )
    return search, judged
