"""The words of guard expressions, and their tokens, which editors look at too. Offsets count code points."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

# The words that CEL keeps for itself.
RESERVED = frozenset((
    "as", "break", "const", "continue", "else", "false", "for", "function", "has", "if", "import", "in",
    "let", "loop", "namespace", "null", "package", "return", "true", "var", "void", "while",
))  # fmt: skip
# Names of types, as `type(x) == list` compares them.
TYPE_NAMES = ("bool", "double", "int", "list", "map", "null_type", "string", "type")
MACROS = {
    "all": "whether the guard holds for every element",
    "exists": "whether the guard holds for one element",
    "exists_one": "whether the guard holds for exactly one element",
    "filter": "the elements for which the guard holds",
    "map": "a value for each element, with a guard before it only for those that it holds for",
    "optMap": "of an optional value: another one made of it, or none",
    "optFlatMap": "of an optional value: another optional one made of it",
}
LITERALS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


class Lexeme(StrEnum):
    """The kinds of tokens. An `UNCLOSED` text goes to the end; `UNKNOWN` is a character of no token."""

    TEXT = "text"
    NUMBER = "number"
    NAME = "name"
    SIGN = "sign"
    UNCLOSED = "unclosed"
    UNKNOWN = "unknown"


class Token(NamedTuple):
    """One token. `at`, `end`: its offsets."""

    kind: Lexeme
    text: str
    at: int
    end: int


_TOKEN = re.compile(
    r"""(?:[ \t\r\n\f]+|//[^\n]*)
    |(?P<text>(?:[bB]?[rR]|[rR][bB])(?:'''(?s:.*?)'''|\"\"\"(?s:.*?)\"\"\"|'[^'\n]*'|"[^"\n]*")
        |[bB]?(?:'''(?s:\\.|[^\\])*?'''|\"\"\"(?s:\\.|[^\\])*?\"\"\"
        |'(?:\\.|[^'\\\n])*+'|"(?:\\.|[^"\\\n])*+"))
    |(?P<number>0[xX][0-9a-fA-F]+[uU]?|(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?[uU]?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>\|\||&&|[=!<>]=|[-+*/%!?:.,<>(){}\[\]])
    |(?P<unclosed>(?:[bBrR]{0,2})(?:'''|\"\"\"|'|")(?s:.*))
    |(?P<unknown>(?s:.))""",
    re.VERBOSE,
)


def tokens(source: str) -> Iterator[Token]:
    """The tokens of a text, which need not be an expression yet; blanks and comments are left out."""
    for match in _TOKEN.finditer(source):
        if match.lastgroup:
            yield Token(Lexeme(match.lastgroup), match[0], *match.span())
