"""Help, proofs, plans, files, and one sentence for whatever is wrong."""

import json
import subprocess
import sys

import pytest
from cli_tables import FAST

from mercer.cli.refusals import words

COMMANDS = ("fit", "predict", "explain", "certify", "inspect")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_two_examples(run, command):
    said = run(command, "--help").stdout
    examples = said.split("Examples:\n")[1].strip().splitlines()
    assert len(examples) == 2
    assert all(f"mercer {command} " in line for line in examples)


def test_help_of_all_lists_the_commands(run):
    said = run("--help").stdout
    assert all(f"\n  {command} " in said for command in COMMANDS)
    assert "mercer fit houses.csv --target price" in said
    assert run("--version").stdout.startswith("mercer, version ") or run("--version").stdout.startswith("mercer ")


def test_certify_prints_the_proof(run):
    said = run("certify", "gaussian(2) * linear() + 0.5 * polynomial(degree=3)").stdout
    assert said.startswith("valid: Gaussian(width=2) * Linear() + 0.5 * Polynomial(")
    assert said.count("because") == 6
    assert run("certify", "sigmoid(scale=2)", code=1).stdout.startswith("not valid: Sigmoid(scale=2, offset=0.0)\n")
    said = run("certify", "gausian(2)", code=2)
    assert said.stderr == "mercer: There is no kernel 'gausian'. Did you mean 'gaussian'?\n"
    assert said.stdout == ""


def test_explain_says_what_it_would_cost_and_stops(run, folder):
    said = run("explain", "houses.csv", "--target", "price", *FAST).stdout
    assert "KernelRidgeCV (because of --kernel and --alphas)." in said
    assert "1 kernel x 2 alphas on 40 rows" in said
    said = run("explain", "houses.csv", "--target", "price").stdout
    assert "4. Error: estimated from the three folds of step 2.\nTime: roughly " in said
    said = run("explain", "houses.csv", "--target", "price", "--time-budget", "0.5").stdout
    assert "Time: roughly 600 ms" in said
    assert not (folder / "model.mercer").exists()


def test_inspect_says_what_a_file_holds(run):
    import mercer

    run("fit", "houses.csv", "--target", "price", *FAST)
    said = run("inspect", "model.mercer").stdout
    assert said.startswith("KernelRidgeCV: Gaussian(width=3), alpha 0.1\n40 training rows, 5 columns; ")
    assert ("\nPredicts price from:\ncolumn   kind ") in said
    assert "\n\nOut-of-sample error: " in said
    found = json.loads(run("inspect", "model.mercer", "--json").stdout)
    assert found["fit"]["target"] == "price"
    mercer.save(mercer.KernelRidge(0.1).fit([[0.0], [1.0]], [0.0, 1.0]), "plain.mercer")
    assert run("inspect", "plain.mercer").stdout.startswith("KernelRidge: ")
    said = run("predict", "plain.mercer", "new.csv", code=2).stderr
    assert said.startswith(
        "mercer: plain.mercer must be a model file written by `mercer fit`; got a KernelRidge saved from Python."
    )


