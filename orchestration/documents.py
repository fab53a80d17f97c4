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
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate, islice
from json.decoder import scanstring  # pyright: ignore[reportAttributeAccessIssue]
from math import isfinite
from types import MappingProxyType
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
    """What a text says. An empty text is not readable and has no problem."""

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
_WORD = re.compile(r""""[^"\r\n]*"?|'[^'\r\n]*'?|[\w.+-]+|[^\r\n]?""")


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


def _refuse_constant(name: str) -> NoReturn:
    raise _ConstantError(name)


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
    if isinstance(error, _ConstantError):
        return _syntax_problem(
            text, code, _first(_CONSTANT, text), f"not valid JSON: {error} is no JSON number"
        )
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
    if text.isascii():
        return None
    try:
        text.encode()
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
                sentence = (
                    f"the key {json.dumps(name, ensure_ascii=False)} stands twice; only this last one counts"
                )
                yield Problem("duplicate-key", sentence, span_between(text, token.start(), end))
            levels[-1].add(name)


_BETWEEN = re.compile(r"[ \t\r\n]*+[,:]?[ \t\r\n]*+")
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


class _Place(NamedTuple):
    """Offsets: of a key's string (both -1 for a list element and the root), and where the value begins."""

    key_start: int
    key_end: int
    start: int


def locate_json(text: str, path: tuple[str | int, ...], key: bool = False) -> Span | None:
    """The span of the value at `path`, or of its key; the last of two equal keys counts.

    None when the path is not there, the text is broken, or what is asked for has no key.
    """
    place = _Place(-1, -1, _between(text, 0))
    try:
        _, end = _DECODER.raw_decode(text, place.start)
    except (ValueError, RecursionError):
        return None
    if _between(text, end) != len(text):
        return None
    for step in path:
        found = _member(text, place.start, step)
        if found is None:
            return None
        place = found
    if key:
        return span_between(text, place.key_start, place.key_end) if place.key_end > 0 else None
    return span_between(text, place.start, _DECODER.raw_decode(text, place.start)[1])


def _member(text: str, at: int, step: str | int) -> _Place | None:
    """The member of the value at `at`, in a text known to be valid; other values are skipped at C speed."""
    if text[at] == "{" and isinstance(step, str):
        return _value_of_key(text, at, step)
    if text[at] == "[" and isinstance(step, int):
        return _element(text, at, step)
    return None


def _value_of_key(text: str, at: int, name: str) -> _Place | None:
    found = None
    at = _between(text, at + 1)
    while text[at] != "}":
        key, key_end = scanstring(text, at + 1)
        start = _between(text, key_end)
        if key == name:
            found = _Place(at, key_end, start)
        at = _between(text, _DECODER.raw_decode(text, start)[1])
    return found


def _element(text: str, at: int, index: int) -> _Place | None:
    at = _between(text, at + 1)
    while text[at] != "]":
        if index == 0:
            return _Place(-1, -1, at)
        at = _between(text, _DECODER.raw_decode(text, at)[1])
        index -= 1
    return None


def _between(text: str, at: int) -> int:
    """Where the next value or bracket begins, behind space and a comma or colon."""
    return _BETWEEN.match(text, at).end()  # pyright: ignore[reportOptionalMemberAccess]


# --- Data -------------------------------------------------------------------------------------------


