"""How large the sources are, and how much they lean on one another: what `make size` prints and budget.toml bounds."""

import ast
import tomllib
from collections import Counter
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "mercer"
BUDGET = Path(__file__).with_name("budget.toml")
MOST_PARAMETERS = 7


def net_lines(text, tree):
    """Lines of code without docstrings, comments, blank lines and imports."""
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            skipped |= set(range(node.lineno, node.end_lineno + 1))
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node, clean=False) is not None:
            skipped |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(1 for i, line in lines if line.strip() and not line.strip().startswith("#") and i not in skipped)


def parameters(node):
    """Parameters of a function, self and cls left out."""
    given = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return len(given) - (given[:1] in (["self"], ["cls"]))


def reaches_in(node):
    """Whether this is a private name of another object."""
    private = isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
    return private and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))


def measure():
    """The counts that the budget bounds, by name."""
    trees = {path: (text := path.read_text(), ast.parse(text)) for path in sorted(SOURCES.rglob("*.py"))}
    packages, classes, importers = Counter(), Counter(), {}
    counts = Counter(dict.fromkeys(("modules", "functions_with_many_parameters", "private_names_of_others"), 0))
    for path, (text, tree) in trees.items():
        parts = path.relative_to(SOURCES).with_suffix("").parts
        packages[parts[0] if len(parts) > 1 else "top"] += net_lines(text, tree)
        counts["modules"] += path.name != "__init__.py"
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name] += 1
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                counts["functions_with_many_parameters"] += parameters(node) > MOST_PARAMETERS
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mercer"):
                importers.setdefault(node.module, set()).add(parts)
            counts["private_names_of_others"] += reaches_in(node)
    counts["class_names_used_twice"] = sum(1 for count in classes.values() if count > 1)
    modules = {
        ".".join(("mercer", *path.relative_to(SOURCES).with_suffix("").parts))
        for path in trees
        if path.name != "__init__.py"
    }
    counts["modules_with_one_importer"] = sum(1 for name in modules if len(importers.get(name, ())) == 1)
    return {"net_lines": dict(sorted(packages.items())), **counts}


def budget():
    """The bounds, by the same names."""
    return tomllib.loads(BUDGET.read_text())


def main():
    """Print what there is beside what is allowed."""
    found, allowed = measure(), budget()
    rows = [*found["net_lines"].items(), ("all", sum(found["net_lines"].values()))]
    print(f"{'net lines of':32}  there  budget")
    for name, count in rows:
        print(f"  {name:30}  {count:5}  {allowed['net_lines'].get(name, sum(allowed['net_lines'].values())):6}")
    for name, count in found.items():
        if name != "net_lines":
            print(f"{name.replace('_', ' '):32}  {count:5}  {allowed[name]:6}")


if __name__ == "__main__":
    main()
