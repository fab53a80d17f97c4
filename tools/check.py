"""What `phasekeeper check` finds, its exit code, and the formats other programs read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote

from ..orchestration.findings import CODES, Evidence, Finding, Severity, Span
from ..orchestration.result.values import Evaluation, GateState, finding_json
from ..orchestration.sanitize import github_message, github_property, markdown, plain
from ..orchestration.states import GateStatus
from .run_names import awaits_person

# Exit codes of the design, section 7; the worst run counts.
CLEAN, FAILED, WAITING = 0, 1, 3
_PATH = 4096
GATE_FAILED, PERSON_AWAITED = "gate-failed", "person-awaited"
_MEANT = {GATE_FAILED: "a gate has failed", PERSON_AWAITED: "a run goes on when a person has decided"}


class Blocker(NamedTuple):
    """What holds a run besides findings: a failed gate, or (`gate` is "") a person who is awaited."""

    run: str
    gate: str
    said: str
    path: str
    span: Span | None = None


@dataclass(frozen=True)
class Checked:
    """All findings of some runs, and what they mean for a build.

    `failed_gates` are all that have failed, `waiting` the runs in which a person is awaited.
    """

    findings: tuple[Finding, ...]
    runs: int
    failed_gates: tuple[Blocker, ...]
    waiting: tuple[Blocker, ...]

    def exit_code(self, gates: bool = False, allow_waiting: bool = False) -> int:
        errors = any(found.severity is Severity.ERROR and not found.overridden for found in self.findings)
        if errors or (gates and self.failed_gates):
            return FAILED
        return WAITING if self.waiting and not allow_waiting else CLEAN

    def for_build(self, gates: bool, allow_waiting: bool) -> list[Finding]:
        """The findings, and like them what else a build has to be told: what fails it is an error."""
        shut = Severity.ERROR if gates else Severity.INFO
        waited = Severity.INFO if allow_waiting else Severity.ERROR
        return [
            *self.findings,
            *(Finding(GATE_FAILED, each.path, each.said, each.span, shut) for each in self.failed_gates),
            *(Finding(PERSON_AWAITED, each.path, each.said, each.span, waited) for each in self.waiting),
        ]

    def count(self, severity: Severity) -> int:
        return sum(1 for found in self.findings if found.severity is severity and not found.overridden)


def check(evaluations: Sequence[Evaluation], more: Iterable[Finding] = ()) -> Checked:
    """The findings of runs (each once), their failed gates, and the runs that await a person."""
    found = dict.fromkeys([*more, *(finding for e in evaluations for finding in e.findings)])
    shut = tuple(
        _failed(e, gate) for e in evaluations for gate in e.gates if gate.status == GateStatus.FAILED
    )
    waiting = tuple(_awaiting(e) for e in evaluations if awaits_person(e))
    return Checked(tuple(found), len(evaluations), shut, waiting)


def _failed(e: Evaluation, gate: GateState) -> Blocker:
    unmet = [criterion for criterion in gate.criteria if criterion.met is not True]
    said = f"gate {gate.id} of {e.run} has failed, not met: {'; '.join(each.text for each in unmet)}"
    return Blocker(e.run, gate.id, said, *_place(e, [found for each in unmet for found in each.evidence]))


def _awaiting(e: Evaluation) -> Blocker:
    asked = "; ".join(f"{question.question} ({question.id})" for question in e.questions)
    said = f"{e.run} waits for a person: {asked or e.suggestion.waiting_for or e.status_reason}"
    return Blocker(e.run, "", said, *_place(e, e.suggestion.evidence))


def _place(e: Evaluation, evidence: Iterable[Evidence]) -> tuple[str, Span | None]:
    """Where the first of the evidence stands that stands in a file; else the run itself."""
    return next(((each.path, each.span) for each in evidence if each.path), (e.run, None))


def as_json(checked: Checked, root: str) -> dict[str, Any]:
    """The findings as data; paths are relative to the root."""
    return {
        "root": root,
        "runs": checked.runs,
        "findings": [finding_json(found) for found in checked.findings],
        "failedGates": [{"run": each.run, "gate": each.gate} for each in checked.failed_gates],
        "waiting": [each.run for each in checked.waiting],
    }


_GITHUB = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def as_github(told: Iterable[Finding], shown: Callable[[str], str]) -> list[str]:
    """Workflow commands that GitHub turns into annotations; hints and overridden findings are left out."""
    lines = []
    for found in told:
        if found.severity is Severity.HINT or found.overridden:
            continue
        places = {"file": shown(found.path), "title": found.code} | _github_lines(found)
        said = ",".join(f"{key}={github_property(value, _PATH)}" for key, value in places.items())
        lines.append(f"::{_GITHUB[found.severity]} {said}::{github_message(found.message, 400)}")
    return lines


def _github_lines(found: Finding) -> dict[str, str]:
    if found.span is None:
        return {}
    line, column, end_line, _ = (str(number + 1) for number in found.span)
    return {"line": line, "col": column, "endLine": end_line}


_SARIF = {**_GITHUB, Severity.INFO: "note", Severity.HINT: "note"}


def as_sarif(told: Sequence[Finding], root: str, version: str) -> str:
    """SARIF 2.1.0, with paths relative to the root."""
    used = sorted({found.code for found in told})
    rules = [{"id": code, "shortDescription": {"text": _meaning(code)}} for code in used]
    driver = {"name": "phasekeeper", "version": version, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "originalUriBaseIds": {"ROOT": {"uri": _folder_uri(root)}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(found, used) for found in told],
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2)


def _meaning(code: str) -> str:
    return CODES[code][1] if code in CODES else _MEANT.get(code, plain(code))


def _folder_uri(root: str) -> str:
    path = root.replace("\\", "/").rstrip("/") if ":" in root[1:3] else root.rstrip("/")
    return "file://" + ("" if path.startswith("/") else "/") + _uri(path, "/:") + "/"


def _uri(path: str, safe: str = "/") -> str:
    """A path percent-encoded, names that are no UTF-8 byte by byte."""
    return quote(path.encode("utf-8", "surrogateescape"), safe=safe)


def _result(found: Finding, rules: Sequence[str]) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(found.path) or ".", "uriBaseId": "ROOT"}}
    if found.span:
        place["region"] = {
            "startLine": found.span.line + 1,
            "startColumn": found.span.column + 1,
            "endLine": found.span.end_line + 1,
            "endColumn": found.span.end_column + 1,
        }
    result: dict[str, Any] = {
        "ruleId": found.code,
        "ruleIndex": rules.index(found.code),
        "level": _SARIF[found.severity],
        "message": {"text": plain(found.message, 400), "markdown": markdown(found.message, 400)},
        "locations": [{"physicalLocation": place}],
    }
    if found.overridden:
        result["suppressions"] = [{"kind": "external", "justification": "overridden by a person"}]
    return result
