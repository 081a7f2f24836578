"""Every error and warning of mercer, read from its source: the generated reference page."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Template

from mercer.errors import python_terms

SOURCE = Path(__file__).parent.parent / "src" / "mercer"


@dataclass(frozen=True)
class Message:
    """One message: where it is raised, its class, and its text with {placeholders}."""

    path: str
    line: int
    kind: str
    text: str


class Texts:
    """What expressions say, with the strings that were assigned to names above them in the same function."""

    def __init__(self, scope: ast.AST) -> None:
        self.names: dict[str, list[tuple[int, str]]] = {}
        for node in ast.walk(scope):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._assign(target, node.value)
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

    def _named(self, name: ast.Name) -> str | None:
        """What a name stood for when this line was reached, as far as the text above tells."""
        before = [(line, said) for line, said in self.names.get(name.id, []) if line <= name.lineno]
        return max(before)[1] if before else None

    def __call__(self, node: ast.expr | None) -> str | None:
        """The text of an expression; None where it is none."""
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


def _sentence(call: ast.Call, said: Texts) -> str:
    what, must_be, got, *rest = [said(each) or "{...}" for each in call.args] + ["{...}"] * (3 - len(call.args))
    way_out = f" {rest[0]}" if rest else ""
    return f"{what} must be {must_be}; got {got}.{way_out}"


def _text(call: ast.Call, said: Texts) -> str | None:
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Call) and isinstance(first.func, ast.Name) and first.func.id == "sentence":
        text: str | None = _sentence(first, said)
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
    for path in sorted(source.rglob("*.py")):
        tree, place = ast.parse(path.read_text(encoding="utf-8")), str(path.relative_to(source))
        for scope in ast.walk(tree):
            if not isinstance(scope, ast.FunctionDef):
                continue
            said = Texts(scope)
            for node in ast.walk(scope):
                if not isinstance(node, ast.Call):
                    continue
                name = _name(node)
                if name.endswith(("Error", "Refusal", "Warning")) and node.args:
                    text, kind = _text(node, said), name
                elif name == "warn" and len(node.args) > 1:
                    kind = node.args[1].id if isinstance(node.args[1], ast.Name) else "warning"
                    text = said(node.args[0])
                elif name == "refused" and node.args:
                    kind, text = "InputError", _refused(node, said)
                else:
                    continue
                if text and " " in text and not text.startswith("{"):
                    yield Message(place, node.lineno, kind, _spoken(" ".join(text.split())))


def _spoken(text: str) -> str:
    """Terms of hints as Python users read them."""
    return Template(text).safe_substitute(python_terms("{name}"))


def _refused(call: ast.Call, said: Texts) -> str | None:
    must_be = said(call.args[0])
    hint = said(call.args[2]) if len(call.args) > 2 else ""
    return f"Column {{name}} must be {must_be}; got {{cell}} in {{place}}. {hint}".strip()


_HEAD = """Errors and warnings
===================

Every message that mercer raises, generated from its source. Names in braces stand for what your call, table or file holds. The
classes are in ``mercer.errors``; each error is also the built-in error that scikit-learn's users expect (``ValueError``, ``MemoryError``).
Messages have one form: what is wrong, what it must be, what was found, and what to do.
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


if __name__ == "__main__":
    import sys

    for message in dict.fromkeys(messages()):
        sys.stdout.write(f"{message.path}:{message.line} [{message.kind}] {message.text}\n")
