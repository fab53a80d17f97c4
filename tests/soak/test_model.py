"""The model of a haul notices what it is there for."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.server.workspace.apply import apply_command
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import put
from tests.soak.model import Answer, History, judge
from tests.soak.world import DEFINITION, EFFECT, RUNS

RUN = RUNS[0]


class Written:
    """A root in which reports and redos were made, and what their clients were answered."""

    def __init__(self, root):
        self.root, self.history = root, History()
        put(root / ".phasekeeper/workflows/counted.yaml", DEFINITION)
        put(root / ".phasekeeper/config.yaml", "workflows: {'work/*': counted}\n")
        put(root / RUN / "RUN.md", "# One\n")
        put(root / RUN / EFFECT, "")

    def ask(self, message, answer=Answer.ACKNOWLEDGED, times=1, is_redo=False):
        attempt = self.history.begin(self.root, RUN, message, is_redo)
        for _ in range(times):
            kind = Command("redo", "do") if is_redo else Command("report", "do", "ok", message=message)
            apply_command(Workspace(self.root), RUN, kind._replace(actor="ann"))
        self.history.end(attempt, answer)

    def judged(self):
        found = judge(self.root, RUN, self.history.attempts(self.root, RUN), EFFECT)
        return found.lost, found.doubled, found.uninvited, found.faults


@pytest.fixture
def written(tmp_path):
    return Written(tmp_path.resolve())


def test_what_fits_the_answers_is_right(written):
    written.ask("m1")
    written.ask("m2", Answer.UNKNOWN)
    written.ask("m3", Answer.UNKNOWN, times=0)
    written.ask("m4", Answer.REFUSED, times=0)
    written.ask("m5", is_redo=True)
    written.ask("m6", Answer.UNKNOWN, times=0, is_redo=True)
    assert written.judged() == (0, 0, 0, [])


@pytest.mark.parametrize("is_redo", [False, True])
def test_an_acknowledged_write_that_is_missing_is_lost(written, is_redo):
    written.ask("m1")
    written.ask("m2", times=0, is_redo=is_redo)
    assert written.judged() == (1, 0, 0, [])


def test_a_report_that_stands_twice_is_doubled(written):
    written.ask("m1", times=2)
    assert written.judged() == (0, 1, 0, [])


@pytest.mark.parametrize("is_redo", [False, True])
def test_a_refused_write_that_stands_is_uninvited(written, is_redo):
    written.ask("m1", Answer.REFUSED, is_redo=is_redo)
    assert written.judged() == (0, 0, 1, [])


def test_a_report_behind_one_that_began_after_its_answer_is_out_of_order(written):
    written.ask("m1")
    written.ask("m2")
    first, second = written.history.attempts(written.root, RUN)
    first.began = second.ended + 1
    [fault] = written.judged()[3]
    assert fault == "m2 had been acknowledged before m1, which precedes it, began"


def test_an_effect_that_was_not_written_is_a_fault(written):
    written.ask("m1")
    put(written.root / RUN / EFFECT, "")
    assert any(EFFECT in fault for fault in written.judged()[3])


def test_a_journal_with_a_line_taken_out_is_a_fault(written):
    written.ask("m1")
    written.ask("m2")
    journal = written.root / RUN / ".phasekeeper/journal.jsonl"
    journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[1])
    assert any("journal-invalid" in fault for fault in written.judged()[3])