def clean(value: object) -> object:
    """Data as guards see it: null is absent, and every number is an int64 or a finite double (A.3).

    Null-valued keys and null list elements are dropped. The value itself is not changed.
    """
    if isinstance(value, dict):
        return {name: clean(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [clean(item) for item in value if item is not None]
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return _nearest_double(value)
    if isinstance(value, float) and not isfinite(value):
        return _nearest_double(value)
    return value


def _nearest_double(value: float) -> float:
    largest = sys.float_info.max
    return float(max(-largest, min(largest, value)))


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


# --- YAML -------------------------------------------------------------------------------------------


class Node(NamedTuple):
    """One value of a YAML text, with its place; every scalar is text.

    `kind` is "map", "list" or "scalar". `keys` holds the span of each key of a map. `style` is how a
    scalar was written: "" (plain), "'", '"', "|" or ">". `start` is the offset of its source in code points.
    """

    kind: str
    value: dict[str, Node] | list[Node] | str
    span: Span
    keys: Mapping[str, Span]
    style: str
    start: int


def read_yaml(text: str, code: str = "workflow-invalid") -> Node:
    """The tree of a YAML definition, for texts that people write: all its scalars are text.

    Raises Broken with every problem found (at most 100), under `code`: what is no YAML, anchors, aliases,
    merge keys, tags, a second document, a key that stands twice or is no scalar, more than 50 levels,
    more than 256 KB, nothing at all.
    """
    root, problems = _Builder(text, code, code).build()
    if root is None and not problems:
        problems.append(Problem(code, "the file is empty", Span(0, 0, 0, 0)))
    if root is None or problems:
        raise Broken(tuple(problems))
    return root


def read_yaml_data(text: str) -> Document:
    """The value of a YAML text, typed by the YAML 1.2 core schema; keys are always text.

    Refuses what `read_yaml` refuses, as `artifact-unreadable`, but a key that stands twice is only a
    `duplicate-key` problem, and the last one counts.
    """
    root, problems = _Builder(text, "artifact-unreadable", "duplicate-key").build()
    readable = root is not None and all(problem.code == "duplicate-key" for problem in problems)
    return Document(typed(root) if root and readable else None, tuple(problems), readable)


def locate_yaml(text: str, path: tuple[str | int, ...], key: bool = False) -> Span | None:
    """The span of the value at `path`, or of its key; the last of two equal keys counts.

    None when the path is not there, the text is refused, or what is asked for has no key.
    """
    node, problems = _Builder(text, "artifact-unreadable", "duplicate-key").build()
    if any(problem.code != "duplicate-key" for problem in problems):
        return None
    parent = None
    for step in path:
        parent, node = node, _child(node, step)
    if key:
        return parent.keys.get(str(path[-1])) if parent and node else None
    return node.span if node else None


def _child(node: Node | None, step: str | int) -> Node | None:
    if node is None:
        return None
    if isinstance(node.value, dict) and isinstance(step, str):
        return node.value.get(step)
    if isinstance(node.value, list) and isinstance(step, int) and 0 <= step < len(node.value):
        return node.value[step]
    return None


class _Open:
    """A map or list that is being read. `last` is the span of what was read last in it."""

    __slots__ = ("key", "keys", "last", "mark", "value")

    def __init__(self, value: dict[str, Node] | list[Node], mark: Any, last: Span):
        self.value = value
        self.mark = mark
        self.last = last
        self.keys: dict[str, Span] = {}
        self.key: str | None = None


class _Builder:
    """Makes the tree of one text from libyaml's events, so that nothing is expanded or constructed."""

    def __init__(self, text: str, code: str, duplicate_code: str):
        self.text = text
        self.code = code
        self.duplicate_code = duplicate_code
        self.problems: list[Problem] = []
        self.root: Node | None = None
        self.open: list[_Open] = []
        # libyaml does not count a byte order mark.
        self.shift = int(text.startswith("\ufeff"))
        self.between = _spans_by_offset(text)
        self.span = _spans_by_mark(text, self.between)

    def build(self) -> tuple[Node | None, list[Problem]]:
        """The root (None for no document) and the problems; with a problem the tree may be incomplete."""
        half = _half_character(self.text)
        if half:
            return None, [half._replace(code=self.code)]
        if not self.text.strip():
            return None, []
        if len(self.text) > MAX_YAML_LENGTH:
            self.refuse(f"longer than {MAX_YAML_LENGTH // 1024} KB", Span(0, 0, 0, 0))
            return None, self.problems
        readers: dict[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self.scalar,
            yaml.MappingStartEvent: self.enter,
            yaml.SequenceStartEvent: self.enter,
            yaml.MappingEndEvent: self.leave,
            yaml.SequenceEndEvent: self.leave,
            yaml.AliasEvent: self.alias,
            yaml.DocumentStartEvent: self.document,
        }
        try:
            for event in yaml.parse(self.text, Loader=yaml.CSafeLoader):
                read = readers.get(type(event))
                if read:
                    read(event)
                if len(self.problems) >= MAX_PROBLEMS or len(self.open) > MAX_YAML_DEPTH:
                    break
        except yaml.YAMLError as error:
            self.problems.append(_yaml_problem(self.text, self.code, error, self.shift))
        return self.root, self.problems

    def refuse(self, sentence: str, span: Span) -> None:
        self.problems.append(Problem(self.code, sentence, span))

    def document(self, event: Any) -> None:
        if self.root:
            span = self.span(event.start_mark, event.end_mark)
            self.refuse("a second document begins here; a file holds one", span)

    def alias(self, event: Any) -> None:
        span = self.span(event.start_mark, event.end_mark)
        self.refuse(f"aliases are not allowed; write the value out instead of *{event.anchor}", span)
        self.add(Node("scalar", f"*{event.anchor}", span, _NO_KEYS, "", event.start_mark.index + self.shift))

    def check(self, event: Any) -> None:
        """Refuse an anchor and a tag, each where it is written."""
        start = event.start_mark.index + self.shift
        if event.anchor:
            at = self.text.index(f"&{event.anchor}", start)
            sentence = f"anchors are not allowed; remove &{event.anchor}"
            self.refuse(sentence, self.between(at, at + len(event.anchor) + 1))
        if event.tag:
            at = self.text.index("!", start)
            span = self.between(at, at + len(_TAG.findall(self.text, at)[0]))
            self.refuse("tags are not allowed; how a value is read depends on its key alone", span)

    def scalar(self, event: Any) -> None:
        if event.anchor or event.tag:
            self.check(event)
        begin, style = event.start_mark, event.style or ""
        start = begin.index + self.shift
        if style in _BLOCK_STYLES:
            # libyaml lets a block scalar end where the next line with text begins.
            source = self.text[start : event.end_mark.index + self.shift].rstrip(_SPACES)
            span = self.between(start, start + len(source))
        else:
            span = self.span(begin, event.end_mark)
        self.add(Node("scalar", event.value, span, _NO_KEYS, style, start))

    def enter(self, event: Any) -> None:
        self.check(event)
        span = self.span(event.start_mark, event.start_mark)
        value = {} if isinstance(event, yaml.MappingStartEvent) else []
        self.open.append(_Open(value, event.start_mark, span))
        if len(self.open) > MAX_YAML_DEPTH:
            self.refuse(f"nested more than {MAX_YAML_DEPTH} levels deep", span)

    def leave(self, event: Any) -> None:
        closed = self.open.pop()
        span = self.span(closed.mark, event.end_mark)
        if event.start_mark.index == event.end_mark.index:
            # Without brackets libyaml lets it end where the next token begins.
            span = span._replace(end_line=closed.last.end_line, end_column=closed.last.end_column)
        kind = "map" if isinstance(closed.value, dict) else "list"
        self.add(Node(kind, closed.value, span, closed.keys, "", closed.mark.index + self.shift))

    def add(self, node: Node) -> None:
        """Put a finished value where it belongs: it is the root, an element, a key, or the value of a key."""
        if not self.open:
            self.root = self.root or node
            return
        into = self.open[-1]
        into.last = node.span
        if isinstance(into.value, list):
            into.value.append(node)
        elif into.key is None:
            into.key = self.key(into, node)
        else:
            into.value[into.key] = node
            into.key = None

    def key(self, into: _Open, node: Node) -> str:
        if not isinstance(node.value, str):
            self.refuse("a key must be plain text, not a list or a map", node.span)
            return ""
        if node.value == "<<" and not node.style:
            self.refuse("merge keys are not allowed; write the keys out", node.span)
        elif node.value in into.keys:
            line = into.keys[node.value].line + 1
            sentence = f"the key {json.dumps(node.value, ensure_ascii=False)} already stands in line {line}"
            self.problems.append(Problem(self.duplicate_code, sentence, node.span))
        into.keys[node.value] = node.span
        return node.value


_BLOCK_STYLES = ("|", ">")
_NO_KEYS: Mapping[str, Span] = MappingProxyType({})
_TAG = re.compile(r"!(?:<[^>\s]*>|[^\s,\[\]{}]*)")
# What libyaml takes for space and line ends.
_SPACES = " \t\r\n\x85\u2028\u2029"


def _spans_by_offset(text: str) -> Callable[[int, int], Span]:
    """What `span_between` says, for many spans of one text."""
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))][:-1]

    def place_of(offset: int) -> tuple[int, int]:
        line = bisect_right(starts, offset) - 1
        return line, min(offset, len(text)) - starts[line]

    return lambda start, end: Span(*place_of(start), *place_of(end))


