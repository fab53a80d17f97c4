"""Findings that take a command, mended in an editor: it is offered, and what it does clears the finding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.orchestration.vfs.files import digest_of
from phasekeeper.server.workspace import apply
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import TASKS, loop, put, task
from tests.server.lsp.client import Client, run_with
from tests.server.lsp.person import actions_for, apply_edit, execute, messages, pick
from tests.tools.fixes.test_fixes import PLANS, plan

OURS = {"trusted": True, "phasekeeper": {"client": "vscode", "decides": True}}
RUN = f"{PLANS}/shop"
LOOP = ".claude/state"


@pytest.fixture(autouse=True)
def key(tmp_path_factory, monkeypatch):
    """Decisions are signed with a key of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


def record_outcomes(root: Path, run: str, *reports: tuple[str, str]) -> None:
    for step, outcome in reports:
        apply.apply_command(Workspace(root), run, Command("report", step, outcome, actor="ann"))


def record_answer(root: Path, run: str, question: str, option: str) -> None:
    act = Command(kind="answer", question=question, option=option, why="looked at", actor="ann")
    workspace = Workspace(root)
    apply.record_decision(workspace, apply.prepare_decision(workspace, run, act), "ann", "terminal")


def journal(folder: Path, *entries: dict[str, Any]) -> Path:
    """A journal of records, each chained to the one before; none of them is signed."""
    lines: list[str] = []
    for number, entry in enumerate(entries, 1):
        prev = digest_of(lines[-1]) if lines else ""
        at = f"2026-01-01T00:00:{number:02}+00:00"
        lines.append(json.dumps({"seq": number, "at": at, **entry, "prev": prev}))
    return put(folder / ".phasekeeper/journal.jsonl", "".join(f"{line}\n" for line in lines))


def line_of(client: Client, uri: str, code: str) -> int:
    """The line, counted from 1, at which a document's finding of a code begins."""
    return next(d["range"]["start"]["line"] + 1 for d in client.diagnostics[uri] if d["code"] == code)


def worst(client: Client, uri: str, code: str) -> int | None:
    """The severity of a document's worst finding of a code (1 is an error, 4 a hint); None without one."""
    found = client.diagnostics.get(uri, [])
    return min((each["severity"] for each in found if each["code"] == code), default=None)


def test_a_plan_that_changed_after_its_approval_is_approved_again(root):
    path = plan(root, first="[ ]") / "MASTER_PLAN.md"
    put(root / ".phasekeeper/config.yaml", "projects: []\n")
    record_answer(root, RUN, "plan", "approve")
    put(root / "cart.py", "")
    done = Command("report", "4a", "complete", tasks=("shop-01",), message="wrote cart.py", actor="ann")
    apply.apply_command(Workspace(root), RUN, done)
    put(path, path.read_text().replace("The cart", "The cart and its fees"))

    async def work(client: Client) -> None:
        await client.initialize(root, trusted=True)
        uri = client.open(path)
        [action] = await actions_for(client, uri, "approval-stale")
        assert line_of(client, uri, "approval-stale") == 1
        shown = pick(client, "approve: ", "Decide: approve")
        await execute(client, action)
        assert "Approve the plan?" in shown[0]["message"]
        await client.until(lambda: "approval-stale" not in client.codes(uri))

    run_with(work)


def test_a_definition_that_changed_under_a_run_is_accepted(root):
    folder = plan(root)
    journal(folder, {"kind": "start", "workflow": "master-plan", "definition": "0" * 16})

    async def work(client: Client) -> None:
        await client.initialize(root, trusted=True)
        uri = client.open(folder / "MASTER_PLAN.md")
        [action] = await actions_for(client, uri, "definition-changed")
        assert line_of(client, uri, "definition-changed") == 1
        shown = pick(client, "accept: ", "Decide: accept")
        await execute(client, action)
        assert "The definition of master-plan, or a parameter of it, changed" in shown[0]["message"]
        await client.until(lambda: "definition-changed" not in client.codes(uri))

    run_with(work)


def test_an_answer_without_proof_is_given_again_by_a_person(root):
    loop(root)
    answer = {"kind": "answer", "question": "severe", "scope": "1:WQ-1", "option": "resolve", "why": "."}
    path = journal(root / LOOP, {"kind": "start", "workflow": "phase-loop"}, answer)

    async def work(client: Client) -> None:
        await client.initialize(root, trusted=True)
        uri = client.open(path)
        [action] = await actions_for(client, uri, "decision-unverified")
        assert (line_of(client, uri, "decision-unverified"), worst(client, uri, "decision-unverified")) == (
            2,
            1,
        )
        pick(client, "resolve: ", "Decide: resolve")
        await execute(client, action)
        await client.until(lambda: worst(client, uri, "decision-unverified") == 4)
        assert await actions_for(client, uri, "decision-unverified") == []

    run_with(work)


