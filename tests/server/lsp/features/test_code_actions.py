"""What a person may do about a finding from the editor, done."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest
from phasekeeper.server.lsp.features.code_actions import text_edits
from phasekeeper.server.lsp.requests.dialogs import LATER
from phasekeeper.server.lsp.view.positions import UTF16, EncodedText

from tests.roots import TASKS, choosing, loop, put, task
from tests.server.lsp.client import CAPABILITIES, Client, run_with
from tests.server.lsp.person import actions_for, apply_edit, execute, messages, pick
from tests.tools.fixes.test_fixes import ARTICLE, plan

FILES = {
    **CAPABILITIES,
    "workspace": {"workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "delete"]}},
}


@pytest.fixture(autouse=True)
def key(tmp_path_factory, monkeypatch):
    """Decisions are signed with a key of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


# ---- edits --------------------------------------------------------------------------------------


def test_the_edit_for_a_drift_clears_it(root):
    path = plan(root, below="**Progress**: 2/2 tasks complete (100%)\n") / "MASTER_PLAN.md"

    async def work(client: Client) -> None:
        await client.initialize(root, capabilities=FILES)
        uri = client.open(path)
        [action] = await actions_for(client, uri, "status-drift")
        assert action["isPreferred"] and action["kind"] == "quickfix"
        apply_edit(action["edit"])
        client.note("textDocument/didClose", {"textDocument": {"uri": uri}})
        await client.until(lambda: client.diagnostics[uri] == [])

    run_with(work)


def test_a_draft_of_a_missing_task_file_is_made_where_the_editor_can_make_files(root):
    folder = plan(root, "3 | shop-03 | `03-pay.md` | Paying | impl | [ ]")
    path = folder / "MASTER_PLAN.md"

    async def work(client: Client) -> None:
        await client.initialize(root, capabilities=FILES)
        [action] = await actions_for(client, client.open(path), "artifact-missing")
        apply_edit(action["edit"])
        await client.until(lambda: "artifact-missing" not in client.codes(path))
        assert "**ID**: shop-03" in (folder / "03-pay.md").read_text()

    run_with(work)


def test_an_editor_that_cannot_make_files_is_not_offered_it(root):
    path = plan(root, "3 | shop-03 | `03-pay.md` | Paying | impl | [ ]") / "MASTER_PLAN.md"

    async def work(client: Client) -> None:
        await client.initialize(root)
        assert await actions_for(client, client.open(path), "artifact-missing") == []

    run_with(work)


def test_the_edit_of_an_unsaved_text_is_that_of_the_text_in_the_editor(root):
    path = plan(root) / "MASTER_PLAN.md"

    async def work(client: Client) -> None:
        await client.initialize(root, capabilities=FILES)
        await client.ready(root)
        uri = client.open(path)
        client.type(uri, 2, "\n\n" + path.read_text().replace("| [ ] |", "| [?] |"))
        actions = await actions_for(client, uri, "marker-unknown")
        change = actions[0]["edit"]["documentChanges"][0]
        assert change["textDocument"]["version"] == 2
        assert change["edits"][0]["range"]["start"]["line"] == 10
        assert "| [ ] |" in change["edits"][0]["newText"]

    run_with(work)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\r\nb\r\nc", "a\r\nc"),
        ("a\nc", "a\nb\nc\nd"),
        ("", "a\n"),
        ("a\x0cb\n😀 x\n", "a\x0cB\n😀 y\n"),
        ("a\rb\rc", "x\rb\rz"),
        ("a\n" * 3000, "a\n" * 2999),
    ],
)
def test_edits_make_the_new_text_and_touch_only_what_differs(old, new):
    text = EncodedText(old, UTF16)
    made = old
    edits = text_edits(text, new)
    for edit in reversed(edits):
        made = (
            made[: text.offset_of(edit.range.start)] + edit.new_text + made[text.offset_of(edit.range.end) :]
        )
    assert made == new
    assert len(edits) <= 2


# ---- commands: each code that the store mends, and that the command clears it -------------------


def test_a_phase_is_done_again_where_the_recorded_one_is_ahead(root):
    folder = task(root, "T1")
    put(folder / "state.json", {"phase": "test"})

    async def work(client: Client) -> None:
        await client.initialize(root, trusted=True)
        uri = client.open(folder / "state.json")
        [action] = await actions_for(client, uri, "inconsistent-state")
        assert action["title"] == "Roll back to “Write the code”"
        await execute(client, action)
        await client.until(lambda: "inconsistent-state" not in client.codes(uri))
        assert any("to be done again" in said for said in messages(client))

    run_with(work)


