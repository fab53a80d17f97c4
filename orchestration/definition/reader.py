"""A definition's text read by the table of shapes: plain values that remember where they stand.

What the values mean is the business of `compiler.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..findings import NO_DATA, Finding, Problem, Span, finding
from ..formats.yaml_positions import place
from ..formats.yaml_text import Broken, Node, read_yaml, typed
from ..suggestions import did_you_mean, misspelling
from .schema import STRUCTS, Shape, list_of


class Source(NamedTuple):
    """A definition's file: the path shown in messages, and its text."""

    path: str
    text: str


class InvalidWorkflow(Exception):  # noqa: N818 - the workflow is invalid; no program error
    """A definition that cannot be used; `findings`, at least one, say where and why."""

    def __init__(self, findings: list[Finding]):
        first = findings[0]
        at = f":{first.span.line + 1}:{first.span.column + 1}" if first.span else ""
        super().__init__(f"{first.path}{at}: {first.message}")
        self.findings = tuple(findings)


class Place(NamedTuple):
    """Where a key stands, and in which file."""

    source: Source
    span: Span


class Branch(NamedTuple):
    """A node of a definition with its source, so that merged definitions still know every place.

    `children` are those of a map or list. `merged` has the keys of a map that two files made, with the file
    and place of each.
    """

    node: Node
    source: Source
    children: Mapping[str, Branch] | tuple[Branch, ...] = ()
    merged: Mapping[str, Place] | None = None

    def key(self, name: str) -> Place:
        """Where a key of a map stands."""
        return self.merged[name] if self.merged else Place(self.source, self.node.keys[name])

    @property
    def kind(self) -> str:
        return self.node.kind

    @property
    def text(self) -> str:
        return self.node.value if isinstance(self.node.value, str) else ""

    @property
    def place(self) -> Place:
        return Place(self.source, self.node.span)


class Text(str):
    """A scalar or a key as it was written, with its place."""

    __slots__ = ("branch",)

    branch: Branch

    def span(self, offset: int = 0, length: int = 1) -> Span:
        """Where `length` characters from `offset` of it stand in its file."""
        source = self.branch.source.text
        return place(source, _located(self.branch.node, source), offset, length)

    @property
    def whole(self) -> Span:
        """Where all of it stands."""
        return self.branch.node.span


def text_of(branch: Branch) -> Text:
    text = Text(branch.text)
    text.branch = branch
    return text


def _located(node: Node, source: str) -> Node:
    """The node of a key with its offset and its style, which are looked up only when they are needed."""
    if node.start >= 0:
        return node
    lines = source.split("\n", node.span.line)
    start = len(source) - len(lines[-1]) + node.span.column
    style = source[start] if source[start] in "'\"|>" else ""
    return node._replace(start=start, style=style)


@dataclass
class Reading:
    """What went wrong while a definition was read; reading goes on, so that all of it is told."""

    findings: list[Finding] = field(default_factory=list)

    def wrong(
        self, at: Branch | Text, message: str, span: Span | None = None, data: Mapping[str, Any] = NO_DATA
    ) -> None:
        """Note an error at a value or key, or at a span of its file."""
        branch = at.branch if isinstance(at, Text) else at
        self.wrong_at(branch.place._replace(span=span or branch.node.span), message, data)

    def wrong_at(self, place: Place, message: str, data: Mapping[str, Any] = NO_DATA) -> None:
        """Note an error at a place."""
        problem = Problem("workflow-invalid", message, place.span, data=data)
        self.findings.append(finding(problem, place.source.path))

    def check(self) -> None:
        """Raise InvalidWorkflow if anything was wrong, with all of it in the order of the files."""
        if self.findings:
            first = Span(0, 0, 0, 0)
            found = dict.fromkeys(self.findings)
            raise InvalidWorkflow(sorted(found, key=lambda one: (one.path, one.span or first, one.message)))


# ---- reading ----------------------------------------------------------------------------------


def read_branch(source: Source) -> Branch:
    """The definition's nodes with their places. Raises InvalidWorkflow when the YAML itself is broken."""
    try:
        return _branch(read_yaml(source.text), source)
    except Broken as broken:
        raise InvalidWorkflow(
            [finding(_hinted(problem), source.path) for problem in broken.problems]
        ) from None


def _hinted(problem: Problem) -> Problem:
    """YAML takes some signs of expressions for its own; who writes an expression means something else."""
    hint = next((hint for start, hint in _HINTS.items() if problem.message.startswith(start)), "")
    return problem._replace(message=problem.message + hint)


_HINTS = {
    "tags are": "; put quotes around an expression or text that begins with !",
    "aliases are": "; put quotes around an expression or text that begins with *",
    "anchors are": "; put quotes around an expression or text that begins with &",
    "not valid YAML: did not find expected ','": "; put quotes around a whole expression that begins with "
    "quotes or brackets, or holds ': ' or ' #'",
}


def _branch(node: Node, source: Source) -> Branch:
    if isinstance(node.value, dict):
        return Branch(node, source, {key: _branch(child, source) for key, child in node.value.items()})
    if isinstance(node.value, list):
        return Branch(node, source, tuple(_branch(child, source) for child in node.value))
    return Branch(node, source)


def merge(under: Branch, over: Branch) -> Branch:
    """`over` laid on `under`: maps key by key, everything else replaced whole, null removes the key."""
    if not isinstance(under.children, Mapping) or not isinstance(over.children, Mapping):
        return over
    children = dict(under.children)
    for key, child in over.children.items():
        if child.kind == "scalar" and typed(child.node) is None:
            children.pop(key, None)
        else:
            children[key] = merge(children[key], child) if key in children else child
    keys = {key: (over if key in over.children else under).key(key) for key in children}
    return Branch(over.node, over.source, children, keys)


