"""Readers of JSON and YAML texts: text -> data and problems, and where in the text a value stands.

Positions cost far more than the parse itself, so they are computed only when somebody asks. Nothing
here raises on content, except `read_yaml`, which refuses a broken definition as a whole.
Lines end at "\\n" (so "\\r\\n" is one line end and a lone "\\r" is none); columns are code points.
"""

from __future__ import annotations

import json
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import islice
from json.decoder import scanstring
from math import isfinite
from typing import Any, NamedTuple, NoReturn

import yaml

from .findings import Problem, Span

MAX_JSON_DEPTH = 200
MAX_YAML_DEPTH = 50
MAX_YAML_LENGTH = 256 * 1024
# A hostile file could hold a million mistakes; nobody reads more than this many of one file.
MAX_PROBLEMS = 100
# Beyond this a dotted key would nest the data deeper than its readers expect; it stays a plain key.
MAX_DOTTED_PARTS = 50


class Document(NamedTuple):
    """What a text says. An empty text is not readable and has no problem: its reader knows a word for that."""

    data: object
    problems: tuple[Problem, ...]
    readable: bool


class Broken(Exception):  # noqa: N818 - the definition is broken; no program error
    """A definition that cannot be used; `problems` says why, each at its place."""

    def __init__(self, problems: tuple[Problem, ...]):
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


def span_between(text: str, start: int, end: int) -> Span:
    """The span of `text[start:end]`."""
    line, column = _line_and_column(text, start)
    end_line, end_column = _line_and_column(text, end)
    return Span(line, column, end_line, end_column)


def _line_and_column(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset), offset - (text.rfind("\n", 0, offset) + 1)


_CONFLICT = re.compile(r"(?:<{7}|={7}|>{7}|\|{7})(?= |\r?$)", re.M)
_WORD = re.compile(r'"[^"\r\n]*"?|[\w.+-]+|[^\r\n]?')


def _syntax_problem(text: str, code: str, offset: int, sentence: str) -> Problem:
    """A problem at the word that begins at `offset`."""
    offset = min(offset, len(text))
    word = _CONFLICT.match(text, offset)
    if word:
        sentence = "a merge conflict was left in the file"
    else:
        word = _WORD.match(text, offset)
    end = word.end() if word else offset
    return Problem(code, sentence, span_between(text, offset, end))


def _unreadable(code: str, problem: Problem) -> Document:
    return Document(None, (problem._replace(code=code),), False)


# --- JSON -------------------------------------------------------------------------------------------

# Possessive, so that a text that never ends is read once and not once from each of its quotes.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
_TOKEN = re.compile(rf"({_STRING})([ \t\r\n]*+:)?|[\[\]{{}}]", re.S)
_CONSTANT = re.compile(rf"{_STRING}|(NaN|-?Infinity)", re.S)
_NUMBER = re.compile(rf"{_STRING}|(-?[0-9]{{640,}})", re.S)
_LONE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.S
)

_JSON_SENTENCES = {
    "Expecting value": "a value is expected here",
    "Expecting property name enclosed in double quotes": "a key in double quotes is expected here",
    "Expecting ':' delimiter": "a colon is expected here, after the key",
    "Expecting ',' delimiter": "a comma or a closing bracket is expected here",
    "Extra data": "something follows after the end of the value",
    "Unterminated string starting at": "the text that starts here has no closing quote",
    "Invalid control character at": "a line break or control character stands inside a text; write it as an escape",
    "Invalid \\escape": "a backslash is followed by a character that makes no escape",
    "Invalid \\uXXXX escape": "an escape \\u needs four hexadecimal digits",
}


class _Constant(ValueError):
    """NaN and the infinities, which Python's parser lets through and JSON does not have."""


def _refuse_constant(name: str) -> NoReturn:
    raise _Constant(name)


