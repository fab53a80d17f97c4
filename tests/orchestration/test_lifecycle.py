"""Records in the words of the seeds."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.journal import KINDS, record
from phasekeeper.orchestration.lifecycle import Event, closing, events
from phasekeeper.server.library import Library


def named(workflow: str, *records: dict[str, object]) -> list[tuple[Event, ...]]:
    return events(Library().workflow(workflow), "the/run", [record(**entry) for entry in records])


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


def test_phases_between_two_reports_of_a_pass_were_skipped() -> None:
    [_, later] = named("phase-loop", done("plan"), done("quality"))
    skipped = [event.payload["phase"] for event in later if event.name == "loop.phase.skipped"]
    assert skipped == ["execute", "verify"]


@pytest.mark.parametrize(
    "first",
    [
        done("plan", next="quality"),
        done("plan", 2),
        done("plan", outcome="error"),
        done("action-init"),
        done("quality", 0),
    ],
)
def test_phases_that_were_jumped_over_or_belong_to_another_pass_were_not(first: dict[str, object]) -> None:
    [_, later] = named("phase-loop", first, done("quality"))
    assert [event.name for event in later if event.name == "loop.phase.skipped"] == []


def test_detours_between_two_phases_were_not_skipped() -> None:
    [_, later] = names("master-plan", done("4a"), done("4b"))
    assert later == ["loop.phase.complete"]


@pytest.mark.parametrize("outcome", ["fail", "failed", "error", "blocked"])
def test_what_failed_is_an_error_of_its_phase(outcome: str) -> None:
    [[event]] = named("master-plan", {"kind": "report", "phase": "4b", "outcome": outcome, "stage": "2"})
    assert event.name == "loop.phase.error"
    assert event.payload == {"phase": "4b", "stage": "2", "outcome": outcome}


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
    assert [event.name for event in closing("r", "complete", {})] == ["loop.complete", "session.ended"]
    assert [event.payload for event in closing("r", "failed", {"a": 1})] == [
        {"sessionId": "r", "status": "failed", "metrics": {"a": 1}}
    ]
    assert closing("r", "active", {}) == ()
