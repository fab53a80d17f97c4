"""A model that knows nothing of a repository: it does what `next_step` says, by the assistant's own tools.

It reads nothing but what tools answered, and uses every tool of ours: it looks at all runs first, asks a
question before the first step, asks whether it may before it reports, and looks at the gates in the end.
Where a person is asked it requests the decision, has somebody outside told, and waits for a change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.assistants_live.reading import File, Step, allows, filled_in_json, read_step, worked_over
from tests.assistants_live.wires import Asked, Call, Move, Say

MOST_MOVES = 200
WORK = "src/work.py"
QUESTION = "Shall this be done now?"


class Hands(NamedTuple):
    """How one assistant calls a tool of ours, how it writes a file, and what it does before all that."""

    ask: Callable[[str, dict[str, Any]], Call]
    write: Callable[[Path, str], Sequence[Call]]
    first: Sequence[Call] = ()


class Script:
    """One run, driven until nothing is left to do. `person` gets the command that a person is to type."""

    def __init__(self, root: Path, run: str, hands: Hands, person: Callable[[str], None]) -> None:
        self._root, self._run, self._hands, self._person = root, run, hands, person
        self._moves: list[Move] = []
        self._queue = [("first", call) for call in hands.first]
        self._last, self._step, self._asks = "", None, True
        self.calls: list[str] = []
        self.told: set[str] = set()
        self.offered: dict[str, Any] = {}
        self.largest = 0

    def __call__(self, asked: Asked) -> Move:
        """The next move. A request that comes again gets the answer that it got."""
        self.offered.update(asked.tools)
        number = len(asked.results)
        if number < len(self._moves):
            return self._moves[number]
        if number > len(self._moves) or number >= MOST_MOVES:
            raise AssertionError(f"{number} tools answered after {len(self._moves)} calls")
        self._moves.append(self._move(asked.results[-1] if asked.results else None))
        return self._moves[-1]

    def _move(self, answer: str | None) -> Move:
        if answer is not None and self._last not in ("first", "write"):
            self.largest = max(self.largest, len(answer))
        if answer is None:
            self._queue += [("status", self._hands.ask("status", {}))]
        elif self._last in ("next_step", "report"):
            self._plan(read_step(answer))
        elif self._last == "check_action":
            assert allows(answer), answer
        elif self._last == "request_decision":
            assert self._step is not None
            self._person(self._step.decide)
            self._then("wait_for_change", since=self._step.revision)
        elif self._last == "check_gate":
            return Say("Nothing is left to do here.")
        if not self._queue:
            self._then("next_step")
        self._last, call = self._queue.pop(0)
        self.calls.append(self._last)
        return call

    def _plan(self, step: Step) -> None:
        """Queue what the step asks for. Before the first one, a question is put to the person."""
        self.told.add(step.told)
        self._step = step
        if step.decide:
            self._then("request_decision")
        elif step.report is None:
            self._then("check_gate")
        elif self._asks:
            self._asks = False
            self._then("escalations", ask=QUESTION)
        else:
            self._then("check_action", step=step.report["step"])
            for file in step.files:
                self._queue += [("write", call) for call in self._hands.write(*self._made(file))]
            report = {"summary": "done as asked", **step.report}
            wanted = dict.fromkeys(name for need in step.needs if not need.is_met for name in need.files)
            if any(need.names_files for need in step.needs):
                wanted[WORK] = None
                report |= {"data": {**report.get("data", {}), "files": [WORK]}}
            for name in wanted:
                file = File(name, "made\n")
                self._queue += [("write", call) for call in self._hands.write(*self._made(file))]
            self._then("report", **report)

    def _then(self, tool: str, **arguments: Any) -> None:
        self._queue.append((tool, self._hands.ask(tool, {"run": self._run, **arguments})))

    def _made(self, file: File) -> tuple[Path, str]:
        """A file and its text: as the example has it; a text that is there already is worked over."""
        path = self._root / file.path.replace("**", "made.txt").replace("*", "made")
        if path.exists():
            return path, worked_over(path.read_text(encoding="utf-8")) + "\n"
        return path, filled_in_json(file.example)
