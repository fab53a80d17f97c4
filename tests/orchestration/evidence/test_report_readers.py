"""What is asked of every kind of report: bytes of any size and encoding, read by its word."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.evidence.report_readers import READERS, read_report
from phasekeeper.orchestration.evidence.tool_report import MOST_REPORT_BYTES


@pytest.mark.parametrize("kind", READERS)
def test_a_report_that_is_too_large_is_not_read(kind: str) -> None:
    report = read_report(kind, bytes(MOST_REPORT_BYTES + 1))
    assert (report.kind, report.readable, report.data) == (kind, False, {})
    assert [problem.message for problem in report.problems] == ["the report is 33 MB; at most 32 MB are read"]


def test_a_report_in_an_unknown_encoding_is_not_read() -> None:
    report = read_report("junit", b"<?xml version='1.0' encoding='utf-7'?><testsuite/>")
    assert [problem.message for problem in report.problems] == ["its encoding utf-7 is not known"]


def test_a_report_in_utf_16_is_read() -> None:
    text = "<?xml version='1.0' encoding='utf-16'?><testsuite><testcase name='é'/></testsuite>"
    assert read_report("junit", text.encode("utf-16")).passed == ("é",)


def test_bytes_that_are_no_characters_hide_nothing() -> None:
    data = b"<testsuite><testcase name='\xff\x00'><failure>\x1b[31m\xc3</failure></testcase></testsuite>"
    report = read_report("junit", data)
    assert report.failed == ("\ufffd\ufffd",)
    assert report.data["failed"] == 1


def test_an_unknown_kind_is_an_error_of_the_caller() -> None:
    with pytest.raises(KeyError):
        read_report("tap", b"")


def test_coverage_of_too_many_files_is_not_read() -> None:
    data = b"".join(b"SF:%d\nDA:1,0\nend_of_record\n" % number for number in range(50_001))
    report = read_report("coverage", data)
    assert [problem.message for problem in report.problems] == [
        "the report is of 50001 files; at most 50000 are read"
    ]
