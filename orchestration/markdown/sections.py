"""Sections of a Markdown text that read alone as they do in their place, so that each is read once.

A heading at the edge below an empty line ends paragraphs, lists, quotes and HTML tags, whatever they hold. A
fence, a comment or the like that is still open there goes on; a text that has one is not taken apart. Link
definitions reach everywhere, but change no block and no code span.
"""

from __future__ import annotations

import re

from .block_outline import front_matter, split_lines
from .document import HEADING, MarkdownDocument, read

_CUT = re.compile(r"\n\n(?=#{1,6} )")
# Below a section it is read as a heading exactly if nothing is open there.
_PROBE = "\n\n# ."


def split_sections(text: str) -> list[str]:
    """The sections of a text, between which an empty line stands; their lines end in LF.

    A text in the middle of a merge, or whose front matter goes over a heading, is one section.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    sections = _CUT.split(text)
    front = text.removeprefix("\ufeff")[:3] == "---"
    torn = front and front_matter(split_lines(sections[0])) != front_matter(split_lines(text))
    return [text] if torn or "<<<<<<< " in text else sections


def read_section(section: str, is_last: bool) -> MarkdownDocument | None:
    """The structure of a section; None when something is open at its end, so that it cannot be read alone.

    Its headings end with it, for what follows is not known.
    """
    if is_last:
        document = read(section)
        return None if document.unclosed else document
    document = read(section + _PROBE)
    if document.kinds[-1] != HEADING:
        return None
    lines, kinds = document.lines[:-2], document.kinds[:-2]
    return MarkdownDocument(lines, kinds, document.headings[:-1], document.fences)
