"""The page in a browser, as a person uses it; the numbers on it are the library's for the same state."""

import re

import numpy as np
import pytest

from mercer import KernelRegressor, KernelRidge, KernelRidgeCV, influence, load
from mercer.kernels import parse

pytestmark = [
    pytest.mark.slow, pytest.mark.xdist_group("lab"), pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
]  # fmt: skip
CSV = "area,rooms,age,rent\n" + "\n".join(
    f"{40 + i % 60},{1 + i % 4},{i * 7 % 50},{300 + 9 * (40 + i % 60) - 2 * (i * 7 % 50)}" for i in range(350)
)


def numbers(page):
    """What the page shows: training error, left-out error, degrees of freedom."""
    return [float(page.get_attribute(f"#number-{name}", "data-value")) for name in ("training", "left-out", "degrees")]


def expected(page):
    """The same from the library, for the points and settings that the page has."""
    state = page.evaluate("({points: mercerLab.data.points, state: mercerLab.state})")
    X, y = np.array(state["points"]["x"]), np.array(state["points"]["y"])
    how = state["state"]
    model = KernelRidge(how["alpha"], kernel=parse(how["kernel"]), fit_intercept=how["intercept"]).fit(X, y)
    return [np.sqrt(np.mean((y - model.predict(X)) ** 2)), influence(model).error, model.effective_dof_]


def slide(page, name, value):
    page.evaluate(
        "([id, value]) => { const input = document.getElementById(id); input.value = value;"
        " input.dispatchEvent(new Event('input', {bubbles: true})); }",
        [name, str(value)],
    )


def test_sliders_kernels_and_points_change_the_picture_as_the_library_says(watched):
    page = watched.open()
    assert page.title() == "mercer lab"
    assert np.allclose(numbers(page), expected(page), rtol=1e-9)
    first = page.inner_html("#plot .curve") or page.get_attribute("#plot .curve", "d")
    for name, value in (("alpha", -3), ("slider-0", -0.5), ("n", 120), ("noise", 0.6)):
        slide(page, name, value)
        watched.settled()
        assert np.allclose(numbers(page), expected(page), rtol=1e-9)
    assert page.get_attribute("#plot .curve", "d") != first
    page.check("input[name=how][value='+']")
    page.click(".tile[data-name=Linear]")
    watched.settled()
    assert page.input_value("#kernel") == "Gaussian(width=0.3162) + Linear()"
    assert np.allclose(numbers(page), expected(page), rtol=1e-9)
    page.click("#wrap-scale")
    watched.settled()
    assert page.input_value("#kernel") == "2 * (Gaussian(width=0.3162) + Linear())"
    page.go_back()
    watched.settled()
    assert page.input_value("#kernel") == "Gaussian(width=0.3162) + Linear()"
    page.go_forward()
    watched.settled()
    assert page.input_value("#kernel") == "2 * (Gaussian(width=0.3162) + Linear())"
    before = numbers(page)
    page.reload()
    watched.until("document.documentElement.dataset.panels !== undefined")
    watched.settled()
    assert numbers(page) == before


def test_points_are_dragged_added_removed_and_looked_at(watched):
    page = watched.open("#problem=sinusoid&n=20&noise=0.2&seed=5")
    page.locator("#plot").scroll_into_view_if_needed()
    box = page.locator("#plot [data-row='7']").bounding_box()
    at = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*at)
    page.wait_for_selector("#plot .gone", state="attached")
    assert re.match(r"Point 8 \(.*\): the others miss it by", page.inner_text("#said"))
    curve = page.evaluate("mercerLab.withoutCurve")
    state = page.evaluate("({points: mercerLab.data.points, at: mercerLab.layout.at, state: mercerLab.state})")
    rest = np.arange(20) != 7
    X, y = np.array(state["points"]["x"])[rest], np.array(state["points"]["y"])[rest]
    model = KernelRidge(state["state"]["alpha"], kernel=parse(state["state"]["kernel"]), fit_intercept=True).fit(X, y)
    assert np.allclose(curve, model.predict(np.array(state["at"])), rtol=1e-7, atol=1e-9)
    page.mouse.down()
    page.mouse.move(at[0] + 10, at[1] + 60, steps=5)
    page.mouse.up()
    watched.settled()
    moved = page.evaluate("mercerLab.data.points.y[7]")
    assert moved < state["points"]["y"][7]
    assert np.allclose(numbers(page), expected(page), rtol=1e-9)
    whole = page.locator("#plot").bounding_box()
    page.mouse.click(whole["x"] + whole["width"] * 0.5, whole["y"] + 40)
    watched.settled()
    assert page.evaluate("mercerLab.data.points.y.length") == 21
    page.focus("#plot")
    for key in ("ArrowRight", "Shift+ArrowUp", "a", "Delete"):
        page.keyboard.press(key)
        watched.settled()
    assert page.evaluate("mercerLab.data.points.y.length") == 21
    assert "points=" in page.url
    page.click("#restore")
    watched.settled()
    assert page.evaluate("mercerLab.data.points.y.length") == 20


