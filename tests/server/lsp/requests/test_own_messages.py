"""The messages that are Phasekeeper's own: what a sidebar is made of, and what writes."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from phasekeeper.server import json_chunks
from phasekeeper.server.lsp.session import change_feed
from phasekeeper.server.lsp.session import transport as protocol
from phasekeeper.server.lsp.session.payloads import changed_json
from phasekeeper.server.lsp.session.publisher import Publisher
from phasekeeper.server.lsp.session.transport import REQUEST_FAILED
from phasekeeper.server.workspace import apply
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import TASKS, loop, put, task
from tests.server.lsp.client import Client, ErrorResponse, client_of, engine_of, run_with
from tests.tools.fixes.test_fixes import plan

OURS = {"trusted": True, "phasekeeper": {"client": "vscode", "decides": True}}
NO_DIALOG = {"trusted": True, "phasekeeper": {"client": "vscode"}}
RUN = f"{TASKS}/T1"


@pytest.fixture(autouse=True)
def key(tmp_path_factory, monkeypatch):
    """Decisions are signed with a key of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


async def refusal(client: Client, method: str, params: Any) -> str:
    """The sentence with which a request is refused."""
    with pytest.raises(ErrorResponse) as failed:
        await client.request(method, params)
    assert failed.value.code == REQUEST_FAILED
    assert failed.value.data is None
    return failed.value.message


def changes(client: Client) -> list[dict[str, Any]]:
    """The parameters of `phasekeeper/changed`, oldest first."""
    return [note["params"] for note in client.notes if note["method"] == "phasekeeper/changed"]


def next_of(change: dict[str, Any]) -> list[str]:
    return [run["suggestion"]["suggestedNext"] for run in change["changed"]]


def schema_of_evaluations() -> dict[str, Any]:
    return json.loads((files("phasekeeper.orchestration") / "schemas/evaluation.schema.json").read_text())


@pytest.mark.parametrize("runs_at_once", [0, 4])
def test_what_may_be_large_is_written_beside_the_loop(root, monkeypatch, runs_at_once):
    """A board of a thousand runs takes a second to write, and other messages would wait for it. What has few
    runs is written sooner than a thread is woken."""
    folder = task(root, "T1")
    writer_threads: list[int] = []

    def dumped(value: object, deep: int) -> bytearray:
        writer_threads.append(threading.get_ident())
        return json_chunks.dump(value, deep)

    monkeypatch.setattr(protocol, "dump", dumped)
    monkeypatch.setattr(change_feed, "_WRITTEN_AT_ONCE", runs_at_once)

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        await client.request("phasekeeper/run", {"root": str(root), "run": RUN})
        await client.request("phasekeeper/history", {"root": str(root), "run": RUN})
        answers = [each for each in writer_threads if each != threading.get_ident()]
        assert len(answers) >= 3 and (runs_at_once or answers == writer_threads)
        writer_threads.clear()
        put(folder / "review/plan-review.json", {"ok": False})
        told = len(changes(client))
        await client.until(lambda: len(changes(client)) > told)
        assert writer_threads and {each == threading.get_ident() for each in writer_threads} == {
            runs_at_once > 0
        }

    run_with(work)


def test_a_request_about_a_run_is_answered_by_what_was_saved_before_it(root):
    review = task(root, "T1") / "review/plan-review.json"

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        for number in range(300):
            ok = bool(number % 2)
            put(review, '{"ok":  true}' if ok else '{"ok": false}')
            run = await client.request("phasekeeper/run", {"root": str(root), "run": RUN})
            assert run["suggestion"]["suggestedNext"] == ("codegen" if ok else "planning")

    run_with(work)


