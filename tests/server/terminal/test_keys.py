"""The keys of the live view: what they are read from, and what they do to the screen."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from phasekeeper.server.terminal.drawn_screen import DrawnScreen, Wish
from phasekeeper.server.terminal.keyboard import parse_keys

from tests.server.terminal.test_live_screen import ESCAPES, Tty, row, rows

ASKS = row("tasks/asks", title="Import it", status="waiting_human", questions=[["q1", "How to go on?"]])
FAILS = row("tasks/fails", title="Lists", failed_gates=["3"])
WORKS = row("tasks/works", title="Charge a fee")
OVER = row("tasks/over", title="Old work", status="complete")


class View:
    """A screen of a size, and what it shows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, columns: int, lines: int) -> None:
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("LINES", str(lines))
        self.stream = Tty()
        self.screen = DrawnScreen(self.stream, ["/r"])

    def __enter__(self) -> View:
        self.screen.__enter__()
        self.screen.handle(rows(OVER, WORKS, FAILS, ASKS))
        return self

    def __exit__(self, *error: Any) -> None:
        self.screen.__exit__(*error)

    def press(self, *keys: str) -> Wish | None:
        """The last wish of these keys."""
        return [self.screen.press(key) for key in keys][-1]

    def lines(self) -> list[str]:
        """The lines of the screen as it was drawn last."""
        self.stream.seek(0)
        self.stream.truncate()
        self.screen.press("")
        return [line.rstrip() for line in ESCAPES.sub("", self.stream.getvalue()).splitlines()]

    def selected(self) -> str:
        [line] = [line for line in self.lines() if line.startswith("> ")]
        return line.removeprefix("> ").partition("  ")[0]


@pytest.fixture
def view(monkeypatch: pytest.MonkeyPatch):
    with View(monkeypatch, 80, 24) as made:
        yield made


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        ("\x1b[A\x1bOB\x1b[5~\x1b[6~", ["up", "down", "page up", "page down"]),
        ("\x1b[H\x1b[F\x1b[1;5A", ["home", "end", "up"]),
        ("\r\x7fqä/", ["enter", "erase", "q", "ä", "/"]),
        ("\x1b", ["escape"]),
        ("\x01\x1b[99~\x1b[Z", []),
    ],
)
def test_what_a_terminal_sends_is_keys(sent, keys):
    assert [*parse_keys(sent)] == keys


@pytest.mark.parametrize(("columns", "lines"), [(40, 12), (40, 5), (80, 24), (200, 50), (20, 3)])
def test_what_waits_is_on_top_and_selected_at_any_size(monkeypatch, columns, lines):
    with View(monkeypatch, columns, lines) as view:
        shown = view.lines()
        assert view.selected().startswith("Import it"[: columns - 4])
        assert len(shown) <= lines
        assert all(len(line) <= columns for line in shown)


def test_a_low_screen_shows_the_question_and_a_line_for_each_other_run(monkeypatch):
    with View(monkeypatch, 40, 12) as view:
        text = "\n".join(view.lines())
        assert "asks q1: How to go on?" in text
        assert [title for title in ("Lists", "Charge a fee", "Old work") if title not in text] == []
        assert "q end  Enter open  a answer  / filter" in text


def test_arrows_select_runs_and_the_selection_stays_with_its_run(view):
    assert view.press("down") is None
    assert view.selected() == "Lists"
    view.screen.handle(rows(row("tasks/new", title="Newer", status="waiting_human")))
    assert view.selected() == "Lists"
    view.press("end")
    assert view.selected() == "Old work"
    view.press("down")
    assert view.selected() == "Old work"
    view.screen.handle(rows(removed=("tasks/over",)))
    assert view.selected() == "Import it"


def test_until_another_is_selected_it_is_the_first_whichever_that_is(view):
    view.screen.handle(rows(row("a", title="Newer", status="waiting_human")))
    assert view.selected() == "Newer"


def test_a_filter_is_typed_kept_and_taken_away(view):
    view.press("/", *"fee")
    assert (view.selected(), "filter: fee_" in "\n".join(view.lines())) == ("Charge a fee", True)
    view.press("erase", "enter")
    assert "filter: fe (Esc)" in "\n".join(view.lines())
    view.press("escape", "/", *"@failed", "enter")
    assert view.selected() == "Lists"
    view.press("/", "escape")
    assert view.selected() == "Import it"
    view.press("/", *"nothing", "enter")
    assert "no run fits the filter" in "\n".join(view.lines())
    assert view.press("a") is None and view.press("enter") is None
    assert view.press("q") == Wish("quit")


def test_q_is_a_letter_while_a_filter_is_typed(view):
    assert view.press("/", "q") is None
    assert "filter: q_" in "\n".join(view.lines())


def test_enter_opens_the_selected_run_and_a_has_it_answered(view):
    opened = view.press("enter")
    assert opened and (opened.kind, opened.row and opened.row.run) == ("open", "tasks/asks")
    view.screen.show_run(opened.row, [f"line {number}" for number in range(60)])
    assert "line 0" in view.lines()
    view.press("down", "down")
    assert "line 2" in view.lines() and "line 1" not in view.lines()
    view.press("end")
    assert "line 59" in view.lines()
    answered = view.press("a")
    assert answered and (answered.kind, answered.row and answered.row.run) == ("answer", "tasks/asks")
    view.screen.handle(rows(row("a", title="Newer", status="waiting_human")))
    assert view.press("q") is None
    assert view.selected() == "Import it"


def test_a_run_that_is_open_is_looked_at_again_once_it_has_changed(view):
    opened = view.press("enter")
    assert opened and opened.row and view.screen.outdated_run is None
    view.screen.show_run(opened.row, ["as it was"])
    assert view.screen.outdated_run is None
    view.screen.handle(rows({**ASKS, "revision": "2"}))
    newer = view.screen.outdated_run
    assert newer and newer.revision == "2"
    view.screen.show_run(newer, ["as it is"])
    assert view.screen.outdated_run is None and "as it is" in view.lines()


def test_titles_are_those_of_the_editor_with_the_path_where_there_is_room(view):
    text = "\n".join(view.lines())
    assert re.search(r"Charge a fee  review 1/3  active  tasks/works", text)


def test_the_text_of_a_filter_is_shown_as_text(view):
    view.press("/", "\u202e", "[", "b", "]")
    assert "\u202e" not in "\n".join(view.lines())


def test_without_a_terminal_there_are_no_keys():
    from phasekeeper.server.terminal.keyboard import Keyboard

    for source in (None, io.StringIO()):
        keyboard = Keyboard(source)
        assert keyboard.open() is None
        keyboard.close()
