"""Searches in the order of their folds: scores, predictions in the rows' own order, checkpoints and interruptions."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold, ShuffleSplit

from mercer.data.folds import draw
from mercer.data.rows import Rows
from mercer.errors import InputError
from mercer.kernels import Gaussian, Linear, Polynomial, Precomputed
from mercer.selection.scoring import resolve_scoring
from mercer.selection.search import Search
from mercer.solvers.problem import Problem
from refits import all_held_out, by_repeat, held_out

KERNELS, ALPHAS = [Gaussian(0.5), Gaussian(2.0), Linear()], np.array([0.01, 1.0])


SHUFFLED = KFold(4, shuffle=True, random_state=0)


def search_of(rng, cv=SHUFFLED, n=22, t=2, scoring=None, gram=False, **how):
    X, Y = rng.normal(size=(n, 2)), rng.normal(size=(n, t))
    rows = Rows(Gaussian()(X) if gram else X)
    problem = Problem(Y, how.pop("weights", None), how.pop("intercept", False), gram=gram)
    repeats = how.pop("repeats", 1)
    folds = draw(cv, X, Y, repeats=repeats, random_state=0 if isinstance(cv, int) else None)
    return Search(rows, Y, problem, folds, resolve_scoring(scoring, classifier=False), **how)


def run(search, **how):
    return search.run(KERNELS, ALPHAS, search.plan(KERNELS, ALPHAS), **how)


@pytest.mark.parametrize(
    "cv", [None, 4, KFold(5, shuffle=True, random_state=3), ShuffleSplit(4, random_state=0)], ids=str
)
def test_scores_are_those_of_refits_in_the_rows_own_order(cv, rng):
    search = search_of(rng, cv, weights=rng.uniform(0.5, 2.0, 22), intercept=True)
    table = run(search)
    X, problem = search.rows.values, search.problem
    for k, kernel in enumerate(KERNELS):
        for a, alpha in enumerate(ALPHAS):
            for s, split in enumerate(search.folds.splits):
                values = held_out(kernel(X), problem.Y, alpha, split.train, split.test, problem.weights, True)
                expected = -np.mean((values - problem.Y[split.test]) ** 2)
                np.testing.assert_allclose(table.scores[k, a, s, 0], expected, rtol=1e-9)


@pytest.mark.parametrize("gram", [False, True])
def test_predictions_stand_in_the_rows_own_order(gram, rng):
    search = search_of(rng, 4, repeats=3, gram=gram)
    kernel = Precomputed() if gram else KERNELS[0]
    K = search.rows.values if gram else kernel(search.rows.values)
    values, worst = search.values(kernel, [0.1, 0.1], search.plan([kernel], np.array([0.1])))
    found = search.by_repeat(values)
    expected = by_repeat(all_held_out(K, search.problem.Y, 0.1, search.folds.splits), search.folds, 22)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert worst == pytest.approx(np.linalg.cond(K + 0.1 * np.eye(22)), rel=0.5)


def test_every_target_may_have_an_alpha_of_its_own(rng):
    search = search_of(rng)
    route = search.plan(KERNELS[:1], ALPHAS)
    both, _ = search.values(KERNELS[0], [0.01, 1.0], route)
    for t, alpha in enumerate((0.01, 1.0)):
        np.testing.assert_array_equal(both[:, t], search.values(KERNELS[0], [alpha, alpha], route)[0][:, t])


def test_rows_tested_twice_get_the_mean_and_rows_never_tested_get_nothing(rng):
    search = search_of(rng, [(np.arange(10), [10, 11]), (np.arange(5), [11, 12])], t=1)
    values, _ = search.values(Linear(), [1.0], search.plan([Linear()], np.array([1.0])))
    found = search.by_repeat(values)[0, :, 0]
    K, Y = Linear()(search.rows.values), search.problem.Y
    first, second = (
        held_out(K, Y, 1.0, np.arange(10), [10, 11])[:, 0],
        held_out(K, Y, 1.0, np.arange(5), [11, 12])[:, 0],
    )
    np.testing.assert_allclose(found[10:13], [first[0], (first[1] + second[0]) / 2, second[1]])
    assert np.isnan(np.delete(found, [10, 11, 12])).all()


def test_pooled_scores_take_all_held_out_predictions_of_a_repeat_together(rng):
    search = search_of(rng, 4, repeats=2, scoring="r2", t=1)
    table = run(search)
    from sklearn.metrics import r2_score

    values = all_held_out(KERNELS[1](search.rows.values), search.problem.Y, ALPHAS[0], search.folds.splits)
    repeats = by_repeat(values, search.folds, 22)
    expected = np.mean([r2_score(search.problem.Y, repeat) for repeat in repeats])
    np.testing.assert_allclose(table.pooled[1, 0, 0], expected)


def test_r2_of_folds_with_one_row_is_pooled(rng):
    search = search_of(rng, None, scoring="r2", t=1)
    table = run(search)
    assert table.scores.shape == (3, 2, 1, 1)
    np.testing.assert_array_equal(table.scores[:, :, 0], table.pooled)


def test_explicit_features_are_counted_only_where_they_can_be_used(rng):
    X, Y, weights = rng.normal(size=(6, 2)), rng.normal(size=(6, 1)), np.array([1.0, 0, 1, 1, 1, 1])
    folds, scoring = draw(3, X, Y), resolve_scoring(None, classifier=False)

    def features(kernels, X=X, weights=None):
        search = Search(Rows(X), Y, Problem(Y, weights, False), folds, scoring)
        return search.plan(kernels, ALPHAS).work.features

    assert features([Linear(), Polynomial(2)]) == 6
    assert features([Linear(), Gaussian()]) is None
    assert features([Linear()], X=sparse.csr_matrix(X)) is None
    assert features([Linear()], weights=weights) is None


# -- long work ----------------------------------------------------------------------------------------


class Killed(Exception):
    pass


class Fuse:
    """Stands for a kernel's feature map and fails after so many calls."""

    def __init__(self, calls, error):
        self.left, self.error = calls, error

    def __call__(self, values):
        self.left -= 1
        if self.left < 0:
            raise self.error
        return np.tanh(values)


