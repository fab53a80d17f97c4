"""Records in the words of the seeds."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.journal.journal import KINDS, record
from phasekeeper.orchestration.rendering.lifecycle_events import Event, closing, events, session_of
from phasekeeper.server.workspace.definitions import DefinitionLibrary


def named(workflow: str, *records: dict[str, object]) -> list[tuple[Event, ...]]:
    return events(DefinitionLibrary().workflow(workflow), "the/run", [record(**entry) for entry in records])


def names(workflow: str, *records: dict[str, object]) -> list[list[str]]:
    return [[event.name for event in each] for each in named(workflow, *records)]


def done(phase: str, iteration: int = 1, **more: object) -> dict[str, object]:
    return {"kind": "report", "phase": phase, "outcome": "ok", "iteration": iteration, **more}


def test_a_loop_is_told_in_the_events_of_seed_001() -> None:
    told = names("phase-loop", {"kind": "start"}, {"kind": "start", "phase": "classify"}, done("classify"))
    assert told == [
        ["session.started"],
        ["loop.phase.start"],
        ["loop.iteration.start", "loop.phase.complete"],
    ]


def test_a_report_of_the_next_pass_ends_the_one_before() -> None:
    [_, later] = named("phase-loop", done("evaluate"), done("classify", 2))
    assert [(event.name, event.payload.get("iteration")) for event in later[:2]] == [
        ("loop.iteration.complete", 1),
        ("loop.iteration.start", 2),
    ]


def test_a_phase_that_was_passed_over_is_told_with_its_reason() -> None:
    skip = {"kind": "transition", "phase": "assess", "outcome": "skipped", "why": "small", "iteration": 1}
    [_, (event,)] = named("phase-loop", done("contextualize"), skip)
    assert event == Event("loop.phase.skipped", {"phase": "assess", "iteration": 1, "reason": "small"})


def test_phases_that_nobody_reported_are_not_made_up() -> None:
    [_, later] = names("phase-loop", done("plan"), done("quality"))
    assert later == ["loop.phase.complete"]


def test_a_start_says_the_session_its_task_and_when() -> None:
    [[event]] = named(
        "phase-loop", {"kind": "start", "workflow": "phase-loop", "at": "2026-01-02", "message": "Add a form"}
    )
    assert event.payload == {
        "sessionId": "the/run", "workflow": "phase-loop", "startedAt": "2026-01-02", "task": "Add a form",
    }  # fmt: skip


def test_a_session_is_called_by_its_own_id_where_it_has_one() -> None:
    assert session_of("the/run", {"sessionId": "s-1"}) == "s-1"
    assert session_of("the/run", {"sessionId": ""}) == session_of("the/run", {}) == "the/run"


@pytest.mark.parametrize("outcome", ["fail", "failed", "error", "blocked"])
def test_what_failed_is_an_error_of_its_phase(outcome: str) -> None:
    [[event]] = named("master-plan", {"kind": "report", "phase": "4b", "outcome": outcome, "stage": "2"})
    assert event.name == "loop.phase.error"
    assert event.payload == {"phase": "4b", "stage": "2", "result": outcome, "error": outcome}


def test_an_error_says_what_went_wrong() -> None:
    [[_, event]] = named("phase-loop", done("plan", outcome="error", message="no network"))
    assert event.payload == {"phase": "plan", "iteration": 1, "result": "error", "error": "no network"}


@pytest.mark.parametrize(
    ("workflow", "phase", "term"),
    [
        ("master-plan", "4b", "PHASE GATE STATUS: OK"),
        ("master-plan", "5a", "5a OBJECTIVE GATE STATUS: OK"),
        ("master-plan", "F1", "Failure Analysis: OK"),
        ("master-plan", "0a", "0a: OK"),
        ("skill-tuning", "action-verify", "action action-verify: ok"),
        ("phase-loop", "plan", ""),
    ],
)
def test_a_report_is_also_named_as_its_workflow_names_it(workflow: str, phase: str, term: str) -> None:
    [[event]] = named(workflow, {"kind": "report", "phase": phase, "outcome": "ok"})
    assert event.term == term


def test_a_phase_done_again_is_a_redo() -> None:
    [[event]] = named(
        "artifact-pipeline", {"kind": "transition", "phase": "test", "next": "codegen", "why": "w"}
    )
    assert event == Event("loop.phase.start", {"phase": "codegen", "why": "w"}, "redo codegen")


def test_decisions_say_what_was_decided_and_why() -> None:
    answer: dict[str, object] = {"kind": "answer", "question": "plan", "option": "approve", "why": "good"}
    [[event]] = named("master-plan", answer)
    assert event == Event("decision.answer", {"question": "plan", "option": "approve", "why": "good"})


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_record_has_an_event(kind: str) -> None:
    [[event]] = named("master-plan", {"kind": kind})
    assert "." in event.name


def test_a_complete_run_ends_its_loop_and_session_and_a_failed_one_its_session() -> None:
    records = [record(**done("evaluate", 2, at="2026-01-02"))]
    told = closing("r", "complete", {"a": 1}, records)
    assert [(event.name, event.payload) for event in told] == [
        ("loop.iteration.complete", {"iteration": 2}),
        ("loop.complete", {"iterations": 2, "metrics": {"a": 1}}),
        (
            "session.ended",
            {"sessionId": "r", "endedAt": "2026-01-02", "status": "complete", "metrics": {"a": 1}},
        ),
    ]
    assert [event.name for event in closing("r", "complete", {}, ())] == ["loop.complete", "session.ended"]
    assert [event.payload for event in closing("r", "failed", {}, ())] == [
        {"sessionId": "r", "status": "failed", "metrics": {}}
    ]
    assert closing("r", "exited", {}, ())[0].payload["status"] == "cancelled"
    assert closing("r", "active", {}, records) == ()
