"""L-BFGS over logarithms: it goes down, says how it ended, and ties what shares a width."""

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.data import as_rows
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Periodic, Polynomial, RationalQuadratic, Sigmoid
from mercer.solvers.problem import Problem
from mercer.tuning.criterion import Criterion
from mercer.tuning.descent import Coordinates, descend, per_column, round_parameters

KERNELS = [
    Gaussian(1.0),
    Gaussian([1.0, 2.0, 3.0]),
    0.5 * Laplacian(2.0) + Polynomial(2),
    Matern([1.0, 1.0], 2.5).on([0, 2]) * RationalQuadratic(2.0, 0.5),
]


def smooth(rng, n=40, noise=0.1):
    X = rng.normal(size=(n, 3))
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + noise * rng.normal(size=n)


def criterion(X, y, objective="loo", intercept=True):
    return Criterion(as_rows(X), Problem(np.reshape(y, (len(X), -1)), None, intercept), objective)


@pytest.mark.slow
@given(
    st.sampled_from(KERNELS),
    st.sampled_from(["loo", "evidence"]),
    st.floats(-5.0, 1.0),
    st.integers(0, 2**32 - 1),
    st.integers(1, 12),
)
def test_the_end_is_never_worse_than_the_start(kernel, objective, power, seed, steps):
    X, y = smooth(np.random.default_rng(seed), n=18, noise=0.5)
    found = criterion(X, y, objective)
    end = descend(found, kernel, 10.0**power, steps=steps)
    start = found.at(kernel, 10.0**power, slopes=False).value
    values = [step.value for step in end.path]
    assert values[0] == pytest.approx(start, rel=1e-9)
    assert values == sorted(values, reverse=True)
    assert end.value == values[-1]
    assert end.value <= start + 1e-9
    assert len(values) <= steps + 1
    assert end.evaluations >= len(values)
    # what is given back is what was found, to six digits
    assert found.at(end.kernel, end.alpha, slopes=False).value == pytest.approx(end.value, abs=1e-3)


def test_the_path_begins_at_the_start(rng):
    X, y = smooth(rng)
    first = descend(criterion(X, y), KERNELS[2], 0.3).path[0]
    assert first.alpha == pytest.approx(0.3)
    for name, value in KERNELS[2].tunable().items():
        np.testing.assert_allclose(first.kernel.tunable()[name], value)


def test_converged_means_that_the_slopes_inside_the_bounds_are_small(rng):
    X, y = smooth(rng)
    end = descend(criterion(X, y), Gaussian([1.0, 1.0, 1.0]), 0.1, steps=500)
    assert end.status == "converged"
    point = criterion(X, y).at(end.kernel, end.alpha)
    held = {place for label in end.bounds if label.startswith("width") for place in [int(label[6])]}
    slopes = [abs(s) for place, s in enumerate(point.slopes["width"]) if place not in held]
    assert max(slopes) < 0.02


def test_too_few_steps_are_called_stopped(rng):
    X, y = smooth(rng)
    end = descend(criterion(X, y), Gaussian([1.0, 1.0, 1.0]), 10.0, steps=2)
    assert end.status == "stopped"
    assert len(end.path) == 3


@pytest.mark.parametrize("objective", ["loo", "evidence"])
def test_nowhere_positive_definite_is_called_failed(objective, rng):
    X, y = smooth(rng)
    found = criterion(10.0 * X, y, objective, intercept=False)
    found.bounds = {"alpha": (1e-7, 1e-5)}
    end = descend(found, Sigmoid(1.0, 0.5), 1e-6)
    assert (end.status, end.value, end.path) == ("failed", math.inf, [])
    assert end.kernel == Sigmoid(1.0, 0.5)
    assert end.alpha == 1e-6


@pytest.mark.parametrize("objective", ["loo", "evidence"])
def test_no_error_left_is_not_called_failed(objective, rng):
    X, _ = smooth(rng)
    end = descend(criterion(X, np.zeros(40), objective, intercept=False), Gaussian(), 0.1)
    assert (end.status, end.value) == ("converged", -math.inf)
    assert [step.value for step in end.path] == [-math.inf]


def test_time_that_is_up_stops_the_search_after_one_step(rng):
    X, y = smooth(rng)
    end = descend(criterion(X, y), Gaussian([1.0, 1.0, 1.0]), 10.0, deadline=time.monotonic() - 1.0)
    assert end.status == "stopped"
    assert len(end.path) <= 2
    assert end.value <= end.path[0].value


