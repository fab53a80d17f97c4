"""Commands, exit codes, JSON shapes, and what is said when something was called wrongly."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from phasekeeper.orchestration.findings import Problem
from phasekeeper.server.cli import catalog, output
from phasekeeper.server.cli.commands import read
from phasekeeper.server.disk.disk_files import DiskFiles

from tests.roots import EXAMPLES, TASKS, loop, plan, put, task

PLANS = ".orchestrator/tasks"


@pytest.fixture
def here(root, monkeypatch):
    monkeypatch.chdir(root)
    return root


BROKEN = """\
workflow: own
runs: {at: [own/*], marker: {file: state.json, has: [phase]}}
state: {file: state.json}
phase: state.phase
phases: {a: {rulez: []}}
"""
FINE = """\
extend: artifact-pipeline
workflow: fine
"""
OWN = """\
extend: artifact-pipeline
workflow: own
title: Ours
runs: {at: [own/*], marker: {file: state.json, has: [phase]}}
"""


# ---- what is shown ----------------------------------------------------------------------------


def test_status_says_of_each_run_where_it_stands_and_what_is_next(here, run):
    task(here, "T1")
    task(here, "T2", ok=False)
    code, out, err = run("status")

    assert (code, err) == (0, "")
    assert out.splitlines()[:4] == [
        f"{TASKS}/T1  active",
        "  artifact-pipeline",
        "  phase: plan_review (Review the plan)",
        "  next: go on to codegen: plan-review.ok === true and no blocking issues",
    ]
    assert "  gate plan-review failed" in out
    assert out.endswith("\n2 runs, 2 active\n")


def test_status_has_a_line_for_each_run(here, run):
    task(here, "T1")
    task(here, "T2", ok=False)
    code, out, err = run("status", "--oneline")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"{TASKS}/T1  active plan_review  go on to codegen: plan-review.ok === true and no blocking issues",
        f"{TASKS}/T2  active plan_review  go back to planning: the plan review blocks the plan",
    ]


def test_status_has_those_alone_that_wait_for_a_person(here, run):
    task(here, "T1")
    assert run("status", "--waiting") == (0, "", "phasekeeper: no run waits for a person\n")
    loop(here)
    code, out, _ = run("status", "--waiting", "--oneline")
    assert (code, [line.split()[0] for line in out.splitlines()]) == (0, [".claude/state"])
    assert [each["run"] for each in json.loads(run("status", "--waiting", "--json")[1])["runs"]] == [
        ".claude/state"
    ]


def test_status_without_runs_says_what_was_looked_at_and_what_to_do(here, run):
    (here / TASKS / "empty").mkdir(parents=True)
    code, out, err = run("status")

    assert (code, out) == (0, "")
    assert f"no run was found in {here}" in err
    assert f"  {TASKS}/empty is no artifact-pipeline run: it has no state.json" in err
    assert "by `projects` in .phasekeeper/config.yaml" in err
    assert "`phasekeeper demo`" in err


def test_status_without_runs_says_whose_folders_are_here(here, run):
    (here / ".specify" / "memory").mkdir(parents=True)
    (here / "docs").mkdir()
    err = run("status")[2]

    assert (
        "  .specify is here, and no work of spec-kit is yet: it would be at specs/[0-9][0-9][0-9]*, " in err
    )
    assert "docs is here" not in err
    assert ".specify is here" in run("init")[1]


def test_status_as_json_holds_the_runs_in_order_of_their_paths(here, run):
    task(here, "T2")
    task(here, "T1")
    loop(here)
    code, out, _ = run("status", "--json")
    data = json.loads(out)

    assert code == 0
    assert list(data) == ["root", "runs"]
    assert data["root"] == str(here)
    assert [e["run"] for e in data["runs"]] == [f"{TASKS}/T1", f"{TASKS}/T2", ".claude/state"]


def test_next_names_step_reason_evidence_and_what_has_to_wait(here, run):
    task(here, "T1", ok=False)
    code, out, _ = run("next")

    assert code == 0
    assert "  next: go back to planning: the plan review blocks the plan" in out
    assert f"= false  {TASKS}/T1/review/plan-review.json:1:8" in out
    assert "  who: planner" in out
    assert "  not now: " in out
    assert out.count("(phases are not skipped)") == 1


def test_next_of_one_run_as_json_is_its_evaluation_and_of_all_a_list(here, run):
    task(here, "T1")
    task(here, "T2")

    assert json.loads(run("next", "--json", "--run", "T2")[1])["run"] == f"{TASKS}/T2"
    assert json.loads(run("next", "--json", f"{TASKS}/T1/review")[1])["run"] == f"{TASKS}/T1"
    assert list(json.loads(run("next", "--json")[1])) == ["root", "runs"]
    assert list(json.loads(run("next", "--json", TASKS)[1])) == ["root", "runs"]


def test_next_as_json_lists_the_tasks_at_hand_and_with_plan_all_of_them(here, run):
    plan(here, "lists", 60, done=25)

    short = json.loads(run("next", "--json", "--run", "lists")[1])
    whole = json.loads(run("next", "--json", "--plan", "--run", "lists")[1])

    every = {task["id"]: task for stage in whole["plan"]["stages"] for task in stage["tasks"]}
    listed = {task["id"]: task for stage in short["plan"]["stages"] for task in stage["tasks"]}
    named = {*short["suggestion"]["tasks"], *(t for batch in short["suggestion"]["parallel"] for t in batch)}
    assert listed == {name: every[name] for name in named} != {}
    assert (short["plan"].pop("whole"), whole["plan"].pop("whole"), len(every)) == (False, True, 60)
    for stage in (*short["plan"]["stages"], *whole["plan"]["stages"]):
        del stage["tasks"]
    assert short == whole
    assert short["progress"] == {"done": 25, "total": 60}


def test_a_task_that_somebody_claimed_is_listed_without_the_plan(here, run):
    plan(here, "lists", 3, done=1)
    assert run("claim", "lists", "lists-2", "--as", "ann")[0] == 0

    answer = json.loads(run("next", "--json", "--run", "lists")[1])

    [stage] = answer["plan"]["stages"]
    assert "lists-2" not in answer["suggestion"]["tasks"]
    assert ("lists-2", "ann") in [(task["id"], task["claimedBy"]) for task in stage["tasks"]]


def test_an_open_gate_says_what_it_will_allow_once_it_passes(here, run):
    plan(here, "lists", 3, done=1)
    _, out, _ = run("gates")

    assert "  gate 1  open" in out
    assert "    not met: every implementer of the stage has returned" in out
    assert "    allowed once it passes: 4b" in out
    assert "    allowed: 4b" not in out


def test_questions_show_their_options_and_escalations_only_theirs(here, run):
    loop(here)
    _, asked, _ = run("questions")
    _, escalated, _ = run("escalations")

    assert "  asks severe:" in asked
    assert "    stop: stop the loop" in asked
    assert escalated == asked
    task(here, "T1")
    assert "  nothing is asked" in run("questions", "--run", "T1")[1]


def test_a_part_as_json_names_run_and_revision(here, run):
    task(here, "T1")
    [entry] = json.loads(run("gates", "--json")[1])["runs"]

    assert list(entry) == ["root", "run", "revision", "gates"]
    assert entry["gates"][0]["status"] == "passed"


def test_explain_marks_the_rule_that_decided(here, run):
    task(here, "T1")
    _, out, _ = run("explain")
    [decided] = [line for line in out.splitlines() if line.startswith("  > ")]

    assert decided.startswith("  > phases.plan_review.rules[1]  true")
    looked = json.loads(run("explain", "--json")[1])["runs"][0]["looked"]
    assert [entry["where"] for entry in looked if entry["decided"]] == ["phases.plan_review.rules[1]"]


def test_explain_says_what_the_other_rules_would_have_led_to(here, run):
    task(here, "T1")
    lines = [line.strip() for line in run("explain")[1].splitlines()]

    assert "phases.plan_review.rules[0]  false  to planning: the plan review blocks the plan" in lines


def test_the_transcript_in_the_readme_is_what_is_printed(run, monkeypatch):
    monkeypatch.chdir(EXAMPLES)
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    # The first one is replayed with its tests, in `cli_walkthroughs/test_measured_gates.py`.
    [_, shown] = re.findall(r"^```console\n(.*?)^```$", readme, flags=re.M | re.S)
    calls = [call.partition("\n") for call in shown.split("$ phasekeeper ")[1:]]
    assert [command for command, _, _ in calls] == ["status", "next late-fees"]
    for command, _, lines in calls:
        out = run(*command.split())[1]
        for paragraph in lines.strip().split("\n\n"):
            assert paragraph + "\n" in out


# ---- the commands that come next --------------------------------------------------------------


def test_next_says_how_the_step_is_reported_and_what_the_file_may_look_like(here, run):
    task(here, "T1")
    lines = [line.strip() for line in run("next")[1].splitlines()]

    place = lines.index(f"report: phasekeeper report {TASKS}/T1 codegen ok")
    assert lines[place + 1] == "in place of ok: error"
    assert "also in turn: plan_review" in lines
    assert f"produce: {TASKS}/T1/code/diff.patch, like this:" in lines
    assert "\n\n--- a/src/flag.py\n+++ b/src/flag.py\n" in run("next")[1]
    put(here / TASKS / "T1/state.json", {"phase": "planning"})
    (here / TASKS / "T1/review/plan-review.json").unlink()
    form = '{"ok": <true or false>, "issues": ['
    assert f"produce: {TASKS}/T1/review/plan-review.json, like {form}" in run("next")[1]


def test_a_question_comes_with_the_command_that_answers_it(here, run):
    loop(here)
    [asked] = json.loads(run("questions", "--json")[1])["runs"][0]["questions"]
    options = ", ".join(option["id"] for option in asked["options"])
    said = f'    decide: phasekeeper answer .claude/state {asked["id"]} OPTION --reason "why"'

    for words in (["questions"], ["escalations"], ["next"]):
        assert f"{said}\n      OPTION is {options}\n" in run(*words)[1]


def test_a_command_for_another_root_names_it(here, run, tmp_path_factory, monkeypatch):
    task(here, "T 1")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    around = os.path.relpath(here)
    for words, where in (((here,), here), (("--root", around), around)):
        [line] = [line for line in run("next", *words)[1].splitlines() if line.startswith("  report: ")]
        called = shlex.split(line.removeprefix("  report: phasekeeper "))[:6]
        assert called == ["report", f"{TASKS}/T 1", "codegen", "ok", "--root", str(where)]
        assert run(*called)[0] == 1  # refused for what is missing: the command found its run


def test_data_that_a_report_carries_is_shown_by_an_example(run):
    words = ("next", EXAMPLES / ".workflow", "--root", EXAMPLES)
    lines = [line.strip() for line in run(*words)[1].splitlines()]

    said = "the FILE of --data (- for standard input) is JSON as this, with what is true: "
    [data] = [line for line in lines if line.startswith(said)]
    assert "stateUpdates" in json.loads(data.removeprefix(said))
    [report] = [line for line in lines if line.startswith("report: ")]
    assert "action-apply-fix ok" in report
    assert "--data FILE" in report


# ---- what is called wrongly -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["staus"], "'staus'; did you mean status or trust? `phasekeeper --help` lists them all"),
        (["workflow", "lst"], "'lst'; did you mean list? `phasekeeper workflow --help` lists them all"),
        (["zzz"], "'zzz'; `phasekeeper --help` lists them all"),
        (["a\x1b[31m"], "'a\\x1b[31m'; `phasekeeper --help` lists them all"),
    ],
)
def test_a_command_there_is_not_gets_one_sentence_with_the_one_that_was_meant(run, words, said):
    assert run(*words) == (2, "", f"phasekeeper: there is no command {said}\n")


@pytest.mark.parametrize(
    ("words", "command", "said"),
    [
        (["status", "--jsn"], "status", "there is no option '--jsn'; did you mean --json?"),
        (["answer", "r", "q", "--option=yes"], "answer", "there is no option '--option';"),
        (["workflow", "lint", "--x\x1b[31m", "f"], "workflow lint", "there is no option '--x\\x1b[31m';"),
        (["status", "a", "b c", "d"], "status", "one word too many, 'b c';"),
        (["--no"], "", "there is no option '--no';"),
    ],
)
def test_a_word_that_a_command_has_no_use_for_is_refused_with_its_own_usage(run, words, command, said):
    code, out, error = run(*words)
    program = f"phasekeeper {command}".strip()
    assert (code, out) == (2, "")
    assert error.startswith(f"usage: {program} [-h] ")
    assert error.endswith(f"\n{program}: {said} `{program} --help` shows what it takes\n")


def test_what_is_wrong_with_the_root_is_told_beside_json_too(here, run):
    task(here, "T1")
    put(here / ".phasekeeper/config.yaml", "projects: [nowhere/*]\n")
    for words in (["status"], ["next"], ["gates"], ["explain"]):
        assert "projects: 'nowhere/*' fits no folder" in run(*words, "--json")[2]


# ---- what is there and is not read ------------------------------------------------------------


def test_what_is_there_and_is_not_read_is_never_taken_for_absent(here, run, tmp_path_factory):
    outside = put(tmp_path_factory.mktemp("outside") / "x.md", "**PHASE GATE STATUS**: FAIL\n")
    for path in (f"{TASKS}/T1/state.json", f"{TASKS}/T2/planning/plan.files.json", f"{PLANS}/b/reports/9.md"):
        (here / path).parent.mkdir(parents=True, exist_ok=True)
        (here / path).symlink_to(outside)
    task(here, "T2")
    plan(here, "a", 1)
    plan(here, "b", 1)
    (here / PLANS / "a/MASTER_PLAN.md").unlink()
    (here / PLANS / "a/MASTER_PLAN.md").symlink_to(outside)
    os.mkfifo(put(here / TASKS / "T3/x", "").with_name("state.json"))

    runs = {each["run"]: each for each in json.loads(run("status", "--json")[1])["runs"]}
    assert {name: each["statusReason"] for name, each in runs.items() if each["status"] == "invalid"} == {
        f"{TASKS}/T1": f"{TASKS}/T1/state.json is unreadable",
        f"{TASKS}/T3": f"{TASKS}/T3/state.json is unreadable",
        f"{PLANS}/a": f"{PLANS}/a/MASTER_PLAN.md is unreadable; nobody can tell the phase without it",
        f"{PLANS}/b": f"{PLANS}/b/reports/9.md cannot be read; it may hold a failure",
    }
    gates = {gate["id"]: gate["criteria"] for gate in runs[f"{TASKS}/T2"]["gates"]}
    assert [criterion["met"] for criterion in gates["scope"]] == [None]
    assert run("check")[0] == 1


PLAIN = f"{PLANS}/p"
STANDS_FOR_A_FILE = (
    ".phasekeeper/config.yaml",
    ".phasekeeper/workflows/own.yaml",
    f"{TASKS}/T1/state.json",
    f"{TASKS}/T1/planning/plan.files.json",
    f"{TASKS}/T1/.phasekeeper/journal.jsonl",
    f"{TASKS}/T1/.phasekeeper/claims.jsonl",
    f"{PLAIN}/MASTER_PLAN.md",
    f"{PLAIN}/00001-step.md",
    f"{PLAIN}/reports/1.md",
)


@pytest.mark.parametrize("kind", ["folder", "pipe", "dangling link", "link to itself"])
@pytest.mark.parametrize("path", STANDS_FOR_A_FILE)
def test_what_stands_in_a_files_place_is_told_at_its_path(here, run, path, kind):
    task(here, "T1")
    plan(here, "p", 1)
    place = here / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    if kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("nowhere" if kind == "dangling link" else place.name)
    code, out, err = run("check")
    assert place.name in out + err
    assert code != 0


# ---- which runs -------------------------------------------------------------------------------


def shown(out: str) -> list[str]:
    return [line.split("  ")[0] for line in out.splitlines() if line and line[0] not in " 0123456789"]


def test_a_path_inside_a_run_means_that_run_and_one_above_runs_means_those(here, run):
    task(here, "T1")
    task(here, "T2")
    loop(here)

    assert shown(run("status", f"{TASKS}/T2/review/plan-review.json")[1]) == [f"{TASKS}/T2"]
    assert shown(run("status", ".ai-tools-chain")[1]) == [f"{TASKS}/T1", f"{TASKS}/T2"]
    (here / "src").mkdir()
    assert len(shown(run("status", "src")[1])) == 3


def test_a_path_that_is_not_there_may_be_the_name_of_a_run(here, run):
    """Commands that write take a run's name; who types it for one that reads means the same."""
    task(here, "T1")
    task(here, "T2")
    assert json.loads(run("next", "T1", "--json")[1])["run"] == f"{TASKS}/T1"
    assert shown(run("status", "tasks/T2")[1]) == [f"{TASKS}/T2"]
    said = refused(run("next", "T3"))
    assert "'T3' is no file or folder, and there is no run 'T3'; did you mean" in said


def test_the_folder_one_stands_in_selects_like_a_path(here, run, monkeypatch):
    task(here, "T1")
    task(here, "T2")
    monkeypatch.chdir(here / TASKS / "T2/review")

    assert shown(run("status")[1]) == [f"{TASKS}/T2"]
    assert shown(run("status", "--root", here)[1]) == [f"{TASKS}/T1", f"{TASKS}/T2"]
    assert run("check")[1].endswith("1 run\n")


def test_runs_of_projects_are_shown_and_named_from_the_root(here, run):
    put(here / ".phasekeeper/config.yaml", "projects: [packages/*]\n")
    task(here / "packages/a", "T1")
    task(here / "packages/b", "T1", ok=False, phase="nowhere")
    task(here, "T0")

    names = [f"{TASKS}/T0", f"packages/a/{TASKS}/T1", f"packages/b/{TASKS}/T1"]
    assert shown(run("status")[1]) == names
    assert shown(run("status", "packages")[1]) == names[1:]
    assert shown(run("next", "--run", f"a/{TASKS}/T1")[1])[:1] == names[1:2]
    code, out, _ = run("check")
    assert code == 1
    assert out.startswith(f"packages/b/{TASKS}/T1/state.json:1:11: error unknown-phase: ")
    runs = json.loads(run("status", "--json")[1])["runs"]
    assert [(e["root"], e["run"]) for e in runs][1] == (str(here / "packages/a"), f"{TASKS}/T1")


# ---- exit codes -------------------------------------------------------------------------------


def test_next_tells_going_on_from_waiting_and_refusing(here, run):
    task(here, "T1")
    assert run("next")[0] == 0
    loop(here)
    assert run("next")[0] == 3
    assert run("next", "--run", "T1")[0] == 0
    task(here, "T2", phase="nowhere")
    assert run("next", "--run", "T2")[0] == 1
    assert run("next")[0] == 1
    assert run("next", "--json")[0] == 1


def test_can_answers_yes_no_or_not_before_a_person_answers(here, run):
    task(here, "T1")
    loop(here)

    assert run("can", "T1", "codegen")[:2] == (0, "yes: plan-review.ok === true and no blocking issues\n")
    assert run("can", "T1", "test")[:2] == (1, "no: phases are not skipped\n")
    assert run("can", "state", "evaluate")[0] == 3
    data = json.loads(run("can", "T1", "test", "--json")[1])
    assert list(data) == ["root", "run", "revision", "step", "allowed", "because", "gate"]


def test_check_fails_on_errors_and_on_failed_gates_only_when_asked(here, run):
    task(here, "T1")
    assert run("check")[:2] == (0, "1 run\n")
    task(here, "T1", ok=False)
    assert run("check")[0] == 0
    code, out, _ = run("check", "--gates")
    assert (code, out) == (1, f"1 run, failed gates: plan-review of {TASKS}/T1\n")
    task(here, "T2", phase="nowhere")
    assert run("check")[0] == 1


def test_check_waits_for_a_person_unless_that_is_allowed(here, run):
    loop(here)
    assert run("check")[0] == 3
    assert run("check", "--allow", "waiting")[0] == 0
    task(here, "T2", phase="nowhere")
    assert run("check", "--allow", "waiting")[0] == 1


@pytest.mark.parametrize("form", ["json", "sarif", "github"])
def test_the_exit_code_of_check_is_the_same_in_every_format(here, run, form):
    task(here, "T2", phase="nowhere")
    code, out, _ = run("check", "--format", form)

    assert code == 1
    assert "unknown-phase" in out


@pytest.mark.parametrize("command", ["status", "gates", "questions", "escalations", "explain"])
def test_commands_that_only_show_do_not_fail_on_what_they_show(here, run, command):
    loop(here)
    task(here, "T2", phase="nowhere")

    assert run(command)[0] == 0
    assert run(command, "--json")[0] == 0


def test_hints_are_shown_when_asked_for(here, run):
    folder = task(here, "T1")
    put(folder / "plan.files.json", "{}")
    put(folder / ".phasekeeper/journal.jsonl", '{"seq": 1, "kind": "sta')

    assert "hint" not in run("check")[1]
    assert ": hint journal-torn: " in run("check", "--hints")[1]


# ---- called wrongly ---------------------------------------------------------------------------


def refused(result: tuple[int, str, str]) -> str:
    code, out, err = result
    assert (code, out) == (2, "")
    assert err.startswith("phasekeeper: ")
    assert err.count("\n") == 1
    return err


def test_a_path_that_does_not_exist_is_one_sentence(here, run):
    assert "'../nowhere' does not exist" in refused(run("status", "../nowhere"))


def test_a_root_that_is_no_folder_is_one_sentence(here, run):
    put(here / "file", "")
    assert "--root 'file' is no folder" in refused(run("check", "--root", "file"))
    assert "--root 'gone' is no folder" in refused(run("workflow", "list", "--root", "gone"))


def test_a_root_that_cannot_be_read_is_one_sentence(here, run, monkeypatch):
    def refuse(self: DiskFiles, folder: str) -> dict:
        self.unlisted_folders[folder] = Problem("artifact-unreadable", "permission denied")
        return {}

    monkeypatch.setattr(DiskFiles, "list", refuse)
    assert "cannot be read: permission denied; name another root" in refused(run("status"))


def test_an_unknown_run_names_the_nearest(here, run):
    task(here, "late-fees")
    assert f"did you mean {TASKS}/late-fees?" in refused(run("next", "--run", "lat-fees"))


def test_an_ambiguous_tail_names_all_that_fit(here, run):
    task(here, "T1")
    put(here / ".ai-tools-chain/task/T1/state.json", {"phase": "planning"})
    assert ".ai-tools-chain/task/T1, .ai-tools-chain/tasks/T1" in refused(run("can", "T1", "codegen"))


def test_whether_a_file_may_be_written_is_told_like_a_step(here, run):
    task(here, "T1")
    code, out, _ = run("can", "T1", "--write", f"{TASKS}/T1/accept/decision.json")
    assert (code, out.startswith("no: it holds a person's decision\ninstead: ask for it with")) == (1, True)
    assert run("can", "T1", "--write", "src/a.py") == (0, "yes: this run says nothing against it\n", "")
    code, out, _ = run("can", "T1", "--write", f"{TASKS}/T1/accept/decision.json", "--json")
    assert (code, json.loads(out)["allowed"], json.loads(out)["gate"]) == (1, False, "")
    for words in (["T1"], ["T1", "codegen", "--write", "a"]):
        assert "say a step or --write FILE" in refused(run("can", *words))


def test_an_unknown_step_names_those_there_are(here, run):
    task(here, "T1")
    said = refused(run("can", "T1", "deploy"))
    assert "artifact-pipeline has no phase or action 'deploy'; it has planning, plan_review," in said


@pytest.mark.parametrize("words", [["status", "--jsn"], ["check", "--format", "xml"], ["can"]])
def test_wrong_words_are_wrong_use(here, run, words):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert "usage: phasekeeper" in err


def test_a_broken_definition_is_told_at_its_line_and_column_from_here(here, run, monkeypatch):
    put(here / ".phasekeeper/workflows/own.yaml", BROKEN)
    put(here / "own/T1/state.json", {"phase": "a"})
    monkeypatch.chdir(put(here / "src/x", "").parent)
    for words in (["status"], ["next"], ["check", "--format", "json"], ["workflow", "list"]):
        code, _, err = run(*words)
        assert code == 2
        assert err.startswith("phasekeeper: ../.phasekeeper/workflows/own.yaml:5:")
        assert "rulez" in err
    code, out, _ = run("check")
    assert (code, "../.phasekeeper/workflows/own.yaml:5:" in out) == (2, True)


def test_a_broken_definition_hides_the_runs_of_no_other(here, run):
    put(here / ".phasekeeper/workflows/own.yaml", BROKEN)
    put(here / ".phasekeeper/workflows/fine.yaml", FINE)
    put(here / "own/T1/state.json", {"phase": "a"})
    task(here, "T1")
    for words in (["status"], ["next"], ["gates"], ["explain"]):
        code, out, _ = run(*words)
        assert (code, f"{TASKS}/T1" in out) == (2, True)
    for words in (["status", "--json"], ["next", "--json"], ["gates", "--json"], ["explain", "--json"]):
        code, out, err = run(*words)
        assert (code, "rulez" in err) == (2, True)
        assert [entry["run"] for entry in json.loads(out)["runs"]] == [f"{TASKS}/T1"]


def test_the_answer_about_one_run_stands_whatever_other_definitions_are_broken(here, run):
    put(here / ".phasekeeper/workflows/own.yaml", BROKEN)
    put(here / "own/T1/state.json", {"phase": "a"})
    task(here, "T2")
    code, _, err = run("status", "--run", "T2")
    assert (code, "rulez" in err) == (0, True)


def test_a_run_that_may_be_of_a_broken_definition_is_not_just_unknown(here, run):
    put(here / ".phasekeeper/workflows/own.yaml", BROKEN)
    put(here / "own/T1/state.json", {"phase": "a"})
    code, out, err = run("next", "--run", "own/T1")
    assert (code, out) == (2, "")
    assert "rulez" in err and "there is no run 'own/T1'" in err


def test_the_list_of_workflows_has_all_that_can_be_used(here, run):
    put(here / ".phasekeeper/workflows/own.yaml", BROKEN)
    put(here / ".phasekeeper/workflows/fine.yaml", FINE)
    code, out, err = run("workflow", "list", "--json")
    assert (code, "rulez" in err) == (2, True)
    assert [entry["name"] for entry in json.loads(out)][:2] == ["agent-os", "artifact-pipeline"]
    assert "fine" in [entry["name"] for entry in json.loads(out)]


def test_check_looks_at_definitions_that_no_run_uses(here, run):
    put(here / ".phasekeeper/workflows/own.yaml", BROKEN)
    assert run("status")[0] == 0
    assert run("check")[0] == 2


def test_what_is_wrong_with_the_configuration_is_no_secret(here, run):
    task(here, "T1")
    put(here / ".phasekeeper/config.yaml", "parametres: {}\nprojects: [nothing/*]\n")
    code, out, err = run("status")

    assert code == 0
    assert out.startswith(f"{TASKS}/T1")
    assert "phasekeeper: .phasekeeper/config.yaml:1:1: unknown key 'parametres'" in err
    assert "projects: 'nothing/*' fits no folder" in err
    assert run("check")[0] == 1


def test_a_folder_that_cannot_be_listed_fails_the_check(here, run, monkeypatch):
    task(here, "T1")
    real = DiskFiles.list

    def refuse(self: DiskFiles, folder: str):
        if folder == ".orchestrator/tasks":
            self.unlisted_folders[folder] = Problem("artifact-unreadable", "permission denied")
        return real(self, folder)

    (here / ".orchestrator/tasks").mkdir(parents=True)
    monkeypatch.setattr(DiskFiles, "list", refuse)
    code, out, _ = run("check")
    assert code == 1
    assert out.startswith(".orchestrator/tasks: error artifact-unreadable: permission denied\n")


# ---- workflows and examples -------------------------------------------------------------------


def test_all_workflows_are_listed_with_where_their_runs_are(here, run):
    put(here / ".phasekeeper/workflows/own.yaml", OWN)
    _, out, _ = run("workflow", "list")
    names = [line.split("  ")[0] for line in out.splitlines() if not line.startswith(" ")]

    assert names == [
        "agent-os",
        "artifact-pipeline",
        "backlog",
        "beads",
        "bmad",
        "component-design",
        "component-session",
        "kiro",
        "master-plan",
        "openspec",
        "own",
        "phase-loop",
        "plan-file",
        "skill-tuning",
        "spec-kit",
        "spec-workflow",
        "task-master",
    ]
    assert "own  Ours  (.phasekeeper/workflows/own.yaml)\n  runs at own/*\n" in out
    data = json.loads(run("workflow", "list", "--json")[1])
    assert [(w["name"], w["builtIn"]) for w in data][names.index("own")] == ("own", False)


def test_a_list_of_workflows_says_which_can_be_started_and_whether_their_only_place_is_taken(here, run):
    def beginnings():
        return {entry["name"]: entry["new"] for entry in json.loads(run("workflow", "list", "--json")[1])}

    new = beginnings()
    assert new["component-session"] is None
    assert new["master-plan"] == {"folder": ".orchestrator/tasks/{name}", "named": True, "taken": False}
    assert new["phase-loop"] == {"folder": ".claude/state", "named": False, "taken": False}
    assert run("start", "phase-loop", "L1")[0] == 0
    assert beginnings()["phase-loop"] == {"folder": ".claude/state", "named": False, "taken": True}
    assert run("start", "phase-loop", "L2")[0] == 2


def test_a_workflow_is_shown_with_all_its_parts_or_as_it_is_written(here, run):
    _, out, _ = run("workflow", "show", "master-plan")
    headings = [line for line in out.splitlines()[2:] if not line.startswith(" ")]

    assert headings == ["phases", "gates", "limits", "questions", "parameters"]
    assert "  4b  Quality gate by code-quality" in out
    _, text, _ = run("workflow", "show", "master-plan", "--yaml")
    assert text.startswith("# ")
    assert "\nworkflow: master-plan\n" in text
    assert "did you mean" in refused(run("workflow", "show", "master-plam"))


def test_lint_says_what_is_wrong_where(here, run):
    assert run("workflow", "lint", put(here / "own.yaml", OWN))[:2] == (
        0,
        f"{here}/own.yaml: nothing wrong\n",
    )
    code, out, _ = run("workflow", "lint", put(here / "bad.yaml", BROKEN))
    assert code == 2
    assert out.startswith(f"{here}/bad.yaml:5:")
    assert json.loads(run("workflow", "lint", here / "bad.yaml", "--json")[1])[0]["line"] == 5
    assert "is no file" in refused(run("workflow", "lint", "gone.yaml"))


def test_a_graph_is_of_a_workflow_or_of_a_run(here, run):
    task(here, "T1")
    _, plain, _ = run("workflow", "graph", "artifact-pipeline")
    _, marked, _ = run("workflow", "graph", "--run", "T1")

    assert "plan_review" in plain
    assert plain != marked
    assert "name a workflow, or a run" in refused(run("workflow", "graph"))
    assert "name a workflow, or a run" in refused(run("workflow", "graph", "x", "--run", "T1"))


def test_the_demo_copies_every_example_and_shows_them(here, run):
    code, out, err = run("demo", "play ground")

    assert (code, err) == (0, "")
    for run_path in (".claude/state", ".orchestrator/tasks/reading-lists", f"{TASKS}/late-fees"):
        assert f"\n{run_path}  " in out
    assert "  phasekeeper next 'play ground'\n" in out
    # Repositories of other tools are roots of their own.
    ours = {path for path in files_in(EXAMPLES) if not path.startswith("conventions/")}
    assert files_in(here / "play ground") == ours - {"__init__.py"}


def files_in(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p.suffix != ".pyc"}


def test_the_demo_overwrites_nothing(here, run):
    put(here / "full/file", "mine")
    assert "'full' is no empty folder" in refused(run("demo", "full"))
    assert "cannot be written" in refused(run("demo", "full/file/below"))


def test_the_examples_show_every_kind_of_step_and_no_error(run):
    data = json.loads(run("status", EXAMPLES, "--json")[1])
    suggestions = {e["workflow"]: e["suggestion"] for e in data["runs"]}
    kinds = {name: suggestion["kind"] for name, suggestion in suggestions.items()}

    assert kinds == {
        "artifact-pipeline": "regress",
        "component-design": "wait",
        "component-session": "stay",
        "master-plan": "advance",
        "phase-loop": "escalate",
        "skill-tuning": "act",
    }
    assert suggestions["master-plan"]["parallel"] == [["reading-lists-03", "reading-lists-04"]]
    statuses = {gate["status"] for e in data["runs"] for gate in e["gates"]}
    assert statuses >= {"open", "failed", "passed"}
    assert run("check", EXAMPLES)[0] == 3


# ---- ends -------------------------------------------------------------------------------------


def test_without_a_command_there_is_help(run):
    code, out, _ = run()
    assert code == 0
    assert "exit codes:" in out
    assert "usage: phasekeeper workflow" in run("workflow")[1]


@pytest.mark.parametrize(
    "words", [[], *([name] for name in ("status", "next", "gates", "check", "can", "demo"))]
)
def test_help_fits_a_narrow_terminal(run, words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(*words, "--help")
    assert code == 0
    assert max(map(len, out.splitlines())) < 80


def test_the_version_is_told(run):
    code, out, _ = run("--version")
    assert code == 0
    assert out.startswith("phasekeeper ")


def test_a_command_is_a_function_and_an_entry_of_the_catalogue(run, monkeypatch):
    entry = catalog.command(
        "greet",
        "say hello to a run",
        f"{__name__}:greet",
        catalog.word("run", "the run"),
        catalog.flag("--loud", "!"),
    )
    monkeypatch.setattr(catalog, "COMMANDS", [*catalog.COMMANDS, entry])
    assert run("greet", "T1", "--loud") == (7, "hello T1!\n", "")
    assert re.search(r"greet +say hello to a run", run("--help")[1])
    assert "Say hello to a run." in run("greet", "--help")[1]


def greet(options) -> int:
    """The command that the test above adds."""
    sys.stdout.write(f"hello {options.run}{'!' if options.loud else ''}\n")
    return 7


@pytest.mark.parametrize("command", catalog.COMMANDS, ids=lambda command: command.name)
def test_every_command_is_there_to_be_imported(command):
    if command.name not in ("lsp", "mcp", "hook"):
        module, _, function = command.run.partition(":")
        assert callable(getattr(import_module(f"phasekeeper.server.cli.commands.{module}"), function))


def test_an_interrupt_is_quiet(run, monkeypatch):
    def interrupted(options: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(read, "status", interrupted)
    assert run("status") == (130, "", "")


def test_numbers_that_json_lacks_become_texts(capsys):
    output.print_json({"a": [float("inf"), 1.5], "b": float("nan")})
    assert json.loads(capsys.readouterr().out) == {"a": ["inf", 1.5], "b": "nan"}


def test_help_costs_no_engine():
    code = "import sys; from phasekeeper.server.cli import main, parser; print('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).stdout == b"False\n"


# ---- what is looked at -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("next", "T7"),
        ("can", "T7", "codegen"),
        ("gates", "--run", "T7"),
        ("status", f"{TASKS}/T7"),
        ("explain", f"{TASKS}/T7/review/plan-review.json"),
        ("history", "T7"),
        ("claim", "T7", "t-01", "--as", "ann"),
    ],
)
def test_a_command_about_one_run_reads_the_files_of_no_other(here, run, monkeypatch, words):
    for number in range(9):
        task(here, f"T{number}")
    read: set[str] = set()
    real = DiskFiles.read

    def record(self: DiskFiles, path: str):
        read.add(path)
        return real(self, path)

    monkeypatch.setattr(DiskFiles, "read", record)
    run(*words)
    assert f"{TASKS}/T7/state.json" in read
    assert {path.split("/")[2] for path in read if path.startswith(f"{TASKS}/")} == {"T7"}


def test_a_command_about_one_run_imports_no_more_than_it_needs(here):
    task(here, "T1")
    code = "import sys; from phasekeeper.server.cli.main import main; main(); print(*sys.modules)"
    line = [sys.executable, "-I", "-c", code, "next", "T1", "--cold"]
    answer, loaded = subprocess.run(line, capture_output=True, text=True, check=True).stdout.rsplit("\n", 2)[
        :2
    ]
    assert f"{TASKS}/T1" in answer
    others = "pydantic rich mcp pygls lsprotocol watchdog uvicorn platformdirs asyncio difflib zipfile"
    ours = "server.lsp server.mcp server.live server.hub server.store.commit orchestration.lint tools.check"
    unwanted = {*others.split(), *(f"phasekeeper.{name}" for name in ours.split())}
    assert unwanted & set(loaded.split()) == set()


WITHOUT = """
import sys
sys.modules[sys.argv.pop(1)] = None
from phasekeeper.server.cli.main import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("package", "words", "said"),
    [
        ("yaml", ("status", "--cold"), "phasekeeper: this needs the package yaml, which is not installed: "),
        ("mcp", ("mcp", "--standalone"), "client 1 (mcp) was ended: No module named 'mcp"),
    ],
)
def test_a_package_that_is_missing_is_named(root, package, words, said):
    hello = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    command = [sys.executable, "-c", WITHOUT, package, *words]
    done = subprocess.run(command, input=hello, capture_output=True, text=True, cwd=root, timeout=60)
    assert (done.returncode, "Traceback" in done.stderr) == (5, False)
    assert said in done.stderr