def read_json(text: str) -> Document:
    """The value of a JSON text.

    Not readable: what is no JSON (NaN and infinities too), values nested more than 200 deep, numbers
    too long for Python to read, halves of surrogate pairs. A key that stands twice in one object is a
    `duplicate-key` problem at each later place (at most 100 are told); the last one counts.
    """
    if not text.strip():
        return Document(None, (), False)
    repeated = False

    def build(pairs: list[tuple[str, object]]) -> dict[str, object]:
        nonlocal repeated
        built = dict(pairs)
        repeated = repeated or len(built) != len(pairs)
        return built

    try:
        data = json.loads(text, object_pairs_hook=build, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        return Document(None, (_json_problem(text, error),), False)
    problem = _too_deep(text) or _half_character(text) or _half_escape(text)
    if problem:
        return Document(None, (problem,), False)
    return Document(data, tuple(islice(_duplicates(text), MAX_PROBLEMS)) if repeated else (), True)


def _json_problem(text: str, error: Exception) -> Problem:
    code = "artifact-unreadable"
    if isinstance(error, json.JSONDecodeError):
        known = _JSON_SENTENCES.get(error.msg, error.msg[:1].lower() + error.msg[1:])
        ends = error.msg.startswith("Expecting") and error.pos >= len(text.rstrip())
        sentence = "the text ends in the middle of a value" if ends else known
        return _syntax_problem(text, code, error.pos, f"not valid JSON: {sentence}")
    if isinstance(error, _Constant):
        return _syntax_problem(text, code, _first(_CONSTANT, text), f"not valid JSON: {error} is no JSON number")
    if isinstance(error, ValueError):
        return _syntax_problem(text, code, _first(_NUMBER, text), "a number has too many digits to be read")
    return _too_deep(text) or Problem(code, "nested too deep to be read")


def _first(pattern: re.Pattern[str], text: str) -> int:
    """Where the first group of `pattern` matches first; the other matches only step over strings."""
    return next((match.start() for match in pattern.finditer(text) if match[1]), 0)


def _too_deep(text: str) -> Problem | None:
    if text.count("[") + text.count("{") <= MAX_JSON_DEPTH:
        return None
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > MAX_JSON_DEPTH:
            sentence = f"nested more than {MAX_JSON_DEPTH} levels deep"
            return _syntax_problem(text, "artifact-unreadable", token.start(), sentence)
    return None


def _half_character(text: str) -> Problem | None:
    """A lone surrogate in the text itself; an editor can send one, a file decoded as UTF-8 has none."""
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError as error:
        sentence = "half a surrogate pair stands here; it is no character"
        return Problem("artifact-unreadable", sentence, span_between(text, error.start, error.start + 1))
    return None


def _half_escape(text: str) -> Problem | None:
    if "\\ud" not in text and "\\uD" not in text:
        return None
    for escape in _LONE.finditer(text):
        if escape[1]:
            sentence = f"{escape[1]} is half a surrogate pair; it is no character"
            return Problem("artifact-unreadable", sentence, span_between(text, *escape.span()))
    return None


def _duplicates(text: str) -> Iterator[Problem]:
    """A problem for each key that stood before in its object; only for texts that are valid JSON."""
    levels: list[set[str]] = []
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            levels.append(set())
        elif token[0] in "]}":
            levels.pop()
        elif token[2]:
            name, end = scanstring(text, token.start() + 1)
            if name in levels[-1]:
                sentence = f"the key {json.dumps(name, ensure_ascii=False)} stands twice; only this last one counts"
                yield Problem("duplicate-key", sentence, span_between(text, token.start(), end))
            levels[-1].add(name)


_SPACE = re.compile(r"[ \t\r\n]*")
# Values that are only stepped over keep their digits as text, which costs less and never fails.
_STEP_OVER = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode


class _Place(NamedTuple):
    """Offsets of a value, and of its key's string (-1 when it has none)."""

    key_start: int
    key_end: int
    start: int
    end: int


def locate_json(text: str, path: tuple[str | int, ...], key: bool = False) -> Span | None:
    """The span of the value at `path`, or of its key; the last of two equal keys counts.

    None when the path is not there, the text is broken, or a list element is asked for its key.
    """
    try:
        place = _locate(text, path)
    except (ValueError, IndexError, RecursionError):
        return None
    if place is None or (key and place.key_start < 0):
        return None
    return span_between(text, *(place[:2] if key else place[2:]))


def _locate(text: str, path: tuple[str | int, ...]) -> _Place | None:
    """One pass: containers on the path are entered, all other values are stepped over by the C parser."""
    found: _Place | None = None
    entered: list[tuple[str, int]] = []  # for each container entered: its bracket, and the index reached
    at = _space(text, 0)
    name = (-1, -1)
    on_path = True
    while True:
        if on_path:
            found = None  # this place overrules an earlier one under an equal key
        if on_path and len(entered) < len(path) and text[at] in "{[":
            entered.append((text[at], -1))
            at = _space(text, at + 1)
            first = True
        else:
            start = at
            _, at = _STEP_OVER(text, at)
            if on_path and len(entered) == len(path):
                found = _Place(*name, start, at)
            first = False
        while True:
            if not entered:
                return found
            bracket, index = entered[-1]
            at = _space(text, at)
