"""The table of the README: mercer, a Gaussian process and boosting on public tables, at their defaults.

For each set 1000 training rows, three draws, one thread: root mean squared error and processor seconds, as ratios to
mercer's; and what each says about its own error: the estimate over the truth, or the share of test rows inside the 90 %
intervals. The Gaussian process is scikit-learn's, with an anisotropic Matern kernel and noise, tuned by its evidence.
`pip install --group bench` has CatBoost.
"""

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np

SETS, ROWS, DRAWS = ("california", "kin8nm", "elevators", "diamonds"), 1000, 3
_NORMAL = 1.6449  # half the width of a 90 % interval of a normal distribution, in standard deviations


def by_mercer(X, y, new):
    from mercer import AutoRegressor

    model = AutoRegressor().fit(X, y)
    return model, lambda: (model.predict(new), model.predict_interval(new, 0.9), model.error_)


def by_process(X, y, new):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    kernel = ConstantKernel() * Matern(np.ones(X.shape[1]), nu=2.5) + WhiteKernel()
    model = make_pipeline(StandardScaler(), GaussianProcessRegressor(kernel, normalize_y=True)).fit(X, y)

    def told():
        mean, spread = model.predict(new, return_std=True)
        return mean, (mean - _NORMAL * spread, mean + _NORMAL * spread), float(np.sqrt(np.mean(spread**2)))

    return model, told


def by_boosting(X, y, new):
    from catboost import CatBoostRegressor

    model = CatBoostRegressor(verbose=0, thread_count=1, allow_writing_files=False).fit(X, y)
    return model, lambda: (model.predict(new), None, None)


def main():
    sys.path.insert(0, str(Path(__file__).parent))
    from auto import draw

    warnings.simplefilter("ignore")
    found = {}
    for name in SETS:
        for seed in range(DRAWS):
            X, y, new, truth = draw(name, ROWS, seed)
            for who in (by_mercer, by_process, by_boosting):
                begin = time.process_time()
                _, told = who(X, y, new)
                seconds = time.process_time() - begin
                mean, ends, own = told()
                error = float(np.sqrt(np.mean((mean - truth) ** 2)))
                inside = np.nan if ends is None else float(np.mean((ends[0] <= truth) & (truth <= ends[1])))
                ratio = np.nan if own is None else own / error
                found.setdefault(who.__name__, []).append((error, seconds, ratio, inside))
        print(f"  {name} done", file=sys.stderr, flush=True)
    base = np.array(found["by_mercer"])
    print("model       error  time  own error / truth  % inside 90 %")
    for name, results in found.items():
        rows = np.array(results)
        error = np.exp(np.mean(np.log(rows[:, 0] / base[:, 0])))
        seconds = np.median(rows[:, 1] / base[:, 1])
        own, inside = np.exp(np.mean(np.log(rows[:, 2]))), 100 * np.mean(rows[:, 3])
        print(f"{name[3:]:10s}  {error:5.2f}  {seconds:4.1f}  {own:17.2f}  {inside:13.0f}")
    print(f"seconds of mercer: {np.median(base[:, 1]):.1f}; sets: {', '.join(SETS)}; {ROWS} rows, {DRAWS} draws each")


if __name__ == "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    main()
