"""What must hold for any files: no exception, and no `complete` without every piece of its evidence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from phasekeeper.orchestration.definition.model import Workflow
from phasekeeper.orchestration.evaluation.evaluate import evaluate_traced
from phasekeeper.orchestration.evaluation.trace import check_action
from phasekeeper.orchestration.journal.journal import Proofs
from phasekeeper.orchestration.rendering.explanation import explain
from phasekeeper.orchestration.result.values import as_json
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.vfs.files import digest_of
from phasekeeper.orchestration.vfs.overlay import MemoryFiles
from phasekeeper.server.workspace.definitions import DefinitionLibrary

STATUSES = {"active", "waiting", "waiting_human", "blocked", "complete", "failed", "exited", "invalid"}
KINDS = {"advance", "regress", "stay", "act", "wait", "escalate", "stop", "none"}


@cache
def workflow(name: str) -> Workflow:
    return DefinitionLibrary().workflow(name)


def chain(*records: dict[str, Any]) -> str:
    lines: list[str] = []
    for record in records:
        prev = digest_of(lines[-1]) if lines else ""
        lines.append(json.dumps({"seq": len(lines) + 1, **record, "prev": prev}))
    return "".join(f"{line}\n" for line in lines)


def report(phase: str, outcome: str, **more: Any) -> dict[str, Any]:
    return {"kind": "report", "phase": phase, "outcome": outcome, **more}


PLAN = """# Feature - Master Plan

**Status**: [~] In Progress

## Phase 1: Only (1h)

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 1 | f-01 | `01-a.md` | Do it | impl | [x] |
| 2 | f-02 | `02-tests.md` | Test it | **test** | [x] |