def _spans_by_mark(text: str, by_offset: Callable[[int, int], Span]) -> Callable[[Any, Any], Span]:
    """How two marks of libyaml become a span.

    libyaml ends lines at more characters than our files do, and at the end of the text, and does not count
    a byte order mark; its lines and columns are ours in texts without all that. Its index always counts
    code points.
    """
    shift = int(text.startswith("\ufeff"))
    usual = text.endswith("\n") and not shift and text.count("\r") == text.count("\r\n")
    if usual and not any(character in text for character in "\x85\u2028\u2029"):
        return lambda start, end: Span(start.line, start.column, end.line, end.column)
    return lambda start, end: by_offset(start.index + shift, end.index + shift)


def _yaml_problem(text: str, code: str, error: yaml.YAMLError, shift: int) -> Problem:
    if not isinstance(error, yaml.MarkedYAMLError):
        bad = _UNPRINTABLE.search(text)
        at = bad.start() if bad else 0
        return Problem(code, "a control character stands here", span_between(text, at, at + 1))
    mark: Any = error.problem_mark
    problem = error.problem or error.context or "it ends too early"
    # An error at the end of the text says little; where the unfinished thing began says what to mend.
    if error.context_mark and (
        mark.index + shift >= len(text) or error.context == "while scanning a simple key"
    ):
        mark = error.context_mark
    return _syntax_problem(
        text, code, mark.index + shift, f"not valid YAML: {_YAML_SENTENCES.get(problem, problem)}"
    )