def test_a_change_is_told_after_its_diagnostics(root, monkeypatch):
    """They are what a person waits for, and the JSON of a board would be written while they are."""
    review = task(root, "T1") / "review/plan-review.json"
    done = asyncio.Event()

    async def slowly(self: Publisher, batch: Any) -> None:
        await done.wait()
        await publish(self, batch)

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        await client.until(lambda: changes(client))
        known = len(client.notes)
        monkeypatch.setattr(Publisher, "_publish", slowly)
        put(review, {"ok": False})
        while (await client.ready(root))["roots"][0]["version"] == 1:
            await asyncio.sleep(0)
        done.set()
        await client.until(lambda: len(changes(client)) > 1)
        told = [note["method"] for note in client.notes[known:]]
        assert told == ["textDocument/publishDiagnostics", "phasekeeper/changed"]

    publish = Publisher._publish
    run_with(work)


def test_changes_that_an_editor_is_too_slow_for_are_gathered(root, monkeypatch):
    """One that stopped reading would have each of them kept, with all its evaluations."""
    folders = [task(root, name) for name in ("T1", "T2")]
    rests = asyncio.Event()

    async def rested(self: Publisher) -> None:
        await rests.wait()

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        await client.until(lambda: changes(client))
        known = len(changes(client))
        monkeypatch.setattr(Publisher, "wait_for_rest", rested)
        for version, folder in enumerate([*folders, folders[0]], 2):
            put(folder / "review/plan-review.json", {"ok": version == 4})
            while (await client.ready(root))["roots"][0]["version"] < version:
                await asyncio.sleep(0)
        shutil.rmtree(folders[1])
        while len((await client.ready(root))["roots"][0]["runs"]) > 1:
            await asyncio.sleep(0)
        rests.set()
        await client.until(lambda: any(change["removed"] for change in changes(client)))
        [told] = changes(client)[known:]
        assert [run["run"] for run in told["changed"]] == [RUN]
        assert told["removed"] == [f"{TASKS}/T2"]
        assert told["version"] == (await client.ready(root))["roots"][0]["version"]

    run_with(work)


def test_a_change_that_cannot_be_told_keeps_no_later_one_from_it(root, monkeypatch, caplog):
    folder = task(root, "T1")
    cannot = iter([True])

    def made(*arguments: Any) -> Any:
        if next(cannot, False):
            raise ValueError("no words for it")
        return changed_json(*arguments)

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        await client.until(lambda: changes(client))
        known = len(changes(client))
        monkeypatch.setattr(change_feed, "changed_json", made)
        put(folder / "review/plan-review.json", {"ok": False})
        while "no words for it" not in caplog.text:
            await client.ready(root)
        put(folder / "review/plan-review.json", {"ok": True})
        await client.until(lambda: len(changes(client)) > known)

    run_with(work)


def test_what_the_editor_read_anew_is_saved(root):
    """An assistant writes a file that is open, and the editor takes its text over: nothing is unsaved."""
    review = task(root, "T1") / "review/plan-review.json"

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        uri = client.open(review)
        put(review, {"ok": False})
        client.type(uri, 2, review.read_text())
        asked = {"root": str(root), "run": RUN}
        while (run := await client.request("phasekeeper/run", asked))["suggestion"]["kind"] != "regress":
            await asyncio.sleep(0)
        assert not run["revision"].endswith("+unsaved")
        while client.codes(uri) != ["gate-failed"]:
            await asyncio.sleep(0)
        target = {**asked, "kind": "redo", "phase": "plan_review"}
        assert (await client.request("phasekeeper/prepareDecision", target))["unsaved"] == []
        # Nor is what the tree shows of a run anything but what its row does.
        client.type(uri, 3, json.dumps({"ok": True}))
        assert (await client.request("phasekeeper/prepareDecision", target))["unsaved"] == [
            f"{RUN}/review/plan-review.json"
        ]
        assert (await client.request("phasekeeper/run", asked))["suggestion"]["kind"] == "regress"

    run_with(work)


