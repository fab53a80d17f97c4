"""A definition's text, and what it extends, read by the grammar: plain values that know where they stand.

What the values mean is the business of `compiler.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..findings import NO_DATA, Finding, Problem, Span, finding
from ..formats.yaml_positions import place
from ..formats.yaml_text import Broken, Node, read_yaml, typed
from ..suggestions import did_you_mean, misspelling
from ..vfs.files import digest_of
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


class DefinitionPlace(NamedTuple):
    """A span, and the file it is in."""

    source: Source
    span: Span


class DefinitionNode(NamedTuple):
    """A YAML node of a definition with its source, so that merged definitions still know every place.

    `children` are those of a map or list. `merged` has the keys of a map that two files made, with the file
    and place of each.
    """

    yaml: Node
    source: Source
    children: Mapping[str, DefinitionNode] | tuple[DefinitionNode, ...] = ()
    merged: Mapping[str, DefinitionPlace] | None = None

    def key(self, name: str) -> DefinitionPlace:
        """Where a key of a map stands."""
        return self.merged[name] if self.merged else DefinitionPlace(self.source, self.yaml.keys[name])

    def child(self, key: str) -> DefinitionNode | None:
        return self.children.get(key) if isinstance(self.children, Mapping) else None

    @property
    def kind(self) -> str:
        return self.yaml.kind

    @property
    def text(self) -> str:
        return self.yaml.value if isinstance(self.yaml.value, str) else ""

    @property
    def is_null(self) -> bool:
        return self.yaml.kind == "scalar" and typed(self.yaml) is None

    @property
    def place(self) -> DefinitionPlace:
        return DefinitionPlace(self.source, self.yaml.span)


class LocatedText(str):
    """A scalar or a key as it was written, with its node."""

    __slots__ = ("node",)

    node: DefinitionNode

    @classmethod
    def of(cls, node: DefinitionNode) -> LocatedText:
        text = cls(node.text)
        text.node = node
        return text

    def span(self, offset: int = 0, length: int = 1) -> Span:
        """Where `length` characters from `offset` of it stand in its file."""
        yaml, source = self.node.yaml, self.node.source.text
        if yaml.start < 0:
            # The offset and the style of a key are looked up only when they are needed.
            lines = source.split("\n", yaml.span.line)
            start = len(source) - len(lines[-1]) + yaml.span.column
            yaml = yaml._replace(start=start, style=source[start] if source[start] in "'\"|>" else "")
        return place(source, yaml, offset, length)

    @property
    def whole(self) -> Span:
        """Where all of it stands."""
        return self.node.yaml.span


class DefinitionErrors:
    """What is wrong with a definition; reading it goes on, so that all of it is collected."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def add(
        self,
        at: DefinitionNode | LocatedText,
        message: str,
        span: Span | None = None,
        data: Mapping[str, Any] = NO_DATA,
    ) -> None:
        """Note an error at a value or key, or at a span of its file."""
        place = (at.node if isinstance(at, LocatedText) else at).place
        self.add_at(place._replace(span=span) if span else place, message, data)

    def add_at(self, place: DefinitionPlace, message: str, data: Mapping[str, Any] = NO_DATA) -> None:
        """Note an error at a place."""
        problem = Problem("workflow-invalid", message, place.span, data=data)
        self.findings.append(finding(problem, place.source.path))

    def check(self) -> None:
        """Raise InvalidWorkflow if anything is wrong, with all of it in the order of the files."""
        if self.findings:
            start = Span(0, 0, 0, 0)
            errors = dict.fromkeys(self.findings)
            raise InvalidWorkflow(sorted(errors, key=lambda one: (one.path, one.span or start, one.message)))


# ---- files ------------------------------------------------------------------------------------

Extend = Callable[[str], Source | None]


def load_definition(source: Source, extend: Extend = lambda name: None) -> tuple[DefinitionNode, str]:
    """The definition's nodes with what it extends laid under, and the digest of all texts.

    `extend` gives the source of another definition by name. Raises InvalidWorkflow for broken YAML, an
    unknown definition or a circle.
    """
    root = parse_definition(source)
    texts = [source.text]
    workflow = root.child("workflow")
    names = {workflow.text if workflow else ""}
    while (name := root.child("extend")) is not None:
        base = None if name.text in names else extend(name.text)
        if base is None:
            errors = DefinitionErrors()
            why = "extends itself" if name.text in names else f"unknown workflow {name.text!r} to extend"
            errors.add(name, why)
            raise InvalidWorkflow(errors.findings)
        names.add(name.text)
        texts.append(base.text)
        assert isinstance(root.children, Mapping)
        own = {key: child for key, child in root.children.items() if key != "extend"}
        root = merge(parse_definition(base), root._replace(children=own))
    digests = [digest_of(text) for text in texts]
    return root, digests[0] if len(digests) == 1 else digest_of("\n".join(digests))


def folders_of(root: DefinitionNode) -> tuple[str, ...]:
    """The `runs.at` globs of a definition that is not compiled yet."""
    runs = root.child("runs")
    at = runs.child("at") if runs else None
    return tuple(child.text for child in at.children if isinstance(child, DefinitionNode)) if at else ()


def parse_definition(source: Source) -> DefinitionNode:
    """The nodes of one file with their places. Raises InvalidWorkflow when the YAML itself is broken."""
    try:
        return _node(read_yaml(source.text), source)
    except Broken as broken:
        problems = [finding(_hinted(problem), source.path) for problem in broken.problems]
        raise InvalidWorkflow(problems) from None


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


def _node(yaml: Node, source: Source) -> DefinitionNode:
    if isinstance(yaml.value, dict):
        return DefinitionNode(yaml, source, {key: _node(child, source) for key, child in yaml.value.items()})
    if isinstance(yaml.value, list):
        return DefinitionNode(yaml, source, tuple(_node(child, source) for child in yaml.value))
    return DefinitionNode(yaml, source)


