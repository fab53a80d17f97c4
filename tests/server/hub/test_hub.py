"""The server's side of connections: greetings, newer versions, ends, and clients that behave badly."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import threading
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from phasekeeper.server.connector import handshake
from phasekeeper.server.connector.address import FORM, PROTOCOL, find_address
from phasekeeper.server.connector.handshake import INFO, STOP, Greeting, GreetingRefused
from phasekeeper.server.connector.pump import exit_trailer
from phasekeeper.server.hub import hub as hubs
from phasekeeper.server.hub import sockets, view_feed
from phasekeeper.server.hub.entry_points import take_server_lock
from phasekeeper.server.hub.hub import Hub
from phasekeeper.server.lsp import server as lsp_server
from phasekeeper.server.version import VERSION, release

from tests.roots import task
from tests.server.servers import BOUND_S, joined, reached, until

NEWER, OLDER = "99.0.0", "0.0.1"


@pytest.fixture
def mine(home, monkeypatch):
    """The home as this process' own."""
    for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, home.env[name])
    return home


@asynccontextmanager
async def serving(*, is_daemon=False, idle_s=600.0):
    """A server in this process that listens; ended and waited for at the end."""
    address = find_address()
    lock = take_server_lock(address)
    assert lock is not None
    hub = Hub(asyncio.get_running_loop(), is_daemon=is_daemon)
    hub.idle_s = idle_s
    work = asyncio.ensure_future(hub.listen(address, lock, *handshake.listen(address)))
    try:
        yield hub, work
    finally:
        hub.stopping.set()
        await asyncio.wait_for(work, BOUND_S)
        os.close(lock)


def ask(kind: str, folder: str = "/", version: str = VERSION):
    return handshake.ask(find_address(), Greeting(kind, folder, version), BOUND_S)


def join(kind: str = "view", version: str = VERSION) -> socket.socket:
    return joined(find_address(), Greeting(kind, "/", version))


def off(work, *words):
    """`work` on a thread, bounded."""
    return asyncio.wait_for(asyncio.to_thread(work, *words), BOUND_S)


def raw(data: bytes, *, close: bool = False) -> bytes:
    """What the server says to bytes that are no greeting, until it closes."""
    sock, _ = reached(find_address())
    with sock:
        sock.sendall(data)
        if close:
            return b""
        said = b""
        try:
            while part := sock.recv(4096):
                said += part
        except ConnectionResetError:
            pass
        return said


@pytest.mark.parametrize("form", ["unix", "tcp"])
def test_a_server_tells_what_it_is(mine, monkeypatch, form):
    monkeypatch.setenv(FORM, form)

    async def run():
        async with serving() as (hub, _):
            told, known = json.loads(await off(ask, INFO)), await hub.information()
            assert {**told, "memory": 0} == {**known, "memory": 0}

    asyncio.run(run())
    assert not Path(find_address().endpoint).exists()


@pytest.mark.parametrize(
    "line",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x00\xff\xfe\n",
        b"phasekeeper/2 lsp / 1\n",
        b"phasekeeper/%d lsp\n" % PROTOCOL,
        b"phasekeeper/%d lsp 2f 1 \n" % PROTOCOL,
        b"phasekeeper/%d lsp 2f 1\nContent-Length: 2\r\n\r\n{}" % PROTOCOL,
        b"phasekeeper/1 lsp / 1\n",
        b"Content-Length: 2\r\n\r\n{}",
    ],
)
def test_what_is_no_greeting_is_refused_and_disturbs_nobody(mine, line):
    async def run():
        async with serving() as (hub, _):
            with await off(join):
                assert (await off(raw, line)).startswith(b"no ")
                assert len(hub.clients) == 1
                assert json.loads(await off(ask, INFO))["served"] == 1

    asyncio.run(run())


def test_a_greeting_without_end_is_cut_off(mine):
    async def run():
        async with serving():
            assert await off(raw, b"x" * 100_000) == b""
            await off(ask, INFO)

    asyncio.run(run())


def test_a_client_that_goes_in_the_middle_of_its_greeting_is_forgotten(mine):
    async def run():
        async with serving() as (hub, _):
            for data in (b"", b"phasekeeper/%d ls" % PROTOCOL):
                await off(lambda data=data: raw(data, close=True))
            await off(ask, INFO)
            assert not hub.clients

    asyncio.run(run())


