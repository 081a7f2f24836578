"""Gram matrix, fit and predict against scikit-learn, and composed kernels against their parts."""

import subprocess
import sys

import numpy as np
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from timing import compare, peak_bytes, show

from mercer import KernelRidge
from mercer.kernels import Gaussian, Laplacian, Linear, Matern


def import_cpu(statement: str) -> float:
    """CPU seconds of a fresh interpreter that runs one statement, best of five."""
    script = f"import time; {statement}; print(time.process_time())"
    runs = (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True) for _ in range(5)
    )
    return min(float(run.stdout) for run in runs)


def main() -> None:
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(5000, 8)), rng.normal(size=(20000, 8))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=5000)
    gamma, kernel = 0.125, Gaussian.from_gamma(0.125)
    assert np.allclose(kernel(X[:500]), rbf_kernel(X[:500], gamma=gamma))
    theirs, ours = SklearnKernelRidge(alpha=0.1, kernel="rbf", gamma=gamma), KernelRidge(0.1, kernel="rbf", gamma=gamma)
    results = [
        compare(
            "Gram matrix n=5000 d=8, Gaussian",
            "rbf_kernel",
            lambda: rbf_kernel(X, gamma=gamma),
            lambda: kernel(X),
            3.0,
            9,
        ),
        compare(
            "Gram matrix n=5000 d=8, Laplacian",
            "laplacian_kernel",
            lambda: laplacian_kernel(X, gamma=gamma),
            lambda: Laplacian(8.0)(X),
            1.0,
        ),
        compare("fit n=5000 d=8", "KernelRidge", lambda: theirs.fit(X, y), lambda: ours.fit(X, y), 2.0),
        compare(
            "predict 20000 rows on n=5000", "KernelRidge", lambda: theirs.predict(new), lambda: ours.predict(new), 2.0
        ),
    ]
    gap = np.abs(theirs.predict(new) - ours.predict(new)).max()
    composed = Gaussian(2.0) + Gaussian(4.0) * Matern(3.0) + 0.5 * Linear()
    parts = (Gaussian(2.0), Gaussian(4.0), Matern(3.0), Linear())

    def fit_parts() -> None:
        for part in parts:
            KernelRidge(0.1, kernel=part, solver="cholesky").fit(X[:3000], y[:3000])

    results.append(
        compare(
            "fit n=3000, composed of four kernels",
            "the four one by one",
            fit_parts,
            lambda: KernelRidge(0.1, kernel=composed, solver="cholesky").fit(X[:3000], y[:3000]),
            1.0,
            3,
        )
    )
    results.append(
        compare(
            "Gram n=5000, composed of four kernels",
            "the four one by one",
            lambda: [part(X) for part in parts],
            lambda: composed(X),
            1.0,
        )
    )
    show(results)
    numpy_cpu, mercer_cpu = import_cpu("import numpy"), import_cpu("import mercer")
    print(f"\nlargest difference of the predictions: {gap:.1e}")
    print(
        f"memory of predict: mercer {peak_bytes(lambda: ours.predict(new)) / 1e6:.0f} MB (wanted: below 100 MB), "
        f"scikit-learn {peak_bytes(lambda: theirs.predict(new)) / 1e6:.0f} MB"
    )
    print(f"import: numpy {numpy_cpu:.3f} s of CPU, mercer {mercer_cpu:.3f} s (wanted: numpy plus 0.15 s at most)")
    print(f"route of the fit: {ours.route_}")


if __name__ == "__main__":
    main()
