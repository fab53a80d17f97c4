"""The answers of a connector that has no server yet: those of the server, once, in both eras."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from phasekeeper.server.connector import early_answers
from phasekeeper.server.connector.address import try_lock
from phasekeeper.server.connector.early_answers import AnswerFilter, EarlyAnswers, early_result

from tests.roots import TASKS, task
from tests.server.mcp.rig import LIMIT_S, async_test
from tests.server.mcp.snapshot import (
    EARLY,
    answer_of_server,
    discover,
    early_answers_of_server,
    initialize,
    text_of_file,
)

PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}


def line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


# ---- what is answered -------------------------------------------------------------------------


@async_test
async def test_the_file_holds_what_the_server_answers(root: Path) -> None:
    """After a change: `python -m tests.server.mcp.snapshot`."""
    assert EARLY.read_text(encoding="utf-8") == text_of_file(await early_answers_of_server(root))


@pytest.mark.parametrize(
    "request_of",
    [*map(initialize, (*HANDSHAKE_PROTOCOL_VERSIONS, "1999-01-01")), discover("2026-07-28"), PING],
    ids=lambda request: request["method"],
)
@async_test
async def test_a_connector_says_what_the_server_would(root: Path, request_of: dict[str, Any]) -> None:
    said = json.loads(EarlyAnswers().take(line(request_of)))
    assert said == await answer_of_server(request_of, root)


@pytest.mark.parametrize(
    "message",
    [
        discover("2031-01-01"),
        {**initialize("2025-11-25"), "id": None},
        {**initialize("2025-11-25"), "id": True},
        {**initialize("2025-11-25"), "params": {"protocolVersion": "2025-11-25"}},
        {**initialize("2025-11-25"), "params": []},
        {**discover("2026-07-28"), "params": {}},
        {**PING, "jsonrpc": "1.0"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/list"},
        [PING],
    ],
)
def test_what_only_the_server_can_answer_is_left_to_it(message: Any) -> None:
    early = EarlyAnswers()
    assert early.take(line(message)) == b""
    assert early.take(line(PING)) == b"", "what follows is answered in its order"
    assert early.answered == []


def test_lines_may_come_in_pieces_and_notifications_ask_for_nothing() -> None:
    early = EarlyAnswers()
    whole = line(initialize("2025-06-18")) + line({"jsonrpc": "2.0", "method": "notifications/initialized"})
    out = b"".join(early.take(bytes([byte])) for byte in whole + line(PING))
    assert [json.loads(each)["id"] for each in out.splitlines()] == [1, 2]
    assert early.answered == [1, 2]


def test_a_line_without_an_end_and_what_is_no_json_end_the_early_answers() -> None:
    for rubbish in (b"x" * (early_answers.MOST_BYTES + 1), b"{nothing\n", b"[" * 5_000 + b"\n"):
        early = EarlyAnswers()
        assert early.take(rubbish) == b""
        assert early.take(b"\n" + line(PING)) == b""


def test_a_result_is_made_anew_for_each_request() -> None:
    one = early_result(initialize("2025-06-18"))
    other = early_result(initialize("2024-11-05"))
    assert (
        one and other and (one["protocolVersion"], other["protocolVersion"]) == ("2025-06-18", "2024-11-05")
    )


# ---- what is dropped --------------------------------------------------------------------------


@pytest.mark.parametrize("piece", [1, 7, 10_000])
def test_an_answer_that_was_given_already_is_dropped_and_all_else_passes(piece: int) -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}
    notice = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"id": 1}}
    first = line({"jsonrpc": "2.0", "id": 1, "result": {}})
    kept = [line(notice), line(asked), b"no json\n", line({"jsonrpc": "2.0", "id": 3, "result": {}})]
    later = line({"jsonrpc": "2.0", "id": 1, "result": {"again": True}})
    whole = kept[0] + kept[1] + first + kept[2] + kept[3] + later + b"an unfinished line"
    dropping = AnswerFilter([1])
    out = b"".join(dropping.pass_on(whole[at : at + piece]) for at in range(0, len(whole), piece))
    assert out + dropping.rest() == b"".join([*kept, later, b"an unfinished line"])


# ---- real processes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "first", [initialize("2025-06-18"), discover("2026-07-28")], ids=["handshake", "modern"]
)
@pytest.mark.parametrize("more", [(), ("--standalone",)], ids=["hub", "standalone"])
def test_an_assistant_is_answered_once_while_the_server_starts_and_then_by_it(
    home: Any, root: Path, first: dict[str, Any], more: tuple[str, ...]
) -> None:
    task(root, "T1")
    process = home.start("mcp", *more, cwd=root)
    call: dict[str, Any] = {"jsonrpc": "2.0", "id": 3, "method": "tools/call"}
    call["params"] = {"name": "status", "arguments": {}}
    said = [first, PING]
    if first["method"] == "initialize":
        said.append({"jsonrpc": "2.0", "method": "notifications/initialized"})
    else:
        call["params"]["_meta"] = first["params"]["_meta"]
        said = [first]
    process.stdin.write(b"".join(map(line, [*said, call])))
    process.stdin.flush()
    answers = [
        json.loads(process.stdout.readline())
        for _ in range(len(said) - (first["method"] == "initialize") + 1)
    ]
    assert [each["id"] for each in answers] == ([1, 2, 3] if first["method"] == "initialize" else [1, 3])
    assert answers[-1]["result"]["structuredContent"]["runs"][0]["run"] == f"{TASKS}/T1"
    out, _ = process.communicate(timeout=LIMIT_S)
    assert (out, process.returncode) == (b"", 0)


def test_initialize_is_answered_although_no_server_comes_up(home: Any, root: Path) -> None:
    """Who holds the lock of the server never listens: the connector waits, and its client does not."""
    Path(home.address.lock).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = try_lock(home.address.lock)
    assert lock is not None
    process = home.start("mcp", cwd=root, PHASEKEEPER_WAIT_S="600")
    process.stdin.write(line(initialize("2025-11-25")))
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "phasekeeper"
    process.stdin.close()
    assert process.wait(LIMIT_S) == 0


def test_the_handshake_of_asyncio_is_not_needed() -> None:
    """A connector that answers early imports no module that takes long."""
    import subprocess
    import sys

    code = (
        "import sys; from phasekeeper.server.connector.early_answers import EarlyAnswers as E; "
        f"E().take({line(initialize('2025-11-25'))!r}); "
        "print(sorted({'asyncio', 'pydantic', 'mcp', 'socket'} & {*sys.modules}))"
    )
    assert subprocess.check_output([sys.executable, "-I", "-c", code], text=True).strip() == "[]"
