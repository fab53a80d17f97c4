"""Fuzzing of the readers of reports: real reports, broken at random; run as a process under a memory limit.

`python -m tests.orchestration.evidence.fuzz ROUNDS [SEED]` prints how many were read. It ends with a
traceback where a reader raises or gives what it must not.
"""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path

from phasekeeper.orchestration.evidence.report_readers import READERS, read_report, read_text
from phasekeeper.orchestration.evidence.source_files import candidates
from phasekeeper.orchestration.evidence.tool_report import (
    MOST_ISSUES,
    MOST_NAMES,
    MOST_PLACES,
    CaseCounts,
    CoverageCounts,
    ToolReport,
)
from phasekeeper.orchestration.vfs.files import is_below_root

REPORTS = Path(__file__).parent / "reports"
PIECES = (
    b"<", b">", b"/>", b"</", b"&", b"&#0;", b"&lol;", b"]]>", b"<![CDATA[", b"<!--", b"<!DOCTYPE a [",
    b"<!ENTITY a 'b'>", b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbf\xbf", b"'", b'"', b"\\", b"{", b"}",
    b"[", b"]", b",", b":", b"null", b"true", b"-1", b"1e999", b"9" * 400, b"NaN", b"\\ud800", b"../" * 40,
    b"/etc/passwd", b"C:\\", b"file://", b"%00", b"<testcase name='a'>", b"</testcase>", b"<failure>",
    b"<testsuite tests='1' failures='9'>", b"<line number='1' hits='1'/>", b"<class filename='a'>", b"SF:a\n",
    b"DA:1,1\n", b"end_of_record\n", b"DA:999999999999999999999,1\n", b"(1/0)", b"\r", b"\n",
)  # fmt: skip


def broken_bytes(data: bytes, chance: random.Random) -> bytes:
    """The bytes with up to eight faults: bits turned, pieces cut, doubled, moved, foreign ones put in."""
    out = bytearray(data)
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(out) + 1)
        end = min(len(out), at + int(chance.expovariate(1 / 40)))
        match chance.randrange(6):
            case 0:
                out[at:end] = b""
            case 1:
                out[at:at] = out[at:end] * chance.randint(1, 20)
            case 2:
                out[at:at] = chance.choice(PIECES)
            case 3:
                out[at:end] = chance.choice(PIECES)
            case 4 if at < len(out):
                out[at] ^= 1 << chance.randrange(8)
            case _:
                del out[len(out) - chance.randrange(max(len(out) // 8, 1)) :]
    return bytes(out)


def examine(report: ToolReport) -> None:
    """Raises AssertionError for a report that no reader may give."""
    assert report.readable or (report.problems and not report.data and not report.issues)
    assert len(report.issues) <= MOST_ISSUES
    assert len(report.passed) <= MOST_NAMES and len(report.failed) <= MOST_NAMES
    assert not set(report.data) - set(READERS[report.kind].fields)
    if isinstance(report.counts, CaseCounts):
        total, passed, failed, errors, skipped, flaky = report.counts
        assert total == passed + failed + skipped > 0
        assert 0 <= errors <= failed and 0 <= flaky <= passed
    if isinstance(report.counts, CoverageCounts):
        for each in (report.counts, *report.counts.files):
            for ratio in filter(None, (each.lines.ratio, each.branches.ratio)):
                assert 0 <= ratio <= 1 and math.isfinite(ratio)
    for problem, places in report.issues:
        assert len(places) <= MOST_PLACES and len(problem.message) < 1_000
        for place in places:
            assert all(map(is_below_root, candidates(place.path, "build/x.xml", "/home/user/shop")))


def main(rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    files = sorted(file for file in REPORTS.iterdir() if file.suffix != ".md")
    texts = [file.read_bytes() for file in files]
    count = 0
    for _ in range(rounds):
        data = broken_bytes(chance.choice(texts), chance)
        for kind in READERS:
            report = read_report(kind, data)
            examine(report)
            count += report.readable
        read_text("coverage", data.decode("utf-8", "replace"), {"lines": 0.9, "branches": 0.9})
    print(f"{count} of {rounds} broken reports could still be read")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
