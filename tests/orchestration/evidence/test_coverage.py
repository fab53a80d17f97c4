"""Coverage is counted line by line, whatever the report says of itself; thresholds name what is missing."""

from __future__ import annotations

import json

import pytest
from phasekeeper.orchestration.evidence.coverage import shortfalls
from phasekeeper.orchestration.evidence.report_readers import read_report, read_text
from phasekeeper.orchestration.evidence.tool_report import CoverageCounts, ToolReport


def counts(text: str) -> CoverageCounts:
    found = read_report("coverage", text.encode())
    assert found.problems == ()
    assert isinstance(found.counts, CoverageCounts)
    return found.counts


def cobertura(inside: str, more: str = "") -> str:
    packages = f"<packages><package><classes>{inside}</classes></package></packages>"
    return f"<coverage line-rate='1'>{more}{packages}</coverage>"


def in_class(lines: str, file: str = "a.py") -> str:
    return f"<class filename='{file}'><lines>{lines}</lines></class>"


HIT, MISSED = "<line number='1' hits='3'/>", "<line number='2' hits='0'/>"


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        (in_class(HIT + MISSED), (1, 2)),
        (in_class(HIT) + in_class(MISSED), (1, 2)),
        (in_class(HIT) + in_class("<line number='1' hits='0'/>"), (1, 1)),
        (in_class(HIT) + in_class(HIT, "b.py"), (2, 2)),
        (in_class(HIT + "<line number='x' hits='1'/><line hits='1'/><line number='3' hits='many'/>"), (1, 2)),
        (in_class("<line number='-1' hits='1'/><line number='5' hits='-1'/>"), (0, 1)),
        (in_class(f"<method><lines>{MISSED}</lines></method>" + HIT), (1, 1)),
        ("<class><lines><line number='1' hits='1'/></lines></class>" + in_class(MISSED), (0, 1)),
    ],
)  # fmt: skip
def test_lines_of_cobertura_are_counted_once_a_file(classes: str, expected: tuple[int, int]) -> None:
    assert counts(cobertura(classes)).lines == expected


def test_branches_of_cobertura_are_those_of_conditions() -> None:
    branch = "<line number='1' hits='1' branch='true' condition-coverage='50% ({})'/>"
    assert counts(cobertura(in_class(branch.format("2/4")))).branches == (2, 4)
    twice = in_class(branch.format("1/4")) + in_class(branch.format("3/4"))
    assert counts(cobertura(twice)).branches == (3, 4)
    assert counts(cobertura(in_class(branch.format("9/4")))).branches == (4, 4)
    assert counts(cobertura(in_class(HIT))).branches == (0, 0)


def test_guards_see_ratios_from_0_to_1_and_none_of_nothing() -> None:
    found = read_report("coverage", cobertura(in_class(HIT + MISSED) + in_class(HIT, "b.py")).encode())
    assert found.data == {
        "lines": 2 / 3, "covered": 2, "total": 3, "files": {"a.py": {"lines": 0.5}, "b.py": {"lines": 1.0}},
    }  # fmt: skip


LCOV = "TN:\nSF:a.js\nDA:1,3\nDA:2,0\nBRDA:1,0,0,1\nBRDA:1,0,1,-\nLF:9\nLH:9\nend_of_record\n"


@pytest.mark.parametrize(
    ("text", "lines", "branches"),
    [
        (LCOV, (1, 2), (1, 2)),
        (LCOV.replace("\n", "\r\n"), (1, 2), (1, 2)),
        (LCOV + LCOV.replace("DA:2,0", "DA:2,1"), (2, 2), (1, 2)),
        (LCOV + LCOV.replace("a.js", "b.js"), (2, 4), (2, 4)),
        ("SF:a\nLF:5\nLH:7\nBRF:2\nBRH:1\nend_of_record", (5, 5), (1, 2)),
        ("SF:a\nDA:1\nDA:x,1\nDA:0,1\nDA:2,1,checksum\nBRDA:1,0,1\nend_of_record\nDA:9,1\n", (1, 1), (0, 0)),
    ],
)
def test_lines_of_lcov_are_counted_once_a_file(
    text: str, lines: tuple[int, int], branches: tuple[int, int]
) -> None:
    found = counts(text)
    assert (found.lines, found.branches) == (lines, branches)


def test_lines_of_coverage_py_are_those_it_lists() -> None:
    file = {
        "executed_lines": [1, 2, 2, True, -4, "5"], "missing_lines": [2, 3], "summary": {"covered_lines": 99},
        "executed_branches": [[1, 2], 7], "missing_branches": [[1, 3]],
    }  # fmt: skip
    found = counts(json.dumps({"files": {"a.py": file, "b.py": {"executed_lines": None}}}))
    assert (found.lines, found.branches) == ((2, 3), (1, 2))


