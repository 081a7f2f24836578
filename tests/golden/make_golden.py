"""Write the files that test_golden.py compares with: run by hand only, when what mercer gives is meant to change.

From the root of the project: ``python tests/golden/make_golden.py``. It replaces inputs.npz, golden.npz, golden.json,
the model files and the checkpoints in this folder; ``make_golden.py only NAME ...`` records these items again and
touches no file but golden.npz and golden.json. Look at what has changed in git before committing them.
"""

import sys

import numpy as np
from golden_checkpoints import CHECKPOINTS, die, interrupt
from golden_commands import COMMANDS, output
from golden_evaluations import EVALUATIONS
from golden_models import MODELS, predictions, write
from golden_records import FOLDER, INPUTS, inputs, items, record, store, stored
from golden_searches import SEARCHES


def dyadic(values: np.ndarray) -> np.ndarray:
    """Rounded to multiples of 1/1024, which every machine makes alike."""
    return np.round(1024.0 * values) / 1024.0


def made() -> dict[str, np.ndarray]:
    """Small tables from one seeded generator; targets are of the order of one."""
    rng = np.random.default_rng(20)
    X, new = dyadic(rng.uniform(-2, 2, (48, 2))), dyadic(rng.uniform(-2, 2, (6, 2)))
    truth = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1]
    y = dyadic(truth + 0.2 * rng.normal(size=48))
    second = dyadic(np.cos(X[:, 1]) - 0.3 * X[:, 0] + 0.4 * rng.normal(size=48))
    edge = truth + 0.3 * rng.normal(size=48)
    tall, tall_new = dyadic(rng.normal(size=(80, 3))), dyadic(rng.normal(size=(5, 3)))
    tall_y = dyadic(tall @ [1.0, -0.5, 0.25] + 0.5 * tall[:, 0] * tall[:, 1] + 0.3 * rng.normal(size=80))
    twice = np.repeat(dyadic(rng.uniform(-2, 2, (15, 2))), 2, axis=0)
    features = np.round(4.0 * rng.normal(size=(54, 5))) / 4.0
    gram = features @ features.T / 4.0
    words = ["".join(rng.choice(list("abcd"), size=rng.integers(6, 14))) for _ in range(29)]
    return {
        "X": X,
        "new": new,
        "y": y,
        "Y": np.column_stack([y, second]),
        "weights": np.array([0.0, 0.5, 1.0, 1.5, 2.0])[rng.integers(0, 5, 48)],
        "groups": rng.integers(0, 9, 48),
        "two_labels": np.where(edge > 0.2, "yes", "no"),
        "three_labels": np.array(["a", "b", "c"])[np.digitize(edge, [-0.2, 1.1])],
        "tall": tall,
        "tall_new": tall_new,
        "tall_y": tall_y,
        "twice": twice,
        "twice_y": dyadic(np.sin(twice[:, 0]) + 0.2 * rng.normal(size=30)),
        "gram": gram[:48, :48].copy(),
        "gram_new": gram[48:, :48].copy(),
        "gram_diagonal": gram.diagonal()[48:].copy(),
        "texts": np.array(words),
        "text_y": dyadic(np.array([word.count("ab") - word.count("c") / 4 for word in words[:24]])),
    }


def listed(data: dict[str, np.ndarray]) -> dict:
    """Every item that is recorded, and what makes it."""
    items = {name: (lambda each=each: each.run(data)) for name, each in (SEARCHES | EVALUATIONS).items()}
    items |= {f"model {name}": (lambda name=name: predictions(FOLDER / f"{name}.mercer", data)) for name in MODELS}
    for name, each in CHECKPOINTS.items():
        items[f"checkpoint {name}"] = lambda each=each: each(data)
    return items | {f"command {name}": (lambda name=name: output(name)) for name in COMMANDS}


def main(names: list[str]) -> None:
    """Record these items again, or make everything again."""
    found = {name: stored(name) for name in items()} if names else {}
    if not names:
        np.savez_compressed(INPUTS, **made())
        write(inputs())
        for name in CHECKPOINTS:
            interrupt(name)
    for name, run in listed(inputs()).items():
        if not names or name in names:
            sys.stderr.write(f"{name}\n")
            found[name] = record(run)
    store(found)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] != "only":  # a process of its own, which does not live long
        die(*sys.argv[1:])
    main(sys.argv[2:])