_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_YAML_SENTENCES = {
    "mapping values are not allowed in this context": "a colon too many, or a wrong indentation; "
    "put quotes around a text that holds a colon and a space",
    "found character that cannot start any token": "a text cannot begin with this character; "
    "put quotes around it (or, if it is a tab, indent with spaces)",
    "could not find expected ':'": "this is neither a key with a colon nor part of the value before it",
    "did not find expected key": "a key is expected here; look at the indentation, "
    "and put quotes around a whole text that has quotes or brackets at its start",
    "found unexpected end of stream": "the quoted text that starts here has no closing quote",
    "exceeded maximum nesting depth": "nested too deep",
}


_TYPED = re.compile(
    r"(?P<null>null|Null|NULL|~|)|(?P<true>true|True|TRUE)|(?P<false>false|False|FALSE)"
    r"|(?P<int>[-+]?[0-9]+)|(?P<octal>0o[0-7]+)|(?P<hexadecimal>0x[0-9a-fA-F]+)"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
)
# Longer digits are no number anybody means, and Python refuses to print them.
MAX_DIGITS = 1000
_READ: dict[str, Callable[[str], object]] = {
    "null": lambda text: None,
    "true": lambda text: True,
    "false": lambda text: False,
    "int": int,
    "octal": lambda text: int(text[2:], 8),
    "hexadecimal": lambda text: int(text[2:], 16),
    "float": float,
}


