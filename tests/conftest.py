"""Settings every test shares."""

import gc
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from drawn import CASES, SOAK

SLOW = [HealthCheck.too_slow]

# `make test` draws the same few cases every time; `make soak` draws many, from a seed of its own that it prints.
settings.register_profile("fixed", max_examples=CASES, derandomize=True, deadline=None, suppress_health_check=SLOW)
settings.register_profile("soak", max_examples=CASES, database=None, deadline=None, suppress_health_check=SLOW)
settings.load_profile("soak" if SOAK else "fixed")

LOADED = [
    "dask.array", "dask.dataframe", "distributed.nanny", "mercer.estimators.nystroem_search", "mercer.runtime.dask",
    "pyarrow.parquet",
]  # fmt: skip


def pytest_collection_modifyitems(config, items):
    """Mark what `make soak` repeats: properties that hypothesis draws cases for, beside what is marked by hand."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("soak")


@pytest.fixture
def rng(request):
    """A generator of its own for every test, seeded by the test's name."""
    return np.random.default_rng(list(request.node.name.encode()))


@pytest.fixture
def function_rng(request):
    """The same, seeded by the name of the function alone: what all its parameters can share is worked out once."""
    return np.random.default_rng(list(request.node.originalname.encode()))


@pytest.fixture(scope="module")
def start_cluster():
    """A function that starts a Dask cluster on this machine and returns its client; all are closed at the end.

    No test starts a cluster by itself. Workers are forked from a process that has loaded the packages, which takes most
    of their start otherwise. Whatever a failed close leaves behind is collected here, where its warnings reach no other
    test.
    """
    import dask
    import distributed
    from distributed.utils import get_mp_context

    from mercer.runtime.dask import close_local

    opened = []

    def start(**settings):
        opened.append([distributed.LocalCluster(dashboard_address=":0", **settings)])
        opened[-1].append(distributed.Client(opened[-1][0], set_as_default=False))
        return opened[-1][1]

    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload(LOADED)
        yield start
        while opened:
            close_local(*opened.pop())
    with warnings.catch_warnings(action="ignore"):
        gc.collect()


@pytest.fixture(scope="module")
def client(start_cluster):
    """Of one worker in a process of its own; tests that want more say so by `client.cluster.scale`."""
    return start_cluster(n_workers=1, threads_per_worker=1, processes=True, memory_limit="1GiB")
