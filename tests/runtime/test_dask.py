"""Passes on a cluster: real workers in processes of their own, one of them killed for real.

Covers: streaming.blocks.opening.
"""

import os
import time

import dask
import dask.array as da
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import psutil
import pytest
from pass_works import Moments, assert_same

from mercer.errors import InputError, MemoryRefusal
from mercer.runtime import dask as module
from mercer.runtime.passes import PassCheckpoint, run_pass
from mercer.streaming.blocks import as_source
from refusals import tells

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dask")]  # one cluster at a time


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """X, y, and a folder of Parquet files with both."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3)) + 2.0
    folder = tmp_path_factory.mktemp("parts")
    columns = pd.DataFrame(X, columns=list("abc")).assign(y=X[:, 0] ** 2)
    for place, start in enumerate(range(0, 6000, 251)):
        columns[start : start + 251].to_parquet(folder / f"{place:03}.parquet")
    return X, X[:, 0] ** 2, folder


def lazy_array(X, y):
    return as_source(da.from_array(X, chunks=(700, 2)), da.from_array(y, chunks=1000))


def lazy_frame(X, y):
    columns = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    return as_source(dd.from_pandas(columns, npartitions=9), "y")


def bits(state):
    return {name: array.tobytes() for name, array in state.items()}


def close(state, other):
    """The same but for where arrays lie in memory, which decides how processors add them up."""
    for name, array in state.items():
        np.testing.assert_allclose(array, other[name], rtol=1e-13, atol=0)


def test_one_two_and_four_workers_give_the_same(client, table):
    X, y, folder = table
    tall, long = np.tile(X, (3, 1)), np.tile(y, 3)
    opened = [(as_source(folder, "y"), X, y), (as_source(tall, long), tall, long), (lazy_array(X, y), X, y)]
    first = []
    for count in (1, 2, 4):
        client.cluster.scale(count)
        client.wait_for_workers(count, timeout=60)
        states = [run_pass(source, Moments(3), at_once=100, backend=client) for source, _, _ in opened]
        for state, (_, rows, targets) in zip(states, opened, strict=True):
            assert_same(state, rows, targets)
        first = first or states
        for state, other in zip(states, first, strict=True):
            close(state, other)


@pytest.mark.parametrize("kind", ["files", "lazy"])
def test_a_worker_that_is_killed_changes_nothing(kind, client, table, tmp_path):
    X, y, folder = table
    client.cluster.scale(2)
    client.wait_for_workers(2, timeout=60)
    source = as_source(folder, "y") if kind == "files" else lazy_array(X, y)
    undisturbed = run_pass(source, Moments(3), at_once=100, backend=client)
    diary, doom = tmp_path / "diary", tmp_path / "doom"
    diary.mkdir()
    doom.touch()
    state = run_pass(source, Moments(3, diary=str(diary), doom=str(doom)), at_once=100, backend=client)
    blocks = [entry.name.split("-")[0] for entry in diary.iterdir()]
    assert not doom.exists()
    assert len(blocks) > len(set(blocks))  # some were done again
    close(state, undisturbed)
    assert_same(state, X, y)


def test_a_pass_with_a_checkpoint_goes_on_after_the_last_run_that_was_saved(client, table, tmp_path):
    X, y, folder = table
    diary = tmp_path / "diary"
    diary.mkdir()
    kept = PassCheckpoint(tmp_path / "pass", "mark")
    good = as_source(folder, "y")
    bad = X.copy()
    bad[4000, 1] = np.nan
    with pytest.raises(InputError, match="in row 4000"):
        run_pass(lazy_array(bad, y), Moments(3), at_once=100, backend=client, checkpoint=kept)
    _, next_row = kept.load(Moments(3).begin(), 6000)
    assert 0 < next_row <= 4000
    found = run_pass(good, Moments(3, diary=str(diary)), at_once=100, backend=client, checkpoint=kept)
    assert_same(found, X, y)
    seen = [int(entry.name.split("-")[0]) for entry in diary.iterdir()]
    assert min(seen) == next_row
    again = run_pass(good, Moments(3), at_once=100, backend="serial", checkpoint=kept)
    assert bits(again) == bits(found)


def test_addresses_clusters_and_the_current_client_are_found(client, table):
    X, y, folder = table
    cluster = client.cluster
    source = as_source(folder, "y")
    for backend in (cluster.scheduler_address, cluster):
        assert_same(run_pass(source, Moments(3), at_once=100, backend=backend), X, y)
    with distributed.Client(cluster) as current:
        assert module.current_client() is current
        assert_same(run_pass(source, Moments(3), at_once=100, backend="dask"), X, y)
        lazy = lazy_frame(X, y)
        assert_same(run_pass(lazy, Moments(3), at_once=100, backend=None), X, y)
        with dask.config.set(scheduler="sync"):
            assert_same(run_pass(lazy, Moments(3), at_once=100, backend="serial"), X, y)
    assert module.current_client() is None
    assert_same(run_pass(lazy_frame(X, y), Moments(3), at_once=100, backend=None), X, y)


def test_without_a_client_a_local_one_is_started_and_kept_until_the_process_ends(table, start_cluster, monkeypatch):
    X, y, folder = table
    light = start_cluster(n_workers=1, threads_per_worker=2, processes=False).cluster
    at_exit = []
    monkeypatch.setattr(distributed, "LocalCluster", lambda **settings: light)
    monkeypatch.setattr(module.atexit, "register", lambda *call: at_exit.append(call))
    for source in (as_source(folder, "y"), lazy_array(X, y)):
        assert_same(run_pass(source, Moments(3), at_once=100, backend="dask"), X, y)
    started = module.current_client()
    assert at_exit == [(module.close_local, light, started)]
    module.close_local(light, started)
    assert (light.status.name, started.status) == ("closed", "closed")
    assert module.current_client() is None


def lost_worker(cluster):
    """What a worker that leaves before the cluster knows of it does: Dask's close raises KeyError and is never done."""
    cluster.scheduler_info["workers"].clear()


