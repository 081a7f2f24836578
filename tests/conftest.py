"""Settings every test shares."""

import gc
import os
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

LOADED = [
    "dask.array", "dask.dataframe", "distributed.nanny", "mercer.estimators.nystroem_search", "mercer.runtime.dask",
    "pyarrow.parquet",
]  # fmt: skip


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
