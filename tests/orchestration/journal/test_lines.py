"""The lines of a log: where each begins, what it says, and what the next one calls it."""

from __future__ import annotations

import sys

import pytest
from phasekeeper.orchestration.journal.lines import parse_line, parse_lines
from phasekeeper.orchestration.vfs.files import digest_of


def test_lines_have_their_number_the_offset_of_their_bytes_and_their_object() -> None:
    raw = b'\xef\xbb\xbf{"seq": 1}\r\n\n  \n{"seq": 2}\n{"seq": 3'
    lines = parse_lines(raw)
    assert [(line.number, line.data) for line in lines] == [(0, {"seq": 1}), (3, {"seq": 2}), (4, None)]
    assert all(raw[line.start :].startswith(line.text.encode()) for line in lines)
    assert lines[0].digest == digest_of('{"seq": 1}')


def test_offsets_count_bytes_also_of_what_is_no_utf_8() -> None:
    raw = 'ü"\n'.encode() + b"\xff\xfe\n{}"
    assert [line.start for line in parse_lines(raw)] == [0, 4, 7]
    assert [line.start for line in parse_lines("\ud800\n{}")] == [0, 4]


def test_a_byte_order_mark_is_no_content() -> None:
    assert parse_lines(b"") == []
    assert parse_lines(b'{"seq": 1}')[0].start == 0


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"1",
        b'{"a": 1',
        b'{"a": "\xff"}',
        b"[" * 100_000,
        b'{"a": NaN}',
        b'{"a": ' + b"[" * 600 + b"]" * 600 + b"}",
        b'{"a": ' + b"9" * 4301 + b"}",
        rb'{"a": "\ud800"}',
    ],
)
def test_what_is_no_json_object_has_no_data(raw: bytes) -> None:
    line = parse_line(raw)
    assert (line.written, line.data, line.integer("a")) == (None, None, 0)


def test_of_a_key_that_stands_twice_the_last_one_is_read_and_the_line_says_so() -> None:
    line = parse_line(b'{"a": 1, "a": 2}')
    assert (line.written, line.data, line.repeated) == ({"a": 2}, {"a": 2}, True)
    assert not parse_line(b'{"a": 1}').repeated


def test_signatures_are_over_what_is_written_and_guards_see_numbers_that_fit_and_no_null() -> None:
    line = parse_line(b'{"a": null, "b": 1000000000000000000000000, "c": [null, 1e999]}')
    assert line.written == {"a": None, "b": 10**24, "c": [None, float("inf")]}
    assert line.data == {"b": 1e24, "c": [sys.float_info.max]}
    assert line.integer("b") == 0


def test_text_has_no_byte_order_mark_to_drop_and_bytes_have_one() -> None:
    assert parse_lines("\ufeff{}")[0].data is None
    assert parse_lines(b"\xef\xbb\xbf{}")[0].data == {}
    assert parse_lines("{}\n \u00a0\n{}\r\n")[1].number == 2