def test_a_move_without_proof_is_made_again_by_a_person_on_a_terminal(root):
    folder = task(root, "T1", ok=False)
    path = journal(
        folder, {"kind": "override", "phase": "plan_review", "next": "codegen", "why": "good enough"}
    )

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        uri = client.open(path)
        [action] = await actions_for(client, uri, "decision-unverified")
        assert action["title"] == "Move the run to “Write the code”…"
        await execute(client, action)
        assert f"override {TASKS}/T1 --to codegen" in messages(client)[-1]
        await override(client, root, f"{TASKS}/T1", "codegen")
        await client.until(lambda: worst(client, uri, "decision-unverified") == 4)

    run_with(work)


@pytest.mark.parametrize("ours", [True, False])
def test_a_gate_is_overridden_in_a_dialog_where_the_editor_has_one_for_a_reason(root, ours):
    review = task(root, "T1", ok=False) / "review/plan-review.json"

    gate = "Override gate “The plan is approved by its review”"

    async def work(client: Client) -> None:
        await client.initialize(root, **(OURS if ours else {"trusted": True}))
        uri = client.open(review)
        [action] = await actions_for(client, uri, "gate-failed")
        run = {"root": str(root), "run": f"{TASKS}/T1"}
        told = action["title"], action["command"]["command"], action["command"]["arguments"]
        if ours:
            assert told == (f"{gate}…", "phasekeeper.override", [run | {"to": "codegen"}])
        else:
            assert told[:2] == (f"{gate}: show the command", "phasekeeper.command")

    run_with(work)


async def override(client: Client, root: Path, run: str, phase: str) -> None:
    """What the command that is shown does, done by our extension, in which a reason can be typed."""
    known = await client.request("phasekeeper/run", {"root": str(root), "run": run})
    params = {"root": str(root), "run": run, "kind": "override", "to": phase, "reason": "agreed"}
    await client.request("phasekeeper/decide", {**params, "revision": known["revision"]})


def test_a_limit_that_is_reached_is_told_at_its_counter_and_lifted_by_an_answer(root):
    state = loop(root, workQueue=[]) / "loop.state.json"
    put(state, json.dumps(json.loads(state.read_text()) | {"iteration": 50}, indent=2))

    async def work(client: Client) -> None:
        await client.initialize(root, trusted=True)
        uri = client.open(state)
        [action] = await actions_for(client, uri, "iteration-limit")
        line = line_of(client, uri, "iteration-limit")
        assert state.read_text().splitlines()[line - 1].strip() == '"iteration": 50,'
        shown = pick(client, "more: ", "Decide: more")
        await execute(client, action)
        assert "The loop reached iteration 50" in shown[0]["message"]
        await client.until(lambda: "iteration-limit" not in client.codes(uri))

    run_with(work)


def test_a_validation_that_fails_again_and_again_is_passed_by_a_person(root):
    folder = plan(root, first="[x]")
    path = put(
        folder / "MASTER_PLAN.md",
        (folder / "MASTER_PLAN.md").read_text().replace("| test | [ ]", "| test | [x]"),
    )
    entries: list[dict[str, Any]] = [{"kind": "start", "workflow": "master-plan"}]
    for _ in range(3):
        entries += [
            {"kind": "report", "phase": "4b", "stage": "1", "outcome": "pass"},
            {"kind": "report", "phase": "5a", "outcome": "fail"},
        ]
    journal(folder, *entries)

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        uri = client.open(path)
        [action] = await actions_for(client, uri, "validation-loop")
        assert action["title"] == "Override gate “After 5a failed”…"
        await execute(client, action)
        assert f"phasekeeper override {RUN} --to 5b" in messages(client)[-1]
        await override(client, root, RUN, "5b")
        await client.until(lambda: "validation-loop" not in client.codes(uri))

    run_with(work)


def test_a_session_that_says_complete_too_early_is_set_active_again(root):
    session = {"id": "S", "type": "ContextComponentsDesignSessions", "status": "complete", "interactions": []}
    path = put(root / ".phasekeeper/sessions/S/session.json", session)

    async def work(client: Client) -> None:
        await client.initialize(root)
        uri = client.open(path)
        [action] = await actions_for(client, uri, "session-inconsistent")
        assert action["title"] == "Set the status to active" and action["isPreferred"]
        apply_edit(action["edit"])
        client.note("textDocument/didClose", {"textDocument": {"uri": uri}})
        await client.until(lambda: "session-inconsistent" not in client.codes(uri))
        assert json.loads(path.read_text()) == {**session, "status": "active"}

    run_with(work)


def test_a_journal_whose_last_line_was_cut_off_is_repaired(root):
    folder = task(root, "T1")
    path = journal(folder, {"kind": "start", "phase": "planning"})
    whole = path.read_text()
    put(path, whole + '{"seq": 2, "kind": "rep')

    async def work(client: Client) -> None:
        await client.initialize(root, trusted=True)
        uri = client.open(path)
        [action] = await actions_for(client, uri, "journal-torn")
        assert line_of(client, uri, "journal-torn") == 2
        await execute(client, action)
        await client.until(lambda: "journal-torn" not in client.codes(uri))
        assert path.read_text() == whole

    run_with(work)