def test_a_loss_is_chosen_and_the_page_says_which_errors_it_shows(watched):
    page = watched.open("#problem=sinusoid&n=30&noise=0.15&seed=3")
    assert "loss=" not in page.url
    squared = page.get_attribute("#plot .curve", "d")
    page.select_option("#loss", "huber")
    watched.settled()
    assert page.get_attribute("#plot .curve", "d") != squared
    assert page.locator("#plot .band").count() == 0
    state = page.evaluate("({points: mercerLab.data.points, at: mercerLab.layout.at, curve: mercerLab.fit.curve})")
    model = KernelRegressor(0.1, loss="huber", kernel=parse("Gaussian(width=1)"), fit_intercept=True)
    model.fit(np.array(state["points"]["x"]), np.array(state["points"]["y"]))
    assert np.allclose(state["curve"], model.predict(np.array(state["at"])), rtol=1e-9)
    assert page.inner_text("#number-training").endswith("mean Huber loss")
    assert page.locator("#numbers dt").count() == 2
    for name in ("panel-alpha", "panel-surface"):
        assert page.is_hidden(f"#{name}")
    assert page.inner_text("#panels-note").endswith("for the squared loss only.")
    assert "loss=huber" in page.url
    page.reload()
    watched.until("document.documentElement.dataset.panels !== undefined")
    watched.settled()
    assert page.input_value("#loss") == "huber"
    page.select_option("#problem", "motorcycle")  # numbers again
    watched.settled()
    assert page.input_value("#loss") == "huber"
    page.select_option("#loss", "quantile")
    watched.settled()
    assert page.locator("#plot .band").count() == 1
    assert page.get_attribute("#number-left-out", "data-value") == "null"
    page.select_option("#problem", "moons")
    watched.settled()
    assert page.input_value("#loss") == "squared"
    assert page.is_visible("#panel-alpha")
    page.select_option("#loss", "logistic")
    watched.settled()
    assert page.inner_text("#number-left-out").endswith("log loss, approximate (one Newton step)")
    page.go_back()
    watched.settled()
    assert page.input_value("#loss") == "squared"


def test_the_tour_of_losses_shows_what_it_says(watched):
    page = watched.open("#tab=tours")
    page.click("[data-tour=loss]")
    watched.settled()
    miss = "Math.max(...mercerLab.layout.xs.map((x, i) => Math.abs(mercerLab.fit.curve[i] - Math.sin(x))))"
    assert page.evaluate(miss) > 0.5  # bent
    assert page.locator("#plot .marked").count() == 1
    following = page.locator("#tours button", has_text="Next")
    following.click()
    watched.settled()
    assert page.evaluate(miss) < 0.4
    page.locator("#plot").scroll_into_view_if_needed()
    box = page.locator("#plot .marked").bounding_box()
    before = page.evaluate("mercerLab.fit.curve")
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 5, box["y"] + 80, steps=5)
    page.mouse.up()
    watched.settled()
    assert page.evaluate("mercerLab.data.points.y[0]") < 3.5
    assert np.allclose(page.evaluate("mercerLab.fit.curve"), before, atol=0.02)
    following.click()
    watched.settled()
    width = "[0, 160].map((i) => mercerLab.fit.upper[i] - mercerLab.fit.lower[i])"
    narrow, wide = page.evaluate(width)
    assert wide > 2.5 * narrow
    page.click("#tours [data-loss=squared]")
    watched.settled()
    narrow, wide = page.evaluate(width)
    assert wide < 1.5 * narrow
    following.click()
    watched.settled()
    assert page.locator("#plot .ring").count() == 1
    for loss in ("squared", "logistic"):
        page.click(f"#tours [data-loss={loss}]")
        watched.settled()
        assert page.get_attribute(f"#tours [data-loss={loss}]", "aria-pressed") == "true"
        assert page.input_value("#loss") == loss
    assert following.is_disabled()


