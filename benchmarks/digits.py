"""Drawn cases of every public claim of `digits`, each judged in 150 or 400 decimal digits from the raw rows.

What is claimed, and what it is held against. Errors are relative, in the 2-norm over rows, of the worst target; those
of predictions relative to the larger of predictions and targets, those of held-out decision values, of which the sign
counts, to themselves.

route_.digits of KernelRidge, KernelRidgeClassifier
    "Decimal digits of the solution": `dual_coef_`; `primal_coef_` of a linear kernel; predictions (decision values) at
    the training rows and five new ones together.
digits_ of KernelRidgeCV, KernelRidgeClassifierCV
    "Decimal digits to which the winner's scores can be trusted", in the summary "the winner's numbers": `best_score_`
    and `cv_predictions_`.
digits of cross_validate
    "Decimal digits to which the scores can be trusted": `scores`; `predictions` unless they are labels.
digits of nested_cross_validate
    "Decimal digits to which the winners' scores can be trusted": `scores`, `inner_scores`, and `predictions` unless
    they are labels, of the winners as they were chosen.
digits_ of NystroemRidgeCV, NystroemRidgeClassifierCV
    As for KernelRidgeCV: `best_score_`, on the winner's `landmarks_`.
condition_ of NystroemRidge, NystroemRidgeClassifier
    Their warning tells -log10(eps condition) digits (`digits_` is read where there is one): predictions (decision
    values) on `landmarks_`. Landmarks that were left out although they differ from the others must have been told of.

Beside, and not counted: predictions relative to themselves alone ("own size"). `tune`, `course` and the Auto classes
claim no digits. A share of right labels shows digits only where it is wrong; ties are not judged.

    python benchmarks/digits.py            1000 cases, or as many as a number says
    python benchmarks/digits.py case 67    one of them, in full
"""

import math
import sys
import time
import warnings
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

import mercer
from mercer.data.hashing import fold_of
from mercer.errors import MercerError
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.solvers.plan import digits_left

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from exact_ridge import ExactRidge, TooFewDigits, accuracies, true_digits

COUNT = 1000
SOLVERS = ("auto", "cholesky", "spectral", "primal", "cg")
KINDS = (
    *(f"KernelRidge {solver}" for solver in SOLVERS), "KernelRidgeClassifier",
    *(f"KernelRidgeCV {cv}" for cv in ("loo", "folds", "groups")),
    "KernelRidgeClassifierCV loo", "KernelRidgeClassifierCV folds", "cross_validate", "cross_validate labels",
    "nested_cross_validate", "nested_cross_validate labels",
    "NystroemRidge", "NystroemRidgeClassifier", "NystroemRidgeCV", "NystroemRidgeClassifierCV",
)  # fmt: skip
INPUTS = (
    "plain", "narrow", "wide", "offset X", "offset y", "scale X", "scale y", "duplicates", "near duplicates",
    "outlier", "constant column", "any alpha",
)  # fmt: skip


@dataclass(eq=False)
class Case:
    """Everything that one estimator is given."""

    number: int
    kind: str
    inputs: tuple[str, ...]
    X: Any
    y: Any
    new: Any
    weights: Any
    groups: Any
    kernels: list
    alphas: list
    intercept: bool
    per_target: bool
    landmarks: Any

    @property
    def labels(self):
        return self.y.dtype.kind == "i"

    @property
    def everything(self):
        return np.vstack([self.X, self.new])

    @property
    def splits(self):
        """Three disjoint folds that cover every row."""
        splitter = StratifiedKFold if self.labels else KFold
        return list(splitter(3, shuffle=True, random_state=self.number).split(self.X, self.y))

    def estimator(self, name, *args, **settings):
        """One of mercer's classes by the name of its regressor."""
        name = name.replace("Ridge", "RidgeClassifier") if self.labels else name
        return getattr(mercer, name)(*args, fit_intercept=self.intercept, **settings)

    def exact(self):
        classes = int(self.y.max()) + 1 if self.labels else 0
        Y = np.eye(classes)[self.y] if classes > 2 else self.y.reshape(len(self.y), -1)
        Y = np.where(Y > 0, 1.0, -1.0) if classes == 2 else Y
        return ExactRidge(self.X, Y, self.new, self.weights, intercept=self.intercept)


@dataclass
class Verdict:
    """What was claimed, what is true of each quantity, and by which route; no claim where the case was refused."""

    case: Case
    claimed: float | None
    true: dict = field(default_factory=dict)
    route: str = ""

    @property
    def gap(self):
        """How far the claim goes beyond the worst quantity; NaN where nothing contradicts or confirms it."""
        counted = [true for name, true in self.true.items() if name != "own size" and true < math.inf]
        return math.nan if self.claimed is None or not counted else self.claimed - min(counted)


