"""Every error and warning of mercer, read from its source: the generated reference page."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Template

from mercer.errors import python_terms

SOURCE = Path(__file__).parent.parent / "src" / "mercer"

# Functions whose arguments are parts of a message: the class of the error, and the message, in which {1} is argument 1.
HELPERS = {
    "refuse": ("InputError", "{1}"),
    "need": ("ModelFileError", "{1}."),
    "promise": ("MemoryRefusal", "{1} needs {needed} of memory; {available} is available. {2}"),
    "_promise": ("MemoryRefusal", "{1} needs {needed} of memory; {available} is available. {2}"),
    "_promise_features": ("MemoryRefusal", "{2} needs {needed} of memory; {available} is available."),
    "retell": ("InputError", "{0}: {...}."),
    "own_similarity": ("InputError", "{2} k(x, x) of the new rows. Pass diag=, an array with one number per row{3}."),
    "cell_error": ("InputError", "Column {name} must be {0}; got {cell} in {place}. {2}"),
    "column_error": ("InputError", "Column {0} must be {1}; got {2}. {3}"),
    "_spoilt": ("InputError", "The state of TableEncoder is invalid: {0}. Use a state made by state()."),
}

# Functions that return a message, or the end of a message.
RETURNING = {
    "_refusal": "InputError",
    "_interrupt_words": "command line",
    "words": "command line",
}


@dataclass(frozen=True)
class Message:
    """One message: where it is raised, its class, and its text with {placeholders}."""

    path: str
    line: int
    kind: str
    text: str


class Texts:
    """The texts of expressions, with the strings that were assigned to names above them in the same function.

    `constants` are the strings of the module, by name.
    """

    def __init__(self, scope: ast.AST, constants: dict[str, str] | None = None) -> None:
        self.names: dict[str, list[tuple[int, str]]] = {name: [(0, text)] for name, text in (constants or {}).items()}
        for node in ast.walk(scope):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._assign(target, node.value)
            if isinstance(node, ast.For) and isinstance(node.target, ast.Tuple):
                self._assign_in_turn(node.target, node.iter, scope)
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                before, said = self._named(node.target), self(node.value)
                if before is not None and said is not None:
                    self.names[node.target.id].append((node.lineno, before + said))

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for each, given in zip(target.elts, value.elts, strict=False):
                self._assign(each, given)
        elif isinstance(target, ast.Name) and (said := self(value)) is not None:
            self.names.setdefault(target.id, []).append((target.lineno, said))

    def _assign_in_turn(self, target: ast.Tuple, table: ast.expr, scope: ast.AST) -> None:
        """What the names of a loop over a table that is written out stand for, one after the other."""
        if isinstance(table, ast.Call) and isinstance(table.func, ast.Attribute) and table.func.attr == "items":
            table = table.func.value
        if isinstance(table, ast.Name):
            assigned = (node for node in ast.walk(scope) if isinstance(node, ast.Assign))
            names = {ast.unparse(node.targets[0]): node.value for node in assigned}
            table = names.get(table.id, table)
        if isinstance(table, ast.Dict):
            rows = [list(pair) for pair in zip(table.keys, table.values, strict=True)]
        else:
            rows = [row.elts for row in getattr(table, "elts", []) if isinstance(row, ast.Tuple)]
        for name, cells in zip(target.elts, zip(*rows, strict=True), strict=False):
            texts = [text for cell in cells if (text := self(cell)) and "{" not in text[:1]]
            if isinstance(name, ast.Name) and texts:
                self.names.setdefault(name.id, []).append((name.lineno, " / ".join(dict.fromkeys(texts))))

    def _named(self, name: ast.Name) -> str | None:
        """The last string assigned to a name above this line; None if there is none."""
        before = [(line, said) for line, said in self.names.get(name.id, []) if line <= name.lineno]
        return max(before)[1] if before else None

    def __call__(self, node: ast.expr | None) -> str | None:
        """The text of an expression; None if it is not a string."""
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.JoinedStr(values=parts):
                return "".join(self(part) or "" for part in parts)
            case ast.FormattedValue(value=value):
                return self._placeholder(value)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                found = self(left), self(right)
                return None if None in found else "".join(map(str, found))
            case ast.Name() if (found := self._named(node)) is not None:
                return found
            case ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript() | ast.IfExp() | ast.BinOp():
                return self._placeholder(node)
        return None

    def _placeholder(self, value: ast.expr) -> str:
        match value:
            case ast.Name() if " " in (found := self._named(value) or ""):
                return found
            case ast.Call(func=ast.Name(id="repr" | "str" | "short" | "printable" | "legible"), args=[first, *_]):
                return self._placeholder(first)
            case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
                return "{" + name.strip("_") + "}"
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return "{" + name.strip("_") + "}"
            case ast.IfExp(body=body, orelse=orelse):
                either = [said for each in (body, orelse) if (said := self(each))]
                return " / ".join(either) if len(either) == 2 else f"[{either[0]}]" if either else "{...}"
            case ast.Constant(value=constant):
                return str(constant)
        return "{...}"


def _sentence(given: list[ast.expr], said: Texts) -> str:
    what, must_be, got, *rest = [said(each) or "{...}" for each in given] + ["{...}"] * (3 - len(given))
    way_out = f" {rest[0]}" if rest else ""
    return f"{what} must be {must_be}; got {got}.{way_out}"


def _text(call: ast.Call, said: Texts) -> str | None:
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Call) and isinstance(first.func, ast.Name) and first.func.id == "sentence":
        text: str | None = _sentence(first.args, said)
    else:
        text = said(first)
    hint = next((said(each.value) for each in call.keywords if each.arg == "hint"), None)
    return f"{text} {hint}" if text and hint else text


def _name(call: ast.Call) -> str:
    return (
        call.func.id
        if isinstance(call.func, ast.Name)
        else call.func.attr
        if isinstance(call.func, ast.Attribute)
        else ""
    )


def messages(source: Path = SOURCE) -> Iterator[Message]:
    """Every message, module by module."""
    paths = sorted({*source.rglob("*.py")} - {source / "errors.py"})  # which has the forms of messages
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    shared = {name: text for tree in trees.values() for name, text in _constants(tree).items() if name[0] != "_"}
    for path, tree in trees.items():
        place, constants = str(path.relative_to(source)), shared | _constants(tree)
        found = [*_raised(tree, constants), *_reasons(tree), *(_asserted(tree) if place == "testing.py" else [])]
        for line, kind, text in sorted(found):
            if _is_message(text):
                yield Message(place, line, kind, _spoken(" ".join(text.split())))


def _raised(tree: ast.Module, constants: dict[str, str]) -> Iterator[tuple[int, str, str]]:
    """Line, class and text of every error and warning, and of the messages of helper functions."""
    for scope in ast.walk(tree):
        if not isinstance(scope, ast.FunctionDef):
            continue
        said = Texts(scope, constants)
        for node in ast.walk(scope):
            if isinstance(node, ast.Return) and scope.name in RETURNING and (text := said(node.value)):
                yield node.lineno, RETURNING[scope.name], text
            if isinstance(node, ast.Call) and (found := _message(node, said)) is not None:
                yield node.lineno, *found


def _message(call: ast.Call, said: Texts) -> tuple[str, str] | None:
    """Class and text of the message that a call makes; None for other calls."""
    name = _name(call)
    if name.endswith(("Error", "Refusal", "Warning", "BrokenOff", "NotSolved")) and call.args:
        text, kind = _text(call, said), name
    elif name == "refuse_if" and call.args:
        text, kind = _sentence(call.args[1:], said), "InputError"
    elif name == "warn" and len(call.args) > 1:
        kind = call.args[1].id if isinstance(call.args[1], ast.Name) else "warning"
        text = said(call.args[0])
    elif name in HELPERS and call.args:
        kind, form = HELPERS[name]
        if "{1}" in form and len(call.args) < 2 + ("{2}" in form):
            return None  # a method of the same name
        parts = {str(place): said(each) or "{...}" for place, each in enumerate(call.args)}
        text = re.sub(r"\{(\d)\}", lambda found: parts.get(found[1], ""), form).strip()
    else:
        return None
    return (kind, text) if text else None


def _reasons(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """What kernels say: `because` and what `verdict` returns, in certificates, and `without_gram`, in errors."""
    kinds = {"because": "certificate", "without_gram": "InputError"}
    for node in ast.walk(tree):
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(target, ast.Name) and target.id in kinds:
            yield node.lineno, kinds[target.id], Texts(node)(node.value) or ""
        if isinstance(node, ast.FunctionDef) and node.name == "verdict":
            said = Texts(node)
            for each in ast.walk(node):
                if isinstance(each, ast.Tuple) and len(each.elts) == 2 and isinstance(each.elts[0], ast.Constant):
                    yield each.lineno, "certificate", said(each.elts[1]) or ""


def _asserted(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """The assertions of the public checks."""
    for scope in ast.walk(tree):
        if isinstance(scope, ast.FunctionDef):
            said = Texts(scope)
            for node in ast.walk(scope):
                if isinstance(node, ast.Assert) and (text := said(node.msg)):
                    yield node.lineno, "AssertionError", text


def _constants(tree: ast.Module) -> dict[str, str]:
    """The strings of a module, by name."""
    module = Texts(ast.Module([each for each in tree.body if isinstance(each, ast.Assign)], []))
    return {name: found[-1][1] for name, found in module.names.items() if name.isupper()}


def _is_message(text: str) -> bool:
    """Whether a text has words besides its placeholders."""
    return len(re.sub(r"\{[^{}]*\}", "", text).split()) > 1


def _spoken(text: str) -> str:
    """Terms of hints as Python users read them."""
    return Template(text).safe_substitute(python_terms("{name}"))


_HEAD = """Errors and warnings
===================

Every message of mercer, generated from its source. Names in braces stand for values of your call, table or file.
The classes are in ``mercer.errors``; each error is also the built-in error that scikit-learn's users expect
(``ValueError``, ``MemoryError``). Messages name the thing, what it must be, what was found, and what to do. Entries
marked ``certificate`` are the reasons in certificates of kernels.
"""


def page() -> str:
    """The reference page as reStructuredText."""
    parts, seen = [_HEAD], ""
    for message in dict.fromkeys(messages()):
        package = message.path.split("/")[0].removesuffix(".py")
        if package != seen:
            parts.append(f"\n{package}\n{'-' * len(package)}\n")
            seen = package
        text = (
            message.text.replace("\\", "\\\\")
            .replace("*", "\\*")
            .replace("`", "\\`")
            .replace("|", "\\|")
            .replace("_", "\\_")
        )
        parts.append(f"* ``{message.kind}``: {text}")
    return "\n".join(parts) + "\n"


def snapshot() -> str:
    """Every message on a line of its own, in the order of the alphabet: tests/golden/messages.txt."""
    return "".join(sorted({f"{message.kind}: {message.text}\n" for message in messages()}))


if __name__ == "__main__":
    import sys

    sys.stdout.write(snapshot())
