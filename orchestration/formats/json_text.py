"""JSON texts: text -> data and problems, where in the text a value stands, and what is done with such data.

Positions cost far more than the parse itself, so they are computed only when somebody asks. Nothing
here raises on content. Lines end at "\\n" (so "\\r\\n" is one line end and a lone "\\r" is none); columns
are code points. YAML is read in `yaml_text.py`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Container, Iterator
from itertools import chain, islice
from json.decoder import scanstring  # pyright: ignore[reportAttributeAccessIssue]
from math import isfinite
from typing import Any, NamedTuple, NoReturn

from ..findings import Problem, SourceProblem, Span

MAX_JSON_DEPTH = 200
# A hostile file could hold a million mistakes; nobody reads more than this many of one file.
MAX_PROBLEMS = 100
# Beyond this a dotted key would nest the data deeper than its readers expect; it stays a plain key.
MAX_DOTTED_PARTS = 50


class ParsedText(NamedTuple):
    """The value of a text. An empty text is not readable and has no problem.

    `source_problems` are what a tool's report says of source files.
    """

    data: object
    problems: tuple[Problem, ...]
    readable: bool
    source_problems: tuple[SourceProblem, ...] = ()


def span_between(text: str, start: int, end: int) -> Span:
    """The span of `text[start:end]`."""
    line, column = _line_and_column(text, start)
    end_line, end_column = _line_and_column(text, end)
    return Span(line, column, end_line, end_column)


def _line_and_column(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset), offset - (text.rfind("\n", 0, offset) + 1)


_CONFLICT = re.compile(r"(?:<{7}|={7}|>{7}|\|{7})(?= |\r?$)", re.M)
_WORD = re.compile(r""""[^"\r\n]*"?|'[^'\r\n]*'?|[\w.+-]+|[^\r\n]?""")


def syntax_problem(text: str, code: str, offset: int, sentence: str) -> Problem:
    """A problem at the word that begins at `offset`."""
    offset = min(offset, len(text))
    word = _CONFLICT.match(text, offset)
    if word:
        sentence = "a merge conflict was left in the file"
    else:
        word = _WORD.match(text, offset)
    end = word.end() if word else offset
    return Problem(code, sentence, span_between(text, offset, end))


# --- JSON -------------------------------------------------------------------------------------------

# Possessive, so that a text that never ends is read once and not once from each of its quotes.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
_TOKEN = re.compile(rf"({_STRING})([ \t\r\n]*+:)?|[\[\]{{}}]", re.S)
_CONSTANT = re.compile(rf"{_STRING}|(NaN|-?Infinity)", re.S)
# 4300 digits are the most that Python reads, for converting more takes quadratic time.
_NUMBER = re.compile(rf"{_STRING}|(-?[0-9]{{4301,}}+)(?![.eE])|[-+.eE0-9]++", re.S)
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
    "Invalid control character at": "a line break or control character stands in a text; write an escape",
    "Invalid \\escape": "a backslash and what follows it make no escape",
    "Invalid \\uXXXX escape": "an escape \\u needs four hexadecimal digits",
}


class _ConstantError(ValueError):
    """NaN and the infinities, which Python's parser lets through and JSON does not have."""


def refuse_constant(name: str) -> NoReturn:
    raise _ConstantError(name)


