"""The status of runs: all of a root in short, the gates of one, and whether one step may be done now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from ...orchestration.evaluation.trace import Permission
from ...orchestration.result.values import Evaluation, GateState
from ...orchestration.sanitize import plain
from ...orchestration.states import CheckResult, GateStatus
from ...orchestration.suggestions import did_you_mean
from ..check_words import declared_checks
from ..run_filter import filtered_runs
from .access import Outcome, RootRuns, ToolRefused
from .answer import (
    Answer,
    AnswerBuilder,
    at_place,
    check_data,
    check_lines,
    evidence_data,
    excerpt,
    optional,
    quote,
    size,
)
from .answer_memory import AnswerMemory
from .headers import head_of, head_of_root, progress_words, short_run
from .tool_names import as_tools, plain_tools

if TYPE_CHECKING:
    # One machine alone has nothing to do with it.
    from ...orchestration.fleet.shared_board import SharedBoard, SharedRun

_CHECKS = 4
_TAIL, _SHUT_NAMED = 5, 3
STILL_RUNNING = "the checks still run; wait_for_change tells when there is a result, or ask again"
_GATE_ROOM, _GATE_LINE = 1_400, 900
"""Characters of a gate's data, and of its words; more does not fit on a page under the longest head."""
_GATE = {"id": 60, "after": 60, "title": 80, "status": 0, "in_force": 0, "basis": 0, "rests_on": 120}
_SHUT = {"action": 60, "because": partial(plain_tools, limit=80)}
_RUN = {"title": 80, "workflow": 60, "current_phase": 60, "status": 0, "revision": 0}
_WORKFLOWS = 20


def how_to_start(workflows: Sequence[str]) -> str:
    """What an assistant is told that finds no run; `workflows` are those of which one can be started."""
    known = ", ".join(plain(name, 60) for name in workflows[:_WORKFLOWS]) or "none that can be started"
    call = 'report(step="start", outcome="ok", workflow=WORKFLOW, name=NAME, summary=TITLE)'
    return f"no run was found; {call} starts one; WORKFLOW is one of: {known}"


_CLONE = ("status", "phase", "next", "revision", "commit", "at")
_MOST_CLONES = 5


def status(
    place: RootRuns,
    start: int = 0,
    note: str = "",
    wanted: str = "",
    workflows: Sequence[str] = (),
    memory: AnswerMemory | None = None,
) -> Answer:
    """The runs of a root that the filter `wanted` lets through, the most urgent first.

    `note` is something to be said of the root itself; `workflows` are those of which a run can be started.
    What is said of a run that `memory` has is not made anew.
    """
    kept = memory or AnswerMemory()
    head, line = head_of_root(place)
    builder = AnswerBuilder(head, line)
    if note:
        builder.put("note", note, note)
    names = filtered_runs(place.runs, place.totals.urgency, wanted) if wanted else place.totals.urgency
    if wanted:
        found = f"{len(names)} of {len(place.runs)} fit {quote(wanted, 80)}"
        builder.put("filtered", found, found)
    shown = ((name, place.runs[name]) for name in islice(names, start, None))
    rows = (kept.of(e, "row", name, partial(_run, name, e)) for name, e in shown)
    builder.fill("runs", rows, start, len(names))
    if not place.runs:
        builder.put("hint", hint := how_to_start(workflows), hint)
    return builder.answer()


def fleet_status(place: RootRuns, board: SharedBoard, start: int = 0) -> Answer:
    """The runs of a root's project in every clone, and where clones differ."""
    builder = AnswerBuilder(*head_of_root(place))
    if board.unread:
        builder.put("note", note := f"{board.unread} entries of the board cannot be read", note)
    builder.fill("fleet", map(_shared_run, islice(board.runs, start, None)), start, len(board.runs))
    if not board.runs:
        builder.put("hint", hint := "no machine has told of a run of this project yet", hint)
    return builder.answer()


def _shared_run(run: SharedRun) -> tuple[dict[str, Any], str]:
    clones = [
        {
            "member": plain(clone.member, 40),
            **{name: plain(getattr(clone, name), 60) for name in _CLONE},
            "done": f"{clone.done} of {clone.total}" if clone.total >= 0 else "",
        }
        for clone in run.clones[:_MOST_CLONES]
    ]
    data = {"run": short_run(run.run), "differs": run.differs, "clones": clones}
    words = "; ".join(f"{each['member']}: {each['status']}, phase {each['phase']}" for each in clones)
    more = f"; and {len(run.clones) - _MOST_CLONES} more" if len(run.clones) > _MOST_CLONES else ""
    return data, f"- {data['run']}: {words}{more}{' (clones differ)' if run.differs else ''}"


def _run(name: str, e: Evaluation) -> tuple[dict[str, Any], str]:
    suggestion = e.suggestion
    step = suggestion.action or suggestion.suggested_next
    data: dict[str, Any] = {
        "run": short_run(name),
        **excerpt(e, _RUN),
        "next": {"kind": suggestion.kind, "step": optional(step, 60)},
        "reason": plain_tools(suggestion.reason, 160),
        "questions": [plain(question.id, 60) for question in e.questions[:3]],
    }
    if progress := progress_words(e):
        data["done"] = progress.removeprefix(", ")
    asked = f"; asks {', '.join(data['questions'])}" if data["questions"] else ""
    to = f" {data['next']['step']}" if step else ""
    line = f"- {data['run'] or '.'}: {e.status}{progress_words(e)}, phase {data['currentPhase'] or 'unknown'}"
    return data, f"{line}; next {suggestion.kind}{to}, {quote(as_tools(suggestion.reason), 120)}{asked}"