def read(branch: Branch, shape: Shape, reading: Reading) -> object:
    """The branch as plain values: Text, bool, list, dict; None where something is wrong (and was told)."""
    return _READERS[shape.kind](branch, shape, reading)


def _scalar(branch: Branch, shape: Shape, reading: Reading) -> object:
    if branch.kind != "scalar":
        quote = (
            "; quote it if it is text that begins with { or [" if shape.kind in ("cel", "template") else ""
        )
        reading.wrong(branch, f"expected {_said(shape)}, found a {branch.kind}{quote}")
        return None
    return text_of(branch)


def _id(branch: Branch, shape: Shape, reading: Reading) -> object:
    text = _scalar(branch, shape, reading)
    if isinstance(text, Text) and (not text or any(character in " *{}" for character in text)):
        reading.wrong(
            branch, f"{str(text)!r} is no name: it must not be empty nor hold blanks, '*' or braces"
        )
        return None
    return text


def _bool(branch: Branch, shape: Shape, reading: Reading) -> object:
    value = typed(branch.node) if branch.kind == "scalar" else None
    if not isinstance(value, bool):
        reading.wrong(branch, "expected true or false")
    return value is True


def _word(branch: Branch, shape: Shape, reading: Reading) -> object:
    text = _scalar(branch, shape, reading)
    if isinstance(text, Text) and text not in shape.words:
        words = list(shape.words)
        said = f"{str(text)!r} is not known here{did_you_mean(text, words)}"
        reading.wrong(branch, said, data=misspelling(text, words))
        return None
    return text


def _typed(branch: Branch, shape: Shape, reading: Reading) -> object:
    return _data(branch)


def _data(branch: Branch) -> object:
    if isinstance(branch.children, Mapping):
        return {key: _data(child) for key, child in branch.children.items()}
    if branch.kind == "list":
        return [_data(child) for child in branch.children]
    return typed(branch.node)


def _list(branch: Branch, shape: Shape, reading: Reading) -> object:
    if branch.kind != "list" or isinstance(branch.children, Mapping):
        reading.wrong(branch, f"expected {_said(shape)}, found a {branch.kind}")
        return []
    assert shape.of
    items = [read(child, shape.of, reading) for child in branch.children]
    return [item for item in items if item is not None]


def _some(branch: Branch, shape: Shape, reading: Reading) -> object:
    if branch.kind == "list":
        return _list(branch, shape, reading)
    assert shape.of
    item = read(branch, shape.of, reading)
    return [] if item is None else [item]


def _map(branch: Branch, shape: Shape, reading: Reading) -> object:
    if not isinstance(branch.children, Mapping):
        reading.wrong(branch, f"expected {_said(shape)}, found a {branch.kind}")
        return {}
    assert shape.of
    out = {}
    for key, child in branch.children.items():
        value = read(child, shape.of, reading)
        if value is not None:
            out[_key(branch, key)] = value
    return out


def _key(branch: Branch, key: str) -> Text:
    """A key as Text: its place is the key's own."""
    text = Text(key)
    source, span = branch.key(key)
    text.branch = Branch(Node("scalar", key, span, {}, "", -1), source)
    return text


def _struct(branch: Branch, shape: Shape, reading: Reading) -> object:
    keys = STRUCTS[shape.name]
    if (
        branch.kind == "scalar"
        and typed(branch.node) is None
        and not any(key.required for key in keys.values())
    ):
        return {"at": branch}
    if not isinstance(branch.children, Mapping):
        reading.wrong(branch, f"expected {_said(shape)}, found a {branch.kind}")
        return None
    out: dict[str, object] = {"at": branch}
    for name, child in branch.children.items():
        if name not in keys:
            said = f"unknown key {name!r} in a {shape.name}{did_you_mean(name, list(keys))}"
            reading.wrong_at(branch.key(name), said, misspelling(name, list(keys)))
        else:
            told = len(reading.findings)
            out[name] = read(child, keys[name].shape, reading)
            empty = child.kind != "scalar" and not child.children and told == len(reading.findings)
            if keys[name].required and empty:
                reading.wrong(child, f"{name} must hold at least one")
    for name, key in keys.items():
        if key.required and name not in branch.children:
            reading.wrong(branch, f"a {shape.name} needs {name!r}: {key.about}", _first_line(branch))
    return out


def _first_line(branch: Branch) -> Span:
    span = branch.node.span
    return span if span.line == span.end_line else Span(span.line, span.column, span.line, span.column + 1)


def _either(branch: Branch, shape: Shape, reading: Reading) -> object:
    assert shape.of and shape.other
    if branch.kind == "scalar":
        return read(branch, shape.of, reading)
    if branch.kind == "list" and shape.other.kind not in ("list", "some"):
        return _list(branch, list_of(shape.of), reading)
    return read(branch, shape.other, reading)


_READERS: dict[str, Callable[[Branch, Shape, Reading], object]] = {
    "text": _scalar,
    "cel": _scalar,
    "template": _scalar,
    "id": _id,
    "bool": _bool,
    "word": _word,
    "typed": _typed,
    "list": _list,
    "some": _some,
    "map": _map,
    "struct": _struct,
    "either": _either,
}


def _said(shape: Shape) -> str:
    plain = {
        "word": "a word",
        "cel": "an expression",
        "template": "text",
        "text": "text",
        "id": "a name",
        "list": "a list",
        "map": "a map",
        "some": "text or a list",
    }
    return f"a {shape.name} (a map)" if shape.kind == "struct" else plain.get(shape.kind, shape.kind)
