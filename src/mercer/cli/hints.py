"""Hints beside a fit: properties of a table that change the error or its estimate, and the option for each."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Iterator

import numpy as np

from mercer.cli.options import TableOptions
from mercer.cli.preparing import Prepared
from mercer.data.rows import Array
from mercer.errors import MercerWarning, printable
from mercer.tables import Column
from mercer.tables.cells import Cells
from mercer.text import counted, legible, listed, plain

# Numbers that stand for missing values: -1, and 7, 8 or 9 written once to six times, positive ones at least twice.
_CODES = [-1.0, *(-float(digit * times) for digit in "789" for times in range(1, 7))]
_CODES += [float(digit * times) for digit in "789" for times in range(2, 7)]
_GAP = 5.0  # standard deviations between a code and all other values
_FEWEST = 12  # values beside codes; values of texts without digits that are ids; rows in the order of time
_TIMES = 10  # different values of a column that rows are in the order of
_ENTITIES = re.compile(
    "animal|batch|case|child|client|company|customer|device|donor|driver|employee|engine|family|farm|firm|hospital|house|"
    "household|individual|machine|member|mouse|participant|patient|person|plant|player|plot|pupil|rat|respondent|school|"
    "sensor|session|site|station|store|student|subject|team|user|vehicle|worker"
)
_SURE_IDS, _ID_WORDS = {"id", "identifier", "uid", "uuid", "guid"}, {"no", "nr", "num", "number", "code", "key"}
_CODED = re.compile(r"[^\W\d_]{0,12}[-_ #.]?\d+[a-z]?|[0-9a-f-]{8,}", re.IGNORECASE)  # p12, M-03, 0417, 9f86d081
_NAMED_IDS, _CODED_IDS = 5, 8  # different values from which on columns with such names, with such cells, hold ids
_NEARLY_ALL = 0.9  # of the values of a column of texts
_ROWS_EACH = (2, 50)  # rows of one value, on the average; the most is for texts without digits
_MOST_COMMON = 10  # times the rows of the median id: what the most common one has at most
_SMALL_RANGE = 60  # whole numbers from 0 to here, with few gaps, may be hours, minutes, weeks or scores
_YEARS = (1800, 2100)
_SURE, _CHANCE = 1e-4, 1e-2  # p below which groups differ; below which an order tells something
_LOOKED_AT = (4000, 10)  # rows and columns that are compared with ids
_WIDE = 100  # columns beyond which numbers are judged by name alone, which takes no time
_SKEWED = 1.0  # skewness of a target from which on its logarithm is tried
_TRIED_ON, _FOLDS = 500, 5  # rows that the logarithm is tried on, and in how many folds
_WORTH = 0.97  # of the error without the logarithm: what that with it must be below
_MOST = 3  # hints of one kind


def hints(table: Prepared, options: TableOptions) -> list[str]:
    """Sentences about ids, groups, times and codes for missing values that nothing was said about."""
    if table.stream is not None:
        return []
    roles = {column.name: _role(column, table) for column in table.encoder.columns_}
    return [
        *_ids(roles, options),
        *_groups(roles, table, options),
        *_times(roles, table, options),
        *_codes(table, options.target),
    ]


def _option(name: str, column: str) -> str:
    return f"{name} {shlex.quote(printable(column))}"


# -- ids --------------------------------------------------------------------------------------------


def _role(column: Column, table: Prepared) -> str:
    """Whether a column holds ids: "id" of single rows, "group" of persons or things with several rows, or "".

    The first line that fits decides. Values: how many different ones. A name says id if it ends in id, nr and the
    like, or in a word such as patient (`says_id`).

    =====================================================================  =======
    dates, booleans, or more than one cell in twenty missing               ""
    numbers: not all whole                                                 ""
    numbers: all different, the name says id                               id
    numbers: all different, of as many digits each or nearly one after     id
    the other, no years, in no order, and their order tells nothing
    fewer than two rows for each value                                     ""
    the name says id, at least 5 values                                    group
    texts: nearly all codes such as p12 or M-03, at least 8 values, none   group
    with more than three times the rows of the median one
    texts: at least 12 values, 2 to 50 rows each, as many for each by      group
    design (counts vary by less than half of what chance would make)
    any other text                                                         ""
    numbers: years, even steps of more than one, most of 0 to 60           ""
    numbers: at least 12 values, none with more than ten times the rows    group
    of the median one; rows of one value are alike in the target or a
    column, but those of neighbouring values are not
    any other number                                                       ""
    =====================================================================  =======

    Measured quantities fail the last lines: what they tell, neighbouring values tell alike. In a table of more than 100
    columns, numbers are judged by their names alone.
    """
    cells = table.features[column.name]
    known = column.kind in {"number", "category", "identifier", "text"} and cells.family in {"number", "text"}
    if not known or 20 * column.missing > len(cells) or len(cells.present) < _FEWEST:
        return ""
    values, counts = np.unique(cells.present, return_counts=True)
    whole = cells.family == "number" and bool((values == np.floor(values)).all())
    if cells.family == "number" and not whole:
        return ""
    if whole and len(values) == len(cells) and column.outputs:
        return "id" if says_id(column.name) or _name_rows(table, cells) else ""
    if counts.mean() < _ROWS_EACH[0]:
        return ""
    if says_id(column.name) and len(values) >= _NAMED_IDS:
        return "group"
    if whole:
        even = counts.max() <= _MOST_COMMON * np.median(counts)
        ids = even and len(values) >= _FEWEST and _may_be_ids(table, values) and _levels_alone(table, cells)
    elif np.mean([bool(_CODED.fullmatch(level)) for level in cells.levels]) > _NEARLY_ALL:
        ids = len(values) >= _CODED_IDS and counts.max() <= 3 * np.median(counts)
    else:
        ids = len(values) >= _FEWEST and counts.var() <= 0.5 * counts.mean() and counts.mean() <= _ROWS_EACH[1]
    return "group" if ids else ""


def says_id(name: str) -> bool:
    """Whether the name of a column says that it holds ids of persons or things.

    >>> [says_id(name) for name in ("id", "PatientID", "weather_station", "customer nr", "user")]
    [True, True, True, True, True]
    >>> [says_id(name) for name in ("patient_age", "sensor_1", "number", "humid", "number of machines")]
    [False, False, False, False, False]
    """
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]
    if not words or {"of", "per"} & set(words):
        return False
    *before, last = words
    if last in _SURE_IDS or (words[0] == "id" and before) or _ENTITIES.fullmatch(last):
        return True
    return last in _ID_WORDS and any(map(_ENTITIES.fullmatch, before))


def _name_rows(table: Prepared, cells: Cells) -> bool:
    """Whether different whole numbers, in no order, are as long as each other or dense, and their order is free."""
    steps, low, high = np.diff(cells.values), int(cells.values.min()), int(cells.values.max())
    in_order = (steps >= 0).all() or (steps <= 0).all()
    alike = len(str(low)) == len(str(high)) >= 4 or high - low < 1.5 * len(cells)  # digits; a permutation with gaps
    ids = low >= 0 and not in_order and alike and _may_be_ids(table, np.sort(cells.values))
    return bool(ids) and _order_is_free(table, cells.name)


def _may_be_ids(table: Prepared, values: Array) -> bool:
    """Whether sorted whole numbers are no scale, in a table of few enough columns to look at.

    A scale is years, even steps of more than one, or a small range with few gaps.
    """
    if len(table.encoder.columns_) > _WIDE:
        return False
    steps, low, high = np.diff(values), values[0], values[-1]
    years = _YEARS[0] <= low and high <= _YEARS[1] and np.median(steps) <= 10  # a census in ten
    small = low >= 0 and high <= _SMALL_RANGE and 2 * len(values) > high - low + 1
    even = steps[0] > 1 and (steps == steps[0]).all()
    return not (years or small or even)


def _others(table: Prepared, name: str) -> Iterator[Array]:
    """The target, and the other columns of numbers, of at most 4000 rows."""
    most, columns = _LOOKED_AT
    rows = slice(None, None, 1 + len(table.target.values) // most)
    yield (
        np.unique(table.target.values, return_inverse=True)[1][rows]
        if table.target.task == "classification"
        else (table.target.values[rows])
    )
    for other in [each for each in table.encoder.columns_ if each.scale is not None and each.name != name][:columns]:
        cells = table.features[other.name]
        yield np.where(cells.missing, other.scale.fill, cells.values)[rows]  # type: ignore[union-attr]


def _order_is_free(table: Prepared, name: str) -> bool:
    """Whether no other column, nor the target, rises or falls with this one."""
    from scipy.stats import spearmanr

    ours = table.features[name].values[:: 1 + len(table.target.values) // _LOOKED_AT[0]]
    return all(spearmanr(ours, other).pvalue > _CHANCE for other in _others(table, name) if np.ptp(other))


def _levels_alone(table: Prepared, cells: Cells) -> bool:
    """Whether rows of one value are alike in some column, and rows of neighbouring values in none.

    Of each column the means of the values are compared with chance (F test); their order by the squared differences of
    neighbouring means (von Neumann's ratio), which are smaller where means go up and down smoothly.
    """
    from scipy.stats import f, norm

    ours = cells.values[:: 1 + len(cells) // _LOOKED_AT[0]]
    there = np.isfinite(ours)
    _, place, counts = np.unique(ours[there], return_inverse=True, return_counts=True)
    groups, rows = len(counts), len(place)
    told = False
    for column in _others(table, cells.name):
        other = column[there].astype(np.float64)
        means = np.bincount(place, other) / counts
        within = float(np.sum((other - means[place]) ** 2)) / max(rows - groups, 1)
        between = float(np.sum(counts * (means - other.mean()) ** 2)) / (groups - 1)
        if not between or f.sf(between / max(within, 1e-12 * between), groups - 1, rows - groups) > _SURE:
            continue
        told = True
        ratio = float(np.sum(np.diff(means) ** 2) / np.sum((means - means.mean()) ** 2)) / 2.0
        if norm.cdf((ratio - 1.0) * np.sqrt(groups)) < _CHANCE:
            return False
    return told


def _ids(roles: dict[str, str], options: TableOptions) -> list[str]:
    names = [name for name, role in roles.items() if role == "id"] if options.row_id is None else []
    return [
        f"Hint: {legible(name)} is another whole number in every row, and is used as a feature. If it only names the "
        f"rows, use {_option('--id', name)}."
        for name in names[:_MOST]
    ]


def _groups(roles: dict[str, str], table: Prepared, options: TableOptions) -> list[str]:
    if options.group is not None or options.time is not None:
        return []
    words = []
    for column in table.encoder.columns_:
        if roles[column.name] != "group":
            continue
        counts = np.unique(table.features[column.name].present, return_counts=True)[1]
        name, rows = legible(column.name), round(float(np.median(counts)))
        option = _option("--group", column.name) + " --missing drop" * bool(column.missing)
        words.append(
            f"Hint: {name} has {len(counts)} values, about {counted(rows, 'row')} each. If the rows of one {name} "
            f"belong together, use {option}; otherwise the error may be too low."
        )
    return words[:_MOST]


# -- times ------------------------------------------------------------------------------------------


def _times(roles: dict[str, str], table: Prepared, options: TableOptions) -> list[str]:
    """A column of dates, or of whole numbers that are no ids, if the rows are in its order."""
    if options.time is not None or options.group is not None:
        return []
    for column in table.encoder.columns_:
        values = table.features[column.name].values
        if column.missing or not column.outputs or roles[column.name] or column.kind not in {"date", "number"}:
            continue
        steps = np.diff(values)
        in_order = (steps >= 0).all() or (column.kind == "date" and (steps <= 0).all())
        whole = column.kind == "date" or bool((values == np.floor(values)).all())
        if in_order and whole and len(steps) > _FEWEST and len(np.unique(values)) >= _TIMES:
            use = f"use {_option('--time', column.name)}: the error is then that of predicting the future."
            return [f"Hint: rows are in the order of {legible(column.name)}. To predict later rows, {use}"]
    return []


# -- codes for missing values -----------------------------------------------------------------------


def _codes(table: Prepared, target: str) -> list[str]:
    """Numbers such as -999, far from all others: in the target, and in the first columns that have some."""
    words = []
    if table.target.task == "regression":
        way_out = "empty these cells and use --missing-target drop: such targets ruin the fit."
        words += [f"{text} {way_out}" for text in _code_words(f"the target {legible(target)}", table.target.values)]
    columns = [column.name for column in table.encoder.columns_ if column.kind == "number"]
    found = {name: text for name in columns for text in _code_words(legible(name), table.features[name].present)}
    words += [f"{text} empty these cells." for text in list(found.values())[:_MOST]]
    more = list(found)[_MOST:]
    if more:
        words.append(f"Hint: and {counted(len(more), 'more column')} with such values: {listed(more)}.")
    return words


def _code_words(what: str, values: Array) -> list[str]:
    """The sentence about the codes among these numbers, without what to do; none without codes."""
    finite = values[np.isfinite(values)]
    rest = finite[~np.isin(finite, _CODES)]
    if len(rest) < _FEWEST or not np.ptp(rest):
        return []
    low, high, gap = float(rest.min()), float(rest.max()), _GAP * float(rest.std())
    counts = {code: int(np.sum(finite == code)) for code in _CODES if code < low - gap or code > high + gap}
    told = [
        f"{plain(code)} occurs {'once' if count == 1 else f'{count} times'}" for code, count in counts.items() if count
    ]
    if not told:
        return []
    stand = "it stands for a missing value" if len(told) == 1 else "they stand for missing values"
    return [
        f"Hint: {' and '.join(told)} in {what}, far from its other values ({plain(low)} to {plain(high)}). If {stand},"
    ]


# -- skewed targets ---------------------------------------------------------------------------------


def log_hint(table: Prepared) -> list[str]:
    """A sentence for a skewed positive target whose logarithm lowers the held-out error, with both errors."""
    y = table.target.values
    if table.target.task != "regression" or table.stream is not None or not (y > 0).all() or not np.ptp(y):
        return []
    raw, logs = _skewness(y), _skewness(np.log(y))
    if raw < _SKEWED or abs(logs) > 0.5 * raw:
        return []
    plainly, by_log = errors_with_logarithm(table)
    if by_log > _WORTH * plainly:
        return []
    tried = f"{plain(by_log, 3)} in place of {plain(plainly, 3)}, tried with one kernel on at most {_TRIED_ON} rows"
    gain = f"lowers the error ({tried}) and gives intervals that grow with the prediction"
    return [f"Hint: the target is positive and skewed. --loss log, which fits its logarithm, {gain}."]


def errors_with_logarithm(table: Prepared) -> tuple[float, float]:
    """Root mean squared held-out errors, in units of the target, of a Gaussian kernel without and with the logarithm.

    By the exact cross-validation of `KernelRidgeCV`, on at most 500 rows. Exponentials are multiplied by one factor, so
    that their sum is that of the targets, as `AutoRegressor(loss='log')` has it.
    """
    from mercer.estimators.search import KernelRidgeCV

    rows = np.sort(np.random.default_rng(0).permutation(len(table.target.values))[:_TRIED_ON])
    y, groups = table.target.values[rows], None if table.groups is None else table.groups[rows]
    Z = table.encoder.transform({name: cells[rows] for name, cells in table.features.items()})
    folds = _FOLDS if groups is None else min(_FOLDS, len(np.unique(groups)))
    search = KernelRidgeCV("gaussian", cv=folds, fit_intercept=True, random_state=0 if groups is None else None)

    def held_out(target: Array) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MercerWarning)  # of candidates that are only compared
            return np.asarray(search.fit(Z, target, groups=groups).cv_predictions_[0])

    plainly, by_log = held_out(y), np.exp(held_out(np.log(y)))
    by_log *= y.sum() / by_log.sum()
    return float(np.sqrt(np.mean((plainly - y) ** 2))), float(np.sqrt(np.mean((by_log - y) ** 2)))


def _skewness(y: Array) -> float:
    z = (y - y.mean()) / y.std()
    return float(np.mean(z**3))
