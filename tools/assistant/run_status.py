"""How runs stand: all of a root in short, the gates of one, and whether one step may be done now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from ...orchestration.evaluation.permission import Permission
from ...orchestration.result.values import Evaluation, GateState, evidence_json
from ...orchestration.sanitize import plain
from ...orchestration.suggestions import did_you_mean
from ..run_names import NoSuchRun, awaits_person, head_of, progress_words, short_run
from .answer import Answer, Draft, quoted, shrunk

_CRITERIA, _EVIDENCE = 6, 2


def revision_of(runs: Mapping[str, Evaluation]) -> str:
    """16 hex digits over the revisions of all runs: it changes when one of them does."""
    told = "\n".join(f"{run}\0{runs[run].revision}" for run in sorted(runs))
    return sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def head_of_root(root: str, runs: Mapping[str, Evaluation]) -> tuple[dict[str, Any], str]:
    """(the data, the line) with which an answer about all runs of a root begins."""
    data = {"root": plain(root, 400), "revision": revision_of(runs)}
    waiting = sum(map(awaits_person, runs.values()))
    counted = f"{len(runs)} {'run' if len(runs) == 1 else 'runs'} in {data['root']}"
    return data, f"{counted}, {waiting} await a person, revision {data['revision']}"


NO_RUNS = "no run was found; a person starts one with `phasekeeper start WORKFLOW NAME`"


def status(root: str, runs: Mapping[str, Evaluation], start: int = 0, note: str = "") -> Answer:
    """Every run of a root in order of its path; `note` is something to be said of the root itself."""
    head, line = head_of_root(root, runs)
    draft = Draft(head, line)
    if note:
        draft.put("note", note, note)
    found = list(runs.items())
    draft.fill("runs", (_run(name, e) for name, e in found[start:]), start, len(found))
    if not found:
        draft.put("hint", NO_RUNS, NO_RUNS)
    return draft.answer()


def _run(name: str, e: Evaluation) -> tuple[dict[str, Any], str]:
    suggestion = e.suggestion
    step = suggestion.action or suggestion.suggested_next
    data = {
        "run": short_run(name),
        "title": plain(e.title, 80),
        "workflow": plain(e.workflow, 60),
        "currentPhase": plain(e.current_phase, 60) if e.current_phase else None,
        "status": e.status,
        "next": {"kind": suggestion.kind, "step": plain(step, 60) if step else None},
        "reason": plain(suggestion.reason, 160),
        "questions": [plain(question.id, 60) for question in e.questions[:3]],
    }
    asked = f"; asks {', '.join(data['questions'])}" if data["questions"] else ""
    to = f" {data['next']['step']}" if step else ""
    line = f"- {data['run'] or '.'}: {e.status}{progress_words(e)}, phase {data['currentPhase'] or 'unknown'}"
    return data, f"{line}; next {suggestion.kind}{to}, {quoted(suggestion.reason, 120)}{asked}"


def gates(e: Evaluation, gate: str = "", start: int = 0) -> Answer:
    """The gates of a run, or one of them, with their criteria and the evidence for each.

    Raises NoSuchRun, in the same words, for a gate that the workflow does not have.
    """
    names = [each.id for each in e.gates]
    if gate and gate not in names:
        raise NoSuchRun(f"{plain(e.workflow, 60)} has no gate {quoted(gate, 60)}{did_you_mean(gate, names)}")
    head, line = head_of(e)
    shut = [plain(each.id, 60) for each in e.gates if each.shut and each.in_force]
    said = f"shut: {', '.join(shut[:6])}" if shut else "no gate in force is shut" if names else "no gates"
    draft = Draft(head | {"currentPhase": e.current_phase and plain(e.current_phase, 60)}, line, said)
    chosen = [each for each in e.gates if not gate or each.id == gate]
    draft.fill("gates", (_gate(each) for each in chosen[start:]), start, len(chosen))
    return draft.answer()


def _gate(gate: GateState) -> tuple[dict[str, Any], str]:
    told = gate.criteria[:_CRITERIA] if gate.status != "not-reached" else ()
    criteria = [
        {
            "text": plain(each.text, 100),
            "met": each.met,
            "evidence": [_evidence(entry) for entry in each.evidence[:_EVIDENCE]],
        }
        for each in told
    ]
    data = {
        "id": plain(gate.id, 60),
        "after": plain(gate.after, 60),
        "title": plain(gate.title, 80),
        "status": gate.status,
        "inForce": gate.in_force,
        "allowed": [plain(action, 60) for action in gate.allowed[:6]],
        "forbidden": [
            {"action": plain(entry.action, 60), "because": plain(entry.because, 80)}
            for entry in gate.forbidden[:5]
        ],
        "criteria": criteria
        if len(str(criteria)) < 1_600
        else [{**each, "evidence": []} for each in criteria],
    }
    return data, " ".join(_gate_words(gate, data))


def _gate_words(gate: GateState, data: Mapping[str, Any]) -> Iterator[str]:
    force = ", in force" if gate.in_force else ""
    yield f"gate {data['id']} ({quoted(gate.title, 60)}, after {data['after']}): {gate.status}{force}."
    words = {True: "met", False: "NOT met", None: "no evidence"}
    said = [
        f"{words[each['met']]}: {quoted(each['text'], 80)}{_at(each['evidence'])}"
        for each in data["criteria"][:4]
    ]
    if said:
        yield f"{'; '.join(said)}."


def _evidence(entry: Any) -> dict[str, Any]:
    told = evidence_json(entry)
    path = plain(told["path"], 120) if told["path"] else None
    shown = {"expression": plain(told["expression"], 80), "value": shrunk(told["value"], 80)}
    return {**told, "path": path, **shown}


def _at(evidence: Sequence[Mapping[str, Any]]) -> str:
    found = next((entry for entry in evidence if entry["path"]), None)
    return f" at {found['path']}:{found['line'] or 1}" if found else ""


def permission(e: Evaluation, given: Permission) -> Answer:
    """Whether a phase or action may be done now, and why."""
    head, line = head_of(e)
    step, because = plain(given.step, 80), plain(given.because, 300)
    gate = plain(given.gate, 60) if given.gate else None
    word = "ALLOWED" if given.allowed else "FORBIDDEN"
    by = f" (gate {gate})" if gate else ""
    data = {"step": step, "allowed": given.allowed, "because": because, "gate": gate}
    draft = Draft(head | data, f"{word} now: {step}, because {quoted(because, 300)}{by}", line)
    if not given.allowed and e.suggestion.suggested_next:
        instead = plain(e.suggestion.suggested_next, 60)
        draft.put("instead", instead, f"next instead: {instead}")
    return draft.answer()
