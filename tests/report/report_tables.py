"""Small tables with everything in them that a report has to get along with."""

import numpy as np

HOSTILE = "<script>alert(1)</script>"
DOLLARS = "cost $ in $"
LABEL = 'mid & <b>"fair"</b>'


def houses(rows=60, seed=0):
    """Sizes, heatings, noise under hostile names, with gaps, and prices."""
    rng = np.random.default_rng(seed)
    size, oil = rng.uniform(40, 200, rows), rng.random(rows) < 0.4
    table = {
        "size": size,
        "heating": np.where(oil, "oil", "gas").astype(object),
        HOSTILE: rng.normal(size=rows),
        DOLLARS: np.where(rng.random(rows) < 0.3, np.nan, rng.normal(size=rows)),
    }
    return table, 2 * size + 40 * oil + rng.normal(size=rows)


def classes(rows=75, seed=0):
    """The same with three labels, each of them common enough for folds."""
    table, price = houses(rows, seed)
    return table, np.select([price < 180, price < 300], ["cheap", LABEL], "dear")
