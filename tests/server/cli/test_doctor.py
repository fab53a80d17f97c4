"""`phasekeeper doctor`: what it tells, and that each trouble comes with what mends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from phasekeeper.server.cli.commands import doctor
from phasekeeper.server.connector.address import try_lock
from phasekeeper.server.disk import decision_keys as decide
from phasekeeper.server.version import VERSION

from tests.roots import put, task
from tests.server.servers import BOUND_S


@pytest.fixture
def mine(home, monkeypatch):
    """The home as this process' own, with a root of one task as the current folder."""
    for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, home.env[name])
    root = home.path / "work"
    (root / ".git").mkdir(parents=True)
    task(root, "T1")
    monkeypatch.chdir(root)
    return home


@pytest.fixture
def told(run):
    """(exit code, the answer as JSON)"""

    def called():
        code, out, _ = run("doctor", "--json")
        return code, json.loads(out)

    return called


def mends(found) -> dict[str, str]:
    return {wrong["what"]: wrong["mend"] for wrong in found["wrong"]}


def test_where_nothing_is_wrong_it_says_so(mine, run):
    code, out, _ = run("doctor")
    assert code == 0
    assert "none runs; editors and assistants start it" in out
    assert f"{mine.path}/work: 1 run, 1 active" in out
    assert out.endswith("nothing is wrong\n")


def test_it_tells_of_the_server_its_clients_and_roots(mine, run, told):
    server = mine.start("serve", "work", cwd=mine.path)
    while b"plan_review" not in server.stdout.readline():
        pass
    code, found = told()
    assert (code, found["server"]["pid"], found["server"]["runs"]) == (0, server.pid, True)
    assert [client["kind"] for client in found["server"]["clients"]] == ["view"]
    [root] = found["server"]["roots"]
    assert root["runs"] == 1 and root["folders"] > 0
    _, out, _ = run("doctor")
    assert f"process {server.pid}, version " in out and f"view: process {server.pid}" in out


def test_a_server_that_does_not_answer_is_told_with_its_process(mine, told, monkeypatch):
    server = mine.server()
    monkeypatch.setattr(doctor, "_ASK_S", 0.05)
    os.kill(server.pid, signal.SIGSTOP)
    code, found = told()
    os.kill(server.pid, signal.SIGCONT)
    assert code == 1
    [(what, mend)] = mends(found).items()
    assert f"process {server.pid}" in what and "does not answer" in what
    assert mend == f"kill {server.pid}"


def test_an_older_server_and_one_whose_interpreter_is_gone_are_to_be_ended(mine, told, monkeypatch):
    said = {"version": "0.0.1", "python": "/nowhere/python", "pid": 1, "protocol": 1, "memory": None}
    monkeypatch.setattr(doctor, "ask", lambda *_: json.dumps({**said, "clients": [], "roots": []}))
    code, found = told()
    assert code == 1
    assert set(mends(found).values()) == {"phasekeeper serve --stop"}
    assert len(found["wrong"]) == 2


def test_where_the_server_is_newer_this_program_is_to_be_upgraded(mine, told, monkeypatch):
    said = {"version": "99.0", "python": sys.executable, "pid": 1, "protocol": 2, "memory": None}
    monkeypatch.setattr(doctor, "ask", lambda *_: json.dumps({**said, "clients": [], "roots": []}))
    code, found = told()
    assert code == 1
    [(what, mend)] = mends(found).items()
    assert what == f"the server is of version 99.0, this is {VERSION}"
    assert mend == f"{sys.executable} -m pip install --upgrade phasekeeper"


@pytest.mark.parametrize(
    ("prefix", "mend"),
    [
        ("/home/a/.local/share/uv/tools/phasekeeper", "uv tool upgrade phasekeeper"),
        ("/home/a/.local/share/pipx/venvs/phasekeeper", "pipx upgrade phasekeeper"),
    ],
)
def test_an_upgrade_is_done_by_who_installed_it(mine, told, monkeypatch, prefix, mend):
    monkeypatch.setattr(sys, "prefix", prefix)
    monkeypatch.setattr(doctor, "_version", lambda _: None)
    _, found = told()
    assert set(mends(found).values()) == {mend}


def extension(mine, folder: str, *versions: str) -> None:
    """The list of extensions of an editor, beside one of somebody else's."""
    ids = [("Phasekeeper.phasekeeper", version) for version in versions]
    entries = [{"identifier": {"id": name}, "version": version} for name, version in [("a.b", "1"), *ids]]
    put(mine.path / folder / "extensions.json", json.dumps(entries))


def test_an_extension_of_another_version_is_told_with_its_editor(mine, told):
    extension(mine, ".cursor/extensions", "0.0.9")
    extension(mine, ".vscode/extensions", VERSION)
    code, found = told()
    assert code == 1
    assert [(e["editor"], e["version"]) for e in found["extensions"]["installed"]] == [
        ("VS Code", VERSION),
        ("Cursor", "0.0.9"),
    ]
    [(what, mend)] = mends(found).items()
    assert what.startswith("the extension in Cursor (") and "0.0.9" in what
    assert mend == "update the extension Phasekeeper in Cursor"


@pytest.mark.parametrize("text", ["", "{}", "[1, {}, []]", "[" * 9999, '[{"identifier": {"id": 1}}]'])
def test_a_list_of_extensions_that_cannot_be_read_has_none(mine, told, text):
    put(mine.path / ".vscode/extensions/extensions.json", text)
    code, found = told()
    assert (code, found["extensions"]["installed"]) == (0, [])


