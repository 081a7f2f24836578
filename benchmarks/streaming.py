"""Ridge regression on landmarks: against scikit-learn, in memory, in growth, on real tables and on a large one.

python benchmarks/streaming.py                      # everything but the large table
python benchmarks/streaming.py speed landmarks      # some parts, by name
python benchmarks/streaming.py parquet --rows 10000000
"""

import argparse
import math
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from timing import Comparison, show

from mercer import NystroemRidge, NystroemRidgeCV
from mercer.errors import MercerWarning
from mercer.kernels import Gaussian
from mercer.runtime.progress import duration
from mercer.text import text_table

DATA = Path(__file__).parents[2] / "shared" / "data"
N, D, M, GAMMA = 100_000, 10, 1000, 0.1
ALPHAS = np.geomspace(1e-3, 1e3, 20)


def made(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A smooth function of ten columns with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.75, 1.75, size=(n, D))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


def theirs(X, y):
    return make_pipeline(Nystroem(gamma=GAMMA, n_components=M, random_state=0), Ridge(alpha=1.0)).fit(X, y)


def one_alpha(X, y):
    return NystroemRidge(1.0, kernel=Gaussian.from_gamma(GAMMA), landmarks=M, fit_intercept=True).fit(X, y)


def all_alphas(X, y):
    kernel = Gaussian.from_gamma(GAMMA)
    return NystroemRidgeCV([kernel], ALPHAS, cv=10, landmarks=M, fit_intercept=True).fit(X, y)


FITS = {"scikit-learn": theirs, "one alpha": one_alpha, "cross-validation": all_alphas}


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def speed(turns: int = 3) -> None:
    """Fit and predict, best of several turns taken in alternation, and the errors on new rows."""
    X, y = made(0, N)
    new, truth = made(1, 20_000)
    best = dict.fromkeys(FITS, math.inf)
    models = {}
    for _ in range(turns):
        for name, fit in FITS.items():
            took, models[name] = timed(lambda fit=fit: fit(X, y))
            best[name] = min(best[name], took)
    peer = "Nystroem + Ridge, one alpha"
    predict = {
        name: min(timed(lambda m=model: m.predict(X))[0] for _ in range(turns)) for name, model in models.items()
    }
    size = f"n={N}, d={D}, m={M}"
    show(
        [
            Comparison(f"fit, one alpha, {size}", peer, best["scikit-learn"], best["one alpha"], 5.0),
            Comparison(f"fit and 10-fold CV over 20 alphas, {size}", peer, best["scikit-learn"],
                       best["cross-validation"], 3.0),
            Comparison(f"predict {N} rows", peer, predict["scikit-learn"], predict["one alpha"], 2.0),
        ]
    )  # fmt: skip
    for name, model in models.items():
        print(f"{name}: mean squared error on 20 000 new rows {np.mean((model.predict(new) - truth) ** 2):.4f}")
    print(models["cross-validation"].summary())


def memory() -> None:
    """Peak memory of each fit in a process of its own, less that of the data alone."""
    folder = str(Path(__file__).parent)
    script = (
        f"import sys; sys.path.insert(0, {folder!r}); import streaming as s; X, y = s.made(0, s.N); "
        "name = sys.argv[1]; s.FITS[name](X, y) if name != 'nothing' else None; "
        # its own peak: getrusage would tell that of the parent where that is larger
        "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')][0])"
    )

    def peak(name: str) -> int:
        done = subprocess.run([sys.executable, "-c", script, name], capture_output=True, text=True, check=True)
        return 1024 * int(done.stdout.split()[-1])

    base = peak("nothing")
    found = {name: peak(name) - base for name in FITS}
    rows = [[name, f"{held / 1e6:.0f} MB", f"{held / found['scikit-learn']:.2f}"] for name, held in found.items()]
    print(text_table(["fit", "memory beside the data", "share of scikit-learn's (wanted: 0.33)"], rows))


def blocks_of(n: int, size: int = 50_000):
    """Rows that are made when they are read, the same ones every time."""

    def blocks():
        for start in range(0, n, size):
            yield made(start, min(size, n - start))

    return blocks


def linear(sizes=(100_000, 300_000, 1_000_000, 3_000_000), m: int = 500) -> None:
    """Time against rows: the exponent of growth, with rows made on the fly and no table held."""
    found = []
    for n in sizes:
        model = NystroemRidge(1.0, kernel=Gaussian.from_gamma(GAMMA), landmarks=m)
        reading, _ = timed(lambda n=n: sum(len(X) for X, _ in blocks_of(n)()))
        took, _ = timed(lambda n=n, model=model: model.fit(blocks_of(n)))
        found.append((n, took - 2 * reading, reading))  # the sample is a pass of its own over such blocks
    exponents = np.diff(np.log([row[1] for row in found])) / np.diff(np.log([row[0] for row in found]))
    rows = [[n, took, reading, f"{n / took:.3g}"] for n, took, reading in found]
    print(text_table(["rows", "fit without making rows (s)", "making them once (s)", "rows per second"], rows))
    print("exponents of growth (wanted: 0.9 to 1.1):", ", ".join(f"{each:.2f}" for each in exponents))


