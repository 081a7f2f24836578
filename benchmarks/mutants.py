"""The power of the tests: random small faults in the source, each run against the tests of its own package.

    python benchmarks/mutants.py --count 100 --seed 0

Each fault (a mutant) changes one operator, comparison, condition or number. A mutant is killed if a test fails or the
tests take ten times as long as without it. Nothing in this checkout is changed: mutants live in copies of it.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parent.parent
PACKAGES = ("kernels", "solvers", "selection", "streaming")
SWAPS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.MatMult: ast.Add, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Lt: ast.LtE,
    ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot,
    ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def mutations(node):
    """Replacements of one node, each with a faulty one."""
    if isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in SWAPS:
        yield _changed(node, op=SWAPS[type(node.op)]())
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield _changed(node, ops=[SWAPS[type(node.ops[0])](), *node.ops[1:]])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield node.operand
    if isinstance(node, ast.IfExp):
        yield _changed(node, body=node.orelse, orelse=node.body)
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield ast.Constant(node.value + 1)


def _changed(node, **fields):
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


class Sites(ast.NodeTransformer):
    """Numbers the possible mutations of a module; makes the one whose number is asked for."""

    def __init__(self, wanted=None):
        self.wanted, self.count, self.line, self.text = wanted, 0, 0, ""

    def generic_visit(self, node):
        types = {name: getattr(node, name) for name in ("annotation", "returns") if getattr(node, name, None)}
        for name in types:  # types are not behaviour
            setattr(node, name, None)
        found = super().generic_visit(node)
        for name, value in types.items():
            setattr(node, name, value)
        for other in mutations(node):
            if self.count == self.wanted:
                found, self.line = other, node.lineno
                self.text = f"{ast.unparse(node)[:60]} -> {ast.unparse(other)[:60]}"
            self.count += 1
        return found


def draw(count, seed):
    """Pairs of module and number of the mutation, the same number of mutants for each package."""
    rng, drawn = random.Random(seed), []  # noqa: S311
    for package in PACKAGES:
        sites = []
        for path in sorted((ROOT / "src/mercer" / package).rglob("*.py")):
            counter = Sites()
            counter.visit(ast.parse(path.read_text()))
            sites += [(package, path.relative_to(ROOT), number) for number in range(counter.count)]
        drawn += rng.sample(sites, count // len(PACKAGES))
    return drawn


def run(folder, package, seconds):
    """Whether the tests of a package pass in a copy of the checkout, and how long they took."""
    environment = os.environ | {
        "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1", "SCIPY_ARRAY_API": "1",
    }  # fmt: skip
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", f"tests/{package}"]
    start = time.perf_counter()
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return False, seconds, "took too long"
    text = done.stdout.decode(errors="replace")
    failed = next((line for line in text.splitlines() if line.startswith(("FAILED", "ERROR"))), text[-120:])
    return done.returncode == 0, time.perf_counter() - start, failed[:150]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", type=Path, default=ROOT / "tests", help="another folder of tests to measure")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(2) as pool:
        copies = Queue()
        for number in range(2):
            folder = Path(place) / str(number)
            folder.mkdir()
            for name in ("src", "docs", "examples", "benchmarks"):
                shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "_build"))
            shutil.copytree(chosen.tests, folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
            for name in ("pyproject.toml", "README.md", "Makefile"):
                shutil.copy(ROOT / name, folder / name)
            copies.put(folder)

        def unchanged(package):
            folder = copies.get()
            passed, seconds, why = run(folder, package, 3600)
            copies.put(folder)
            if not passed:
                sys.exit(f"The tests of {package} fail without a mutant: {why}")
            return seconds

        usual = dict(zip(PACKAGES, pool.map(unchanged, PACKAGES), strict=True))
        print({package: f"{seconds:.0f} s" for package, seconds in usual.items()}, flush=True)

        def judge(mutant):
            package, path, number = mutant
            folder = copies.get()
            source = (folder / path).read_text()
            sites = Sites(number)
            (folder / path).write_text(ast.unparse(ast.fix_missing_locations(sites.visit(ast.parse(source)))))
            survived, seconds, why = run(folder, package, 60 + 10 * usual[package])
            (folder / path).write_text(source)
            copies.put(folder)
            word = "survived" if survived else "killed"
            print(f"{word:8} {seconds:5.0f} s {path}:{sites.line} {sites.text}   {'' if survived else why}", flush=True)
            return not survived

        killed = list(pool.map(judge, draw(chosen.count, chosen.seed)))
    print(f"{sum(killed)} of {len(killed)} mutants killed")


if __name__ == "__main__":
    main()
