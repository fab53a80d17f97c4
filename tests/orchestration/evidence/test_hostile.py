"""Reports that ask for too much, and broken ones, are answered within limits of memory and processor time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux does")

ADDRESS_SPACE = 1 << 30
"""Bytes: what maps more is refused it."""
CPU_S = 120
ROOT = Path(__file__).parents[3]


def limit() -> None:
    """Limits of the process that calls it."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))


def run(*words: str) -> str:
    """What a Python process under the limits prints; its errors too."""
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, preexec_fn=limit, check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout.strip()


READ = """\
import sys
from phasekeeper.orchestration.evidence.report_readers import read_report

MB = 1 << 20

def suite(inside):
    return b"<testsuite>" + inside + b"</testsuite>"

def failed(text):
    return b"<testcase><failure>" + text + b"</failure></testcase>"

def entities(declared):
    return b"<!DOCTYPE a [" + declared + b"]>"

def record(number):
    return b"SF:%d\\nDA:1,0\\nend_of_record\\n" % number

def tenfold(number):
    return b"<!ENTITY a%d '%s'>" % (number, b"&a%d;" % (number - 1) * 10)

def results(count):
    return b'{"version":"2.1.0","runs":[{"results":[' + b"{}," * count + b"{}]}]}"

report = read_report(sys.argv[1], eval(sys.argv[2]))
print(report.counts and tuple(report.counts)[:2], *(problem.message for problem in report.problems))
"""


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("junit", "bytes(200 * MB)", "the report is 200 MB; at most 32 MB are read"),
        ("junit", "entities(b''.join(map(tenfold, range(1, 20)))) + suite(b'&a19;')", "declares entities"),
        ("junit", "entities(b'<!ENTITY a \"' + b'a' * MB + b'\">') + b'&a;' * MB", "declares entities"),
        ("junit", "b'<a>' * (10 * MB)", "nested more than 200 levels deep"),
        ("junit", "b'<testsuite>' * (2 * MB)", "nested more than 200 levels deep"),
        ("junit", "suite(b'<testcase/>' * (2 * MB))", "more than 400000 elements"),
        ("junit", "suite(b'<testcase name=\"' + b'a' * (31 * MB) + b'\"/>')", "(1, 1)"),
        ("junit", "suite(failed(b'a.b:1 ' * (5 * MB)))", "(1, 0)"),
        ("junit", "suite(failed(b'((((a  ' * 2300) * 500)", "(500, 0)"),
        ("junit", "suite(b'<!--' + b'-a' * (15 * MB) + b'--><testcase/>')", "(1, 1)"),
        ("junit", "suite(bytes(31 * MB) + b'<testcase/>')", "(1, 1)"),
        ("junit", "b'<!--' + b'-a' * (15 * MB) + b'-->' + suite(b'')", "no element stands in its first"),
        ("coverage", "b'SF:a\\n' * (6 * MB)", "lines; at most 1000000 are read"),
        ("coverage", "b''.join(map(record, range(330000)))", "of 330000 files"),
        ("coverage", "b'{\"files\":' * (3 * MB)", "nested more than 200 levels deep"),
        ("coverage", "b'{\"a\":[' + b'{},' * (6 * MB)", "values; at most 400000 are read"),
        ("sarif", "results(390000)", "(0, 390001)"),
        ("sarif", "results(MB)", "values; at most 400000 are read"),
        ("sarif", "b'{\"version\":\"' + b'a' * (31 * MB) + b'\"}'", "SARIF of version 2.1.0"),
    ],
)  # fmt: skip
def test_a_report_that_asks_for_too_much_is_answered(kind: str, text: str, said: str) -> None:
    assert said in run("-c", READ, kind, text)


@pytest.mark.parametrize("seed", ["1", "2"])
def test_no_broken_report_makes_a_reader_fail(seed: str) -> None:
    said = run("-m", "tests.orchestration.evidence.fuzz", "1500", seed)
    assert said.endswith("of 1500 broken reports could still be read")
    assert int(said.split()[0]) > 100
