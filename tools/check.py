"""The findings of `phasekeeper check`, its exit code, and the formats other programs read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote

from ..orchestration.findings import CODES, Evidence, Finding, Severity, Span
from ..orchestration.result.values import Evaluation
from ..orchestration.result.values import as_json as as_data
from ..orchestration.sanitize import github_message, github_property, markdown, plain
from ..orchestration.states import Basis, GateStatus, RunStatus
from .commands import command_line
from .run_names import awaits_person

# Exit codes of the design, section 7; the worst run counts.
CLEAN, FAILED, WAITING = 0, 1, 3
_PATH = 4096
GATE_FAILED, PERSON_AWAITED, RUN_STUCK = "gate-failed", "person-awaited", "run-stuck"
GATE_WEAK = "gate-weak"
_MEANT = {
    GATE_FAILED: "a gate has failed",
    GATE_WEAK: "a gate passed on less than the check asks for",
    PERSON_AWAITED: "a run goes on when a person has decided",
    RUN_STUCK: "a run is blocked or cannot be evaluated",
}
_STUCK = (RunStatus.BLOCKED, RunStatus.INVALID)
_HOLDING = (GateStatus.PASSED, GateStatus.WAIVED)


class Blocker(NamedTuple):
    """An obstacle of a run besides findings: a failed or weak gate, or (`gate` is "") what it awaits."""

    run: str
    gate: str
    message: str
    path: str
    span: Span | None = None


@dataclass(frozen=True)
class BuildVerdict:
    """All findings of some runs, and what they mean for a build.

    `failed_gates` are all that have failed, `waiting` the runs in which a person is awaited, `stuck` those
    that are blocked or invalid: they fail a build whatever it allows. `weak_gates` are those that passed on
    less than was asked for, None where nothing was; they fail a build too.
    """

    findings: tuple[Finding, ...]
    runs: int
    failed_gates: tuple[Blocker, ...]
    waiting: tuple[Blocker, ...]
    stuck: tuple[Blocker, ...]
    weak_gates: tuple[Blocker, ...] | None = None

    def exit_code(self, gates: bool = False, allow_waiting: bool = False) -> int:
        errors = any(found.severity is Severity.ERROR and not found.overridden for found in self.findings)
        if errors or self.stuck or self.weak_gates or (gates and self.failed_gates):
            return FAILED
        return WAITING if self.waiting and not allow_waiting else CLEAN

    def for_build(self, gates: bool, allow_waiting: bool) -> list[Finding]:
        """The findings, and like them what else a build has to be told: what fails it is an error."""
        shut = Severity.ERROR if gates else Severity.INFO
        waited = Severity.INFO if allow_waiting else Severity.ERROR
        return [
            *self.findings,
            *(Finding(RUN_STUCK, each.path, each.message, each.span, Severity.ERROR) for each in self.stuck),
            *(Finding(GATE_FAILED, each.path, each.message, each.span, shut) for each in self.failed_gates),
            *self.weak_findings(),
            *(Finding(PERSON_AWAITED, each.path, each.message, each.span, waited) for each in self.waiting),
        ]

    def weak_findings(self) -> list[Finding]:
        """The gates that passed on less than was asked for, like findings."""
        weak = self.weak_gates or ()
        return [Finding(GATE_WEAK, each.path, each.message, each.span, Severity.ERROR) for each in weak]

    def count(self, severity: Severity) -> int:
        return sum(1 for found in self.findings if found.severity is severity and not found.overridden)


def check(
    evaluations: Sequence[Evaluation], more: Iterable[Finding] = (), basis: Basis | None = None
) -> BuildVerdict:
    """The findings of runs (each once), their failed gates, and the runs that await a person or are stuck.

    With a `basis`, the gates too that passed, or were waived, on less than that.
    """
    findings = dict.fromkeys([*more, *(finding for e in evaluations for finding in e.findings)])
    failed, waiting, stuck = [], [], []
    for e in evaluations:
        for gate in e.gates:
            if gate.status == GateStatus.FAILED:
                unmet = [criterion for criterion in gate.criteria if criterion.met is not True]
                criteria = "; ".join(each.text for each in unmet)
                message = f"gate {gate.id} of {e.run} has failed, not met: {criteria}"
                evidence = [found for each in unmet for found in each.evidence]
                failed.append(Blocker(e.run, gate.id, message, *_place(e, evidence)))
        if e.status in _STUCK:
            message = f"{e.run} is {e.status}: {e.status_reason}"
            stuck.append(Blocker(e.run, "", message, *_place(e, e.suggestion.evidence)))
        elif awaits_person(e):
            asked = "; ".join(f"{question.question} ({question.id})" for question in e.questions)
            why = asked or e.suggestion.waiting_for or e.status_reason
            message = f"{e.run} waits for a person: {why}"
            waiting.append(Blocker(e.run, "", message, *_place(e, e.suggestion.evidence)))
    weak = None if basis is None else tuple(each for e in evaluations for each in _weak_gates(e, basis))
    return BuildVerdict(tuple(findings), len(evaluations), tuple(failed), tuple(waiting), tuple(stuck), weak)


def _weak_gates(e: Evaluation, wanted: Basis) -> Iterator[Blocker]:
    for gate in e.gates:
        if gate.status not in _HOLDING or (gate.basis and gate.basis.holds(wanted)):
            continue
        evidence = [found for each in gate.criteria for found in each.evidence]
        message = (
            f"gate {gate.id} of {e.run} {gate.status}, {gate.rests_on}; at least {wanted} is asked for: "
            f"`{command_line(e, ('gates',), ())}` shows what it rests on"
        )
        yield Blocker(e.run, gate.id, message, *_place(e, evidence))


def _place(e: Evaluation, evidence: Iterable[Evidence]) -> tuple[str, Span | None]:
    """Where the first of the evidence stands that stands in a file; else the run itself."""
    return next(((each.path, each.span) for each in evidence if each.path), (e.run, None))


def as_json(checked: BuildVerdict, root: str) -> dict[str, Any]:
    """The findings as data; paths are relative to the root."""
    weak = checked.weak_gates
    return {
        "root": root,
        "runs": checked.runs,
        "findings": [as_data(found) for found in checked.findings],
        "failedGates": [{"run": each.run, "gate": each.gate} for each in checked.failed_gates],
        "waiting": [each.run for each in checked.waiting],
        "stuck": [each.run for each in checked.stuck],
        **({} if weak is None else {"weakGates": list(map(_weak_json, weak))}),
    }


def _weak_json(gate: Blocker) -> dict[str, Any]:
    return {"run": gate.run, "gate": gate.gate, "message": plain(gate.message)}


_GITHUB = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def as_github(findings: Iterable[Finding], shown: Callable[[str], str]) -> list[str]:
    """Workflow commands that GitHub turns into annotations; hints and overridden findings are left out."""
    lines = []
    for found in findings:
        if found.severity is Severity.HINT or found.overridden:
            continue
        properties = {"file": shown(found.path), "title": found.code}
        if found.span is not None:
            line, column, end_line, _ = (str(number + 1) for number in found.span)
            properties |= {"line": line, "col": column, "endLine": end_line}
        words = ",".join(f"{key}={github_property(value, _PATH)}" for key, value in properties.items())
        lines.append(f"::{_GITHUB[found.severity]} {words}::{github_message(found.message, 400)}")
    return lines


_SARIF = {**_GITHUB, Severity.INFO: "note", Severity.HINT: "note"}


def as_sarif(findings: Sequence[Finding], root: str, version: str) -> str:
    """SARIF 2.1.0, with paths relative to the root."""
    used = sorted({found.code for found in findings})
    meanings = {code: meaning for code, (_, meaning) in CODES.items()} | _MEANT
    rules = [{"id": code, "shortDescription": {"text": meanings.get(code, plain(code))}} for code in used]
    results: list[dict[str, Any]] = []
    for found in findings:
        place: dict[str, Any] = {"artifactLocation": {"uri": _uri(found.path) or ".", "uriBaseId": "ROOT"}}
        if found.span:
            names = ("startLine", "startColumn", "endLine", "endColumn")
            place["region"] = {name: number + 1 for name, number in zip(names, found.span, strict=True)}
        result = {
            "ruleId": found.code,
            "ruleIndex": used.index(found.code),
            "level": _SARIF[found.severity],
            "message": {"text": plain(found.message, 400), "markdown": markdown(found.message, 400)},
            "locations": [{"physicalLocation": place}],
        }
        if found.overridden:
            result["suppressions"] = [{"kind": "external", "justification": "overridden by a person"}]
        results.append(result)
    folder = (root.replace("\\", "/") if ":" in root[1:3] else root).rstrip("/").removeprefix("/")
    run = {
        "tool": {"driver": {"name": "phasekeeper", "version": version, "rules": rules}},
        "originalUriBaseIds": {"ROOT": {"uri": f"file:///{_uri(f'{folder}/', '/:')}"}},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2)


def _uri(path: str, safe: str = "/") -> str:
    """A path percent-encoded, names that are no UTF-8 byte by byte."""
    return quote(path.encode("utf-8", "surrogateescape"), safe=safe)
