"""Connectors as editors and assistants start them: real processes, sockets and signals."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.server.cli.main import main
from phasekeeper.server.connector import connector
from phasekeeper.server.connector.address import try_lock
from phasekeeper.server.connector.handshake import GreetingRefused

from tests.roots import task
from tests.server.servers import BOUND_S, answer, frame, initialize, reached, until

MODULES = sorted(path.stem for path in Path(connector.__file__).parent.glob("[a-z]*.py"))
FORMS = pytest.mark.parametrize("form", ["unix", "tcp"])


def opened(home, work, *more: str, **env: str):
    """A connector whose server has answered `initialize`."""
    process = home.start("lsp", *more, cwd=work, **env)
    process.stdin.write(initialize(work))
    process.stdin.flush()
    assert "capabilities" in answer(process.stdout, 1)["result"]
    return process


def ended(process) -> int:
    """Say `shutdown` and `exit`; the exit code."""
    process.stdin.write(frame(id=9, method="shutdown"))
    process.stdin.flush()
    answer(process.stdout, 9)
    process.stdin.write(frame(method="exit"))
    process.stdin.flush()
    return process.wait(BOUND_S)


def say(process, **message) -> Any:
    """The result of a request to an assistants' connector; None for a notification."""
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()
    while "id" in message:
        said = json.loads(process.stdout.readline())
        if said.get("id") == message["id"]:
            return said["result"]
    return None


@FORMS
def test_a_connector_starts_the_server_and_the_next_one_joins_it(home, work, form):
    home.env["PHASEKEEPER_SOCKET"] = form
    first = opened(home, work)
    second = opened(home, work)
    clients = home.information()["clients"]
    assert [client["kind"] for client in clients] == ["lsp", "lsp"]
    assert {client["folder"] for client in clients} == {str(work)}
    assert (ended(first), ended(second)) == (0, 0)
    assert home.information()["served"] == 2


def test_the_server_outlives_its_connector_in_a_session_of_its_own_from_the_home_folder(home, work):
    assert ended(opened(home, work)) == 0
    pid = home.information()["pid"]
    assert os.getsid(pid) == pid
    if sys.platform == "linux":
        assert Path(f"/proc/{pid}/cwd").readlink() == home.path


