"""The live view's lines and screen: what is shown of hostile text, and in which order."""

from __future__ import annotations

import io
import re
import signal

import pytest
from phasekeeper.server.terminal.drawn_screen import DrawnScreen, screen_for
from phasekeeper.server.terminal.live_screen import PlainScreen

HOSTILE = "\x1b[2J\x1b]0;x\x07[bold]‮ \n::set-output name=x::y"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Tty(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True


def row(name: str, **more: object) -> dict[str, object]:
    given = {
        "root": "/r",
        "run": name,
        "title": name,
        "workflow": "artifact-pipeline",
        "status": "active",
        "phase": "review",
        "done": 1,
        "total": 3,
        "next": "go on to test",
        "reason": "the review approves",
        "questions": [],
        "failed_gates": [],
        "errors": 0,
        "revision": "1",
    }
    return {**given, **more}


def rows(*given: dict[str, object], removed: tuple[str, ...] = (), wrong: tuple[str, ...] = ()):
    return {
        "root": "/r",
        "version": 1,
        "problems": list(wrong),
        "rows": list(given),
        "removed": list(removed),
    }


def lines(*messages: dict[str, object]) -> list[str]:
    stream = io.StringIO()
    with PlainScreen(stream, ["/r"]) as screen:
        for message in messages:
            screen.handle(message)
    return stream.getvalue().splitlines()


@pytest.fixture
def drawn(monkeypatch):
    """What stands on the screen of a terminal after some messages, without what moves its cursor."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "16")

    def shown(*messages: dict[str, object]) -> str:
        stream = Tty()
        with DrawnScreen(stream, ["/r"]) as screen:
            for message in messages[:-1]:
                screen.handle(message)
            before = len(stream.getvalue())
            screen.handle(messages[-1])
            whole = stream.getvalue()[before:]
        return ESCAPES.sub("", whole)

    return shown


def test_a_change_is_one_line_with_where_it_came_from():
    first, then = lines(rows(row("a")), rows(row("a", phase="test", next="go on to done")))
    assert first == "a: review 1/3, active; next: go on to test: the review approves"
    assert then == "a: review → test 1/3, active; next: go on to done: the review approves"


def test_what_looks_the_same_is_not_told_again():
    assert len(lines(rows(row("a")), rows(row("a", revision="2")))) == 1


def test_a_question_is_told_once():
    asked = [["approve", "Go on?"]]
    told = lines(rows(row("a", questions=asked)), rows(row("a", questions=asked, phase="test")))
    assert [line for line in told if "asks" in line] == ["a asks a person approve: Go on?"]


def test_what_is_wrong_with_a_root_is_told_when_it_changes():
    told = lines(rows(wrong=("x: bad",)), rows(wrong=("x: bad",)), rows(wrong=("x: worse",)))
    assert [line for line in told if "bad" in line or "worse" in line] == [
        "phasekeeper: x: bad",
        "phasekeeper: x: worse",
    ]


@pytest.mark.parametrize("field", ["run", "phase", "next", "reason"])
def test_text_of_files_neither_moves_the_cursor_nor_commands_a_build(field):
    for line in lines(
        rows(row("a", **{field: HOSTILE}, questions=[[HOSTILE, HOSTILE]], failed_gates=[HOSTILE]))
    ):
        assert line.isprintable() and not line.startswith("::")
        assert "‮" not in line


def test_the_screen_shows_text_of_files_as_text(drawn):
    screen = drawn(rows(row("a", run=HOSTILE, reason=HOSTILE, questions=[[HOSTILE, HOSTILE]])))
    assert "\\x1b[2J" in screen and "[bold]" in screen
    assert "‮" not in screen and "\x07" not in screen


def test_runs_that_await_a_person_stand_on_top_and_finished_ones_below(drawn):
    asks = row("asks", status="waiting_human", questions=[["q", "?"]])
    screen = drawn(rows(row("done", status="complete"), row("work"), asks))
    assert screen.index("asks  ") < screen.index("work  ") < screen.index("done  ")
    assert "3 runs, 1 waits for a person, 1 active, 1 complete" in screen
    assert "a answer" in screen


def test_what_does_not_fit_is_counted(drawn):
    screen = drawn(rows(*(row(f"run-{number:02}") for number in range(40))))
    assert re.search(r"and \d+ more: arrow keys, / filters", screen)
    assert "q end" in screen
    assert len(screen.splitlines()) <= 16


def test_the_newest_changes_stand_below_the_runs(drawn):
    screen = drawn(rows(row("a"), row("b")), rows(removed=("b",)))
    assert re.search(r"\d\d:\d\d:\d\d b is gone", screen)


@pytest.mark.skipif(not hasattr(signal, "SIGWINCH"), reason="Windows has no such signal")
def test_a_new_size_while_the_screen_is_drawn_has_it_drawn_once_more_afterwards(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")

    class Resized(Tty):
        """A terminal that gets another size while it is written to."""

        inside = resized = 0

        def write(self, text: str) -> int:
            assert not self.inside, "one drawing in the midst of another"
            if "next: " in text and not self.resized:
                self.inside = self.resized = 1
                signal.raise_signal(signal.SIGWINCH)
                self.inside = 0
            return super().write(text)

    stream = Resized()
    before = signal.getsignal(signal.SIGWINCH)
    try:
        with DrawnScreen(stream, ["/r"]) as screen:
            screen.handle(rows(row("a")))
    finally:
        signal.signal(signal.SIGWINCH, before)
    assert stream.resized
    assert stream.getvalue().count("next: ") == 2


def test_an_error_ends_the_view():
    stream = io.StringIO()
    assert PlainScreen(stream, ["/r"]).handle({"error": "it is not there"}) == 2
    assert stream.getvalue() == "phasekeeper: it is not there\n"


def test_a_terminal_that_cannot_be_drawn_on_gets_lines(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(screen_for(Tty(), ["/r"]), PlainScreen)
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(screen_for(Tty(), ["/r"]), DrawnScreen)
    assert isinstance(screen_for(io.StringIO(), ["/r"]), PlainScreen)
