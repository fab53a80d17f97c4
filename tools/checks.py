"""What `phasekeeper check` finds, its exit code, and the formats other programs read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ..orchestration.display import github_message, github_property, markdown, plain
from ..orchestration.evaluation import Evaluation, finding_json
from ..orchestration.findings import CODES, Finding, Severity
from .runs import awaits_person

# Exit codes of the design, section 7; the worst run counts.
CLEAN, FAILED, WAITING = 0, 1, 3
_PATH = 4096


@dataclass(frozen=True)
class Checked:
    """All findings of some runs, and what they mean for a build.

    `shut` are (run, gate) that are failed. `waiting` are runs in which a person is awaited.
    """

    findings: tuple[Finding, ...]
    runs: int
    shut: tuple[tuple[str, str], ...]
    waiting: tuple[str, ...]

    def exit_code(self, gates: bool = False, allow_waiting: bool = False) -> int:
        errors = any(found.severity is Severity.ERROR and not found.overridden for found in self.findings)
        if errors or (gates and self.shut):
            return FAILED
        return WAITING if self.waiting and not allow_waiting else CLEAN

    def count(self, severity: Severity) -> int:
        return sum(1 for found in self.findings if found.severity is severity and not found.overridden)


def check(evaluations: Sequence[Evaluation], more: Iterable[Finding] = ()) -> Checked:
    """The findings of runs (each once), their failed gates, and the runs that await a person."""
    found = dict.fromkeys([*more, *(finding for e in evaluations for finding in e.findings)])
    shut = tuple((e.run, gate.id) for e in evaluations for gate in e.gates if gate.status == "failed")
    waiting = tuple(e.run for e in evaluations if awaits_person(e))
    return Checked(tuple(found), len(evaluations), shut, waiting)


def as_json(checked: Checked, root: str) -> dict[str, Any]:
    """The findings as data; paths are relative to the root."""
    return {
        "root": root,
        "runs": checked.runs,
        "findings": [finding_json(found) for found in checked.findings],
        "failedGates": [{"run": run, "gate": gate} for run, gate in checked.shut],
        "waiting": list(checked.waiting),
    }


_GITHUB = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def as_github(checked: Checked, shown: Callable[[str], str]) -> list[str]:
    """Workflow commands that GitHub turns into annotations; hints and overridden findings are left out."""
    lines = []
    for found in checked.findings:
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


def as_sarif(checked: Checked, root: str, version: str) -> str:
    """SARIF 2.1.0, with paths relative to the root."""
    used = sorted({found.code for found in checked.findings})
    rules = [{"id": code, "shortDescription": {"text": _meaning(code)}} for code in used]
    driver = {"name": "phasekeeper", "version": version, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "originalUriBaseIds": {"ROOT": {"uri": _folder_uri(root)}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(found, used) for found in checked.findings],
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2)


def _meaning(code: str) -> str:
    return CODES[code][1] if code in CODES else plain(code)


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
