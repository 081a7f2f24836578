"""The formulas of the derivations, written in the letters of the code, as LaTeX for MathJax."""

import re

_GREEK = {"alpha", "phi", "pi", "kappa", "lambda", "delta", "sigma"}
_OPERATORS = {"exp", "log", "log10", "det", "max", "min", "cos", "sin"}
_NAMES = {"tr", "diag", "var", "sd", "mean", "floor", "ceil", "cond", "rank", "sign"}
_WORDS = {
    "sqrt",
    "sqrt2",
    "sum",
    "eps",
    "width",
    "period",
    "scale",
    "bias",
    "variance",
    "noise",
    "risk",
    "GCV",
    "test",
    "train",
}
_SIGNS = {
    "<=": r"\le ",
    ">=": r"\ge ",
    "->": r"\to ",
    "...": r"\dots ",
    "*": r"\cdot ",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
}
_TOKEN = re.compile(r"\s+|[A-Za-z]+[0-9]*|[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?|\|\||<=|>=|->|\.\.\.|.", re.DOTALL)
_SYMBOL = re.compile(r"([A-Za-z])([0-9]*)")
_CODE = re.compile(r"``([^`\n]+)``")
_NUMBER = re.compile(r"\s{2,}\(([0-9]+)\)\s*$")


def is_formula(text: str) -> bool:
    """Whether a piece of code is mathematics: no word in it is longer than a symbol, but for known ones."""
    if re.search(r"[\[\]\"@:]|__|\w_$|\w_\W|\.\w|=\s*(True|False|None)|^[a-z]{2}$", text.replace("...", "")):
        return False
    bare = re.sub(r"(?<=[A-Za-z0-9])_-?[A-Za-z]{1,5}", "", text)
    known = _GREEK | _OPERATORS | _NAMES | _WORDS
    words = re.findall(r"[A-Za-z]+[0-9]*", bare)
    return bool(words) and all(
        word in known or _SYMBOL.fullmatch(word) or re.fullmatch("d[A-Zaep]", word) for word in words
    )


def _word(word: str, *, text: bool) -> str:
    symbol = _SYMBOL.fullmatch(word)
    if word in _GREEK:
        return rf"\{word} "
    if word == "eps":
        return r"\varepsilon "
    if word == "log10":
        return r"\log_{10}"
    if word in _OPERATORS:
        return rf"\{word}"
    if word == "sqrt2":
        return r"\sqrt 2\,"
    if symbol:
        return symbol[1] + (f"_{{{symbol[2]}}}" if symbol[2] else "")
    if word in _NAMES:
        return rf"\operatorname{{{word}}}"
    if re.fullmatch("d[A-Zaep]", word):
        return rf"\mathrm{{d}}{word[1]}"
    return rf"\text{{{word}}}" if text else word


def latex(text: str) -> str:
    """One line of formulas."""
    tokens = _TOKEN.findall(text.strip())
    made: list[str] = []
    opened = {"||": False, "|": False}
    place = 0
    while place < len(tokens):
        token = tokens[place]
        before = tokens[place - 1] if place else ""
        if token.isspace():
            made.append(r"\qquad " if len(token) > 2 and made and made[-1].rstrip().endswith((",", ":")) else " ")
        elif token in opened:
            side = "r" if opened[token] else "l"
            made.append(rf"\{side}{'V' if token == '||' else 'v'}ert ")
            opened[token] = not opened[token]
        elif token == "'" and (before.isalnum() or before == ")"):
            made.append(r"^\top ")
        elif token in "^_":
            group, place = _group(tokens, place + 1)
            made.append(f"{token}{{{group}}}")
            continue
        elif token == "sqrt":
            group, place = _group(tokens, place + 1)
            made.append(rf"\sqrt{{{group}}}")
            continue
        elif token == "sum":
            over = re.match(r"sum over|sum of", "".join(tokens[place : place + 3]))
            made.append(r"\text{sum}" if over else r"\sum")
        elif token[0].isalpha():
            made.append(_word(token, text=True))
        else:
            made.append(_SIGNS.get(token, token))
        place += 1
    return _joined("".join(made))


def _group(tokens: list[str], place: int) -> tuple[str, int]:
    """What an exponent, an index or a root belongs to, and the place after it."""
    sign = ""
    if tokens[place] == "-":
        sign, place = "-", place + 1
    token = tokens[place]
    if token == "(":
        depth, end = 1, place + 1
        while depth:
            depth += {"(": 1, ")": -1}.get(tokens[end], 0)
            end += 1
        return sign + latex("".join(tokens[place + 1 : end - 1])), end
    if token == "T":
        return sign + r"\top", place + 1
    if tokens[place + 1 : place + 2] == ["/"] and token.isdigit() and tokens[place + 2].isdigit():
        return f"{sign}{token}/{tokens[place + 2]}", place + 3
    plain = token if not token[0].isalpha() else _word(token, text=False) if len(token) < 4 else rf"\text{{{token}}}"
    return sign + plain, place + 1


def _joined(made: str) -> str:
    """Neighbouring words in one text."""
    while (together := re.sub(r"\\text\{([^{}]*)\}( +)\\text\{", r"\\text{\1 ", made)) != made:
        made = together
    return re.sub(r"\\text\{([^{}]*)\}(?= \S)", r"\\text{\1 }", re.sub(r"(?<=\S )\\text\{", r"\\text{ ", made))


def display(block: list[str]) -> list[str]:
    """A literal block as display mathematics, with its number."""
    numbers = [found[1] for line in block if (found := _NUMBER.search(line))]
    lines = [latex(_NUMBER.sub("", line)) for line in block if line.strip()]
    tag = [rf"\tag{{{numbers[0]}}}"] if numbers else []
    if len(lines) > 1:
        lines = [r"\begin{gathered}", *(f"{line} \\\\" for line in lines[:-1]), lines[-1], r"\end{gathered}"]
    return [".. math::", "", *(f"   {line}" for line in [*lines, *tag]), ""]


def typeset(source: str) -> str:
    """A page in which formulas, in literal blocks and between backquotes, are mathematics."""
    lines, made, place = source.split("\n"), [], 0
    while place < len(lines):
        line = lines[place]
        place += 1
        if line.startswith(">>>"):  # an example, up to the blank line
            made.append(line)
            while place < len(lines) and lines[place].strip():
                made.append(lines[place])
                place += 1
            continue
        if not line.rstrip().endswith("::") or line.lstrip().startswith(".."):
            made.append(
                _CODE.sub(lambda found: f":math:`{latex(found[1])}`" if is_formula(found[1]) else found[0], line)
            )
            continue
        text = line.rstrip().removesuffix("::").rstrip()
        made += [
            _CODE.sub(lambda found: f":math:`{latex(found[1])}`" if is_formula(found[1]) else found[0], text)
            + ("" if line.rstrip().endswith(" ::") else ":"),
            "",
        ]
        block: list[str] = []
        while place < len(lines) and (not lines[place].strip() or lines[place].startswith("    ")):
            block.append(lines[place])
            place += 1
        made += display([each for each in block if each.strip()])
    return "\n".join(made)
