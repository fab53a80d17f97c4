"""A person's decision counts in the repository where it was signed; elsewhere once a person confirms it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.server.disk import decision_keys
from phasekeeper.server.workspace.apply import prepare_decision, record_decision
from phasekeeper.server.workspace.decision_proof import journal_place, sign
from phasekeeper.server.workspace.repair import NOTHING_AGREED, prepare_repair, repair_run
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import loop, needs, put, task

LOOP, TASK = ".claude/state", ".ai-tools-chain/tasks/T1"
JOURNAL = ".phasekeeper/journal.jsonl"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "user-state"))


def repository(path: Path, title: str = "broken") -> Path:
    """A repository with a loop that awaits a person."""
    (path / ".git").mkdir(parents=True)
    queue = [{"id": "WQ-1", "priority": "S0", "title": title, "status": "pending"}]
    loop(path, workQueue=queue)
    return path


def look(root: Path, run: str = LOOP) -> Evaluation:
    workspace = Workspace(root)
    match = workspace.match(run)
    assert match
    return workspace.evaluate(match)


def is_open(root: Path) -> bool:
    return [question.id for question in look(root).questions] == ["severe:1:WQ-1"]


def unverified(root: Path, run: str = LOOP) -> int:
    return sum(found.code == "decision-unverified" for found in look(root, run).findings)


def decide(root: Path, run: str = LOOP, **wanted: Any) -> None:
    command = Command(kind="answer", why="looked at it", **wanted)
    record_decision(Workspace(root), prepare_decision(Workspace(root), run, command), "ada", "terminal")


def resolve(root: Path) -> Path:
    decide(root, question="severe:1:WQ-1", option="resolve")
    assert not is_open(root) and unverified(root) == 0
    return root


def copy_journal(source: Path, target: Path) -> None:
    put(target / LOOP / JOURNAL, (source / LOOP / JOURNAL).read_text(encoding="utf-8"))


def confirm(root: Path) -> list[str]:
    return [
        each.kind
        for each in repair_run(Workspace(root), LOOP, prepare_repair(Workspace(root), LOOP), "b", "x")
    ]


def test_an_answer_copied_into_another_repository_decides_nothing_there(tmp_path: Path) -> None:
    ours = resolve(repository(tmp_path / "a"))
    theirs = repository(tmp_path / "b", "customer passwords are public")
    copy_journal(ours, theirs)
    assert is_open(theirs) and unverified(theirs) == 1
    # Nor once a person decided something there, which gives the repository a key of its own.
    task(theirs, "T1", ok=False)
    override = Command(kind="override", step="codegen", why="looked at it")
    record_decision(Workspace(theirs), prepare_decision(Workspace(theirs), TASK, override), "ada", "terminal")
    assert unverified(theirs, TASK) == 0
    assert is_open(theirs) and unverified(theirs) == 1


@pytest.mark.parametrize("is_worktree", [False, True])
def test_a_copy_and_a_worktree_are_repositories_of_their_own(tmp_path: Path, is_worktree: bool) -> None:
    ours = repository(tmp_path / "a")
    copied = tmp_path / "b"
    resolve(ours)
    shutil.copytree(ours, copied)
    if is_worktree:
        shutil.rmtree(copied / ".git")
        put(copied / ".git", f"gitdir: {ours}/.git/worktrees/b\n")
    assert is_open(copied) and not is_open(ours)
    assert f"signed in {ours}, which is still there" in "".join(prepare_repair(Workspace(copied), LOOP).lines)


def test_a_nested_repository_is_one_of_its_own(tmp_path: Path) -> None:
    ours = resolve(repository(tmp_path / "a"))
    nested = repository(ours / "nested")
    copy_journal(ours, nested)
    assert is_open(nested)


def test_a_clone_keeps_what_was_committed(tmp_path: Path) -> None:
    git = [needs("git"), "-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    ours = repository(tmp_path / "a")
    (ours / ".git").rmdir()
    subprocess.run([*git, "init", "-q"], cwd=ours, check=True)
    resolve(ours)
    subprocess.run([*git, "add", "-A"], cwd=ours, check=True)
    subprocess.run([*git, "commit", "-q", "-m", "x"], cwd=ours, check=True)
    subprocess.run([*git, "clone", "-q", str(ours), str(tmp_path / "b")], cwd=tmp_path, check=True)
    assert not is_open(tmp_path / "b") and unverified(tmp_path / "b") == 0


def test_what_was_signed_in_a_moved_folder_is_confirmed_once(tmp_path: Path) -> None:
    ours = resolve(repository(tmp_path / "a"))
    moved = ours.rename(tmp_path / "moved")
    assert is_open(moved)
    text = "\n".join(prepare_repair(Workspace(moved), LOOP).lines)
    assert "severe:1:WQ-1: resolve (looked at it), by ada" in text
    assert f"signed in {ours}, which is gone" in text
    assert "asked: Severity S0 or worse is open: WQ-1 (broken). How to go on?" in text
    assert confirm(moved) == ["confirmed"]
    assert not is_open(moved) and unverified(moved) == 0
    assert prepare_repair(Workspace(moved), LOOP) == NOTHING_AGREED
    assert confirm(moved) == []
    # Nor does the confirmation count anywhere else.
    again = moved.rename(tmp_path / "again")
    assert is_open(again) and unverified(again) == 2
    assert confirm(again) == ["confirmed"]
    assert not is_open(again) and unverified(again) == 0


def test_what_a_version_before_signed_is_confirmed_once(tmp_path: Path) -> None:
    ours = repository(tmp_path / "a")
    user = decision_keys.make_key().secret or b""
    record = {
        "seq": 1,
        "at": "2026-01-02T03:04:05Z",
        "kind": "answer",
        "question": "severe",
        "scope": "1:WQ-1",
    }
    record |= {"option": "resolve", "why": "looked at it", "actor": "ada"}
    mac = sign(record, user, journal_place(ours, f"{LOOP}/{JOURNAL}"))
    put(ours / LOOP / JOURNAL, json.dumps({**record, "mac": mac}) + "\n")
    assert is_open(ours) and unverified(ours) == 1
    assert "signed by an earlier version" in prepare_repair(Workspace(ours), LOOP).lines[1]
    assert confirm(ours) == ["confirmed"]
    assert not is_open(ours) and unverified(ours) == 0


def test_what_nobody_signed_is_not_to_be_confirmed(tmp_path: Path) -> None:
    ours = repository(tmp_path / "a")
    record = {"seq": 1, "kind": "answer", "question": "severe", "scope": "1:WQ-1", "option": "resolve"}
    put(ours / LOOP / JOURNAL, json.dumps({**record, "mac": "0" * 64}) + "\n")
    assert prepare_repair(Workspace(ours), LOOP) == NOTHING_AGREED


def test_a_decision_that_changed_since_it_was_read_is_not_confirmed(tmp_path: Path) -> None:
    ours, other = resolve(repository(tmp_path / "a")), repository(tmp_path / "b")
    copy_journal(ours, other)
    agreed = prepare_repair(Workspace(other), LOOP)
    put(
        other / LOOP / JOURNAL,
        (other / LOOP / JOURNAL).read_text(encoding="utf-8").replace("resolve", "stop"),
    )
    assert repair_run(Workspace(other), LOOP, agreed, "b", "x") == ()
    assert is_open(other)


def test_a_confirmation_that_nobody_signed_confirms_nothing(tmp_path: Path) -> None:
    ours, other = resolve(repository(tmp_path / "a")), repository(tmp_path / "b")
    copy_journal(ours, other)
    digest = prepare_repair(Workspace(other), LOOP).decisions[0]
    forged = {
        "seq": 2,
        "kind": "answer",
        "question": "earlier-decisions",
        "option": "confirm",
        "about": digest,
    }
    path = other / LOOP / JOURNAL
    put(path, path.read_text(encoding="utf-8") + json.dumps({**forged, "prev": digest}) + "\n")
    assert is_open(other) and unverified(other) == 2
    assert prepare_repair(Workspace(other), LOOP).decisions == (digest,)


def test_the_record_says_what_the_person_was_asked_and_signs_it(tmp_path: Path) -> None:
    ours = resolve(repository(tmp_path / "a"))
    [line] = (ours / LOOP / JOURNAL).read_text(encoding="utf-8").splitlines()
    record = json.loads(line)
    assert record["asked"] == "Severity S0 or worse is open: WQ-1 (broken). How to go on?"
    assert [option["id"] for option in record["options"]] == ["resolve", "lower", "stop"]
    assert all(option["text"] for option in record["options"])
    put(ours / LOOP / JOURNAL, line.replace("or worse is open", "is harmless") + "\n")
    assert is_open(ours)


def test_an_answer_stays_when_its_question_is_worded_anew(tmp_path: Path) -> None:
    ours = resolve(repository(tmp_path / "a"))
    text = "parameters: {phase-loop: {pause_on: S1}}\n"
    put(ours / ".phasekeeper/config.yaml", text)
    assert look(ours).questions == () and unverified(ours) == 0


def test_a_workspace_never_holds_the_id_of_its_repository(tmp_path: Path) -> None:
    ours = resolve(repository(tmp_path / "a"))
    identity = json.loads(decision_keys.repository_path(ours).read_text(encoding="utf-8"))["id"]
    texts = [path.read_bytes() for path in ours.rglob("*") if path.is_file()]
    assert texts and not any(identity.encode() in text for text in texts)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"path": 1, "id": "x"}', '{"path": "/", "id": "ab"}'])
def test_a_file_that_holds_no_id_signs_nothing(tmp_path: Path, content: str) -> None:
    ours = resolve(repository(tmp_path / "a"))
    path = decision_keys.repository_path(ours)
    path.write_text(content, encoding="utf-8")
    assert is_open(ours)
    assert decision_keys.make_repository_key(ours).secret is None
    assert list(decision_keys.repository_keys()) == []


def test_reading_makes_no_key(tmp_path: Path) -> None:
    is_open(repository(tmp_path / "a"))
    assert not (tmp_path / "user-state").exists()
