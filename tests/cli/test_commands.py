"""Help, proofs, plans, files, and one sentence for whatever is wrong.

Covers: cli.job.
"""

import json
import subprocess
import sys

import pytest
from cli_tables import FAST

from mercer.cli.refusals import words
from refusals import tells

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
    assert tells(said.stderr, "'gausian'", "'gaussian'")
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
    ("fit", "houses.csv", "--target", "prize"): ("'prize'", "'price'"),
    ("fit", "houses.csv", "--target", "price", "--drop", "twon"): ("'twon'", "'town'"),
    ("fit", "house.csv", "--target", "y"): ("'house.csv'", "'houses.csv'"),
    ("fit", "xyz", "--target", "y"): ("'xyz'",),
    ("fit", ".", "--target", "y"): ("'.'", "got a directory"),
    ("fit", "houses.csv", "--target", "price", "--as", "size=colour"): ("--as", "got 'size=colour'"),
    ("fit", "houses.csv", "--target", "price", "--drop", "price"): ("Target 'price'",),
    ("fit", "houses.csv", "--target", "sold"): ("Target 'sold'", "got dates"),
    ("fit", "houses.csv", "--target", "house"): ("Target 'house'", "40"),
    ("fit", "houses.csv", "--target", "town", "--task", "regression"): ("Target 'town'", "got text such as 'A'"),
    ("fit", "houses.csv", "--target", "price", "--scoring", "r3"): ("'r3'",),
    ("fit", "houses.csv", "--target", "price", "--scoring", "accuracie"): ("'accuracie'", "'accuracy'"),
    ("fit", "houses.csv", "--target", "price", "--alphas", "a,b"): ("--alphas", "got 'a,b'"),
    ("fit", "houses.csv", "--target", "price", "--memory-limit", "lots"): ("--memory-limit", "got 'lots'"),
    ("fit", "houses.csv", "--target", "price", "--separator", "ab"): ("--separator", "got 'ab'"),
    ("fit", "houses.csv", "--target", "price", "--out", "no/model.mercer"): ("'no'", "'model.mercer'"),
    ("fit", "houses.csv", "--target", "price", "--out", "-"): ("--out", "got '-'"),
    ("fit", "houses.csv", "--target", "price", "--folds", "50"): ("--folds", "got 50"),
    ("fit", "houses.csv", "--target", "price", "--folds", "2", "--rule", "best"): ("--folds", "got 2"),
    ("fit", "rare.csv", "--target", "y"): ("Target 'y'", "got 1 for 'b'"),
    ("fit", "houses.csv", "--target", "price", "--weight", "change"): (
        "Column 'change'",
        "got -2 in line 3 of houses.csv",
    ),
    ("fit", "houses.csv", "--target", "price", "--group", "two"): ("--group two", "got 2"),
    ("fit", "few.csv", "--target", "y"): ("few.csv", "6", "3"),
    ("fit", "houses.csv", "--target", "price", "--group", "price2"): ("'price2'", "'price'"),
    ("fit", "houses.csv", "--target", "price", "--kernel", "linear().on('rooms')"): (".on('rooms'): there",),
    ("fit", "houses.csv", "--target", "price", "--kernel", "linear().on(0)"): (".on(...)", "'age'", "0"),
    ("fit", "constant.csv", "--target", "y"): ("Target 'y'", "1"),
    ("fit", "counted.csv", "--target", "y"): ("'y'", "0", "1"),
    ("fit", "alone.csv", "--target", "y"): ("alone.csv", "'y'"),
    ("fit", "constant.csv", "--target", "x"): ("'y'", "1"),
    ("predict", "houses.csv", "new.csv"): (),
    ("predict", "nowhere.mercer", "new.csv"): (),
    ("inspect", "houses.csv"): (),
}


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
    assert tells(result.stderr, *REFUSED[call])
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
    assert tells(said, "Every row of gaps.csv")


def test_memory_that_is_not_there_is_refused(run):
    said = run("fit", "houses.csv", "--target", "price", *FAST, "--memory-limit", "1kB", code=2).stderr
    assert "memory" in said
    assert said.count("\n") == 1


def test_ctrl_c_says_so_and_leaves_nothing(run, folder, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.cli.running.Fitted", interrupted)
    said = run("fit", "houses.csv", "--target", "price", code=1)
    assert said.stderr == "mercer: Stopped; nothing was written.\n"
    assert not (folder / "model.mercer").exists()


def test_a_full_disk_and_our_own_mistakes_get_a_sentence(run, folder, monkeypatch):
    assert words(MemoryError()).startswith("Out of memory.")
    assert words(ValueError("a  b\nc")) == "a b c"
    assert tells(words(TypeError("x")), "Internal error", "TypeError: x")
    run("fit", "houses.csv", "--target", "price", *FAST)

    def full(*_, **__):
        raise OSError(28, "No space left on device", "p.csv")

    monkeypatch.setattr("pathlib.Path.replace", full)
    said = run("predict", "model.mercer", "new.csv", "--out", "p.csv", code=2).stderr
    assert tells(said, "The table p.csv", "no space left on device")
    assert [path.name for path in folder.iterdir() if path.name.startswith((".", "p.csv"))] == []
    for out in ("p.xlsx", ".", "no/p.csv"):
        assert run("predict", "model.mercer", "new.csv", "--out", out, code=2).stderr.count("\n") == 1


def test_without_click_the_install_line_is_printed():
    code = "import sys; sys.modules['click'] = None; from mercer.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - our own code
    assert done.returncode == 1
    assert tells(done.stderr, "the command line", "'mercer[cli]'")


def test_wide_tables_are_described_in_short(run, folder):
    names = [f"c{i}" for i in range(60)]
    rows = [",".join([*(str((i * 7 + j * j) % 11 + 0.5) for j in range(59)), "k", f"{i * 0.3}"]) for i in range(20)]
    (folder / "wide.csv").write_text(",".join([*names, "y"]) + "\n" + "\n".join(rows) + "\n")
    said = run("explain", "wide.csv", "--target", "y", *FAST).stdout
    assert "... and 49 more: 59 number, 1 constant in all." in said
    assert "c59     constant, dropped" in said
