"""What golden tests share: the inputs, masks for text, records of what a call gives, and their comparison."""

import json
import math
import os
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import mercer

FOLDER = Path(__file__).parent
INPUTS, ARRAYS, TEXTS = FOLDER / "inputs.npz", FOLDER / "golden.npz", FOLDER / "golden.json"
EXACT = os.environ.get("MERCER_GOLDEN_EXACT") == "1"

_MASKS = [
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", "<when>"),
    (r"\b(python|mercer|numpy|scikit-learn|scipy) \d+[\w.+]*", r"\1 <version>"),
    (r"\b\d+ h \d+ min|\b\d+ min \d+ s\b|\b\d+(\.\d+)? (ms|s|min|h)\b", "<time>"),
    (r"\b\d+(\.\d+)? (bytes|B|kB|MB|GB|TB)\b", "<size>"),
    (r"(condition number about |agreed to )\S+?(?=[,.]? |[,.]?\n|$)", r"\1<number>"),
    (r"-?\b\d+(\.\d+)?e-(1[3-9]|[2-9]\d)\b", "<rounding>"),
    (r"\"seconds\": [\d.e-]+", '"seconds": <time>'),
    (r"(?<=\S)  +", "  "),  # columns are as wide as what was masked
    (r"---+", "---"),
    (r"\d+\.\d+ correct digits", "<number> correct digits"),
]
_KINDS = {"f": float, "b": bool, "i": int, "u": int}
_LONG = re.compile(r"-?\b\d+\.\d{5,}(e[-+]\d+)?")


def mask(text: str, *folders: Path) -> str:
    """A text without what differs from run to run: times, sizes, versions, conditions and the paths of `folders`;
    numbers of many digits are rounded to four.
    """
    for folder in folders:
        text = text.replace(str(folder), "<folder>")
    for pattern, instead in _MASKS:
        text = re.sub(pattern, instead, text)
    return _LONG.sub(lambda found: f"{float(found[0]):.4g}", text)


@dataclass(frozen=True)
class Case:
    """Something that mercer does, and how closely another machine must repeat it."""

    name: str
    run: Callable[[dict[str, np.ndarray]], dict[str, Any]]
    rtol: float


def case(found: dict[str, Case], rtol: float = 1e-9) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function of the inputs, which returns arrays and texts by name, into the table `found`."""

    def enter(run: Callable[..., Any]) -> Callable[..., Any]:
        found[run.__name__] = Case(run.__name__, run, rtol)
        return run

    return enter


def inputs() -> dict[str, np.ndarray]:
    """The stored inputs, read-only."""
    with np.load(INPUTS) as stored:
        found = {name: stored[name] for name in stored.files}
    for array in found.values():
        array.flags.writeable = False
    return found


def record(run: Callable[[], dict[str, Any]]) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Arrays and masked texts of one call on one thread, its warnings among the texts."""
    with mercer.threads(1), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        given = run()
    arrays = {name: np.asarray(value) for name, value in given.items() if not isinstance(value, str)}
    texts = {name: mask(value) for name, value in given.items() if isinstance(value, str)}
    texts["warnings"] = "\n".join(mask(f"{each.category.__name__}: {each.message}") for each in told)
    return arrays, texts


def store(found: dict[str, tuple[dict[str, np.ndarray], dict[str, str]]]) -> None:
    """Write what is expected: texts, labels and shapes as JSON, and all numbers as one vector."""
    numbers, items = [np.empty(0)], {}
    for item, (arrays, texts) in found.items():
        items[item] = {"texts": texts, "labels": {}, "numbers": {}}
        for name, array in arrays.items():
            if array.dtype.kind in "bifu":
                items[item]["numbers"][name] = " ".join(
                    map(str, [array.dtype.kind, sum(map(len, numbers)), *array.shape])
                )
                numbers.append(array.astype(np.float64).ravel())
            else:
                items[item]["labels"][name] = array.tolist()
    np.savez_compressed(ARRAYS, numbers=np.concatenate(numbers))
    TEXTS.write_text(json.dumps(items, indent=0, sort_keys=True) + "\n")


def stored(item: str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays and texts that are expected of one item."""
    found = items()[item]
    arrays = {name: np.array(labels) for name, labels in found["labels"].items()}
    for name, place in found["numbers"].items():
        kind, start, *shape = (each if each in _KINDS else int(each) for each in place.split())
        part = _numbers()[start : start + math.prod(shape)]
        arrays[name] = part.reshape(shape).astype(_KINDS[kind])
    return arrays, found["texts"]


@cache
def items() -> dict[str, Any]:
    """Everything that is expected, by item."""
    return json.loads(TEXTS.read_text())


@cache
def _numbers() -> np.ndarray:
    with np.load(ARRAYS, allow_pickle=False) as found:
        return found["numbers"]


def compare(found: dict[str, np.ndarray], expected: dict[str, np.ndarray], rtol: float = 1e-9) -> None:
    """Arrays of the same names, types of labels and shapes; numbers bit for bit where MERCER_GOLDEN_EXACT is 1.

    Otherwise to `rtol`, and to `rtol` times the largest target (`scale`) near zero.
    """
    assert sorted(found) == sorted(expected)
    scale = float(expected.get("scale", 1.0))
    for name, wanted in expected.items():
        got = found[name]
        assert got.shape == wanted.shape, name
        if EXACT or wanted.dtype.kind != "f":
            np.testing.assert_array_equal(got, wanted, err_msg=name)
        else:
            np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol * scale, err_msg=name)