def test_a_client_that_goes_before_it_is_answered_is_forgotten(mine):
    async def run():
        async with serving() as (hub, _):
            sock, gone = socket.socketpair()
            gone.sendall(Greeting("view", "/", VERSION).line())
            gone.close()
            await asyncio.wait_for(hub._welcome(sock, b""), BOUND_S)
            assert hub.clients == {}

    asyncio.run(run())


def test_one_who_never_greets_is_not_waited_for(mine, monkeypatch):
    monkeypatch.setattr(hubs, "_GREETING_S", 0.01)

    async def run():
        async with serving():
            assert await off(raw, b"phasekeeper/%d " % PROTOCOL) == b""

    asyncio.run(run())


def test_an_unknown_kind_is_refused_by_name(mine):
    async def run():
        async with serving():
            with pytest.raises(GreetingRefused, match="there is no 'telnet' here"):
                await off(ask, "telnet")

    asyncio.run(run())


def test_another_users_connection_is_refused(mine, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.raises(ValueError, match="somebody else"):
        sockets.peer_pid(socket.socketpair()[0])


def test_more_clients_than_there_may_be_are_turned_away(mine, monkeypatch):
    monkeypatch.setattr(hubs, "MAX_CLIENTS", 1)

    async def run():
        async with serving() as (hub, _):
            with await off(join):
                for kind in (b"lsp", b"mcp", b"view"):
                    said = await off(raw, b"phasekeeper/%d %b 2f 1\n" % (PROTOCOL, kind))
                    assert said == b"no it serves 1 connections, which is the most\n"
                assert len(hub.clients) == 1
                assert json.loads(await off(ask, INFO))["served"] == 1

    asyncio.run(run())


# ---- the loopback form -------------------------------------------------------------------------


def test_the_port_and_its_secret_are_only_this_users_to_read(mine, monkeypatch):
    monkeypatch.setenv(FORM, "tcp")

    async def run():
        async with serving():
            return Path(find_address().endpoint).stat().st_mode & 0o777

    assert asyncio.run(run()) == 0o600


def test_a_proof_that_is_no_text_of_ours_is_refused_like_any_other(mine, monkeypatch):
    monkeypatch.setenv(FORM, "tcp")

    async def run():
        async with serving():
            line = f"phasekeeper/{PROTOCOL} view 2f {VERSION} 00.".encode() + b"\xff\n"
            assert await off(raw, line) == b"no the secret is wrong\n"

    asyncio.run(run())


@pytest.mark.parametrize("proof", ["", "00.11", "."])
def test_one_who_does_not_know_the_secret_is_refused(mine, monkeypatch, proof):
    monkeypatch.setenv(FORM, "tcp")

    async def run():
        async with serving() as (hub, _):
            greeting = Greeting("view", "/", VERSION, proof).line()
            assert await off(raw, greeting) == b"no the secret is wrong\n"
            assert not hub.clients

    asyncio.run(run())


def test_something_else_at_the_servers_port_is_not_taken_for_it(mine, monkeypatch):
    monkeypatch.setenv(FORM, "tcp")
    listener, _ = handshake.listen(find_address())
    sock, secret = handshake.connect(find_address(), BOUND_S)
    other, _ = listener.accept()
    other.sendall(b"00 ok 1\n")
    with pytest.raises(OSError, match="something else"):
        handshake.greet(sock, secret, Greeting("lsp", "/", VERSION), BOUND_S)
    for each in (other, sock, listener):
        each.close()


# ---- versions ----------------------------------------------------------------------------------


def test_a_newer_connector_makes_a_quiet_server_leave(mine):
    async def run():
        async with serving(is_daemon=True) as (_, work):
            with pytest.raises(GreetingRefused, match=r"\Arestart\Z"):
                await off(lambda: ask("lsp", version=NEWER))
            await asyncio.wait_for(work, BOUND_S)

    asyncio.run(run())


def test_a_newer_connector_joins_a_busy_server_which_leaves_after_its_last_client(mine):
    async def run():
        async with serving(is_daemon=True) as (hub, work):
            first = await off(join)
            second = await off(lambda: join(version=NEWER))
            first.close()
            await off(until, lambda: len(hub.clients) == 1)
            assert not work.done()
            second.close()
            await asyncio.wait_for(work, BOUND_S)

    asyncio.run(run())


@pytest.mark.parametrize("version", [OLDER, VERSION, f"{VERSION}.dev9", "nonsense"])
def test_no_other_connector_ends_a_server(mine, version):
    async def run():
        async with serving(is_daemon=True) as (hub, work):
            (await off(lambda: join(version=version))).close()
            await off(until, lambda: not hub.clients)
            assert not work.done() and not hub.stopping.is_set()

    asyncio.run(run())


def test_a_server_that_a_person_started_stays_for_newer_connectors(mine):
    async def run():
        async with serving() as (hub, _):
            (await off(lambda: join(version=NEWER))).close()
            await off(until, lambda: not hub.clients)
            assert not hub.stopping.is_set()

    asyncio.run(run())


def test_two_versions_side_by_side_come_to_rest_at_the_newer_one(home):
    """Each starts what it is; the older one joins, and nobody leaves a second time."""
    code = (
        "import sys, phasekeeper.server.version as v; v.VERSION = sys.argv.pop(1)\n"
        "from phasekeeper.server.cli.main import main; sys.exit(main())"
    )

    def started(version, *words):
        command = [sys.executable, "-I", "-c", code, version, *words]
        return home.popen(command, home.path, home.env)

    old = started(OLDER, "serve", "--background")
    until(home.answers)
    with pytest.raises(GreetingRefused):
        home.joined(version=VERSION)
    assert old.wait(BOUND_S) == 0
    new = started(VERSION, "serve", "--background")
    until(home.answers)
    home.joined(version=OLDER).close()
    home.joined(version=VERSION).close()
    assert started(OLDER, "serve", "--background").wait(BOUND_S) == 0
    assert (home.information()["pid"], home.information()["version"]) == (new.pid, VERSION)


@pytest.mark.parametrize(
    ("text", "numbers"), [("1.2.3", (1, 2, 3)), ("1.2rc1", (1,)), ("1.2.dev3", (1, 2)), ("x", ()), ("", ())]
)
def test_the_numbers_of_a_version(text, numbers):
    assert release(text) == numbers


# ---- ends --------------------------------------------------------------------------------------


def test_a_server_without_clients_ends(mine):
    async def run():
        async with serving(is_daemon=True, idle_s=0.05) as (_, work):
            await asyncio.wait_for(work, BOUND_S)

    asyncio.run(run())


def test_a_server_with_a_client_or_of_a_person_does_not_end_idle(mine, monkeypatch):
    monkeypatch.setattr(hubs, "_CHECK_S", 0.001)

    async def run():
        async with serving(is_daemon=True) as (hub, work):
            with await off(join):
                hub.idle_s = 0.0
                await off(ask, INFO)
                assert not work.done()
            await asyncio.wait_for(work, BOUND_S)
        async with serving(idle_s=0.0) as (_, work):
            for _ in range(3):
                await off(ask, INFO)
            assert not work.done()

    asyncio.run(run())


def test_a_server_whose_folder_was_cleared_leaves_and_touches_nothing_of_its_successor(mine, monkeypatch):
    monkeypatch.setattr(hubs, "_CHECK_S", 0.01)

    async def run():
        async with serving() as (_, work):
            address = find_address()
            Path(address.endpoint).unlink()
            Path(address.lock).unlink()
            async with serving() as (_, successor):
                await asyncio.wait_for(work, BOUND_S)
                await off(ask, INFO)
                assert not successor.done()

    asyncio.run(run())


def test_told_to_end_a_server_closes_its_clients_and_takes_its_socket_away(home):
    server = home.server()
    sock = home.joined()
    os.kill(server.pid, signal.SIGTERM)
    assert sock.recv(1) == b""
    sock.close()
    assert server.wait(BOUND_S) == 0
    assert not Path(home.address.endpoint).exists()
    assert (server.stdout.read(), server.stderr.read()) == (b"", b"")


def test_what_is_being_written_when_a_server_ends_is_finished(mine, monkeypatch):
    """The process ends after it, however long its client's front end was given."""
    begun, go, written = threading.Event(), threading.Event(), []
    monkeypatch.setattr(hubs, "_DRAIN_S", 0.01)

    def write():
        begun.set()
        written.append(go.wait(BOUND_S))

    async def front(*_):
        await asyncio.to_thread(write)
        return 0

    async def run():
        async with serving() as (hub, work):
            monkeypatch.setattr(lsp_server, "serve_lsp", front)
            with await off(lambda: join("lsp")):
                await off(begun.wait)
                hub.stopping.set()
                await asyncio.wait_for(work, BOUND_S)
                go.set()

    asyncio.run(run())
    assert written == [True]


def test_a_second_server_leaves_the_first_one_alone(home):
    first = home.server()
    assert home.start("serve", "--background").wait(BOUND_S) == 0
    assert home.information()["pid"] == first.pid


@pytest.mark.parametrize("code", [0, 1])
def test_a_connection_ends_with_the_exit_code_of_its_front_end(mine, monkeypatch, code):
    async def front(*_):
        return code

    async def run():
        monkeypatch.setattr(lsp_server, "serve_lsp", front)
        async with serving():
            with await off(lambda: join("lsp")) as sock:
                assert await off(lambda: sock.makefile("rb").read()) == exit_trailer(code)

    asyncio.run(run())


def test_a_viewer_hears_lines_of_json_and_no_exit_code(mine):
    async def run():
        async with serving():
            with await off(join) as sock:
                sock.sendall(b"[]\n")
                assert await off(sock.recv, 1) == b""

    asyncio.run(run())


def test_a_server_that_is_asked_to_stop_says_who_it_is_and_ends(mine):
    async def run():
        async with serving() as (_, work):
            assert json.loads(await off(ask, STOP)) == {"pid": os.getpid()}
            await asyncio.wait_for(work, BOUND_S)

    asyncio.run(run())


def test_a_front_end_that_fails_ends_its_connection_alone(mine, monkeypatch, caplog):
    async def broken(*_):
        raise RuntimeError("a fault")

    async def run():
        monkeypatch.setattr(lsp_server, "serve_lsp", broken)
        async with serving():
            with await off(join) as other:
                with await off(lambda: join("lsp")) as sock:
                    assert await off(lambda: sock.makefile("rb").read()) == exit_trailer(1)
                other.setblocking(False)
                with pytest.raises(BlockingIOError):
                    other.recv(1)

    asyncio.run(run())
    assert "client 2 (lsp) was ended" in caplog.text


def test_a_client_that_reads_nothing_is_ended_and_does_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(sockets, "MAX_UNREAD", 10_000)

    async def run():
        mine, theirs = socket.socketpair()
        _, writer = await sockets.open_streams(mine)
        with theirs:
            while not writer.transport.is_closing():
                writer.write(b"x" * 1000)
            writer.write(b"nothing happens any more")
            await asyncio.wait_for(writer.wait_closed(), BOUND_S)

    asyncio.run(run())


def test_a_line_without_end_is_not_gathered(monkeypatch):
    monkeypatch.setattr(sockets, "MAX_LINE", 1000)

    async def run():
        mine, theirs = socket.socketpair()
        reader, writer = await sockets.open_streams(mine)
        with theirs:
            theirs.sendall(b"x" * 5000)
            with pytest.raises(ValueError):
                await reader.readline()
        writer.close()

    asyncio.run(run())


def test_a_viewer_sees_the_runs_and_then_each_change(mine):
    root = mine.path / "work"
    (root / ".git").mkdir(parents=True)
    task(root, "T1")

    async def run():
        async with serving():
            sock = await off(join)
            reader, writer = await asyncio.open_connection(sock=sock)
            writer.write(json.dumps({"roots": [str(root)]}).encode() + b"\n")
            assert await said(reader, "roots") == [str(root)]
            [first] = await said(reader, "rows")
            assert (first["run"], first["phase"], first["next"]) == (
                ".ai-tools-chain/tasks/T1",
                "plan_review",
                "go on to codegen",
            )
            task(root, "T1", ok=False)
            while first["next"] != "go back to planning":
                [first] = await said(reader, "rows")
            writer.close()

    asyncio.run(run())


@pytest.mark.parametrize("line", [b"[]\n", b"{\n", b'{"roots": 3}\n', b"\n", b""])
def test_a_viewer_that_asks_for_nothing_sensible_is_ended(mine, line):
    async def run():
        async with serving():
            sock = await off(join)
            reader, writer = await asyncio.open_connection(sock=sock)
            writer.write(line)
            writer.write_eof()
            assert await asyncio.wait_for(reader.read(), BOUND_S) == b""
            writer.close()

    asyncio.run(run())


def test_what_a_viewer_says_after_its_wish_is_not_gathered():
    class Counting(asyncio.StreamReader):
        async def read(self, n=-1):
            assert n > 0
            return await super().read(n)

    async def run():
        reader = Counting()
        gone = asyncio.ensure_future(view_feed._disconnect(reader))
        reader.feed_data(b"x" * 1_000_000)
        reader.feed_eof()
        await asyncio.wait_for(gone, BOUND_S)

    asyncio.run(run())


async def said(reader, key):
    """The next thing of a kind that the server says to a viewer."""
    while line := await asyncio.wait_for(reader.readline(), BOUND_S):
        message = json.loads(line)
        if key in message:
            return message[key]
    raise AssertionError("the server said nothing more")