@pytest.mark.parametrize(
    "options",
    [
        {f"option-{number}": "x" * 60 for number in range(40)},
        {"yes": "go on", "no": "stop: " + "y" * 2_000},
        {"z" * 70 + "1": "go on", "z" * 70 + "2": "go on"},
    ],
)
def test_what_a_dialog_cannot_show_whole_is_decided_on_a_terminal(root, options):
    state = choosing(root, options) / "state.json"

    async def work(client: Client) -> None:
        await client.initialize(root, trusted=True)
        [action] = await actions_for(client, client.open(state), "person-awaited")
        shown = pick(client)
        await execute(client, action)
        told = "a dialog cannot show all that is decided; on a terminal: phasekeeper answer own/T1 which"
        await client.until(lambda: any(told in said for said in messages(client)))
        assert not shown and not (root / "own/T1/.phasekeeper").exists()

    run_with(work)


def test_a_question_is_answered_in_a_dialog_made_from_the_evaluation(root):
    loop(root)
    state = root / ".claude/state/loop.state.json"

    async def work(client: Client) -> None:
        await client.initialize(root, trusted=True)
        uri = client.open(state)
        [action] = await actions_for(client, uri, "person-awaited")
        asked: list[dict[str, Any]] = []

        def answer(request: dict[str, Any]) -> Any:
            asked.append(request["params"])
            return (
                request["params"]["actions"][0] if request["method"] == "window/showMessageRequest" else None
            )

        client.answer = answer
        await execute(client, action)
        assert "Severity S0 or worse is open" in asked[0]["message"]
        assert asked[0]["actions"][-1]["title"] == LATER
        await client.until(lambda: any("answered: severe" in said for said in messages(client)))
        journal = root / ".claude/state/.phasekeeper/journal.jsonl"
        record = json.loads(journal.read_text().splitlines()[-1])
        assert record["kind"] == "answer" and record["channel"] == "editor" and record["mac"]

    run_with(work)


@pytest.mark.parametrize("picked", [None, {"title": LATER}, {"title": "no option of the question"}])
def test_a_dialog_that_is_closed_decides_nothing(root, picked):
    loop(root)

    async def work(client: Client) -> None:
        await client.initialize(root, trusted=True)
        [action] = await actions_for(
            client, client.open(root / ".claude/state/loop.state.json"), "person-awaited"
        )
        client.answer = lambda request: picked
        await execute(client, action)
        assert messages(client)[-1] == "nothing was decided"
        assert not (root / ".claude/state/.phasekeeper").exists()

    run_with(work)


def test_a_decision_about_what_changed_while_the_dialog_was_open_is_refused(root):
    state = loop(root) / "loop.state.json"

    async def work(client: Client) -> None:
        await client.initialize(root, trusted=True)
        [action] = await actions_for(client, client.open(state), "person-awaited")

        def answer(request: dict[str, Any]) -> Any:
            data = json.loads(state.read_text())
            put(state, {**data, "workQueue": [*data["workQueue"], {"id": "WQ-2", "priority": "S0"}]})
            return request["params"]["actions"][0]

        client.answer = answer
        await execute(client, action)
        assert messages(client)[-1].startswith("not done: ")
        assert not (root / ".claude/state/.phasekeeper/journal.jsonl").exists()

    run_with(work)


def test_a_shut_gate_shows_the_command_that_overrides_it(root):
    review = task(root, "T1", ok=False) / "review/plan-review.json"

    async def work(client: Client) -> None:
        await client.initialize(root)
        [action] = await actions_for(client, client.open(review), "gate-failed")
        await execute(client, action)
        line = f"phasekeeper override {TASKS}/T1 --to codegen --root {root}"
        assert messages(client) == [f'on a terminal: {line} --reason "why"']

    run_with(work)


def test_an_approval_that_is_missing_is_given_in_a_dialog(root):
    folder = plan(root)
    put(root / ".phasekeeper/config.yaml", "projects: []\n")

    async def work(client: Client) -> None:
        await client.initialize(root, trusted=True)
        uri = client.open(folder / "MASTER_PLAN.md")
        actions = await actions_for(client, uri, "approval-missing")
        client.answer = lambda request: request["params"]["actions"][0]
        await execute(client, actions[0])
        await client.until(lambda: "approval-missing" not in client.codes(uri))

    run_with(work)


