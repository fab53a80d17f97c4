"""Which results of SARIF count, at which level and where, by the standard."""

from __future__ import annotations

import json
from typing import Any

import pytest
from phasekeeper.orchestration.evidence.report_readers import read_report
from phasekeeper.orchestration.evidence.tool_report import MOST_ISSUES, ToolReport


def report(*results: object, **run: Any) -> ToolReport:
    log = {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "t"}}, "results": list(results), **run}]}
    return read_report("sarif", json.dumps(log).encode())


def counts(*results: object, **run: Any) -> dict[str, int]:
    found = report(*results, **run).counts
    assert found is not None
    return {name: count for name, count in found._asdict().items() if count}


ACCEPTED, REVIEWED, REJECTED = (
    {"kind": "inSource", "status": word} for word in ("accepted", "underReview", "rejected")
)
DRIVER = {
    "driver": {"name": "t", "rules": [{"id": "E", "defaultConfiguration": {"level": "error"}}, {"id": "W"}]},
    "extensions": [{"name": "x", "rules": [{"id": "N", "defaultConfiguration": {"level": "note"}}]}],
}


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({}, "warning"),
        ({"level": "error"}, "error"),
        ({"level": "note"}, "note"),
        ({"level": "none"}, ""),
        ({"level": "fatal"}, "error"),
        ({"level": ["error"]}, "error"),
        ({"level": "error", "kind": "fail"}, "error"),
        ({"level": "error", "kind": "pass"}, ""),
        ({"kind": "review"}, ""),
        ({"level": "error", "kind": ["pass"]}, "error"),
        ({"level": "error", "suppressions": []}, "error"),
        ({"level": "error", "suppressions": [{"kind": "inSource"}]}, "suppressed"),
        ({"level": "error", "suppressions": [ACCEPTED]}, "suppressed"),
        ({"level": "error", "suppressions": [ACCEPTED, REVIEWED]}, "error"),
        ({"level": "error", "suppressions": [REJECTED]}, "error"),
        ({"level": "error", "suppressions": [{"status": ["accepted"]}]}, "error"),
        ({"level": "error", "baselineState": "new"}, "error"),
        ({"level": "error", "baselineState": "updated"}, "error"),
        ({"level": "error", "baselineState": "unchanged"}, "unchanged"),
        ({"level": "error", "baselineState": "absent"}, ""),
        ({"ruleId": "E"}, "error"),
        ({"ruleId": "E/sub/part"}, "error"),
        ({"ruleId": "W"}, "warning"),
        ({"ruleId": "N"}, "note"),
        ({"ruleId": "X"}, "warning"),
        ({"ruleIndex": 0}, "error"),
        ({"ruleIndex": 9, "ruleId": "E"}, "error"),
        ({"ruleIndex": "0"}, "warning"),
        ({"rule": {"index": 0, "toolComponent": {"index": 0}}}, "note"),
        ({"rule": {"id": "E"}}, "error"),
        ("a text", "warning"),
    ],
)
def test_a_result_counts_at_its_level_or_not_at_all(result: object, expected: str) -> None:
    assert counts(result, tool=DRIVER) == ({expected: 1} if expected else {})


def test_an_invocation_may_change_the_level_of_a_rule() -> None:
    changed = [{"descriptor": {"id": "E"}, "configuration": {"level": "note"}}, {}, 7]
    assert counts({"ruleId": "E"}, tool=DRIVER, invocations=[{"ruleConfigurationOverrides": changed}]) == {
        "note": 1
    }


def test_guards_see_the_counts_and_their_sum() -> None:
    found = report({"level": "error"}, {}, {"level": "note"}, {"suppressions": [ACCEPTED]})
    assert found.data == {"error": 1, "warning": 1, "note": 1, "suppressed": 1, "unchanged": 0, "total": 3}
    assert report().data["total"] == 0


def unusable(log: object) -> tuple[str, str]:
    found = read_report("sarif", json.dumps(log).encode())
    assert (found.readable, dict(found.data), found.issues) == (False, {}, ())
    return found.problems[0].code, found.problems[0].message


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ([], "`version`"),
        ({"version": "2.0.0", "runs": []}, "`version`"),
        ({"version": "2.1.0"}, "no run"),
        ({"version": "2.1.0", "runs": []}, "no run"),
        ({"version": "2.1.0", "runs": [{}]}, "no list of `results`"),
        ({"version": "2.1.0", "runs": [{"results": []}, {"results": None}]}, "no list of `results`"),
        ({"version": "2.1.0", "runs": [{"results": [], "invocations": [{"executionSuccessful": False}]}]},
         "the tool says that it failed"),
    ],
)  # fmt: skip
def test_a_run_that_did_not_look_says_nothing(log: object, said: str) -> None:
    code, message = unusable(log)
    assert code == "artifact-invalid"
    assert said in message


def test_what_is_no_json_or_holds_too_much_is_not_read() -> None:
    for data in (b"{", b'{"version": "2.1.0", "runs": [' + b"1," * 400_001 + b"1]}"):
        found = read_report("sarif", data)
        assert [problem.code for problem in found.problems] == ["artifact-unreadable"]
        assert not found.readable


