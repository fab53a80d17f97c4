"""The lines of a log: where each begins, what it says, and what the next one calls it."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.journal.lines import parse_line, parse_lines
from phasekeeper.orchestration.vfs.files import digest_of


def test_lines_have_their_number_the_offset_of_their_bytes_and_their_object() -> None:
    raw = b'\xef\xbb\xbf{"seq": 1}\r\n\n  \n{"seq": 2}\n{"seq": 3'
    lines = parse_lines(raw)
    assert [(line.number, line.data) for line in lines] == [(0, {"seq": 1}), (3, {"seq": 2}), (4, None)]
    assert all(raw[line.start :].startswith(line.raw) for line in lines)
    assert lines[0].digest == digest_of('{"seq": 1}')


def test_a_byte_order_mark_is_no_content() -> None:
    assert parse_lines(b"") == []
    assert parse_lines(b'{"seq": 1}')[0].start == 0


@pytest.mark.parametrize("raw", [b"", b"[]", b"1", b'{"a": 1', b'{"a": "\xff"}', b"[" * 100_000])
def test_what_is_no_json_object_has_no_data(raw: bytes) -> None:
    assert parse_line(raw) is None


def test_of_a_key_that_stands_twice_the_last_one_is_read() -> None:
    assert parse_line(b'{"a": 1, "a": 2}') == {"a": 2}
