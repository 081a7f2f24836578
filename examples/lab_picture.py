"""The picture of mercer lab in the README.

Run ``python examples/lab_picture.py``; it needs chromium and playwright, and writes ``docs/_static/lab.png``.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

from mercer.lab.server import Lab, running

PLACE = Path(__file__).resolve().parent.parent / "docs" / "_static" / "lab.png"


def main() -> None:
    """Open the page, hover over a point, and take the picture."""
    with running(Lab("picture")) as address, sync_playwright() as playwright:
        place = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=place, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 1010})
        page.goto(address)
        page.wait_for_timeout(2500)
        page.hover("#plot [data-row='0']")
        page.wait_for_timeout(700)
        page.screenshot(path=PLACE)
        browser.close()


if __name__ == "__main__":
    main()