REFUSED = {
    ("fit", "houses.csv", "--target", "prize"): "There is no column 'prize' in houses.csv. Did you mean 'price'?",
    ("fit", "houses.csv", "--target", "price", "--drop", "twon"): (
        "There is no column 'twon' in houses.csv. Did you mean 'town'?"
    ),
    ("fit", "house.csv", "--target", "y"): "There is no file 'house.csv'. Did you mean 'houses.csv'?",
    ("fit", "xyz", "--target", "y"): "There is no file 'xyz'.",
    ("fit", ".", "--target", "y"): "'.' must be a file; got a directory.",
    ("fit", "houses.csv", "--target", "price", "--as", "size=colour"): (
        "--as must be COLUMN=number, category, date, text or drop; got 'size=colour'."
    ),
    ("fit", "houses.csv", "--target", "price", "--drop", "price"): (
        "Target 'price' cannot also be used with --drop, --group, --time, --weight or --id."
    ),
    ("fit", "houses.csv", "--target", "sold"): (
        "Target 'sold' must be numbers or labels; got dates. Replace the dates by a number, such as days since a "
        "fixed date."
    ),
    ("fit", "houses.csv", "--target", "house"): (
        "Target 'house' has too many classes: 40 distinct labels in 40 rows. If the target is numeric, use --task "
        "regression."
    ),
    ("fit", "houses.csv", "--target", "town", "--task", "regression"): (
        "Target 'town' must be numbers for regression; got text such as 'A'."
    ),
    ("fit", "houses.csv", "--target", "price", "--scoring", "r3"): (
        "Unknown scoring 'r3'. Use a scikit-learn scorer name, such as r2."
    ),
    ("fit", "houses.csv", "--target", "price", "--scoring", "accuracie"): (
        "Unknown scoring 'accuracie'. Did you mean 'accuracy'?"
    ),
    ("fit", "houses.csv", "--target", "price", "--alphas", "a,b"): (
        "--alphas must be non-negative numbers, such as 0.01,0.1,1; got 'a,b'."
    ),
    ("fit", "houses.csv", "--target", "price", "--memory-limit", "lots"): (
        "--memory-limit must be a size, such as 500MB or 2GB; got 'lots'."
    ),
    ("fit", "houses.csv", "--target", "price", "--separator", "ab"): (
        "--separator must be one character, or the word tab; got 'ab'."
    ),
    ("fit", "houses.csv", "--target", "price", "--out", "no/model.mercer"): (
        "There is no directory 'no' to write 'model.mercer' to."
    ),
    ("fit", "houses.csv", "--target", "price", "--out", "-"): (
        "--out must be the path of a file; got '-'."
    ),
    ("fit", "houses.csv", "--target", "price", "--folds", "50"): (
        "--folds must be at most the number of rows, 40; got 50."
    ),
    ("fit", "houses.csv", "--target", "price", "--folds", "2", "--rule", "best"): (
        "--folds must be between 3 and the number of rows, 40, when kernel and alpha are searched; got 2. The error "
        "is estimated by nested cross-validation, which needs at least 3 folds."
    ),
    ("fit", "rare.csv", "--target", "y"): (
        "Target 'y' must be labels with at least 3 rows each; got 1 for 'b'. Drop the rows with rare labels."
    ),
    ("fit", "houses.csv", "--target", "price", "--weight", "change"): (
        "Column 'change' must be non-negative, to be used as weights; got -2 in line 3 of houses.csv."
    ),
    ("fit", "houses.csv", "--target", "price", "--group", "two"): (
        "--group two must be a column with at least 3 distinct values; got 2. All rows of a group are in the same "
        "fold, and at least 3 folds are needed."
    ),
    ("fit", "few.csv", "--target", "y"): "few.csv has too few rows: at least 6 are needed; got 3.",
    ("fit", "houses.csv", "--target", "price", "--group", "price2"): (
        "There is no column 'price2' in houses.csv. Did you mean 'price'?"
    ),
    ("fit", "houses.csv", "--target", "price", "--kernel", "linear().on('rooms')"): (
        ".on('rooms'): there is no feature column 'rooms'. Known: heating, size, sold, town."
    ),
    ("fit", "houses.csv", "--target", "price", "--kernel", "linear().on(0)"): (
        ".on(...) needs column names on the command line, such as .on('age'); got 0."
    ),
    ("fit", "constant.csv", "--target", "y"): (
        "Target 'y' is constant: 1 in every row. Choose another target."
    ),
    ("fit", "counted.csv", "--target", "y"): (
        "Target 'y' looks like a row number (0, 1, 2, ...). Choose another target, or use --task "
         "regression."
    ),
    ("fit", "alone.csv", "--target", "y"): "alone.csv has no columns besides the target 'y'.",
    ("fit", "constant.csv", "--target", "x"): ("No column of constant.csv can be used as a feature "
                                               "('y': every value is 1). To use a column anyway, set its kind with "
                                               "--as COLUMN=KIND."),
    ("predict", "houses.csv", "new.csv"): None,
    ("predict", "nowhere.mercer", "new.csv"): None,
    ("inspect", "houses.csv"): None,
}  # fmt: skip


