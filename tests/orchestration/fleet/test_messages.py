"""Messages of a fleet are read as what anybody may have written there."""

from __future__ import annotations

import json

import pytest
from phasekeeper.orchestration.fleet.messages import (
    MAX_BYTES,
    MAX_ITEMS,
    MAX_TEXT,
    format_message,
    key_token,
    number_of,
    parse_message,
    text_of,
)


def test_what_is_written_is_read_again() -> None:
    values = {"run": "docs/ä", "seq": 7, "questions": ("q-1", "q-2")}
    assert parse_message(format_message(values)) == values


def test_what_is_too_long_is_cut_by_who_writes_it() -> None:
    values = {"text": "x" * (MAX_TEXT + 1), "items": ("y" * (MAX_TEXT + 1),) * (MAX_ITEMS + 1)}
    assert format_message(values) == format_message(
        {"text": "x" * MAX_TEXT, "items": ("y" * MAX_TEXT,) * MAX_ITEMS}
    )


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b"[" * 8000,
        b'{"a":' * 1600,
        b'{"a": {"b": 1}}',
        b'{"a": [["b"]]}',
        b'{"a": [1]}',
        b'{"a": 1.5}',
        b'{"a": true}',
        b'{"a": 99999999999999999999}',
        b'{"a": NaN}',
        b'{"a": "line\\nline"}',
        b'{"a": "\\u001b[2J"}',
        b'{"a": "\\u202e"}',
        b'{"a": "\\ud800"}',
        json.dumps({"a": "x" * (MAX_TEXT + 1)}).encode(),
        json.dumps({"a": ["x"] * (MAX_ITEMS + 1)}).encode(),
        json.dumps({str(number): 1 for number in range(MAX_ITEMS + 1)}).encode(),
        b'{"a": 1}' + b" " * MAX_BYTES,
    ],
)
def test_what_has_another_form_is_no_message(raw: bytes) -> None:
    assert parse_message(raw) is None


def test_a_member_of_another_type_is_as_one_that_is_missing() -> None:
    values = {"text": "x", "number": 3}
    assert (text_of(values, "text"), text_of(values, "number"), text_of(values, "other")) == ("x", "", "")
    assert (number_of(values, "number"), number_of(values, "text"), number_of(values, "other")) == (3, -1, -1)


def test_names_that_differ_have_other_tokens() -> None:
    assert key_token("a", "b") != key_token("a\0b", "") != key_token("ab")
    assert key_token("\ud800") and len(key_token("ä" * 1000)) == 32
