"""Many at once: agents that share a plan, and clients that ask while files change."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from phasekeeper.server.workspace.workspace import Workspace
from phasekeeper.tools.assistant.next_step import ALL_CLAIMED

from tests.roots import TASKS, plan, put, task
from tests.server.mcp.rig import Rig, async_test, call, refusal, rig

LISTS = ".orchestrator/tasks/lists"
AGENTS, STEPS, CLIENTS, CALLS = 50, 25, 200, 3


async def clients(r: Rig, stack: AsyncExitStack, root: Path, number: int) -> list[Client]:
    """Connections of their own, half of them of each era."""
    eras = ("auto", "legacy")
    return [await stack.enter_async_context(r.client(root, eras[n % 2])) for n in range(number)]


# ---- one plan, many agents --------------------------------------------------------------------


@async_test
async def test_two_agents_never_get_the_same_task_and_one_gets_its_own_again(root: Path) -> None:
    plan(root, "lists", 4, done=1)
    async with rig() as r, r.client(root) as one, r.client(root) as other:
        first = await call(one, "next_step", claim=True)
        mine = f'tasks=["{first["claim"]["task"]}"], agent="{first["claim"]["actor"]}"'
        assert any(mine in line for line in first["words"])
        second = await call(other, "next_step", claim=True)
        assert first["claim"]["task"] == "lists-2"
        assert [each["id"] for each in first["tasks"]] == ["lists-2"]
        assert second["claim"]["task"] == "lists-3"
        again = await call(one, "next_step", claim=True)
        assert again["claim"]["task"] == "lists-2"
        assert again["claim"]["seq"] > first["claim"]["seq"]
        named = await call(other, "next_step", claim=True, agent="Grace")
        assert (named["claim"]["task"], named["claim"]["actor"]) == ("lists-4", "Grace")
        none = await call(one, "next_step", claim=True, agent="Edsger")
        assert "no task is free: claimed are lists-2 by " in none["note"]
        assert ALL_CLAIMED in (await call(one, "next_step"))["words"]
        assert ALL_CLAIMED not in named.get("words", ())
        assert [each["task"] for each in none["claims"]] == ["lists-2", "lists-3", "lists-4"]


@async_test
async def test_a_claim_says_what_a_report_of_its_own_task_needs(root: Path) -> None:
    folder = plan(root, "lists", 3, done=1)
    for number in (2, 3):
        (folder / f"{number:05}-step.md").write_text(
            f"# Task {number}\n\n## Files to Modify\n\n| File | Action | Changes |\n|---|---|---|\n"
            f"| `made-{number}.py` | create | all of it |\n"
        )
    async with rig() as r, r.client(root) as one, r.client(root) as other:
        await call(one, "next_step", claim=True)
        theirs = await call(other, "next_step", claim=True)
        assert theirs["claim"]["task"] == "lists-3"
        needed = theirs["suggestion"]["reports"][0]["brings"]
        assert [each["paths"] for each in needed if each["kind"] == "files"] == [["made-3.py"]]


@async_test
async def test_a_claimed_task_is_reported_by_its_holder_alone_and_is_free_of_the_claim_then(
    root: Path,
) -> None:
    plan(root, "lists", 3, done=1)
    async with rig() as r, r.client(root) as one, r.client(root) as other:
        mine = (await call(one, "next_step", claim=True))["claim"]
        (root / "made.py").write_text("")
        said = {"step": "4a", "outcome": "complete", "tasks": [mine["task"]], "summary": "wrote made.py"}
        assert "is claimed by" in await refusal(other, "report", **said)
        assert "claim" in await refusal(one, "report", **said, token=mine["seq"] + 40)
        after = await call(one, "report", **said, token=mine["seq"])
        assert [each["id"] for each in after["tasks"]] == ["lists-3"]
        assert r.engine.board(root).runs[LISTS].claims == ()


@async_test
async def test_the_name_of_an_agent_opens_no_claim_and_the_token_of_its_answer_does(
    root: Path,
) -> None:
    plan(root, "lists", 4, done=1)
    (root / "made.py").write_text("")
    said = {"step": "4a", "outcome": "complete", "tasks": ["lists-2"], "summary": "wrote made.py"}
    async with rig() as r, r.client(root) as other:
        async with r.client(root) as one:
            mine = (await call(one, "next_step", claim=True, agent="Grace"))["claim"]
            assert mine["task"] == "lists-2"
            for more in ({}, {"token": mine["seq"]}, {"token": "Grace"}):
                assert "is claimed by Grace" in await refusal(other, "report", **said, agent="Grace", **more)
            theirs = await call(other, "next_step", claim=True, agent="Grace")
            assert theirs["claim"]["task"] == "lists-3"
        async with r.client(root) as again:
            refused = await refusal(again, "report", **said, agent="Grace")
            assert "is claimed by Grace" in refused
            assert f"`phasekeeper release {LISTS} lists-2`" in refused
            renewed = await call(again, "next_step", claim=True, agent="Grace")
            assert renewed["claim"]["task"] == "lists-4"
            # Its connection has ended, what it was told has not.
            await call(again, "report", **said, agent="Grace", token=mine["token"])


@async_test
async def test_where_there_is_nothing_to_claim_that_is_told(root: Path) -> None:
    task(root, "T1")
    async with rig() as r, r.client(root) as client:
        assert "no task to claim" in (await call(client, "next_step", claim=True))["note"]


@pytest.mark.parametrize("agents", [AGENTS])
@async_test
async def test_fifty_agents_finish_one_plan_in_the_order_of_its_dependencies(root: Path, agents: int) -> None:
    """Their tasks lie in five layers: each needs two of the layer before, in a plan's one stage."""
    folder = plan(root, "lists", STEPS, done=1)
    needs = {
        n: {(n - 6) // 5 * 5 + 1 + (n + k) % 5 for k in (0, 1)} if n > 5 else set[int]()
        for n in range(1, STEPS + 1)
    }
    for n, before in needs.items():
        on = ", ".join(f"lists-{each}" for each in sorted(before))
        put(folder / f"{n:05}-step.md", f"# {n}. Step\n\n## Meta\n\n- **Depends On**: [{on}]\n")
    held: dict[str, str] = {}
    done: list[str] = ["lists-1"]

    async def work(client: Client, name: str) -> None:
        answer = await call(client, "next_step", run=LISTS, claim=True, agent=name)
        while answer["currentPhase"] == "4a" and len(done) < STEPS:
            claim = answer.get("claim")
            if claim is None:
                answer = await call(
                    client, "wait_for_change", run=LISTS, since=answer["revision"], timeout=20
                )
                if len(done) < STEPS:
                    answer = await call(client, "next_step", run=LISTS, claim=True, agent=name)
                continue
            assert claim["task"] not in held, f"{claim['task']} was given to {held[claim['task']]} and {name}"
            held[claim["task"]] = name
            number = int(claim["task"].rpartition("-")[2])
            assert {f"lists-{each}" for each in needs[number]} <= set(done)
            # What is reported can free others before the answer is back here.
            done.append(claim["task"])
            (root / "made.py").write_text("")
            await call(
                client, "report", run=LISTS, step="4a", outcome="complete", tasks=[claim["task"]], agent=name,
                token=claim["seq"], summary="wrote made.py",
            )  # fmt: skip
            answer = await call(client, "next_step", run=LISTS, claim=True, agent=name)

    async with rig() as r, AsyncExitStack() as stack:
        made = await clients(r, stack, root, agents)
        await asyncio.gather(*(work(client, f"agent {n}") for n, client in enumerate(made)))
        end = await call(made[0], "next_step", run=LISTS)
        assert end["suggestion"]["suggestedNext"] == "4b", end
    assert sorted(held, key=lambda name: int(name[6:])) == [f"lists-{n}" for n in range(2, STEPS + 1)]
    assert len(set(held.values())) > 1


# ---- many clients while files change ----------------------------------------------------------


@async_test
async def test_two_hundred_clients_see_no_error_and_no_revision_that_never_was(root: Path) -> None:
    """Mixed calls while verdicts are rewritten; each answer is of a moment that there was."""
    runs = [f"{TASKS}/T{n}" for n in range(8)]
    for n in range(8):
        task(root, f"T{n}")
    seen: dict[str, set[str]] = {run: set() for run in runs}
    were: dict[str, set[str]] = {run: set() for run in runs}
    chance = random.Random(7)

    async def ask(client: Client, run: str) -> None:
        for _ in range(CALLS):
            tool, more = chance.choice(KINDS)
            data = await call(client, tool, **({"run": run} if tool != "status" else {}), **more)
            assert data["root"] == str(root)
            if "run" in data:
                assert data["run"] == run
                seen[run].add(data["revision"])

    async with rig() as r, AsyncExitStack() as stack:
        made = await clients(r, stack, root, CLIENTS)
        await call(made[0], "status")
        note(were, r.engine.board(root).runs)
        stop = r.engine.subscribe(root, lambda change: note(were, change.changed))

        async def change() -> None:
            for n in range(12):
                path = root / TASKS / f"T{n % 8}" / "review/plan-review.json"
                put(path, {"ok": n % 3 == 0, "issues": [], "n": n})
                await r.engine.refresh(root, [path])

        await asyncio.gather(change(), *(ask(c, chance.choice(runs)) for c in made))
        stop()
        fresh = Workspace(root)
        now = {match.run: fresh.evaluate(match).revision for match in fresh.matches}
        for run in runs:
            assert (await call(made[0], "next_step", run=run))["revision"] == now[run]
    assert {run: found - were[run] for run, found in seen.items()} == {run: set() for run in runs}


KINDS: list[tuple[str, dict[str, Any]]] = [
    ("status", {}),
    ("next_step", {}),
    ("check_gate", {}),
    ("check_action", {"step": "codegen"}),
    ("escalations", {}),
    ("wait_for_change", {"since": "", "timeout": 1}),
]


def note(were: dict[str, set[str]], runs: Any) -> None:
    for run, e in runs.items():
        were[run].add(e.revision)
