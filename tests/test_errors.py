"""The tree of errors, and the one form of every complaint."""

import ast
import json
import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer
from mercer.errors import (
    EdgeOfGridWarning,
    IllConditionedWarning,
    InputError,
    KernelTextError,
    MemoryRefusal,
    MercerError,
    MercerWarning,
    NotMercerWarning,
    SingularSystemWarning,
    nearest,
    printable,
    python_terms,
    sentence,
)


@pytest.mark.parametrize(
    ("error", "also"),
    [(InputError, ValueError), (KernelTextError, InputError), (MemoryRefusal, MemoryError)],
)
def test_every_error_is_ours_and_also_the_builtin_that_people_catch(error, also):
    assert issubclass(error, MercerError)
    assert issubclass(error, also)


def test_a_memory_refusal_is_no_input_error():
    assert not issubclass(MemoryRefusal, InputError)


@pytest.mark.parametrize("warning", [SingularSystemWarning, IllConditionedWarning, NotMercerWarning, EdgeOfGridWarning])
def test_every_warning_can_be_filtered_as_ours_and_as_a_user_warning(warning):
    assert issubclass(warning, MercerWarning)
    assert issubclass(warning, UserWarning)


def test_a_sentence_says_what_it_is_what_it_must_be_and_what_was_got():
    assert sentence("alpha", "a number", "'x'") == "alpha must be a number; got 'x'."


def test_a_sentence_ends_in_the_way_out_where_there_is_one():
    assert sentence("alpha", "a number", 3, "Use 1.") == "alpha must be a number; got 3. Use 1."


def test_the_nearest_name_is_suggested():
    assert nearest("widht", ["width", "nu"]) == "Did you mean 'width'?"


def test_capitals_in_what_was_typed_do_not_hide_the_nearest_name():
    assert nearest("Gausian", ["gaussian", "linear"]) == "Did you mean 'gaussian'?"


def test_capitals_in_the_known_names_do_not_hide_the_nearest_name():
    assert nearest("INCOMES", ["INCOME", "AGE"]) == "Did you mean 'INCOME'?"
    assert nearest("income", ["INCOME", "AGE"]) == "Did you mean 'INCOME'?"


def test_where_nothing_is_near_all_known_names_are_listed_in_order():
    assert nearest("zzz", ["width", "nu"]) == "Known: nu, width."


def test_where_there_are_no_names_none_are_announced():
    assert nearest("zzz", []) != "Known: ."


@given(name=st.text(max_size=20), known=st.lists(st.text(min_size=1, max_size=10), min_size=1, max_size=5))
def test_a_suggestion_is_always_one_of_the_known_names_or_all_of_them(name, known):
    said = nearest(name, known)
    suggestions = [f"Did you mean {each!r}?" for each in known]
    assert said in suggestions or said == f"Known: {', '.join(sorted(set(known)))}."


# Text of strangers

HOSTILE = st.text(
    st.characters(exclude_categories=()) | st.sampled_from("\x1b\x9b\x07\u202e\u2066\u2028\ud800\r\n"), max_size=20
)


@pytest.mark.slow
@given(HOSTILE)
def test_printable_text_holds_nothing_that_a_terminal_obeys_and_keeps_all_else(text):
    assert printable(text).isprintable()
    assert all(line.isprintable() for line in printable(text, lines=True).split("\n"))
    assert printable(text, lines=True).count("\n") == text.count("\n")
    assert printable(printable(text)) == printable(text)
    shown = "".join(sign for sign in text if sign.isprintable())
    assert (printable(text) == text) == text.isprintable() == (shown == text)
    printable(text).encode()  # no lone surrogate is left


@given(HOSTILE)
def test_printable_json_is_json_of_the_same_value(text):
    assert json.loads(printable(json.dumps({text: [text]}, ensure_ascii=False))) == {text: [text]}


def test_what_cannot_be_printed_is_shown_as_its_json_escape():
    signs = "\x1b]0;t\x07\x9b31m\u202e\u2028\ud800\x7f\U000e0001"
    assert printable(signs) == r"\u001b]0;t\u0007\u009b31m\u202e\u2028\ud800\u007f\udb40\udc01"
    assert printable("caf\u00e9 \u6771\u4eac") == "caf\u00e9 \u6771\u4eac"


