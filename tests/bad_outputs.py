"""Places where a file is to be written, as bad as we could think of, and what must be there afterwards."""

import csv
import io
import os
import signal
import stat
from contextlib import suppress
from pathlib import Path

import numpy as np
from pyarrow import parquet

from mercer import KernelRidge, load, save
from mercer.cli.predicting import write
from mercer.errors import MercerError
from mercer.runtime.container import Checkpoint
from mercer.runtime.disk import write_whole

NAMES = [
    "out.csv",
    "Größe.csv",
    "a b'c\".csv",
    "x" * 251 + ".csv",
    "\U0001f600" * 62 + ".csv",
    "*[a]?.csv",
    "o.parquet",
]
TOO_LONG = "x" * 252 + ".csv"
LETTERS = [*"ab,;\"'\t\n\r |\\é\u2028\x1b0.-e", "\U0001f600", "\ufeff", "NA", " "]
MODES = [0o600, 0o640, 0o644, 0o660, 0o400]
OLD = b"what was there before"


class Place:
    """A target in a folder of its own: its path, the file that it stands for, and what else there is."""

    def __init__(self, rng, folder):
        self.folder, self.mode, self.ok = folder, None, True
        self.kind = ["nothing", "file", "link", "chain", "dangling", "circle", "directory", "link to a directory",
                     "no folder", "too long", "device", "file beside stale ones"][rng.integers(12)]  # fmt: skip
        (folder / "here").mkdir()
        (folder / "there").mkdir()
        name = NAMES[rng.integers(len(NAMES))]
        self.path = self.real = folder / "here" / name
        make = {
            "link": self._link, "chain": self._chain, "dangling": self._link, "circle": self._circle,
            "link to a directory": self._to_directory, "file beside stale ones": self._stale,
        }  # fmt: skip
        make.get(self.kind, lambda: None)()
        if self.kind == "directory":
            self.path.mkdir()
        if self.kind == "no folder":
            self.path = self.real = folder / "missing" / name
        if self.kind == "too long":
            self.path = self.real = folder / "here" / TOO_LONG
        if self.kind == "device":
            self.path = self.real = Path("/dev/full")
        self.ok = self.kind not in {"circle", "directory", "link to a directory", "no folder", "too long", "device"}
        if self.ok and self.kind not in {"nothing", "dangling"}:
            self.mode = MODES[rng.integers(len(MODES))]
            self.real.write_bytes(OLD)
            self.real.chmod(self.mode)
        self.stale = set(self.files()) if self.kind == "file beside stale ones" else set()
        self.before = self.files()

    def _link(self):
        self.real = self.folder / "there" / "target.csv"
        self.path.symlink_to(Path("..") / "there" / "target.csv")

    def _chain(self):
        self._link()
        (self.folder / "there" / "middle").symlink_to(self.path)
        self.path = self.folder / "there" / "middle"

    def _circle(self):
        other = self.folder / "there" / "other"
        other.symlink_to(self.path)
        self.path.symlink_to(other)

    def _to_directory(self):
        self.path.symlink_to(self.folder / "there")

    def _stale(self):
        for number in range(3):
            beside = self.real.with_name(f".{self.real.name[:40]}.{number:012x}.part")
            beside.write_bytes(b"half of it")

    def files(self):
        """Everything in the folder: what it is, and what is in it."""
        found = {}
        for path in sorted(self.folder.rglob("*")):
            if path.is_symlink():
                found[path] = path.readlink()
            elif path.is_file():
                found[path] = path.read_bytes()
        return found

    def check_written(self):
        """Only the target has changed; links are links, modes are what they were, and nothing is left over."""
        assert self.ok, f"{self.kind} was written to"
        after = self.files()
        mine = {path: content for path, content in after.items() if path != self.real}
        left = {path: content for path, content in self.before.items() if path != self.real and path not in self.stale}
        assert mine == left, f"{self.kind}: other files have changed"
        mode = stat.S_IMODE(self.real.stat().st_mode)
        umask = os.umask(0)
        os.umask(umask)
        assert mode == (0o666 & ~umask if self.mode is None else self.mode), f"{self.kind}: mode {mode:o}"

    def check_untouched(self):
        """Everything is as it was; files that nobody writes any more may be gone."""
        after = self.files()
        assert {p: c for p, c in self.before.items() if p not in self.stale} == {
            p: c for p, c in after.items() if p not in self.stale
        }, f"{self.kind}: a refused write has changed files"


def answer_of(rng):
    """Predictions with an id of any letters."""
    rows = int(rng.integers(1, 6))
    ids = ["".join(rng.choice(LETTERS, size=rng.integers(0, 6))) for _ in range(rows)]
    bits = rng.integers(0, 2**63, size=rows, dtype=np.int64).view(np.float64)
    return {"id": np.array(ids, dtype=object), "prediction": np.where(np.isfinite(bits), bits, 0.5)}


def _table(rng, path):
    answer = answer_of(rng)
    write(answer, str(path))
    if path.suffix == ".parquet":
        found = parquet.read_table(path).to_pydict()
    else:
        header, *rows = csv.reader(io.StringIO(path.read_bytes().decode("utf-8"), newline=""))
        assert header == ["id", "prediction"]
        found = {"id": [row[0] for row in rows], "prediction": [float(row[1]) for row in rows]}
    assert found["id"] == answer["id"].tolist()
    assert found["prediction"] == answer["prediction"].tolist()


def _model(rng, path):
    X = rng.normal(size=(4, 2))
    model = KernelRidge(0.1, kernel="rbf").fit(X, X[:, 0])
    save(model, path)
    assert (load(path).predict(X) == model.predict(X)).all()


def _checkpoint(rng, path):
    arrays = {"sum": rng.normal(size=(3, 3))}
    kept = Checkpoint(path, "mark")
    kept.save(arrays)
    assert (kept.load(arrays)["sum"] == arrays["sum"]).all()


def _killed(rng, path):
    """A save in another process that is killed at a random piece, and one that comes after it."""
    pieces = [rng.bytes(int(rng.integers(1, 5000))) for _ in range(3)]
    last = int(rng.integers(4))

    def until_killed():
        for place, piece in enumerate(pieces):
            if place == last:
                os.kill(os.getpid(), signal.SIGKILL)
            yield piece

    child = os.fork()
    if child == 0:
        try:
            write_whole(path, until_killed(), "table")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    with suppress(OSError):  # a name that is too long
        if path.is_file():
            assert path.read_bytes() in (OLD, b"".join(pieces)), "half a file"
    write_whole(path, [b"after"], "table")
    assert path.read_bytes() == b"after"


def _failing(rng, path):
    """A save whose disk fills up."""

    def pieces():
        yield rng.bytes(100)
        raise OSError(28, "No space left on device")

    write_whole(path, pieces(), "table")


WRITERS = [_table, _table, _model, _checkpoint, _killed, _failing]


def tried(rng, folder):
    """What became of one output: "written" or "refused"; anything else is an AssertionError."""
    place, writer = Place(rng, folder), WRITERS[rng.integers(len(WRITERS))]
    said = None
    try:
        writer(rng, place.path)
    except MercerError as problem:
        said = str(problem)
    if said is None:
        place.check_written()
        return "written"
    assert not place.ok or writer is _failing, f"{place.kind}: {said}"
    assert " cannot be " in said, said
    assert said.count("\n") == 0, said
    place.check_untouched()
    return "refused"
