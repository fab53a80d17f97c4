"""`phasekeeper fleet` as people use it: a server comes up, a machine joins it, both see who has what."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from phasekeeper.orchestration.fleet.shared_board import RunSummary, SharedBoard, SharedRun
from phasekeeper.server.cli.commands import fleet
from phasekeeper.server.cli.main import main
from phasekeeper.server.process_end import process_end_probe
from phasekeeper.server.workspace import apply, fleet_claims
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import needs, put
from tests.server.fleet.machines import PROJECT, Machines
from tests.server.fleet.nats_servers import free_ports
from tests.server.workspace.test_apply import planned_root

RUN = "work/one"
_SELF_SIGNED = (
    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1 "
    "-addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem"
)
_COMMAND = (sys.executable, "-m", "phasekeeper")


class Machine:
    """A user's folders and a clone."""

    def __init__(self, folder: Path, configuration: str) -> None:
        self.root, self.environment = folder / "root", {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
        planned_root(self.root, configuration)
        (self.root / ".git").mkdir()

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*_COMMAND, *words],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*_COMMAND, *words],
            cwd=self.root,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@pytest.fixture
def machines(tmp_path: Path) -> Mapping[str, Machine]:
    configuration = "workflows: {'work/*': planned}\nfleet: {project: library}\n"
    return {name: Machine(tmp_path / name, configuration) for name in ("ann", "bob")}


