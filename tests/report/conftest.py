"""Reports that several tests look at, each made once."""

import pytest
from report_tables import DOLLARS, HOSTILE, classes, houses

import mercer
from mercer import TableEncoder
from mercer.errors import EdgeOfGridWarning
from mercer.estimators.table_model import TableModel
from mercer.report.evaluation import ModelEvaluation
from mercer.report.facts import Origin
from mercer.report.rendering import page
from mercer.report.subject import Subject
from remembered import fitted


@pytest.fixture(scope="session")
def searched():
    """A search over a table with hostile names, as the command line keeps it."""
    table, y = houses()
    encoder = TableEncoder().fit(table)
    search = mercer.KernelRidgeCV("gaussian", [0.01, 0.1, 1.0], cv=4, random_state=0, fit_intercept=True)
    with pytest.warns(EdgeOfGridWarning):  # the report says it, too
        search.fit(encoder.transform(table), y)
    return TableModel(search, encoder, "price (EUR)", "", ("house",)), table, y


@pytest.fixture(scope="session")
def search_facts(searched):
    model, table, y = searched
    origin = Origin("houses.csv", command="mercer fit houses.csv --target price", notes=("Numbers have commas.",))
    return ModelEvaluation(Subject(model, table, y, target=""), None, origin)


@pytest.fixture(scope="session")
def auto():
    """An automatic regression of few rows with its outer loop."""
    table, y = houses(45)
    del table[DOLLARS], table[HOSTILE]
    model = fitted(mercer.AutoRegressor(), table, y)
    return model, table, y, model.evaluate(table, y, cv=3)


@pytest.fixture(scope="session")
def auto_facts(auto):
    model, table, y, evaluation = auto
    return ModelEvaluation(Subject(model, table, y, target="price"), evaluation, Origin())


@pytest.fixture(scope="session")
def labelled():
    """Three labels, one of them hostile."""
    table, y = classes()
    model = fitted(mercer.AutoClassifier(), table, y)
    return model, table, y


@pytest.fixture(scope="session")
def label_facts(labelled):
    model, table, y = labelled
    return ModelEvaluation(Subject(model, table, y, target="class"), None, Origin())


@pytest.fixture(scope="session")
def pages(search_facts, auto_facts, label_facts):
    """The three as HTML."""
    return {"search": page(search_facts), "auto": page(auto_facts), "labels": page(label_facts)}
