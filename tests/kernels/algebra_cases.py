"""Rows and a kernel of texts for the tests of composed kernels."""

from mercer.kernels import (
    Gaussian,
    Kernel,
    Polynomial,
)

LEFT, RIGHT = Gaussian(0.8), Polynomial(degree=2, offset=0.5)


class Texts(Kernel):
    """A kernel for objects: 1 where two texts are the same."""

    kind = "objects"
    mercer = True
    because = "its features are the indicators of every text"

    def block(self, pair):
        return (pair.x.values[:, None] == pair.z.values).astype(float)


def left_rows(rng):
    return rng.normal(size=(9, 3))


def right_rows(rng):
    return rng.normal(size=(5, 3))
