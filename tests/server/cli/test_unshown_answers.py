"""Answers that stdout does not take: what was recorded stays so, and one sentence says what went wrong.

Each command is called with stdout closed, on a full disk, and as a pipe that nobody reads.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from phasekeeper.server.cli import catalog, main

from tests.cli_walkthroughs.driver import Drive

RUN = ".ai-tools-chain/tasks/T1"
CALLS: dict[str, tuple[str, ...]] = {
    "status": (),
    "next": (),
    "gates": (),
    "questions": (),
    "escalations": (),
    "explain": (),
    "can": ("T1", "planning"),
    "check": (),
    "workflow list": (),
    "workflow show": ("master-plan",),
    "workflow lint": ("own.yaml",),
    "workflow graph": ("master-plan",),
    "start": ("artifact-pipeline", "T2"),
    "report": ("T1", "planning", "ok"),
    "escalate": ("T1", "is this right?"),
    "answer": ("T1", "none", "yes", "--reason", "r"),
    "approve": ("T1", "--reason", "r"),
    "resolve": ("T1", "none", "yes", "--reason", "r"),
    "adopt": ("--all", "--reason", "r"),
    "override": ("T1", "--to", "test", "--reason", "r"),
    "redo": ("T1", "planning"),
    "claim": ("T1", "t-01", "--as", "ann"),
    "release": ("T1", "t-01", "--as", "ann"),
    "history": ("T1",),
    "merge-journal": ("no", "no", "no", "journal.jsonl"),
    "repair": ("T1",),
    "init": ("--yes",),
    "install": ("claude", "--yes"),
    "guard": ("on",),
    "verify": (),
    "trust": (),
    "serve": ("--stop",),
    "doctor": (),
    "demo": (),
    "fleet up": ("--project", "no name"),
    "fleet join": ("nats://127.0.0.1:9", "--project", "library", "--nkey", "no.nk"),
    "fleet status": (),
    "fleet leave": ("--project", "library"),
}
CONNECTIONS = {"lsp", "mcp", "hook"}
CARRIED_OUT = ("start", "report", "escalate", "redo", "release", "repair")
RECORDED = ("report", "escalate", "redo")


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drive:
    made = Drive(tmp_path, monkeypatch)
    assert made.start("artifact-pipeline", "T1") == RUN
    made.write(f"{RUN}/planning/planning.ai.json", {"id": "T1", "brief": "b"})
    made.write("own.yaml", "workflow: own\n")
    # No server of this machine's is looked for.
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    return made


@pytest.fixture(params=["closed", "full", "unread"])
def stdout(request: pytest.FixtureRequest) -> str:
    """The kind of standard output that takes nothing."""
    return request.param


@contextmanager
def broken(stdout: str) -> Iterator[None]:
    """That output in place of the captured one."""
    if stdout == "full":
        number = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, number = os.pipe()
        os.close(reader)
    # Closed without an error: what could not be written was dropped.
    with os.fdopen(number, "w", encoding="utf-8") as stream, pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdout", None if stdout == "closed" else stream)
        yield


def called(words: Sequence[str], stdout: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """(exit code, what stderr says) of a command."""
    with broken(stdout):
        code = main.main(words)
    return code, capsys.readouterr().err


def test_every_command_is_called_here() -> None:
    assert CALLS.keys() | CONNECTIONS == {entry.name for entry in catalog.COMMANDS}


@pytest.mark.parametrize("name", CALLS)
def test_no_answer_is_lost_without_a_word(
    name: str, drive: Drive, stdout: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = len(drive.records(RUN))
    code, said = called([*name.split(), *CALLS[name]], stdout, capsys)
    assert "Traceback" not in said
    assert len(drive.records(RUN)) == before + (name in RECORDED)
    if name in CARRIED_OUT:
        assert code == 4 and "carried out, but the answer could not be shown: " in said
    elif code == 4:
        assert "carried out" not in said
        assert "the answer could not be shown: " in said
    elif code == 141:
        assert stdout == "unread" and said == ""
    else:
        # What is refused or wrong has no answer to be lost, only words on stderr.
        assert code in (1, 2) and said.startswith("phasekeeper: ")


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("report", "--help")])
def test_help_that_cannot_be_shown_is_told(
    words: tuple[str, ...], stdout: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = called(words, stdout, capsys)
    assert code == (141 if stdout == "unread" else 4)
    assert "carried out" not in said


@pytest.mark.parametrize("ended", [">&-", "> /dev/full", "2>&-", "2> /dev/full", "<&- >&- 2>&-"])
def test_a_process_with_a_broken_stream_ends_as_it_should(ended: str, drive: Drive) -> None:
    """In a shell, with the interpreter's own end."""
    command = f"{sys.executable} -m phasekeeper.server.cli.main report T1 planning ok {ended}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == (0 if ended.startswith("2") else 4)
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    assert drive.records(RUN)[-1]["kind"] == "report"


def test_a_terminal_that_is_gone_is_no_word_of_a_person(
    drive: Drive, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Gone:
        def isatty(self) -> bool:
            return True

        def writelines(self, lines: object) -> None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(sys, "stdin", Gone())
    before = drive.files()
    with monkeypatch.context() as patched:
        patched.setattr("phasekeeper.server.cli.confirm.sys.stderr", Gone())
        assert main.main(["override", "T1", "--to", "test", "--reason", "r"]) == 1
    assert drive.files() == before
