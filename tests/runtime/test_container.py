"""Containers: headers that are too large are refused before they are parsed."""

import io

import pytest

from mercer.errors import InputError, ModelFileError
from mercer.runtime import container
from mercer.runtime.container import LONGEST, MOST_VALUES, Entry, Header, read_arrays, read_header
from refusals import refusal, tells

TOO_MUCH = "its header must have at most 16777216 bytes and 1048576 values; got more."


def hostile(text):
    """A file whose header is this long, with a digest that fits."""
    text = b'{"__metadata__":{"mercer":"1","sha256":"%064d","model":"' % 0 + text + b'"}}'
    return container.sealed(len(text).to_bytes(8, "little") + text)


@pytest.mark.parametrize("text", [b"x" * 60_000_000, b"[]," * MOST_VALUES, b"0," * (MOST_VALUES + 1), b"[" * 2**21])
@pytest.mark.slow
def test_a_header_that_is_too_large_is_refused_before_it_is_parsed(text, monkeypatch):
    def too_late(*given):
        raise AssertionError

    data = hostile(text)
    monkeypatch.setattr(container, "parsed", too_late)
    monkeypatch.setattr(container, "sealed", too_late)
    file = io.BytesIO(data)
    assert refusal(read_header, file, len(data), kind=ModelFileError) == TOO_MUCH
    assert file.tell() <= 8 + LONGEST


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x" * LONGEST, "16777216 bytes; got 16777336."),
        ("0," * MOST_VALUES, "1048576 values; got 1048580."),
    ],
)
def test_a_header_that_could_not_be_read_is_not_written(text, words):
    assert tells(refusal(Header(text, ()).packed, kind=InputError), "The model file", words)


def test_a_header_of_real_size_is_read():
    text = "0," * (MOST_VALUES - 10)
    data = Header(text, ()).packed()
    assert read_header(io.BytesIO(data), len(data)) == Header(text, ())


def test_a_file_that_ends_within_its_header_is_cut_off():
    data = Header("x" * 200, ()).packed()
    with pytest.raises(ModelFileError, match=r"^it is truncated\.$"):
        read_header(io.BytesIO(data[:-8]), len(data))


@pytest.mark.parametrize("shape", [(0, 2**39, 2**39), (2**39, 2**39, 0, 2), (2**39, 0, 2**39)])
def test_an_empty_array_that_numpy_cannot_make_is_refused(shape):
    data = Header("{}", (Entry("0" * 64, "F64", shape),)).packed()
    assert len(data) <= 280
    with pytest.raises(ModelFileError):
        read_arrays(io.BytesIO(), read_header(io.BytesIO(data), len(data)))
