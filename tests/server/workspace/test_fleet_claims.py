"""Claims of two machines on one plan: fenced by a real server, local without it, else put to a person."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.result.held_tasks import HeldTask
from phasekeeper.orchestration.updates.commands import Command, CommandRefused
from phasekeeper.server.disk.decision_keys import fleet_path
from phasekeeper.server.fleet import connection
from phasekeeper.server.store.claims import FleetConflict
from phasekeeper.server.store.commit import Conflict
from phasekeeper.server.workspace import apply, fleet_claims
from phasekeeper.server.workspace.apply import HeldClaims, apply_command
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import put
from tests.server.fleet.machines import PROJECT, Machines
from tests.server.workspace.test_apply import DEFINITION, planned_root

RUN = "work/one"
CONFIGURATION = f"workflows: {{'work/*': planned}}\nfleet: {{project: {PROJECT}}}\n"
HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    made = Machines(tmp_path_factory.mktemp("machines"), "ann", "bob")
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def _answers_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may answer late; no test is about how late."""
    monkeypatch.setattr(fleet_claims, "_LOOK_S", 60.0)


class Clones:
    """The clone of one repository on each machine, and what is done there."""

    def __init__(self, machines: Machines, folder: Path) -> None:
        self.machines, self._folder = machines, folder
        for name in machines.names:
            root = self.root(name)
            planned_root(root, CONFIGURATION)
            (root / ".git").mkdir()

    def root(self, name: str) -> Path:
        return self._folder / name

    def claim(self, name: str, task: str, ttl_s: float = 600, token: str = "") -> str:
        with self.machines.on(name):
            return apply.claim(Workspace(self.root(name)), RUN, task, name, ttl_s, token)[1]

    def claim_next(self, name: str) -> str | None:
        with self.machines.on(name):
            made = apply.claim_next(Workspace(self.root(name)), RUN, name, 600)
        return made[0].task if made else None

    def report(self, name: str, task: str, token: str = "") -> Any:
        held = HeldClaims([token], named=True) if token else apply.NO_CLAIMS
        wanted = Command("report", "do", "ok", tasks=(task,), actor=name, message=f"{task} by {name}")
        with self.machines.on(name):
            return apply_command(Workspace(self.root(name)), RUN, wanted, claims=held)

    def release(self, name: str, task: str, token: str | None = None) -> bool:
        with self.machines.on(name):
            return apply.release(Workspace(self.root(name)), RUN, task, token)[1]

    def held_elsewhere(self, name: str) -> list[HeldTask]:
        workspace = Workspace(self.root(name))
        match = workspace.match(RUN)
        assert match
        with self.machines.on(name):
            return [*fleet_claims.held_elsewhere(workspace, workspace.evaluate(match))]

    def lines(self, name: str, log: str) -> list[dict[str, Any]]:
        path = self.root(name) / RUN / ".phasekeeper" / log
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def questions(self, name: str) -> list[str]:
        workspace = Workspace(self.root(name))
        match = workspace.match(RUN)
        assert match
        return [question.question for question in workspace.evaluate(match).questions]

    def set_clock_back(self, name: str) -> None:
        """What the machine wrote down it wrote by a clock that is an hour ahead of what it shows now."""
        path = self.root(name) / RUN / ".phasekeeper/claims.jsonl"
        entries = self.lines(name, "claims.jsonl")
        for entry in entries:
            if "until" in entry:
                until = datetime.fromisoformat(entry["until"]) + HOUR
                entry["until"] = until.astimezone(UTC).isoformat(timespec="milliseconds")
        path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))

    def merge(self, into: str, of: str) -> None:
        """What `git pull` brings: the files of a clone, without what git ignores."""
        ignored = shutil.ignore_patterns("claims.jsonl", "lock*")
        shutil.copytree(self.root(of), self.root(into), dirs_exist_ok=True, ignore=ignored)


@pytest.fixture
def clones(machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clones]:
    monkeypatch.setattr(connection, "_AGAIN_S", 0.0)
    monkeypatch.setattr(fleet_claims, "_LOOK_S", 30.0)
    made = Clones(machines, tmp_path)
    yield made
    with machines.on("ann"):
        for task in ("f-01", "f-02"):
            apply.release(Workspace(made.root("ann")), RUN, task, None)


def test_a_task_is_claimed_on_one_machine_and_its_record_holds_the_fence(clones: Clones) -> None:
    token = clones.claim("ann", "f-01")
    (entry,) = clones.lines("ann", "claims.jsonl")
    assert entry["fence"] > 0
    with pytest.raises(FleetConflict, match=r"f-01 is claimed by ann on ann until .*; take another task"):
        clones.claim("bob", "f-01")
    assert clones.lines("bob", "claims.jsonl") == []
    assert clones.claim("ann", "f-01", token=token) == token
    assert clones.lines("ann", "claims.jsonl")[-1]["fence"] > entry["fence"]
    assert clones.release("ann", "f-01", token)
    assert clones.claim("bob", "f-01")


