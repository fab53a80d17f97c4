"""Commands that a running server carries out: byte for byte what they print by themselves, or not at all."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from phasekeeper.server.cli import catalog
from phasekeeper.server.connector import command_call, handshake
from phasekeeper.server.connector.command_call import CODE, COMMANDS, READING, STDOUT, WRITING, frame
from phasekeeper.server.connector.handshake import GreetingRefused
from phasekeeper.server.fence.assistant_rules import DECISIONS

from tests.roots import EXAMPLES, TASKS, put, task
from tests.server.cli.served import WITHOUT_ENGINE, Served, on_terminal
from tests.server.servers import BOUND_S, homes, until

RUN = "late-fees"
FOLDER = f"{TASKS}/{RUN}"
CALLS: dict[str, tuple[tuple[str, ...], ...]] = {
    "status": ((), ("--json",), ("--run", RUN), (FOLDER,), (TASKS,), (RUN, "--json")),
    "next": ((), ("--json",), (RUN,), ("--run", RUN, "--json"), (TASKS,), (f"{FOLDER}/state.json", "--json")),
    "gates": ((), ("--json",), (RUN,)),
    "questions": ((), ("--json",), (RUN,)),
    "escalations": ((), ("--json",), ("--markdown",), (RUN,)),
    "check": (
        (),
        ("--hints",),
        ("--gates", "--basis", "measured"),
        ("--allow", "waiting"),
        *(("--format", form) for form in ("json", "sarif", "github")),
        ("--run", RUN),
    ),
    "explain": ((RUN,), (RUN, "--json")),
    "history": ((RUN,), (RUN, "--json"), (RUN, "--events"), ("lending-loans",)),
    "can": ((RUN, "codegen"), (RUN, "review", "--json")),
}
EVERY = [(name, *words) for name, calls in CALLS.items() for words in calls]


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Served, Path]]:
    """A server that watches a copy of the examples."""
    with homes(10 * BOUND_S) as home:
        root = home.path / "examples"
        shutil.copytree(EXAMPLES, root)
        (root / ".git").mkdir(exist_ok=True)
        escalating = home.start("escalate", RUN, "Is a fee of nothing a fee?", cwd=root)
        assert escalating.wait(BOUND_S) == 3
        served = Served(home)
        served.watch(root)
        yield served, root
        served.end()


# ---- the same answer --------------------------------------------------------------------------


def test_every_command_that_the_server_carries_out_is_compared_and_can_look_itself() -> None:
    assert CALLS.keys() == READING
    offering = {
        entry.name
        for entry in catalog.COMMANDS
        if any("--cold" in argument.names for argument in entry.arguments)
    }
    assert offering == COMMANDS
    assert not WRITING & {name.split()[-1] for name in DECISIONS}


@pytest.mark.parametrize(
    ("below", "words"),
    [("", words) for words in EVERY]
    # Paths among the words are from the root.
    + [(".phasekeeper", words) for words in EVERY if not any(word.startswith(TASKS) for word in words)],
    ids=str,
)
def test_the_server_answers_what_the_command_finds_itself(shared, as_user, asked, run, below, words) -> None:
    served, root = shared
    as_user(served.home, root / below)
    assert asked(*words) == run(*words, "--cold")


def test_a_root_that_is_named_and_a_folder_outside_of_it_are_the_callers(shared, as_user, asked, run) -> None:
    served, root = shared
    as_user(served.home, root.parent)
    for words in (
        ["next", "--root", "examples"],
        ["check", "--format", "github", "examples"],
        ["questions", "--root", str(root)],
        ["gates", f"examples/{FOLDER}"],
        ["status", "examples/.orchestrator"],
    ):
        assert asked(*words) == run(*words, "--cold")


@pytest.mark.parametrize("columns", [70, 160])
@pytest.mark.parametrize("name", sorted(READING))
def test_a_terminal_shows_the_same(shared, name: str, columns: int) -> None:
    served, root = shared
    env = {
        name: value for name, value in served.home.env.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")
    }
    env |= {"TERM": "xterm-256color"}
    words = (name, *CALLS[name][0])
    python = (sys.executable, "-I")
    cold = on_terminal((*python, "-m", "phasekeeper", *words, "--cold"), root, env, columns)
    warm = on_terminal((*python, "-c", WITHOUT_ENGINE, *words), root, env, columns)
    assert warm == cold
    assert b"\x1b[" in cold[1]


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"COLUMNS": "44"}, {"LC_ALL": "C"}])
def test_the_wishes_of_the_environment_are_respected(shared, env: dict[str, str]) -> None:
    served, root = shared
    env = {**served.home.env, "TERM": "xterm", **env}
    python = (sys.executable,)
    cold = on_terminal((*python, "-m", "phasekeeper", "status", "--cold"), root, env, 130)
    assert on_terminal((*python, "-c", WITHOUT_ENGINE, "status"), root, env, 130) == cold


def test_projects_and_warnings_of_the_configuration_are_told_alike(served, as_user, asked, run) -> None:
    root = served.home.path / "work"
    (root / ".git").mkdir(parents=True)
    put(root / ".phasekeeper/config.yaml", "projects: [apps/*]\nworkflows: {x/*: none}\n")
    for name in ("a", "b"):
        task(root / "apps" / name, "T1", ok=name == "a")
    served.watch(root)
    as_user(served.home, root)
    for words in (
        ["status"],
        ["status", "--json"],
        ["check"],
        ["next", f"a/{TASKS}/T1"],
        ["gates", "apps"],
    ):
        code, out, err = asked(*words)
        assert (code, out, err) == run(*words, "--cold")
        assert "no workflow is called 'none'" in out + err


# ---- the moment that is answered about --------------------------------------------------------


def test_what_was_saved_before_the_question_is_in_the_answer(served, as_user, asked, run) -> None:
    root = served.home.path / "work"
    (root / ".git").mkdir(parents=True)
    # More than the server looks at anyway because they were evaluated last.
    for number in range(40):
        task(root, f"T{number}")
    served.watch(root)
    as_user(served.home, root)
    for number in range(10):
        for ok in (False, True):
            put(root / TASKS / f"T{number}/review/plan-review.json", {"ok": ok})
            code, out, err = asked("status")
            assert (out.count("plan-review failed"), code, err) == (0 if ok else 1, 0, "")
            assert asked("gates", f"T{number}") == run("gates", f"T{number}", "--cold")
            assert asked("status") == run("status", "--cold")
    task(root, "T99")
    assert f"{TASKS}/T99" in asked("status")[1]


# ---- what the server leaves to the command ----------------------------------------------------


def declined(words: Sequence[str]) -> bool:
    return command_call.ask_server(words) is None


def test_a_root_that_is_not_open_is_not_opened_for_a_question(served, as_user, run) -> None:
    root = served.home.path / "work"
    (root / ".git").mkdir(parents=True)
    task(root, "T1")
    as_user(served.home, root)
    assert declined(["status"]) and f"{TASKS}/T1" in run("status")[1]
    assert served.home.information()["roots"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("status", "nowhere"),
        ("status", "--help"),
        ("status", "--jsn"),
        ("status", "--cold"),
        ("status", "--col"),
        ("explain",),
        ("next", "--run", "nothing-like-it"),
        ("can", RUN, "no-such-step"),
        ("doctor",),
        (),
    ],
    ids=" ".join,
)
def test_wrong_use_help_and_what_is_no_reading_are_left_to_the_command(shared, as_user, words) -> None:
    served, root = shared
    as_user(served.home, root)
    assert declined(words)


def test_a_root_with_a_broken_definition_or_without_runs_is_looked_at_by_the_command(
    served, as_user, run
) -> None:
    root = served.home.path / "work"
    (root / ".git").mkdir(parents=True)
    task(root, "T1")
    served.watch(root)
    as_user(served.home, root)
    assert not declined(["status"])
    put(root / ".phasekeeper/workflows/own.yaml", "workflow: own\nrulez: 1\n")
    assert declined(["status"]) and "rulez" in run("status")[2]
    (root / ".phasekeeper/workflows/own.yaml").unlink()
    assert not declined(["status"])
    shutil.rmtree(root / TASKS / "T1")
    assert declined(["status"]) and "no run was found" in run("status")[2]


def test_another_home_another_view_of_the_files_and_a_folder_that_is_gone_are_declined(
    shared, as_user, monkeypatch, tmp_path
) -> None:
    served, root = shared
    as_user(served.home, root)
    assert not declined(["status"])
    with monkeypatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(tmp_path))
        assert declined(["status"])
    with monkeypatch.context() as patched:
        patched.setattr(command_call, "identity_of", lambda folder: "1:1")
        assert declined(["status"])
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert declined(["status"])


def test_a_server_of_another_version_is_not_asked_and_does_not_end_for_it(served) -> None:
    with pytest.raises(GreetingRefused, match="another version"):
        served.home.ask(command_call.KIND, version="99.0.0")
    assert served.home.information()["pid"] == served.process.pid
    assert served.process.poll() is None


def test_a_folder_for_sockets_that_others_may_enter_is_not_believed(shared, as_user) -> None:
    served, root = shared
    as_user(served.home, root)
    folder = Path(served.home.address.folder)
    folder.chmod(0o755)
    assert declined(["status"])
    folder.chmod(0o700)
    assert not declined(["status"])


def test_no_folder_is_created_to_ask(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    assert declined(["status"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "said",
    [
        b"",
        frame(STDOUT, b"half an answer"),
        frame(STDOUT, b"half an answer")[:-3],
        frame(b"?", b"") + frame(CODE, b"0"),
        frame(CODE, b"none"),
        frame(STDOUT, b"\xff") + frame(CODE, b"0"),
        b"o-0000001" + frame(CODE, b"0"),
        b"not a frame at all",
    ],
)
def test_half_an_answer_is_none(home, as_user, root, run, said: bytes) -> None:
    """By a server that breaks off: what it said is not printed, and the command looks itself."""
    task(root, "T1")
    Path(home.address.folder).mkdir(mode=0o700, parents=True)
    listener, _ = handshake.listen(home.address)
    listener.settimeout(BOUND_S)

    def answer() -> None:
        sock, _ = listener.accept()
        with sock, sock.makefile("rb") as stream:
            stream.readline()
            sock.sendall(b"ok\n")
            stream.read(command_call.frame_length(stream.read(command_call.HEADER)))
            sock.sendall(said)

    as_user(home, root)
    with ThreadPoolExecutor(1) as thread, listener:
        answered = thread.submit(answer)
        code, out, err = run("status")
        answered.result(BOUND_S)
    assert (code, out.splitlines()[0], err) == (0, f"{TASKS}/T1  active", "")


def test_a_server_that_hangs_is_not_waited_for(served, as_user, root, run, monkeypatch) -> None:
    task(root, "T1")
    as_user(served.home, root)
    monkeypatch.setattr(command_call, "_GREETING_S", 0.2)
    served.process.send_signal(signal.SIGSTOP)
    try:
        assert run("status")[1].startswith(f"{TASKS}/T1  active")
    finally:
        served.process.send_signal(signal.SIGCONT)


# ---- the printing -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ended", "code"), [(">&-", 4), ("> /dev/full", 4), ("2>&-", 0), ("<&- >&- 2>&-", 4)]
)
def test_an_answer_that_cannot_be_printed_is_told_as_ever(shared, ended: str, code: int) -> None:
    served, root = shared
    told = []
    for more in ("", " --cold"):
        line = f"{sys.executable} -I -m phasekeeper status{more} {ended}"
        done = subprocess.run(
            ["sh", "-c", line], capture_output=True, check=False, cwd=root, env=served.home.env
        )
        told.append((done.returncode, done.stderr))
    assert told[0] == told[1]
    assert told[0][0] == code


def test_a_reader_that_goes_ends_the_command_without_a_word(shared) -> None:
    served, root = shared
    reader, writer = os.pipe()
    os.close(reader)
    line = [sys.executable, "-I", "-c", WITHOUT_ENGINE, "status", "--json"]
    done = subprocess.run(
        line, stdout=writer, stderr=subprocess.PIPE, check=False, cwd=root, env=served.home.env
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


# ---- the server -------------------------------------------------------------------------------


def test_many_commands_at_once_are_all_answered_each_its_own(shared, as_user) -> None:
    served, root = shared
    as_user(served.home, root)
    calls = [["next", RUN], ["status"], ["gates"], ["check", "--format", "json"]] * 8
    with ThreadPoolExecutor(len(calls)) as threads:
        answers = list(threads.map(command_call.ask_server, calls))
    texts = [answer and (answer.texts, answer.code) for answer in answers]
    assert None not in texts
    assert all(texts[number] == texts[number % 4] for number in range(len(texts)))
    assert len({str(text) for text in texts[:4]}) == 4


def test_a_command_keeps_no_server_and_is_no_client_afterwards(shared, as_user) -> None:
    served, root = shared
    as_user(served.home, root)
    assert not declined(["status"])
    until(lambda: [client["kind"] for client in served.home.information()["clients"]] == ["view"])


def test_a_call_that_is_none_ends_its_own_connection_alone(shared, as_user) -> None:
    served, root = shared
    for said in (b"rubbish!!", b"o7fffffff", frame(STDOUT, b"a\0b"), frame(STDOUT, b"a\0b\0c\0d\0many")):
        with served.home.joined(command_call.KIND) as sock:
            sock.sendall(said)
            sock.shutdown(socket.SHUT_WR)
            assert sock.recv(100) == b""
    as_user(served.home, root)
    assert not declined(["status"])
