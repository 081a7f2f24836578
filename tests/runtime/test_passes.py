"""Passes: the same sums whatever the blocks, resumed after a kill, and told while they run."""

import io
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pass_works import Moments, assert_same

from mercer.errors import InputError, MemoryRefusal
from mercer.runtime import resources as memory
from mercer.runtime.passes import PassCheckpoint, check_backend, run_pass
from mercer.runtime.resources import threads
from mercer.streaming.blocks import as_source
from refusals import tells


@pytest.fixture
def X(rng):
    return rng.normal(size=(20_000, 3)) + 2.0


@pytest.mark.parametrize("blocks", [1, 7, 100])
@pytest.mark.parametrize("backend", [None, "serial", "threads"])
def test_sums_are_the_same_however_many_blocks_there_are(blocks, backend, X):
    y = X[:, 0] ** 2
    with threads(3):
        found = run_pass(as_source(X, y), Moments(3), at_once=-(-len(X) // blocks), backend=backend)
    assert_same(found, X, y)


def test_files_and_arrays_give_the_same_bits(X, tmp_path):
    X = X[:3000]
    columns = pd.DataFrame(X, columns=list("abc")).assign(y=X[:, 0])
    (tmp_path / "parts").mkdir()
    columns.to_parquet(tmp_path / "one.parquet", row_group_size=111)
    for place, start in enumerate(range(0, 3000, 700)):
        columns[start : start + 700].to_parquet(tmp_path / "parts" / f"{place}.parquet")
    sources = [as_source(X, X[:, 0]), as_source(tmp_path / "one.parquet", "y"), as_source(tmp_path / "parts", "y")]
    first, *others = (run_pass(source, Moments(3), at_once=256) for source in sources)
    for other in others:
        assert all(first[name].tobytes() == other[name].tobytes() for name in first)


def test_an_interrupted_pass_goes_on_where_it_was(X, tmp_path):
    source = as_source(X, X[:, 0])

    class Stops(Moments):
        def add(self, state, block):
            if block.start >= 9000:
                raise KeyboardInterrupt
            super().add(state, block)

    kept = PassCheckpoint(tmp_path / "pass", "mark", patience=0)
    with pytest.raises(KeyboardInterrupt):
        run_pass(source, Stops(3), at_once=3000, checkpoint=kept)
    state, next_row = kept.load(Moments(3).begin(), 20000)
    assert next_row == 9000
    assert state["n"] == [9000]
    seen = []

    class Looks(Moments):
        def add(self, state, block):
            seen.append(block.start)
            super().add(state, block)

    assert_same(run_pass(source, Looks(3), at_once=4000, checkpoint=kept), X, X[:, 0])
    assert seen == [9000, 13000, 17000]
    seen.clear()
    assert_same(run_pass(source, Looks(3), at_once=4000, checkpoint=kept), X, X[:, 0])
    assert seen == []
    assert [path.name for path in tmp_path.iterdir()] == ["pass"]


def test_a_finished_pass_over_text_is_not_folded_twice(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n" + "1,2\n" * 50)
    kept = PassCheckpoint(tmp_path / "pass", "mark")
    for _ in range(2):
        found = run_pass(as_source(tmp_path / "t.csv", "y"), Moments(1), at_once=20, checkpoint=kept)
        assert found["n"] == [50]


def test_other_data_or_settings_are_refused(X, tmp_path):
    source = as_source(X, X[:, 0])
    run_pass(source, Moments(3), at_once=5000, checkpoint=PassCheckpoint(tmp_path / "pass", source.identity()))
    other = as_source(X + 1.0, X[:, 0])
    with pytest.raises(
        InputError, match=(r"^The checkpoint .*pass belongs to other data or settings\. Delete it, or use another file")
    ):
        run_pass(other, Moments(3), at_once=5000, checkpoint=PassCheckpoint(tmp_path / "pass", other.identity()))
    with pytest.raises(InputError, match=r"^The checkpoint .*pass cannot be written: no such file or directory\.$"):
        run_pass(source, Moments(3), at_once=5000, checkpoint=PassCheckpoint(tmp_path / "no" / "pass", ""))


def test_a_pass_is_not_saved_more_often_than_is_worth_it(X, tmp_path, monkeypatch):
    saves = []
    real = PassCheckpoint.save

    def slow(self, state, next_row):
        saves.append(next_row)
        time.sleep(0.05)
        real(self, state, next_row)

    monkeypatch.setattr(PassCheckpoint, "save", slow)
    run_pass(as_source(X), Moments(3), at_once=200, checkpoint=PassCheckpoint(tmp_path / "pass", ""))
    assert saves[0] == 200
    assert saves[-1] == 20_000
    assert len(saves) < 10


SCRIPT = """
    import sys
    sys.path[:0] = [{tests!r}]
    import numpy as np
    from pass_works import Moments
    from mercer.runtime.passes import PassCheckpoint
    from mercer.runtime.passes import run_pass
    from mercer.streaming.blocks import as_source

    source = as_source({path!r}, "y")
    kept = PassCheckpoint({kept!r}, source.identity(), patience=0)
    found = run_pass(source, Moments(3, float(sys.argv[1]), {diary!r}), at_once=50, checkpoint=kept)
    np.savez({out!r}, **found)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_pass_that_is_killed_goes_on_and_loses_one_block_at_most(kind, X, tmp_path):
    X = X[:1000]
    path = tmp_path / f"t.{kind}"
    columns = pd.DataFrame(X, columns=list("abc")).assign(y=X[:, 0])
    columns.to_parquet(path, row_group_size=130) if kind == "parquet" else columns.to_csv(path, index=False)
    diary, kept, out = tmp_path / "diary", tmp_path / "pass", tmp_path / "out.npz"
    diary.mkdir()
    tests = str(Path(__file__).parent)
    script = textwrap.dedent(SCRIPT.format(tests=tests, path=str(path), kept=str(kept), diary=str(diary), out=str(out)))

    def rows():
        return [int(entry.name.split("-")[0]) for entry in diary.iterdir()]

    process = subprocess.Popen([sys.executable, "-c", script, "0.05"])  # noqa: S603 - our own code
    give_up = time.monotonic() + 60
    while len(rows()) < 6:
        assert time.monotonic() < give_up
        assert process.poll() is None
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait(60) == -signal.SIGKILL
    assert not out.exists()
    assert max(rows()) < 950
    source = as_source(str(path), "y")
    checkpoint = PassCheckpoint(str(kept), source.identity(), patience=0)
    found = run_pass(source, Moments(3, 0.0, str(diary)), at_once=50, checkpoint=checkpoint)
    both = rows()
    assert sorted(set(both)) == list(range(0, 1000, 50))
    assert len(both) <= 21  # one block was folded twice, at most
    assert_same(found, X, X[:, 0])


def told(monkeypatch, source, **how):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    run_pass(source, Moments(3), **how)
    return stream.getvalue()


def test_progress_tells_rows_and_their_rate(X, monkeypatch, tmp_path):
    text = told(monkeypatch, as_source(X), at_once=5000, progress="one pass", verbose=2)
    assert text.startswith("one pass: 20000 of 20000 rows, ")
    assert "rows/s" in text
    assert "left" in text
    assert told(monkeypatch, as_source(X), at_once=5000, progress="one pass", verbose=0) == ""
    assert told(monkeypatch, as_source(X), at_once=5000, verbose=2) == ""
    text = told(monkeypatch, as_source([X, X]), at_once=5000, progress="stream", verbose=2)
    assert text.startswith("stream: 40000 rows, ")
    assert "left" not in text
    kept = PassCheckpoint(tmp_path / "pass", "")
    kept.save(Moments(3).begin(), 15_000)
    text = told(monkeypatch, as_source(X), at_once=5000, progress="rest", verbose=2, checkpoint=kept)
    assert text.startswith("rest: 20000 of 20000 rows, ")


def test_what_is_no_backend_is_refused(X):
    for wrong in ("spark", 3, "localhost:8786"):
        with pytest.raises(InputError) as refused:
            run_pass(as_source(X), Moments(3), at_once=10, backend=wrong)
        assert tells(str(refused.value), "backend", f"got {wrong!r}")
    check_backend("tcp://10.0.0.1:8786")
    with pytest.raises(InputError, match=r"The number of rows of a block.* got 0"):
        run_pass(as_source(X), Moments(3), at_once=0)


def test_threads_keep_no_checkpoint(X, tmp_path):
    with pytest.raises(InputError) as refused:
        run_pass(
            as_source(X), Moments(3), at_once=10, backend="threads", checkpoint=PassCheckpoint(tmp_path / "pass", "")
        )
    assert tells(str(refused.value), "backend", 'got "threads"')


def test_sums_on_threads_are_promised(X, monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 100)
    with (
        threads(2),
        pytest.raises(
            MemoryRefusal,
            match=r"^backend='threads' with 2 threads, each with its own copy of the sums, needs .* Use backend=",
        ),
    ):
        run_pass(as_source(X), Moments(3), at_once=1000, backend="threads")


def test_an_error_on_a_thread_is_the_error_of_the_pass(X):
    X[15_000, 1] = np.nan
    with threads(2), pytest.raises(InputError, match="in row 15000"):
        run_pass(as_source(X), Moments(3), at_once=1000, backend="threads")
