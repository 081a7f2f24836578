"""Models through files, and comparisons, for the tests of model files."""

import numpy as np

import mercer
from model_mutants import joined, split


def through(model, path):
    mercer.save(model, path)
    return mercer.load(path)


def same(one, other):
    if isinstance(one, tuple):
        return all(same(a, b) for a, b in zip(one, other, strict=True))
    one, other = np.asarray(one), np.asarray(other)
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def changed(data, path, value):
    _, record, arrays = split(data)
    holder = record
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return joined(record, arrays)
