"""Folds by hash: even, the same everywhere, and whole groups in one fold."""

import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from mercer.data.hashing import fold_of, key_words, words_of
from mercer.errors import InputError


def evenness(folds, count):
    """The chi-square statistic's probability."""
    found = np.bincount(folds, minlength=count)
    expected = len(folds) / count
    return chi2.sf(((found - expected) ** 2 / expected).sum(), count - 1)


@pytest.mark.parametrize("seed", [0, 1, 12345, 2**63 + 5, -1])
@pytest.mark.parametrize("folds", [2, 3, 10, 97])
def test_folds_are_even(seed, folds):
    assert evenness(fold_of(10**9, 50_000, folds, seed), folds) > 1e-4


@pytest.mark.parametrize("keys", [np.arange(50_000), np.arange(50_000) * 0.5, np.arange(50_000).astype(str)], ids=str)
def test_folds_by_key_are_even(keys):
    assert evenness(fold_of(0, len(keys), 10, 3, keys), 10) > 1e-4


def test_another_seed_draws_folds_that_have_nothing_to_do_with_the_first():
    first, second = fold_of(0, 60_000, 3, 1), fold_of(0, 60_000, 3, 2)
    assert evenness(3 * first + second, 9) > 1e-4
    assert evenness(3 * first[1:] + second[:-1], 9) > 1e-4


def test_neighbours_are_independent():
    folds = fold_of(0, 60_001, 3, 7)
    assert evenness(3 * folds[1:] + folds[:-1], 9) > 1e-4


def test_blocks_give_what_the_whole_gives(rng):
    whole = fold_of(0, 1000, 7, 5)
    keys = rng.integers(0, 50, 1000)
    by_key = fold_of(0, 1000, 7, 5, keys)
    for start in range(0, 1000, 130):
        stop = min(start + 130, 1000)
        np.testing.assert_array_equal(fold_of(start, stop - start, 7, 5), whole[start:stop])
        np.testing.assert_array_equal(fold_of(start, stop - start, 7, 5, keys[start:stop]), by_key[start:stop])


def test_words_of_rows_are_all_different():
    assert len(np.unique(words_of(0, 100_000, 9))) == 100_000


def splitmix64(word):
    """The published generator's first number for this state, in whole numbers without bounds."""
    word = (word + 0x9E3779B97F4A7C15) % 2**64
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
    return word ^ (word >> 31)


def test_the_folds_are_those_of_every_other_machine():
    assert splitmix64(0) == 0xE220A8397B1DCDAF
    expected = [splitmix64(splitmix64(row) ^ splitmix64(42)) % 5 for row in range(7, 107)]
    assert fold_of(7, 100, 5, 42).tolist() == expected
    assert fold_of(0, 12, 5, 42).tolist() == [3, 2, 2, 3, 1, 3, *fold_of(6, 6, 5, 42).tolist()]


@pytest.mark.slow
def test_texts_get_the_same_folds_in_every_run():
    for text, fold in (("", 979), ("a", 9), ("Köln", 31), ("東京", 297)):
        assert fold_of(0, 1, 1000, 42, np.array([text], dtype=object)) == [fold]
    code = "from mercer.data.hashing import fold_of; import numpy as np\n"
    code += "print(fold_of(0, 3, 1000, 1, np.array(['a', 'b', 'c'], dtype=object)).tolist())"
    found = [
        subprocess.run(  # noqa: S603 - our own code
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "same",
    [
        np.array([1, 0, 3], dtype=np.int8),
        np.array([1, 0, 3], dtype=np.uint64),
        np.array([1.0, -0.0, 3.0]),
        np.array([1, 0, 3], dtype=">i4"),
        np.array([1.0, 0.0, 3.0], dtype=np.float32),
        np.array([True, Decimal(0), Fraction(3)], dtype=object),
        np.array([np.float64(1.0), np.int8(0), 3], dtype=object),
    ],
    ids=lambda keys: str(keys.dtype),
)
def test_numbers_count_by_value(same):
    np.testing.assert_array_equal(fold_of(0, 3, 10_000, 0, same), fold_of(0, 3, 10_000, 0, np.array([1, 0, 3])))


def test_large_numbers_count_by_value_too():
    whole = np.array([2**63, 2**63 + 2**12], dtype=np.uint64)
    np.testing.assert_array_equal(fold_of(0, 2, 10**6, 0, whole), fold_of(0, 2, 10**6, 0, whole.astype(float)))
    assert len(set(fold_of(0, 3, 10**6, 0, np.array([1e300, -1e300, 1.5])).tolist())) == 3


def test_texts_are_the_same_however_they_are_held():
    texts = ["a", "b", "a"]
    fixed, held = np.array(texts), np.array(texts, dtype=object)
    np.testing.assert_array_equal(fold_of(0, 3, 10**6, 0, fixed), fold_of(0, 3, 10**6, 0, held))
    assert fold_of(0, 1, 10**6, 0, np.array(["1"])) != fold_of(0, 1, 10**6, 0, np.array([1]))


def test_days_count_by_value():
    days = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]")
    np.testing.assert_array_equal(fold_of(0, 2, 10**6, 0, days), fold_of(0, 2, 10**6, 0, days.astype("datetime64[ns]")))
    assert fold_of(0, 1, 5, 0, np.array([3], dtype="timedelta64[h]")).shape == (1,)


@pytest.mark.parametrize(
    "keys",
    [np.array([1.0, np.nan]), np.array(["a", None], dtype=object), np.array(["2024-01-01", "NaT"], dtype="M8[D]")],
    ids=str,
)
def test_a_missing_key_is_refused(keys):
    with pytest.raises(InputError) as refused:
        fold_of(0, 2, 5, 0, keys)
    expected = "groups must not have missing values. Impute the missing values, or drop these rows."
    assert str(refused.value) == expected


def test_what_is_no_key_is_refused():
    with pytest.raises(InputError, match=r"groups.* got an array of object"):
        fold_of(0, 1, 5, 0, np.array([(1, 2), None], dtype=object)[:1])
    with pytest.raises(InputError, match=r"groups.* got an array of object"):
        fold_of(0, 2, 5, 0, np.array([[1], "a"], dtype=object))
    with pytest.raises(InputError, match=r"groups.* got an array of 2 dimensions"):
        fold_of(0, 2, 5, 0, np.zeros((2, 1)))
    with pytest.raises(InputError, match=r"groups.* got 2"):
        fold_of(0, 3, 5, 0, np.zeros(2))
    with pytest.raises(InputError, match=r"The number of folds.* got 0"):
        fold_of(0, 3, 0, 0)


def test_no_rows_have_no_folds():
    assert fold_of(5, 0, 3, 0).shape == (0,)
    assert fold_of(5, 0, 3, 0, np.array([], dtype=object)).shape == (0,)


def test_decimals_of_many_digits_are_keys_by_every_digit():
    numbers = [2**53 + place for place in range(60)]
    words = key_words(np.array(list(map(Decimal, numbers)), dtype=object))
    assert len(set(words.tolist())) == 60
    assert words.tolist() == key_words(np.array(numbers)).tolist()
    assert key_words(np.array([Decimal("0.5")], dtype=object)).tolist() == key_words(np.array([0.5])).tolist()