def real(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A table of the shared folder, columns scaled; labels of usps become one-hot columns."""
    stored = np.load(DATA / f"{name}.npz", allow_pickle=False)
    X, y = stored["X"].astype(np.float64), stored["y"]
    scale = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    if name == "usps":
        return X, np.eye(10)[np.unique(y, return_inverse=True)[1]]
    return X, y.astype(np.float64).ravel()


def halves(n: int, seed: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(seed).permutation(n)
    cut = min(most, 3 * n // 4)
    return order[:cut], order[cut : 2 * most]


def landmarks(m: int = 500, seeds: int = 5, most: int = 12_000) -> None:
    """Pivoted against uniform landmarks, and k-means++: held-out error at equal number, same kernel, alpha by CV."""
    rows, wins = [], 0
    for name in ("kin40k", "california", "diamonds", "elevators", "pumadyn32nm", "usps"):
        X, y = real(name)
        train, _ = halves(len(X), 99, most)
        kernel = (
            NystroemRidgeCV(cv=5, landmarks=m, method="uniform", fit_intercept=True)
            .fit(X[train], y[train])
            .best_kernel_
        )
        errors = {method: [] for method in ("uniform", "pivoted", "kmeans")}
        for seed in range(seeds):
            train, test = halves(len(X), seed, most)
            spread = np.mean((y[test] - y[train].mean(axis=0)) ** 2)
            for method, found in errors.items():
                search = NystroemRidgeCV(
                    [kernel], cv=5, landmarks=m, method=method, fit_intercept=True, random_state=seed
                ).fit(X[train], y[train])
                found.append(np.mean((search.predict(X[test]) - y[test]) ** 2) / spread)
        means = {method: float(np.mean(found)) for method, found in errors.items()}
        gap = np.array(errors["uniform"]) - errors["pivoted"]
        wins += means["pivoted"] < means["uniform"]
        rows.append([name, repr(kernel), *(f"{means[each]:.5f}" for each in means), f"{(gap > 0).sum()} of {seeds}"])
        print(text_table(["table", "kernel", "uniform", "pivoted", "kmeans", "pivoted better"], rows[-1:]), flush=True)
    print(text_table(["table", "kernel", "uniform", "pivoted", "kmeans", "pivoted better"], rows))
    print(f"m={m}, share of the variance that is left: pivoted landmarks beat uniform ones on {wins} of 6 (wanted: 4)")


def tables() -> None:
    """Width and alpha by 10-fold cross-validation on real tables, all but 5000 rows to learn from."""
    rows = []
    for name in ("kin40k", "california", "diamonds"):
        X, y = real(name)
        order = np.random.default_rng(0).permutation(len(X))
        train, test = order[5000:], order[:5000]
        took, search = timed(lambda X=X, y=y, train=train: NystroemRidgeCV(fit_intercept=True).fit(X[train], y[train]))
        error = np.mean((search.predict(X[test]) - y[test]) ** 2)
        rows.append(
            [name, len(train), repr(search.best_kernel_), f"{search.alpha_:.3g}",
             len(search.best_estimator_.landmarks_), f"{-search.best_score_:.5g}", f"{error:.5g}",
             f"{error / y[test].var():.4f}", duration(took)]
        )  # fmt: skip
        print(f"{name}: {search.landmark_check_}", flush=True)
    header = ["table", "rows", "kernel", "alpha", "landmarks", "CV error", "test error", "of variance", "time"]
    print(text_table(header, rows))


def parquet(rows: int, m: int = 300) -> None:
    """A table on disk, fitted with cross-validation; its time, rate and peak memory."""
    import resource

    import pyarrow as pa
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        size = 250_000
        for start in range(0, rows, size):
            X, y = made(start, min(size, rows - start))
            columns = {f"x{j}": X[:, j] for j in range(D)} | {"y": y}
            pq.write_table(pa.table(columns), f"{folder}/{start:012}.parquet", row_group_size=50_000)
        held = sum(file.stat().st_size for file in Path(folder).iterdir())
        search = NystroemRidgeCV([Gaussian(w) for w in (1.5, 3.0, 6.0)], landmarks=m, fit_intercept=True, verbose=2)
        print(search.explain(folder, "y"))
        took, _ = timed(lambda: search.fit(folder, "y"))
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(search.summary())
    print(
        f"{rows} rows, {held / 1e9:.2f} GB of Parquet: {duration(took)}, {rows / took:.3g} rows per second, peak "
        f"{peak / 1e9:.2f} GB of the process. Ten such machines, each reading a tenth: about {duration(took / 10)}."
    )


PARTS = {each.__name__: each for each in (speed, memory, linear, landmarks, tables)}


def main() -> None:
    warnings.filterwarnings("ignore", category=MercerWarning)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS, "parquet"], help="which parts to run")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the Parquet table")
    asked = parser.parse_args()
    for name in asked.parts or PARTS:
        print(f"== {name}", flush=True)
        if name == "parquet":
            parquet(asked.rows)
        elif name in ("landmarks", "tables") and not DATA.exists():
            print(f"{DATA} is not there.")
        else:
            PARTS[name]()


if __name__ == "__main__":
    main()