def test_a_wrong_label_turns_the_line_less_and_a_far_one_not_at_all_with_the_logistic_loss(watched):
    page = watched.open("#tab=tours")
    page.click("[data-tour=loss]")
    for _ in range(3):
        watched.settled()
        page.locator("#tours button", has_text="Next").click()
    watched.settled()
    points = page.evaluate("mercerLab.state.edited")

    def angle(loss, first):
        x, y = [*([first] if first else []), *points["x"][1:]], points["y"][0 if first else 1 :]
        page.evaluate("(patch) => { mercerLab.change(patch); }", {"loss": loss, "edited": {"x": x, "y": y}})
        watched.settled()
        at, f = (np.array(page.evaluate(f"mercerLab.{name}")) for name in ("layout.at", "fit.decision"))
        w = np.linalg.lstsq(np.column_stack([at, np.ones(len(at))]), f, rcond=None)[0]
        return np.degrees(np.arctan2(w[1], w[0]))

    wrong, far = (
        {loss: abs(angle(loss, place) - angle(loss, None)) for loss in ("squared", "logistic")}
        for place in (points["x"][0], [4.5, 2.0])
    )
    assert wrong["squared"] > 1.5 * wrong["logistic"]
    assert far["squared"] > 5.0
    assert far["logistic"] < 1.0


@pytest.mark.parametrize(("problem", "loss"), [("sinusoid", "huber"), ("sinusoid", "quantile"), ("moons", "logistic")])
def test_the_ends_of_the_alpha_slider_have_a_picture_with_each_loss(watched, problem, loss):
    page = watched.open(f"#problem={problem}&loss={loss}")
    for end in (-8, 3):
        slide(page, "alpha", end)
        watched.settled()
        assert page.evaluate("document.querySelector('#stage.stale')") is None
        assert page.inner_text("#kernel-error") in ("", "Newton's method has not converged. Use a larger alpha.")
        assert np.isfinite(page.evaluate("mercerLab.fit.curve")).all()


def test_a_wrong_kernel_is_said_beside_its_field_and_the_picture_stays(watched):
    page = watched.open()
    before = numbers(page)
    page.fill("#kernel", "Gausian(width=1")
    watched.until("document.getElementById('kernel-error').textContent !== ''")
    assert len(page.inner_text("#kernel-error")) < 250
    assert numbers(page) == before
    page.fill("#kernel", "sigmoid(scale=2)")
    watched.until("document.getElementById('kernel-error').textContent === ''")
    watched.until("document.getElementById('certificate').textContent.startsWith('Not a Mercer kernel')")
    page.click("#certificate")
    assert page.inner_text("#because").startswith("not valid: Sigmoid")


def test_a_table_is_dropped_and_its_columns_chosen(watched, tmp_path):
    path = tmp_path / "flats <b>.csv"
    path.write_text(CSV)
    page = watched.open()
    page.evaluate(
        "(text) => { const data = new DataTransfer(); data.items.add(new File([text], 'flats <b>.csv'));"
        " window.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true})); }",
        CSV,
    )
    page.wait_for_selector("#table-controls:not([hidden])")
    watched.settled()
    assert "A random sample of 300 of 350 rows" in page.inner_text("#notes")
    assert page.locator("#problem option", has_text="flats <b>.csv").count() == 1
    page.select_option("#axis-2", "")
    watched.settled()
    page.check("#others")
    watched.settled()
    assert len(page.evaluate("mercerLab.data.points.x[0]")) == 3
    assert np.allclose(numbers(page), expected(page), rtol=1e-9)
    page.set_input_files("#file", {"name": "bad.csv", "mimeType": "text/csv", "buffer": b"a,b\nx,y\n"})
    watched.until("document.getElementById('data-error').textContent !== ''")
    assert page.inner_text("#data-error").startswith("bad.csv has too few columns")


