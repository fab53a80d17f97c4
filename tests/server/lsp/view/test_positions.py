"""Places between the engine's code points and an editor's units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types as lsp
from phasekeeper.orchestration.findings import Span
from phasekeeper.server.lsp.view.positions import UTF8, UTF16, UTF32, EncodedText

ENCODINGS = (UTF8, UTF16, UTF32)
WIDTHS = {
    UTF8: lambda text: len(text.encode()),
    UTF16: lambda text: len(text.encode("utf-16-le")) // 2,
    UTF32: len,
}
# An emoji beyond the basic plane, CJK, a combining mark, a form feed and a line separator that end no line.
TEXTS = st.text("ab😀任é\u0301\f\u2028\r\n", max_size=30)


@pytest.mark.parametrize(("encoding", "start", "end"), [(UTF8, 5, 9), (UTF16, 3, 7), (UTF32, 2, 6)])
def test_a_column_behind_an_emoji_counts_its_units(encoding, start, end):
    text = EncodedText("a\r\n😀 TODO x\r\n", encoding)
    found = text.range(Span(1, 2, 1, 6))
    assert found == lsp.Range(lsp.Position(1, start), lsp.Position(1, end))


@pytest.mark.parametrize(
    ("line", "columns"),
    [("任務 x", {UTF8: 7, UTF16: 3, UTF32: 3}), ("e\u0301 x", {UTF8: 4, UTF16: 3, UTF32: 3})],
)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_wide_letters_and_combining_marks_count_their_own_units(line, columns, encoding):
    at = line.index("x")
    assert EncodedText(line, encoding).range(Span(0, at, 0, at + 1)).start.character == columns[encoding]


def test_a_byte_order_mark_is_a_column_to_the_editor_alone():
    text = EncodedText('\ufeff{"a": 1}', UTF16)
    assert text.range(Span(0, 1, 0, 4)).start.character == 2
    assert text.line_and_column(lsp.Position(0, 2)) == (0, 1)


def test_only_the_ends_of_the_protocol_end_a_line():
    text = EncodedText("a\fb\u2028c\r\nd\re\n")
    assert text.line_count == 4
    assert [text.line(n) for n in range(4)] == ["a\fb\u2028c", "d", "e", ""]


def test_a_span_beyond_the_text_ends_with_it():
    assert EncodedText("ab\n").range(Span(7, 3, 9, 1)) == lsp.Range(lsp.Position(1, 0), lsp.Position(1, 0))


def test_a_finding_without_a_span_is_told_of_the_first_line():
    assert EncodedText("abc\nd").range(None) == lsp.Range(lsp.Position(0, 0), lsp.Position(0, 3))


@given(TEXTS, st.sampled_from(ENCODINGS), st.data())
def test_a_place_comes_back_from_its_units(source, encoding, data):
    text = EncodedText(source, encoding)
    line = data.draw(st.integers(0, text.line_count - 1))
    column = data.draw(st.integers(0, len(text.line(line))))
    position = text.range(Span(line, column, line, column)).start
    assert position.character == WIDTHS[encoding](text.line(line)[:column])
    assert text.line_and_column(position) == (line, column)
    assert text.position_at(text.offset_of(position)) == position


@given(TEXTS, TEXTS, st.sampled_from(ENCODINGS), st.data())
def test_an_editor_s_change_is_the_change_of_the_text(source, put, encoding, data):
    text = EncodedText(source, encoding)
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(source))] * 2)))
    inside_an_end = any(source[at - 1 : at + 1] == "\r\n" for at in (start, end) if at)
    if inside_an_end:
        return
    where = lsp.Range(text.position_at(start), text.position_at(end))
    made = text.with_change(lsp.TextDocumentContentChangePartial(range=where, text=put))
    assert made.source == source[:start] + put + source[end:]
