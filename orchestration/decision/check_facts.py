"""What guards see of checks: as they stand now, or as they were when a phase was reported on.

A verdict rests on what was measured when it was given. So the gate of a phase that lies behind is judged by
the `verified` records that stand before the phase's newest report: what is saved later asks nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..definition.root_config import PATH as CONFIGURATION
from ..definition.root_config import Config, read_config
from ..evidence.check_state import CheckState
from ..findings import Finding, Problem, finding
from ..journal.journal import Record, record
from ..snapshot.read_log import RunReader
from ..states import ArtifactStatus, CheckResult, RecordKind

NOBODY_LOOKS = {
    "result": CheckResult.MISSING.value,
    "fresh": False,
    "reason": "nobody looks after checks here",
}
"""What guards see of a check where a run is read without a root around it, as from Python."""
WITHDRAWN = {
    "result": CheckResult.MISSING.value,
    "fresh": False,
    "reason": "the configuration declares it no more, which counts once it is committed",
}
"""What guards see of a check that an edit took out of the configuration."""


class ConsultedChecks(dict[str, dict[str, Any]]):
    """What guards see of checks, by name; `names` are those that an expression looked up."""

    def __init__(self, checks: Mapping[str, dict[str, Any]]) -> None:
        super().__init__(checks)
        self.names: dict[str, None] = {}

    def __getitem__(self, name: str) -> dict[str, Any]:
        found = super().__getitem__(name)
        self.names[name] = None
        return found


def _withdrawn_checks(
    config: Config, reader: RunReader, records: Sequence[Record]
) -> dict[str, dict[str, Any]]:
    """Checks that were taken out of the configuration, and are not out of that of HEAD: they have not passed.

    What was there before is told by HEAD, or without one there by what the run recorded.
    """
    committed = reader.read_committed(CONFIGURATION)
    if committed is None:
        before = [str(entry["check"]) for entry in records if entry["kind"] == RecordKind.VERIFIED]
    else:
        text = committed.decode("utf-8", "replace")
        before = [] if text == reader.read(CONFIGURATION).text else [*read_config(text).checks]
    return {name: {"name": name, **WITHDRAWN} for name in before if name not in config.checks}


def present_checks(config: Config, reader: RunReader, records: Sequence[Record]) -> dict[str, dict[str, Any]]:
    """The checks of the root as they stand now, by name, and those taken out of its configuration."""
    states = {name: reader.read_check(name) for name in config.checks}
    present = {
        name: state.data() if state else {"name": name, **NOBODY_LOOKS} for name, state in states.items()
    }
    return present | _withdrawn_checks(config, reader, records)


def measured_status(known: Mapping[str, Mapping[str, Any]], names: object) -> ArtifactStatus:
    """The status of an artifact whose place the named checks take. What cannot be told is missing."""
    wanted = names if isinstance(names, list) else [""]
    asked = [known.get(str(each), NOBODY_LOOKS)["result"] for each in wanted]
    if all(result == CheckResult.PASSED for result in asked):
        return ArtifactStatus.VALID
    return ArtifactStatus.STALE if CheckResult.STALE in asked else ArtifactStatus.MISSING


def kept_records(phase: str, records: Sequence[Record], *, own: bool = False) -> dict[str, Record]:
    """check → the newest record of its measurement that stands before the newest report of a phase.

    Nothing is kept yet for a report that no line of the journal holds. With `own` the phase's reports come
    with measurements of their own, behind the report before: an older one is none of such a report.
    """
    reports = [
        number
        for number, entry in enumerate(records)
        if entry["kind"] == RecordKind.REPORT and entry["phase"] == phase
    ]
    before = records[: reports[-1]] if reports and records[reports[-1]]["seq"] else ()
    if own:
        others = [number for number, entry in enumerate(before) if entry["kind"] == RecordKind.REPORT]
        before = before[others[-1] + 1 :] if others else before
    return {str(entry["check"]): entry for entry in before if entry["kind"] == RecordKind.VERIFIED}


def kept_data(entry: Record) -> dict[str, Any]:
    """What guards saw of a check when it was recorded."""
    is_fresh = entry["outcome"] in (CheckResult.PASSED, CheckResult.FAILED)
    data: dict[str, Any] = {"name": entry["check"], "result": entry["outcome"], "fresh": is_fresh}
    data |= {"reason": entry["message"], "coverage": {}, "issues": {}}
    for each in entry["numbers"] if isinstance(entry["numbers"], list) else ():
        if isinstance(each, Mapping) and isinstance(name := each.get("name"), str):
            group, _, part = name.rpartition(".")
            within: Any = data.setdefault(group, {}) if group else data
            if isinstance(within, dict) and part not in ("name", "result", "fresh"):
                within[part] = each.get("value")
    return data


def verified_record(state: CheckState, stage: str, phase: str = "") -> Record:
    """The record of a fresh state, for the journal; `phase` is the step whose report rests on it."""
    data, result = state.data(), state.attestation
    assert result
    numbers = [{"name": name, "value": value} for name, value in data.items() if type(value) in (int, bool)]
    for group in ("coverage", "issues"):
        numbers += [{"name": f"{group}.{name}", "value": value} for name, value in data[group].items()]
    return record(
        kind=RecordKind.VERIFIED.value,
        check=state.check,
        outcome=state.result.value,
        about=state.subject,
        scope=state.definition,
        stage=stage,
        phase=phase,
        message=state.reason,
        numbers=[each for each in numbers if each["name"] != "fresh"],
        files=[{"path": each.path, "digest": each.digest[:16]} for each in result.reports],
        actor=result.actor,
    )


def lapsed_record(state: CheckState, stage: str, records: Sequence[Record]) -> Record | None:
    """The record that a check has no result for the files as they are, where an earlier one says that it has.

    A report that comes then does not rest on what was measured before it.
    """
    earlier = (e for e in reversed(records) if e["kind"] == RecordKind.VERIFIED and e["check"] == state.check)
    newest = next(earlier, None)
    if state.is_fresh or newest is None or newest["outcome"] not in (CheckResult.PASSED, CheckResult.FAILED):
        return None
    return record(
        kind=RecordKind.VERIFIED.value, check=state.check, outcome=state.result.value, about=state.subject,
        scope=state.definition, stage=stage, message=state.reason,
    )  # fmt: skip


def changed_checks(config: Config, reader: RunReader, records: Sequence[Record], run: str) -> list[Finding]:
    """A finding for each check that runs something else now than when the run recorded it last."""
    newest = {str(entry["check"]): entry for entry in records if entry["kind"] == RecordKind.VERIFIED}
    found: list[Finding] = []
    for name, entry in newest.items():
        check, state = config.checks.get(name), reader.read_check(name)
        if check is None:
            said = f"{name} is declared no more, and it was measured as record {entry['seq']} of {run or '.'}"
            found.append(finding(Problem("check-changed", said, data={"check": name}), CONFIGURATION))
        elif state is not None and state.definition != entry["scope"]:
            was, now = entry["scope"], state.definition
            said = f"{name} runs something else ({now}) than in record {entry['seq']} of {run or '.'} ({was})"
            problem = Problem("check-changed", said, check.span, data={"check": name})
            found.append(finding(problem, CONFIGURATION))
    return found


def is_recorded(state: CheckState, records: Sequence[Record]) -> bool:
    """True if the newest record of a check says what it says now."""
    for entry in reversed(records):
        if entry["kind"] == RecordKind.VERIFIED and entry["check"] == state.check:
            now = (state.result.value, state.subject, state.definition)
            return (entry["outcome"], entry["about"], entry["scope"]) == now
    return False
