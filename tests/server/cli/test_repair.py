"""`repair`: what it mends, what it says, and what it does only when it is asked to."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from phasekeeper.orchestration.findings import Edit
from phasekeeper.orchestration.journal.journal import Record
from phasekeeper.orchestration.vfs.files import digest_of
from phasekeeper.server.cli.commands import repair
from phasekeeper.server.disk.disk_files import DiskFiles
from phasekeeper.server.store.commit import Writes, commit

from tests.roots import TASKS, plan, put

RUN = f"{TASKS}/T1"
STATE = f"{RUN}/state.json"
JOURNAL = f"{RUN}/.phasekeeper/journal.jsonl"


def add(root: Path, message: str, text: str | None = None) -> None:
    """A record; with a text the state file is written too."""
    edits = [] if text is None else [Edit(STATE, DiskFiles(root).read(STATE).digest, text)]
    entry: Record = {"kind": "report", "outcome": "ok", "message": message}
    commit(root, RUN, lambda _held: Writes([entry], edits))


def corrupt(root: Path) -> bytes:
    broken = b'{"phase": "codegen'
    (root / STATE).write_bytes(broken)
    return broken


def test_a_sound_run_is_left_as_it_is(here, run):
    add(here, "one")
    before = (here / JOURNAL).read_bytes()
    assert run("repair", "T1") == (0, "nothing is to be mended\n", "")
    assert (here / JOURNAL).read_bytes() == before


def fork(root: Path) -> None:
    """Two branches, each of a record, merged line by line."""
    add(root, "one")
    before = (root / JOURNAL).read_text()
    add(root, "left")
    left = (root / JOURNAL).read_text()
    (root / JOURNAL).write_text(before)
    add(root, "right")
    (root / JOURNAL).write_text(left + (root / JOURNAL).read_text()[len(before) :])


@pytest.fixture
def agrees(monkeypatch):
    """A person who types the name; what that person was shown."""
    shown: list[str] = []

    def confirmed(said, name, is_name):
        assert is_name(name) and not is_name("another")
        shown.extend([*said, name])

    monkeypatch.setattr(repair, "confirm", confirmed)
    return shown


def test_the_branches_of_a_fork_are_linked_where_a_person_agrees(here, run, agrees):
    fork(here)
    code, out, _ = run("repair", "T1")
    assert (code, out) == (0, f"{JOURNAL}: its branches were linked together; all their records count\n")
    _, shown, err = run("history", "T1")
    assert "left" in shown and "right" in shown and err == ""
    assert agrees[1:] == [
        "a branch of 1 record was merged in; linked to the others it counts:", "  report ok right", RUN,
    ]  # fmt: skip
    linked = json.loads((here / JOURNAL).read_text().splitlines()[-1])
    assert linked["actor"] and (linked["kind"], linked["channel"]) == ("relink", "terminal")


def test_a_fork_stays_one_without_a_person_but_all_else_is_mended(here, run):
    fork(here)
    with (here / JOURNAL).open("a") as file:
        file.write('{"kind": "rep')
    code, out, err = run("repair", "T1")
    assert code == 1 and "a decision is a person's" in err and "still does not" in err
    assert set(out.splitlines()) == {f"{JOURNAL}: a line that was cut off while it was written was cut away"}
    assert "journal-forked" in run("history", "T1")[2]


def test_a_branch_that_came_up_while_the_person_looked_is_not_linked(here, run, monkeypatch):
    fork(here)
    lines = (here / JOURNAL).read_text().splitlines()
    late = {"seq": 9, "kind": "report", "outcome": "ok", "message": "late", "prev": digest_of(lines[0])}

    def confirmed(said, name, is_name):
        with (here / JOURNAL).open("a") as file:
            file.write(json.dumps(late) + "\n")

    monkeypatch.setattr(repair, "confirm", confirmed)
    assert run("repair", "T1")[0] == 0
    _, shown, err = run("history", "T1")
    assert "right" in shown and "late" not in shown and "journal-forked" in err


def test_lines_that_cannot_be_read_are_not_taken_out_without_a_person(here, run):
    add(here, "one")
    with (here / JOURNAL).open("a") as file:
        file.write("=======\n")
    damaged = (here / JOURNAL).read_text()
    code, out, err = run("repair", "T1", "--drop-bad-lines")
    assert (code, out) == (1, "") and "on a terminal" in err
    assert (here / JOURNAL).read_text() == damaged


def test_lines_that_cannot_be_read_are_only_taken_out_on_request(here, run, agrees):
    add(here, "one")
    with (here / JOURNAL).open("a") as file:
        file.write("=======\n")
    damaged = (here / JOURNAL).read_text()
    code, out, err = run("repair", "T1")
    assert (code, out) == (1, "") and "--drop-bad-lines takes such lines out and keeps a copy" in err
    assert (here / JOURNAL).read_text() == damaged
    code, out, _ = run("repair", "T1", "--drop-bad-lines", "--json")
    [mended] = json.loads(out)["mended"]
    assert (code, mended["did"]) == (0, "dropped")
    assert (here / mended["kept"]).read_text() == damaged
    assert "=======" not in (here / JOURNAL).read_text()
    assert "lines that cannot be read (1) are taken out" in agrees[1]


def test_a_run_that_cannot_be_written_is_refused_with_the_reason(here, run):
    put(here / RUN / ".phasekeeper", "a file where the folder should be")
    code, out, err = run("repair", "T1")
    assert (code, out) == (1, "") and ".phasekeeper" in err


def test_a_broken_state_is_not_touched_without_being_asked_to(here, run):
    broken = corrupt(here)
    assert run("repair", "T1")[0] == 0
    assert (here / STATE).read_bytes() == broken


def test_the_copy_that_the_journal_knows_best_is_restored_and_the_broken_one_kept(here, run):
    good = json.dumps({"phase": "codegen", "n": 2})
    add(here, "one", json.dumps({"phase": "codegen", "n": 1}))
    add(here, "two", good)
    put(here / f"{STATE}.old", json.dumps({"phase": "codegen", "n": 1}))
    put(here / f"{STATE}.bak", good)
    put(here / f"{STATE}.newer", json.dumps({"phase": "done", "n": 3}))
    broken = corrupt(here)
    code, out, err = run("repair", "T1", "--restore")
    assert (code, err) == (0, "")
    assert f"{STATE}: the last good text was put back; the broken one was copied before (" in out
    assert (here / STATE).read_text() == good
    [kept] = (here / RUN).glob("state.json.corrupt-*")
    assert kept.read_bytes() == broken
    assert run("next", "--run", "T1")[0] == 0


def test_without_a_record_the_newest_readable_copy_is_restored(here, run):
    put(here / f"{STATE}.a", json.dumps({"phase": "codegen", "n": 1}))
    put(here / f"{STATE}.b", json.dumps({"phase": "codegen", "n": 2}))
    put(here / f"{STATE}.c", "no JSON")
    os.utime(here / f"{STATE}.a", ns=(2, 2))
    os.utime(here / f"{STATE}.b", ns=(1, 1))
    corrupt(here)
    assert run("repair", "T1", "--restore")[0] == 0
    assert json.loads((here / STATE).read_text())["n"] == 1


def test_without_a_good_copy_nothing_is_restored_and_that_is_said(here, run):
    broken = corrupt(here)
    code, out, err = run("repair", "T1", "--restore")
    assert (code, out) == (1, "nothing is to be mended\n")
    assert err == (f"phasekeeper: no good copy of {STATE} lies beside it; `git log -p` may know one\n")
    assert (here / STATE).read_bytes() == broken


@pytest.mark.parametrize("name", ["T1", "P1"])
def test_there_is_nothing_to_restore_where_the_state_is_good_or_there_is_none(here, run, name):
    plan(here, "P1", 1)
    assert run("repair", name, "--restore") == (0, "nothing is to be mended\n", "")
