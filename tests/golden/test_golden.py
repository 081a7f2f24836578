"""What mercer gave when these files were written it must still give: scores, predictions, model files, words.

The files are written by make_golden.py, by hand. MERCER_GOLDEN_EXACT=1 compares bit for bit, which holds on the machine
that wrote them alone.
"""

import shutil

import numpy as np
import pytest
from golden_checkpoints import CHECKPOINTS, FINISHED, WIDTHS, blanked, searched, summed, widths_used
from golden_commands import COMMANDS, output
from golden_evaluations import EVALUATIONS
from golden_models import MODELS, predictions
from golden_records import FOLDER, compare, inputs, items, record, stored
from golden_searches import SEARCHES

import mercer
from mercer.kernels import Matern

pytestmark = pytest.mark.slow

CASES = SEARCHES | EVALUATIONS


@pytest.fixture(scope="module")
def data():
    return inputs()


@pytest.fixture
def checkpoint(tmp_path):
    """A function that copies a stored checkpoint, which finishing the work would change."""
    return lambda name: shutil.copy(FOLDER / f"{name}.checkpoint", tmp_path / name)


@pytest.mark.parametrize("name", CASES)
def test_scores_predictions_and_words_are_as_they_were_of(name, data):
    arrays, texts = record(lambda: CASES[name].run(data))
    expected, words = stored(name)
    assert texts == words
    compare(arrays, expected, CASES[name].rtol)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_file_predicts_as_it_did_of(name, data):
    arrays, texts = record(lambda: predictions(FOLDER / f"{name}.mercer", data))
    expected, words = stored(f"model {name}")
    assert texts == words
    compare(arrays, expected, 1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_file_loaded_and_saved_again_predicts_the_same_to_the_last_bit_of(name, data, tmp_path):
    mercer.save(mercer.load(FOLDER / f"{name}.mercer"), tmp_path / f"{name}.mercer")
    found, expected = (record(lambda f=f: predictions(f / f"{name}.mercer", data)) for f in (tmp_path, FOLDER))
    assert found[1] == expected[1]
    for key, array in expected[0].items():
        np.testing.assert_array_equal(found[0][key], array, err_msg=key)


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_work_that_was_killed_ends_as_if_it_had_not_been_of(name, data, checkpoint):
    expected, words = stored(f"checkpoint {name}")
    for path in (None, checkpoint(name)):
        arrays, texts = record(lambda path=path: CHECKPOINTS[name](data, path))
        assert texts == words
        compare(arrays, expected)


def test_a_resumed_search_evaluates_the_kernels_that_were_not_finished_and_no_others(data, checkpoint, monkeypatch):
    for path, wanted in ((None, WIDTHS), (checkpoint("search"), WIDTHS[FINISHED:])):
        noted = set()
        with monkeypatch.context() as patched:
            patched.setattr(Matern, "block", widths_used(noted))
            record(lambda path=path: searched(data, path))
        assert noted == set(wanted)


def test_a_resumed_pass_adds_no_block_that_is_in_its_checkpoint(data, checkpoint):
    expected, _ = stored("checkpoint landmarks")
    compare(record(lambda: summed(data, checkpoint("landmarks"), blanked))[0], expected)
    plain, _ = record(lambda: summed(data, None, blanked))
    assert np.abs(plain["mean_scores"] - expected["mean_scores"]).min() > 1e-3


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_line_says_what_it_said_at(name):
    assert record(lambda: output(name))[1] == stored(f"command {name}")[1]


def test_every_item_is_compared_and_the_folder_stays_small():
    kinds = (("model", MODELS), ("checkpoint", CHECKPOINTS), ("command", COMMANDS))
    assert set(items()) == {*CASES, *(f"{kind} {name}" for kind, names in kinds for name in names)}
    files = [path for path in FOLDER.iterdir() if path.is_file() and path.name != "messages.txt"]
    assert {path.stem for path in files if path.suffix == ".mercer"} == set(MODELS)
    assert {path.stem for path in files if path.suffix == ".checkpoint"} == set(CHECKPOINTS)
    assert sum(path.stat().st_size for path in files) < 450_000
