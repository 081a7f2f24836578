"""Containers: what goes in comes out, and headers that are too large are refused before they are parsed."""

import io

import numpy as np
import pytest

from mercer.errors import InputError, ModelFileError
from mercer.runtime import container
from mercer.runtime.container import CODES, LONGEST, MOST_VALUES, packed, read, sealed
from refusals import refusal, tells

TOO_MUCH = "its header must have at most 16777216 bytes and 1048576 values; got more."


def through(record, arrays, kind="model"):
    data = packed(record, arrays, kind)
    return read(io.BytesIO(data), len(data), kind)


@pytest.mark.parametrize("dtype", CODES, ids=str)
def test_arrays_of_every_type_come_back(dtype, rng):
    arrays = {
        "a": (rng.random((3, 2)) * 2).astype(dtype),
        "b c": np.array(1).astype(dtype),
        "": np.zeros((0, 4), dtype),
    }
    record, found = through('{"x":1}', arrays)
    assert record == '{"x":1}'
    assert {n: (a.dtype, a.shape, a.tobytes()) for n, a in found.items()} == {
        n: (a.dtype, a.shape, a.tobytes()) for n, a in arrays.items()
    }
    assert all(array.flags.writeable for array in found.values())


def test_the_kind_is_told_apart():
    data = packed("1", {}, "checkpoint")
    assert read(io.BytesIO(data), len(data), "checkpoint") == ("1", {})
    said = refusal(read, io.BytesIO(data), len(data), kind=ModelFileError)
    assert tells(said, "it is a checkpoint, not a model file.")


def test_a_record_ends_with_its_header():
    data = sealed(packed('{"x":1}', {}).replace(b'1}}"', b'1}+"'))
    said = refusal(read, io.BytesIO(data), len(data), kind=ModelFileError)
    assert tells(said, "its header is invalid.")


@pytest.mark.parametrize("text", [b"x" * 60_000_000, b"[]," * MOST_VALUES, b"0," * (MOST_VALUES + 1), b"[" * 2**21])
@pytest.mark.slow
def test_a_header_that_is_too_large_is_refused_before_it_is_parsed(text, monkeypatch):
    def too_late(*given):
        raise AssertionError

    plain = packed("1", {})
    header = plain[8:].replace(b'record\\":1', b'record\\":' + text)
    data = sealed(len(header).to_bytes(8, "little") + header)
    monkeypatch.setattr(container, "parsed", too_late)
    monkeypatch.setattr(container, "sealed", too_late)
    file = io.BytesIO(data)
    assert refusal(read, file, len(data), kind=ModelFileError) == TOO_MUCH
    assert file.tell() <= 8 + LONGEST


@pytest.mark.parametrize(
    ("text", "words"), [("x" * LONGEST, "16777216 bytes; got"), ("0," * MOST_VALUES, "1048576 values; got")]
)
def test_a_header_that_could_not_be_read_is_not_written(text, words):
    assert tells(refusal(packed, text, {}, kind=InputError), "The model file", words)


def test_a_header_of_real_size_is_read():
    text = "0," * (MOST_VALUES - 10)
    assert through(text, {}) == (text, {})


def test_a_file_that_ends_early_is_refused():
    data = packed('"' + "x" * 200 + '"', {"a": np.arange(5.0)})
    for length in range(len(data)):
        with pytest.raises(ModelFileError):
            read(io.BytesIO(data[:length]), length)


def test_booleans_are_zero_or_one():
    data = packed("1", {"a": np.array([True, False])})
    spoilt = sealed(data[:-2] + b"\x01\x02")
    assert refusal(read, io.BytesIO(spoilt), len(spoilt), kind=ModelFileError) == "a boolean value is not 0 or 1."
