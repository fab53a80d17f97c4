"""A session is over only with every child that it began, and with its own last step."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.verdicts.runs import Run, built_in

SESSIONS = ".phasekeeper/sessions"


def interaction(step: str, **metadata: Any) -> dict[str, Any]:
    command = {"module": step, **({"metadata": metadata} if metadata else {})}
    return {"id": step, "command": command, "result": {"status": "ok"}}


def reviewed() -> Run:
    """A session whose two components and whose review are complete, before Finalize."""
    children = {
        "a": "ComponentDesignSessions",
        "b": "ComponentDesignSessions",
        "r": "ComponentDesignReviewSessions",
    }
    run = Run(built_in("component-design"), f"{SESSIONS}/S")
    for name, kind in children.items():
        child = {"id": name, "type": kind, "status": "complete", "state": {"artifact_path": f"{name}.md"}}
        run.write(f"/{SESSIONS}/{name}/session.json", child).write(f"/{name}.md", "# Design\n")
    done = [
        interaction("SpawnReviewSession", child_session_ids=["r"]),
        interaction("SpawnComponentDesignSessions", child_session_ids=["a", "b"]),
        interaction("Initialize"),
    ]
    session = {"id": "S", "type": "ContextComponentsDesignSessions", "status": "active"}
    return run.write("session.json", {**session, "interactions": done, "child_sessions": list(children)})


def test_a_person_who_moves_a_session_to_its_last_step_has_not_done_that_step() -> None:
    run = reviewed().override("Finalize")
    assert run.standing == "active stay Finalize"
    run.report("Finalize", "ok", data={"pr_url": "https://github.com/x/y/pull/1"})
    assert run.standing == "complete stop"


@pytest.mark.parametrize(("child", "gate"), [("b", "components-designed"), ("r", "review-done")])
@pytest.mark.parametrize("kind", ["ContextSpecSessions", None])
def test_a_child_that_was_begun_is_missed_once_it_is_of_another_type_or_not_listed(
    child: str, gate: str, kind: str | None
) -> None:
    run = reviewed()
    assert run.gate(gate) == "passed"
    if kind:
        content = json.loads(run.files[f"{SESSIONS}/{child}/session.json"])
        run.write(f"/{SESSIONS}/{child}/session.json", {**content, "type": kind})
    else:
        session = json.loads(run.files[f"{SESSIONS}/S/session.json"])
        run.write("session.json", {**session, "child_sessions": [c for c in "abr" if c != child]})
    assert run.gate(gate) == "failed"
    assert run.evaluation.suggestion.kind != "advance"


def test_another_review_does_not_stand_for_the_one_that_was_begun() -> None:
    run = reviewed()
    session = json.loads(run.files[f"{SESSIONS}/S/session.json"])
    other = {"id": "q", "type": "ComponentDesignReviewSessions", "status": "complete"}
    run.write(f"/{SESSIONS}/q/session.json", {**other, "state": {"artifact_path": "a.md"}})
    run.write("session.json", {**session, "child_sessions": ["a", "b", "q"]})
    assert run.gate("review-done") == "failed"
    assert "r is not listed" in run.evaluation.suggestion.reason


def child_session(began: str) -> Run:
    """A session that is to write a.md, where a.md lies already."""
    run = Run(built_in("component-session"), f"{SESSIONS}/a").write("/a.md", "# Of before\n")
    state = {"artifact_path": "a.md"}
    kind = "ComponentDesignSessions"
    return run.write(
        "session.json", {"id": "a", "type": kind, "status": "active", "state": state, "inserted_at": began}
    )


@pytest.mark.parametrize("began", ["2026-01-02T09:00:00Z", "2026-01-02T09:00:00", "yesterday", "", 0])
def test_a_document_that_was_there_is_not_the_one_that_a_session_wrote(began: Any) -> None:
    assert "changed since the start of the session" in child_session(began).refusal("Write", "ok")


def test_a_document_is_written_once_it_is_newer_than_its_session_or_than_the_failure_before() -> None:
    run = child_session("2026-01-02T03:04:05.5+00:00")
    assert run.write("/a.md", "# Design\n").report("Write", "ok").standing == "complete stop"
    run = child_session("nobody knows").report("Write", "error")
    assert "changed since Write error" in run.refusal("Write", "ok")
    assert run.write("/a.md", "# Design\n").report("Write", "ok").standing == "complete stop"
