"""YAML texts: a tree of text with places for definitions, typed data for artifacts.

libyaml's events are read one by one, so that nothing is expanded or constructed. Nothing here raises on
content, except `read_yaml`, which refuses a broken definition as a whole. Lines and columns are counted
as in `json_text.py`.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, islice
from math import isfinite
from types import MappingProxyType
from typing import Any, NamedTuple

import yaml

from ..findings import Problem, Span
from .json_text import MAX_PROBLEMS, ParsedText, half_character, span_between, syntax_problem

MAX_YAML_DEPTH = 50
MAX_YAML_LENGTH = 256 * 1024


class Broken(Exception):  # noqa: N818 - the definition is broken; no program error
    """A definition that cannot be used; `problems` says why, each at its place."""

    def __init__(self, problems: tuple[Problem, ...]):
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


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


def read_yaml_data(text: str) -> ParsedText:
    """The value of a YAML text, typed by the YAML 1.2 core schema; keys are always text.

    Refuses what `read_yaml` refuses, as `artifact-unreadable`, but a key that stands twice is only a
    `duplicate-key` problem, and the last one counts; with different values it is `artifact-contradictory`.
    """
    root, problems = _Builder(text, "artifact-unreadable", "duplicate-key").build()
    readable = root is not None and all(problem.code in _REPEATED for problem in problems)
    return ParsedText(typed_value(root) if root and readable else None, tuple(problems), readable)


def locate_yaml(text: str, path: tuple[str | int, ...], key: bool = False) -> Span | None:
    """The span of the value at `path`, or of its key; the last of two equal keys counts.

    None when the path is not there, the text is refused, or what is asked for has no key.
    """
    node, problems = _Builder(text, "artifact-unreadable", "duplicate-key").build()
    if any(problem.code not in _REPEATED for problem in problems):
        return None
    parent = None
    for step in path:
        parent, children = node, node.value if node else None
        node = None
        if isinstance(children, dict) and isinstance(step, str):
            node = children.get(step)
        elif isinstance(children, list) and isinstance(step, int) and 0 <= step < len(children):
            node = children[step]
    if key:
        return parent.keys.get(str(path[-1])) if parent and node else None
    return node.span if node else None


_REPEATED = ("duplicate-key", "artifact-contradictory")


@dataclass(slots=True)
class _Open:
    """A map or list that is being read. `last` is the span of what was read last in it."""

    value: dict[str, Node] | list[Node]
    mark: Any
    last: Span
    keys: dict[str, Span] = field(default_factory=dict)
    key: str | None = None
    repeated: tuple[Span, Span] | None = None
    """The places of the key at hand where it stands twice."""


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
        half = half_character(self.text)
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
        if style in BLOCK_STYLES:
            # libyaml lets a block scalar end where the next line with text begins.
            source = self.text[start : event.end_mark.index + self.shift].rstrip(SPACES)
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
            if into.repeated:
                self.repeat(into.key, into.repeated, into.value[into.key], node)
            into.value[into.key] = node
            into.key, into.repeated = None, None

    def repeat(self, name: str, places: tuple[Span, Span], before: Node, node: Node) -> None:
        """Note that a key stands twice, as a contradiction where its values differ and the last may count."""
        shown = json.dumps(name, ensure_ascii=False)
        one, other = typed_value(before), typed_value(node)
        differs = type(one) is not type(other) or one != other
        if differs and self.duplicate_code == "duplicate-key":
            said = f"the key {shown} stands twice with different values; which one holds, nobody can tell"
            self.problems += [Problem("artifact-contradictory", said, place) for place in places]
        else:
            said = f"the key {shown} already stands in line {places[0].line + 1}"
            self.problems.append(Problem(self.duplicate_code, said, places[1]))

    def key(self, into: _Open, node: Node) -> str:
        if not isinstance(node.value, str):
            self.refuse("a key must be plain text, not a list or a map", node.span)
            return ""
        if node.value == "<<" and not node.style:
            self.refuse("merge keys are not allowed; write the keys out", node.span)
        elif node.value in into.keys:
            into.repeated = into.keys[node.value], node.span
        into.keys[node.value] = node.span
        return node.value


BLOCK_STYLES = ("|", ">")
_NO_KEYS: Mapping[str, Span] = MappingProxyType({})
_TAG = re.compile(r"!(?:<[^>\s]*>|[^\s,\[\]{}]*)")
# What libyaml takes for space and line ends.
SPACES = " \t\r\n\x85\u2028\u2029"


def _spans_by_offset(text: str) -> Callable[[int, int], Span]:
    """`span_between` for many spans of one text."""
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))][:-1]

    def place_of(offset: int) -> tuple[int, int]:
        line = bisect_right(starts, offset) - 1
        return line, min(offset, len(text)) - starts[line]

    return lambda start, end: Span(*place_of(start), *place_of(end))


def _spans_by_mark(text: str, by_offset: Callable[[int, int], Span]) -> Callable[[Any, Any], Span]:
    """A function from two marks of libyaml to a span.

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
    return syntax_problem(
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


def typed_value(node: Node) -> object:
    """The value of a node by the YAML 1.2 core schema; what is quoted, or is no finite number, stays text."""
    if isinstance(node.value, dict):
        return {name: typed_value(item) for name, item in node.value.items()}
    if isinstance(node.value, list):
        return [typed_value(item) for item in node.value]
    match = None if node.style or len(node.value) > MAX_DIGITS else _TYPED.fullmatch(node.value)
    if match is None or match.lastgroup is None:
        return node.value
    value = _READ[match.lastgroup](node.value)
    return node.value if isinstance(value, float) and not isfinite(value) else value


# --- from a character of a scalar to its place, so that an error points into an expression

_CHARACTER = {
    "'": re.compile(rf"''|[^{SPACES}]"),
    '"': re.compile(rf"\\(?:x(..)|u(.{{4}})|U(.{{8}})|.)|[^{SPACES}]", re.S),
}
_UNQUOTED_CHARACTER = re.compile(rf"[^{SPACES}]")
_BLOCK_HEADER = re.compile("[^\r\n\x85\u2028\u2029]*")
# What stands behind the backslash of an escape that is a space, or nothing, in the value.
_ESCAPED_SPACES = "tnrNLP" + SPACES


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
    count = sum(character not in SPACES for character in before)
    # The character before the place, if there is one, and the one at or behind it.
    near = list(islice(_characters(text, node), max(0, count - 1), count + 1))
    behind = near[0][1] if count else _content(text, node)
    if offset == len(value):
        return behind, behind
    if value[offset] not in SPACES:
        return near[-1]
    at = behind + len(before) - len(before.rstrip(SPACES))
    if value[offset:].strip(SPACES):
        at = min(at, near[-1][0] - 1)
    return at, min(at + 1, len(text))


def _content(text: str, node: Node) -> int:
    """Where the text of a scalar begins, behind its quote or the line with its mark."""
    if node.style in BLOCK_STYLES:
        return _BLOCK_HEADER.match(text, node.start).end()  # pyright: ignore[reportOptionalMemberAccess]
    return node.start + len(node.style)


def _characters(text: str, node: Node) -> Iterator[tuple[int, int]]:
    """Start and end of each character of the source that is no space in the value; goes on past its end."""
    pattern = _CHARACTER.get(node.style, _UNQUOTED_CHARACTER)
    for match in pattern.finditer(text, _content(text, node)):
        digits = (match[1] or match[2] or match[3]) if node.style == '"' else None
        escaped = node.style == '"' and not digits and match[0][0] == "\\"
        is_space = chr(int(digits, 16)) in SPACES if digits else escaped and match[0][1] in _ESCAPED_SPACES
        if not is_space:
            yield match.span()