**Progress**: 2/2 tasks complete (100%)
"""
TASK = "# 01. A\n\n## Meta\n- **ID**: f-01\n- **Depends On**: []\n- **Requires UX/DX Review**: false\n"

# For each workflow: the folder of a run that is complete, its files, and those it cannot be complete without.
SESSION = {
    "id": "S",
    "type": "ContextComponentsDesignSessions",
    "status": "complete",
    "interactions": [
        {
            "command": {"module": "Finalize", "timestamp": "2026-01-01T03:00:00Z"},
            "result": {"status": "ok"},
            "completed_at": "2026-01-01T03:00:00Z",
        }
    ],
    "child_sessions": [
        {
            "id": "a",
            "type": "ComponentDesignSessions",
            "status": "complete",
            "state": {"artifact_path": "docs/a.md"},
        },
        {
            "id": "r",
            "type": "ComponentDesignReviewSessions",
            "status": "complete",
            "state": {"artifact_path": "docs/r.md"},
        },
    ],
}
LOOP = {
    "version": "2.0",
    "iteration": 3,
    "phase": "evaluate",
    "status": "complete",
    "workQueue": [{"id": "W1", "priority": "S2", "status": "done"}],
    "gates": {"lint": {"status": "passed"}},
    "consecutivePasses": 2,
}
COMPLETE: dict[str, tuple[str, dict[str, str], tuple[str, ...]]] = {
    "component-design": (
        ".phasekeeper/sessions/S",
        {".phasekeeper/sessions/S/session.json": json.dumps(SESSION), "docs/a.md": "a", "docs/r.md": "r"},
        (".phasekeeper/sessions/S/session.json", "docs/a.md", "docs/r.md"),
    ),
    "phase-loop": (
        ".claude/state",
        {".claude/state/loop.state.json": json.dumps(LOOP)},
        (".claude/state/loop.state.json",),
    ),
    "artifact-pipeline": (
        "t",
        {
            "t/state.json": '{"phase": "done"}',
            "t/planning/planning.ai.json": '{"id": "t"}',
            "t/review/plan-review.json": '{"ok": true}',
            "t/code/diff.patch": "--- a/x\n+++ b/x\n",
            "t/code/files/x": "x",
            "t/review/code-review.json": '{"ok": true}',
            "t/eval/eval-report.json": (
                '{"status": "completed", "overall_pass": true, "results": [{"status": "passed"}]}'
            ),
            "t/accept/decision.json": '{"verdict": "accepted"}',
        },
        (
            "t/state.json",
            "t/planning/planning.ai.json",
            "t/review/plan-review.json",
            "t/code/diff.patch",
            "t/code/files/x",
            "t/review/code-review.json",
            "t/eval/eval-report.json",
            "t/accept/decision.json",
        ),
    ),
    "skill-tuning": (
        "t",
        {
            "t/state.json": (
                '{"status": "completed", "quality_gate": "pass", "completed_actions": ["action-complete"], '
                '"target_skill": {}, "diagnosis": {}}'
            )
        },
        ("t/state.json",),
    ),
    "master-plan": (
        "t",
        {
            "t/MASTER_PLAN.md": PLAN,
            "t/01-a.md": TASK,
            "t/02-tests.md": TASK.replace("01", "02"),
            "t/.phasekeeper/journal.jsonl": chain(
                {"kind": "start", "workflow": "master-plan"},
                {"kind": "answer", "question": "adoption", "option": "adopt"},
                report("4a", "complete", task="f-01", stage="1"),
                report("4a", "complete", task="f-02", stage="1"),
                report("4b", "pass", stage="1"),
                report("4c", "ok", stage="1"),
                report("5a", "pass"),
                report("6", "ok"),
            ),
        },
        ("t/MASTER_PLAN.md", "t/01-a.md", "t/02-tests.md", "t/.phasekeeper/journal.jsonl"),
    ),
}
NAMES = sorted(COMPLETE)


def looked(name: str, files: Mapping[str, str | bytes], run: str):
    """Evaluate a run, and everything that is made of its evaluation."""
    snapshot = read_run(
        workflow(name),
        MemoryFiles(files),
        run,
        verify=lambda lines: Proofs(frozenset(range(len(lines)))),
        committed=lambda path: text if isinstance(text := files.get(path), bytes | None) else text.encode(),
    )
    steps = evaluate_traced(workflow(name), snapshot)
    json.dumps(as_json(steps.evaluation))
    explain(steps)
    for step in (*workflow(name).phases, *workflow(name).actions, "nothing"):
        check_action(steps, step)
    assert steps.evaluation.status in STATUSES
    assert steps.evaluation.suggestion.kind in KINDS
    return steps.evaluation


@pytest.mark.parametrize("name", NAMES)
def test_a_run_with_all_its_evidence_is_complete(name: str) -> None:
    run, files, _ = COMPLETE[name]
    evaluation = looked(name, dict(files), run)
    assert evaluation.status == "complete", (evaluation.status_reason, evaluation.findings)


broken_texts = st.one_of(
    st.just(""),
    st.just("  \n"),
    st.just("{"),
    st.just(b"\xff\xfe\x00"),
    st.just("[]"),
    st.just("null"),
    st.text(max_size=40).filter(lambda text: not _is_object(text)),
)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


@pytest.mark.parametrize("name", ["component-design", "phase-loop", "artifact-pipeline", "skill-tuning"])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_no_run_is_complete_once_a_file_it_rests_on_is_missing_or_unreadable(
    name: str, data: st.DataObject
) -> None:
    run, files, essential = COMPLETE[name]
    changed: dict[str, str | bytes] = dict(files)
    path = data.draw(st.sampled_from(essential))
    how = data.draw(st.sampled_from(["remove", "break", "truncate"]))
    document = path.endswith(".json")
    if how == "remove":
        del changed[path]
    elif how == "break":
        broken = data.draw(broken_texts) if document else data.draw(st.sampled_from(["", " \n"]))
        changed[path] = broken
    elif document:
        text = files[path]
        changed[path] = text[: data.draw(st.integers(0, len(text) - 1))]
    else:
        changed[path] = ""
    assert looked(name, changed, run).status != "complete", (path, how)


@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_no_plan_is_complete_once_a_task_or_a_record_is_gone(data: st.DataObject) -> None:
    run, files, _ = COMPLETE["master-plan"]
    changed: dict[str, str | bytes] = dict(files)
    how = data.draw(st.sampled_from(["task file", "mark", "plan", "journal"]))
    if how == "task file":
        path = data.draw(st.sampled_from(["t/01-a.md", "t/02-tests.md"]))
        if data.draw(st.booleans()):
            del changed[path]
        else:
            changed[path] = data.draw(st.sampled_from(["", "\n"]))
    elif how == "mark":
        mark = data.draw(st.sampled_from(["[ ]", "[~]", "[-]", "[!]", "[?]", "done", ""]))
        changed["t/MASTER_PLAN.md"] = PLAN.replace("[x] |", f"{mark} |", 1)
    elif how == "plan":
        changed["t/MASTER_PLAN.md"] = data.draw(
            st.sampled_from(["", "# Nothing\n", "| Task ID |\n|---|\n", b"\xff"])
        )
    else:
        lines = files["t/.phasekeeper/journal.jsonl"].splitlines(keepends=True)
        gone = data.draw(st.integers(0, len(lines) - 1))
        changed["t/.phasekeeper/journal.jsonl"] = "".join(lines[:gone])
    assert looked("master-plan", changed, run).status != "complete", how


words = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["pass", "fail", "ok", "unknown", "complete", "done"]),
)
values = st.recursive(
    words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


def _paths(value: Any, path: tuple = ()) -> list[tuple]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in inside for found in _paths(item, (*path, key)))]


def _with(value: Any, path: tuple, new: Any) -> Any:
    if not path:
        return new
    head, *rest = path
    if isinstance(value, dict):
        return {**value, head: _with(value[head], tuple(rest), new)}
    return [_with(item, tuple(rest), new) if index == head else item for index, item in enumerate(value)]


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_evaluation_never_raises_whatever_stands_in_a_value(name: str, data: st.DataObject) -> None:
    run, files, _ = COMPLETE[name]
    changed: dict[str, str | bytes] = dict(files)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(sorted(changed)))
        text = changed[path]
        if path.endswith(".json") and isinstance(text, str):
            document = json.loads(text)
            place = data.draw(st.sampled_from(_paths(document)))
            changed[path] = json.dumps(_with(document, place, data.draw(values)))
        elif isinstance(text, str):
            start = data.draw(st.integers(0, len(text)))
            end = data.draw(st.integers(start, min(len(text), start + 20)))
            changed[path] = text[:start] + data.draw(st.text(max_size=12)) + text[end:]
    looked(name, changed, run)


record_values = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(
            [
                "start",
                "report",
                "transition",
                "question",
                "answer",
                "override",
                "claim",
                "release",
                "violation",
                "relink",
                "odd",
            ]
        )
    },
    optional={
        "phase": st.sampled_from(["4a", "4b", "4c", "F1", "F2", "5a", "6", "test", "evaluate", ""]),
        "outcome": st.sampled_from(["ok", "pass", "fail", "error", "complete", "odd"]),
        "next": st.sampled_from(["6", "done", "recover", "nowhere"]),
        "stage": st.sampled_from(["1", "2", ""]),
        "task": st.sampled_from(["f-01", "1", "nothing"]),
        "tasks": st.lists(st.sampled_from(["01", "f-02", "x"]), max_size=2),
        "question": st.sampled_from(["plan", "adoption", "fix_iterations", "acceptance", "raised:1"]),
        "option": st.sampled_from(["approve", "skip", "adopt", "closed", "stop"]),
        "scope": st.sampled_from(["", "1"]),
        "gates": st.lists(st.sampled_from(["1", "3", "tests"]), max_size=2),
        "phases": st.lists(st.sampled_from(["2", "4b", "test"]), max_size=2),
        "iteration": st.integers(-1, 9),
        "why": st.text(max_size=5),
    },
)


@pytest.mark.parametrize("name", NAMES)
@given(records=st.lists(record_values, max_size=12))
@settings(max_examples=60, deadline=None)
def test_evaluation_never_raises_on_any_journal(name: str, records: list[dict[str, Any]]) -> None:
    run, files, _ = COMPLETE[name]
    looked(name, {**files, f"{run}/.phasekeeper/journal.jsonl": chain(*records)}, run)


REPORTS = (
    "## Phase Quality Gate: PASS\n**Phase**: 1\n",
    "**PHASE GATE STATUS**: FAIL\n",
    "## Failure Analysis\n**Phase**: 1\n",
    "## Task Complete\n**Status**: Complete\n**Task File**: 01-a.md\n",
    "**PHASE GATE STATUS**: PASS | FAIL\n",
    "## Success Learnings\n",
)


@given(
    texts=st.dictionaries(
        st.sampled_from(["a.md", "b.md", "c.md"]),
        st.text(max_size=200) | st.sampled_from(REPORTS),
        max_size=3,
    )
)
@settings(max_examples=60, deadline=None)
def test_evaluation_never_raises_on_any_report_file(texts: dict[str, str]) -> None:
    run, files, _ = COMPLETE["master-plan"]
    looked("master-plan", {**files, **{f"{run}/reports/{name}": text for name, text in texts.items()}}, run)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_files_give_the_same_answer_and_revision(name: str) -> None:
    run, files, _ = COMPLETE[name]
    first, second = looked(name, dict(files), run), looked(name, dict(files), run)
    assert as_json(first) == as_json(second)
    assert len(first.revision) == 16


@pytest.mark.parametrize("name", NAMES)
def test_any_change_of_a_file_it_rests_on_changes_the_revision(name: str) -> None:
    run, files, essential = COMPLETE[name]
    before = looked(name, dict(files), run).revision
    for path in essential:
        # Of documents that are only named, what counts is that they exist and are not empty.
        changed = {**files, path: "" if path.startswith("docs/") or "/files/" in path else files[path] + "\n"}
        if not path.startswith("t/0"):
            assert looked(name, changed, run).revision != before, path