def test_a_board_holds_all_roots_with_their_runs_in_short(root):
    task(root, "T1", ok=False)
    plan(root)

    async def work(client: Client) -> None:
        await client.initialize(root)
        board = await client.ready(root)
        assert board["version"] == 1
        [only] = board["roots"]
        assert [run["run"] for run in only["runs"]] == [RUN, ".orchestrator/tasks/shop"]
        first = only["runs"][0]
        assert first["findingCounts"] == {"error": 0, "warning": 0, "information": 0}
        gate = {"id": "plan-review", "after": "plan_review", "status": "failed", "inForce": True}
        assert gate.items() <= first["gates"][0].items()
        whole = await client.request("phasekeeper/run", {"root": str(root), "run": RUN})
        jsonschema_rs.validator_for(schema_of_evaluations()).validate(whole)
        # A summary is part of the whole evaluation, word for word.
        shared = first.keys() & whole.keys() - {"gates"}
        assert len(shared) >= 15
        assert {name: whole[name] for name in shared} == {name: first[name] for name in shared}

    run_with(work)


def test_what_changes_is_told_with_the_version_it_belongs_to(root):
    folder = task(root, "T1", ok=False)

    async def work(client: Client) -> None:
        await client.initialize(root)
        board = await client.ready(root)
        (folder / "review/plan-review.json").write_text('{"ok": true}')
        told = await client.until(lambda: [n for n in changes(client) if next_of(n) == ["codegen"]])
        assert told[0]["root"] == str(root) and told[0]["removed"] == []
        assert told[0]["version"] > board["roots"][0]["version"]

    run_with(work)


def test_a_run_that_is_gone_is_null_and_a_root_that_is_not_open_a_refusal(root):
    async def work(client: Client) -> None:
        await client.initialize(root)
        await client.ready(root)
        assert await client.request("phasekeeper/run", {"root": str(root), "run": "nothing"}) is None
        assert await client.request("phasekeeper/graph", {"root": str(root), "run": "nothing"}) is None
        assert "no root" in await refusal(client, "phasekeeper/run", {"root": "/nowhere", "run": "x"})
        assert "no root" in await refusal(client, "phasekeeper/run", [1])

    run_with(work)


def test_a_graph_has_the_phases_the_ways_between_them_and_the_gates(root):
    task(root, "T1")

    async def work(client: Client) -> None:
        await client.initialize(root)
        await client.ready(root)
        found = await client.request("phasekeeper/graph", {"root": str(root), "run": RUN})
        assert {"id": "plan_review", "state": "current"}.items() <= found["phases"][1].items()
        assert any(edge["from"] == "plan_review" and edge["to"] == "codegen" for edge in found["edges"])
        assert found["mermaid"].startswith("stateDiagram-v2")
        assert found["gates"][0]["criteria"]

    run_with(work)


def test_a_report_is_recorded_and_its_run_stands_otherwise_at_once(root):
    task(root, "T1")

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        params = {
            "root": str(root),
            "run": RUN,
            "step": "plan_review",
            "outcome": "ok",
            "summary": "all fine",
        }
        answer = await client.request("phasekeeper/report", params)
        assert answer["recorded"] == "plan_review ok"
        board = await client.request("phasekeeper/board", {})
        assert board["roots"][0]["runs"][0] == answer["evaluation"]
        history = await client.request("phasekeeper/history", {"root": str(root), "run": RUN, "limit": 10})
        assert history["events"][-1]["message"] == "all fine"
        assert history["events"][-1]["line"] == len(history["events"])

    run_with(work)


def test_what_may_not_be_done_is_refused_with_the_reason(root):
    task(root, "T1")

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        here = {"root": str(root), "run": RUN}
        assert "may not be reported now" in await refusal(
            client, "phasekeeper/report", {**here, "step": "accept", "outcome": "ok"}
        )
        assert "'step' is missing" in await refusal(client, "phasekeeper/report", here)
        assert "no run" in await refusal(
            client, "phasekeeper/claim", {**here, "run": "x", "task": "1", "who": "me"}
        )
        wrong = {**here, "step": 7, "outcome": "ok"}
        assert "'step' has to be a text" in await refusal(client, "phasekeeper/report", wrong)
        wrong = {**here, "step": "plan_review", "outcome": "ok", "tasks": "01"}
        assert "'tasks' has to be a list of texts" in await refusal(client, "phasekeeper/report", wrong)
        assert "no workflow" in await refusal(
            client, "phasekeeper/start", {**here, "workflow": "nothing", "name": "x"}
        )

    run_with(work)