def typed(node: Node) -> object:
    """The value of a node by the YAML 1.2 core schema; what is quoted, or is no finite number, stays text."""
    if isinstance(node.value, dict):
        return {name: typed(item) for name, item in node.value.items()}
    if isinstance(node.value, list):
        return [typed(item) for item in node.value]
    match = None if node.style or len(node.value) > MAX_DIGITS else _TYPED.fullmatch(node.value)
    if match is None or match.lastgroup is None:
        return node.value
    value = _READ[match.lastgroup](node.value)
    return node.value if isinstance(value, float) and not isfinite(value) else value


# --- From a character of a scalar to its place in the file ------------------------------------------

_CHARACTER = {
    "'": re.compile(rf"''|[^{_SPACES}]"),
    '"': re.compile(rf"\\(?:x(..)|u(.{{4}})|U(.{{8}})|.)|[^{_SPACES}]", re.S),
}
_UNQUOTED_CHARACTER = re.compile(rf"[^{_SPACES}]")
_BLOCK_HEADER = re.compile("[^\r\n\x85\u2028\u2029]*")
# What stands behind the backslash of an escape that is a space, or nothing, in the value.
_ESCAPED_SPACES = "tnrNLP" + _SPACES


def place(text: str, node: Node, offset: int, length: int = 1) -> Span:
    """Where `length` characters from `offset` of a scalar's value stand in the text it was read from.

    Folding and indentation change only space, so the other characters of value and source correspond one
    to one, in order. A space is placed behind the character before it. An offset beyond the end is the end
    of the last character; for a map or list it is the whole span.
    """
    if not isinstance(node.value, str):
        return node.span
    start, end = _place_of(text, node, offset)
    if length > 1:
        end = max(end, _place_of(text, node, offset + length - 1)[1])
    return span_between(text, start, end if length > 0 else start)


def _place_of(text: str, node: Node, offset: int) -> tuple[int, int]:
    """Where the one character at `offset` of the value begins and ends in the text."""
    value = str(node.value)
    offset = max(0, min(offset, len(value)))
    before = value[:offset]
    count = sum(character not in _SPACES for character in before)
    # The character before the place, if there is one, and the one at or behind it.
    near = list(islice(_characters(text, node), max(0, count - 1), count + 1))
    behind = near[0][1] if count else _content(text, node)
    if offset == len(value):
        return behind, behind
    if value[offset] not in _SPACES:
        return near[-1]
    at = behind + len(before) - len(before.rstrip(_SPACES))
    if value[offset:].strip(_SPACES):
        at = min(at, near[-1][0] - 1)
    return at, min(at + 1, len(text))


def _content(text: str, node: Node) -> int:
    """Where the text of a scalar begins, behind its quote or the line with its mark."""
    if node.style in _BLOCK_STYLES:
        return _BLOCK_HEADER.match(text, node.start).end()  # pyright: ignore[reportOptionalMemberAccess]
    return node.start + len(node.style)


def _characters(text: str, node: Node) -> Iterator[tuple[int, int]]:
    """Start and end of each character of the source that is no space in the value; goes on past its end."""
    pattern = _CHARACTER.get(node.style, _UNQUOTED_CHARACTER)
    for match in pattern.finditer(text, _content(text, node)):
        if node.style != '"' or not _is_escaped_space(match):
            yield match.span()


def _is_escaped_space(match: re.Match[str]) -> bool:
    digits = match[1] or match[2] or match[3]
    if digits:
        return chr(int(digits, 16)) in _SPACES
    return match[0][0] == "\\" and match[0][1] in _ESCAPED_SPACES
