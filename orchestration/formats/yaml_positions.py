"""From a character of a YAML scalar to its place in the file, so that an error points into an expression."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ..findings import Span
from .json_text import span_between
from .yaml_text import BLOCK_STYLES, SPACES, Node

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
        if node.style != '"' or not _is_escaped_space(match):
            yield match.span()


def _is_escaped_space(match: re.Match[str]) -> bool:
    digits = match[1] or match[2] or match[3]
    if digits:
        return chr(int(digits, 16)) in SPACES
    return match[0][0] == "\\" and match[0][1] in _ESCAPED_SPACES