def test_who_asks_for_any_task_gets_one_that_no_machine_has(clones: Clones) -> None:
    clones.claim("ann", "f-01")
    assert clones.claim_next("bob") == "f-02"
    # Of its own it knows no token here: both are taken, one of them elsewhere.
    clones.release("bob", "f-02")
    clones.claim("ann", "f-02")
    with pytest.raises(FleetConflict, match="is claimed by ann on ann"):
        clones.claim_next("bob")


def test_what_others_have_is_no_free_task_and_says_who_has_it(clones: Clones) -> None:
    assert clones.held_elsewhere("bob") == []
    token = clones.claim("ann", "f-01")
    (held,) = clones.held_elsewhere("bob")
    assert (held.task, held.state, held.actor, held.machine) == ("f-01", "claimed", "ann", "ann")
    assert held.phrase == f"held by ann on machine ann until {held.until}"
    # In its own clone the task is claimed: nothing is elsewhere.
    assert clones.held_elsewhere("ann") == []
    clones.report("ann", "f-01", token)
    (held,) = clones.held_elsewhere("bob")
    assert held.phrase == "reported ok by ann on machine ann, whose files are not here yet (`git pull`)"
    clones.merge("bob", "ann")
    assert clones.held_elsewhere("bob") == []


def test_where_nobody_can_be_asked_all_tasks_are_as_the_files_say(
    clones: Clones, monkeypatch: pytest.MonkeyPatch
) -> None:
    clones.claim("ann", "f-01")
    with monkeypatch.context() as patch:
        # Nobody waits for an answer that does not come at once.
        patch.setattr(fleet_claims, "_LOOK_S", 0.0)
        assert clones.held_elsewhere("bob") == []
    assert [held.task for held in clones.held_elsewhere("bob")] == ["f-01"]
    clones.machines.stop()
    with monkeypatch.context() as patch:
        patch.setattr(fleet_claims, "_LOOK_S", 0.5)
        assert clones.held_elsewhere("bob") == []
    clones.machines.start()
    with clones.machines.on("bob"):
        fleet_path().chmod(0o644)
    assert clones.held_elsewhere("bob") == []
    with clones.machines.on("bob"):
        fleet_path().chmod(0o600)


def test_a_report_under_a_stale_token_is_refused_with_who_has_the_task(clones: Clones) -> None:
    token = clones.claim("ann", "f-01", ttl_s=1)
    while True:
        try:
            clones.claim("bob", "f-01")
            break
        except FleetConflict:
            continue
    clones.set_clock_back("ann")
    for held in (token, ""):
        with pytest.raises(Conflict, match=r"f-01 is claimed by (bob on bob|ann)"):
            clones.report("ann", "f-01", held)
    assert clones.lines("ann", "journal.jsonl") == []
    with pytest.raises(FleetConflict, match="f-01 is claimed by bob on bob"):
        clones.report("ann", "f-01", token)


def test_who_judges_a_task_that_another_machine_has_needs_no_claim_on_it(clones: Clones) -> None:
    judging = "mend: {judges: [do], tasks: \"tasks({'done': false})\", outcomes: [ok], rules: ["
    put(
        clones.root("bob") / ".phasekeeper/workflows/planned.yaml",
        DEFINITION.replace("mend: {rules: [", judging),
    )
    token = clones.claim("ann", "f-01")
    wrong = Command("report", "do", "error", tasks=("f-02",), actor="bob", message="it fails")
    judged = Command("report", "mend", "ok", tasks=("f-01",), actor="bob", message="it was looked at")
    for wanted in (wrong, judged):
        with clones.machines.on("bob"):
            apply_command(Workspace(clones.root("bob")), RUN, wanted)
    assert [entry["tasks"] for entry in clones.lines("bob", "journal.jsonl")] == [["f-02"], ["f-01"]]
    # Her claim stands.
    clones.report("ann", "f-01", token)


def test_a_claim_that_ended_unheard_is_no_leave_to_report(clones: Clones) -> None:
    token = clones.claim("ann", "f-01", ttl_s=1)
    other = ""
    while not other:
        try:
            other = clones.claim("bob", "f-01")
        except FleetConflict:
            continue
    clones.release("bob", "f-01", other)
    clones.set_clock_back("ann")
    with pytest.raises(FleetConflict, match="the claim on f-01 has ended; claim it again"):
        clones.report("ann", "f-01", token)
    assert clones.lines("ann", "journal.jsonl") == []