def test_a_server_keeps_nothing_open_of_the_client_that_started_it(home, work):
    """Whoever waits for the end of a pipe of the client's would wait as long as the server runs."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    command, pipe = [sys.executable, "-I", "-m", "phasekeeper", "lsp"], subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=work, env=home.env, close_fds=False
    ) as process:
        os.close(writing)
        assert process.stdin is not None
        process.stdin.write(initialize(work))
        process.stdin.flush()
        assert "capabilities" in answer(process.stdout, 1)["result"]
        assert ended(process) == 0
    assert home.information()["pid"] != process.pid
    assert select.select([reading], [], [], BOUND_S)[0]
    assert os.read(reading, 1) == b""
    os.close(reading)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a server is started by subprocess")
def test_a_connector_that_starts_a_server_stays_as_small_as_one_that_finds_it(home, work):
    code = "import sys; from phasekeeper.server.connector import connector; "
    code += "code = connector.run_connector('lsp', False); "
    code += "print('subprocess' in sys.modules, file=sys.stderr); sys.exit(code)"
    process = home.popen([sys.executable, "-I", "-c", code], work, home.env)
    process.stdin.write(initialize(work))
    process.stdin.flush()
    assert "capabilities" in answer(process.stdout, 1)["result"]
    assert home.information()["served"] == 1
    assert ended(process) == 0
    assert process.stderr.read() == b"False\n"


@pytest.mark.parametrize("start", [connector._spawn] * connector._CAN_SPAWN + [connector._open_process])
def test_the_exit_code_of_a_process_that_was_started_is_told_once_it_ends(start):
    exit_code = start([sys.executable, "-I", "-c", "import sys; sys.exit(7)"])
    codes: list[int | None] = []
    until(lambda: codes.append(exit_code()) or codes[-1] is not None)
    assert codes[-1] == 7


def test_twenty_connectors_at_once_start_one_server(home, work):
    processes = [home.start("lsp", cwd=work) for _ in range(20)]
    for process in processes:
        process.stdin.write(initialize(work))
        process.stdin.flush()
    for process in processes:
        assert "capabilities" in answer(process.stdout, 1)["result"]
    found = home.information()
    assert (found["served"], len(found["clients"])) == (20, 20)
    for process in processes:
        process.stdin.close()
    assert [process.wait(BOUND_S) for process in processes] == [1] * 20
    assert [process.stderr.read() for process in processes] == [b""] * 20


def test_what_a_killed_server_left_is_replaced(home, work):
    server = home.server()
    server.kill()
    server.wait(BOUND_S)
    assert os.path.exists(home.address.endpoint)  # noqa: PTH110
    assert ended(opened(home, work)) == 0
    assert home.information()["pid"] != server.pid


def test_a_connector_whose_server_is_killed_says_so_and_fails(home, work):
    server = home.server()
    process = opened(home, work)
    server.kill()
    assert process.wait(BOUND_S) == 1
    assert process.stderr.read() == b"phasekeeper: the server ended; start this again\n"


def test_a_connector_whose_server_was_replaced_does_not_take_anothers_end_for_its_own(home, work):
    server = home.server()
    process = opened(home, work)
    os.kill(process.pid, signal.SIGSTOP)
    server.kill()
    server.wait(BOUND_S)
    assert ended(opened(home, work)) == 0
    os.kill(process.pid, signal.SIGCONT)
    assert process.wait(BOUND_S) == 1
    assert process.stderr.read() == b"phasekeeper: the server ended; start this again\n"


@pytest.mark.parametrize("more", [(), ("--standalone",)])
def test_a_connector_ends_with_its_stdin(home, work, more):
    """An editor that goes without `shutdown` has failed, as the protocol has it."""
    process = opened(home, work, *more)
    process.stdin.close()
    assert process.wait(BOUND_S) == 1


def test_a_connector_ends_when_nobody_reads_what_it_says(home, work):
    process = opened(home, work)
    process.stdout.close()
    process.stdin.write(frame(id=2, method="nothing/such"))
    process.stdin.flush()
    assert process.wait(BOUND_S) == 1


def test_a_client_that_ends_before_there_is_a_server_ends_its_connector(home, work):
    home.env["PHASEKEEPER_WAIT_S"] = "600"
    os.makedirs(home.address.folder, mode=0o700)  # noqa: PTH103
    held = try_lock(home.address.start_lock)
    assert held is not None
    process = home.start("lsp", cwd=work)
    process.stdin.close()
    assert process.wait(BOUND_S) == 0
    os.close(held)


def test_without_a_folder_for_sockets_a_connection_runs_by_itself_and_says_so(home, work):
    (home.path / "run").write_text("in the way")
    process = opened(home, work)
    assert ended(process) == 0
    said = process.stderr.read().decode()
    assert said.startswith("phasekeeper: ") and said.count("\n") == 1
    assert said.endswith("; this connection runs by itself\n") and str(home.path / "run") in said


def test_a_server_that_cannot_listen_leaves_its_connection_to_itself(home, work):
    os.makedirs(home.address.endpoint, mode=0o700)  # noqa: PTH103
    process = opened(home, work)
    assert ended(process) == 0
    assert b"the server ended at once with 1" in process.stderr.read()


def test_a_connection_that_a_server_has_no_room_for_runs_by_itself(home, work):
    """It is told at once, and starts no other server."""
    full = "import sys; from phasekeeper.server.hub import entry_points, hub; hub.MAX_CLIENTS = 1; "
    home.popen([sys.executable, "-c", full + "sys.exit(entry_points.run_daemon())"], work, home.env)
    until(home.answers)
    with home.joined():
        process = opened(home, work)
        assert ended(process) == 0
        assert b"refused: it serves 1 connections, which is the most; this" in process.stderr.read()


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of another process is set")
def test_connections_leave_a_server_the_descriptors_with_which_it_reads(home, work):
    server = home.server()
    client = home.start("mcp", cwd=work)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    say(client, id=1, method="initialize", params=hello)
    say(client, method="notifications/initialized")
    before = say(client, id=2, method="tools/call", params={"name": "status", "arguments": {}})
    assert "T1" in before["content"][0]["text"]
    import resource

    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (64, 64))
    with ExitStack() as connections:
        with pytest.raises(GreetingRefused, match="connections need the descriptors there are"):
            for _ in range(64):
                connections.enter_context(home.joined())
        for _ in range(64):
            connections.enter_context(reached(home.address)[0])
        task(work, "T2")
        after = say(client, id=3, method="tools/call", params={"name": "status", "arguments": {}})
        assert all(name in after["content"][0]["text"] for name in ("T1", "T2"))


def test_a_server_that_is_not_there_in_time_is_not_waited_for(home, work):
    os.makedirs(home.address.folder, mode=0o700)  # noqa: PTH103
    held = try_lock(home.address.start_lock)
    assert held is not None
    process = opened(home, work, PHASEKEEPER_WAIT_S="0.1")
    os.close(held)
    assert ended(process) == 0
    assert b"no server answered within 0.1 s" in process.stderr.read()


def test_a_stopped_server_is_not_waited_for_without_end(home, work):
    server = home.server()
    os.kill(server.pid, signal.SIGSTOP)
    process = opened(home, work, PHASEKEEPER_WAIT_S="0.1")
    os.kill(server.pid, signal.SIGCONT)
    assert ended(process) == 0
    assert b"runs by itself" in process.stderr.read()


def test_alone_nothing_but_the_protocol_reaches_stdout(home, work):
    """A print of whatever is imported or called goes to stderr."""
    chatty = "import os, sys; from phasekeeper.server.connector import connector; "
    chatty += "from phasekeeper.server.hub import hub; "
    chatty += "load = hub.Hub._import; hub.Hub._import = lambda *a: (print('stray'), load(*a))[1]; "
    chatty += "sys.exit(connector.run_connector('lsp', True))"
    process = home.popen([sys.executable, "-c", chatty], work, home.env)
    process.stdin.write(initialize(work))
    process.stdin.flush()
    answer(process.stdout, 1)
    assert ended(process) == 0
    assert process.stdout.read() == b""
    assert b"stray" in process.stderr.read()


def test_a_connector_imports_next_to_nothing():
    """Dozens run side by side, and an editor waits for each: no typing, pathlib, contextlib, socket, re."""
    imports = ", ".join(f"phasekeeper.server.connector.{name}" for name in MODULES)
    code = f"import sys; before = set(sys.modules); import phasekeeper.server.cli.main, {imports}; "
    code += "print(*sorted(set(sys.modules) - before))"
    said = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    modules = [
        "cli",
        "cli.main",
        "connector",
        "version",
        "process_end",
        *(f"connector.{name}" for name in MODULES),
    ]
    own = {f"phasekeeper.server.{name}" for name in modules}
    assert set(said.stdout.split()) <= {"phasekeeper", "phasekeeper.server", "_socket", *own}


def test_a_server_is_started_isolated(monkeypatch):
    assert connector.interpreter() == [sys.executable, "-I"]


def test_a_package_in_the_users_site_folder_is_still_found(monkeypatch):
    import site

    monkeypatch.setattr(site, "ENABLE_USER_SITE", True)
    monkeypatch.setattr(site, "getusersitepackages", lambda: os.path.dirname(connector.__file__))  # noqa: PTH120
    assert connector.interpreter() == [sys.executable, "-E", "-P"]


@pytest.mark.parametrize(
    ("words", "is_one"),
    [
        (["lsp"], True),
        (["mcp", "--standalone"], True),
        (["lsp", "--stdio"], True),
        (["lsp", "--help"], False),
        (["serve"], False),
        ([], False),
    ],
)
def test_what_is_a_connectors_command_line(words, is_one):
    assert connector.is_connector_call(words) is is_one


def test_the_help_of_a_connector_tells_what_it_does(capsys):
    with pytest.raises(SystemExit):
        main(["lsp", "--help"])
    assert "what an editor starts" in capsys.readouterr().out


@pytest.mark.parametrize(("said", "seconds"), [("3", 3.0), ("x", 2.0), ("-1", 0.0), ("1e9", 600.0)])
def test_how_long_a_server_is_waited_for(monkeypatch, said, seconds):
    monkeypatch.setenv(connector.WAIT, said)
    assert connector.wait_s() == seconds


def test_until_is_bounded(monkeypatch):
    monkeypatch.setattr("tests.server.servers.BOUND_S", 0.0)
    with pytest.raises(TimeoutError):
        until(lambda: False)


@pytest.mark.parametrize("more", [(), ("--standalone",)])
def test_an_assistant_is_served_for_the_folder_it_was_started_in(home, work, more):
    process = home.start("mcp", *more, cwd=work)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    call = {"name": "next_step", "arguments": {}}
    for message in (
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()
    answers = {}
    while 2 not in answers:
        said = json.loads(process.stdout.readline())
        answers[said.get("id")] = said
    assert "go on to codegen" in json.dumps(answers[2]) or '"codegen"' in json.dumps(answers[2])
    process.stdin.close()
    assert process.wait(BOUND_S) == 0
