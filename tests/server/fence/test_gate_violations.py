"""What a shell writes past the gates of a guarded run: told within a second, and the build stops at it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from phasekeeper.orchestration.definition.names import PROPOSED
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.server.workspace.apply import apply_command, prepare_decision, record_decision
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import EXAMPLES, TASKS, needs, put, task
from tests.server.fence.test_hook_answer import git, guard
from tests.server.lsp.client import Client, run_with
from tests.server.lsp.person import actions_for

TASK = f"{TASKS}/late-fees"
PLAN = ".orchestrator/tasks/reading-lists/MASTER_PLAN.md"
DECISION = f"{TASK}/accept/decision.json"
STATE = f"{TASK}/state.json"
RUN = f"{TASKS}/T1"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the examples, all of them guarded, as they were committed."""
    needs("git")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "work"
    shutil.copytree(EXAMPLES, root)
    git(root, "init", "-q")
    guard(root, 'runs: ["**"]')
    commit(root)
    monkeypatch.chdir(root)
    return root


def commit(root: Path) -> None:
    git(root, "add", "--all", "--force")
    git(root, "commit", "-q", "--allow-empty", "-m", "reviewed")


def shell(root: Path, code: str) -> None:
    """A process that no hook is asked about."""
    subprocess.run([sys.executable, "-I", "-c", code], cwd=root, check=True)


def write(path: str, content: str) -> str:
    """Code that writes a file, its folder included; for the expression `content` its own text is `text`."""
    return f"""
import pathlib
file = pathlib.Path({path!r})
file.parent.mkdir(exist_ok=True)
text = file.read_text() if file.exists() else ""
file.write_text({content})
"""


def edit_state(path: str) -> str:
    """Code that puts one more key into a state file."""
    return write(path, """text.replace('{', '{"x": 1, ', 1)""")


WRITES = {
    DECISION: write(DECISION, """'{"verdict": "accepted"}'"""),
    PLAN: write(PLAN, "text.replace('[ ] |', '[x] |')"),
    STATE: edit_state(STATE),
}


def violations(root: Path) -> list[tuple[str, str]]:
    """(path, severity) of each violation that the root's runs have, looked at anew."""
    workspace = Workspace(root)
    evaluations = (workspace.evaluate(match) for match in workspace.matches)
    found = (each for evaluation in evaluations for each in evaluation.findings)
    return [(each.path, str(each.severity)) for each in found if each.code == "gate-violation"]


def report(root: Path, step: str, kind: str = "report") -> None:
    """Report a step of the task T1 as done, or start it."""
    command = Command("report", step, "ok") if kind == "report" else Command("start", step)
    apply_command(Workspace(root), RUN, command._replace(actor="codex"))


def decide(root: Path, run: str, command: Command) -> tuple[str, ...]:
    """Decide as a person does; the text that the person read."""
    asked = prepare_decision(Workspace(root), run, command._replace(why="looked at it", actor="ann"))
    record_decision(Workspace(root), asked, "ann", "terminal")
    return asked.lines


def test_the_examples_have_none_while_nobody_passes_a_gate(work: Path) -> None:
    assert violations(work) == []
    shutil.rmtree(work / ".git")
    (work / ".git").mkdir()
    assert violations(work) == []


@pytest.mark.parametrize("path", WRITES)
def test_what_a_shell_writes_past_a_gate_is_an_error_until_a_commit_has_it(work: Path, path: str) -> None:
    shell(work, WRITES[path])
    assert {*violations(work)} == {(path, "error")}
    commit(work)
    assert violations(work) == []


def test_nothing_is_a_violation_in_a_run_that_is_not_guarded(work: Path) -> None:
    guard(work, 'runs: ["elsewhere/*"]')
    commit(work)
    for code in WRITES.values():
        shell(work, code)
    assert violations(work) == []


