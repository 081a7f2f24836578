"""What `explain` announces, beside measured times."""

import re

import numpy as np
import pytest

from mercer.cli.running import fit_seconds

# Processor seconds of `mercer fit`, start included, by rows, columns, and columns of numbers.
MEASURED = {
    (60, 4, 4): 1.6,
    (100, 30, 30): 2.4,
    (150, 5, 5): 1.6,
    (200, 300, 300): 9.2,
    (250, 150, 150): 3.4,
    (250, 477, 477): 8.4,
    (300, 40, 40): 2.2,
    (300, 200, 200): 3.5,
    (350, 6, 151): 2.8,
    (400, 8, 8): 2.0,
    (400, 25, 25): 2.4,
    (500, 8, 8): 2.1,
    (500, 300, 300): 6.8,
    (600, 6, 362): 3.1,
    (600, 60, 60): 4.7,
    (700, 8, 256): 3.4,
    (800, 6, 82): 3.5,
    (800, 100, 100): 9.0,
    (900, 40, 40): 5.6,
    (1000, 3, 3): 2.4,
    (1000, 15, 15): 3.0,
    (1000, 150, 150): 17.5,
    (1200, 5, 281): 6.1,
    (1500, 22, 80): 9.2,
    (1800, 11, 110): 11.7,
    (2000, 8, 242): 12.2,
    (2200, 15, 15): 5.2,
    (2500, 60, 60): 10.8,
    (3000, 9, 9): 4.6,
    (4000, 8, 80): 9.0,
    (5000, 12, 12): 6.3,
    (7000, 6, 6): 11.7,
    (9000, 8, 8): 22.2,
}


@pytest.mark.parametrize("size", MEASURED)
def test_announced_times_are_within_a_factor_of_two_of_measured_ones(size):
    assert 0.5 < fit_seconds(*size) / MEASURED[size] < 2.0


def test_explain_counts_columns_and_levels(run, folder, rng):
    x, level = rng.normal(size=(300, 120)).round(3), rng.integers(90, size=300)

    def announced(columns):
        cells = [[*columns, "y"], *([*row, i % 17] for i, row in enumerate(zip(*columns.values(), strict=True)))]
        (folder / "t.csv").write_text("\n".join(",".join(map(str, row)) for row in cells))
        said = run("explain", "t.csv", "--target", "y").stdout
        number, unit = re.search(r"Time: roughly ([0-9.]+) (m?s)", said).groups()
        return float(number) * (1e-3 if unit == "ms" else 1.0)

    few = announced({"x0": x[:, 0], "x1": x[:, 1]})
    levels = announced({"x0": x[:, 0], "c": np.char.add("l", level.astype(str))})
    many = announced({f"x{j}": x[:, j] for j in range(120)})
    assert few < levels < many
