"""The one way file text is printed: titles, reasons, report lines, definitions that others wrote.

Nothing that leaves here can move a cursor, colour a terminal, reorder a line, hide characters, start a
link or give a command to what reads it. Markup of terminals (such as rich's) needs no function: it is
never parsed. What is cut ends in "…".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

LIMIT = 200
"""Characters of one printed text, unless the caller has room for more."""
VALUE_LIMIT = 80
"""Characters of one printed value."""
_ITEMS = 6
_MAX_DIGIT_BITS = 256

# Letters and marks that Unicode calls printable although nothing is seen; text can be hidden in them.
# The emoji presentation mark U+FE0F is not among them: it stands in ordinary status marks.
_INVISIBLE = frozenset(
    map(
        chr,
        (
            0x034F,
            *(0x115F, 0x1160, 0x17B4, 0x17B5),
            *range(0x180B, 0x1810),
            *(0x2800, 0x3164, 0xFFA0),
            *range(0xFE00, 0xFE0F),
            *range(0xE0100, 0xE01F0),
        ),
    )
)
_BREAKS = re.compile(r"\r\n|[\r\n\t]")
_LINE_START = re.compile(r"(\d{1,9})([.)])|[-+:]")
_MARKDOWN = re.compile(
    r"(?P<entity>[\\&<>])|(?P<escaped>[`*_\[\]|~$^=])|(?P<heading>#)"
    # Mentions, issue references and addresses are recognised after escapes are gone; only a character
    # in between stops them.
    r"|@|:(?=//)|(?<=www)\.|(?<=mailto):|(?<=xmpp):|(?<=GH)-",
    re.IGNORECASE,
)
# Nothing visible is added, and as an entity it is plain ASCII in what is printed.
_CUT = "&#8203;"
_MERMAID = re.compile(r"(?<=[0-9A-Za-z])[-._](?=[0-9A-Za-z])|([!-/:-@\[-`{-~])")


def plain(text: str, limit: int = LIMIT) -> str:
    """`text` on one line, at most `limit` (1 or more) characters, with everything unseen made visible.

    Line ends and tabs become a space. Control, format, private, unassigned and invisible characters,
    lone surrogates and Unicode's line separators become `\\x1b`, `\\u202e` or `\\U000e0001`.
    """
    # A pair of characters can become one, so twice the limit is always enough to see whether it fits.
    line = _BREAKS.sub(" ", text[: 2 * limit + 2])
    if not (line.isascii() and line.isprintable()):
        line = "".join(map(_visible, line))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _visible(character: str) -> str:
    if character.isprintable() and character not in _INVISIBLE:
        return character
    if unicodedata.category(character) == "Zs":
        return " "
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def markdown(text: str, limit: int = LIMIT) -> str:
    """`text` as Markdown that reads as just that text: no link, image, code, emphasis, list, heading,
    table cell, HTML, mention, issue reference or address that turns into a link.

    `limit` counts characters before they are escaped; the result is at most nine times as long.
    """
    line = plain(text, limit).strip(" ")
    start = _LINE_START.match(line)
    if start is None:
        return _MARKDOWN.sub(_escape, line)
    head = f"{start[1]}\\{start[2]}" if start[1] else f"\\{start[0]}"
    return head + _MARKDOWN.sub(_escape, line[start.end() :])


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if match["entity"]:
        # Never two backslashes: a table takes the second one and the bar after it for an escaped bar.
        return f"&#{ord(character)};"
    if match["escaped"]:
        return f"\\{character}"
    return f"\\{character}{_CUT}" if match["heading"] else f"{character}{_CUT}"


def github_message(text: str, limit: int = LIMIT) -> str:
    """`text` as the message of a GitHub workflow command, or as a line of its own in a job's log.

    Line ends are gone already; what starts a command (`::` after blanks, `##[` anywhere) is broken.
    """
    line = plain(text, limit).replace("##[", "#\\x23[").replace("%", "%25")
    bare = line.lstrip(" ")
    return "\\x3a" + bare[1:] if bare.startswith("::") else line


def github_property(text: str, limit: int = LIMIT) -> str:
    """`text` as a property (`file=`, `title=`) of a GitHub workflow command."""
    return github_message(text, limit).replace(":", "%3A").replace(",", "%2C")


def mermaid(text: str, limit: int = LIMIT) -> str:
    """`text` for the inside of a quoted Mermaid label; punctuation as Mermaid's own `#NN;` codes."""
    return _MERMAID.sub(lambda match: f"#{ord(match[1])};" if match[1] else match[0], plain(text, limit))


def value_text(value: object, limit: int = VALUE_LIMIT) -> str:
    """A value of evidence, like JSON and short: `true`, `"text"`, `[1, 2]`, `[7 items]`, `{2 keys}`."""
    return plain(_json_like(value, limit, _ITEMS), limit)


def _json_like(value: object, limit: int, items: int) -> str:
    if isinstance(value, str):
        quoted = plain(value, limit).replace('"', '\\"')
        return f'"{quoted}"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        # Python refuses to print very long integers, and nobody would read them.
        bits = value.bit_length()
        return str(value) if bits <= _MAX_DIGIT_BITS else f"integer of {bits} bits"
    if isinstance(value, Mapping):
        parts = (f"{_json_like(key, limit, 0)}: {_json_like(each, limit, 0)}" for key, each in value.items())
        brackets, noun = "{}", "key"
    elif isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        parts = (_json_like(each, limit, 0) for each in value)
        brackets, noun = "[]", "item"
    else:
        return str(value)
    count = f"{len(value)} {noun}{'s' if len(value) != 1 else ''}"
    return f"{brackets[0]}{', '.join(parts) if len(value) <= items else count}{brackets[1]}"