def test_a_task_is_claimed_and_released(root):
    plan(root)

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        here = {"root": str(root), "run": ".orchestrator/tasks/shop", "task": "02"}
        claimed = await client.request("phasekeeper/claim", {**here, "who": "ada"})
        assert claimed["recorded"].startswith("shop-02 is claimed by ada until ")
        whole = await client.request("phasekeeper/run", here)
        assert [task["claimedBy"] for stage in whole["plan"]["stages"] for task in stage["tasks"]] == [
            None,
            "ada",
        ]
        assert "ada" in await refusal(client, "phasekeeper/claim", {**here, "who": "bob"})
        again = await client.request("phasekeeper/claim", {**here, "who": "ada"})
        assert again["recorded"].startswith("shop-02 is claimed by ada until ")
        released = await client.request("phasekeeper/release", {**here, "who": "ada"})
        assert released["recorded"] == "shop-02 is released"

    run_with(work)


def test_a_claim_stays_the_editors_over_its_connections_where_it_keeps_what_it_was_answered(root):
    plan(root)
    here = {"root": str(root), "run": ".orchestrator/tasks/shop", "task": "02"}
    kept: list[Any] = []

    async def claim(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        kept.append((await client.request("phasekeeper/claim", {**here, "who": "ada"}))["claim"])

    async def go_on(client: Client) -> None:
        own = {**OURS["phasekeeper"], "claims": [*kept, {"root": 1}, None]}
        await client.initialize(root, **{**OURS, "phasekeeper": own})
        await client.ready(root)
        again = await client.request("phasekeeper/claim", {**here, "who": "ada"})
        assert again["claim"]["token"] == kept[0]["token"]
        assert (await client.request("phasekeeper/release", here))["recorded"] == "shop-02 is released"

    async def without(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        assert "confirm" in await client.request("phasekeeper/release", here)

    run_with(claim)
    assert kept[0] | {"token": ""} == {**here, "task": "shop-02", "who": "ada", "token": ""}
    run_with(without)
    run_with(go_on)


def test_a_claim_that_another_made_is_released_by_a_person_on_a_terminal(root):
    plan(root)
    apply.claim(Workspace(root), ".orchestrator/tasks/shop", "02", "ada", 60)

    async def work(client: Client) -> None:
        await client.initialize(root, **NO_DIALOG)
        await client.ready(root)
        here = {"root": str(root), "run": ".orchestrator/tasks/shop", "task": "02", "confirmed": ["yes"]}
        said = await refusal(client, "phasekeeper/release", here)
        assert "shop-02 is claimed by ada" in said
        assert "on a terminal: phasekeeper release .orchestrator/tasks/shop shop-02" in said

    run_with(work)


def test_a_person_confirms_in_the_clients_dialog_that_a_claim_of_another_ends(root):
    plan(root)
    _, token = apply.claim(Workspace(root), ".orchestrator/tasks/shop", "02", "ada", 60)

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        here = {"root": str(root), "run": ".orchestrator/tasks/shop", "task": "02"}
        asked = await client.request("phasekeeper/release", here)
        assert asked["recorded"] == "" and asked["confirm"][0].startswith("shop-02 is claimed by ada until ")
        whole = await client.request("phasekeeper/run", here)
        assert [each["actor"] for each in whole["claims"]] == ["ada"]
        apply.claim(Workspace(root), ".orchestrator/tasks/shop", "02", "ada", 3600, token)
        again = await client.request("phasekeeper/release", {**here, "confirmed": asked["confirm"]})
        assert again["recorded"] == "" and again["confirm"][0] != asked["confirm"][0]
        released = await client.request("phasekeeper/release", {**here, "confirmed": again["confirm"]})
        assert released["recorded"] == "shop-02 is released"

    run_with(work)


def test_a_run_is_started_and_a_phase_done_again(root):
    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        params = {"root": str(root), "workflow": "artifact-pipeline", "name": "T9", "title": "A new task"}
        started = await client.request("phasekeeper/start", params)
        assert started["evaluation"]["run"] == f"{TASKS}/T9"
        params = {"root": str(root), "run": f"{TASKS}/T9", "phase": "planning", "reason": "once more"}
        assert (await client.request("phasekeeper/redo", params))["recorded"] == "to be done again: planning"

    run_with(work)


def test_our_own_client_decides_with_a_reason_about_what_the_person_saw(root):
    loop(root)

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        board = await client.ready(root)
        run = board["roots"][0]["runs"][0]
        question = run["questions"][0]
        params = {
            "root": str(root), "run": run["run"], "kind": "answer", "question": question["id"],
            "option": question["options"][0]["id"], "reason": "we looked at it", "revision": run["revision"],
        }  # fmt: skip
        stale = {**params, "revision": "0" * 16}
        assert "was changed meanwhile" in await refusal(client, "phasekeeper/decide", stale)
        assert "'reason' is missing" in await refusal(
            client, "phasekeeper/decide", {**params, "reason": None}
        )
        assert "is no decision" in await refusal(client, "phasekeeper/decide", {**params, "kind": "bribe"})
        answer = await client.request("phasekeeper/decide", params)
        assert answer["recorded"].startswith("answered: ")
        assert all(q["id"] != question["id"] for q in answer["evaluation"]["questions"])

    run_with(work)
    [line] = (root / ".claude/state/.phasekeeper/journal.jsonl").read_text().splitlines()
    assert (json.loads(line)["channel"], json.loads(line)["program"]) == ("vscode", "An editor 1.2")


def test_an_override_is_prepared_with_every_gate_that_it_waives(root):
    """A gate before the present phase that has failed is named too: a person signs nothing unseen."""
    folder = task(root, "T1", ok=False)
    shutil.rmtree(folder)
    put(folder / "state.json", {"phase": "review"})
    put(folder / "review/plan-review.json", {"ok": False})

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        await client.ready(root)
        target = {"root": str(root), "run": RUN, "kind": "override", "to": "test"}
        prepared = await client.request("phasekeeper/prepareDecision", target)
        way = 'from "Review the code" (review) to "Run the tests" (test)'
        assert prepared["title"] == f"Move {RUN} {way}, against what its files say?"
        waived = [line.partition(" and will be waived")[0] for line in prepared["lines"] if "waived" in line]
        assert waived[0].endswith(" (plan-review) is failed") and len(waived) == 3
        lacking = [line.partition(" will go")[0] for line in prepared["lines"] if "will go without" in line]
        titles = ("Plan the change", "Write the code", "Review the code")
        named = zip(titles, ("planning", "codegen", "review"), strict=True)
        assert lacking == [f'"{title}" ({phase})' for title, phase in named]
        assert prepared["lines"][-1].startswith("afterwards: ")
        decided = {**target, "reason": "we looked at it", "revision": prepared["revision"]}
        answer = await client.request("phasekeeper/decide", decided)
        assert answer["recorded"] == "overridden" and answer["evaluation"]["currentPhase"] == "test"
        assert "was changed meanwhile" in await refusal(client, "phasekeeper/decide", decided)

    run_with(work)


def test_an_answer_is_prepared_with_every_option_and_says_which_files_are_not_saved(root):
    state = loop(root) / "loop.state.json"

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        board = await client.ready(root)
        run = board["roots"][0]["runs"][0]
        question = run["questions"][0]
        target = {"root": str(root), "run": run["run"], "kind": "answer", "question": question["id"]}
        prepared = await client.request("phasekeeper/prepareDecision", target)
        assert prepared["title"] == question["question"] and prepared["revision"] == run["revision"]
        options = [line for line in prepared["lines"] if line.startswith("- ")]
        assert options == [f"- {each['id']}: {each['text']}" for each in question["options"]]
        assert prepared["unsaved"] == []

        chosen = {**target, "option": question["options"][0]["id"]}
        lines = (await client.request("phasekeeper/prepareDecision", chosen))["lines"]
        assert lines[-2].startswith(f"answer: {chosen['option']} (") and lines[-1].startswith("afterwards: ")
        for wrong in ({"option": "perhaps"}, {"question": "nought"}, {"kind": "bribe"}, {"question": 7}):
            assert await refusal(client, "phasekeeper/prepareDecision", {**chosen, **wrong})
        assert "'option' is missing" in await refusal(
            client, "phasekeeper/decide", {**target, "reason": "r", "revision": prepared["revision"]}
        )

        uri = client.open(state)
        client.type(uri, 2, "{}")
        prepared = await client.request("phasekeeper/prepareDecision", target)
        assert prepared["unsaved"] == [".claude/state/loop.state.json"]
        assert prepared["revision"] == run["revision"]

    run_with(work)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"trusted": True},
        {"trusted": True, "phasekeeper": {"client": "vscode"}},
        {"trusted": True, "phasekeeper": {"client": "other", "decides": True}},
        {"trusted": False, "phasekeeper": {"client": "vscode", "decides": True}},
        {"trusted": True, "phasekeeper": ["vscode"]},
    ],
)
def test_no_other_client_decides_by_a_request(root, options):
    loop(root)

    async def work(client: Client) -> None:
        await client.initialize(root, **options)
        await client.ready(root)
        params = {"root": str(root), "run": ".claude/state", "kind": "adopt", "reason": "x", "revision": "x"}
        for method in ("phasekeeper/decide", "phasekeeper/prepareDecision"):
            said = await refusal(client, method, params)
            assert "only reads" in said or "a person decides in a dialog" in said

    run_with(work)