def places(location: object, **run: Any) -> list[tuple[str, tuple[int, ...] | None]]:
    (issue,) = report({"locations": [location]}, **run).issues
    return [(place.path, place.span and tuple(place.span)) for place in issue.places]


def at(uri: str | None, base: str = "", index: int | None = None, **region: Any) -> dict[str, Any]:
    artifact = {"uri": uri, "uriBaseId": base or None, "index": index}
    artifact = {key: value for key, value in artifact.items() if value is not None}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


@pytest.mark.parametrize(
    ("region", "span"),
    [
        ({}, None),
        ({"startLine": 3}, (2, 0, 3, 0)),
        ({"startLine": 3, "startColumn": 5}, (2, 4, 2, 5)),
        ({"startLine": 3, "startColumn": 5, "endColumn": 9}, (2, 4, 2, 8)),
        ({"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 2}, (2, 4, 2, 5)),
        ({"startLine": 3, "startColumn": 5, "endLine": 4, "endColumn": 9}, (2, 4, 2, 5)),
        ({"startLine": 0}, None),
        ({"startLine": 10**30}, None),
        ({"startLine": 3, "startColumn": 10**30}, (2, 0, 3, 0)),
        ({"startLine": "3"}, None),
        ({"startLine": True}, None),
    ],
)
def test_lines_and_columns_count_from_one(region: dict[str, Any], span: tuple[int, ...] | None) -> None:
    assert places(at("a.py", **region)) == [("a.py", span)]


def test_columns_in_utf_16_mean_the_line() -> None:
    region: dict[str, Any] = {"startLine": 3, "startColumn": 5}
    assert places(at("a.py", **region), columnKind="utf16CodeUnits") == [("a.py", (2, 0, 3, 0))]
    assert places(at("a.py", **region), columnKind="unicodeCodePoints") == [("a.py", (2, 4, 2, 5))]


BASES = {
    "ROOT": {"uri": "file:///r/my%20shop/"},
    "SRC": {"uri": "src", "uriBaseId": "ROOT"},
    "OPEN": {"description": {"text": "not told"}},
    "RING": {"uri": "a/", "uriBaseId": "RING"},
}


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        (at("a.py"), ["a.py"]),
        (at("my%20file.py"), ["my file.py"]),
        (at("file:///r/a.py"), ["/r/a.py"]),
        (at("file://host/r/a.py"), ["/r/a.py"]),
        (at("file:/r/a.py"), ["/r/a.py"]),
        (at("file:///C:/r/a.py"), ["C:/r/a.py"]),
        (at("a.py", "ROOT"), ["/r/my shop/a.py", "a.py"]),
        (at("a.py", "SRC"), ["/r/my shop/src/a.py", "a.py"]),
        (at("a.py", "OPEN"), ["a.py"]),
        (at("a.py", "NOBODY"), ["a.py"]),
        (at("a.py", "RING"), ["a/a/a/a/a/a/a/a/a.py", "a.py"]),
        (at("file:///r/a.py", "ROOT"), ["/r/a.py"]),
        (at(None, index=1), ["b.py"]),
        (at(None, index=7), []),
        (at("https://example.org/a.py"), []),
        (at(""), []),
        ({"message": {"text": "nowhere"}}, []),
        ("a text", []),
    ],
)
def test_paths_are_references_to_bases_and_files(location: object, expected: list[str]) -> None:
    files = [{"location": {"uri": "a.py"}}, {"location": {"uri": "b.py"}}]
    found = places(location, originalUriBaseIds=BASES, artifacts=files)
    assert [path for path, _ in found] == expected


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"ruleId": "E", "message": {"text": "wrong\nvery"}}, "t: E wrong (error)"),
        ({"ruleId": "W", "message": {"id": "m"}}, "t: W told by id (warning)"),
        ({"message": {"text": "wrong"}, "level": "note"}, "t: wrong (note)"),
        ({}, "t: an issue (warning)"),
        ({"message": "wrong"}, "t: an issue (warning)"),
    ],
)
def test_an_issue_says_the_tool_its_rule_and_what_is_wrong(result: object, said: str) -> None:
    driver = {"name": "t", "rules": [*DRIVER["driver"]["rules"]]}
    driver["rules"][1] = {"id": "W", "messageStrings": {"m": {"text": "told by id"}}}
    (issue,) = report(result, tool={"driver": driver}).issues
    assert issue.problem.message == said
    assert issue.problem.severity == ("info" if said.endswith("(note)") else "warning")


def test_a_tool_without_a_name_is_called_the_tool() -> None:
    (issue,) = report({}, tool=None).issues
    assert issue.problem.message == "the tool: an issue (warning)"


def test_of_many_issues_all_are_counted_and_the_first_are_told() -> None:
    found = report(*[{}] * (MOST_ISSUES + 1))
    assert found.data["warning"] == MOST_ISSUES + 1
    assert len(found.issues) == MOST_ISSUES
