"""Words out of Markdown: what a cell, a key or a value says once its marks are taken off."""

from __future__ import annotations

import re
from unicodedata import category

_LINK = re.compile(r"!?\[([^\[\]]*)\]\(([^()]*)\)")
# All begin with one of a set, so that the words between are skipped fast.
_MARKUP = re.compile(r"[*_~\\](?:(?<=\*)\**+|(?<=_)_*+|(?<=~)~|(?<=\\)[!-/:-@\[-`{-~])")
# Most texts have no mark at all, or are one code span.
_UNMARKED = re.compile(r"[^*_~\\`\[<]*+|`[^`\[<]*+`")


def strip_markup(text: str) -> str:
    """A cell, value or title without comments, links, emphasis and code marks, trimmed.

    What stands in a code span stays as it is, so that `src/**/*.ts` keeps its stars.
    """
    if _UNMARKED.fullmatch(text):
        return text.strip("`").strip()
    parts = _LINK.sub(r"\1", without_comments(text)).split("`")
    # An odd backtick opens no code span.
    spans = len(parts) % 2 == 1
    return "".join(
        part if spans and index % 2 else _MARKUP.sub(_words_of, part) for index, part in enumerate(parts)
    ).strip()


def _words_of(match: re.Match[str]) -> str:
    """The rest of a mark: `*` between blanks, `_` inside a word, and the character behind a backslash."""
    mark = match[0]
    if mark[0] == "\\":
        return mark[1]
    before = match.string[max(match.start() - 1, 0) : match.start()]
    after = match.string[match.end() : match.end() + 1]
    if mark[0] == "*":
        return mark if before.isspace() and not after.strip() else ""
    return mark if mark[0] == "_" and _is_word(before) and _is_word(after) else ""


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def without_comments(text: str) -> str:
    """The text without `<!-- .. -->`; an unclosed one stays."""
    kept = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        kept.append(text[at:start])
        at = end + 3
    return "".join(kept) + text[at:]


_REMARK = re.compile(r"(?<!\s)\s++[-–—]+(?=\s)|(?<!\s)\s*+\(")
_GAPS = re.compile(r"[\s-]++")


def name_of(text: str) -> str:
    """A title or key to compare by: plain, without emoji, in lower case, single blanks."""
    # Most are a few ASCII words.
    if not (text.isascii() and text.replace(" ", "").isalnum()):
        text = _without_emoji(strip_markup(text))
    return " ".join(text.lower().split())


def split_remark(value: str) -> tuple[str, str]:
    """A plain value without emoji, cut before the remark that follows ` - `, ` — ` or `(`; and the remark."""
    text = _without_emoji(strip_markup(value)).strip()
    cut = _REMARK.search(text)
    end = cut.start() if cut else len(text)
    return text[:end].strip(), text[end:].strip()


def word_of(text: str) -> str:
    """A value as one lower-case word: final punctuation goes, blanks and hyphens inside become `_`.

    So "NOT PASS" is the word `not_pass`, which is no "pass".
    """
    return _GAPS.sub("_", text.strip().rstrip(".!,;:").strip().lower())


def _without_emoji(text: str) -> str:
    if text.isascii():
        return text
    return "".join(c for c in text if category(c) not in ("So", "Sk", "Mn", "Cf"))
