"""A decision that nobody confirmed leaves nothing behind, on any surface: no key, id, lock or folder."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from phasekeeper.orchestration.updates.commands import Command, CommandRefused
from phasekeeper.server.disk import decision_keys
from phasekeeper.server.workspace.apply import prepare_decision, record_decision
from phasekeeper.server.workspace.roots import UsageError
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import loop
from tests.server.lsp.client import Client, run_with
from tests.server.mcp.rig import ERAS, call, rig
from tests.server.mcp.test_deciding import Person

RUN, QUESTION = ".claude/state", "severe:1:WQ-1"
BOUND_S = 60
ANSWER = Command("answer", question=QUESTION, option="resolve", why="fine")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


@pytest.fixture
def work(tmp_path: Path, state: Path) -> Path:
    """A run that awaits a person, and that nobody has written to."""
    root = tmp_path / "work"
    (root / ".git").mkdir(parents=True)
    loop(root)
    return root


def everything(*folders: Path) -> Mapping[str, bytes | None]:
    """All files below folders with their bytes, and all folders."""
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for folder in folders
        for path in sorted(folder.rglob("*"))
    }


# ---- on a terminal --------------------------------------------------------------------------------


def asked(work: Path, *words: str) -> tuple[subprocess.Popen[bytes], int]:
    """The command, once it asks for the run's name, and the person's end of its terminal."""
    pty = pytest.importorskip("pty")
    person, device = pty.openpty()
    command = [sys.executable, "-I", "-m", "phasekeeper", *words, "--reason", "fine"]
    # Its terminal is the controlling one, so that Ctrl-C and a hang-up reach it as they do in a shell.
    begin = "import fcntl, os, signal, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
    # What starts the tests may ignore these, as nohup and a shell's background do.
    begin += "; [signal.signal(each, signal.SIG_DFL) for each in (signal.SIGINT, signal.SIGHUP)]"
    begin += "; os.execv(sys.argv[1], sys.argv[1:])"
    process = subprocess.Popen(
        [sys.executable, "-c", begin, *command], cwd=work, stdin=device, stdout=device, stderr=device
    )
    os.close(device)
    shown = b""
    while b"to confirm: " not in shown:
        shown += os.read(person, 4096)
    return process, person


@pytest.mark.parametrize(
    ("typed", "code"),
    [(b"no\n", 1), (b"\n", 1), (b"\x04", 1), (b"\x03", 130), (None, -signal.SIGHUP)],
    ids=["no", "nothing", "ctrl-d", "ctrl-c", "closed"],
)
@pytest.mark.parametrize(
    "words",
    [("answer", RUN, QUESTION, "resolve"), ("override", RUN, "--to", "execute")],
    ids=["answer", "override"],
)
def test_a_terminal_where_nobody_confirms(work, state, words, typed, code):
    before = everything(work, state)
    process, person = asked(work, *words)
    if typed is None:
        os.close(person)
    else:
        # Python may miss the first Ctrl-C, right before it begins to read: a person presses it again.
        for _ in range(BOUND_S):
            os.write(person, typed)
            with suppress(subprocess.TimeoutExpired):
                process.wait(1 if typed == b"\x03" else BOUND_S)
                break
    assert process.wait(BOUND_S) == code
    if typed is not None:
        os.close(person)
    assert everything(work, state) == before


def test_a_name_typed_on_a_terminal_makes_key_id_and_record(work, state):
    process, person = asked(work, "answer", RUN, QUESTION, "resolve")
    os.write(person, b".claude/state\n")
    assert process.wait(BOUND_S) == 0
    os.close(person)
    assert (work / RUN / ".phasekeeper/journal.jsonl").exists()
    assert {path.suffix for path in (state / "phasekeeper").rglob("*") if path.is_file()} == {".key", ".json"}


# ---- in an editor and over MCP --------------------------------------------------------------------


def test_an_editor_that_shows_a_decision_and_is_told_no(work, state):
    async def ask(client: Client) -> None:
        await client.initialize(work, trusted=True, phasekeeper={"client": "vscode", "decides": True})
        await client.ready(work)
        before = everything(work, state)
        for target in (
            {"kind": "answer", "question": QUESTION, "option": "resolve"},
            {"kind": "override", "to": "execute"},
        ):
            asked = {"root": str(work), "run": RUN, **target}
            prepared = await client.request("phasekeeper/prepareDecision", asked)
            assert prepared["title"]
        assert everything(work, state) == before

    run_with(ask)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "person",
    [Person("decline"), Person("cancel"), Person(decision="resolve", reason=" ")],
    ids=["decline", "cancel", "no reason"],
)
def test_a_dialog_of_an_assistants_client_that_is_declined(work, state, era, person):
    async def ask() -> None:
        before = everything(work, state)
        async with rig() as r, r.client(work, era, elicitation_callback=person) as client:
            data = await call(client, "request_decision", question=QUESTION)
            assert data["decided"] is False
        assert person.asked
        assert everything(work, state) == before

    asyncio.run(asyncio.wait_for(ask(), BOUND_S))


# ---- confirmed, and not possible any more ---------------------------------------------------------


def test_a_confirmed_decision_about_what_was_changed_meanwhile(work, state):
    decision = prepare_decision(Workspace(work), RUN, ANSWER)
    path = work / RUN / "loop.state.json"
    path.write_text(path.read_text().replace("broken", "customer passwords are public"))
    before = everything(work, state)
    with pytest.raises(CommandRefused, match="was changed meanwhile"):
        record_decision(Workspace(work), decision, "ann", "terminal")
    assert everything(work, state) == before


# ---- what cannot be signed is refused before a person is asked, without trying --------------------


def refused(work: Path, state: Path, match: str) -> None:
    before = everything(work, state)
    with pytest.raises(UsageError, match=match):
        prepare_decision(Workspace(work), RUN, ANSWER)
    assert everything(work, state) == before


def test_a_key_that_others_could_read(work, state):
    decision_keys.make_key()
    decision_keys.key_path().chmod(0o644)
    refused(work, state, "can be read or written by others")


def test_an_id_that_is_damaged(work, state):
    decision_keys.make_repository_key(work)
    decision_keys.repository_path(work).write_text("{")
    refused(work, state, "there is no id of")


def test_a_state_folder_that_is_a_file(work, state):
    (state / "phasekeeper").write_text("in the way")
    refused(work, state, "is no folder that can be written in")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_state_folder_that_cannot_be_written(work, state):
    state.chmod(0o500)
    refused(work, state, "is no folder that can be written in")


def test_an_id_that_outlived_the_users_key_is_used_on(work, state):
    decision_keys.make_repository_key(work)
    decision_keys.key_path().unlink()
    decision = prepare_decision(Workspace(work), RUN, ANSWER)
    assert record_decision(Workspace(work), decision, "ann", "terminal").evaluation.questions == ()