def test_a_deadline_is_kept(rng):
    X, y = smooth(rng, n=300, noise=0.5)
    start = time.monotonic()
    descend(criterion(X, y), Laplacian([1.0, 1.0, 1.0]), 10.0, steps=10_000, deadline=start + 0.3)
    assert time.monotonic() - start < 5.0


def test_what_ends_on_a_bound_is_named(rng):
    X, y = smooth(rng)
    ends = {"width": (2.0, 3.0), "alpha": (0.5, 0.9)}
    found = criterion(X, y)
    found.bounds = ends
    end = descend(found, Gaussian([1.0, 2.5, 9.0]), 0.3)
    assert "alpha" in end.bounds
    assert "width[0]" in end.bounds
    assert (2.0 - 1e-4 <= end.kernel.width).all()
    assert (end.kernel.width <= 3.0 + 1e-4).all()
    assert 0.5 - 1e-5 <= end.alpha <= 0.9 + 1e-5


def test_bounds_go_by_the_whole_name_first(rng):
    X, y = smooth(rng)
    ends = {"k1__width": (5.0, 6.0), "width": (0.1, 0.2)}
    found = criterion(X, y)
    found.bounds = ends
    end = descend(found, Gaussian(1.0) + Laplacian(1.0), 0.3)
    assert 4.999 < end.kernel.k1.width < 6.001
    assert 0.0999 < end.kernel.k2.width < 0.2001


def test_alpha_alone_is_tuned_where_a_kernel_has_no_parameters(rng):
    X, y = smooth(rng, noise=1.0)
    end = descend(criterion(X, y), Linear(), 1.0)
    assert end.status == "converged"
    assert end.kernel == Linear()
    alphas = np.geomspace(1e-6, 1e4, 60)
    best = min(criterion(X, y).at(Linear(), float(alpha), slopes=False).value for alpha in alphas)
    assert end.value <= best + 1e-4


def test_shared_widths_stay_tied_all_the_way(rng):
    X, y = smooth(rng)
    found = criterion(X, y)
    found.share = [7, 3, 7]
    end = descend(found, Gaussian([1.0, 4.0, 2.0]), 0.1)
    for step in end.path:
        assert step.kernel.width[0] == step.kernel.width[2] != step.kernel.width[1]
    assert end.path[0].kernel.width == pytest.approx([math.sqrt(2.0), 4.0, math.sqrt(2.0)])


def test_all_columns_sharing_one_width_is_one_width(rng):
    X, y = smooth(rng)
    found = criterion(X, y)
    found.share = [0, 0, 0]
    tied = descend(found, Gaussian([1.0, 1.0, 1.0]), 0.1)
    one = descend(criterion(X, y), Gaussian(1.0), 0.1)
    assert tied.value == pytest.approx(one.value, abs=1e-5)
    np.testing.assert_allclose(tied.kernel.width, one.kernel.width, rtol=1e-2)


def test_slopes_of_shared_widths_are_sums(rng):
    coordinates = Coordinates(
        Gaussian([1.0, 2.0, 3.0]) + 0.5 * Laplacian(2.0), as_rows(rng.normal(size=(4, 3))), [1, 0, 1]
    )
    assert coordinates.size == 4
    summed = coordinates.sums(
        {"k1__width": np.array([1.0, 10.0, 100.0]), "k2__base__width": np.array(5.0), "k2__factor": np.array(7.0)}
    )
    assert sorted(summed.tolist()) == [5.0, 7.0, 10.0, 101.0]
    assert [coordinates.label(place) for place in range(5)] == [
        "k1__width[1]",
        "k1__width[0, 2]",
        "k2__base__width",
        "k2__factor",
        "alpha",
    ]


@given(st.sampled_from(KERNELS))
def test_a_kernel_goes_into_a_vector_and_back(kernel):
    coordinates = Coordinates(kernel, as_rows(np.eye(3)))
    back = coordinates.at(coordinates.vector(kernel))
    for name, value in kernel.tunable().items():
        np.testing.assert_allclose(back.tunable()[name], value, rtol=1e-14)


def test_columns_of_every_scale_have_bounds_of_their_own(rng):
    X, y = smooth(rng)
    scales = np.array([1e-12, 1.0, 1e12])
    plain = descend(criterion(X, y), Gaussian([1.0, 1.0, 1.0]), 0.1)
    scaled = descend(criterion(X * scales, y), Gaussian(scales), 0.1)
    assert scaled.value == pytest.approx(plain.value, abs=1e-4)


