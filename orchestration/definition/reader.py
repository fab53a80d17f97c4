"""A definition's text, and what it extends, as nodes that know where they stand, and the errors in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..findings import NO_DATA, Finding, Problem, Span, finding
from ..formats.yaml_text import Broken, Node, place, read_yaml, typed_value
from ..vfs.files import digest_of


class Source(NamedTuple):
    """A definition's file: the path shown in messages, and its text.

    `released` are digests of the texts that earlier releases of the product shipped in its place.
    """

    path: str
    text: str
    released: tuple[str, ...] = ()


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
        """The place of a key of a map."""
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
        return self.yaml.kind == "scalar" and typed_value(self.yaml) is None

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


class LocatedMap(dict[str, Any]):
    """The values of a map by its keys, with its node."""

    def __init__(self, node: DefinitionNode) -> None:
        super().__init__()
        self.node = node


class DefinitionErrors:
    """The errors of a definition, collected: reading it goes on after each."""

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

MOST_EXTENDED = 8
"""So many definitions may extend each other in a row; reading one reads all that lie under it."""
Extend = Callable[[str], Source | None]


class DefinitionDigest(NamedTuple):
    """The digest of a definition's texts, and those that earlier releases of the product gave for it."""

    current: str
    released: tuple[str, ...] = ()


def load_definition(
    source: Source, extend: Extend = lambda name: None
) -> tuple[DefinitionNode, DefinitionDigest]:
    """The definition's nodes with what it extends laid under, and the digest of all texts.

    `extend` gives the source of another definition by name. Raises InvalidWorkflow for broken YAML, an
    unknown definition or a circle.
    """
    root = parse_definition(source)
    sources = [source]
    workflow = root.child("workflow")
    names = {workflow.text if workflow else ""}
    while (name := root.child("extend")) is not None:
        base = None if name.text in names else extend(name.text)
        if base is None:
            errors = DefinitionErrors()
            why = "extends itself" if name.text in names else f"unknown workflow {name.text!r} to extend"
            errors.add(name, why)
            raise InvalidWorkflow(errors.findings)
        if len(sources) > MOST_EXTENDED:
            errors = DefinitionErrors()
            errors.add(name, f"extends one that extends others, more than {MOST_EXTENDED} in a row")
            raise InvalidWorkflow(errors.findings)
        names.add(name.text)
        sources.append(base)
        assert isinstance(root.children, Mapping)
        own = {key: child for key, child in root.children.items() if key != "extend"}
        root = merge(parse_definition(base), root._replace(children=own))
    # What users may extend that is shipped comes last: it extends nothing.
    *own, last = (digest_of(each.text) for each in sources)
    digests = (digest_of("\n".join([*own, each])) if own else each for each in (last, *sources[-1].released))
    return root, DefinitionDigest(next(digests), tuple(digests))


def folders_of(root: DefinitionNode, name: str = "at") -> tuple[str, ...]:
    """The `runs.at` globs of a definition that is not compiled yet, or those of another key of `runs`."""
    runs = root.child("runs")
    globs = runs.child(name) if runs else None
    return tuple(child.text for child in globs.children if isinstance(child, DefinitionNode)) if globs else ()


def runs_word(root: DefinitionNode, key: str) -> str:
    """The word at a key of `runs` of a definition that is not compiled yet; "" where there is none."""
    runs = root.child("runs")
    node = runs.child(key) if runs else None
    return node.text if node else ""


def parse_definition(source: Source) -> DefinitionNode:
    """The nodes of one file with their places. Raises InvalidWorkflow when the YAML itself is broken."""
    try:
        return _node(read_yaml(source.text), source)
    except Broken as broken:
        problems = []
        for problem in broken.problems:
            hint = next((hint for start, hint in _HINTS.items() if problem.message.startswith(start)), "")
            problems.append(finding(problem._replace(message=problem.message + hint), source.path))
        raise InvalidWorkflow(problems) from None


# YAML takes some signs of expressions for its own; who writes an expression means something else.
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