def merge(under: DefinitionNode, over: DefinitionNode) -> DefinitionNode:
    """`over` laid on `under`: maps key by key, everything else replaced whole, null removes the key."""
    if not isinstance(under.children, Mapping) or not isinstance(over.children, Mapping):
        return over
    children = dict(under.children)
    for key, child in over.children.items():
        if child.is_null:
            children.pop(key, None)
        else:
            children[key] = merge(children[key], child) if key in children else child
    keys = {key: (over if key in over.children else under).key(key) for key in children}
    return DefinitionNode(over.yaml, over.source, children, keys)


def read(node: DefinitionNode, shape: Shape, errors: DefinitionErrors) -> object:
    """The node as plain values: LocatedText, bool, list, dict; None where something is wrong (and was noted).

    A struct is a dict of its keys, with its node under "at".
    """
    return _READERS[shape.kind](node, shape, errors)


def _scalar(node: DefinitionNode, shape: Shape, errors: DefinitionErrors) -> object:
    if node.kind != "scalar":
        quote = (
            "; quote it if it is text that begins with { or [" if shape.kind in ("cel", "template") else ""
        )
        errors.add(node, f"expected {_said(shape)}, found a {node.kind}{quote}")
        return None
    return LocatedText.of(node)


def _id(node: DefinitionNode, shape: Shape, errors: DefinitionErrors) -> object:
    text = _scalar(node, shape, errors)
    if isinstance(text, LocatedText) and (not text or any(character in " *{}" for character in text)):
        errors.add(node, f"{str(text)!r} is no name: it must not be empty nor hold blanks, '*' or braces")
        return None
    return text


def _bool(node: DefinitionNode, shape: Shape, errors: DefinitionErrors) -> object:
    value = typed(node.yaml) if node.kind == "scalar" else None
    if not isinstance(value, bool):
        errors.add(node, "expected true or false")
    return value is True


def _word(node: DefinitionNode, shape: Shape, errors: DefinitionErrors) -> object:
    text = _scalar(node, shape, errors)
    if isinstance(text, LocatedText) and text not in shape.words:
        words = list(shape.words)
        said = f"{str(text)!r} is not known here{did_you_mean(text, words)}"
        errors.add(node, said, data=misspelling(text, words))
        return None
    return text


def _typed(node: DefinitionNode, shape: Shape, errors: DefinitionErrors) -> object:
    return _data(node)


def _data(node: DefinitionNode) -> object:
    if isinstance(node.children, Mapping):
        return {key: _data(child) for key, child in node.children.items()}
    if node.kind == "list":
        return [_data(child) for child in node.children]
    return typed(node.yaml)


def _list(node: DefinitionNode, shape: Shape, errors: DefinitionErrors) -> object:
    if node.kind != "list" or isinstance(node.children, Mapping):
        errors.add(node, f"expected {_said(shape)}, found a {node.kind}")
        return []
    assert shape.of
    items = [read(child, shape.of, errors) for child in node.children]
    return [item for item in items if item is not None]


def _some(node: DefinitionNode, shape: Shape, errors: DefinitionErrors) -> object:
    if node.kind == "list":
        return _list(node, shape, errors)
    assert shape.of
    item = read(node, shape.of, errors)
    return [] if item is None else [item]


def _map(node: DefinitionNode, shape: Shape, errors: DefinitionErrors) -> object:
    if not isinstance(node.children, Mapping):
        errors.add(node, f"expected {_said(shape)}, found a {node.kind}")
        return {}
    assert shape.of
    out = {}
    for key, child in node.children.items():
        value = read(child, shape.of, errors)
        if value is not None:
            out[_key(node, key)] = value
    return out


def _key(node: DefinitionNode, key: str) -> LocatedText:
    """A key as a text: its place is the key's own."""
    source, span = node.key(key)
    return LocatedText.of(DefinitionNode(Node("scalar", key, span, {}, "", -1), source))


def _struct(node: DefinitionNode, shape: Shape, errors: DefinitionErrors) -> object:
    keys = STRUCTS[shape.name]
    if node.is_null and not any(key.required for key in keys.values()):
        return {"at": node}
    if not isinstance(node.children, Mapping):
        errors.add(node, f"expected {_said(shape)}, found a {node.kind}")
        return None
    out: dict[str, object] = {"at": node}
    for name, child in node.children.items():
        if name not in keys:
            said = f"unknown key {name!r} in a {shape.name}{did_you_mean(name, list(keys))}"
            errors.add_at(node.key(name), said, misspelling(name, list(keys)))
        else:
            before = len(errors.findings)
            out[name] = read(child, keys[name].shape, errors)
            empty = child.kind != "scalar" and not child.children and before == len(errors.findings)
            if keys[name].required and empty:
                errors.add(child, f"{name} must hold at least one")
    for name, key in keys.items():
        if key.required and name not in node.children:
            errors.add(node, f"a {shape.name} needs {name!r}: {key.about}", _first_line(node))
    return out


def _first_line(node: DefinitionNode) -> Span:
    span = node.yaml.span
    return span if span.line == span.end_line else Span(span.line, span.column, span.line, span.column + 1)


def _either(node: DefinitionNode, shape: Shape, errors: DefinitionErrors) -> object:
    assert shape.of and shape.other
    if node.kind == "scalar":
        return read(node, shape.of, errors)
    if node.kind == "list" and shape.other.kind not in ("list", "some"):
        return _list(node, list_of(shape.of), errors)
    return read(node, shape.other, errors)


_READERS: dict[str, Callable[[DefinitionNode, Shape, DefinitionErrors], object]] = {
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
