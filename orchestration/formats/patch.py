"""Which files a change touches: unified diffs, git's diffs, and seed 002's patch.json (`items[].path`)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any

from ..findings import Problem, Span
from .json_text import ParsedText, locate_json, read_json

_HUNK = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_HEADER = re.compile(r"(?:---|\+\+\+) (.*)|(?:rename|copy) (?:from|to) (.*)|diff --git (.*)")
_ESCAPE = re.compile(rb"\\(?:([0-7]{3})|(.))")
_LETTERS = {b"t": b"\t", b"n": b"\n", b"r": b"\r", b'"': b'"', b"\\": b"\\"}


def read_patch(text: str) -> ParsedText:
    """`{files: [path, …]}` of a change, each path once, without the `a/` and `b/` of diffs, `..` resolved.

    A path that leaves the tree begins with "..", so that no list of planned files has it.
    """
    if _is_json(text):
        return _items(text)
    names = (posixpath.normpath(name) for name in _headers(text) if name and name != "/dev/null")
    return ParsedText({"files": list(dict.fromkeys(names))}, (), True)


def locate_in_patch(text: str, path: tuple[str | int, ...], key: bool = False) -> Span | None:
    """The span of a value of a `patch.json`; a diff has no places for what is read of it."""
    return locate_json(text, path, key) if _is_json(text) else None


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{")


def _items(text: str) -> ParsedText:
    document = read_json(text)
    if not document.readable:
        return document
    items: Any = document.data.get("items") if isinstance(document.data, dict) else None
    if not isinstance(items, list):
        return ParsedText(None, (*document.problems, _wrong(text, ("items",), "items must be a list")), False)
    for index, item in enumerate(items):
        if not isinstance(item, dict) or not isinstance(item.get("path"), str) or not item["path"]:
            said = f"item {index + 1} has no path, so the change cannot be told"
            return ParsedText(None, (*document.problems, _wrong(text, ("items", index), said)), False)
    paths = dict.fromkeys(posixpath.normpath(item["path"]) for item in items)
    return document._replace(data={"files": list(paths)})


def _wrong(text: str, path: tuple[str | int, ...], message: str) -> Problem:
    return Problem("artifact-invalid", message, locate_json(text, path) or Span(0, 0, 0, 1))


def _headers(text: str) -> Iterator[str]:
    """The names in header lines. Lines of a hunk are counted over, for any of them may look like one.

    A last hunk that promises more lines than there are could hide headers, so it is searched as well.
    """
    lines = text.splitlines()
    old = new = begun = 0
    for number, line in enumerate(lines, 1):
        if old > 0 or new > 0:
            old -= line[:1] in ("-", " ", "")
            new -= line[:1] in ("+", " ", "")
            continue
        hunk = _HUNK.match(line)
        if hunk:
            old, new = (int(count) if count else 1 for count in hunk.groups())
            begun = number
        else:
            yield from _names(line)
    if old > 0 or new > 0:
        yield from (name for line in lines[begun:] for name in _names(line))


def _names(line: str) -> Iterator[str]:
    header = _HEADER.match(line)
    marked, moved, git = header.groups() if header else (None, None, None)
    if moved is not None:
        yield _unquote(moved)
    elif marked is not None:
        yield _strip_prefix(_unquote(marked.split("\t")[0]))
    elif git is not None:
        # "a/NAME b/NAME" with equal names; a rename says more in lines of its own.
        half = len(git) // 2
        left, right = git[:half], git[half + 1 :]
        if git[half : half + 1] == " " and _strip_prefix(_unquote(left)) == _strip_prefix(_unquote(right)):
            yield _strip_prefix(_unquote(right))


def _strip_prefix(name: str) -> str:
    return name[2:] if name[:2] in ("a/", "b/") else name


def _unquote(name: str) -> str:
    """A name as git writes it: an unusual one in quotes with C escapes, octal ones for bytes of UTF-8."""
    name = name.strip()
    if len(name) < 2 or name[0] != '"' or name[-1] != '"':
        return name
    raw = _ESCAPE.sub(_byte, name[1:-1].encode("utf-8"))
    return raw.decode("utf-8", "replace")


def _byte(match: re.Match[bytes]) -> bytes:
    octal, letter = match.groups()
    return bytes([int(octal, 8) & 255]) if octal else _LETTERS.get(letter, letter)
