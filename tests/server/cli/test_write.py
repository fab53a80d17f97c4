"""The writing commands: what they print, how they end, and that no way leads around a person."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from phasekeeper.server.cli import output
from phasekeeper.server.cli.commands import write
from phasekeeper.server.store import lock
from phasekeeper.server.version import VERSION

from tests.cli_walkthroughs.driver import Drive
from tests.roots import needs

RUN = ".ai-tools-chain/tasks/T1"
PLANNED = """\
workflow: planned
runs: {at: [work/*], marker: {file: PLAN.md}}
artifacts: {plan: {paths: [PLAN.md], kind: master-plan}}
phase: [{is: do}]
phases:
  do:
    tasks: "tasks({'done': false})"
    rules: [{when: "report.outcome == 'error' && answers.go_on == 'none'", ask: go_on}]
questions: {go_on: {kind: approval, ask: Go on?, options: {"yes": go on, "no": stop}}}
effects: {answer.go_on: {file: log.txt, append: report.option}}
"""
PLAN = """# Feature - Master Plan

## Phase 1: First (1h)

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 1 | f-01 | `01-a.md` | Do it | impl | [ ] |
| 2 | f-02 | `02-b.md` | Do more | impl | [ ] |
"""


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drive:
    return Drive(tmp_path, monkeypatch)


@pytest.fixture
def planned(drive: Drive) -> Drive:
    """Two runs with tasks and a question."""
    drive.write(".phasekeeper/workflows/planned.yaml", PLANNED)
    for run in ("one", "two"):
        drive.write(f"work/{run}/PLAN.md", PLAN)
        drive.write(f"work/{run}/01-a.md", "# a\n")
        drive.write(f"work/{run}/02-b.md", "# b\n")
    return drive


def test_a_run_is_started_and_reported_on(drive: Drive) -> None:
    result = drive.do("start", "artifact-pipeline", "T1", "--title", "Late fees")
    assert result.out.startswith(f"started {RUN}\n") and "Late fees" in result.out
    drive.write(f"{RUN}/planning/planning.ai.json", {"id": "T1", "brief": "b"})
    result = drive.do("report", "T1", "planning", "ok", "--summary", "planned", "--json")
    assert json.loads(result.out)["currentPhase"] == "plan_review"
    assert drive.json(f"{RUN}/state.json")["phase"] == "plan_review"
    record = drive.records(RUN)[-1]
    assert (record["message"], record["actor"], record["channel"]) == (
        "planned",
        "Ada <ada@example.org>",
        "cli",
    )


def test_a_second_start_and_a_bad_name_write_nothing(drive: Drive) -> None:
    drive.start("artifact-pipeline", "T1")
    assert "exists already" in drive.wrong("start", "artifact-pipeline", "T1")
    assert "is no name for a run" in drive.wrong("start", "artifact-pipeline", "../T1")


def test_a_report_out_of_turn_says_why_and_whose_turn_it_is(drive: Drive) -> None:
    drive.start("artifact-pipeline", "T1")
    said = drive.refused("report", RUN, "test", "ok")
    assert "test may not be reported now" in said and "it is the turn of planning" in said


def test_data_of_a_report_comes_from_a_file_or_from_standard_input(drive: Drive) -> None:
    run = drive.start("skill-tuning", "S1")
    step = drive.suggestion(run)[1] or ""
    updates = (
        '{"stateUpdates": {"target_skill.name": "x", "target_skill.path": "skills/x", '
        '"user_issue_description": "slow", "max_iterations": 9}}'
    )
    told = drive.do("report", run, step, "ok", "--data", "-", stdin=updates).out
    assert drive.json(f"{run}/state.json")["target_skill"]["name"] == "x"
    assert f"recorded: {step} ok; left out: the report of {step}" in told and "max_iterations" in told
    assert drive.json(f"{run}/state.json")["max_iterations"] == 5
    drive.write("list.json", "[]")
    assert "must be a JSON object" in drive.wrong("report", run, step, "ok", "--data", "list.json")
    assert "--data nowhere: no such file" in drive.wrong("report", run, step, "ok", "--data", "nowhere")
    assert "has no phase or action 'tow'" in drive.wrong("report", run, "tow", "ok")
    assert "--data -" in drive.wrong("report", run, step, "ok", "--data", "-", stdin="{")


# ---- who decides ------------------------------------------------------------------------------

DECISIONS = (
    ("override", "one", "--to", "do", "--reason", "r"),
    ("answer", "one", "go_on", "yes", "--reason", "r"),
    ("resolve", "one", "go_on", "yes", "--reason", "r"),
    ("approve", "one", "--reason", "r"),
)


@pytest.mark.parametrize("command", DECISIONS, ids=lambda command: command[0])
def test_no_decision_is_made_without_a_terminal(
    planned: Drive, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    planned.do("report", "one", "do", "error")
    for name in ("PHASEKEEPER_YES", "PHASEKEEPER_CONFIRM", "CI", "FORCE"):
        monkeypatch.setenv(name, "1")
    assert "run this command on a terminal" in planned.refused(*command, stdin="work/one\n")
    for flag in ("--yes", "--force", "-y", "--no-input", "--confirm"):
        planned.wrong(*command, flag, stdin="work/one\n")


def test_a_person_decides_by_typing_the_runs_name(planned: Drive) -> None:
    planned.do("report", "one", "do", "error")
    before = planned.files()
    wrong = planned.decide("answer", "one", "go_on", "no", "--reason", "late", typed="two")
    assert wrong.code == 1 and "the name typed was another" in wrong.err
    assert {path: raw for path, raw in planned.files().items() if path in before} == before
    made = planned.decide("answer", "one", "go_on", "no", "--reason", "late")
    assert made.code == 0 and "Go on?" in made.err and "answered: go_on no" in made.out
    record = planned.records("work/one")[-1]
    assert (record["option"], record["why"], record["channel"]) == ("no", "late", "terminal")
    assert record["program"] == f"phasekeeper {VERSION}"
    assert record["actor"] == "Ada <ada@example.org>" and record["mac"]
    assert planned.text("work/one/log.txt") == "no\n"
    assert planned.questions("work/one") == []


def test_a_decision_is_signed_with_an_ssh_key_where_head_asks_for_it(planned: Drive) -> None:
    key = planned.root.parent / "ada"
    words = ["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(key)]
    subprocess.run([needs("ssh-keygen"), *words], check=True)
    planned.do("report", "one", "do", "error")
    chosen = ("answer", "one", "go_on", "no", "--reason", "late", "--key", str(key))
    assert "--key is for repositories whose commit HEAD has" in planned.decide(*chosen).err
    planned.write(".phasekeeper/config.yaml", "decide: {ssh: true}\n")
    planned.write(".phasekeeper/allowed_signers", f"ada@example.org {key.with_suffix('.pub').read_text()}")
    for git in (("init", "-q"), ("add", ".phasekeeper"), ("commit", "-q", "-m", "signers")):
        subprocess.run([needs("git"), *git], cwd=planned.root, check=True, capture_output=True)
    assert "no SSH key is known to sign with: --key FILE" in planned.decide(*chosen[:-2]).err
    assert planned.decide(*chosen).code == 0
    record = planned.records("work/one")[-1]
    assert (record["option"], "mac" in record, bool(record["signature"])) == ("no", False, True)
    assert planned.questions("work/one") == []


def test_an_approval_takes_the_first_option_of_the_only_one_that_is_open(planned: Drive) -> None:
    assert "none is open" in planned.wrong("approve", "one", "--reason", "r")
    planned.do("report", "one", "do", "error")
    said = planned.wrong("approve", "one", "nought", "--reason", "r")
    assert "no such approval to give; open questions: go_on" in said
    assert planned.decide("approve", "one", "--reason", "r").code == 0
    assert planned.records("work/one")[-1]["option"] == "yes"


@pytest.mark.parametrize("reason", [(), ("--reason", ""), ("--reason", " \t")])
def test_a_decision_needs_a_reason(planned: Drive, reason: tuple[str, ...]) -> None:
    planned.do("report", "one", "do", "error")
    for command in (("answer", "one", "go_on", "yes"), ("approve", "one"), ("override", "one", "--to", "do")):
        assert "a decision needs a reason" in planned.wrong(*command, *reason)


def test_questions_and_options_that_are_not_open_are_named(planned: Drive) -> None:
    planned.do("report", "one", "do", "error")
    assert "open are: go_on" in planned.wrong("answer", "one", "nought", "yes", "--reason", "r")
    assert "it has yes, no" in planned.wrong("answer", "one", "go_on", "maybe", "--reason", "r")


def test_adopt_names_a_run_or_all(planned: Drive) -> None:
    assert "name a run, or --all" in planned.wrong("adopt", "--reason", "r")
    assert "no run waits to be adopted" in planned.wrong("adopt", "--all", "--reason", "r")


# ---- claims -----------------------------------------------------------------------------------


def test_who_gives_a_task_back_types_any_name_of_the_run(
    planned: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    def typed(_said: object, name: str, *, is_name: Callable[[str], bool]) -> None:
        assert name == "one" and is_name("one") and is_name("work/one")
        assert not is_name("two") and not is_name("")

    planned.do("claim", "one", "01", "--as", "ann")
    monkeypatch.setattr(write, "confirm", typed)
    assert "f-01 is released" in planned.do("release", "one", "01").out


def test_two_agents_never_take_the_same_task(planned: Drive) -> None:
    claimed = json.loads(planned.do("claim", "one", "01", "--as", "ann", "--json").out)
    assert (claimed["task"], claimed["actor"], claimed["seq"]) == ("f-01", "ann", 1)
    token = claimed["token"]
    for who in ("bob", "ann"):
        assert "f-01 is claimed by ann" in planned.refused("claim", "one", "01", "--as", who)
        for more in ((), ("--token", "1"), ("--token", "ann")):
            said = planned.refused("report", "one", "do", "ok", "--task", "01", "--as", who, *more)
            assert "f-01 is claimed by ann" in said and token not in said
        assert "f-01 is claimed by ann" in planned.refused("release", "one", "01", "--token", "x")
        assert "run this command on a terminal" in planned.refused("release", "one", "01", "--as", who)
    assert "f-01 is yours until" in planned.do("claim", "one", "01", "--as", "ann", "--token", token).out
    planned.do("report", "one", "do", "ok", "--task", "01", "--as", "ann", "--token", token)
    assert "f-01 is released" in planned.do("release", "one", "01", "--token", token).out
    assert "f-01 was not claimed" in planned.do("release", "one", "01").out
    late = ("report", "one", "do", "ok", "--task", "01", "--as", "ann", "--token", token)
    assert "the claim on f-01 has ended" in planned.refused(*late)


def test_a_person_releases_a_task_whose_token_is_lost(planned: Drive) -> None:
    planned.do("claim", "one", "01", "--as", "ann")
    released = planned.decide("release", "one", "01")
    assert released.code == 0 and "f-01 is released" in released.out
    planned.do("claim", "one", "01", "--as", "bob")


def test_a_claim_says_when_it_ends_and_what_cannot_be_claimed(planned: Drive) -> None:
    assert "f-02 is yours until" in planned.do("claim", "one", "f-02", "--as", "ann").out
    assert "'nought' is no task of work/one; known: " in planned.wrong(
        "claim", "one", "nought", "--as", "ann"
    )
    for ttl in ("0", "-1", "99999999"):
        assert "a claim needs" in planned.wrong("claim", "one", "f-01", "--as", "ann", "--ttl", ttl)
    said = planned.refused("report", "one", "do", "ok", "--task", "01", "--token", "1")
    assert "the claim on f-01 has ended" in said


def test_a_command_that_waits_for_another_writer_says_for_whom_and_until_when(
    planned: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "TOLD_AFTER_S", 0.01)
    is_held, is_told = threading.Event(), threading.Event()
    tell = output.print_errors

    def print_errors(lines: Iterable[str]) -> None:
        tell(lines)
        is_told.set()

    def hold() -> None:
        with lock.run_lock(planned.root, "work/one"):
            is_held.set()
            is_told.wait(60)

    monkeypatch.setattr(output, "print_errors", print_errors)
    holder = threading.Thread(target=hold)
    holder.start()
    is_held.wait(60)
    result = planned.do("claim", "work/one", "f-01", "--as", "ann")
    holder.join(60)
    assert is_told.is_set()
    said = rf"phasekeeper: work/one is being written by process {os.getpid()} on .* since .*: "
    said += r"waited for 0.01 s, and for up to 9.99 s more, until \d\d:\d\d:\d\d\n"
    assert re.fullmatch(said, result.err)