def read_json(text: str) -> ParsedText:
    """The value of a JSON text.

    Not readable: what is no JSON (NaN and infinities too), values nested more than 200 deep, numbers
    too long for Python to read, halves of surrogate pairs. A key that stands twice in one object is a
    `duplicate-key` problem at each later place, and the last one counts. With different values it is
    `artifact-contradictory` at each place. At most 100 are told, contradictions first.
    """
    if not text.strip():
        return ParsedText(None, (), False)
    is_repeated = False
    contradictory: set[str] = set()

    def build(pairs: list[tuple[str, object]]) -> dict[str, object]:
        nonlocal is_repeated
        built = dict(pairs)
        if len(built) != len(pairs):
            is_repeated = True
            # In Python true is 1.
            differing = (n for n, v in pairs if type(v) is not type(built[n]) or v != built[n])
            contradictory.update(differing)
        return built

    try:
        data = json.loads(text, object_pairs_hook=build, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        return ParsedText(None, (_json_problem(text, error),), False)
    # A value that another one of its key replaces is not in the data.
    is_deep = is_repeated or _is_deep(data)
    problem = (_too_deep(text) if is_deep else None) or half_character(text) or half_escape(text)
    if problem:
        return ParsedText(None, (problem,), False)
    if not is_repeated:
        return ParsedText(data, (), True)
    contradictions = _repeated_keys(text, contradictory, True) if contradictory else ()
    duplicates = _repeated_keys(text, contradictory, False)
    return ParsedText(data, tuple(islice(chain(contradictions, duplicates), MAX_PROBLEMS)), True)


def _json_problem(text: str, error: Exception) -> Problem:
    code = "artifact-unreadable"
    if isinstance(error, json.JSONDecodeError):
        known = _JSON_SENTENCES.get(error.msg, error.msg[:1].lower() + error.msg[1:])
        ends = error.msg.startswith("Expecting") and error.pos >= len(text.rstrip())
        sentence = "the text ends in the middle of a value" if ends else known
        return syntax_problem(text, code, error.pos, f"not valid JSON: {sentence}")
    if isinstance(error, _ConstantError):
        return syntax_problem(
            text, code, _first(_CONSTANT, text), f"not valid JSON: {error} is no JSON number"
        )
    if isinstance(error, ValueError):
        return syntax_problem(text, code, _first(_NUMBER, text), "a number has too many digits to be read")
    return _too_deep(text) or Problem(code, "nested too deep to be read")


def _first(pattern: re.Pattern[str], text: str) -> int:
    """Where the first group of `pattern` matches first; the other matches only step over strings."""
    return next((match.start() for match in pattern.finditer(text) if match[1]), 0)


def _is_deep(data: object) -> bool:
    """Whether values are nested deeper than `MAX_JSON_DEPTH`; level by level, since data may be large."""
    level = [data] if isinstance(data, (dict, list)) else []
    for _ in range(MAX_JSON_DEPTH):
        if not level:
            return False
        level = [
            item
            for value in level
            for item in (value.values() if isinstance(value, dict) else value)
            if isinstance(item, (dict, list))
        ]
    return bool(level)


def _too_deep(text: str) -> Problem | None:
    if text.count("[") + text.count("{") <= MAX_JSON_DEPTH:
        return None
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > MAX_JSON_DEPTH:
            sentence = f"nested more than {MAX_JSON_DEPTH} levels deep"
            return syntax_problem(text, "artifact-unreadable", token.start(), sentence)
    return None


def half_character(text: str) -> Problem | None:
    """A lone surrogate in the text itself; an editor can send one, a file decoded as UTF-8 has none."""
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError as error:
        sentence = "half a surrogate pair stands here; it is no character"
        return Problem("artifact-unreadable", sentence, span_between(text, error.start, error.start + 1))
    return None


def half_escape(text: str) -> Problem | None:
    if "\\ud" not in text and "\\uD" not in text:
        return None
    for escape in _LONE.finditer(text):
        if escape[1]:
            sentence = f"{escape[1]} is half a surrogate pair; it is no character"
            return Problem("artifact-unreadable", sentence, span_between(text, *escape.span()))
    return None


def _repeated_keys(text: str, contradictory: Container[str], is_wanted: bool) -> Iterator[Problem]:
    """A problem for each key that stood before in its object; only for texts that are valid JSON.

    Of `contradictory` keys the first place is one too. These, or else all others, are wanted: a place costs a
    look at all of the text before it.
    """
    levels: list[dict[str, tuple[int, int]]] = []
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            levels.append({})
        elif token[0] in "]}":
            levels.pop()
        elif token[2]:
            name, end = scanstring(text, token.start() + 1)
            if (name in contradictory) is not is_wanted:
                continue
            place, first = (token.start(), end), levels[-1].get(name)
            shown = json.dumps(name, ensure_ascii=False)
            if first and is_wanted:
                said = f"the key {shown} stands twice with different values; which one holds, nobody can tell"
                if first != _TOLD:
                    yield Problem("artifact-contradictory", said, span_between(text, *first))
                yield Problem("artifact-contradictory", said, span_between(text, *place))
                place = _TOLD
            elif first:
                said = f"the key {shown} stands twice; only this last one counts"
                yield Problem("duplicate-key", said, span_between(text, *place))
            levels[-1][name] = place


_TOLD = (-1, -1)
"""The place of a contradictory key that is a problem already."""
_SPACE = re.compile(r"[ \t\r\n]*+")
DECODER = json.JSONDecoder(parse_constant=refuse_constant)


class Member(NamedTuple):
    """Offsets of one member of a container; `start` is its key's, in a list its value's."""

    key: str | None
    start: int
    key_end: int
    value: int
    end: int


def skip_space(text: str, at: int) -> int:
    """Where the next character that is no space stands."""
    return _SPACE.match(text, at).end()  # pyright: ignore[reportOptionalMemberAccess]


def members(text: str, at: int) -> Iterator[Member]:
    """The members of the container at `at`, in valid JSON; their values are skipped at C speed."""
    has_keys = text[at] == "{"
    at = skip_space(text, at + 1)
    while text[at] not in "}]":
        key, start, key_end = None, at, at
        if has_keys:
            key, key_end = scanstring(text, at + 1)
            at = skip_space(text, skip_space(text, key_end) + 1)
        end = DECODER.raw_decode(text, at)[1]
        yield Member(key, start, key_end, at, end)
        at = skip_space(text, end)
        if text[at] == ",":
            at = skip_space(text, at + 1)


def locate_json(text: str, path: tuple[str | int, ...], key: bool = False) -> Span | None:
    """The span of the value at `path`, or of its key; the last of two equal keys counts.

    None when the path is not there, the text is broken, or what is asked for has no key.
    """
    at = skip_space(text, 0)
    try:
        end = DECODER.raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return None
    if skip_space(text, end) != len(text):
        return None
    place = Member(None, at, at, at, end)
    for step in path:
        inside = members(text, place.value) if text[place.value] in "{[" else ()
        numbered = ((number if each.key is None else each.key, each) for number, each in enumerate(inside))
        found = [each for name, each in numbered if name == step]
        if not found:
            return None
        place = found[-1]
    if key:
        return span_between(text, place.start, place.key_end) if place.key is not None else None
    return span_between(text, place.value, place.end)


# --- Data -------------------------------------------------------------------------------------------


def clean(value: object) -> object:
    """Data as guards see it: null is absent, and every number is an int64 or a finite double (A.3).

    Null-valued keys and null list elements are dropped. The value itself is not changed.
    """
    if isinstance(value, dict):
        return {name: clean(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [clean(item) for item in value if item is not None]
    if (isinstance(value, int) and not -(2**63) <= value < 2**63) or (
        isinstance(value, float) and not isfinite(value)
    ):
        largest = sys.float_info.max
        return float(max(-largest, min(largest, value)))
    return value


def fold_dotted(data: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The data with each top-level key "a.b" moved to the path a.b, and those keys in order (seed 003).

    The moved value wins over one that stood at its path; a value in its way that is no object is replaced.
    Keys with an empty part ("a..b") are no paths and stay.
    """
    dotted = tuple(name for name in data if _is_dotted(name))
    folded = {name: value for name, value in data.items() if not _is_dotted(name)}
    ours = {id(folded)}  # objects made here; all others belong to the caller and are copied before a change
    for name in dotted:
        *parents, last = name.split(".")
        target = folded
        for part in parents:
            below = target.get(part)
            if not isinstance(below, dict) or id(below) not in ours:
                below = dict(below) if isinstance(below, dict) else {}
                ours.add(id(below))
                target[part] = below
            target = below
        target[last] = data[name]
    return folded, dotted


def _is_dotted(name: str) -> bool:
    return "." in name and name.count(".") < MAX_DOTTED_PARTS and all(name.split("."))


def lay_under(data: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The data with `defaults` filled in at every depth; what the data has wins. Neither is changed."""
    merged = dict(data)
    for name, default in defaults.items():
        value = merged.setdefault(name, default)
        if isinstance(value, dict) and isinstance(default, dict) and value is not default:
            merged[name] = lay_under(value, default)
    return merged