def test_two_editors_are_told_of_the_same_change(root):
    folder = task(root, "T1", ok=False)

    async def work() -> None:
        async with engine_of() as engine, client_of(engine) as one, client_of(engine) as other:
            for client in (one, other):
                await client.initialize(root)
                await client.ready(root)
            (folder / "review/plan-review.json").write_text('{"ok": true}')
            for client in (one, other):
                await client.until(lambda client=client: ["codegen"] in map(next_of, changes(client)))

    asyncio.run(work())


def test_a_connection_lets_go_of_its_roots_when_it_ends(root):
    task(root, "T1")

    async def work() -> None:
        closed: list[Any] = []
        async with engine_of() as engine:
            ends = engine.close

            def close(root: Path) -> None:
                closed.append(root)
                ends(root)

            engine.close = close
            async with client_of(engine) as client:
                await client.initialize(root)
                await client.ready(root)
        assert closed == [root]

    asyncio.run(work())


def test_the_messages_are_listed_where_the_connection_is():
    import phasekeeper.server.lsp as package

    for name in (
        "board",
        "run",
        "history",
        "recent",
        "graph",
        "report",
        "claim",
        "release",
        "start",
        "redo",
        "decide",
        "prepareDecision",
        "changed",
    ):
        assert f"phasekeeper/{name}" in (package.__doc__ or "")


def test_projects_that_the_configuration_comes_to_name_are_roots_of_the_editor_too(root):
    task(root, "T1")
    path = task(root / "packages/a", "A1", ok=False) / "review/plan-review.json"
    config = put(root / ".phasekeeper/config.yaml", "projects: []\n")

    async def work(client: Client) -> None:
        await client.initialize(root, **OURS)
        board = await client.ready(root)
        assert [each["root"] for each in board["roots"]] == [str(root)]
        uri = client.open(path)
        put(config, "projects: [packages/*]\n")
        await client.until(lambda: "gate-failed" in client.codes(uri))
        board = await client.ready(root)
        assert [each["root"] for each in board["roots"]] == [str(root), str(root / "packages/a")]

        task(root / "packages/b", "B1")
        await client.until(lambda: any(c["root"].endswith("/b") and c["changed"] for c in changes(client)))

        put(config, "projects: [packages/b]\n")
        await client.until(lambda: any(c["removed"] == [f"{TASKS}/A1"] for c in changes(client)))
        await client.until(lambda: client.codes(uri) == [])
        board = await client.ready(root)
        assert [each["root"] for each in board["roots"]] == [str(root), str(root / "packages/b")]

    run_with(work)
