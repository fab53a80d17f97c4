"""Commands that write through a running server: what they would do themselves, once, and in their turn."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.server.connector import command_call, handshake
from phasekeeper.server.connector.command_call import (
    BEGIN,
    CODE,
    DECLINED,
    HEADER,
    OFFER,
    PROGRESS,
    STDERR,
    STDOUT,
    WRITING,
    CommandCall,
    Offer,
    frame,
    frame_length,
)
from phasekeeper.server.connector.handshake import STOP
from phasekeeper.server.store.lock import run_lock

from tests.roots import EXAMPLES, TASKS, put, task
from tests.server.cli.served import WITHOUT_ENGINE, Served, on_terminal
from tests.server.servers import BOUND_S, Home, homes, until

FIX = {
    "files": ["skills/book-finder/SKILL.md"],
    "stateUpdates": {
        "applied_fixes": [{"fix_id": "FIX-1", "verification_result": "pending"}],
        "pending_fixes": [],
    },
}
FEES, LISTS, SKILL = "late-fees", "reading-lists", "skill-tuning-book-finder"
TOKEN, OTHER = "a" * 32, "b" * 32
SCRIPTS: dict[str, Sequence[Sequence[str]]] = {
    "start": (
        ("start", "artifact-pipeline", "T9", "--title", "Nine"),
        ("start", "artifact-pipeline", "T9"),
        ("start", "skill-tuning", "S1", "--json"),
        ("start", "skill-tuning", "../S1"),
    ),
    "report": (
        ("report", FEES, "test", "ok"),
        ("report", FEES, "codegen", "ok"),
        ("report", FEES, "codegen", "error", "--summary", "no idea", "--as", "ann", "--request-id", "r1"),
        ("report", FEES, "codegen", "error", "--request-id", "r1"),
        ("report", FEES, "review", "ok", "--request-id", "r1"),
        ("report", "lending-reminders", "Write", "ok", "--json"),
        ("report", "lending-reminders", "Write", "ok"),
        ("report", SKILL, "action-apply-fix", "ok", "--data", "fix.json"),
        ("report", LISTS, "F2", "blocked", "--task", f"{LISTS}-03", "--report", "F2.md"),
    ),
    "escalate": (
        ("escalate", FEES, "Is a fee a fee?", "--json"),
        ("escalate", LISTS, "Is a list a list?", "--task", f"{LISTS}-03", "--as", "ann"),
    ),
    "redo": (("redo", FEES, "planning", "--reason", "again"), ("redo", LISTS, "F1")),
    "claim": (
        ("claim", LISTS, f"{LISTS}-03", "--as", "ann", "--token", TOKEN),
        ("claim", LISTS, f"{LISTS}-03", "--as", "bob", "--token", OTHER),
        ("claim", LISTS, f"{LISTS}-04", "--as", "bob", "--token", OTHER, "--ttl", "60", "--json"),
        ("report", LISTS, "F2", "blocked", "--task", f"{LISTS}-03"),
    ),
    "release": (
        ("claim", LISTS, f"{LISTS}-03", "--as", "ann", "--token", TOKEN),
        ("release", LISTS, f"{LISTS}-03", "--token", OTHER),
        ("release", LISTS, f"{LISTS}-03", "--token", TOKEN),
        ("release", LISTS, f"{LISTS}-03", "--token", TOKEN),
    ),
}
OWN_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(\+00:00|Z)?|\b[0-9a-f]{16,}\b|\b[0-9]{10}\.[0-9]+\b")
"""What differs from one moment to the next: times, and the digests and signatures of what has them."""
REPORT = ("report", "T1", "codegen", "error", "--summary", "no idea")


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Served, Path]]:
    """A server, and a folder for copies of the examples."""
    with homes(10 * BOUND_S) as home:
        yield Served(home), home.path / "examples"


@pytest.fixture
def work(served: Served) -> Path:
    """A root with a task whose code is to be written."""
    root = served.home.path / "work"
    (root / ".git").mkdir(parents=True)
    task(root, "T1")
    return root


def copy_examples(root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(EXAMPLES, root, ignore=shutil.ignore_patterns("__pycache__"))
    (root / ".git").mkdir(exist_ok=True)
    put(root / "fix.json", FIX)
    put(root / "F2.md", "# Fix Report\n")


def without_time(said: Any) -> Any:
    return OWN_TIME.sub("~", said) if isinstance(said, str) else said


def files(root: Path) -> Mapping[str, tuple[str, int]]:
    """The text and mode of each file, but for the lock and who had it."""
    found = sorted(path for path in root.rglob("*") if path.is_file() and not path.name.startswith("lock"))
    return {
        str(path.relative_to(root)): (without_time(path.read_text()), path.stat().st_mode) for path in found
    }


def records(root: Path, run: str = f"{TASKS}/T1") -> list[Mapping[str, Any]]:
    journal = root / run / ".phasekeeper/journal.jsonl"
    return [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []


def call(root: Path, *words: str, env: Mapping[str, str]) -> bytes:
    """What a command sends to the server."""
    names = (*command_call.SAME, *command_call.SAME_FOR_WRITING, command_call.PATH)
    environment = {name: env[name] for name in names if name in env}
    folder, umask = str(root), command_call.umask_here()
    said = CommandCall(words, folder, command_call.identity_of(folder), False, "utf-8", umask, environment)
    return frame(STDOUT, said.to_bytes())


def read_frame(stream: Any) -> tuple[bytes, bytes]:
    header = stream.read(HEADER)
    return header[:1], stream.read(frame_length(header)) if header else b""


class Asker:
    """A command that has asked the server, and was offered that it is done."""

    def __init__(self, served: Served, root: Path, *words: str) -> None:
        self.home = served.home
        self.sock = self.home.joined(command_call.KIND)
        self.stream = self.sock.makefile("rb")
        self.sock.sendall(call(root, *words, env=self.home.env))
        assert read_frame(self.stream)[0] == OFFER

    def begin(self) -> None:
        """Agree; returns when the server knows it."""
        self.sock.sendall(BEGIN)
        self.home.information()

    def outcome(self) -> tuple[int, str]:
        """(exit code, what is said on stderr)."""
        said = ""
        while True:
            letter, content = read_frame(self.stream)
            if letter == CODE:
                return int(content), said
            assert letter, "the server said no more"
            said += content.decode() if letter == STDERR else ""

    def close(self) -> None:
        self.stream.close()
        self.sock.close()
        self.home.information()


# ---- the same as without it -------------------------------------------------------------------


def test_every_command_that_the_server_writes_for_is_compared() -> None:
    assert SCRIPTS.keys() == WRITING


@pytest.mark.parametrize("name", sorted(WRITING))
def test_the_server_writes_and_answers_what_the_command_does_itself(
    shared, as_user, asked, run, name: str
) -> None:
    served, root = shared
    as_user(served.home, root.parent)
    done = []
    for command, more in ((asked, ()), (run, ("--cold",))):
        copy_examples(root)
        os.chdir(root)
        answers = [[without_time(part) for part in command(*words, *more)] for words in SCRIPTS[name]]
        done.append((answers, files(root)))
    assert done[0] == done[1]
    assert {code for code, _, _ in done[0][0]} <= {0, 1, 2, 3}
    assert len({str(answer) for answer in done[0][0]}) > 1


@pytest.mark.parametrize("columns", [70, 160])
def test_a_terminal_shows_the_same(shared, columns: int) -> None:
    served, root = shared
    env = {
        key: value for key, value in served.home.env.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")
    }
    env |= {"TERM": "xterm-256color"}
    python, words = (sys.executable, "-I"), SCRIPTS["report"][2]
    shown = []
    for line in ((*python, "-c", WITHOUT_ENGINE, *words), (*python, "-m", "phasekeeper", *words, "--cold")):
        copy_examples(root)
        shown.append(on_terminal(line, root, env, columns))
    assert shown[0] == shown[1]
    assert b"recorded" in shown[0][1] and b"\x1b[" in shown[0][1]


def test_a_record_is_the_callers_by_name_and_channel(work, served, as_user, asked, monkeypatch) -> None:
    person = put(served.home.path / ".gitconfig", "[user]\nname = Ada\nemail = ada@example.org\n")
    as_user(served.home, work)
    assert asked(*REPORT)[0] == 0
    person.write_text("[user]\nname = Bob\nemail = bob@example.org\n")
    assert asked("escalate", "T1", "Now?")[0] == 3
    assert [(record["actor"], record["channel"]) for record in records(work)] == [
        ("Ada <ada@example.org>", "cli"),
        ("Bob <bob@example.org>", "cli"),
    ]


def test_a_root_that_is_open_shows_what_was_written(work, served, as_user, asked, run) -> None:
    served.watch(work)
    as_user(served.home, work)
    for number in range(5):
        assert asked("escalate", "T1", f"Question {number}?")[0] == 3
        assert asked("status") == run("status", "--cold")
        assert f"Question {number}?" in asked("questions")[1]


def test_an_answer_that_cannot_be_printed_is_told_and_it_is_done(work, served) -> None:
    line = f'{sys.executable} -I -c "{WITHOUT_ENGINE}" {" ".join(REPORT[:4])} > /dev/full'
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=False, cwd=work, env=served.home.env)
    assert (done.returncode, len(records(work))) == (4, 1)
    assert b"carried out, but the answer could not be shown" in done.stderr


# ---- what the server leaves to the command ----------------------------------------------------


def declined(words: Sequence[str]) -> bool:
    return command_call.ask_server(words) is None


def test_what_only_the_command_itself_can_do_is_left_to_it(work, served, as_user) -> None:
    as_user(served.home, work)
    os.mkfifo(work / "fifo")
    for words in (
        (*REPORT, "--cold"),
        (*REPORT, "--data", "-"),
        (*REPORT, "--report", "-"),
        (*REPORT, "--report", "fifo"),
        (*REPORT, "--report", "nowhere"),
        (*REPORT, "--report", "/dev/null"),
        ("report", "nothing-like-it", "codegen", "ok"),
        ("report", "T1"),
        ("report", "--help"),
        ("release", "T1", "t-01"),
        ("approve", "T1", "--reason", "r"),
        ("override", "T1", "--to", "done", "--reason", "r"),
        ("repair", "T1"),
        ("trust",),
        ("verify",),
    ):
        assert declined(words), words
    assert records(work) == []


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("GIT_CONFIG_GLOBAL", "/nowhere"),
        ("LOGNAME", "somebody"),
        ("TZ", "Asia/Tokyo"),
        ("XDG_STATE_HOME", "/nowhere"),
        ("PATH", "/nowhere"),
    ],
)
def test_another_environment_is_declined(work, served, as_user, monkeypatch, variable, value) -> None:
    as_user(served.home, work)
    monkeypatch.setenv(variable, value)
    assert declined(REPORT)
    assert records(work) == []


def test_another_umask_is_declined(work, served, as_user) -> None:
    as_user(served.home, work)
    before = os.umask(0o077)
    try:
        assert before != 0o077
        assert declined(REPORT)
    finally:
        os.umask(before)
    assert records(work) == []


@pytest.mark.parametrize("answer", ["other folders", "no right to write"])
def test_who_sees_other_files_or_may_not_write_does_not_agree(
    work, served, as_user, monkeypatch, answer: str
) -> None:
    as_user(served.home, work)
    identity_of = command_call.identity_of
    if answer == "other folders":
        run = str(work / TASKS / "T1")
        monkeypatch.setattr(
            command_call, "identity_of", lambda path: "1:1" if path == run else identity_of(path)
        )
    else:
        monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert declined(REPORT)
    until(lambda: not served.home.information()["clients"])
    assert records(work) == []


def test_a_file_that_is_another_one_here_is_not_taken(work, served, as_user) -> None:
    """The server's `/dev/fd/N` is another file than the command's."""
    as_user(served.home, work)
    text = put(work / "text.md", "# Mine\n")
    with text.open() as file:
        assert declined((*REPORT, "--report", f"/dev/fd/{file.fileno()}"))
    assert records(work) == []


# ---- once, or not at all ----------------------------------------------------------------------


@pytest.fixture
def answering(home: Home, root: Path, as_user) -> Iterator[Callable[..., Any]]:
    """Runs a command that a server of our own answers: (code, out, err, what was agreed)."""
    Path(home.address.folder).mkdir(mode=0o700, parents=True)
    listener, _ = handshake.listen(home.address)
    listener.settimeout(BOUND_S)
    task(root, "T1")

    def answer(said: bytes, more: bytes) -> bytes:
        sock, _ = listener.accept()
        with sock, sock.makefile("rb") as stream:
            stream.readline()
            sock.sendall(b"ok\n")
            stream.read(frame_length(stream.read(HEADER)))
            sock.sendall(said)
            if not more:
                sock.shutdown(socket.SHUT_WR)
            agreed = b""
            # A command that has heard enough closes.
            with suppress(ConnectionError):
                agreed = stream.read(1)
                sock.sendall(more if agreed else b"")
            return agreed

    def called(command: Callable[..., Any], said: bytes, more: bytes = b"") -> Any:
        as_user(home, root)
        with ThreadPoolExecutor(1) as thread:
            answered = thread.submit(answer, said, more)
            done = command(*REPORT)
            return *done, answered.result(BOUND_S)

    with listener:
        yield called


def offer(*places: Path, look: str = "`phasekeeper history T1` shows it") -> bytes:
    said = Offer(look, [(str(path), command_call.identity_of(str(path))) for path in places])
    return frame(OFFER, said.to_bytes())


@pytest.mark.parametrize(
    "said",
    [
        b"",
        frame(DECLINED),
        offer(Path("/"))[:-1],
        frame(OFFER, b"see\0/\0"),
        frame(OFFER, b"see\0/"),
        frame(OFFER, b"see\0/nowhere\x001:1"),
        frame(CODE, b"0"),
        frame(STDOUT, b"done\n") + frame(CODE, b"0"),
    ],
)
def test_without_an_offer_the_command_writes_itself(answering, root, run, said: bytes) -> None:
    code, out, _, agreed = answering(run, said)
    assert (code, out.startswith("recorded: codegen error"), agreed) == (0, True, b"")
    assert len(records(root)) == 1


@pytest.mark.parametrize(
    "more",
    [
        frame(STDOUT, b"half an answer"),
        frame(DECLINED),
        frame(CODE, b"none"),
        frame(CODE, b"0")[:-1],
        b"not a frame at all",
    ],
)
def test_once_it_was_agreed_a_lost_answer_is_an_unknown_outcome(answering, root, asked, more: bytes) -> None:
    code, out, err, agreed = answering(asked, offer(root), more)
    assert (code, out, agreed) == (4, "", BEGIN)
    assert "whether it is done is not known. `phasekeeper history T1` shows it" in err
    assert records(root) == []


def test_an_interrupted_wait_says_that_the_outcome_is_unknown(answering, root, asked, monkeypatch) -> None:
    def interrupt(sock: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command_call, "_receive_answer", interrupt)
    code, _, err, agreed = answering(asked, offer(root), frame(CODE, b"0"))
    assert (code, agreed) == (130, BEGIN)
    assert "interrupted while the server carried this out; whether it is done is not known" in err


def test_what_was_offered_and_not_agreed_to_is_not_done(work, served) -> None:
    first = Asker(served, work, *REPORT)
    first.close()
    second = Asker(served, work, *REPORT)
    second.sock.sendall(b"?")
    assert read_frame(second.stream) == (b"", b"")
    second.close()
    until(lambda: not served.home.information()["clients"])
    assert records(work) == []


def test_a_server_that_dies_while_it_writes_leaves_an_unknown_outcome_and_one_record_at_most(
    work, served
) -> None:
    with run_lock(work, f"{TASKS}/T1"):
        command = served.home.popen(
            [sys.executable, "-I", "-c", WITHOUT_ENGINE, *REPORT, "--request-id", "r1"], work, served.home.env
        )
        # It is told that it waits for the lock.
        assert f"{TASKS}/T1 is being written by" in command.stderr.readline().decode()
        served.process.kill()
        said = command.stderr.read().decode()
        assert command.wait() == 4
    assert "whether it is done is not known" in said
    assert f"`phasekeeper history {TASKS}/T1` shows it" in said and "the same --request-id" in said
    assert records(work) == []
    again = served.home.popen(
        [sys.executable, "-I", "-m", "phasekeeper", *REPORT, "--request-id", "r1"], work, served.home.env
    )
    assert again.wait() == 0
    assert len(records(work)) == 1


# ---- in turn ----------------------------------------------------------------------------------


def test_who_waits_for_others_of_the_server_is_told_and_served_in_order(work, served) -> None:
    with run_lock(work, f"{TASKS}/T1"):
        waiting = [Asker(served, work, "escalate", "T1", f"Question {number}?") for number in range(6)]
        for each in waiting:
            each.begin()
        told = [read_frame(each.stream)[1].decode() for each in waiting]
    assert [each.outcome()[0] for each in waiting] == [3] * 6
    for each in waiting:
        each.close()
    assert [record["message"] for record in records(work)] == [f"Question {number}?" for number in range(6)]
    assert "is being written by process" in told[0]
    assert all("is being written by others of this server: waited for 1 s" in said for said in told[1:])


def test_one_that_went_away_while_it_waited_is_not_begun(work, served) -> None:
    with run_lock(work, f"{TASKS}/T1"):
        waiting = [Asker(served, work, "escalate", "T1", f"Question {number}?") for number in range(3)]
        for each in waiting:
            each.begin()
        waiting[1].close()
    assert [waiting[number].outcome()[0] for number in (0, 2)] == [3, 3]
    assert [record["message"] for record in records(work)] == ["Question 0?", "Question 2?"]
    for number in (0, 2):
        waiting[number].close()


def test_a_server_that_ends_begins_nothing_more_and_says_so(work, served) -> None:
    with run_lock(work, f"{TASKS}/T1"):
        waiting = [Asker(served, work, "escalate", "T1", f"Question {number}?") for number in range(2)]
        for each in waiting:
            each.begin()
        # The first has begun: it waits for the lock.
        assert read_frame(waiting[0].stream)[0] == PROGRESS
        served.home.ask(STOP)
        until(lambda: not Path(served.home.address.endpoint).exists())
    assert waiting[0].outcome()[0] == 3
    assert waiting[1].outcome() == (
        1,
        "phasekeeper: the server ends, and nothing was changed. Run it again\n",
    )
    assert [record["message"] for record in records(work)] == ["Question 0?"]


def test_many_at_once_are_all_recorded_once(work, served, as_user) -> None:
    as_user(served.home, work)
    calls = [("escalate", "T1", f"Question {number}?") for number in range(24)]
    with ThreadPoolExecutor(len(calls)) as threads:
        answers = list(threads.map(command_call.ask_server, calls))
    assert [answer and answer.code for answer in answers] == [3] * len(calls)
    assert sorted(record["message"] for record in records(work)) == sorted(words[2] for words in calls)