def test_what_is_out_of_date_is_made_again_by_the_phase_that_makes_it(root):
    folder = task(root, "T1")
    review = folder / "review/plan-review.json"
    os.utime(review, (1_700_000_000, 1_700_000_000))

    async def work(client: Client) -> None:
        await client.initialize(root, trusted=True)
        [action] = await actions_for(client, client.open(review), "artifact-stale")
        assert action["title"] == "Have “Review the plan” done again"
        await execute(client, action)
        state = json.loads((folder / "state.json").read_text())
        assert state["actors"]["plan_review"]["status"] == "redo"

    run_with(work)


def test_lines_of_a_journal_are_taken_out_on_a_terminal_only(root):
    journal = put(task(root, "T1") / ".phasekeeper/journal.jsonl", "no record\n{}\n")

    async def work(client: Client) -> None:
        await client.initialize(root, trusted=True)
        actions = await actions_for(client, client.open(journal), "journal-invalid")
        await execute(client, actions[0])
        assert "--drop-bad-lines" in messages(client)[-1]
        assert journal.read_text() == "no record\n{}\n"

    run_with(work)


def test_a_journal_with_two_heads_is_repaired(root):
    folder = task(root, "T1")
    lines = [
        {"seq": 1, "kind": "start", "phase": "planning", "at": "2026-01-01T00:00:00+00:00", "prev": ""},
    ]
    journal = put(folder / ".phasekeeper/journal.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    from phasekeeper.orchestration.vfs.files import digest_of

    head = digest_of(journal.read_text().splitlines()[0])
    for number in (1, 2):
        entry = {
            "seq": 2,
            "kind": "start",
            "phase": "planning",
            "at": f"2026-01-01T00:00:0{number}+00:00",
            "prev": head,
        }
        with journal.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    async def work(client: Client) -> None:
        await client.initialize(root, trusted=True)
        actions = await actions_for(client, client.open(journal), "journal-forked")
        shown: list[dict] = []
        client.answer = lambda request: shown.append(request["params"])
        await execute(client, actions[0])
        assert messages(client)[-1] == "nothing more counts"
        client.answer = lambda request: request["params"]["actions"][0]
        await execute(client, actions[0])
        await client.until(lambda: "journal-forked" not in client.codes(journal))
        assert "a branch of 1 record was merged in" in shown[0]["message"]
        assert json.loads(journal.read_text().splitlines()[-1])["channel"] == "editor"

    run_with(work)


# ---- trust ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"trusted": False}, {"trusted": "yes"}, {"trusted": 1}])
def test_nothing_is_written_for_an_editor_that_does_not_say_it_trusts_the_folder(root, options):
    state = loop(root) / "loop.state.json"

    async def work(client: Client) -> None:
        await client.initialize(root, **options)
        [action] = await actions_for(client, client.open(state), "person-awaited")
        client.answer = lambda request: request["params"]["actions"][0]
        await execute(client, action)
        assert "only reads" in messages(client)[-1]
        assert not client.asked
        assert not (root / ".claude/state/.phasekeeper").exists()

    run_with(work)


@pytest.mark.parametrize("arguments", [[], [7], [{"root": "/nowhere"}], [{}, {}]])
def test_a_command_with_wrong_arguments_does_nothing_and_says_so(root, arguments):
    async def work(client: Client) -> None:
        await client.initialize(root, trusted=True)
        await client.ready(root)
        await client.request(
            "workspace/executeCommand", {"command": "phasekeeper.redo", "arguments": arguments}
        )
        assert messages(client)[-1].startswith("not done: ")

    run_with(work)


def test_a_workflow_that_cannot_do_a_phase_again_offers_to_set_it_back(root):
    put(root / ".phasekeeper/workflows/article.yaml", ARTICLE)
    path = put(root / "articles/tides/article.json", {"phase": "review"})

    async def work(client: Client) -> None:
        await client.initialize(root)
        actions = await actions_for(client, client.open(path), "inconsistent-state")
        assert [action["title"] for action in actions][-1] == "Roll back to draft: set the phase"
        assert not any("command" in action for action in actions)

    run_with(work)


def test_git_knows_who_decides(root):
    """The actor of what is written is git's user, as on the command line."""
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for name, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
        subprocess.run(["git", "-C", str(root), "config", name, value], check=True)
    loop(root)

    async def work(client: Client) -> None:
        await client.initialize(root, trusted=True)
        [action] = await actions_for(
            client, client.open(root / ".claude/state/loop.state.json"), "person-awaited"
        )
        client.answer = lambda request: request["params"]["actions"][0]
        await execute(client, action)
        record = json.loads((root / ".claude/state/.phasekeeper/journal.jsonl").read_text().splitlines()[-1])
        assert record["actor"] == "Ada <ada@example.org>"

    run_with(work)