def test_the_same_start_gives_the_same_end(rng):
    X, y = smooth(rng)
    one, two = (descend(criterion(X, y), KERNELS[1], 0.1) for _ in range(2))
    assert one.kernel == two.kernel
    assert (one.alpha, one.value, one.evaluations) == (two.alpha, two.value, two.evaluations)


def test_the_kernel_given_stays_as_it_is(rng):
    X, y = smooth(rng)
    width = np.array([1.0, 2.0, 3.0])
    kernel = Gaussian(width)
    end = descend(criterion(X, y), kernel, 0.1)
    assert kernel.width is width
    assert width.tolist() == [1.0, 2.0, 3.0]
    assert end.kernel.width.tolist() != [1.0, 2.0, 3.0]


def test_every_column_gets_a_width_wherever_the_kernel_stands():
    kernel = 2.0 * Gaussian(1.5) + (Periodic(3.0).on([1]) * Laplacian([1.0, 2.0]).on([0, 2])).normalized()
    wide = per_column(kernel, 3)
    assert repr(wide) == (
        "2.0 * Gaussian(width=[1.5, 1.5, 1.5]) + "
        "(Periodic(width=[3.0], period=1.0).on([1]) * Laplacian(width=[1.0, 2.0]).on([0, 2])).normalized()"
    )
    assert per_column(wide, 3) == wide
    assert per_column(Linear(), 3) == Linear()


def test_parameters_are_rounded_to_six_digits():
    rounded = round_parameters(Gaussian([1.23456789, 1e-12 / 3]) + 2.0000001234 * Linear())
    assert repr(rounded) == "Gaussian(width=[1.23457, 3.33333e-13]) + 2.0 * Linear()"


def test_shared_widths_stay_tied_where_columns_are_chosen_too(rng):
    X, y = smooth(rng)
    kernel = Gaussian([1.0, 2.0, 3.0]).on([2, 0, 1]) + Laplacian([1.0, 2.0]).on([2, 0])
    found = criterion(X, y)
    found.share = [5, 1, 5]
    end = descend(found, kernel, 0.1)
    first, second = end.kernel.k1.base.width, end.kernel.k2.base.width
    assert first[0] == first[1] != first[2]
    assert second[0] == second[1]


def test_a_chosen_column_has_the_bounds_of_its_own_scale(rng):
    X, y = smooth(rng)
    plain = descend(criterion(X, y), Gaussian(1.0).on([0]) + Gaussian([1.0, 1.0]).on([2, 1]), 0.1)
    scales = np.array([1e9, 1.0, 1e-9])
    kernel = Gaussian(1e9).on([0]) + Gaussian([1e-9, 1.0]).on([2, 1])
    scaled = descend(criterion(X * scales, y), kernel, 0.1)
    assert scaled.path[0].value == pytest.approx(plain.path[0].value, rel=1e-9)
    assert scaled.value == pytest.approx(plain.value, abs=1e-4)


def test_a_start_outside_the_usual_bounds_is_no_worse_for_it(rng):
    X, y = smooth(rng)
    found = criterion(X, y)
    end = descend(found, Gaussian(1e7), 1e-12, steps=3)
    assert end.value <= found.at(Gaussian(1e7), 1e-12, slopes=False).value
    assert end.path[0].kernel.width == pytest.approx(1e7)


def test_mapped_rows_keep_the_widths_they_have(rng):
    X, y = smooth(rng)
    kernel = Gaussian(1.0).map(lambda table: table[:, :2] * 1e8)
    assert per_column(kernel, 3) == kernel
    end = descend(criterion(X, y), kernel.set_params(base__width=1e8), 0.1)
    assert end.path[0].kernel.base.width == pytest.approx(1e8)
    assert end.value < end.path[0].value


def test_steps_that_gain_little_are_the_last_and_that_counts_as_converged(rng):
    X = rng.normal(size=(60, 3))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=60)
    patient, quick = (descend(criterion(X, y), Gaussian([1.0, 1.0, 1.0]), 0.1, gain=gain) for gain in (0.0, 2e-3))
    assert quick.evaluations < patient.evaluations
    assert quick.status == "converged"
    assert quick.value < patient.value + 0.01
    values = [step.value for step in quick.path]
    assert values[-3] - values[-1] < 2e-3
    assert all(a - c >= 2e-3 for a, c in zip(values[:-3], values[2:-1], strict=True))
