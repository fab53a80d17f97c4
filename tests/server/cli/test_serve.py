"""`phasekeeper serve` as a person runs it: in a pipe, on a terminal, first and second."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from phasekeeper.server.cli.commands import serve
from phasekeeper.server.connector.address import find_address, try_lock
from phasekeeper.server.connector.handshake import GreetingRefused
from phasekeeper.server.hub import http_listener
from phasekeeper.server.hub.hub import Hub
from phasekeeper.server.workspace.roots import UsageError

from tests.roots import EXAMPLES, loop, needs, put, task
from tests.server.servers import BOUND_S, until

RUN = ".ai-tools-chain/tasks/T1"
STANDS = f"{RUN}: plan_review, active; next: go on to codegen"
PLAN = ".orchestrator/tasks/reading-lists"
ALONE = ("--standalone",)


def heard(process, wanted: str) -> str:
    """The first line that has the text in it."""
    while line := process.stdout.readline().decode():
        if wanted in line:
            return line
    said = process.stderr.read().decode()
    raise AssertionError(f"it ended with {process.wait(BOUND_S)} and without {wanted!r}: {said}")


def ended(process, number=signal.SIGINT) -> int:
    process.send_signal(number)
    return process.wait(BOUND_S)


@pytest.mark.parametrize("more", [(), ALONE])
def test_in_a_pipe_each_run_and_then_each_change_is_a_line(home, work, more):
    process = home.start("serve", "work", *more)
    assert heard(process, "phasekeeper: ") == "phasekeeper: the server runs in this process\n"
    assert heard(process, RUN).startswith(STANDS)
    task(work, "T1", ok=False)
    assert "next: go back to planning" in heard(process, RUN)
    task(work, "T2")
    assert "T2: " in heard(process, "plan_review, active; next: go on to codegen")
    for file in sorted((work / RUN).rglob("*.json")):
        file.unlink()
    assert heard(process, "gone") == f"{RUN} is gone\n"
    assert ended(process) == 0
    assert process.stderr.read() == b""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly_and_takes_its_socket_away(home, work, number):
    process = home.start("serve", "work")
    heard(process, RUN)
    assert home.address.endpoint and os.path.exists(home.address.endpoint)  # noqa: PTH110
    assert ended(process, number) == 0
    assert not os.path.exists(home.address.endpoint)  # noqa: PTH110


def test_alone_it_makes_no_socket(home, work):
    process = home.start("serve", "work", *ALONE)
    heard(process, RUN)
    assert not os.path.exists(home.address.folder)  # noqa: PTH110
    assert ended(process) == 0


def test_where_a_server_runs_it_looks_through_it_and_takes_its_place_when_that_ends(home, work):
    server = home.server()
    process = home.start("serve", "work")
    heard(process, "joined the server that runs already")
    heard(process, RUN)
    assert [client["kind"] for client in home.information()["clients"]] == ["view"]
    server.kill()
    heard(process, "the server runs in this process")
    assert home.information()["pid"] == process.pid
    task(work, "T1", ok=False)
    assert "go back to planning" in heard(process, RUN)
    assert ended(process) == 0


def test_ending_a_view_leaves_the_server_it_looked_through(home, work):
    server = home.server()
    process = home.start("serve", "work")
    heard(process, RUN)
    assert ended(process) == 0
    assert home.information()["pid"] == server.pid


def test_the_server_can_be_told_to_end(home, work):
    process = home.start("serve", "work")
    heard(process, RUN)
    stop = home.start("serve", "--stop")
    assert stop.wait(BOUND_S) == 0
    assert stop.stdout.read().decode() == f"the server (process {process.pid}) ended\n"
    assert process.wait(BOUND_S) == 0
    again = home.start("serve", "--stop")
    assert (again.wait(BOUND_S), again.stdout.read()) == (0, b"no server runs\n")


def test_a_server_that_does_not_answer_is_not_said_to_be_none(home, monkeypatch):
    server = home.server()
    os.kill(server.pid, signal.SIGSTOP)
    monkeypatch.setenv("XDG_RUNTIME_DIR", home.env["XDG_RUNTIME_DIR"])
    monkeypatch.setattr(serve, "_STOP_S", 0.1)
    with pytest.raises(UsageError, match=rf"process {server.pid}\) does not answer: `phasekeeper doctor`"):
        serve.stop()


def test_a_server_that_still_finishes_something_is_not_said_to_have_ended(home, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", home.env["XDG_RUNTIME_DIR"])
    monkeypatch.setattr(serve, "_STOP_S", 0.1)
    monkeypatch.setattr(serve, "ask", lambda *_: '{"pid": 7}')
    held = try_lock(find_address().lock)
    assert held is not None
    with pytest.raises(UsageError, match=r"process 7.* still finishes something"):
        serve.stop()
    os.close(held)


def test_what_cannot_be_looked_at_is_not_taken_for_no_server(home, monkeypatch):
    (home.path / "run").write_text("in the way")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home.path / "run"))
    with pytest.raises(UsageError, match="cannot be used"):
        serve.stop()


def test_a_view_of_a_server_that_does_not_answer_says_so(home, monkeypatch):
    async def run() -> None:
        options = {"roots": [str(home.path)], "journal": False, "http": None}
        await asyncio.wait_for(serve._Serve(options, standalone=False).run(), BOUND_S)

    def silent(_: object) -> None:
        raise TimeoutError

    home.server()
    monkeypatch.setenv("XDG_RUNTIME_DIR", home.env["XDG_RUNTIME_DIR"])
    monkeypatch.setattr(serve, "_reach", silent)
    with pytest.raises(TimeoutError, match="does not answer: `phasekeeper doctor`"):
        asyncio.run(run())


def test_a_server_that_has_no_room_for_a_view_says_so(home, run, monkeypatch):
    def full(_: object) -> None:
        raise GreetingRefused("it serves 0 connections, which is the most")

    home.server()
    monkeypatch.setenv("XDG_RUNTIME_DIR", home.env["XDG_RUNTIME_DIR"])
    monkeypatch.setattr(serve, "_reach", full)
    code, _, said = run("serve")
    assert code == 2 and "the server refused: it serves 0 connections" in said


def test_several_roots_are_told_apart(home, work):
    (home.path / "other/.git").mkdir(parents=True)
    task(home.path / "other", "T1")
    process = home.start("serve", "work", "other")
    assert {heard(process, RUN).split(":")[0] for _ in range(2)} == {"work", "other"}
    assert ended(process) == 0


def test_projects_that_the_configuration_comes_to_name_are_looked_at_too(home, work):
    config = put(work / ".phasekeeper/config.yaml", "projects: []\n")
    folder = task(work / "packages/a", "A1")
    reports = work / "packages/b/.orchestrator"
    shutil.copytree(EXAMPLES / ".orchestrator", reports)
    process = home.start("serve", "work", "--journal")
    heard(process, RUN)
    put(config, "projects: [packages/a]\n")
    assert heard(process, "A1").startswith("a: .ai-tools-chain/tasks/A1: plan_review, active")
    put(folder / "review/plan-review.json", {"ok": False})
    assert "go back to planning" in heard(process, "A1")
    put(config, "projects: [packages/b]\n")
    assert heard(process, "A1") == "a: .ai-tools-chain/tasks/A1 is gone\n"
    assert f"of {PLAN} recorded" in heard(process, "recorded")
    put(config, "projects: []\n")
    assert heard(process, "is gone") == f"b: {PLAN} is gone\n"
    assert ended(process) == 0
    assert process.stderr.read() == b""


def test_no_run_is_said_with_what_to_do(home):
    (home.path / "empty/.git").mkdir(parents=True)
    process = home.start("serve", "empty")
    assert "no run was found in" in heard(process, "phasekeeper demo")
    assert ended(process) == 0


def test_a_folder_that_is_not_there_is_wrong_use(home):
    process = home.start("serve", "nowhere")
    assert process.wait(BOUND_S) == 2
    assert process.stderr.read() == b"phasekeeper: 'nowhere' does not exist or cannot be opened.\n"


def test_a_reader_that_goes_away_ends_it(home, work):
    process = home.start("serve", "work")
    heard(process, RUN)
    process.stdout.close()
    task(work, "T2")
    assert process.wait(BOUND_S) == 141


def test_a_broken_definition_is_told_and_when_it_is_mended(home, work):
    definition = work / ".phasekeeper/workflows/mine.yaml"
    definition.parent.mkdir(parents=True)
    definition.write_text("workflow: [\n")
    process = home.start("serve", "work")
    assert ".phasekeeper/workflows/mine.yaml" in heard(process, "mine.yaml")
    assert ended(process) == 0


def test_without_a_folder_for_sockets_it_says_what_to_do(home, work):
    (home.path / "run").write_text("in the way")
    process = home.start("serve", "work")
    assert process.wait(BOUND_S) == 2
    assert b"`phasekeeper serve --standalone` needs no socket" in process.stderr.read()


# ---- recording reports -------------------------------------------------------------------------


def test_report_files_are_recorded_as_they_appear_where_that_is_asked_for(home):
    root = home.path / "work"
    (root / ".git").mkdir(parents=True)
    shutil.copytree(EXAMPLES / ".orchestrator", root / ".orchestrator")
    folder = root / PLAN
    late = folder / "reports/09-f1-report.md"
    reports = sorted((folder / "reports").iterdir())
    last = reports[-1].read_text()
    reports[-1].unlink()
    process = home.start("serve", "work", "--journal")
    assert heard(process, "recorded").startswith(f"phasekeeper: {len(reports) - 1} reports of {PLAN}")
    late.write_text(last)
    assert heard(process, "recorded") == f"phasekeeper: 1 report of {PLAN} recorded\n"
    journal = folder / ".phasekeeper/journal.jsonl"
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [entry["kind"] for entry in records] == ["report"] * len(reports)
    assert "reports/09-f1-report.md" in json.dumps(records[-1])
    assert ended(process) == 0


def test_without_being_asked_nothing_is_written(home):
    root = home.path / "work"
    (root / ".git").mkdir(parents=True)
    shutil.copytree(EXAMPLES / ".orchestrator", root / ".orchestrator")
    before = sorted(root.rglob("*"))
    process = home.start("serve", "work")
    heard(process, PLAN)
    assert ended(process) == 0
    assert sorted(root.rglob("*")) == before


# ---- on a terminal -----------------------------------------------------------------------------


class Terminal:
    """A terminal of tmux's with one command in it."""

    def __init__(self, home, *words: str) -> None:
        # Each has a server of its own, which ends with it.
        socket = home.path / f"tmux-{len([*home.path.glob('tmux-*')])}"
        self._tmux = [needs("tmux"), "-S", str(socket), "-f", os.devnull]
        # Here somebody is there to leave a pager.
        self._env = {**home.env, "PHASEKEEPER_PAGER": "less", "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        # As of the terminal that this one was started in.
        self._env |= {"COLUMNS": "80", "LINES": "25"}
        command = shlex.join([sys.executable, "-I", "-m", "phasekeeper", *words])
        shell = f"{command}; echo exit code $?; cat"
        self._do("new-session", "-d", "-x", "90", "-y", "24", "-c", str(home.path), shell)

    def _do(self, *words: str) -> str:
        done = subprocess.run(
            [*self._tmux, *words], env=self._env, check=True, capture_output=True, text=True, timeout=BOUND_S
        )
        return done.stdout

    def shows(self, *wanted: str) -> str:
        """The screen, once it has all that is wanted."""
        seen = []

        def there() -> bool:
            seen[:] = [self._do("capture-pane", "-p")]
            return all(text in seen[0] for text in wanted)

        until(there)
        return seen[0]

    def keys(self, *keys: str) -> None:
        self._do("send-keys", *keys)

    def resize(self, columns: int, rows: int) -> None:
        self._do("resize-window", "-x", str(columns), "-y", str(rows))

    def end(self) -> None:
        self._do("kill-server")


@pytest.fixture
def terminal(home, work):
    made = []

    def opened(*words: str) -> Terminal:
        made.append(Terminal(home, *words))
        return made[-1]

    yield opened
    for each in made:
        each.end()


def test_on_a_terminal_the_screen_is_drawn_again_on_change_and_on_another_size(terminal, work):
    screen = terminal("serve", "work")
    screen.shows("1 run, 1 active", "> T1  plan_review  active", RUN, "next: go on to codegen", "q end")
    task(work, "T1", ok=False)
    screen.shows("next: go back to planning")
    for number in range(2, 30):
        task(work, f"T{number}")
    screen.shows("29 runs", "more: arrow keys, / filters")
    screen.resize(50, 12)
    # tmux shows the old drawing, cut, until the new one is there.
    until(lambda: screen.shows("more:", "q end").startswith("29 runs"))
    assert max(map(len, screen.shows("q end").splitlines())) <= 50
    screen.keys("C-c")
    screen.shows("phasekeeper: ended; 29 runs", "exit code 0")


def test_a_person_filters_opens_a_run_and_answers_its_question_by_keys(terminal, home, work):
    task(work, "T1")
    loop(work)
    screen = terminal("serve", "--standalone", "work")
    screen.shows("2 runs, 1 waits for a person", "> state  plan", "asks severe:1:WQ-1", "q end")
    screen.keys("/", "T", "1", "Enter")
    screen.shows("> T1  plan_review", "filter: T1 (Esc)")
    screen.keys("Enter")
    screen.shows(f"{RUN}  active", "next: go on to codegen", "q back")
    screen.keys("q", "Escape")
    screen.shows("> T1", "  state  plan")
    screen.keys("Home", "a")
    screen.shows("resolve: ", "Option (resolve, lower, stop):")
    screen.keys("lower", "Enter", "because", "Enter")
    screen.shows("reason: because", "Type .claude/state to confirm:")
    screen.keys("state", "Enter")
    screen.shows("answered: severe:1:WQ-1 lower", "Any key goes back.")
    screen.keys("x")
    screen.shows("2 runs, 2 active", "q end")
    screen.keys("q")
    screen.shows("phasekeeper: ended; 2 runs", "exit code 0")


def test_ctrl_c_in_a_question_ends_the_question_and_not_the_server(terminal, work):
    loop(work)
    screen = terminal("serve", "--standalone", "work")
    screen.shows("2 runs, 1 waits for a person", "q end")
    screen.keys("a")
    screen.shows("Option (resolve, lower, stop):")
    screen.keys("C-c")
    screen.shows("Any key goes back.")
    screen.keys("x")
    screen.shows("2 runs, 1 waits for a person", "q end")


def test_a_long_explanation_is_scrolled_and_a_short_answer_is_not(terminal, work):
    needs("less")
    loop(work)
    screen = terminal("explain", "work")
    # The last line is the prompt of less.
    until(lambda: screen.shows(f"{RUN}  active").rstrip().endswith("\n:"))
    screen.keys("q")
    screen.shows("exit code 0")
    screen = terminal("history", ".claude/state", "--root", "work")
    screen.shows("exit code 0")


# ---- over HTTP ---------------------------------------------------------------------------------


def asked(url: str, token: str, **headers: str) -> int:
    """The status that a request of an assistant gets."""
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode()
    given = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    request = urllib.request.Request(url, body, {**given, **headers})
    try:
        with urllib.request.urlopen(request, timeout=BOUND_S) as answered:
            return answered.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_over_http_only_who_has_the_token_and_comes_from_here_is_served(home, work):
    process = home.start("serve", "work", "--http", "0")
    said = heard(process, "assistants reach").split()
    url, file = said[3], Path(said[-1])
    token = file.read_text().strip()
    assert file.stat().st_mode & 0o777 == 0o600
    assert asked(url, token) == 200
    assert asked(url, "") == asked(url, "x" * 43) == 401
    assert asked(url, token, Host="evil.example") in (400, 421)
    assert asked(url, token, Origin="http://evil.example") in (400, 403)
    assert home.information()["http"] == url
    second = home.start("serve", "work", "--http", "0")
    assert second.wait(BOUND_S) == 2
    assert f"assistants are served at {url} already" in second.stdout.read().decode()
    assert ended(process) == 0


def test_a_port_in_use_is_told_and_ends_it(home, work):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = home.start("serve", "work", "--http", str(port))
        assert f"port {port} of 127.0.0.1 cannot be used" in heard(process, "port")
        assert process.wait(BOUND_S) == 2


def test_a_token_that_others_could_read_is_refused(home, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(home.path / "state"))
    token, path = http_listener.load_token()
    assert http_listener.load_token() == (token, path)
    path.chmod(0o644)
    with pytest.raises(UsageError, match="is open to others"):
        http_listener.load_token()
    path.chmod(0o600)
    path.write_text("short")
    with pytest.raises(UsageError, match="too short"):
        http_listener.load_token()


@pytest.mark.parametrize("port", ["x", "-1", "65536", "9" * 5_000, "٣"])
def test_what_is_no_port_is_wrong_use(run, port):
    code, _, err = run("serve", f"--http={port}")
    assert code == 2
    assert "--http" in err


@pytest.mark.parametrize("port", [-1, 65_536, "80", 1.5])
def test_a_port_that_is_none_is_told_by_the_server_too(port):
    with pytest.raises(UsageError, match="cannot be used"):
        http_listener._bind(port)


@pytest.mark.parametrize("broken", ["the application", "its import", "its start"])
def test_serving_over_http_that_fails_is_told_and_is_not_said_to_be(home, monkeypatch, broken):
    monkeypatch.setenv("XDG_STATE_HOME", str(home.path / "state"))

    def fail(*_: object) -> object:
        raise RuntimeError("a mistake of ours")

    async def end(*_: object, **__: object) -> None:
        return None

    async def test() -> None:
        hub = Hub(asyncio.get_running_loop())
        try:
            with monkeypatch.context() as patch:
                if broken == "the application":
                    patch.setattr("phasekeeper.server.mcp.server.McpServer.http_app", fail)
                elif broken == "its import":
                    patch.setattr(http_listener, "_make_server", fail)
                else:
                    patch.setattr("uvicorn.Server.serve", end)
                with pytest.raises(UsageError, match="cannot be served at http"):
                    await http_listener.serve_http(hub, 0).__aenter__()
            assert "http" not in hub.about
            async with http_listener.serve_http(hub, 0) as (assistants, browser):
                assert assistants.startswith("assistants reach")
                assert browser.startswith("a browser is let in once: http://127.0.0.1:")
        finally:
            await hub.stop()

    asyncio.run(test())


def test_a_port_that_is_served_no_more_is_not_said_to_be(home, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(home.path / "state"))

    servers = []
    make_server = http_listener._make_server
    monkeypatch.setattr(
        http_listener, "_make_server", lambda app: servers.append(make_server(app)) or servers[0]
    )

    async def test() -> None:
        hub = Hub(asyncio.get_running_loop())
        try:
            async with http_listener.serve_http(hub, 0):
                assert "http" in await hub.information()
                servers[0].should_exit = True
                while "http" in await hub.information():
                    await asyncio.sleep(0)
        finally:
            await hub.stop()

    asyncio.run(asyncio.wait_for(test(), BOUND_S))