def unusable(text: str) -> tuple[str, str]:
    found = read_report("coverage", text.encode())
    assert (found.readable, dict(found.data)) == (False, {})
    (problem,) = found.problems
    return problem.code, problem.message


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("", "artifact-invalid", "neither Cobertura's XML nor LCOV"),
        ("100 % covered", "artifact-invalid", "neither Cobertura's XML nor LCOV"),
        ("<report/>", "artifact-invalid", "root element is <report>"),
        ("<coverage line-rate='1'/>", "artifact-invalid", "not a single line"),
        ("<coverage><class filename='a'>", "artifact-unreadable", "not valid XML: no element found"),
        ("SF:a\nDA:1,1\n", "artifact-invalid", "cut off"),
        ("SF:a\nend_of_record\n", "artifact-invalid", "not a single line"),
        ("SF:a\n" + "\n" * 1_000_001, "artifact-unreadable", "1000002 lines"),
        ("{}", "artifact-invalid", "an object `files`"),
        ('{"files": []}', "artifact-invalid", "an object `files`"),
        ('{"files": {"a": 1}}', "artifact-invalid", "an object `files`"),
        ('{"files": {}}', "artifact-invalid", "not a single line"),
        ('{"files": ', "artifact-unreadable", "not valid JSON"),
        ('{"files": {"a": {"executed_lines": [' + "1," * 400_001, "artifact-unreadable", "400001 values"),
    ],
)
def test_what_measures_nothing_or_is_cut_off_says_nothing(text: str, code: str, said: str) -> None:
    found = unusable(text)
    assert found[0] == code
    assert said in found[1]


def test_json_that_contradicts_itself_says_nothing() -> None:
    found = read_report("coverage", b'{"files": {"a": {"executed_lines": [1]}, "a": {"executed_lines": []}}}')
    assert not found.readable
    assert {problem.code for problem in found.problems} == {"artifact-contradictory"}


# ---- thresholds


def told(found: ToolReport, **thresholds: float) -> list[str]:
    assert isinstance(found.counts, CoverageCounts)
    problems = shortfalls(found.counts, thresholds)
    return [
        " ".join(
            [problem.message, *(f"@{place.path}:{place.span and place.span.line + 1}" for place in places)]
        )
        for problem, places in problems
    ]


def lines(*numbers: int) -> str:
    return "".join(f"<line number='{number}' hits='0'/>" for number in numbers)


def test_a_shortfall_names_the_files_below_it_with_most_missed_lines_first() -> None:
    text = cobertura(
        in_class(HIT, "good.py") + in_class(HIT + MISSED, "b.py") + in_class(lines(2, 3, 4, 8), "c.py"),
        "<sources><source>/r</source><source/></sources>",
    )
    assert told(read_report("coverage", text.encode()), lines=0.8) == [
        "2 of 7 lines are covered (0.2857); the threshold is 0.8",
        "c.py: 0 of 4 lines are covered (0), the threshold is 0.8; not lines 2–8 @/r/c.py:2 @c.py:2",
        "b.py: 1 of 2 lines are covered (0.5), the threshold is 0.8; not lines 2 @/r/b.py:2 @b.py:2",
    ]


def test_what_reaches_its_threshold_is_no_shortfall() -> None:
    found = read_report("coverage", cobertura(in_class(HIT + MISSED)).encode())
    assert told(found, lines=0.5) == []
    assert told(found) == []


def test_a_file_without_a_line_lacks_none() -> None:
    text = cobertura(in_class("", "__init__.py") + in_class(MISSED))
    assert [each.split(":")[0] for each in told(read_report("coverage", text.encode()), lines=0.8)][1:] == [
        "a.py"
    ]


def test_what_was_not_measured_is_below_every_threshold() -> None:
    found = read_report("coverage", cobertura(in_class(HIT)).encode())
    assert told(found, branches=0.0) == ["no branches were measured; the threshold is 0"]


def test_of_many_missed_ranges_the_first_are_named_and_a_line_without_is_none() -> None:
    odd = lines(*range(1, 200, 2))
    between = "".join(f"<line number='{number}' hits='1'/>" for number in range(2, 200, 2))
    found = told(read_report("coverage", cobertura(in_class(odd + between)).encode()), lines=1)
    assert found[1].endswith("not lines 1, 3, 5, 7, 9… @a.py:1")
    sums = read_report("coverage", b"SF:/r/a\nLF:4\nLH:1\nend_of_record\n")
    assert told(sums, lines=1)[1] == "/r/a: 1 of 4 lines are covered (0.25), the threshold is 1 @/r/a:None"


def test_coverage_below_a_threshold_has_no_data() -> None:
    text = cobertura(in_class(HIT + MISSED))
    low = read_text("coverage", text, {"lines": 0.8})
    assert (low.readable, low.data) == (False, None)
    assert [problem.code for problem in low.problems] == ["coverage-low"]
    assert [problem.code for problem, _ in low.source_problems] == ["coverage-low"]
    enough = read_text("coverage", text, {"lines": 0.5})
    assert (enough.readable, enough.problems, enough.source_problems) == (True, (), ())