def lost_time(cluster):
    """A close that ends before any worker is closed."""

    async def late():
        raise TimeoutError

    cluster._close = late


def runs(pid):
    """Whether a process runs; one that has ended and waits for its parent does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("race", [lost_worker, lost_time])
def test_a_cluster_whose_close_fails_leaves_no_process_and_no_warning(race, start_cluster):
    client = start_cluster(n_workers=1, threads_per_worker=1, processes=True)
    cluster = client.cluster
    (worker,) = client.run(os.getpid).values()
    race(cluster)
    module.close_local(cluster, client)
    give_up = time.monotonic() + 60
    while runs(worker) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert (cluster.status.name, client.status, runs(worker)) == ("closed", "closed", False)
    cluster.__del__()  # would warn of a cluster that is not closed


def test_collections_that_workers_hold_are_summed_where_they_are(client, table):
    X, y, _ = table
    with client.as_current():
        held = client.persist(da.from_array(X, chunks=(700, 3)))
        found = run_pass(as_source(held, y), Moments(3), at_once=100, backend=client)
    assert_same(found, X, y)


def test_work_and_arrays_of_many_megabytes_are_sent_without_a_warning(client, table):
    X, y, folder = table
    ballast = np.zeros(2 * 10**6)
    found = run_pass(as_source(folder, "y"), Moments(3, ballast=ballast), at_once=1000, backend=client)
    assert_same(found, X, y)


def test_samples_are_drawn_on_the_cluster(client, table):
    X, y, folder = table
    expected = as_source(X, y).sample(50, np.random.default_rng(1))
    for source in (as_source(folder, "y"), lazy_array(X, y)):
        found = source.sample(50, np.random.default_rng(1), backend=client)
        np.testing.assert_array_equal(found.X, expected.X)
        np.testing.assert_array_equal(found.Y, expected.Y)


def test_text_files_are_read_by_one_worker(client, tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n" + "1,2\n" * 500)
    source = as_source(tmp_path / "t.csv", "y")
    assert run_pass(source, Moments(1), at_once=100, backend=client)["n"] == [500]
    assert source.rows == 500


def test_bad_cells_are_named_by_workers_too(client, table):
    X = np.tile(table[0], (3, 1))
    X[17_000, 2] = np.inf
    with pytest.raises(InputError, match=r"^Column 2 of X must be finite; got inf in row 17000\. "):
        run_pass(as_source(X), Moments(3), at_once=500, backend=client)


def test_what_lives_in_this_process_alone_is_refused(client, table):
    with pytest.raises(InputError) as refused:
        run_pass(as_source([table[0]]), Moments(3), at_once=100, backend=client)
    assert tells(
        str(refused.value), "With a Dask backend, X", "got an iterable of blocks, which lives in this process alone"
    )


def test_sums_that_no_worker_could_hold_are_refused(client, table):
    class Huge(Moments):
        def begin(self):
            return {"sum": np.broadcast_to(np.zeros(1), (10**11,))}

    with pytest.raises(
        MemoryRefusal, match=(r"^A Dask worker with 1 threads needs 3\.2 TB of memory; the worker has 1\.1 GB\.")
    ):
        run_pass(as_source(table[0]), Huge(3), at_once=100, backend=client)


def test_a_cluster_without_workers_or_without_an_answer_is_refused(table, start_cluster, monkeypatch):
    empty = start_cluster(n_workers=0, processes=False).cluster
    monkeypatch.setattr(module, "_PATIENCE", 0.1)
    with pytest.raises(InputError, match=r"^The Dask cluster has no workers \(waited 0\.1 s\)\.$"):
        run_pass(as_source(table[0]), Moments(3), at_once=100, backend=empty)
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "100ms"}),
        pytest.raises(InputError, match=r"^The scheduler at 'tcp://127\.0\.0\.1:9' cannot be reached: "),
    ):
        run_pass(as_source(table[0]), Moments(3), at_once=100, backend="tcp://127.0.0.1:9")


def test_collections_with_unknown_lengths_are_counted(table):
    X, y, _ = table
    chosen = X[:, 0] > 2.0
    with dask.config.set(scheduler="sync"):
        lazy = da.from_array(X, chunks=(1000, 3))
        keep = da.from_array(chosen, chunks=1000)
        source = as_source(lazy[keep], da.from_array(y, chunks=1000)[keep])
        assert source.rows == chosen.sum()
        np.testing.assert_array_equal(np.concatenate([block.X for block in source.blocks(300)]), X[chosen])
        np.testing.assert_array_equal(np.concatenate([block.Y[:, 0] for block in source.blocks(300)]), y[chosen])
        columns = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=4)
        few = as_source(columns[columns.a > 2.0])
        np.testing.assert_array_equal(np.concatenate([block.X for block in few.blocks(300)]), X[chosen])


def test_what_goes_with_a_collection_may_be_of_several_kinds(table):
    X, y, _ = table
    keys = np.arange(len(X)) // 7
    with dask.config.set(scheduler="sync"):
        lazy = da.from_array(X, chunks=(1000, 3))
        source = as_source(
            lazy, np.stack([y, -y], axis=1), sample_weight=da.from_array(np.abs(y), chunks=77), groups=keys
        )
        assert (source.targets, source.targets_1d, source.width, source.names) == (2, False, 3, None)
        (block,) = source.blocks(10_000)
        np.testing.assert_array_equal(block.Y[:, 1], -y)
        np.testing.assert_array_equal(block.weights, np.abs(y))
        np.testing.assert_array_equal(block.keys, keys)
        columns = pd.DataFrame(X, columns=list("abc"))
        frame = dd.from_pandas(columns.assign(w=np.abs(y), l=np.where(y > 4, "high", "low")), npartitions=5)
        source = as_source(frame, "l", sample_weight="w", groups=dd.from_pandas(columns.a, npartitions=5), labels=True)
        assert (source.names, source.target_names) == (("a", "b", "c"), ("l",))
        (block,) = source.blocks(10_000)
        assert block.Y.tolist() == np.where(y > 4, "high", "low").tolist()
        np.testing.assert_array_equal(block.keys, X[:, 0])
        (block,) = as_source(dd.from_pandas(columns, npartitions=3), da.from_array(y, chunks=50)).blocks(10_000)
        np.testing.assert_array_equal(block.Y[:, 0], y)


def test_collections_are_known_again(table):
    X, y, _ = table
    first, second = lazy_array(X, y).identity(), lazy_array(X, y).identity()
    assert first == second
    assert lazy_array(X + 1.0, y).identity() != first
    assert as_source(da.from_array(X, chunks=(700, 2)), y).identity() != first


def refusal(*given):
    with dask.config.set(scheduler="sync"), pytest.raises(InputError) as refused:
        as_source(*given)
    return str(refused.value)


def test_collections_that_will_not_do_are_refused(table):
    X, y, _ = table
    lazy = da.from_array(X, chunks=(1000, 2))
    assert refusal(lazy[:, 0]).startswith("X must be a Dask array with rows and columns, or a Dask DataFrame; got ")
    assert tells(refusal(lazy, y[:-1]), "y", "got 5999 rows")
    assert tells(refusal(lazy, da.from_array(y[:-1], chunks=100)), "y", "got 5999 rows")
    keep = da.from_array(X[:, 0] > 2.0, chunks=1000)
    assert refusal(lazy[keep]).startswith("X with unknown chunk sizes must have one chunk along axis 1; got")
    whole = da.from_array(X, chunks=(1000, 3))
    assert refusal(whole, da.from_array(y, chunks=1000)[keep]).startswith("y must be as long as X (6000 rows); got ")
    columns = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=4)
    series = dd.from_pandas(pd.Series(y), npartitions=3)
    assert tells(refusal(columns, series), "y of a Dask collection", "got partitions of different lengths")
    assert tells(refusal(columns, "d"), "'d'")


def test_a_partition_that_changes_its_length_is_found_out(table):
    lengths = [5, 4]
    piece = dask.delayed(lambda: np.zeros((lengths.pop(0), 3)), pure=False)()
    lazy = da.concatenate([da.from_delayed(piece, (np.nan, 3), float)])
    with dask.config.set(scheduler="sync"):
        source = as_source(lazy)
        with pytest.raises(
            InputError,
            match=(
                r"^A partition of X changed its length between passes: 5 rows, then 4\. Make the computation "
                r"deterministic, or persist X\.$"
            ),
        ):
            list(source.blocks(10))