@given(HOSTILE)
def test_every_error_and_warning_is_safe_to_print_and_to_send(text):
    for kind in (InputError, MemoryRefusal, EdgeOfGridWarning):
        made = kind(text)
        assert str(made) == printable(text, lines=True)
        assert str(pickle.loads(pickle.dumps(made))) == str(made)
    said = str(InputError(nearest("zzzzzzzzz", [text])))
    assert all(line.isprintable() for line in said.split("\n"))


def test_hints_are_worded_by_parameters_in_python_and_by_flags_on_the_command_line():
    from mercer.cli.refusals import flags, words

    error = InputError(
        "Column 'a' must be numbers; got 'x'.", hint="Leave it out with $drop, or say $category.", column="a"
    )
    assert str(error) == (
        "Column 'a' must be numbers; got 'x'. Leave it out with TableEncoder(drop=['a']), or say "
        "TableEncoder(kinds={'a': 'category'})."
    )
    assert words(error) == "Column 'a' must be numbers; got 'x'. Leave it out with --drop, or say --as a=category."
    assert set(flags("a")) == set(python_terms("a"))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.slow
def test_no_message_of_the_library_names_a_flag_of_the_command_line():
    source = Path(mercer.__file__).parent
    found = []
    for path in source.rglob("*.py"):
        if path.is_relative_to(source / "cli") or path.name == "rendering.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = [
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        found += [f"{path.name}: {text}" for text in texts if re.search(r"(^|[ '(])--[a-z]{2,}", text)]
    docstrings = [each for each in found if "Examples" in each or "----" in each]
    assert [each for each in found if each not in docstrings] == []


def test_the_tree_shows_every_error_and_warning():
    own = [each for each in vars(mercer.errors).values() if isinstance(each, type) and issubclass(each, Exception)]
    drawn = set(re.findall(r"[A-Z][A-Za-z]*(?:Error|Refusal|Warning)", mercer.errors.__doc__))
    assert {each.__name__ for each in own if not each.__name__.startswith("_")} <= drawn


@pytest.mark.parametrize(
    ("make", "wrong", "meant"),
    [
        (mercer.KernelRidgeCV, "kernel", "kernels"),
        (mercer.NystroemRidge, "kernels", "kernel"),
        (mercer.KernelRidge, "alhpa", "alpha"),
        (mercer.kernels.Gaussian, "gamma", "width"),
        (mercer.AutoRegressor, "seed", "random_state"),
        (mercer.kernels.Polynomial, "coef0", "offset"),
        (mercer.kernels.Polynomial, "gamma", "scale"),
        (mercer.cross_validate, "folds", "cv"),
        (mercer.compare, "folds", "cv"),
        (mercer.nested_cross_validate, "n_splits", "cv"),
        (mercer.evaluate, "folds", "evaluation"),
        (mercer.permutation_test, "n_permutations", "permutations"),
        (mercer.predict_interval, "alpha", "confidence"),
        (mercer.KernelRidge.predict_interval, "alpha", "confidence"),
        (mercer.AutoRegressor.predict_interval, "alpha", "confidence"),
        (mercer.KernelRidgeCV.predict_set, "alpha", "confidence"),
    ],
)
def test_a_wrong_keyword_gets_the_name_that_was_meant(make, wrong, meant):
    with pytest.raises(TypeError) as caught:
        make(**{wrong: 1.0})
    assert str(caught.value) == f"{make.__name__} has no parameter {wrong!r}. Did you mean {meant!r}?"


@pytest.mark.parametrize("search", [mercer.KernelRidgeCV, mercer.NystroemRidgeCV, mercer.KernelRidgeClassifierCV])
def test_set_params_of_searches_gives_the_name_that_was_meant(search):
    with pytest.raises(mercer.errors.InputError, match=r"has no parameter 'kernel'\. Did you mean 'kernels'\?"):
        search().set_params(kernel="linear")


def test_gamma_belongs_to_a_kernel():
    with pytest.raises(TypeError, match=r"KernelRidgeCV has no parameter 'gamma'.*Gaussian\.from_gamma"):
        mercer.KernelRidgeCV(gamma=0.5)


@pytest.mark.parametrize("name", ["rmse", "RMSE", "Rmse"])
def test_names_of_scores_of_other_libraries_are_understood(name):
    from mercer.selection.scoring import resolve_scoring

    with pytest.raises(mercer.errors.InputError, match="Did you mean 'neg_root_mean_squared_error'"):
        resolve_scoring(name, classifier=False)
