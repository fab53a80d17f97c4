"""The syntax tree of a compiled CEL expression, decoded from its serialized form.

cel-expr-python shows no tree, but `Expression.serialize()` is a `google.protobuf.Any` that holds a
`cel.expr.CheckedExpr` or `ParsedExpr` with the source offset of every node. The field numbers below
are those of cel-spec's `syntax.proto` and `checked.proto`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import unpack
from typing import Any, NamedTuple


class Tree(NamedTuple):
    """One node. `kind`: constant, name, select, call, list, map or loop.

    name: `text`. select: `children[0]`.`text` (`value` is True for `has(..)`). call: function `text`
    over `children` (the receiver first; `value` is True when there is one). map: keys and values in
    turn. loop (a comprehension): children are range, initial, condition, step, result; `text` is the
    names it binds, joined by a blank. `offset` counts code points.
    """

    kind: str
    text: str
    children: tuple[Tree, ...]
    value: object
    offset: int


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(field number, value) of one protobuf message, in wire order."""
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        wire = tag & 7
        if wire == 0:
            value, at = _varint(raw, at)
            yield tag >> 3, value
            continue
        if wire == 2:
            size, at = _varint(raw, at)
        else:
            size = 8 if wire == 1 else 4
        yield tag >> 3, raw[at : at + size]
        at += size


def _message(raw: bytes, number: int) -> bytes:
    return next((value for field, value in _fields(raw) if field == number and isinstance(value, bytes)), b"")


def decode(serialized: bytes) -> Tree:
    """The tree of a serialized expression, checked or only parsed."""
    kind, body = _message(serialized, 1), _message(serialized, 2)
    parsed = b"ParsedExpr" in kind
    offsets: dict[object, object] = {}
    for field, value in _fields(_message(body, 3 if parsed else 5)):
        if field == 4 and isinstance(value, bytes):
            entry = dict(_fields(value))
            offsets[entry.get(1)] = entry.get(2, 0)
    return _node(_message(body, 2 if parsed else 4), offsets)


def _node(raw: bytes, offsets: dict[object, object]) -> Tree:
    entry: dict[int, Any] = dict(_fields(raw))
    number = next(number for number in _READERS if number in entry)
    kind, text, children, value = _READERS[number](entry[number], offsets)
    offset: Any = offsets.get(entry.get(2), 0)
    return Tree(kind, text, tuple(children), value, offset)


def _constant(raw: bytes, offsets: dict[object, object]) -> tuple[str, str, list[Tree], object]:
    number, value = next(_fields(raw))
    return "constant", "", [], _CONSTANTS[number](value)


# By field number of cel.expr.Constant; durations and timestamps have no literals.
_CONSTANTS: dict[int, Callable[[Any], object]] = {
    1: lambda value: None,
    2: bool,
    3: lambda value: value - 2**64 if value >= 2**63 else value,
    4: int,
    5: lambda value: unpack("<d", value)[0],
    6: bytes.decode,
    7: bytes,
}


def _name(raw: bytes, offsets: dict[object, object]) -> tuple[str, str, list[Tree], object]:
    return "name", _message(raw, 1).decode(), [], None


def _select(raw: bytes, offsets: dict[object, object]) -> tuple[str, str, list[Tree], object]:
    tested = any(field == 3 and value for field, value in _fields(raw))
    return "select", _message(raw, 2).decode(), [_node(_message(raw, 1), offsets)], tested


def _call(raw: bytes, offsets: dict[object, object]) -> tuple[str, str, list[Tree], object]:
    parts = [(field, value) for field, value in _fields(raw) if isinstance(value, bytes)]
    children = [_node(value, offsets) for field, value in parts if field in (1, 3)]
    return "call", _message(raw, 2).decode(), children, any(field == 1 for field, _ in parts)


def _list(raw: bytes, offsets: dict[object, object]) -> tuple[str, str, list[Tree], object]:
    items = [_node(v, offsets) for field, v in _fields(raw) if field == 1 and isinstance(v, bytes)]
    return "list", "", items, None


def _map(raw: bytes, offsets: dict[object, object]) -> tuple[str, str, list[Tree], object]:
    entries = [value for field, value in _fields(raw) if field == 2 and isinstance(value, bytes)]
    return "map", "", [_node(_message(e, part), offsets) for e in entries for part in (3, 4)], None


def _loop(raw: bytes, offsets: dict[object, object]) -> tuple[str, str, list[Tree], object]:
    names = f"{_message(raw, 1).decode()} {_message(raw, 3).decode()}"
    return "loop", names, [_node(_message(raw, part), offsets) for part in (2, 4, 5, 6, 7)], None


_READERS = {3: _constant, 4: _name, 5: _select, 6: _call, 7: _list, 8: _map, 9: _loop}


def walk(tree: Tree) -> Iterator[Tree]:
    """The node and everything below it, parents first."""
    yield tree
    for child in tree.children:
        yield from walk(child)
