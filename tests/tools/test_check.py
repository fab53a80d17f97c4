"""Findings for builds: exit codes, GitHub's annotations and SARIF."""

from __future__ import annotations

import json
import re

import pytest
from phasekeeper.orchestration.findings import Finding, Severity, Span
from phasekeeper.server.workspace.workspace import open_path
from phasekeeper.tools.check import Blocker, BuildVerdict, as_github, as_json, as_sarif, check

from tests.roots import loop, task

ERROR = Finding("unknown-phase", "a b/état.json", "the phase is unknown", Span(2, 4, 2, 9))
WARNING = Finding("gate-failing", "x.md", "a gate fails", None, Severity.WARNING)
HINT = Finding("freshness-unknown", "x.md", "saved together", None, Severity.HINT)
OVERRIDDEN = Finding("inconsistent-state", "x.md", "ahead", Span(0, 0, 0, 1), overridden=True)
FAILED_GATE = Blocker("r", "g", "gate g has failed", "r/x.json", Span(1, 2, 1, 4))
AWAITED = Blocker("r", "", "r waits for a person: Go on?", "r")


STUCK = Blocker("r", "", "r is blocked: no task can start", "r")


def checked(*findings, failed=(), waiting=(), stuck=()) -> BuildVerdict:
    """What was found in one run."""
    return BuildVerdict(findings, 1, failed, waiting, stuck)


@pytest.mark.parametrize(
    ("result", "gates", "allow_waiting", "code"),
    [
        (checked(), False, False, 0),
        (checked(WARNING, HINT), True, False, 0),
        (checked(ERROR), False, False, 1),
        (checked(OVERRIDDEN), False, False, 0),
        (checked(failed=[FAILED_GATE]), False, False, 0),
        (checked(failed=[FAILED_GATE]), True, False, 1),
        (checked(waiting=[AWAITED]), False, False, 3),
        (checked(waiting=[AWAITED]), False, True, 0),
        (checked(ERROR, waiting=[AWAITED]), False, True, 1),
        (checked(waiting=[AWAITED], failed=[FAILED_GATE]), True, False, 1),
        (checked(stuck=[STUCK]), False, True, 1),
        (checked(stuck=[STUCK], waiting=[AWAITED]), False, False, 1),
    ],
)
def test_the_exit_code_is_that_of_the_worst_run(result, gates, allow_waiting, code):
    assert result.exit_code(gates, allow_waiting) == code


def test_runs_add_up(root):
    task(root, "T1", ok=False)
    loop(root)
    workspace = open_path(root).workspaces[0]
    evaluations = [workspace.evaluate(match) for match in workspace.matches]
    result = check([*evaluations, evaluations[0]], [WARNING, WARNING])

    assert result.runs == 3
    assert result.findings.count(WARNING) == 1
    failed, again = result.failed_gates
    assert failed == again
    assert (failed.run, failed.gate) == (".ai-tools-chain/tasks/T1", "plan-review")
    assert failed.message == (
        "gate plan-review of .ai-tools-chain/tasks/T1 has failed, "
        "not met: the review says ok; no issue is blocking"
    )
    assert (failed.path, failed.span) == (
        ".ai-tools-chain/tasks/T1/review/plan-review.json",
        Span(0, 7, 0, 12),
    )
    [waiting] = result.waiting
    assert (waiting.run, waiting.path) == (".claude/state", ".claude/state/loop.state.json")
    assert waiting.message.startswith(".claude/state waits for a person: ")
    data = as_json(result, str(root))
    assert data["failedGates"][0] == {"run": ".ai-tools-chain/tasks/T1", "gate": "plan-review"}
    assert data["waiting"] == [".claude/state"]


def test_an_annotation_names_its_place_in_lines_and_columns_from_one():
    assert as_github([ERROR, WARNING], lambda path: f"sub/{path}") == [
        "::error file=sub/a b/état.json,title=unknown-phase,line=3,col=5,endLine=3::the phase is unknown",
        "::warning file=sub/x.md,title=gate-failing::a gate fails",
    ]


def test_hints_and_overridden_findings_are_no_annotations():
    assert as_github([HINT, OVERRIDDEN], str) == []


def test_nothing_in_a_finding_ends_its_annotation():
    found = Finding("c", "a,b:c\n::error::x", "one\n::error::two %0A three ##[error]", Span(0, 0, 0, 0))
    [line] = as_github([found], str)

    assert "\n" not in line
    assert re.fullmatch(r"::error file=a%2Cb%3Ac %3A%3Aerror%3A%3Ax,title=c,line=1,col=1,endLine=1::.*", line)
    assert line.endswith("::one ::error::two %250A three #\\x23[error]")


@pytest.mark.parametrize(
    ("gates", "allow_waiting", "levels"),
    [
        (False, False, ["notice", "error"]),
        (True, False, ["error", "error"]),
        (True, True, ["error", "notice"]),
        (False, True, ["notice", "notice"]),
    ],
)
def test_whatever_fails_a_build_is_an_error_in_it(gates, allow_waiting, levels):
    result = checked(WARNING, failed=[FAILED_GATE], waiting=[AWAITED])
    warning, *lines = as_github(result.for_build(gates, allow_waiting), str)

    assert warning.startswith("::warning ")
    assert lines == [
        f"::{levels[0]} file=r/x.json,title=gate-failed,line=2,col=3,endLine=2::gate g has failed",
        f"::{levels[1]} file=r,title=person-awaited::r waits for a person: Go on?",
    ]
    assert ("error" in levels) == (result.exit_code(gates, allow_waiting) != 0)
    _, *blockers = sarif(*result.for_build(gates, allow_waiting))["runs"][0]["results"]
    assert [each["level"] for each in blockers] == [level.replace("notice", "note") for level in levels]


def test_a_run_that_cannot_go_on_is_an_error_in_a_build():
    assert as_github(checked(stuck=[STUCK]).for_build(False, True), str) == [
        "::error file=r,title=run-stuck::r is blocked: no task can start"
    ]


def sarif(*findings, root="/work/a b"):
    return json.loads(as_sarif(findings, root, "1.0"))


def test_sarif_says_where_in_code_points_from_one():
    [run] = sarif(ERROR)["runs"]
    [result] = run["results"]
    place = result["locations"][0]["physicalLocation"]

    assert run["columnKind"] == "unicodeCodePoints"
    assert place["region"] == {"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 10}
    assert place["artifactLocation"] == {"uri": "a%20b/%C3%A9tat.json", "uriBaseId": "ROOT"}
    assert run["originalUriBaseIds"]["ROOT"]["uri"] == "file:///work/a%20b/"


def test_sarif_has_a_rule_for_each_result():
    [run] = sarif(ERROR, WARNING, HINT, OVERRIDDEN, Finding("own-code", "", "m"))["runs"]
    rules = run["tool"]["driver"]["rules"]

    assert [rules[r["ruleIndex"]]["id"] for r in run["results"]] == [r["ruleId"] for r in run["results"]]
    assert [r["level"] for r in run["results"]] == ["error", "warning", "note", "error", "error"]
    assert [bool(r.get("suppressions")) for r in run["results"]] == [False, False, False, True, False]
    assert run["results"][-1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "."


def test_names_that_are_no_text_and_roots_of_windows_are_addresses_too():
    [run] = sarif(Finding("c", "a\udcff#?.md", "m"), root="C:\\work\\x")["runs"]

    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%FF%23%3F.md"
    assert run["originalUriBaseIds"]["ROOT"]["uri"] == "file:///C:/work/x/"
