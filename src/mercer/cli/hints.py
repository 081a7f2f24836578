"""Hints beside a fit: what a table has that changes the error or its estimate, copies and target leakage included."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import qr

from mercer.data.rows import Array
from mercer.errors import MercerWarning, printable
from mercer.selection.outcome import Outcome
from mercer.tables import Column, TableEncoder
from mercer.tables.cells import Cells, texts_of
from mercer.text import counted, legible, listed, plain

if TYPE_CHECKING:
    from mercer.cli.preparing import Prepared

LEAKAGE = "Possible target leakage: "

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
_COLUMNS, _ROWS = 200, 5000  # of numbers that are looked at
_ZERO = 1e-9  # of a column's spread: what rounding leaves
_PART = 1e-6  # the same, of what a column contributes
_NAMED = 4  # columns in a command
_ALL = 0.9999  # of the variance: what is left may be rounding
_ROWS_FOR_EACH = 4  # rows for each column of a formula, so that it is no chance


def hints(table: Prepared) -> list[str]:
    """Sentences about ids, groups, times and codes for missing values that nothing was said about."""
    if table.stream is not None:
        return []
    job, columns = table.job, table.encoder.columns_
    roles = {column.name: _role(column, table) for column in columns}
    ids = [
        f"Hint: {legible(name)} is another whole number in every row, and is used as a feature. If it only names the "
        f"rows, use {_option('--id', name)}."
        for name, role in roles.items()
        if role == "id" and job.row_id is None
    ]
    if job.group is not None or job.time is not None:
        return [*ids[:_MOST], *_codes(table)]
    groups = [_group_words(column, table) for column in columns if roles[column.name] == "group"]
    times = [column.name for column in columns if not roles[column.name] and _orders_rows(column, table)]
    orders = [
        f"Hint: rows are in the order of {legible(name)}. To predict later rows, use {_option('--time', name)}: the "
        "error is then that of predicting the future."
        for name in times[:1]
    ]
    return [*ids[:_MOST], *groups[:_MOST], *orders, *_codes(table)]


def _option(name: str, column: str) -> str:
    return f"{name} {shlex.quote(printable(column))}"


def _group_words(column: Column, table: Prepared) -> str:
    counts = np.unique(table.features[column.name].present, return_counts=True)[1]
    name, rows = legible(column.name), counted(round(float(np.median(counts))), "row")
    option = _option("--group", column.name) + " --missing drop" * bool(column.missing)
    use = f"If the rows of one {name} belong together, use {option}; otherwise the error may be too low."
    return f"Hint: {name} has {len(counts)} values, about {rows} each. {use}"


def _orders_rows(column: Column, table: Prepared) -> bool:
    """Whether the rows are in the order of a column of dates or whole numbers."""
    values = table.features[column.name].values
    if column.missing or not column.outputs or column.kind not in {"date", "number"}:
        return False
    date, steps = column.kind == "date", np.diff(values)
    in_order = (steps >= 0).all() or (date and (steps <= 0).all())
    whole = date or bool((values == np.floor(values)).all())
    return bool(in_order) and whole and len(steps) > _FEWEST and len(np.unique(values)) >= _TIMES


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
    cells, named = table.features[column.name], says_id(column.name)
    numbers = cells.family == "number"
    known = column.kind in {"number", "category", "identifier", "text"} and (numbers or cells.family == "text")
    if not known or 20 * column.missing > len(cells) or len(cells.present) < _FEWEST:
        return ""
    values, counts = np.unique(cells.present, return_counts=True)
    if numbers and not (values == np.floor(values)).all():
        return ""
    if numbers and len(values) == len(cells) and column.outputs:
        return "id" if named or _name_rows(table, cells) else ""
    if counts.mean() < _ROWS_EACH[0]:
        return ""
    if named and len(values) >= _NAMED_IDS:
        return "group"
    if numbers:
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
    from scipy.stats import spearmanr

    values = cells.values
    steps, low, high = np.diff(values), int(values.min()), int(values.max())
    in_order = (steps >= 0).all() or (steps <= 0).all()
    dense = len(str(low)) == len(str(high)) >= 4 or high - low < 1.5 * len(cells)  # digits; a permutation with gaps
    if low < 0 or in_order or not dense or not _may_be_ids(table, np.sort(values)):
        return False
    ours = values[:: 1 + len(values) // _LOOKED_AT[0]]
    return all(spearmanr(ours, other).pvalue > _CHANCE for other in _others(table, cells.name) if np.ptp(other))


def _may_be_ids(table: Prepared, values: Array) -> bool:
    """Whether sorted whole numbers are no scale, in a table of few enough columns to look at.

    A scale is years, even steps of more than one, or a small range with few gaps.
    """
    steps, low, high = np.diff(values), values[0], values[-1]
    years = _YEARS[0] <= low and high <= _YEARS[1] and np.median(steps) <= 10  # a census in ten
    small = low >= 0 and high <= _SMALL_RANGE and 2 * len(values) > high - low + 1
    even = steps[0] > 1 and (steps == steps[0]).all()
    return not (len(table.encoder.columns_) > _WIDE or years or small or even)


def _others(table: Prepared, name: str) -> Iterator[Array]:
    """The target, and the other columns of numbers, of at most 4000 rows."""
    y, (most, columns) = table.y, _LOOKED_AT
    rows = slice(None, None, 1 + len(y) // most)
    yield (np.unique(y, return_inverse=True)[1] if table.labels else y)[rows]
    scales = {each.name: each.scale for each in table.encoder.columns_ if each.scale is not None and each.name != name}
    for other, scale in list(scales.items())[:columns]:
        cells = table.features[other]
        yield np.where(cells.missing, scale.fill, cells.values)[rows]


def _levels_alone(table: Prepared, cells: Cells) -> bool:
    """Whether rows of one value are alike in some column, and rows of neighbouring values in none.

    Of each column the means of the values are compared with chance (F test); their order by the squared differences of
    neighbouring means (von Neumann's ratio), which are smaller where means go up and down smoothly.
    """
    from scipy.stats import f, norm

    ours = cells.values[:: 1 + len(cells) // _LOOKED_AT[0]]
    there = np.isfinite(ours)
    _, place, counts = np.unique(ours[there], return_inverse=True, return_counts=True)
    groups, rows, differ = len(counts), len(place), False
    for column in _others(table, cells.name):
        other = column[there].astype(np.float64)
        means = np.bincount(place, other) / counts
        within = float(np.sum((other - means[place]) ** 2)) / max(rows - groups, 1)
        between = float(np.sum(counts * (means - other.mean()) ** 2)) / (groups - 1)
        if not between or f.sf(between / max(within, 1e-12 * between), groups - 1, rows - groups) > _SURE:
            continue
        differ = True
        ratio = float(np.sum(np.diff(means) ** 2) / np.sum((means - means.mean()) ** 2)) / 2.0
        if norm.cdf((ratio - 1.0) * np.sqrt(groups)) < _CHANCE:
            return False
    return differ


# -- codes for missing values, and skewed targets ---------------------------------------------------


def _codes(table: Prepared) -> list[str]:
    """Numbers such as -999, far from all others: in the target, and in the first columns that have some."""
    what = f"the target {legible(table.job.target)}"
    own = "" if table.labels else _code_words(what, table.y)
    way_out = "empty these cells and use --missing-target drop: such targets ruin the fit."
    columns = [column.name for column in table.encoder.columns_ if column.kind == "number"]
    coded = {name: text for name in columns if (text := _code_words(legible(name), table.features[name].present))}
    words = [f"{own} {way_out}"] if own else []
    words += [f"{text} empty these cells." for text in list(coded.values())[:_MOST]]
    more = list(coded)[_MOST:]
    if more:
        words.append(f"Hint: and {counted(len(more), 'more column')} with such values: {listed(more)}.")
    return words


def _code_words(what: str, values: Array) -> str:
    """The sentence about the codes among these numbers, without what to do; empty without codes."""
    finite = values[np.isfinite(values)]
    rest = finite[~np.isin(finite, _CODES)]
    if len(rest) < _FEWEST or not np.ptp(rest):
        return ""
    low, high, gap = float(rest.min()), float(rest.max()), _GAP * float(rest.std())
    counts = {code: int(np.sum(finite == code)) for code in _CODES if code < low - gap or code > high + gap}
    occur = [f"{plain(code)} occurs {'once' if n == 1 else f'{n} times'}" for code, n in counts.items() if n]
    if not occur:
        return ""
    others = f"its other values ({plain(low)} to {plain(high)})"
    stand = "it stands for a missing value" if len(occur) == 1 else "they stand for missing values"
    return f"Hint: {' and '.join(occur)} in {what}, far from {others}. If {stand},"


def log_hint(table: Prepared) -> list[str]:
    """A sentence for a skewed positive target whose logarithm lowers the held-out error, with both errors."""
    y = table.y
    if table.labels or table.stream is not None or not (y > 0).all() or not np.ptp(y):
        return []
    raw, logs = (float(np.mean(((z - z.mean()) / z.std()) ** 3)) for z in (y, np.log(y)))  # skewness
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

    rows = np.sort(np.random.default_rng(0).permutation(len(table.y))[:_TRIED_ON])
    y, groups = table.y[rows], None if table.groups is None else table.groups[rows]
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


# -- copies, and target leakage ----------------------------------------------------------------------


def alike(encoder: TableEncoder, features: Mapping[str, Cells]) -> list[str]:
    """A sentence for columns that are copies, and for those that are computed from others.

    Examples
    --------
    >>> from mercer import TableEncoder
    >>> from mercer.cli.hints import alike
    >>> from mercer.tables.cells import read_cells
    >>> rows = range(10)
    >>> raw = {"a": [i * i for i in rows], "b": [i % 3 for i in rows], "c": [i * i - i % 3 for i in rows]}
    >>> table = {name: read_cells(name, cells) for name, cells in raw.items()}
    >>> alike(TableEncoder().fit(table), table)
    ["Column 'c' is computed from other columns: a - b."]
    """
    used = [column for column in encoder.columns_ if column.outputs]
    first: dict[bytes, str] = {}
    copies: dict[str, str] = {}
    for column in used:
        codes, levels = texts_of(features[column.name])
        key = np.unique(codes, return_inverse=True)[1].astype(np.int32).tobytes() + repr(levels).encode()
        if first.setdefault(key, column.name) != column.name:
            copies[column.name] = first[key]
    numbers = [column.name for column in used if column.kind == "number" and column.name not in copies][:_COLUMNS]
    sums = _combinations({name: features[name].values for name in numbers})
    words = [f"Column {name!r} is a copy of {other!r}." for name, other in copies.items()]
    return words + [f"Column {name!r} is computed from other columns: {text}." for name, text in sums.items()]


def _combinations(columns: Mapping[str, Array]) -> dict[str, str]:
    """Columns that are a constant plus multiples of columns before them, with the formula."""
    names = list(columns)
    if len(names) < 2:
        return {}
    Z = np.column_stack(list(columns.values()))[:_ROWS]
    Z = Z[np.isfinite(Z).all(axis=1)]
    if len(Z) < len(names) + 3 or not (Z.std(axis=0) > 0).all():
        return {}
    mean, spread, sums = Z.mean(axis=0), Z.std(axis=0), dict[str, str]()
    Z = (Z - mean) / spread
    R = np.abs(np.diag(qr(Z, mode="r")[0]))
    free: list[int] = []
    for place, name in enumerate(names):
        if R[place] > _ZERO * np.sqrt(len(Z)) or not free:
            free.append(place)
            continue
        parts, *_ = np.linalg.lstsq(Z[:, free], Z[:, place], rcond=None)
        by = {i: part * spread[place] / spread[i] for i, part in zip(free, parts, strict=True) if abs(part) > _PART}
        rest = float(mean[place] - sum(factor * mean[i] for i, factor in by.items()))
        constant = {"": rest} if abs(rest) > _PART * spread[place] else {}
        sums[name] = formula({names[i]: float(factor) for i, factor in by.items()} | constant)
    return sums


def formula(factors: Mapping[str, float]) -> str:
    """A sum of multiples of columns; that of no column is a constant.

    >>> formula({"food": 1.0, "rent": -0.5, "": 3.0})
    'food - 0.5 rent + 3'
    """
    text = ""
    for name, factor in factors.items():
        size = f"{abs(factor):.6g}"
        sign = (" - " if factor < 0 else " + ") if text else "-" * (factor < 0)
        text += sign + (size if not name else name if size == "1" else f"{size} {name}")
    return text


def find_leaks(table: Prepared, outcome: Outcome) -> list[str]:
    """A warning that names the columns, if there are any.

    The only column of a table is what the model is about, and no leak. Of a table that is read in passes, and of one
    with more columns than can be afforded, nothing is said. The first that holds is told: single columns that nearly
    determine the target alone; a sum or a product of columns; a model that explains all.
    """
    from mercer.estimators.auto_evaluation import MOST_COLUMNS, NEARLY_ALL, share_alone, some_rows

    columns, owner = table.encoder.columns_, np.asarray(table.encoder.groups_)
    used = [place for place, column in enumerate(columns) if column.outputs]
    if table.stream is not None or not 1 < len(used) <= MOST_COLUMNS:
        return []
    what, rows = legible(table.job.target), some_rows(len(table.y))
    Z = table.encoder.transform({name: column[rows] for name, column in table.features.items()})
    shares = (share_alone(Z[:, owner == i], table.y[rows], classifier=table.labels) for i in used)
    names = [columns[place].name for place, share in zip(used, shares, strict=True) if share > NEARLY_ALL]
    words = f"{'each of' if names[1:] else 'column'} {listed(names)} alone nearly determines {what}" if names else ""
    if not names and not table.labels:
        names, how = _find_formula(table)
        words = f"{what} is computed from {listed(names)} ({what} = {how})" if names else ""
    if names:
        drop = " ".join(f"--drop {shlex.quote(printable(name))}" for name in names[:_NAMED])
        way_out = f"Drop columns that were computed from {what}, or are known only after it: {drop}."
        return [f"{LEAKAGE}{words}. {way_out}"]
    perfect = outcome.measure.smaller_is_better and outcome.error**2 < (1 - _ALL) * outcome.baseline**2
    if table.labels or not perfect:
        return []
    fine = f"That is fine if {what} is a function of the columns without noise, and none was computed from it."
    return [f"{LEAKAGE}the model explains more than 99.99 % of the variance of {what}. {fine}"]


def _find_formula(table: Prepared) -> tuple[list[str], str]:
    """The fewest columns of numbers whose weighted sum, or product of powers, is the target; and the formula."""
    numbers = [each for each in table.encoder.columns_ if each.kind == "number" and each.outputs and not each.missing]
    columns = {column.name: table.features[column.name].values for column in numbers}
    y = table.y.astype(np.float64)
    if not columns or len(y) < _ROWS_FOR_EACH * (len(columns) + 1):
        return [], ""
    names, (*factors, constant) = _fewest(columns, y)
    if names:
        rest = {"": constant} if abs(constant) > 1e-3 * float(y.std()) else {}
        return names, formula(dict(zip(names, factors, strict=True)) | rest)
    logs = {name: np.log(values) for name, values in columns.items() if (values > 0).all()}
    if not logs or not (y > 0).all():
        return [], ""
    names, (*powers, _) = _fewest(logs, np.log(y))
    halves = (np.round(2 * np.array(powers)) / 2).tolist()
    if not names or not np.allclose(powers, halves, atol=0.02):
        return [], ""
    return names, " * ".join(name + f"^{power:g}" * (power != 1) for name, power in zip(names, halves, strict=True))


def _fewest(columns: Mapping[str, Array], y: Array) -> tuple[list[str], list[float]]:
    """Columns of which y is a linear function, without those that are not needed; their factors, and the constant."""
    left, factors = dict(columns), _factors(columns, y)
    for name in columns if factors else ():
        rest = {other: values for other, values in left.items() if other != name}
        if rest and (fewer := _factors(rest, y)):
            left, factors = rest, fewer
    return (list(left), factors) if factors else ([], [0.0])


def _factors(columns: Mapping[str, Array], y: Array) -> list[float]:
    """Factors of the columns, and the constant, if these explain y; otherwise none."""
    X = np.column_stack(list(columns.values()))
    *factors, constant = np.linalg.lstsq(np.column_stack([X, np.ones(len(y))]), y, rcond=None)[0].tolist()
    residual = y - X @ factors - constant
    explained = np.sum(residual**2) < (1 - _ALL) * np.sum((y - y.mean()) ** 2)
    return [*factors, constant] if explained else []
