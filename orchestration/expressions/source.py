"""The text of expressions and templates: which names it reads, and how it is rewritten to be evaluated.

Works on the source alone, because most questions about names need no syntax tree. Offsets count code
points. String literals and comments are blanked first, so that the patterns below see code only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

# Functions whose result is a set of tasks: it may be large, and is converted only if it is looked into.
SET_FUNCTIONS = ("tasks", "unreported", "unreported_since")
# The longest dotted name of a fact has so many parts: limits.NAME.count.
MOST_PARTS = 3
# The words CEL keeps for itself.
RESERVED = frozenset((
    "as", "break", "const", "continue", "else", "false", "for", "function", "has", "if", "import", "in",
    "let", "loop", "namespace", "null", "package", "return", "true", "var", "void", "while",
))  # fmt: skip

# One that is never closed is a literal, too, up to where it cannot go on: so no text is looked through twice.
_LITERAL = re.compile(
    r"""(?:[bB]?[rR]|[rR][bB])(?:'''(?s:.*?)(?:'''|\Z)|\"\"\"(?s:.*?)(?:\"\"\"|\Z)|'[^'\n]*'?|"[^"\n]*"?)"""
    r"""|[bB]?(?:'''(?s:\\.|[^\\])*?(?:'''|\\?\Z)|\"\"\"(?s:\\.|[^\\])*?(?:\"\"\"|\\?\Z)"""
    r"""|'(?:\\.|[^'\\\n])*+'?|"(?:\\.|[^"\\\n])*+"?)"""
    r"""|//[^\n]*"""
)
_CHAIN = re.compile(r"(?<!\w)([A-Za-z_]\w*)((?:\s*\.\s*\??\s*[A-Za-z_]\w*\b(?!\s*\())*)\b(?!\s*\()")
_PART = re.compile(r"\.\s*\??\s*([A-Za-z_]\w*)")
_MACRO = re.compile(
    r"\.\s*(?:all|exists|exists_one|filter|map|optMap|optFlatMap)\s*(\()\s*([A-Za-z_]\w*)\s*,"
)
_PARENTHESIS = re.compile(r"[()]")
_SELECTS = re.compile(r"\.\s*\??\s*\Z")
_WORDS = frozenset({"true", "false", "null", "in"})


class Read(NamedTuple):
    """A dotted path that an expression reads, the offset where it starts, and where each part of it ends."""

    path: tuple[str, ...]
    offset: int
    ends: tuple[int, ...]


def masked(source: str) -> str:
    """The source with its string literals and comments blanked; offsets stay as they are."""
    return _LITERAL.sub(_blank, source) if "'" in source or '"' in source or "//" in source else source


def _blank(literal: re.Match[str]) -> str:
    # Quotes stay, so that a blanked text is still something and no gap between two names.
    text = literal[0]
    if text[:2] != "//" and not _is_closed(text):
        return text
    return " " * len(text) if text.startswith("//") else '"' + "~" * (len(text) - 2) + '"'


def _is_closed(text: str) -> bool:
    """Whether a literal ends with the quotes that it begins with."""
    quoted = text.lstrip("bBrR")
    quotes = quoted[:3] if quoted[:3] in ("'''", '"""') else quoted[:1]
    return len(quoted) >= 2 * len(quotes) and quoted.endswith(quotes)


def reads(source: str) -> list[Read]:
    """Every longest chain NAME.field.field that is no bound variable, in the order of the text."""
    code = masked(source)
    bound = list(_bound(code))
    found = []
    for match in _CHAIN.finditer(code):
        name, at = match[1], match.start()
        if name in _WORDS or _SELECTS.search(code, max(0, at - 80), at) or _is_bound(name, at, bound):
            continue
        parts = list(_PART.finditer(code, match.end(1), match.end()))
        ends = (match.end(1), *(part.end() for part in parts))
        found.append(Read((name, *(part[1] for part in parts)), at, ends))
    return found


def _bound(code: str) -> Iterator[tuple[str, int, int]]:
    """(name, start, end) of each variable that a comprehension binds, and where it does."""
    closing = _closing(code)
    for macro in _MACRO.finditer(code):
        yield macro[2], macro.start(1), closing.get(macro.start(1), len(code))


def _is_bound(name: str, at: int, bound: Sequence[tuple[str, int, int]]) -> bool:
    return any(name == variable and start < at < end for variable, start, end in bound)