def draw(number):
    """Case `number`, the same on every machine."""
    rng, kind = np.random.default_rng([13, number]), KINDS[number % len(KINDS)]
    inputs = tuple(str(each) for each in dict.fromkeys(rng.choice(INPUTS, 1 + (rng.random() < 0.35))))

    def power(low, high, of=None):
        exponent = rng.uniform(low, high)
        return 10.0**exponent if of is None or of in inputs else 1.0

    refits = kind.startswith(("KernelRidgeCV", "KernelRidgeClassifierCV", "cross", "nested"))
    n, d = int(rng.integers(8, 15) if refits else rng.integers(18, 31)), int(rng.integers(1, 4))
    X, part = rng.uniform(0.0, 3.0, size=(n + 5, d)), n // 3
    if "duplicates" in inputs or "near duplicates" in inputs:
        X[:part] = X[part : 2 * part] + ("near duplicates" in inputs) * power(-14, -3) * rng.normal(size=(part, d))
    signal = np.sin(2.0 * X @ rng.normal(size=(d, 2))) if rng.random() < 0.7 else X @ rng.normal(size=(d, 2))
    y = signal[:n] + rng.choice([0.0, 1e-4, 0.3]) * rng.normal(size=(n, 2))
    if "labels" in kind or "Classifier" in kind:
        rank, share = np.argsort(np.argsort(y[:, 0])), rng.choice([0.35, 0.5, 0.6])
        y = rank * 3 // n if rng.random() < 0.3 else (rank >= share * n).astype(int)
    else:
        y = y[:, 0] if rng.random() < 0.7 else y
        y = y * power(-80, 80, "scale y")
        y = y + np.abs(y).max() * power(0, 12) if "offset y" in inputs else y
    width = power(-0.5, 0.5) * power(-2.5, -0.7, "narrow") * power(1, 4, "wide")
    if "outlier" in inputs:
        X[0, 0] = power(2, 20)
    if "constant column" in inputs:
        X = np.column_stack([X, np.full(n + 5, power(0, 8))])
    scale = power(-8, 8, "scale X")
    X, width = X * scale, width * scale
    X = X + power(0, 12) if "offset X" in inputs else X
    finite = [Linear(), Polynomial(int(rng.integers(2, 4)), offset=float(rng.integers(2)))]
    smooth = [Gaussian(width), Laplacian(width), Matern(width)]
    stationary = not {"narrow", "wide"}.isdisjoint(inputs)
    pool = finite if "primal" in kind else smooth if stationary else [*finite, *smooth]
    kernels = [pool[i] for i in rng.permutation(len(pool))[: rng.integers(1, 3)]]
    wild = "any alpha" in inputs or rng.random() < 0.2
    alphas = power(*((-14, 14) if wild else (-6, 2))) * 10.0 ** np.linspace(0, 2, rng.choice([1, 3, 30]))
    weights = rng.uniform(0.1, 3.0, size=n) * (rng.random(n) >= rng.choice([0.0, 0.25]))
    weights = weights if rng.random() < 0.4 else None
    return Case(
        number, kind, inputs, X[:n], y, X[n:], weights, rng.integers(0, 5, size=n), kernels,
        [float(alpha) for alpha in alphas], bool(rng.random() < 0.5), y.ndim == 2 and bool(rng.random() < 0.5),
        rng.permutation(n)[: rng.integers(4, 11)].tolist(),
    )  # fmt: skip


def judge(case):
    """What the estimator of this case claims, and what is true."""
    claims = {
        "KernelRidge": claim_of_fit, "KernelRidgeClassifier": claim_of_fit, "KernelRidgeCV": claim_of_search,
        "KernelRidgeClassifierCV": claim_of_search, "cross_validate": claim_of_cross_validation,
        "nested_cross_validate": claim_of_nesting, "NystroemRidge": claim_of_landmarks,
        "NystroemRidgeClassifier": claim_of_landmarks, "NystroemRidgeCV": claim_of_stream,
        "NystroemRidgeClassifierCV": claim_of_stream,
    }  # fmt: skip
    for digits in (400,) if "Nystroem" in case.kind else (150, 400, 1600):
        try:
            with mp.workdps(digits), np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return Verdict(case, *claims[case.kind.split()[0]](case, case.exact()))
        except MercerError as refusal:
            return Verdict(case, None, route=f"refused: {refusal}")
        except TooFewDigits:
            continue
    raise TooFewDigits


