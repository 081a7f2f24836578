"""The page as a file: alone, small, in order, escaped, and readable without eyes."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from report_outcomes import predicting
from report_tables import DOLLARS, HOSTILE, LABEL

import mercer
from mercer.errors import InputError, ModelFileError
from mercer.report import Origin, write_report
from mercer.report.evaluation import ModelEvaluation
from mercer.report.judging import held_out_of
from mercer.report.rendering import _against, as_svg, page
from mercer.report.subject import Subject
from refusals import tells

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("report")]  # the reports are made once

KINDS = ("search", "auto", "labels")
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Reader(HTMLParser):
    """Elements in order, what is open around each, and its text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "attrs": dict(attrs), "inside": [each["tag"] for each in self.open], "text": ""}
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, *tags):
        return [element for element in self.elements if element["tag"] in tags]


@pytest.fixture(params=KINDS)
def text(request, pages):
    return pages[request.param]


@pytest.fixture
def read(text):
    reader = Reader(text)
    assert reader.open == []  # every element that begins ends
    return reader


def test_a_report_is_small_and_loads_nothing(text, read):
    assert len(text.encode()) < 1_000_000
    assert read.all("script", "iframe", "object", "embed", "img", "form", "base") == []
    for element in read.elements:
        for name in ("src", "href", "action", "data", "xlink:href"):
            assert element["attrs"].get(name, "#").startswith(("#", "data:"))
    policy = next(e["attrs"]["content"] for e in read.all("meta") if "http-equiv" in e["attrs"])
    assert policy.startswith("default-src 'none'; ")
    assert "@import" not in text
    assert re.findall(r"url\(([^)]*)\)", text) == [u for u in re.findall(r"url\(([^)]*)\)", text) if u[0] == "#"]


def test_identifiers_are_one_of_a_kind_and_every_link_leads_somewhere(read):
    names = [element["attrs"]["id"] for element in read.elements if "id" in element["attrs"]]
    assert len(names) == len(set(names))
    for element in read.elements:
        if element["attrs"].get("href", "").startswith("#"):
            assert element["attrs"]["href"][1:] in names
        for named in element["attrs"].get("aria-labelledby", "").split():
            assert named in names
        for clipped in re.findall(r"#([\w-]+)", element["attrs"].get("clip-path", "")):
            assert clipped in names


def test_headings_descend_one_step_at_a_time(read):
    levels = [int(element["tag"][1]) for element in read.all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_sections_come_in_the_order_of_what_people_ask(read):
    places = [element["attrs"].get("id") for element in read.all("section")]
    sure = "probabilities" if "probabilities" in places else "intervals"
    assert places == [
        "summary",
        "data",
        "choice",
        "error",
        "held-out",
        sure,
        "influence",
        "worries",
        "details",
        "again",
    ]


def test_pictures_have_titles_and_tables_have_scopes(read):
    drawings = read.all("svg")
    assert len(drawings) >= 5
    for element in drawings:
        assert element["attrs"]["role"] == "img"
        assert "figure" in element["inside"]
    titles = [e["text"] for e in read.all("title") if "svg" in e["inside"]]
    assert len(titles) == len(set(titles)) == len(drawings)
    assert len([e for e in read.all("desc") if len(e["text"]) > 20]) == len(drawings)
    assert len(read.all("figcaption")) == len(drawings)
    assert all("scope" in element["attrs"] for element in read.all("th"))
    assert len(read.all("caption")) == len(read.all("table"))


def test_names_from_outside_are_text_and_nothing_else(pages):
    assert HOSTILE not in pages["search"]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in pages["search"]
    assert any(e["text"] == DOLLARS for e in Reader(pages["search"]).all("text"))
    assert LABEL not in pages["labels"]
    assert any(e["text"] == LABEL for e in Reader(pages["labels"]).all("bdi"))


def test_colours_are_the_page_s_to_set(text):
    drawn = "".join(re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL))
    assert "var(--blue)" in drawn
    assert "currentColor" in drawn
    for fixed in ("#0072b2", "#000000", "#ffffff", "#d55e00", "#999999"):
        assert fixed not in drawn.lower()


def test_two_reports_of_the_same_facts_are_the_same(auto_facts, pages):
    assert page(auto_facts) == pages["auto"]


