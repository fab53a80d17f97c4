"""`history`: the journal line by line, in events, as JSON, and what is told of one that is damaged."""

from __future__ import annotations

import json
from pathlib import Path

from phasekeeper.server.store.commit import Writes, commit

from tests.roots import TASKS, loop, plan, put

RUN = f"{TASKS}/T1"
JOURNAL = f"{RUN}/.phasekeeper/journal.jsonl"


def add(root: Path, run: str = RUN, **entry: object) -> None:
    commit(root, run, lambda _held: Writes([{"kind": "report", "outcome": "ok", **entry}]))


def test_each_record_is_a_line_that_says_when_what_who_why_and_the_result(here, run):
    add(here, phase="codegen", tasks=["A", "B"], stage="2", message="it works", actor="Ada", channel="cli")
    add(here, kind="transition", phase="test", next="codegen", why="again")
    code, out, err = run("history", "T1")
    first, second = out.splitlines()
    assert first.endswith("  report codegen A, B in stage 2  Ada (cli)  it works  -> ok")
    assert second.endswith("  transition test  again  -> ok")
    assert (code, err) == (0, "")


def test_file_text_cannot_move_the_cursor(here, run):
    add(here, phase="codegen", message="a\x1b[2Jb", actor="A\nB")
    _, out, _ = run("history", "T1")
    assert "\\x1b[2J" in out and "A B" in out and len(out.splitlines()) == 1


def test_events_name_each_record_and_the_end_of_a_loop(here, run):
    queue, gates = [], {"tests": {"status": "passed"}}
    state = {"status": "complete", "phase": "evaluate", "consecutivePasses": 2, "metrics": {"tasks": 4}}
    folder = loop(here, **state, workQueue=queue, gates=gates).relative_to(here).as_posix()
    add(here, folder, kind="start", workflow="phase-loop")
    add(here, folder, phase="quality", iteration=1)
    _, out, _ = run("history", folder, "--events")
    assert [line.split("  ")[1] for line in out.splitlines()] == [
        "session.started", "loop.iteration.start", "loop.phase.complete", "loop.iteration.complete",
        "loop.complete", "session.ended",
    ]  # fmt: skip
    assert "tasks" in out.splitlines()[-1]


def test_terms_of_other_workflows_stand_beside_the_events(here, run):
    folder = plan(here, "P1", 1).relative_to(here).as_posix()
    add(here, folder, phase="4b", outcome="fail")
    _, out, _ = run("history", "P1", "--events")
    assert out.rstrip().endswith(
        'loop.phase.error  phase "4b", result "fail", error "fail"  [PHASE GATE STATUS: FAIL]'
    )


def test_json_has_the_records_their_lines_and_the_problems(here, run):
    add(here, phase="codegen", message="ü")
    data = json.loads(run("history", "T1", "--json")[1])
    [entry] = data["records"]
    assert (data["workflow"], data["broken"], data["problems"]) == ("artifact-pipeline", False, [])
    assert (entry["line"], entry["phase"], entry["message"], "events" in entry) == (1, "codegen", "ü", False)
    data = json.loads(run("history", "T1", "--json", "--events")[1])
    assert data["records"][0]["events"][0]["event"] == "loop.phase.complete"
    assert data["closing"] == []


def test_a_run_without_records_says_so(here, run):
    assert run("history", "T1") == (0, "", f"phasekeeper: {RUN} has no records that count\n")


def test_a_torn_line_is_told_and_the_others_are_shown(here, run):
    add(here, phase="codegen")
    with (here / JOURNAL).open("a") as file:
        file.write('{"kind": "rep')
    code, out, err = run("history", "T1")
    assert (code, len(out.splitlines())) == (0, 1)
    assert f"{JOURNAL}:2: journal-torn: cut off while it was written; the next write cuts it off" in err


def test_a_forked_journal_is_told_with_the_command_that_mends_it(here, run):
    add(here, phase="planning")
    before = (here / JOURNAL).read_text()
    add(here, phase="codegen", message="left")
    left = (here / JOURNAL).read_text()
    (here / JOURNAL).write_text(before)
    add(here, phase="codegen", message="right")
    (here / JOURNAL).write_text(left + (here / JOURNAL).read_text()[len(before) :])
    code, out, err = run("history", "T1")
    assert (code, len(out.splitlines())) == (0, 2)
    assert "journal-forked" in err and f"`phasekeeper repair {RUN}` links the branches together" in err


def test_a_journal_that_cannot_be_trusted_is_refused_and_told(here, run):
    put(here / JOURNAL, '<<<<<<< ours\n{"kind": "report"}\n')
    code, out, err = run("history", "T1")
    assert (code, out) == (1, "")
    assert "journal-invalid" in err and f"`phasekeeper repair {RUN} --drop-bad-lines`" in err
    assert json.loads(run("history", "T1", "--json")[1])["problems"][0]["line"] == 1


def test_a_journal_that_is_no_text_is_refused_and_told(here, run):
    (here / JOURNAL).parent.mkdir()
    (here / JOURNAL).write_bytes(b"\xff\xfe\x00")
    code, _, err = run("history", "T1")
    assert code == 1 and JOURNAL in err


def test_a_decision_that_nobody_proved_is_told_and_not_shown(here, run):
    put(here / JOURNAL, json.dumps({"kind": "answer", "question": "x", "option": "y", "why": "z"}) + "\n")
    code, out, err = run("history", "T1")
    assert (code, out) == (0, "") and "decision-unverified" in err


def test_escalations_are_printed_as_markdown(here, run):
    loop(here)
    code, out, err = run("escalations", "--markdown")
    assert (code, err) == (0, "")
    assert out.startswith("## Escalation Required\n\n**Run**: .claude/state\n**Phase**: plan (Plan)\n")
    assert "**User decision required to proceed.**" in out


def test_without_escalations_nothing_is_printed_and_that_is_said(here, run):
    assert run("escalations", "--markdown") == (0, "", "phasekeeper: no escalation is open\n")
