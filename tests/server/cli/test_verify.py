"""`verify` and `trust` on the command line: exit codes, what is printed, and Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from phasekeeper.orchestration.definition.root_config import PATH
from phasekeeper.server.checks.trust import WORKSPACE_CODE
from phasekeeper.server.cli import confirm as confirmation
from phasekeeper.server.cli.commands import verify

from tests.roots import CHECKED, needs, put

CONFIG = "checks:\n  good: {run: [sh, -c, 'echo fine']}\n  bad: {run: [sh, -c, 'echo sorry; exit 1']}\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    put(folder / "src/app.py", "ONE = 1\n")
    put(folder / ".gitignore", ".phasekeeper/evidence/\n")
    put(folder / PATH, CONFIG)
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "--all"], ["commit", "-qm", "all"]):
        subprocess.run([needs("git"), *who, *words], cwd=folder, check=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return folder


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A person at the terminal who confirms; the lines that were read."""
    read: list[str] = []

    def confirm(lines, name):
        read.extend([*lines, f"typed {name}"])

    monkeypatch.setattr(verify, "confirm", confirm)
    return read


def test_what_nobody_allowed_waits_for_a_person(repository, run):
    code, out, err = run("verify")
    assert code == 3
    assert out.splitlines()[0].startswith("good: untrusted, no person allowed what it runs")
    assert "`phasekeeper trust good bad` shows what they run, and asks" in err
    code, _, err = run("trust")
    assert (code, err) == (1, "phasekeeper: a decision is a person's: run this command on a terminal\n")


def test_a_person_reads_what_runs_and_then_it_runs(repository, run, person):
    assert run("trust", "good")[:2] == (0, "allowed: good\n")
    assert '  runs: ["sh", "-c", "echo fine"]' in person
    assert person[-2:] == [f"  {WORKSPACE_CODE}", "typed good"]
    assert run("trust", "good")[:2] == (0, "allowed as they are: good\n")
    code, out, _ = run("verify", "good")
    assert (code, out.splitlines()[:2]) == (0, ["good: running", "good: passed, it passed"])
    assert run("verify", "good")[:2] == (0, "good: passed, it passed; nothing changed since it ran\n")
    assert run("verify", "good", "--again")[1].startswith("good: running\n")
    assert run("verify")[0] == 3


def test_a_check_that_failed_shows_the_end_of_its_output(repository, run, person):
    run("trust")
    code, out, _ = run("verify")
    assert code == 1
    assert "bad: failed, it ended with exit code 1\n  | sorry\n" in out
    assert "  the whole output: .phasekeeper/evidence/bad.log\n" in out
    known = "it ended with exit code 1; nothing changed since it ran, and --again runs it all the same"
    assert known in run("verify", "bad")[1]


def test_in_a_build_what_head_holds_needs_no_person(repository, run):
    assert run("verify", "good", "--trust-head")[0] == 0
    put(repository / PATH, CONFIG.replace("echo fine", "echo fine;"))
    assert run("verify", "good", "--trust-head")[0] == 3


def test_the_answer_as_json_has_what_guards_see(repository, run, person):
    run("trust")
    code, out, _ = run("verify", "--json")
    checks = json.loads(out)["checks"]
    assert (code, [(each["name"], each["result"], each["ran"]) for each in checks]) == (
        1,
        [("good", "passed", True), ("bad", "failed", True)],
    )


@pytest.mark.parametrize(
    ("words", "config", "said"),
    [
        (["verify", "goood"], CONFIG, "there is no check 'goood'; did you mean 'good'?"),
        (["verify"], "projects: []\n", "no check is declared under `checks:`"),
        (["verify"], "checks: {a: {run: make}}\n", f"{PATH}:1: run must be a list of words"),
        (["trust", "x"], CONFIG, "there is no check 'x'"),
    ],
)
def test_wrong_use_is_told(repository, run, words, config, said):
    put(repository / PATH, config)
    code, _, err = run(*words)
    assert code == 2
    assert said in err


def test_a_path_names_the_root_and_a_check_goes_before_a_folder_of_its_name(
    repository, run, person, monkeypatch
):
    put(repository / "good/x", "x")
    run("trust")
    assert run("verify", "good")[0] == 0
    monkeypatch.chdir("/")
    assert run("verify", repository / "src", "good")[0] == 0


def test_ctrl_c_ends_what_runs(repository, person, run, tmp_path):
    put(repository / PATH, "checks: {c: {run: [sh, -c, 'echo $$ > ../pid; while :; do :; done']}}\n")
    os.mkfifo(tmp_path / "pid")
    run("trust")
    command = [sys.executable, "-m", "phasekeeper", "verify"]
    child = subprocess.Popen(command, cwd=repository, stdout=subprocess.DEVNULL, start_new_session=True)
    # Opening a pipe waits for the other side.
    pid = int((tmp_path / "pid").read_text())
    child.send_signal(signal.SIGINT)
    assert child.wait(30) == 130
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_command_that_is_killed_leaves_no_check_running(repository, person, run, tmp_path):
    code = "import os, sys; f = open('../pid', 'w'); f.write(str(os.getpid())); f.flush()\nwhile True: pass"
    put(repository / "run.py", code)
    put(repository / PATH, f'checks: {{c: {{run: ["{sys.executable}", run.py]}}}}\n')
    os.mkfifo(tmp_path / "pid")
    run("trust")
    command = [sys.executable, "-m", "phasekeeper", "verify"]
    child = subprocess.Popen(command, cwd=repository, stdout=subprocess.DEVNULL, start_new_session=True)
    with (tmp_path / "pid").open() as pipe:
        assert pipe.read(1)
        child.kill()
        # The check holds the pipe until it is ended.
        pipe.read()
    child.wait(30)


def test_nobody_is_asked_without_a_terminal():
    assert verify.confirm is confirmation.confirm


@pytest.mark.parametrize("command", ["next", "gates", "explain"])
def test_what_a_gate_rests_on_is_named_with_what_made_it_stale(repository, run, person, command):
    put(repository / ".phasekeeper/workflows/build.yaml", CHECKED.replace("checks.tests", "checks.good"))
    put(repository / "runs/one/state.json", '{"phase": "code"}')
    _, out, _ = run(command)
    assert "check good untrusted: no person allowed what it runs" in out
    assert ("phasekeeper trust good" in out) == (command != "explain")
    run("trust", "good")
    run("verify", "good")
    assert re.search("check good passed, measured [^:]+: it passed", run(command)[1])
    put(repository / "src/app.py", "ONE = 1\nTWO = 2\n")
    stale = (
        "check good stale, measured [^:]+: src/app.py:2 changed since it ran  .phasekeeper/config.yaml:2:3\n"
    )
    assert re.search(stale, run(command)[1])
    data = json.loads(run(command, "--json")[1])
    [check] = _named_checks(data["runs"][0] if "runs" in data else data)
    assert (check["result"], check["changed"]) == ("stale", [{"path": "src/app.py", "line": 2}])
    assert (check["path"], check["line"], check["column"]) == (PATH, 2, 3)


def _named_checks(answer):
    parts = answer.get("gates") or [
        entry for entry in answer["looked"] if entry["where"] == "gates.tested.criteria[0]"
    ]
    return [check for part in parts for check in part["checks"]]
