"""The picture and the figures of the README: mercer, CatBoost, a Gaussian process and scikit-learn's KernelRidge.

Public tables, 1000 training rows, three draws, one thread: root mean squared error on up to 4000 other rows over the
standard deviation of their targets, and processor seconds of the fit. CatBoost has its defaults. The Gaussian process
is scikit-learn's, on standardized columns, with a Matern kernel of one width per column and noise, tuned by its
evidence. KernelRidge is searched by GridSearchCV over 10 x 10 values of alpha and gamma, on standardized columns and
targets.

python benchmarks/front.py            # measures, writes docs/_static/front.json and draws docs/_static/front-*.svg
python benchmarks/front.py --draw     # draws again
"""

import json
import os
import sys
import time
import warnings
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

PAGES = Path(__file__).parents[1] / "docs" / "_static"
SETS, ROWS, DRAWS = ("california", "diamonds", "elevators", "kin8nm"), 1000, 3
NORMAL = 1.6449  # half the width of a 90 % interval of a normal distribution, in standard deviations
COLOURS = {"mercer": "#0f7b6c", "CatBoost": "#c7842b", "Gaussian process": "#7a6fb0", "KernelRidge": "#8a8f98"}


def mercer(X, y):
    from mercer import AutoRegressor

    model = AutoRegressor().fit(X, y)
    return lambda new: (model.predict(new), model.predict_interval(new, 0.9), model.error_)


def catboost(X, y):
    from catboost import CatBoostRegressor

    model = CatBoostRegressor(verbose=0, thread_count=1, random_seed=0, allow_writing_files=False).fit(X, y)
    return lambda new: (model.predict(new), None, None)


def gaussian_process(X, y):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    kernel = ConstantKernel() * Matern(np.ones(X.shape[1]), nu=2.5) + WhiteKernel()
    model = make_pipeline(StandardScaler(), GaussianProcessRegressor(kernel, normalize_y=True)).fit(X, y)

    def predict(new):
        mean, spread = model.predict(new, return_std=True)
        return mean, (mean - NORMAL * spread, mean + NORMAL * spread), float(np.sqrt(np.mean(spread**2)))

    return predict


def kernel_ridge(X, y):
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    grid = {"kernelridge__alpha": np.geomspace(1e-4, 10.0, 10), "kernelridge__gamma": np.geomspace(1e-3, 3.0, 10)}
    search = GridSearchCV(make_pipeline(StandardScaler(), KernelRidge(kernel="rbf")), grid, cv=5)
    model = TransformedTargetRegressor(search, transformer=StandardScaler()).fit(X, y)
    return lambda new: (model.predict(new), None, None)


PEERS = {"mercer": mercer, "CatBoost": catboost, "Gaussian process": gaussian_process, "KernelRidge": kernel_ridge}


def measure() -> dict:
    """Medians over draws of error and seconds by table, and ratios to mercer over all draws."""
    sys.path.insert(0, str(Path(__file__).parent))
    from auto import draw

    warnings.simplefilter("ignore")
    found = {who: {name: [] for name in SETS} for who in PEERS}
    for name in SETS:
        for seed in range(DRAWS):
            X, y, new, truth = draw(name, ROWS, seed)
            for who, fit in PEERS.items():
                begin = time.process_time()
                predict = fit(X, y)
                seconds = time.process_time() - begin
                mean, ends, own = predict(new)
                error = float(np.sqrt(np.mean((mean - truth) ** 2)))
                inside = np.nan if ends is None else float(np.mean((ends[0] <= truth) & (truth <= ends[1])))
                ratio = np.nan if own is None else own / error
                found[who][name].append((error / float(truth.std()), seconds, ratio, inside))
        print(f"  {name} done", file=sys.stderr, flush=True)
    base, peers = np.array(list(found["mercer"].values())), {}
    for who, tables in found.items():
        numbers = np.array(list(tables.values()))
        middle = np.median(numbers, axis=1)
        peers[who] = {
            "error": dict(zip(SETS, np.round(middle[:, 0], 3).tolist(), strict=True)),
            "seconds": dict(zip(SETS, np.round(middle[:, 1], 1).tolist(), strict=True)),
            "error ratio": round(float(np.exp(np.mean(np.log(numbers[..., 0] / base[..., 0])))), 2),
            "time ratio": round(float(np.median(numbers[..., 1] / base[..., 1])), 1),
        }
        if np.isfinite(numbers[..., 2]).all():
            peers[who]["own estimate"] = round(float(np.exp(np.mean(np.log(numbers[..., 2])))), 2)
            peers[who]["inside"] = round(100.0 * float(np.mean(numbers[..., 3])))
    today = datetime.now(UTC).date().isoformat()
    return {"date": today, "command": "python benchmarks/front.py", "rows": ROWS, "draws": DRAWS, "peers": peers}


def draw_picture(stored: dict, *, dark: bool) -> None:
    """Bars of errors by table, processor seconds in the bars."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    ink, paper = ("#e6e6e6", "#0d1117") if dark else ("#24292f", "#ffffff")
    settings = {"svg.hashsalt": "front", "svg.fonttype": "path", "font.size": 11, "text.color": ink}
    with mpl.rc_context(settings):
        figure = Figure(figsize=(11.0, 3.9), layout="constrained", facecolor=paper)
        axes, peers = figure.subplots(), stored["peers"]
        width = 0.8 / len(peers)
        for place, (who, numbers) in enumerate(peers.items()):
            left = np.arange(len(SETS)) + (place - (len(peers) - 1) / 2) * width
            heights = [numbers["error"][name] for name in SETS]
            axes.bar(left, heights, 0.94 * width, label=who, color=COLOURS[who])
            for x, height, name in zip(left, heights, SETS, strict=True):
                seconds = f"{numbers['seconds'][name]:.{0 if numbers['seconds'][name] > 10 else 1}f} s"
                axes.text(x, 0.012, seconds, ha="center", va="bottom", rotation=90, color="white", fontsize=10)
                axes.text(x, height + 0.006, f"{height:.2f}".removeprefix("0"), ha="center", va="bottom", fontsize=10)
        axes.set(facecolor=paper, ylim=(0.0, 1.12 * max(max(n["error"].values()) for n in peers.values())))
        axes.set_xticks(np.arange(len(SETS)), SETS, color=ink)
        axes.set_yticks([])
        axes.tick_params(length=0, labelsize=12)
        for side in axes.spines.values():
            side.set_visible(False)
        axes.set_title(
            f"Error on new rows, over the standard deviation of the target ({stored['rows']} training rows); "
            "processor time of the fit in the bars", loc="left", color=ink, fontsize=11.5,
        )  # fmt: skip
        figure.legend(frameon=False, ncols=len(peers), loc="outside lower center", labelcolor=ink, fontsize=12)
        place = PAGES / f"front-{'dark' if dark else 'light'}.svg"
        figure.savefig(place, facecolor=paper, metadata={"Date": None})


def main() -> None:
    place = PAGES / "front.json"
    if "--draw" not in sys.argv:
        place.write_text(json.dumps(measure(), indent=1) + "\n")
    stored = json.loads(place.read_text())
    print(json.dumps(stored, indent=1))
    for dark in (False, True):
        draw_picture(stored, dark=dark)


if __name__ == "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MERCER_THREADS"] = "1"
    main()