@pytest.mark.parametrize("call", REFUSED, ids=" ".join)
def test_what_is_refused_gets_one_sentence_and_code_1(run, folder, call):
    (folder / "constant.csv").write_text("x,y\n1.5,1\n2.25,1\n5.5,1\n7.5,1\n8.5,1\n1,1\n")
    (folder / "few.csv").write_text("x,y\n1.5,1\n2.25,3\n5.5,5\n")
    (folder / "counted.csv").write_text("x,y\n" + "".join(f"{i * i},{i}\n" for i in range(9)))
    (folder / "alone.csv").write_text("y\n1\n2\n5\n8\n9\n7\n")
    (folder / "rare.csv").write_text("x,y\n1,a\n2,b\n3,a\n5,a\n7,a\n8,a\n")
    if call[-1] in {"change", "two"}:
        header, *lines = (folder / "houses.csv").read_text().splitlines()
        more = [f"{line},{1 - 3 * (i == 1)},{i % 2}" for i, line in enumerate(lines)]
        (folder / "houses.csv").write_text("\n".join([f"{header},change,two", *more]))
    result = run(*call, code=2)
    assert result.stderr.startswith("mercer: ")
    assert result.stderr.count("\n") == 1
    if REFUSED[call] is not None:
        assert result.stderr == f"mercer: {REFUSED[call]}\n"
    assert not (folder / "model.mercer").exists()


@pytest.mark.parametrize("call", [["fit", "houses.csv"], ["fit"], ["nonsense"], ["fit", "houses.csv", "--nonsense"]])
def test_wrong_usage_ends_with_code_2(run, call):
    assert "Error: " in run(*call, code=2).stderr


def test_a_search_beyond_its_time_is_refused(run):
    said = run("fit", "houses.csv", "--target", "price", *FAST, "--time-budget", "0.0001", code=2).stderr
    assert said.startswith("mercer: This search and its nested cross-validation take about ")


def test_a_table_of_gaps_leaves_nothing(run, folder):
    (folder / "gaps.csv").write_text("x,z,y\n,1,2\n3,,4\n")
    said = run("fit", "gaps.csv", "--target", "y", "--missing", "drop", code=2).stderr
    assert said == "mercer: Every row of gaps.csv has a missing value: --missing drop would leave no rows.\n"


def test_memory_that_is_not_there_is_refused(run):
    said = run("fit", "houses.csv", "--target", "price", *FAST, "--memory-limit", "1kB", code=2).stderr
    assert "memory" in said
    assert said.count("\n") == 1


def test_ctrl_c_says_so_and_leaves_nothing(run, folder, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.cli.running.fit", interrupted)
    said = run("fit", "houses.csv", "--target", "price", code=1)
    assert said.stderr == "mercer: Stopped; nothing was written.\n"
    assert not (folder / "model.mercer").exists()


def test_a_full_disk_and_our_own_mistakes_get_a_sentence(run, folder, monkeypatch):
    assert words(MemoryError()).startswith("Out of memory.")
    assert words(ValueError("a  b\nc")) == "a b c"
    assert words(TypeError("x")) == (
        "Internal error, TypeError: x. Please report it; MERCER_TRACEBACK=1 shows where it happened."
    )
    run("fit", "houses.csv", "--target", "price", *FAST)

    def full(*_, **__):
        raise OSError(28, "No space left on device", "p.csv")

    monkeypatch.setattr("pathlib.Path.replace", full)
    said = run("predict", "model.mercer", "new.csv", "--out", "p.csv", code=2).stderr
    assert said == "mercer: The table p.csv cannot be written: no space left on device.\n"
    assert [path.name for path in folder.iterdir() if path.name.startswith((".", "p.csv"))] == []
    for out in ("p.xlsx", ".", "no/p.csv"):
        assert run("predict", "model.mercer", "new.csv", "--out", out, code=2).stderr.count("\n") == 1


def test_without_click_the_install_line_is_printed():
    code = "import sys; sys.modules['click'] = None; from mercer.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - our own code
    assert done.returncode == 1
    assert done.stderr == "mercer: the command line needs click. Install it with: pip install 'mercer[cli]'\n"


def test_wide_tables_are_described_in_short(run, folder):
    names = [f"c{i}" for i in range(60)]
    rows = [",".join([*(str((i * 7 + j * j) % 11 + 0.5) for j in range(59)), "k", f"{i * 0.3}"]) for i in range(20)]
    (folder / "wide.csv").write_text(",".join([*names, "y"]) + "\n" + "\n".join(rows) + "\n")
    said = run("explain", "wide.csv", "--target", "y", *FAST).stdout
    assert "... and 49 more: 59 number, 1 constant in all." in said
    assert "c59     constant, dropped" in said