def broken(kernels, error, after):
    """The same kernels, the last of which raise when they are first evaluated."""
    fuse = Fuse(0, error)
    return [*kernels[:after], *(kernel.map(fuse) for kernel in kernels[after:])]


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_killed_search_resumes_bit_for_bit(after, tmp_path, rng, monkeypatch):
    search = search_of(rng, 4)
    whole = run(search)
    path = tmp_path / "search"
    from mercer.selection import search as module

    made, real = [], module.Candidate

    def fragile(kernel, *rest, **how):
        if len(made) == after:
            raise Killed
        made.append(kernel)
        return real(kernel, *rest, **how)

    monkeypatch.setattr(module, "Candidate", fragile)
    with pytest.raises(Killed):
        run(search, checkpoint=path)
    assert path.exists() == (after > 0)
    made.clear()
    resumed = []

    def noting(kernel, *rest, **how):
        resumed.append(kernel)
        return real(kernel, *rest, **how)

    monkeypatch.setattr(module, "Candidate", noting)
    again = run(search, checkpoint=path)
    assert resumed == KERNELS[after:]
    for name in ("scores", "pooled", "condition", "refits"):
        assert getattr(again, name).tobytes() == getattr(whole, name).tobytes(), name
    resumed.clear()
    third = run(search, checkpoint=path)
    assert resumed == []
    assert third.scores.tobytes() == whole.scores.tobytes()
    assert [entry.name for entry in tmp_path.iterdir()] == ["search"]


def test_an_interrupted_search_keeps_what_was_finished(rng):
    search = search_of(rng, 4)
    whole = run(search)
    kernels = broken(KERNELS, KeyboardInterrupt(), after=2)
    with pytest.raises(KeyboardInterrupt) as stopped:
        search.run(kernels, ALPHAS, search.plan(KERNELS, np.ones(20)))
    table = stopped.value.table
    np.testing.assert_allclose(table.scores[:2], whole.scores[:2], rtol=1e-9)
    assert np.isnan(table.scores[2]).all()
    assert "what was finished is in the search's cv_results_" in stopped.value.__notes__[0]


def test_a_checkpoint_of_anything_else_is_refused(tmp_path, rng):
    path = tmp_path / "search"
    search = search_of(rng, 4)
    route = search.plan(KERNELS, ALPHAS)
    search.run(KERNELS, ALPHAS, route, checkpoint=path)
    others = {
        "y": Search(search.rows, search.y + 1, search.problem, search.folds, search.scoring),
        "weights": Search(
            search.rows, search.y, Problem(search.problem.Y, np.ones(22), False), search.folds, search.scoring
        ),
        "intercept": Search(search.rows, search.y, Problem(search.problem.Y, None, True), search.folds, search.scoring),
        "folds": Search(search.rows, search.y, search.problem, draw(3, search.y, search.y), search.scoring),
        "scoring": Search(search.rows, search.y, search.problem, search.folds, resolve_scoring("r2", classifier=False)),
        "targets": Search(search.rows, search.y, search.problem, search.folds, search.scoring, per_target=True),
        "X": Search(Rows(search.rows.values * 2), search.y, search.problem, search.folds, search.scoring),
    }
    for other in others.values():
        with pytest.raises(InputError, match="belongs to other data or settings"):
            other.run(KERNELS, ALPHAS, route, checkpoint=path)
    for kernels, alphas in ((KERNELS[::-1], ALPHAS), (KERNELS, ALPHAS * 2), (KERNELS[:2], ALPHAS)):
        with pytest.raises(InputError, match="belongs to other data or settings"):
            search.run(kernels, alphas, route, checkpoint=path)


