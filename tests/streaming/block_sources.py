"""One table in everything that may hold it, and refusals."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from mercer.errors import InputError
from mercer.streaming.blocks import as_source

NAMES = ("a", "b", "c")


def drawn_table(rng):
    """X, two targets, weights and keys of 500 rows."""
    X = rng.normal(size=(500, 3))
    return X, rng.normal(size=(500, 2)), rng.uniform(0.5, 2.0, 500), rng.integers(0, 40, 500)


def frame(table):
    X, Y, weights, keys = table
    columns = dict(zip(NAMES, X.T, strict=True)) | {"y1": Y[:, 0], "y2": Y[:, 1], "w": weights, "g": keys}
    return pd.DataFrame(columns)


def npy(table, folder):
    paths = [folder / f"{place}.npy" for place in range(4)]
    for path, array in zip(paths, table, strict=True):
        np.save(path, array)
    return paths


def parquet_folder(table, folder):
    whole = pa.Table.from_pandas(frame(table))
    (folder / "parts").mkdir()
    for place, start in enumerate(range(0, 500, 90)):
        parquet.write_table(whole.slice(start, 90), folder / "parts" / f"{place}.parquet", row_group_size=17)
    (folder / "parts" / "_SUCCESS").touch()
    return folder / "parts"


def blocks_of(table, size):
    return [tuple(array[start : start + size] for array in table) for start in range(0, len(table[0]), size)]


def npy_files(table, folder):
    x, y, w, g = npy(table, folder)
    return as_source(x, y, sample_weight=str(w), groups=g)


def named(X):
    return as_source(X, ["y1", "y2"], sample_weight="w", groups="g")


def parquet_file(table, folder):
    frame(table).to_parquet(folder / "t.parquet", row_group_size=33)
    return named(folder / "t.parquet")


def csv_file(table, folder):
    frame(table).to_csv(folder / "t.csv", index=False)
    return named(folder / "t.csv")


def refusal(*given, read=True, at_once=3, **named):
    def attempt():
        source = as_source(*given, **named)
        return list(source.blocks(at_once)) if read else source

    with pytest.raises(InputError) as refused:
        attempt()
    return str(refused.value)
