"""Decoding of XML as it declares its encoding, in which no byte is a reason to read nothing.

Test runners copy what a test printed into their reports, cut strings and escape codes among it. What is no
character becomes U+FFFD, so nothing is hidden and lines and columns stay what they are.
"""

from __future__ import annotations

import codecs
import re

_DECLARED = re.compile(rb"""\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]{0,39})["']""")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_KNOWN = re.compile(r"utf-8|ascii|iso8859-[0-9]{1,2}|cp125[0-8]")
"""Encodings, as Python calls them, in which a declaration can be read as ASCII."""


def decode_xml(raw: bytes) -> str:
    """The text, without a byte order mark. Raises LookupError with the encoding's name for an unknown one."""
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return raw[len(mark) :].decode(encoding, "replace")
    declared = _DECLARED.match(raw)
    name = declared[1].decode() if declared else "utf-8"
    try:
        encoding = codecs.lookup(name).name
    except LookupError:
        encoding = ""
    # Without a mark what says UTF-16 in ASCII is none: a tool has converted the text and not the name.
    if encoding.startswith("utf-16"):
        encoding = "utf-8"
    if not _KNOWN.fullmatch(encoding):
        raise LookupError(name)
    return raw.decode(encoding, "replace")