def claim_of_fit(case, exact):
    kernel, alpha = case.kernels[0], case.alphas[0]
    alpha = np.array([alpha, 10.0 * alpha]) if case.per_target else alpha
    solver = case.kind.split()[1] if " " in case.kind else SOLVERS[case.number // len(KINDS) % 3]
    model = case.estimator("KernelRidge", alpha, kernel=kernel, solver=solver).fit(case.X, case.y, case.weights)
    fitted, n = exact.fit(kernel, alpha, range(exact.n)), exact.n
    found = (model.decision_function if case.labels else model.predict)(case.everything)
    true = {"dual": true_digits(model.dual_coef_, fitted[0])}
    true |= both_sizes(found, exact.values(kernel, fitted, range(n + 5)), exact.Y)
    if isinstance(kernel, Linear):
        w = [[exact_sum(a, column) for column in zip(*exact.rows[:n], strict=True)] for a in fitted[0]]
        true["primal"] = true_digits(np.transpose(model.primal_coef_), w)
    return model.route_.digits, true, str(model.route_)


def exact_sum(a, b):
    """a'b, and zero where all digits cancel."""
    found = mp.fdot(a, b)
    return found if abs(found) > mp.mpf(10) ** -(mp.dps // 2) * mp.fdot(map(abs, a), map(abs, b)) else mp.mpf(0)


def claim_of_search(case, exact):
    how = case.kind.split()[1]
    folds = 2 + case.number // len(KINDS) % 3
    folds = min(folds, int(np.unique(case.y, return_counts=True)[1].max())) if case.labels else folds
    groups = GroupKFold(min(3, len(set(case.groups))))
    cv = {"loo": None, "folds": folds, "groups": groups}[how]
    more = {} if case.labels else {"alpha_per_target": case.per_target}
    search = case.estimator("KernelRidgeCV", case.kernels, case.alphas, cv=cv, **more)
    search.fit(case.X, case.y, case.weights, **({"groups": case.groups} if how == "groups" else {}))
    kernel, alpha = search.best_kernel_, search.alpha_
    splits = [(split.train, split.test) for split in search.folds_.splits]
    found = exact.held_out(kernel, alpha, splits)
    true = scored(case, exact, found, splits, search.best_score_) | predicted(
        case, exact, found, splits, search.cv_predictions_[0]
    )
    return search.digits_, true, f"{search.plan_.chosen.name}, {kernel}, alpha {alpha}"


def scored(case, exact, found, splits, scores, least=0):
    """Digits of the scores of all splits, or of their mean; infinite for labels that are right.

    Decision values that differ by `least` are tied.
    """
    truth = accuracies(found, splits, case.y, least) if case.labels else exact.errors(found, splits)
    if truth is None or np.isnan(scores).any():  # a training part with a single class has no score
        return {}
    true = true_digits(scores, [truth if np.ndim(scores) else [mp.fsum(truth) / len(truth)]])
    return {"scores": math.inf if case.labels and true > 15 else true}


def predicted(case, exact, found, splits, predictions):
    """Digits of held-out predictions."""
    rows = np.concatenate([test for _, test in splits])
    columns = [[v for values in found for v in values[t]] for t in range(len(exact.Y))]
    if case.labels:  # classes are compared with one another, so that the largest decision values count
        return {"predictions": true_digits(np.ravel(predictions[rows].T), [[v for column in columns for v in column]])}
    return both_sizes(predictions[rows], columns, [[y[i] for i in rows] for y in exact.Y])


def both_sizes(found, truth, targets):
    """Digits of predictions: those that count, and those relative to the predictions alone."""
    return {"predictions": true_digits(found, truth, targets), "own size": true_digits(found, truth)}


def claim_of_cross_validation(case, exact):
    kernel, alpha, splits = case.kernels[0], case.alphas[0], case.splits
    model = case.estimator("KernelRidge", alpha, kernel=kernel)
    result = mercer.cross_validate(model, case.X, case.y, cv=splits, sample_weight=case.weights)
    found = exact.held_out(kernel, alpha, splits)
    true = scored(case, exact, found, splits, result.scores[0])
    true |= {} if case.labels else predicted(case, exact, found, splits, result.predictions[0])
    return result.digits, true, result.route


def claim_of_nesting(case, exact):
    search, splits = case.estimator("KernelRidgeCV", case.kernels, case.alphas), case.splits
    result = mercer.nested_cross_validate(search, case.X, case.y, cv=splits, sample_weight=case.weights)
    found, worst = [], math.inf
    for o, (train, test) in enumerate(splits):
        chosen = result.chosen[o]["kernel"], result.chosen[o]["alpha"]
        found += exact.held_out(*chosen, [(train, test)])
        pairs = [(np.setdiff1d(train, other), other) for p, (_, other) in enumerate(splits) if p != o]
        inner = scored(case, exact, exact.held_out(*chosen, pairs), pairs, result.inner_scores[0, o])
        worst = min(worst, inner.get("scores", math.inf))
    true = {"inner": worst} | scored(case, exact, found, splits, result.scores[0])
    true |= {} if case.labels else predicted(case, exact, found, splits, result.predictions[0])
    return result.digits, true, result.route


def claim_of_landmarks(case, exact):
    kernel, alpha = case.kernels[0], case.alphas[0]
    model = case.estimator("NystroemRidge", alpha, kernel=kernel, landmarks=case.X[case.landmarks])
    model.fit(case.X, case.y, case.weights)
    landmarks = kept_landmarks(case, model)
    found = (model.decision_function if case.labels else model.predict)(case.everything)
    truth = exact.on_landmarks(kernel, alpha, landmarks, range(exact.n), range(exact.n + 5))
    claimed = getattr(model, "digits_", digits_left(model.condition_))
    kept = f"{len(model.landmarks_)} of {len(case.landmarks)} landmarks, condition {model.condition_:.1g}, {kernel}"
    return claimed, both_sizes(found, truth, exact.Y), kept


def kept_landmarks(case, model):
    """The numbers of the rows that a model has as landmarks."""
    return [int(np.flatnonzero((row == case.X).all(axis=1))[0]) for row in model.landmarks_]


def claim_of_stream(case, exact):
    groups, landmarks = case.groups if case.number // len(KINDS) % 3 == 0 else None, case.X[case.landmarks]
    search = case.estimator("NystroemRidgeCV", case.kernels, case.alphas, cv=3, landmarks=landmarks, random_state=0)
    folds = fold_of(0, exact.n, 3, 0, groups)
    if len(np.unique(folds)) < 3:  # rows are dealt to the folds in another way then
        groups, folds = None, fold_of(0, exact.n, 3, 0, None)
    search.fit(case.X, case.y, case.weights, groups)
    assert np.array_equal(np.bincount(folds, minlength=3), search.fold_rows_), "the judge must have the search's folds"
    splits = [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in range(3)]
    kernel, alpha = search.best_kernel_, search.alpha_
    landmarks = kept_landmarks(case, search.best_estimator_)
    found = [exact.on_landmarks(kernel, alpha, landmarks, train, test) for train, test in splits]
    kept = f"{len(search.best_estimator_.landmarks_)} of {len(case.landmarks)} landmarks, {kernel}, alpha {alpha:.2g}"
    true = scored(case, exact, found, splits, search.best_score_, least=np.finfo(float).eps)
    return search.digits_, true, kept


def table(title, gaps_of):
    """Lines of a table: cases, those that were judged, the worst overstatement, shares beyond what is allowed."""
    lines = [f"{title:40s}{'cases':>6s}{'judged':>8s}{'worst over':>12s}{'over > 1':>10s}{'under > 3':>11s}"]
    for name, gaps in gaps_of.items():
        judged = np.array([gap for gap in gaps if not math.isnan(gap)])
        over, share, under = (judged.max(), np.mean(judged > 1), np.mean(judged < -3)) if len(judged) else [0] * 3
        lines.append(f"{name:40s}{len(gaps):6d}{len(judged):8d}{over:12.1f}{share:10.1%}{under:11.1%}")
    return "\n".join(lines) + "\n"


def told(verdict):
    true = ", ".join(f"{name} {true:.1f}" for name, true in verdict.true.items())
    claimed = "none" if verdict.claimed is None else f"{verdict.claimed:.1f}"
    inputs = " + ".join(verdict.case.inputs)
    return f"{verdict.case.number:5d} {verdict.case.kind} ({inputs}): claimed {claimed}, true: {true}; {verdict.route}"


def main(count=COUNT):
    begin, verdicts = time.perf_counter(), [judge(draw(number)) for number in range(count)]
    refused = sum(verdict.claimed is None for verdict in verdicts)
    print(f"{count} cases in {time.perf_counter() - begin:.0f} s, {refused} refused\n")
    kinds, inputs, quantities = defaultdict(list), defaultdict(list), defaultdict(list)
    for verdict in verdicts:
        for name in ("all", verdict.case.kind):
            kinds[name].append(verdict.gap)
        for name in verdict.case.inputs:
            inputs[name].append(verdict.gap)
        for name, true in verdict.true.items():
            gap = math.nan if true == math.inf else verdict.claimed - true
            quantities[f"{verdict.case.kind.split()[0]}: {name}"].append(gap)
    for title, gaps in (("estimator", kinds), ("input", inputs), ("quantity", dict(sorted(quantities.items())))):
        print(table(title, gaps))
    ranked = sorted((verdict for verdict in verdicts if not math.isnan(verdict.gap)), key=lambda each: each.gap)
    print("overstated most:", *map(told, ranked[:-21:-1]), "\nunderstated most:", *map(told, ranked[:20]), sep="\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["case"]:
        verdict = judge(draw(int(sys.argv[2])))
        print(told(verdict), verdict.case, sep="\n\n")
    else:
        main(*map(int, sys.argv[1:]))
