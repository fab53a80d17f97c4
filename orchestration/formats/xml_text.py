"""XML texts: elements in order, by the standard library's expat, which has nothing to fetch or expand here.

Why expat and not a library: `defusedxml` has had no release since 2021 and either refuses every document with
a DOCTYPE, as Cobertura's reports all have one, or leaves the internal subset to be read; `junitparser` and
`xml.etree` build the whole tree, ten times the text, and expand entities. What is refused here is the
internal subset of a DOCTYPE, the only place where an entity can be declared: then there is nothing to expand
and nothing to fetch. An external DTD is only a name, it is never opened. Elements nest at most `MAX_DEPTH`
deep, and nothing but the reader's own values is kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol
from xml.parsers import expat

from ..findings import Problem, Span

MAX_DEPTH = 200
"""Of elements; reports nest some ten deep."""
MAX_ELEMENTS = 400_000
"""A report of 100,000 tests has some; more would be seconds of work each time."""
MAX_PROLOG = 1 << 20
"""Bytes before the first element; a comment stands there at most."""
_STEP, _LONG_STEP = 64 * 1024, 1 << 20
# What XML 1.0 does not have. Reports have it nevertheless, for they quote what tests print.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9a-fA-F]{1,8})|([0-9]{1,10}));")


class ElementReader(Protocol):
    """What a reader of one format does with elements; `at` is where the tag begins."""

    def start(self, name: str, attributes: Mapping[str, str], at: Span) -> None: ...

    def text(self, text: str) -> None:
        """A piece of the text inside the element that is open."""
        ...

    def end(self, name: str) -> None: ...


class _RefusedError(Exception):
    """The document has something at a line and column that is not read; `reason` says what."""

    def __init__(self, reason: str, place: tuple[int, int]) -> None:
        super().__init__(reason)
        self.reason, self.place = reason, place


def read_elements(text: str, reader: ElementReader) -> Problem | None:
    """Tell `reader` the elements of an XML text, names without prefix; the problem that ended it, if any.

    Characters that XML does not have are read as U+FFFD. The declaration's encoding is passed over: a text is
    decoded already (`vfs/xml_encoding.py`).
    """
    feed = _Feed(reader)
    try:
        feed.parse(_with_legal_characters(text).encode())
    except expat.ExpatError as error:
        return _problem(
            f"not valid XML: {expat.errors.messages[error.code]}", max(error.lineno - 1, 0), error.offset
        )
    except _RefusedError as error:
        return _problem(error.reason, *error.place)
    return None


def _problem(message: str, line: int, column: int) -> Problem:
    return Problem("artifact-unreadable", message, Span(line, column, line, column + 1))


def _with_legal_characters(text: str) -> str:
    text = _FORBIDDEN.sub("\ufffd", text)
    return _REFERENCE.sub(_legal_reference, text) if "&#" in text else text


def _legal_reference(reference: re.Match[str]) -> str:
    code = int(reference[1], 16) if reference[1] else int(reference[2])
    legal = code in (9, 10, 13) or (
        32 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF and code not in (0xFFFE, 0xFFFF)
    )
    return reference[0] if legal else "\ufffd"


class _Feed:
    """One parse: expat with the handlers that are needed, and those that refuse."""

    def __init__(self, reader: ElementReader) -> None:
        self._reader = reader
        self._depth = 0
        self._count = 0
        self._has_begun = False
        parser = self._parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.buffer_size = _STEP
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = reader.text

    def parse(self, data: bytes) -> None:
        """All of the document, in steps.

        What expat was given it reads to its end before it tells of an exception, with every entity that is
        declared and every element that is open. A short step while a DOCTYPE can follow, and bounded ones
        after it, keep that small; with too short ones a long text takes quadratic time (expat before 2.6).
        """
        at = 0
        while at < len(data):
            step = _LONG_STEP if self._has_begun else _STEP
            self._parser.Parse(data[at : at + step], False)
            at += step
            if not self._has_begun and at > MAX_PROLOG:
                raise _RefusedError(f"no element stands in its first {MAX_PROLOG} bytes", (0, 0))
        self._parser.Parse(b"", True)

    def place(self) -> tuple[int, int]:
        """(line, column) of what is being read; expat counts code points, as we do."""
        return self._parser.CurrentLineNumber - 1, self._parser.CurrentColumnNumber

    def _doctype(self, name: str, system: str | None, public: str | None, has_subset: int) -> None:
        if has_subset:
            said = "the document declares entities or types of its own; such XML is not read"
            raise _RefusedError(said, self.place())

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._has_begun = True
        self._depth += 1
        self._count += 1
        line, column = self.place()
        if self._count > MAX_ELEMENTS:
            raise _RefusedError(f"it has more than {MAX_ELEMENTS} elements", (line, column))
        if self._depth > MAX_DEPTH:
            raise _RefusedError(f"elements are nested more than {MAX_DEPTH} levels deep", (line, column))
        self._reader.start(name.rpartition(":")[2], attributes, Span(line, column, line, column + 1))

    def _end(self, name: str) -> None:
        self._depth -= 1
        self._reader.end(name.rpartition(":")[2])
