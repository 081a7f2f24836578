"""A scheduler that goes away during a pass: one sentence, no log, and what was finished is kept."""

import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import distributed
import numpy as np
import pandas as pd
import pytest
from pass_works import Moments, assert_same

from mercer.errors import InputError
from mercer.runtime import dask as module
from mercer.runtime.passes import PassCheckpoint, run_pass
from mercer.streaming.blocks import as_source
from refusals import tells

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dask")]  # one cluster at a time


@contextmanager
def ended(process):
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=60)


def started(*words):
    own = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    return ended(
        subprocess.Popen(  # noqa: S603 - Dask's own commands
            [sys.executable, "-m", *words],
            env={**os.environ, "PYTHONPATH": own, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    )


def test_the_death_of_the_scheduler_is_one_sentence_and_the_checkpoint_is_kept(tmp_path, capfd):
    diary, kept = tmp_path / "diary", PassCheckpoint(tmp_path / "sums", "mark")
    diary.mkdir()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    folder = tmp_path / "parts"
    folder.mkdir()
    columns = pd.DataFrame(X, columns=list("abc")).assign(y=X[:, 0])
    for start in range(0, 4000, 100):
        columns[start : start + 100].to_parquet(folder / f"{start:04}.parquet")
    info = tmp_path / "scheduler.json"
    scheduler = ("distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(info))
    worker = ("distributed.cli.dask_worker", "--scheduler-file", str(info), "--nthreads", "1", "--no-nanny",
              "--no-dashboard", "--death-timeout", "60")  # fmt: skip
    with started(*scheduler) as process, started(*worker):
        with distributed.Client(scheduler_file=str(info), set_as_default=False, timeout=60) as client:
            address = client.scheduler.address
            client.wait_for_workers(1, timeout=60)
        capfd.readouterr()

        def kill():
            give_up = time.monotonic() + 60
            while not (kept.file.path.exists() or time.monotonic() > give_up):
                time.sleep(0.01)
            process.kill()

        killer = threading.Thread(target=kill)
        killer.start()
        source = as_source(folder, "y")
        with pytest.raises(InputError) as told:
            run_pass(source, Moments(3, 0.1), at_once=50, backend=address, checkpoint=kept)
        killer.join()
    assert tells(str(told.value), address)
    assert capfd.readouterr() == ("", "")
    assert 0 < kept.load(Moments(3).begin(), 4000)[1] < 4000
    assert_same(run_pass(source, Moments(3), at_once=50, checkpoint=kept), X, X[:, 0])


class Stub:
    """A client of a scheduler that is there."""

    status = "running"
    scheduler = type("Scheduler", (), {"address": "tcp://10.0.0.1:8786"})


def test_workers_that_die_one_after_the_other_are_one_sentence():
    with pytest.raises(InputError) as told, module._explain_lost_cluster(Stub()):
        raise distributed.KilledWorker("task", "worker", 3)
    assert tells(str(told.value), "10.0.0.1", "8786")


@pytest.mark.parametrize("error", [FileNotFoundError(2, "No such file"), ValueError("of a task"), InputError("y")])
def test_errors_of_tasks_stay_what_they_are(error):
    with pytest.raises(type(error)) as told, module._explain_lost_cluster(Stub()):
        raise error
    assert told.value is error
