"""What the records of a journal say was written, asked for by path."""

from __future__ import annotations

import json

import pytest
from phasekeeper.server.store import log_file
from phasekeeper.server.store.log_file import LogTail, WrittenFile


def line(seq: int, *files: tuple[str, str]) -> bytes:
    named = [{"path": path, "digest": digest, "was": ""} for path, digest in files]
    return json.dumps({"seq": seq, "kind": "report", "files": named, "prev": ""}).encode() + b"\n"


def test_the_newest_record_tells_what_it_wrote_at_a_path() -> None:
    tail = LogTail(raw=line(1, ("a", "01"), ("b", "02")) + line(2, ("a", "03")) + line(3))
    assert tail.newest_digests() == {"a": "03", "b": "02"}
    assert tail.newest_writes({"a", "b", "c"}) == [
        WrittenFile(1, 1, "b", "02", ""),
        WrittenFile(2, 0, "a", "03", ""),
    ]
    assert tail.newest_writes({"b"}) == [WrittenFile(1, 1, "b", "02", "")]
    assert tail.newest_writes(()) == []


def test_a_line_without_its_end_counts_as_any() -> None:
    tail = LogTail(raw=line(1, ("a", "01")) + line(2, ("a", "02")).rstrip())
    assert tail.newest_writes({"a"}) == [WrittenFile(2, 0, "a", "02", "")]


def test_a_record_of_many_files_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [f"f/{number}" for number in range(1000)]
    tail = LogTail(raw=line(1, *((path, "01") for path in paths)) + line(2, ("other", "02")))
    parsed = list[bytes | str]()
    parse = log_file.parse_line
    monkeypatch.setattr(log_file, "parse_line", lambda text: parsed.append(text) or parse(text))
    assert len(tail.newest_writes(paths)) == len(paths)
    assert len(parsed) == 1


@pytest.mark.parametrize("path", [rb"a\q", b"a\tb", b"\xff", rb"\u12"])
def test_what_is_no_text_of_json_names_no_file(path: bytes) -> None:
    odd = b'{"path": "%s", "digest": "01", "was": ""}\n' % path
    tail = LogTail(raw=odd + line(1, ("a/b", "02")))
    assert tail.newest_digests() == {"a/b": "02"}
    assert tail.folders() == {"a"}
