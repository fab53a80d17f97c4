"""Sections of a text are read alone as they are in their place, or the text is not taken apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.markdown.document import read
from phasekeeper.orchestration.markdown.sections import read_section, split_sections

LINES = [
    "", "", "# A", "## B c", "   # indented", "#hash", "words", "words `code", "code` words",
    "```", "~~~ x", "````",
    "- item", "  - nested", "1. one", "> quote", "> ```", "- ```", "    code", "\tcode", "---",
    "===", "| a | b |",
    "|---|---|", "<!-- open", "close -->", "<div>", "</div>", "<pre>", "</pre>", "<script>",
    "</script>", "<?php",
    "?>", "<!DOCTYPE", ">", "<![CDATA[", "]]>", "<b", "b>", "[a]: <x", "[a]: x 'y", "z'",
    "<<<<<<< a", ">>>>>>> b",
    "title: x", "...", "\\", "* * *", "**K**: v",
]  # fmt: skip


@given(st.lists(st.sampled_from(LINES), max_size=24), st.sampled_from(["\n", "\r\n"]))
def test_the_sections_of_any_text_together_are_its_document(lines, end) -> None:
    text = end.join(lines)
    sections = split_sections(text)
    assert "\n\n".join(sections) == "\n".join(lines)
    last = len(sections) - 1
    documents = [read_section(each, number == last) for number, each in enumerate(sections)]
    if None in documents:
        return
    whole, start = read(text), 0
    headings, fences = [], []
    for document in filter(None, documents):
        end_line = start + len(document.lines)
        assert (document.lines, document.kinds) == (whole.lines[start:end_line], whole.kinds[start:end_line])
        headings += [(h.level, h.text, h.span.line + start, h.span.column) for h in document.headings]
        fences += [(f.info, f.start + start, f.end + start) for f in document.fences]
        start = end_line + 1
    assert headings == [(h.level, h.text, h.span.line, h.span.column) for h in whole.headings]
    assert fences == [(f.info, f.start, f.end) for f in whole.fences]


@pytest.mark.parametrize(
    "opening", ["```", "~~~ x", "<!-- a", "<pre>", "<script>", "<?php", "<!DOCTYPE", "<![CDATA["]
)
def test_a_section_with_something_open_at_its_end_is_not_read_alone(opening) -> None:
    assert read_section(f"# A\n\n{opening}\n", is_last=False) is None


@pytest.mark.parametrize(
    "text", ["- ```\n  a", "> ```\n> a", "<div>", "`a", "1. a\n\n   b", "[a]: 'b", "a\n==="]
)
def test_what_a_heading_ends_is_read_alone(text) -> None:
    assert split_sections(f"{text}\n\n# B\n") == [text, "# B\n"]
    assert read_section(text, is_last=False) is not None


def test_a_text_in_the_middle_of_a_merge_and_front_matter_with_a_heading_are_one_section() -> None:
    for text in ("a\n\n# A\n<<<<<<< b\n\n# B\n>>>>>>> c", "---\na: b\n\n# c\n---\nd"):
        assert split_sections(text) == [text]
    assert len(split_sections("---\na: b\n---\n\n# c")) == 2


def test_of_two_byte_order_marks_the_second_is_part_of_the_text() -> None:
    (first, _) = split_sections("\ufeff\ufeff# a\r\n\r\n# b")
    document = read_section(first, is_last=False)
    assert document is not None
    assert document.lines == read("\ufeff\ufeff# a").lines == ("\ufeff# a",)