def test_a_loss_without_a_name_is_refused_with_a_checkpoint(tmp_path, rng):
    """Two of them would both be called <lambda>; a checkpoint of one must not be taken for the other's."""
    base = search_of(rng, 4)
    scoring = resolve_scoring(lambda y, p: np.abs(y - p).mean(), classifier=False)
    search = Search(base.rows, base.y, base.problem, base.folds, scoring)
    with pytest.raises(
        InputError, match=(r"checkpoint= needs functions that can be identified in the next run; <lambda> cannot\.")
    ):
        run(search, checkpoint=tmp_path / "search")
    assert not (tmp_path / "search").exists()


def test_columns_of_other_names_are_other_data(tmp_path, rng):
    path, base = tmp_path / "search", search_of(rng, 4)
    kernels = [Gaussian().on("a")]

    def named(*names):
        return Search(Rows(base.rows.values, names), base.y, base.problem, base.folds, base.scoring)

    route = named("a", "b").plan(kernels, ALPHAS)
    named("a", "b").run(kernels, ALPHAS, route, checkpoint=path)
    expected = named("b", "a").run(kernels, ALPHAS, route)
    try:
        found = named("b", "a").run(kernels, ALPHAS, route, checkpoint=path)
    except InputError as refused:
        assert "belongs to other data or settings" in str(refused)  # noqa: PT017
    else:
        np.testing.assert_allclose(found.scores, expected.scores)


def test_a_checkpoint_that_cannot_be_written_is_refused_before_the_work(tmp_path, rng, monkeypatch):
    from mercer.selection import search as module

    def too_late(*args, **how):
        raise AssertionError("work was done before the file was tried")

    monkeypatch.setattr(module, "Candidate", too_late)
    with pytest.raises((InputError, OSError), match="missing"):
        run(search_of(rng, 4), checkpoint=tmp_path / "missing" / "search")


def test_small_predictions_of_the_winner_have_all_their_digits_although_its_rivals_need_errors_only(rng):
    """Rows far apart: leave-one-out predictions of a narrow kernel are of the size 1e-12."""
    X = np.arange(12.0)[:, None] + 0.01 * rng.normal(size=(12, 1))
    y = rng.normal(size=12)
    kernel, alphas = Gaussian(0.135), np.array([0.5, 1.0])
    folds, scoring = draw(None, X, y), resolve_scoring(None, classifier=False)
    search = Search(Rows(X), y, Problem(y[:, None], None, False), folds, scoring)
    plan = search.plan([kernel], alphas)
    table = search.run([kernel], alphas, plan)
    values, _ = search.values(kernel, [1.0], plan)
    expected = np.concatenate(all_held_out(kernel(X), y[:, None], 1.0, folds.splits)).reshape(-1, 1)
    assert np.abs(expected).max() < 1e-9
    np.testing.assert_allclose(values, expected, rtol=1e-6)
    np.testing.assert_allclose(table.scores[0, 1, :, 0], -((y - expected[:, 0]) ** 2), rtol=1e-12)


@pytest.mark.parametrize("outlier", [1e4, 1e9, 1e13])
def test_scores_beside_a_huge_target_are_those_of_the_predictions(outlier, rng):
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    y[0] = outlier
    scoring = resolve_scoring("neg_mean_absolute_error", classifier=False)
    search = Search(Rows(X), y, Problem(y[:, None], None, False), draw(None, X, y), scoring)
    alphas = np.logspace(-6, 2, 30)
    plan = search.plan([Gaussian(0.1)], alphas)
    table = search.run([Gaussian(0.1)], alphas, plan)
    for a in (10, 20, 29):
        values, _ = search.values(Gaussian(0.1), [float(alphas[a])], plan)
        np.testing.assert_allclose(table.scores[0, a, :, 0], -np.abs(y - values[:, 0]), rtol=1e-6)
