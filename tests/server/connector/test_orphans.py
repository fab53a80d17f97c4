"""Connectors whose client was killed while something else holds their pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from phasekeeper.server.process_end import process_end_probe

from tests.server.servers import BOUND_S, answer, frame, initialize, until

CLIENT = """
import json, subprocess, sys, time
pipe = subprocess.PIPE
command = [sys.executable, "-I", "-m", "phasekeeper", *sys.argv[1:]]
connector = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, close_fds=False)
ends = (connector.stdin.fileno(), connector.stdout.fileno())
holder = subprocess.Popen(
    [sys.executable, "-I", "-c", "import sys; sys.stdin.read()"],
    stdin=0, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=ends,
)
connector.stdin.write(bytes.fromhex(sys.stdin.readline()))
connector.stdin.flush()
said = connector.stdout.readline()
print(json.dumps({"connector": connector.pid, "holder": holder.pid, "said": said.decode()}), flush=True)
time.sleep(3600)
"""
"""Starts a connector and a holder of its pipes, says what the connector answered, and waits."""
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
GREETINGS = {
    "lsp": initialize,
    "mcp": lambda _: (
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode() + b"\n"
    ),
}


@pytest.mark.parametrize("more", [(), ("--standalone",)])
@pytest.mark.parametrize("kind", ["lsp", "mcp"])
def test_a_connector_ends_with_a_killed_client_although_its_pipes_are_held(home, work, kind, more):
    client = home.popen([sys.executable, "-c", CLIENT, kind, *more], work, home.env)
    client.stdin.write(GREETINGS[kind](work).hex().encode() + b"\n")
    client.stdin.flush()
    found = json.loads(client.stdout.readline())
    assert found["said"]
    has_ended = {name: process_end_probe(found[name]) for name in ("connector", "holder")}
    assert has_ended["connector"]
    assert has_ended["holder"]
    client.kill()
    client.wait(BOUND_S)
    until(has_ended["connector"])
    # It held the pipes all the time, so no end of them told the connector.
    assert not has_ended["holder"]()
    if not more:
        until(lambda: not clients_of(home))


def clients_of(home):
    """The connections of the server; none of one that did not come up, as nobody is left who wants it."""
    try:
        return home.information()["clients"]
    except FileNotFoundError:
        return ()


@pytest.fixture
def other():
    """A process that is nobody's client."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def opened(home, work, pid: int | None):
    """An editor's connector, which says to be the process of that number."""
    process = home.start("lsp", cwd=work)
    params = {"processId": pid, "rootUri": work.as_uri(), "capabilities": {}}
    process.stdin.write(frame(id=1, method="initialize", params=params))
    process.stdin.flush()
    assert "capabilities" in answer(process.stdout, 1)["result"]
    return process


def test_an_editors_connection_ends_with_the_process_that_it_says_to_be(home, work, other):
    process = opened(home, work, other.pid)
    assert len(home.information()["clients"]) == 1
    other.kill()
    assert process.wait(BOUND_S) == 1
    assert not home.information()["clients"]


@pytest.mark.parametrize("pid", [None, 0, -1, 1, 2**22 + 1, 2**31 - 1])
def test_an_editor_whose_process_is_not_to_be_seen_here_is_served(home, work, pid):
    # Of another container, as its server sees it, or none at all.
    process = opened(home, work, pid)
    process.stdin.write(frame(id=2, method="shutdown"))
    process.stdin.flush()
    assert answer(process.stdout, 2)["result"] is None
    process.stdin.write(frame(method="exit"))
    process.stdin.flush()
    assert process.wait(BOUND_S) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="looks at threads in /proc")
def test_a_client_that_was_killed_before_there_is_a_server_takes_its_connector_along(home, work):
    os.makedirs(home.address.folder, mode=0o700)  # noqa: PTH103
    home.env["PHASEKEEPER_WAIT_S"] = "600"
    server = home.server()
    os.kill(server.pid, signal.SIGSTOP)
    starts = CLIENT.replace("said = connector.stdout.readline()", "said = b''")
    client = home.popen([sys.executable, "-c", starts, "lsp"], work, home.env)
    client.stdin.write(initialize(work).hex().encode() + b"\n")
    client.stdin.flush()
    pid = json.loads(client.stdout.readline())["connector"]
    has_ended = process_end_probe(pid)
    assert has_ended
    # Reading its client and looking for its parent.
    until(lambda: len(os.listdir(f"/proc/{pid}/task")) == 3)  # noqa: PTH208
    client.kill()
    until(has_ended)
    os.kill(server.pid, signal.SIGCONT)
