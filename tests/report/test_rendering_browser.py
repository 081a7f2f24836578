"""The report in a real browser without a network: nothing asked for, nothing said, everything there."""

import browser
import pytest
from report_tables import HOSTILE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.found() is None, reason="there is no chromium to open reports in"),
    pytest.mark.xdist_group("report"),  # the reports are made once
]

BAD = """<!doctype html><title>bad</title><script>alert("heard"); console.error("told")</script>
<img src="https://example.invalid/pixel.png"><link rel="stylesheet" href="other.css">"""
SIZES = """[...document.querySelectorAll("svg")].map(drawing => {
    const box = drawing.getBoundingClientRect();
    return [box.width, box.height];
})"""
SPILLS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    opened = browser.Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture(scope="module", params=["search", "auto", "labels"])
def report(request, pages, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(pages[request.param], encoding="utf-8")
    return path


def test_a_page_that_misbehaves_is_caught(chromium, tmp_path):
    (tmp_path / "bad.html").write_text(BAD)
    chromium.open(tmp_path / "bad.html")
    assert sorted(url.rpartition("/")[2] for url in chromium.requests) == ["other.css", "pixel.png"]
    assert any("told" in text for text in chromium.said)
    assert chromium.dialogs == ["heard"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390], ids=["desktop", "phone"])
def test_a_report_asks_for_nothing_and_says_nothing(chromium, report, width, dark):
    chromium.open(report, width=width, dark=dark)
    assert chromium.requests == []
    assert chromium.said == []
    assert chromium.dialogs == []
    assert chromium.ask("document.querySelectorAll('script, iframe, object, embed').length") == 0
    sizes = chromium.ask(SIZES)
    assert len(sizes) >= 5
    assert all(wide > 150 and high > 80 for wide, high in sizes)
    assert all(wide <= max(width, 544) for wide, _ in sizes)  # broad ones scroll by themselves on a phone
    assert chromium.ask(SPILLS) == 0  # wide tables scroll by themselves, the page does not


def luminance(colour):
    red, green, blue = (int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3])
    return 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_of_page_and_pictures_stands_out_from_the_ground(chromium, report, dark):
    chromium.open(report, dark=dark)
    ground = luminance(chromium.ask("getComputedStyle(document.body).backgroundColor"))
    assert (ground < 0.05) is dark
    script = "[...document.querySelectorAll('p, td, th, figcaption')].map(e => getComputedStyle(e).color)"
    drawn = "[...document.querySelectorAll('svg text')].map(e => getComputedStyle(e).fill)"
    for colour in {*chromium.ask(script), *chromium.ask(drawn)} - {"rgb(255, 255, 254)", "rgb(0, 0, 1)"}:
        low, high = sorted((ground, luminance(colour)))
        assert (high + 0.05) / (low + 0.05) > 4.5, colour


def test_it_prints_on_a_light_ground_even_in_the_dark(chromium, report):
    chromium.open(report, dark=True, media="print")
    assert chromium.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert chromium.ask("getComputedStyle(document.querySelector('nav')).display") == "none"


def test_the_first_key_leads_to_the_summary(chromium, report):
    chromium.open(report)
    chromium.press("Tab")
    assert chromium.ask("document.activeElement.textContent") == "Skip to the summary"
    assert chromium.ask("document.activeElement.getBoundingClientRect().left >= 0")
    assert chromium.ask("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_a_hostile_column_is_text_in_tables_and_pictures(chromium, pages, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(pages["search"], encoding="utf-8")
    chromium.open(path)
    assert chromium.ask(f"[...document.querySelectorAll('th')].some(e => e.textContent === {HOSTILE!r})")
    assert chromium.ask(f"[...document.querySelectorAll('svg text')].some(e => e.textContent === {HOSTILE!r})")
    assert chromium.dialogs == []