def test_names_that_no_line_can_hold_do_no_harm(tmp_path):
    rng = np.random.default_rng(0)
    names = [
        "a\x00b\x1bc",
        "net\nprice",
        "長い名前 🏠",
        "\u202egnp.exe",
        "x" * 300,
        "{{ 7 * 7 }}",
        "$\\frac{$",
        "]]>",
        "-->",
    ]
    X = {name: rng.normal(size=30) for name in names}
    y = X["net\nprice"] + 0.1 * rng.normal(size=30)
    encoder = mercer.TableEncoder().fit(X)
    search = mercer.KernelRidgeCV(mercer.kernels.Linear(), [0.1], cv=5, random_state=0).fit(encoder.transform(X), y)
    model = mercer.estimators.table_model.TableModel(search, encoder, "<i>$y$\x07</i>")
    write_report(model, X, y, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    reader = Reader(text)
    assert "{{ 7 * 7 }}" in text
    assert "<i>" not in text
    assert not set(text) & {"\x00", "\x1b", "\x07", "\u202e"}
    assert "x" * 61 not in text
    assert any("$\\frac{$" in element["text"] for element in reader.all("text"))


def test_a_thousand_points_stay_small(search_facts):
    y = np.random.default_rng(1).normal(size=2000)
    figure, text = _against(search_facts, held_out_of(y, predicting(0.5 * y)), "observed")
    assert len(as_svg(figure, "points", "Predicted and observed", text)) < 150_000
    assert text.endswith("1500 of 2000 rows are shown.")


# -- the Python door ------------------------------------------------------------------------------


def test_a_report_is_written_whole_or_not_at_all(searched, tmp_path, monkeypatch):
    model, table, y = searched
    monkeypatch.setattr("mercer.report.ModelEvaluation", lambda *_: None)
    monkeypatch.setattr("mercer.report.rendering.page", lambda _: "<!doctype html>")
    with pytest.raises(ModelFileError) as caught:
        write_report(model, table, y, tmp_path)
    assert tells(str(caught.value), f"The report {tmp_path}", "it is a directory")
    (tmp_path / "r.html").write_text("before")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(ModelFileError, match=r"The report .*r\.html cannot be written: no space left on device\."):
        write_report(model, table, y, tmp_path / "r.html")
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
    assert (tmp_path / "r.html").read_text() == "before"


def test_a_path_that_is_none_is_refused_before_the_work(searched):
    with pytest.raises(InputError, match=r"The path of a report.* got 3"):
        write_report(*searched, 3)


def test_a_frame_is_a_table_too():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"width": rng.normal(size=40), "height": rng.normal(size=40)})
    y = frame["width"] * 2 + 0.1 * rng.normal(size=40)
    kernel = mercer.kernels.Linear().on("width") + mercer.kernels.Linear().on("height")
    search = mercer.KernelRidgeCV(kernel, [0.1], cv=4, random_state=0).fit(frame, y)
    kept = frame.copy()
    facts = ModelEvaluation(Subject(search, frame, y, target="area", weights=np.ones(40)), None, Origin())
    assert facts.influence[0].name == "width"
    pandas.testing.assert_frame_equal(frame, kept)


def test_models_that_were_loaded_have_reports(searched, search_facts, label_facts, labelled, tmp_path):
    mercer.save(searched[0], tmp_path / "search.mercer")
    loaded = Subject(mercer.load(tmp_path / "search.mercer"), *searched[1:], target="")
    facts = ModelEvaluation(loaded, None, Origin())
    assert (facts.choice.search, facts.choice.best) == (None, ())  # a file does not keep the scores of all candidates
    assert facts.choice.kernel == search_facts.choice.kernel
    assert facts.outcome.error == search_facts.outcome.error
    mercer.save(labelled[0], tmp_path / "labels.mercer")
    loaded = Subject(mercer.load(tmp_path / "labels.mercer"), *labelled[1:], target="class")
    again = ModelEvaluation(loaded, None, Origin())
    assert again.labels.matrix.tolist() == label_facts.labels.matrix.tolist()
    assert again.outcome.error == label_facts.outcome.error


def test_columns_that_do_not_vary_leave_a_report_of_the_mean(tmp_path):
    y = np.random.default_rng(0).normal(size=20)
    model = mercer.AutoRegressor(committee=False).fit(np.ones((20, 2)), y)
    write_report(model, np.ones((20, 2)), y, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "This model predicts y, a number, from 0 columns." in text
    assert "No column is used." in text
    assert "The model is not shown to be better than the baseline" in text


def test_average_effects_and_single_rows_have_their_tables(search_facts, auto_facts, label_facts, pages):
    assert label_facts.averages is None  # three labels
    assert label_facts.single_rows is None
    assert "Average effects" not in pages["labels"]
    for facts, text in ((search_facts, pages["search"]), (auto_facts, pages["auto"])):
        reader = Reader(text)
        tables = {element["text"].split("\n")[0]: element for element in reader.all("caption")}
        assert "Average effects with 95 % confidence intervals" in tables
        assert len(facts.averages.names) >= len({change.partition(":")[0] for change in facts.averages.names}) > 1
        shown = [element["text"] for element in reader.all("tr")]
        first = int(facts.single_rows.order[0])
        assert any(line.startswith(str(first + 1)) and f"{facts.subject.y[first]:g}"[:4] in line for line in shown)
