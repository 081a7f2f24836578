"""Searches in the background: the numbers of the library, progress, stopping, and few at once."""

import time

import numpy as np
import pytest

from mercer import KernelRidgeCV, nested_cross_validate
from mercer.errors import InputError
from mercer.kernels import parse
from mercer.lab.answers import ALPHAS, WIDTHS, wider
from mercer.lab.jobs import Jobs
from mercer.text import round_numbers

pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
RNG = np.random.default_rng(0)
X = RNG.uniform(0.0, 6.0, size=(30, 1))
Y = np.sin(X[:, 0]) + 0.2 * RNG.normal(size=30)


def question(n=30, **more):
    points = {"x": np.resize(X, (n, 1)).tolist(), "y": np.resize(Y, n).tolist()}
    return {"points": points, "kernel": "Gaussian(width=1)", "alpha": 0.1, "intercept": True} | more


def finished(job):
    for _ in range(600):
        if not job.running:
            return job
        time.sleep(0.05)
    raise AssertionError("the search does not end")


@pytest.mark.slow
def test_a_search_finds_what_the_library_finds():
    jobs = Jobs()
    job = finished(jobs.get(jobs.start(question())))
    assert job.error == ""
    kernels = [wider(parse("Gaussian(width=1)"), by) for by in WIDTHS]
    search = KernelRidgeCV(kernels, ALPHAS, fit_intercept=True).fit(X, Y)
    nested = nested_cross_validate(search, X, Y, cv=5, random_state=0)
    found = job.result
    assert (found["kernel"], found["alpha"]) == (round_numbers(repr(search.best_kernel_)), search.alpha_)
    assert found["best"] == pytest.approx(np.sqrt(-search.best_score_))
    assert found["nested"] == pytest.approx(np.sqrt(-nested.mean))
    assert found["optimism"] == pytest.approx(found["nested"] - found["best"])
    assert found["standard_error"] == pytest.approx(nested.standard_error / (2 * found["nested"]))
    assert job.state()["share"] == 1.0
    assert np.shape(found["errors"]) == (len(WIDTHS), len(ALPHAS))


@pytest.mark.slow
def test_labels_and_kernels_without_width_have_a_search_too():
    jobs = Jobs()
    points = {"x": X.tolist(), "y": np.where(Y > 0, 1, -1).tolist(), "labels": True}
    job = finished(jobs.get(jobs.start(question(points=points, kernel="Polynomial(degree=3)"))))
    assert job.error == ""
    assert np.shape(job.result["errors"]) == (1, len(ALPHAS))
    assert 0 <= job.result["nested"] <= 1


@pytest.mark.slow
def test_a_search_can_be_stopped_and_few_run_at_once():
    jobs = Jobs()
    names = [jobs.start(question(300)) for _ in range(2)]
    with pytest.raises(InputError, match="2 searches are running"):
        jobs.start(question())
    begin = time.monotonic()
    jobs.close()
    for name in names:
        assert finished(jobs.get(name)).told == "stopped"
        assert jobs.get(name).result is None
    assert time.monotonic() - begin < 10
    for _ in range(10):
        finished(jobs.get(jobs.start(question(5))))
    with pytest.raises(InputError, match="not kept any more"):
        jobs.get(names[0])
    for name in (None, "x", 5):
        with pytest.raises(InputError, match="not kept any more"):
            jobs.get(name)


@pytest.mark.slow
def test_what_goes_wrong_is_said():
    jobs = Jobs()
    job = finished(jobs.get(jobs.start(question(kernel="Words()"))))
    assert job.result is None
    assert job.error
    with pytest.raises(InputError, match="at least 2 points"):
        jobs.start({"points": {"x": [], "y": []}})