def test_what_was_reported_is_done_again_by_nobody_who_has_not_got_it(clones: Clones) -> None:
    token = clones.claim("ann", "f-01")
    clones.report("ann", "f-01", token)
    for attempt in (clones.claim, clones.report):
        with pytest.raises(FleetConflict, match="f-01 was reported ok by ann on ann: get the files"):
            attempt("bob", "f-01")
    assert clones.lines("bob", "journal.jsonl") == []
    assert clones.claim_next("bob") == "f-02"
    clones.merge("bob", "ann")
    # With the report before it, it may take the task up again, as after a review that failed it.
    assert clones.claim("bob", "f-01")


def test_who_gives_back_by_a_token_takes_nothing_from_whoever_has_the_task_by_now(clones: Clones) -> None:
    token = clones.claim("ann", "f-01")
    assert not clones.release("bob", "f-01", "another token")
    with pytest.raises(FleetConflict, match="is claimed by ann"):
        clones.claim("bob", "f-01")
    clones.report("ann", "f-01", token)
    clones.release("ann", "f-01", token)
    with pytest.raises(FleetConflict, match="was reported ok by ann"):
        clones.claim("bob", "f-01")
    # A person frees whatever it is.
    assert clones.release("bob", "f-01")
    assert clones.claim("bob", "f-01")


def test_a_report_that_is_refused_leaves_the_claim_as_it_was(clones: Clones) -> None:
    token = clones.claim("ann", "f-01")
    wanted = Command("report", "nought", "ok", tasks=("f-01",), actor="ann")
    held = HeldClaims([token], named=True)
    with pytest.raises(CommandRefused, match="no phase or action"), clones.machines.on("ann"):
        apply_command(Workspace(clones.root("ann")), RUN, wanted, claims=held)
    with pytest.raises(FleetConflict, match="is claimed by ann"):
        clones.claim("bob", "f-01")
    clones.report("ann", "f-01", token)


def test_a_write_that_fails_leaves_the_claim_as_it_was(
    clones: Clones, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = clones.claim("ann", "f-01")
    propose = apply.propose

    def meanwhile(*arguments: Any) -> Any:
        proposal = propose(*arguments)
        (clones.root("ann") / RUN / "log.txt").write_text("somebody else's\n")
        return proposal

    with monkeypatch.context() as patch:
        patch.setattr(apply, "propose", meanwhile)
        with pytest.raises(Conflict, match="nothing was written"):
            clones.report("ann", "f-01", token)
    with pytest.raises(FleetConflict, match="is claimed by ann"):
        clones.claim("bob", "f-01")
    clones.report("ann", "f-01", token)


def test_without_the_server_all_goes_on_and_the_server_hears_of_it_later(clones: Clones) -> None:
    clones.machines.stop()
    token = clones.claim("ann", "f-01")
    assert clones.lines("ann", "claims.jsonl")[0]["fence"] == 0
    clones.report("ann", "f-01", token)
    other = clones.claim("ann", "f-02")
    clones.machines.start()
    # Any next act of the clone tells it.
    clones.claim("ann", "f-02", token=other)
    with pytest.raises(FleetConflict, match="f-01 was reported ok by ann on ann"):
        clones.claim("bob", "f-01")
    with pytest.raises(FleetConflict, match="f-02 is claimed by ann"):
        clones.claim("bob", "f-02")
    assert clones.questions("ann") == clones.questions("bob") == []


def test_one_task_of_two_who_did_not_hear_of_each_other_is_put_to_a_person(clones: Clones) -> None:
    clones.machines.stop()
    clones.report("ann", "f-01", clones.claim("ann", "f-01"))
    clones.report("bob", "f-01", clones.claim("bob", "f-01"))
    clones.claim("bob", "f-02")
    clones.machines.start()
    clones.claim("ann", "f-02")
    # Its record stands, nothing of it is lost; who of both is right a person says.
    with pytest.raises(FleetConflict, match="f-02 is claimed by ann"):
        clones.claim("bob", "f-02", token="mine")
    asked = clones.questions("bob")
    assert len(asked) == 2
    assert "f-01 was reported ok by bob here while the fleet was out of reach" in asked[0]
    assert "meanwhile f-01 was reported ok by ann on ann" in asked[0]
    assert "f-02 is claimed by bob here" in asked[1]
    reports = [entry for entry in clones.lines("bob", "journal.jsonl") if entry["kind"] == "report"]
    assert [entry["tasks"] for entry in reports] == [["f-01"]]
    # It is asked once.
    with pytest.raises(FleetConflict):
        clones.claim("bob", "f-02", token="mine")
    assert clones.questions("bob") == asked