def test_a_search_runs_is_stopped_and_used(watched):
    page = watched.open("#tab=select&problem=sinusoid&n=300&noise=0.3&seed=1")
    page.click("#run")
    watched.until("document.getElementById('progress-words').textContent.includes('of')")
    page.click("#stop")
    watched.until("document.getElementById('progress-words').textContent === 'stopped'")
    assert page.is_hidden("#found")
    slide(page, "n", 40)
    watched.settled()
    page.click("#run")
    page.wait_for_selector("#found:not([hidden])", timeout=60_000)
    page.click("#use")
    watched.settled()
    points = page.evaluate("mercerLab.data.points")
    kernels = [parse(each) for each in page.evaluate("mercerLab.select.result.kernels")]
    alphas = page.evaluate("mercerLab.select.result.alphas")
    found = KernelRidgeCV(kernels, alphas, fit_intercept=True).fit(np.array(points["x"]), np.array(points["y"]))
    assert parse(page.input_value("#kernel")).width == pytest.approx(found.best_kernel_.width, rel=1e-4)
    assert page.evaluate("mercerLab.state.alpha") == pytest.approx(found.alpha_)
    assert float(page.get_attribute("#found-numbers", "data-best")) == pytest.approx(np.sqrt(-found.best_score_))
    with page.expect_download() as report:
        page.click("#take-report")
    assert report.value.suggested_filename == "report.html"


def test_exports_are_files_that_work(watched, tmp_path):
    page = watched.open()
    for button, name, start in (
        ("#take-svg", "mercer.svg", b"<svg"), ("#take-png", "mercer.png", b"\x89PNG"),
        ("#take-python", "model.py", b"import"), ("#take-model", "model.mercer", b""),
    ):  # fmt: skip
        with page.expect_download() as download:
            page.click(button)
        path = tmp_path / name
        download.value.save_as(path)
        assert download.value.suggested_filename == name
        assert path.read_bytes().startswith(start)
    state = page.evaluate("({x: mercerLab.layout.at, curve: mercerLab.fit.curve})")
    assert np.allclose(load(tmp_path / "model.mercer").predict(np.array(state["x"])), state["curve"], rtol=1e-12)


@pytest.mark.parametrize("width", [1200, 390])
def test_every_tour_and_problem_is_shown_whole(watched, width):
    page = watched.open()
    page.set_viewport_size({"width": width, "height": 844})
    for problem in page.evaluate("[...document.querySelectorAll('#problem option')].map((each) => each.value)"):
        page.select_option("#problem", problem)
        watched.settled()
        assert page.inner_text("#kernel-error") == ""
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.click("#tab-tours")
    for tour in page.evaluate("[...document.querySelectorAll('[data-tour]')].map((each) => each.dataset.tour)"):
        page.click(f"[data-tour={tour}]")
        watched.settled()
        while True:
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert re.match(r"Step \d of \d", page.inner_text("#tours .hint"))
            assert page.inner_text("#kernel-error") == ""
            following = page.locator("#tours button", has_text="Next")
            if following.is_disabled():
                break
            following.click()
            watched.settled()
        page.click("[data-list]")
        watched.settled()


def test_the_tours_with_chance_show_their_numbers(watched):
    page = watched.open("#tab=tours&tour=variance.0&problem=sinusoid")
    page.click("#draw-many")
    watched.until("document.getElementById('drawn-words').textContent.startsWith('Bias')")
    assert page.locator("#plot .thin").count() == 20
    page = watched.open("#tab=tours&tour=nested.1&problem=nothing&n=20")
    page.click("#repeat-search")
    watched.until("document.getElementById('selection-list').textContent.startsWith('After 8')", 60)


HOSTILE = [
    "#problem=<img src=x onerror=alert(1)>&kernel=<script>alert(1)</script>&alpha=NaN&n=-5&seed=1e99",
    "#tab=evil&tour=__proto__.9&table=%7B%22key%22%3A%22x%22%2C%22axes%22%3A%5B%5D%7D&problem=table",
    "#points=1_2~x_y&problem=sinusoid",
    "#problem=greetings&points=%3Cb%3E_1~c_2~d_3",
    "#problem=toString&tour=toString.1&tab=tours",
    "#problem=greetings&points=a%25_1~b_2~c_3",
    "#problem=sinusoid&points=1_2_3~1_2_3~1_2_3",
    "#problem=moons&points=1_2_7~1_2_1~1_2_-1",
    "#problem=moons&loss=huber",
    "#problem=sinusoid&loss=toString",
]


def test_addresses_that_are_broken_or_hostile_do_no_harm(watched):
    page = watched.open()
    page.on("dialog", lambda dialog: watched.wrong.append(dialog.message))
    for address in HOSTILE:
        page.evaluate("(hash) => { location.hash = hash; }", address)
        page.wait_for_timeout(400)
        watched.settled()
        assert page.locator("#plot svg").count() == 1, address
        assert page.locator("#plot img, #plot script, #plot b").count() == 0, address