def test_another_command_on_the_path_is_told_with_its_version(mine, told, monkeypatch):
    other = put(mine.path / "programs/phasekeeper", "#!/bin/sh\necho phasekeeper 0.0.9\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{other.parent}:{os.environ['PATH']}")
    code, found = told()
    assert code == 1
    [what] = mends(found)
    assert what == f"the command on PATH ({other}) is of version 0.0.9, this is {VERSION}"


def test_a_command_in_the_current_folder_is_not_run(mine, told, monkeypatch):
    planted = mine.path / "phasekeeper"
    planted.write_text(f"#!/bin/sh\ntouch {mine.path / 'was-run'}\necho phasekeeper 0.0.9\n")
    planted.chmod(0o755)
    monkeypatch.chdir(mine.path)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    told()
    assert not (mine.path / "was-run").exists()


def test_a_root_that_cannot_be_watched_is_told_once(mine, told, monkeypatch):
    why = "the system watches no more folders; raise fs.inotify.max_user_watches"
    root = {"root": "/r", "runs": 1, "folders": 2, "conditions": [why]}
    said = {
        "version": VERSION,
        "python": sys.executable,
        "roots": [root, {**root, "root": "/s"}],
        "clients": [],
    }
    monkeypatch.setattr(doctor, "ask", lambda *_: json.dumps(said))
    code, found = told()
    assert code == 1
    [(what, mend)] = mends(found).items()
    assert what == why and mend.startswith("sudo sysctl fs.inotify.")


def test_a_folder_for_sockets_that_cannot_be_used_is_told(mine, told):
    (mine.path / "run").write_text("in the way")
    code, found = told()
    assert code == 1
    assert "XDG_RUNTIME_DIR" in mends(found)["there is no folder for sockets"]


def test_a_key_that_others_could_read_is_told(mine, told):
    decide.make_key()
    decide.key_path().chmod(0o644)
    code, found = told()
    assert code == 1
    [(what, mend)] = mends(found).items()
    assert "decisions count as unverified" in what and mend.startswith("chmod 600 ")


def test_a_broken_definition_is_told_with_the_command_that_checks_it(mine, told):
    file = Path(".phasekeeper/workflows/mine.yaml")
    file.parent.mkdir(parents=True)
    file.write_text("workflow: [\n")
    code, found = told()
    assert code == 1
    assert set(mends(found).values()) == {f"phasekeeper workflow lint {file}"}


def test_without_git_that_is_told(mine, told, monkeypatch):
    def missing(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr(subprocess, "run", missing)
    code, found = told()
    assert (code, found["software"]["git"]) == (1, None)
    assert "install git" in mends(found).values()


def test_a_package_that_is_missing_or_too_old_is_told(mine, told, monkeypatch):
    needed = ["rich>=14", "mcp>=2.3,<3", "gone>=1", "pytest>=8; extra == 'test'"]
    versions = {"rich": "13.9", "mcp": "2.3.0"}
    monkeypatch.setattr(doctor.metadata, "requires", lambda _: needed)
    monkeypatch.setattr(doctor, "_version", versions.get)
    code, found = told()
    assert code == 1
    assert list(mends(found)) == [
        "rich 14 or newer is needed, there is 13.9",
        "gone 1 or newer is needed, there is none",
    ]


def test_errors_that_a_server_wrote_down_are_shown(mine, run, told):
    log = mine.path / "state/phasekeeper/server.log"
    log.parent.mkdir(parents=True)
    log.write_text("2026-01-01 ERROR hub: a fault\x1b[31m\n2026-01-01 WARNING hub: less\n")
    _, found = told()
    assert found["folders"]["log"]["errors"] == ["2026-01-01 ERROR hub: a fault\x1b[31m"]
    _, out, _ = run("doctor")
    assert "a fault\\x1b[31m" in out


def test_it_needs_no_server_and_makes_none(mine, run):
    run("doctor")
    lock = try_lock(mine.address.lock)
    assert lock is not None
    os.close(lock)


def test_an_environment_without_home_or_path_is_examined_too(mine):
    done = subprocess.run(
        [sys.executable, "-I", "-m", "phasekeeper", "doctor"],
        env={"XDG_RUNTIME_DIR": mine.env["XDG_RUNTIME_DIR"], "PATH": ""},
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    assert (done.returncode, "install git" in done.stdout) == (1, True)
    assert "Traceback" not in done.stderr


def test_a_watcher_that_was_replaced_is_told_and_is_no_trouble(mine, run, monkeypatch):
    faults = {"replaced": 2, "overflows": 1, "last": "a thread of its own had ended by an error"}
    said = {
        "version": VERSION,
        "python": sys.executable,
        "pid": 1,
        "protocol": 1,
        "memory": None,
        "started": 0,
    }
    said |= {"clients": [], "roots": [], "watching": faults}
    monkeypatch.setattr(doctor, "ask", lambda *_: json.dumps(said))
    code, out, _ = run("doctor")
    assert code == 0
    assert (
        "the server's watcher had gone deaf and was replaced 2 times, the last time because a thread" in out
    )
    assert "the system's queue of events was too short 1 time" in out


def test_a_server_says_what_went_wrong_with_watching(mine, told):
    server = mine.start("serve", "work", cwd=mine.path)
    while b"plan_review" not in server.stdout.readline():
        pass
    _, found = told()
    assert found["server"]["watching"] == {"replaced": 0, "overflows": 0, "last": ""}
