"""The time from a slider of mercer lab to its picture, in a browser: 200 moves of width and alpha by turns, 300 points.

Run ``python benchmarks/lab.py``; it needs chromium and playwright. Moves follow one another without a pause.
"""

from __future__ import annotations

import shutil

import numpy as np
from playwright.sync_api import sync_playwright
from threadpoolctl import threadpool_limits

from mercer.lab.server import Lab, running

STATE = "#problem=sinusoid&n=300&noise=0.3&seed=1&kernel=Gaussian(width%3D1)&alpha=0.1"
MOVES = """async () => {
  const page = document.documentElement.dataset;
  const drawn = (n) => new Promise((done) => {
    const look = () => (Number(page.drawn) > n ? done() : requestAnimationFrame(look));
    look();
  });
  const times = [];
  for (let i = 0; i < 200; i += 1) {
    const input = document.getElementById(i % 2 ? "slider-0" : "alpha");
    input.value = i % 2 ? -0.5 + (i % 50) / 50 : -3 + (i % 40) / 10;
    const before = Number(page.drawn);
    const begin = performance.now();
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await drawn(before);
    times.push(performance.now() - begin);
  }
  return times;
}"""


def main() -> None:
    """Print the median and the 95th percentile."""
    with threadpool_limits(1), running(Lab("benchmark")) as address, sync_playwright() as playwright:
        place = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=place, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        page.goto(address + STATE)
        page.wait_for_timeout(3000)
        times = page.evaluate(MOVES)
        browser.close()
    middle, most = np.quantile(times, [0.5, 0.95])
    wanted = f"median {middle:.0f} ms (wanted 100), 95 % {most:.0f} ms (wanted 200)"
    print(f"slider to picture, 300 points, 200 moves: {wanted}")


if __name__ == "__main__":
    main()