def test_a_picture_follows_a_slider_at_once(watched):
    page = watched.open("#problem=sinusoid&n=300&noise=0.3&seed=1")
    watched.settled()
    before = int(page.evaluate("document.documentElement.dataset.drawn"))
    for step in range(30):
        slide(page, "alpha", -3 + step / 10)
    watched.settled()
    drawn = int(page.evaluate("document.documentElement.dataset.drawn")) - before
    assert 1 <= drawn <= 31  # moves that come faster than answers are skipped, and the last one is shown
    assert np.allclose(numbers(page), expected(page), rtol=1e-9)


@pytest.mark.parametrize("problem", ["sinusoid", "co2", "banana"])
def test_the_ends_of_the_alpha_slider_have_a_picture(watched, problem):
    page = watched.open(f"#problem={problem}")
    for end in (-8, 3):
        slide(page, "alpha", end)
        watched.settled()
        assert page.inner_text("#kernel-error") == ""
        assert page.evaluate("document.querySelector('#stage.stale')") is None
        assert np.isfinite(numbers(page)).all()


def test_a_point_dragged_to_the_edge_stays_in_the_plot(watched):
    page = watched.open("#problem=sinusoid&n=20&noise=0.2&seed=5")
    page.locator("#plot").scroll_into_view_if_needed()
    box, whole = page.locator("#plot [data-row='7']").bounding_box(), page.locator("#plot").bounding_box()
    page.mouse.move(box["x"] + 4, box["y"] + 4)
    page.mouse.down()
    for step in range(30):
        page.mouse.move(box["x"] + step % 3, whole["y"] + 5 + step % 2)
        page.wait_for_timeout(20)
    page.mouse.up()
    watched.settled()
    assert page.evaluate("Math.max(...mercerLab.data.points.y)") < 3


def test_points_are_removed_by_keys_until_three_are_left(watched):
    page = watched.open("#problem=sinusoid&n=8&noise=0.2&seed=5")
    page.focus("#plot")
    page.keyboard.press("ArrowRight")
    for _ in range(10):
        page.keyboard.press("Delete")
        watched.settled()
    assert page.evaluate("mercerLab.data.points.y.length") == 3
    assert page.inner_text("#said") == "Three points at least stay."


def test_what_fails_is_dimmed_and_said_beside_its_control(watched):
    page = watched.open("#problem=sinusoid&n=20")
    page.fill("#kernel", "Words()")
    watched.until("document.querySelector('#stage.stale') !== null")
    assert page.inner_text("#kernel-error") == "These points are numbers: choose a kernel on numbers."
    page.fill("#kernel", "Linear()")
    watched.until("document.querySelector('#stage.stale') === null")
    page.fill("#kernel", "Gaussian(wid")
    watched.until("document.getElementById('kernel').getAttribute('aria-invalid') === 'true'")
    slide(page, "alpha", 1)
    watched.settled()
    assert page.input_value("#kernel") == "Gaussian(wid"  # an unfinished text stays
    assert page.inner_text("#certificate") == ""


def test_a_table_keeps_its_controls_on_reload(watched):
    page = watched.open()
    page.set_input_files("#file", {"name": "flats.csv", "mimeType": "text/csv", "buffer": CSV.encode()})
    page.wait_for_selector("#table-controls:not([hidden])")
    watched.settled()
    page.select_option("#target", "age")
    watched.settled()
    page.wait_for_timeout(300)
    page.reload()
    watched.until("document.documentElement.dataset.panels !== undefined")
    watched.settled()
    assert page.input_value("#target") == "age"
    assert page.locator("#target option").count() == 4
    page.select_option("#axis-1", "age")  # the target itself
    watched.settled()
    assert page.inner_text("#data-error") == "Choose different columns."
    assert page.input_value("#axis-1") == "area"


def test_tabs_are_reached_by_keys(watched):
    page = watched.open()
    page.focus("#tab-play")
    for key, tab in (
        ("ArrowRight", "select"),
        ("End", "tours"),
        ("ArrowRight", "play"),
        ("ArrowLeft", "tours"),
        ("Home", "play"),
    ):
        page.keyboard.press(key)
        watched.settled()
        assert page.evaluate("document.activeElement.id") == f"tab-{tab}"
        assert page.get_attribute(f"#tab-{tab}", "aria-selected") == "true"
        assert page.locator("[role=tab][tabindex='0']").count() == 1
