"""The live view as lines, one for each change; `drawn_screen.py` draws it on a terminal.

It hears the server's messages (`hub/view_feed.py`) and keeps the newest row of every run. File text goes
through `sanitize.plain` here and nowhere before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, Any, Self

from ...orchestration.sanitize import plain
from ..hub.run_row import RunRow
from .lines import Line, Part, bare, name
from .run_list import state_parts

USAGE = 2


class PlainScreen:
    """The newest rows of the roots that are looked at; a line for each at first, then for each change."""

    _is_drawn = False
    """The rows themselves are to be seen, and lines tell of their changes only."""

    def __init__(self, stream: IO[str], roots: Sequence[str]) -> None:
        self._stream = stream
        self._rows: dict[tuple[str, str], RunRow] = {}
        """(root, run) -> its newest row"""
        self._roots: tuple[str, ...] = tuple(roots)
        self._root_problems: dict[str, tuple[str, ...]] = {}
        self._listed_roots: set[str] = set()
        """Roots whose rows have come: what comes after is a change."""
        self._is_own_server = True
        self._progress = "looking"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def server(self, own: bool) -> None:
        """A server is there: the one in this process, or one that ran already."""
        self._is_own_server = own
        self._listed_roots.clear()
        self._say("the server runs in this process" if own else "joined the server that runs already")
        self._draw()

    def handle(self, message: Mapping[str, Any]) -> int | None:
        """Take one message in; the exit code when there is nothing more to come."""
        if "error" in message:
            self._say(f"{message['error']}")
            return USAGE
        if "sentence" in message:
            self._say(message["sentence"])
        elif "scanning" in message:
            self._progress = f"{message['done']} of {message['total']} runs looked at"
        elif "roots" in message:
            # The runs of roots that are not looked at any more are gone from the view.
            for key in [key for key in self._rows if key[0] not in message["roots"]]:
                self._show_change(self._rows.pop(key), None)
            self._roots = tuple(message["roots"])
        elif "rows" in message:
            self._update_rows(message)
        self._draw()
        return None

    def _update_rows(self, message: Mapping[str, Any]) -> None:
        root, rows = message["root"], message["rows"]
        for run in message["removed"]:
            if old := self._rows.pop((root, run), None):
                self._show_change(old, None)
        for data in rows:
            questions = tuple((str(question), str(text)) for question, text in data["questions"])
            new = RunRow(**{**data, "questions": questions, "failed_gates": tuple(data["failed_gates"])})
            old = self._rows.get((root, new.run))
            self._rows[root, new.run] = new
            if old is None or old._replace(revision=new.revision) != new:
                self._show_change(old, new)
        problems = tuple(message["problems"])
        if problems != self._root_problems.get(root, ()):
            self._root_problems[root] = problems
            for line in problems:
                self._say(line)
        if root not in self._listed_roots and not rows:
            self._say(f"no run was found in {root}; `phasekeeper demo` makes some to see")
        self._listed_roots.add(root)

    def _show_change(self, old: RunRow | None, new: RunRow | None) -> None:
        """Show a change of one run: where it stands, what came of it, what is next; or that it is gone."""
        row = new or old
        if row is None or (self._is_drawn and row.root not in self._listed_roots):
            return
        run = Part(self._name_of(row), "run")
        if new is None:
            self._show([run, Part(" is gone")])
            return
        moved = [] if old is None or old.phase == new.phase else [Part(f"{name(old.phase or 'unknown')} → ")]
        follows = [Part("; next: "), Part(plain(new.next), "run"), Part(f": {plain(new.reason)}")]
        self._show([run, Part(": "), *moved, *state_parts(new, ", "), *follows])
        for question, text in new.questions:
            if old is None or (question, text) not in old.questions:
                asks = Part(plain(question, 80), "wait")
                self._show([run, Part(" asks a person "), asks, Part(f": {plain(text, 300)}")])

    def _say(self, text: str) -> None:
        self._show([Part("" if self._is_drawn else "phasekeeper: "), Part(plain(text, 1000))])

    def _show(self, line: Line) -> None:
        """Show a line that is new."""
        self._stream.write(bare("".join(part.text for part in line)) + "\n")
        self._stream.flush()

    def _draw(self) -> None:
        """Bring to the screen what changed."""

    def _name_of(self, row: RunRow) -> str:
        """The run's path, from its root where there are several."""
        path = plain(row.run or ".", 120)
        return path if len(self._roots) < 2 else f"{plain(row.root.rsplit('/', 1)[-1], 40)}: {path}"