def test_a_guard_that_a_shell_takes_away_goes_on_until_that_is_committed(work: Path) -> None:
    guard(work, "")
    shell(work, WRITES[STATE])
    assert {*violations(work)} == {(STATE, "error")}
    (work / ".phasekeeper/config.yaml").unlink()
    assert {*violations(work)} == {(STATE, "error")}


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_the_build_stops_at_a_violation_in_every_format(work: Path, run, form: str) -> None:
    put(work / RUN / "state.json", {"phase": "planning"})
    commit(work)
    asked = ("check", RUN, "--gates", "--allow", "waiting", "--format", form)
    code, out, _ = run(*asked)
    assert code == 0 and "gate-violation" not in out
    shell(work, edit_state(f"{RUN}/state.json"))
    code, out, _ = run(*asked)
    assert code == 1 and "gate-violation" in out
    if form == "sarif":
        [told] = json.loads(out)["runs"]
        assert "gate-violation" in {rule["id"] for rule in told["tool"]["driver"]["rules"]}
        assert {each["level"] for each in told["results"] if each["ruleId"] == "gate-violation"} == {"error"}


@pytest.mark.parametrize("path", WRITES)
def test_an_editor_is_told_of_a_shell_s_violation_and_of_its_end(work: Path, path: str) -> None:
    async def work_with(client: Client) -> None:
        await client.initialize(work)
        await client.ready(work)
        assert "gate-violation" not in client.codes(work / path)
        shell(work, WRITES[path])
        await client.until(lambda: "gate-violation" in client.codes(work / path))
        commit(work)
        await client.until(lambda: "gate-violation" not in client.codes(work / path))

    run_with(work_with)


def test_an_editor_offers_to_decide_about_an_edited_state(work: Path) -> None:
    shell(work, WRITES[STATE])

    async def work_with(client: Client) -> None:
        await client.initialize(work, trusted=True, phasekeeper={"client": "vscode", "decides": True})
        await client.ready(work)
        uri = client.open(work / STATE)
        await client.until(lambda: "gate-violation" in client.codes(work / STATE))
        titles = [each["title"] for each in await actions_for(client, uri, "gate-violation")]
        assert any("was changed by something else than a report" in each for each in titles)

    run_with(work_with)


def test_a_person_who_reads_and_accepts_an_edited_state_ends_the_violation(work: Path) -> None:
    shell(work, WRITES[STATE])
    read = decide(work, TASK, Command("answer", question="state", option="accept"))
    assert any(line.startswith("  | {") and '"x"' in line for line in read)
    assert violations(work) == []
    shell(work, WRITES[STATE])
    assert violations(work) == [(STATE, "error")]


def test_a_report_over_an_edited_state_does_not_end_it_and_a_person_s_override_does(work: Path) -> None:
    state = task(work, "T1") / "state.json"
    report(work, "plan_review")
    assert violations(work) == []
    shell(work, edit_state(f"{RUN}/state.json"))
    report(work, "codegen", "start")
    assert "pending" in state.read_text()
    assert violations(work) == [(f"{RUN}/state.json", "error")]
    decide(work, RUN, Command("override", "review"))
    assert violations(work) == []


def changed(root: Path) -> Path:
    """A task whose change is written."""
    folder = task(root, "T1")
    put(folder / "code/diff.patch", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    put(folder / "code/files/x", "b\n")
    put(folder / "state.json", {"phase": "codegen"})
    return folder


def test_what_a_run_leaves_behind_when_it_goes_back_is_no_violation(work: Path) -> None:
    folder, review = changed(work), f"{RUN}/review/code-review.json"
    report(work, "codegen")
    put(work / review, {"ok": False})
    apply_command(Workspace(work), RUN, Command("redo", "planning", actor="codex"))
    assert json.loads((folder / "state.json").read_text())["phase"] == "planning"
    assert violations(work) == []
    put(work / review, {"ok": True})
    assert violations(work) == [(review, "error")]
    decide(work, RUN, Command("override", "review"))
    assert violations(work) == []


def test_a_signature_under_a_decision_file_ends_the_violation(work: Path) -> None:
    folder, decision = changed(work), f"{RUN}/accept/decision.json"
    put(folder / "review/code-review.json", {"ok": True})
    results = [{"step": "u", "status": "passed"}]
    put(folder / "eval/eval-report.json", {"overall_pass": True, "results": results})
    put(folder / "state.json", {"phase": "accept"})
    shell(work, write(decision, """'{"verdict": "accepted"}'"""))
    assert violations(work) == [(decision, "error")]
    decide(work, RUN, Command("answer", question="acceptance", option=PROPOSED))
    assert violations(work) == []