def checks_to_run(e: Evaluation, gate: str = "") -> list[str]:
    """The declared checks of a gate, or of those in force. Raises ToolRefused where there are none."""
    checks = declared_checks(e, gate)
    if not checks:
        _require_gate(e, gate)
        what = f"gate {quote(gate, 60)} rests" if gate else "the gates in force rest"
        raise ToolRefused(
            f"{what} on no check that the root declares now: there is nothing to run; check_gate without "
            "`verify` shows on what else. A person can declare checks in .phasekeeper/config.yaml"
        )
    return checks


def _require_gate(e: Evaluation, gate: str) -> None:
    names = [each.id for each in e.gates]
    if gate and gate not in names:
        known = did_you_mean(gate, names)
        raise ToolRefused(f"{plain(e.workflow, 60)} has no gate {quote(gate, 60)}{known}")


def gates(e: Evaluation, gate: str = "", start: int = 0, outcomes: Sequence[Outcome] | None = ()) -> Answer:
    """The gates of a run, or one of them, with their criteria and the evidence for each.

    `outcomes` are those of checks that were run for it; None where they still run. Raises ToolRefused for a
    gate that the workflow does not have.
    """
    _require_gate(e, gate)
    names = [each.id for each in e.gates]
    head, line = head_of(e)
    shut = [f"{plain(each.id, 40)} ({each.status})" for each in e.gates if each.shut and each.in_force]
    if shut:
        more = f" and {len(shut) - _SHUT_NAMED} more" if len(shut) > _SHUT_NAMED else ""
        summary = f"not passed, so it holds the run back: {', '.join(shut[:_SHUT_NAMED])}{more}"
    else:
        summary = "no gate in force holds the run back" if names else "no gates"
    builder = AnswerBuilder(head | {"currentPhase": optional(e.current_phase, 60)}, line)
    builder.put("summary", summary, summary)
    if outcomes is None:
        builder.put("running", True, STILL_RUNNING)
    for outcome in outcomes or ():
        _put_outcome(builder, outcome)
    chosen = [each for each in e.gates if not gate or each.id == gate]
    builder.fill("gates", (_gate(each) for each in chosen[start:]), start, len(chosen))
    return builder.answer()


def _put_outcome(builder: AnswerBuilder, outcome: Outcome) -> None:
    """What came of a check, with the end of its output where it ran and did not pass."""
    name, result = plain(str(outcome["name"]), 60), str(outcome["result"])
    tail = [plain(str(line), 160) for line in outcome["tail"][-_TAIL:]]
    shown = tail if outcome["ran"] and result != CheckResult.PASSED else []
    data = {"result": result, "ran": outcome["ran"], "log": plain(str(outcome["log"]), 160), "tail": shown}
    words = "ran" if outcome["ran"] else "was not run"
    line = f"{name} {words}: {result}, {plain_tools(str(outcome['reason']), 200)}"
    lines = [f"  | {quote(each)}" for each in shown]
    builder.put(f"ran.{name}", data, line, *lines, f"  the whole output: {data['log']}" if shown else "")


def _gate(gate: GateState) -> tuple[dict[str, Any], str]:
    """A gate as data and its line; of a long one the first criteria, or only its words."""
    data: dict[str, Any] = {}
    line, is_judged = "", gate.status != GateStatus.NOT_REACHED
    for most, evidence in ((6, 2), (3, 0), (1, 0), (0, 0)):
        criterion = {
            "text": partial(plain_tools, limit=100),
            "met": 0,
            "basis": 0,
            "evidence": (evidence, partial(evidence_data, path=120)),
        }
        forbidden, criteria = (
            (most, {"action": 60, "because": partial(plain_tools, limit=80)}),
            (most if is_judged else 0, criterion),
        )
        more = {"allowed": (most, 60), "forbidden": forbidden, "criteria": criteria}
        more |= {"checks": (most, check_data)}
        data = excerpt(gate, {**_GATE, **more})
        line = _gate_line(gate, data, most)
        if size(data) <= _GATE_ROOM and len(line) <= _GATE_LINE:
            break
    return data, line


def _gate_line(gate: GateState, data: Mapping[str, Any], most: int) -> str:
    """The words of a gate, with so many of its criteria and checks at most."""
    force = ", in force" if gate.in_force else ""
    rests_on = f", {data['restsOn']}" if gate.rests_on else ""
    line = f"gate {data['id']} ({quote(gate.title, 60)}, after {data['after']}): {gate.status}"
    line += f"{rests_on}{force}."
    words = {True: "met", False: "NOT met", None: "no evidence"}
    criteria = [
        f"{words[each['met']]}: {quote(each['text'], 80)}{at_place(each['evidence'])}"
        for each in data["criteria"][: min(4, most)]
    ]
    line = f"{line} {'; '.join(criteria)}." if criteria else line
    return "\n".join((line, *check_lines(gate.checks[: min(_CHECKS, most)])))


def permission(e: Evaluation, given: Permission) -> Answer:
    """Permission to do a phase or action now, or its refusal, and why."""
    head, line = head_of(e)
    step, because = plain(given.step, 80), plain_tools(given.because, 300)
    gate = optional(given.gate, 60)
    word = "ALLOWED" if given.allowed else "FORBIDDEN"
    by = f" (gate {gate})" if gate else ""
    data = {"step": step, "allowed": given.allowed, "because": because, "gate": gate}
    builder = AnswerBuilder(head | data, f"{word} now: {step}, because {quote(because, 300)}{by}", line)
    if not given.allowed and e.suggestion.suggested_next:
        instead = plain(e.suggestion.suggested_next, 60)
        builder.put("instead", instead, f"next instead: {instead}")
    return builder.answer()