def _closing(code: str) -> dict[int, int]:
    """Where each parenthesis that opens is closed; those that never are left out."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for sign in _PARENTHESIS.finditer(code):
        if sign[0] == "(":
            opened.append(sign.start())
        elif opened:
            found[opened.pop()] = sign.start()
    return found


def prefixes(path: Sequence[str]) -> list[str]:
    """Dotted names that a path may stand for, the longest first."""
    return [".".join(path[:length]) for length in range(min(len(path), MOST_PARTS), 0, -1)]


def named(path: Sequence[str], names: Collection[str]) -> str:
    """The longest of `names` that a path begins with, "" if there is none."""
    return next((name for name in prefixes(path) if name in names), "")


# ---- rewriting --------------------------------------------------------------------------------

# What of a set of tasks is needed: its elements, its size, or the set itself, which a value then hands on.
ELEMENTS, SIZE, HANDLE = "elements", "size", "handle"

_SET_CALL = re.compile(rf"(?<![\w.])({'|'.join(SET_FUNCTIONS)})\s*(\()")
_SIZE = re.compile(r"\s*\.\s*size\s*\(\s*\)")
_SIZE_OPENS = re.compile(r"(?<![\w.])size(?=\s*\(\s*\Z)")
_CLOSES = re.compile(r"\s*\)")
_EMPTY = re.compile(r"\s*([=!]=)\s*\[\s*\](?=\s*(?:\Z|[)\]},?:]|&&|\|\|))")
# What stands before an operand of == if nothing binds it tighter.
_OPERAND = re.compile(r"(?:\A|[(\[{,?:]|&&|\|\|)\s*\Z")
# No expression hides more blanks than this between two of its signs without losing the shortcut.
_NEAR = 40


class Change(NamedTuple):
    """`source[start:end]` becomes `text`."""

    start: int
    end: int
    text: str


def internal(function: str, use: str) -> str:
    """The name of the twin of a function that gives only the size of its set, or a handle of it."""
    return function if use == ELEMENTS else f"__{function}_{use}"


def rewritten(
    source: str,
    call: Callable[[str, str], str],
    facts: Collection[str],
    sets: Collection[str],
    use: str = ELEMENTS,
) -> str:
    """The text that is evaluated: each fact becomes what `call(name, use)` says.

    Where only the size of a set of tasks matters its use is SIZE, so that no task is converted; elsewhere
    it is `use`.
    """
    code = masked(source)
    changes: list[Change] = []
    for read in reads(source) if facts else ():
        name = named(read.path, facts)
        if name:
            end = read.ends[name.count(".")]
            size = _only_size(code, read.offset, end) if name in sets else []
            wanted = SIZE if size else use if name in sets else ELEMENTS
            changes += [Change(read.offset, end, call(name, wanted)), *size]
    closing = _closing(code)
    for match in _SET_CALL.finditer(code):
        size = _only_size(code, match.start(), closing.get(match.start(2), len(code)) + 1)
        changes += [Change(match.start(), match.end(1), internal(match[1], SIZE if size else use)), *size]
    for change in sorted(changes, reverse=True):
        source = source[: change.start] + change.text + source[change.end :]
    return source


def _only_size(code: str, start: int, end: int) -> list[Change]:
    """The changes around the list at `code[start:end]` after which its size stands there.

    None where the list is looked into.
    """
    before = code[max(0, start - _NEAR) : start]
    if size := _SIZE.match(code, end):
        return [Change(end, size.end(), "")]
    opens = _SIZE_OPENS.search(before)
    if opens and _CLOSES.match(code, end):
        at = start - len(before)
        return [Change(at + opens.start(), at + opens.end(), "")]
    empty = _EMPTY.match(code, end)
    if empty and _OPERAND.search(before):
        return [Change(end, empty.end(), f" {empty[1]} 0")]
    return []


# ---- templates --------------------------------------------------------------------------------

_BRACES = re.compile(r"""\{((?:[^{}'"]|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")+)\}""")
_BRACE = re.compile(r"[{}]")


def template_parts(source: str) -> list[tuple[str, int]]:
    """Text, expression, text, ... of a template with their offsets: expressions at the odd places."""
    parts = []
    at = 0
    for match in _BRACES.finditer(source):
        parts += [(source[at : match.start()], at), (match[1], match.start(1))]
        at = match.end()
    return [*parts, (source[at:], at)]


def stray_brace(text: str) -> int | None:
    """Where a brace stands in the text part of a template, which would be no expression and no text."""
    found = _BRACE.search(text)
    return found.start() if found else None
