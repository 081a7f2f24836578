"""What is taken from the page: model files, lines of Python, reports, and the static edition."""

import re

import numpy as np
import pytest

import mercer
from mercer.cli.commands import cli
from mercer.errors import InputError
from mercer.lab.files import MODULES, bundle_modules, export, page_text, write_static
from mercer.lab.jobs import Jobs
from refusals import refusal, tells

X = np.linspace(0.0, 6.0, 25)[:, None]
Y = np.sin(X[:, 0])


def question(**more):
    points = {"x": X.tolist(), "y": Y.tolist()}
    return {"points": points, "kernel": "Gaussian(width=1.5)", "alpha": 0.1, "intercept": True} | more


def test_the_model_file_predicts_as_the_page_shows(tmp_path):
    path = tmp_path / "model.mercer"
    path.write_bytes(export("model", question(), None))
    model = mercer.KernelRidge(0.1, kernel=mercer.kernels.Gaussian(1.5), fit_intercept=True).fit(X, Y)
    assert np.array_equal(mercer.load(path).predict(X), model.predict(X))


@pytest.mark.parametrize("labels", [False, True])
def test_the_lines_of_python_make_the_same_model(labels, capsys):
    y = np.where(Y > 0, 1.0, -1.0) if labels else Y
    text = export("python", question(points={"x": X.tolist(), "y": y.tolist(), "labels": labels}), None).decode()
    space = {}
    exec(text, space)  # noqa: S102 - what a person would run
    kind = mercer.KernelRidgeClassifier if labels else mercer.KernelRidge
    model = kind(0.1, kernel=mercer.kernels.Gaussian(1.5), fit_intercept=True).fit(X, y)
    assert np.array_equal(space["model"].predict(X), model.predict(X))
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("loss", "model"),
    [
        ("huber", mercer.KernelRegressor(0.1, loss="huber", fit_intercept=True)),
        ("quantile", mercer.KernelRegressor(0.1, loss="quantile", quantiles=(0.05, 0.5, 0.95), fit_intercept=True)),
        ("logistic", mercer.KernelLogistic(0.1, fit_intercept=True)),
    ],
)
def test_the_lines_of_python_have_the_loss(loss, model):
    labels = loss == "logistic"
    y = np.where(Y > 0, 1.0, -1.0) if labels else Y
    asked = question(points={"x": X.tolist(), "y": y.tolist(), "labels": labels}, loss=loss)
    space = {}
    exec(export("python", asked, None).decode(), space)  # noqa: S102 - what a person would run
    model.set_params(kernel=mercer.kernels.Gaussian(1.5)).fit(X, y)
    assert np.array_equal(space["model"].predict(X), model.predict(X))


def test_reports_of_other_losses_are_refused_and_model_files_written(tmp_path):
    assert tells(refusal(export, "report", question(loss="huber"), None), "reports", "'huber'", "Python")
    (tmp_path / "huber.mercer").write_bytes(export("model", question(loss="huber"), None))
    assert mercer.load(tmp_path / "huber.mercer").loss == "huber"


def test_words_have_lines_too():
    asked = question(points={"x": ["hello", "hallo"], "y": [1, -1]}, kernel="Spectrum(length=2)", intercept=False)
    space = {}
    exec(export("python", asked, None).decode(), space)  # noqa: S102 - what a person would run
    assert space["X"] == ["hello", "hallo"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
def test_a_report_needs_a_search_and_shows_its_error():
    with pytest.raises(InputError, match="Run the search first"):
        export("report", question(), None)
    jobs = Jobs()
    job = jobs.get(jobs.start(question()))
    job.thread.join(timeout=60)
    page = export("report", question(), job).decode()
    assert page.startswith("<!doctype html>")
    assert "Out-of-sample error" in page


def test_the_static_edition_is_three_files_and_replaces_nothing(tmp_path, capsys):
    folder = tmp_path / "course" / "lab"
    cli(["lab", "--export", str(folder)], standalone_mode=False)
    assert capsys.readouterr().out.startswith("Wrote index.html, style.css, lab.js to ")
    assert sorted(path.name for path in folder.iterdir()) == ["index.html", "lab.js", "style.css"]
    page = (folder / "index.html").read_text()
    assert 'data-edition="static"' in page
    assert 'src="lab.js"' in page
    with pytest.raises(InputError, match="must be a new or an empty folder"):
        write_static(folder)
    (tmp_path / "file").write_text("kept")
    with pytest.raises(InputError, match="must be a new or an empty folder"):
        write_static(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "kept"


def test_a_page_that_does_not_fit_on_the_disk_leaves_nothing(tmp_path):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    empty = tmp_path / "empty"
    empty.mkdir()
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, hard))  # as a disk that is full after the first files
        for folder in (tmp_path / "course" / "lab", empty):
            assert tells(refusal(write_static, folder), "page", "cannot be written")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]


def test_the_bundle_has_every_module_once_and_no_links_between_them():
    text = bundle_modules()
    assert not re.search(r"^\s*(import|export)\b", text, re.MULTILINE)
    names = re.findall(r"^(?:async )?(?:const|function|class) (\w+)", text, re.MULTILINE)
    assert len(names) == len(set(names))
    for name in MODULES:
        for other in re.findall(r'from "\./(\w+\.js)"', page_text(name)):
            assert other == "remote.js" or MODULES.index(other) < MODULES.index(name)


def test_a_table_and_the_static_edition_exclude_one_another(tmp_path):
    from mercer.cli.running import run_lab

    with pytest.raises(InputError, match="Remove TABLE or --export"):
        run_lab("a.csv", 0, browser=False, folder=str(tmp_path / "x"))
    with pytest.raises(InputError, match="There is no file"):
        run_lab(str(tmp_path / "a.csv"), 0, browser=False, folder=None)