@pytest.fixture
def certificate(tmp_path: Path) -> Iterator[Path]:
    """A certificate of 127.0.0.1 that signs itself, in a folder with its key."""
    subprocess.run(
        [needs("openssl"), *_SELF_SIGNED.split()],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    yield tmp_path


def _lines_of(server: subprocess.Popen[str]) -> list[str]:
    """What `fleet up` says until it serves, or until it ends."""
    assert server.stdout
    lines: list[str] = []
    for line in server.stdout:
        lines.append(line.rstrip("\n"))
        if line.startswith("Ctrl-C"):
            break
    return lines


def test_two_machines_share_claims_over_tls(machines: Mapping[str, Machine], certificate: Path) -> None:
    ann, bob = machines["ann"], machines["bob"]
    port, cert, key = str(free_ports(1)[0]), str(certificate / "cert.pem"), str(certificate / "key.pem")
    tls = ("--tls-cert", cert, "--tls-key", key, "--ca", cert)
    server = ann.start("fleet", "up", "--as", "ann", "--member", "bob", "--port", port, *tls)
    try:
        lines = _lines_of(server)
        assert lines[0] == f"the fleet of library is served at tls://127.0.0.1:{port}; this machine is ann", (
            lines
        )
        carried = next(iter(Path(ann.environment["XDG_STATE_HOME"]).rglob("bob.nk")))
        unsafe = bob.run("fleet", "join", f"nats://127.0.0.1:{port}", "--nkey", str(carried))
        assert unsafe.returncode == 2 and bob.run("fleet", "status").stdout.startswith(
            "this machine takes part in no"
        )
        joined = bob.run("fleet", "join", f"tls://127.0.0.1:{port}", "--nkey", str(carried), "--ca", cert)
        assert (joined.returncode, joined.stderr) == (0, "")
        assert joined.stdout.startswith("joined library as bob; 0 claims are alive there")
        claimed = ann.run("claim", RUN, "f-01", "--as", "ann")
        assert (claimed.returncode, claimed.stderr) == (0, "")
        refused = bob.run("claim", RUN, "f-01", "--as", "bob")
        assert refused.returncode == 1
        assert refused.stderr.startswith("phasekeeper: f-01 is claimed by ann on ann until ")
        (report,) = json.loads(bob.run("fleet", "status", "--json").stdout)["fleets"]
        assert (report["reachable"], [claim["task"] for claim in report["claims"]]) == (True, ["f-01"])
        assert "f-01 of work/one: claimed by ann on ann until" in bob.run("fleet", "status").stdout
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
        assert "work goes on as on one machine" in bob.run("fleet", "status").stdout
        assert "  tasks: f-01, f-02\n" in bob.run("next", RUN).stdout
        alone = bob.run("claim", RUN, "f-02", "--as", "bob")
        assert alone.returncode == 0 and "on this machine alone" in alone.stderr
        left = bob.run("fleet", "leave").stdout
        assert left.startswith(
            "left library\nrows of this machine may stay on its board; join again and leave"
        )
        assert bob.run("fleet", "leave").stdout == "this machine takes no part in library\n"
    finally:
        server.terminate()
        server.wait(20)


def test_a_fleet_that_is_killed_leaves_no_server_and_comes_up_again(machines: Mapping[str, Machine]) -> None:
    ann, port = machines["ann"], str(free_ports(1)[0])
    words = ("fleet", "up", "--as", "ann", "--port", port)
    killed = ann.start(*words)
    assert _lines_of(killed)[0].startswith("the fleet of library is served at")
    number = int(next(iter(Path(ann.environment["XDG_STATE_HOME"]).rglob("server.pid"))).read_text())
    has_ended = process_end_probe(number)
    assert has_ended and not has_ended()
    assert ann.run("claim", RUN, "f-01", "--as", "ann").returncode == 0
    killed.kill()
    killed.communicate()
    # It waits for the end of the one before; what that has stays.
    again = ann.start(*words)
    try:
        assert _lines_of(again)[0].startswith("the fleet of library is served at")
        assert has_ended()
        assert "f-01 of work/one: claimed by ann on ann until" in ann.run("fleet", "status").stdout
    finally:
        again.terminate()
        again.communicate()


def test_next_names_the_tasks_of_others_and_hands_out_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fleet_claims, "_LOOK_S", 30.0)
    configuration = f"workflows: {{'work/*': planned}}\nfleet: {{project: {PROJECT}}}\n"
    ann, bob = (planned_root(tmp_path / name, configuration) for name in ("ann", "bob"))
    machines = Machines(tmp_path / "machines", "ann", "bob")
    monkeypatch.chdir(bob)

    def claim(task: str) -> None:
        with machines.on("ann"):
            apply.claim(Workspace(ann), RUN, task, "ann", 600, "")

    def run(*words: str) -> str:
        with machines.on("bob"):
            assert main(["next", RUN, "--cold", *words]) == 0
        return capsys.readouterr().out

    try:
        assert "heldElsewhere" not in json.loads(run("--json"))
        claim("f-01")
        assert "  tasks: f-02\n  not free: f-01 is held by ann on machine ann until " in run()
        answer = json.loads(run("--json"))
        assert answer["suggestion"]["tasks"] == ["f-02"]
        assert [(held["task"], held["machine"]) for held in answer["heldElsewhere"]] == [("f-01", "ann")]
        # Counted and listed it is as before.
        assert answer["progress"]["total"] == 2
        listed = [task["id"] for stage in answer["plan"]["stages"] for task in stage["tasks"]]
        assert listed == ["f-01", "f-02"]
        claim("f-02")
        assert "  no task is free: wait, or work on another run\n" in run()
        machines.stop()
        assert "  tasks: f-01, f-02\n" in run()
    finally:
        machines.stop()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("up", "--listen", "0.0.0.0"), "TLS"),
        (("up", "--member", "a/b"), "is no name of a member"),
        (("up", "--member", "admin"), "choose another name"),
        (("join", "nats://192.0.2.1:4222", "--nkey", "member.nk"), "holds no key of a member"),
        (("join", "nats://127.0.0.1:4222"), "say who this machine is"),
        (("leave", "--project", "a b"), "is no name of a project"),
    ],
)
def test_what_is_used_wrongly_is_told(
    machines: Mapping[str, Machine], words: tuple[str, ...], said: str
) -> None:
    done = machines["ann"].run("fleet", *words)
    assert done.returncode == 2
    assert done.stderr.startswith("phasekeeper: ") and said in done.stderr


def test_without_a_project_it_is_asked_for(tmp_path: Path) -> None:
    done = Machine(tmp_path, "workflows: {}\n").run("fleet", "leave")
    assert done.returncode == 2
    assert "say which project: --project ID, or `fleet: {project: ID}`" in done.stderr


@pytest.mark.parametrize("texts", [("Which of 'a' and 'b'?",), ()])
def test_a_question_of_another_machine_is_shown_with_the_command_that_answers_it_there(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    texts: tuple[str, ...],
) -> None:
    put(tmp_path / ".phasekeeper/config.yaml", "fleet: {project: library}\n")
    run, where = "work/one; ls", ("9f2c41d07ab35e18", "ad4f91d39a", "2026-11-30T03:30:04+00:00")
    clone = RunSummary(
        run, "planned", "bob", "c", "waiting_human", "do", "escalate", 0, 1, *where, ("go_on:1",), asked=texts
    )
    shared = SharedBoard((SharedRun(run, (clone,)),))
    monkeypatch.setattr(fleet, "project_board", lambda project: shared)
    assert fleet.board(Namespace(path=tmp_path, root=tmp_path, json=False)) == 0
    said = capsys.readouterr().out
    assert f"a person is asked: {texts[0] if texts else 'go_on:1'}\n" in said
    assert "on bob:  phasekeeper answer 'work/one; ls' go_on:1\n" in said
