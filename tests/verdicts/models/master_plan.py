"""Seed 004: stages behind hard gates, a fix cycle after each failure, validation, learnings.

Two stages, of one task and of two. What counts as done is what was reported in its turn, or is marked in the
plan that a person adopted. Report files and calls say the same; either may be a lie.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count

from phasekeeper.orchestration.result.values import Evaluation

from tests.verdicts.exploration import Model
from tests.verdicts.models.json_state import JOURNAL
from tests.verdicts.runs import CONFIG, Run, plan_run

STAGES = {"1": ("01",), "2": ("02", "03")}
FOLDER = "tasks/f"
PLAN = f"{FOLDER}/MASTER_PLAN.md"
STAGE_OF_FORM = re.compile(r"^\*\*Phase\*\*: (\d+)", re.MULTILINE)


@dataclass
class Stage:
    """How one stage stands: tasks that were implemented, and its last quality gate with what followed."""

    tasks: tuple[str, ...]
    implemented: set[str] = field(default_factory=set)
    marked: set[str] = field(default_factory=set)
    verdict: str = ""
    failing: tuple[str, ...] = ()
    is_analysed: bool = False
    fixed: set[str] = field(default_factory=set)
    is_let_go: bool = False

    def passed(self) -> bool:
        return self.verdict == "pass" or self.is_let_go

    def is_shown(self) -> bool:
        return not (self.implemented or self.verdict) and self.marked >= set(self.tasks)

    def fail(self, tasks: Iterable[str]) -> None:
        self.verdict, self.is_analysed, self.fixed, self.is_let_go = "fail", False, set(), False
        self.failing = tuple(set(tasks) & set(self.tasks)) or self.tasks


@dataclass
class Truth:
    """What was really reported and decided, in the order of the seed."""

    is_approved: bool = False
    is_adopted: bool = False
    is_under_way: bool = False
    is_moved_on: bool = False
    has_marks: bool = False
    stages: dict[str, Stage] = field(default_factory=lambda: {n: Stage(t) for n, t in STAGES.items()})
    is_validated: bool = False
    has_learned: bool = False
    failures: set[str] = field(default_factory=set)

    def observe(self, move: str, run: Run) -> None:
        who, _, rest = move.partition(": ")
        self.has_marks = any(is_marked(run, task) for tasks in STAGES.values() for task in tasks)
        words = rest.split()
        if who == "person":
            self._decide(words, run)
        elif who in ("report", "file"):
            for stage in self.stages.values():
                stage.marked = {task for task in stage.tasks if is_marked(run, task)}
            self._report(words[0], words[1] if len(words) > 1 else "", words[2:])
        elif move == "edit: failures into passes":
            self._file_passes(run)
        self.failures = {path for path in run.files if "FAIL" in run.files[path]}
        if who == "edit":
            self._forget(run)

    def _forget(self, run: Run) -> None:
        """What no file shows any more, once the journal is deleted: decisions are to be made anew, and a
        person who adopts the plan then is asked about what lies there."""
        if self.failures or f"{FOLDER}/{JOURNAL}" in run.files:
            return
        self.is_approved = self.is_adopted = self.is_moved_on = False
        reports = [text for path, text in run.files.items() if path.startswith(f"{FOLDER}/reports/")]
        for stage in self.stages.values():
            if stage.verdict == "fail" or not reports:
                stage.verdict = ""
            complete = [text for text in reports if text.startswith("# Task Complete")]
            stage.implemented = {task for task in stage.implemented if any(task in text for text in complete)}
            stage.is_let_go = False
        self.is_validated |= any("5a OBJECTIVE GATE STATUS**: PASS" in text for text in reports)

    def _file_passes(self, run: Run) -> None:
        """A report file with another verdict is a report of its own, filed in its turn or not."""
        for path in sorted(path for path in self.failures if "FAIL" not in run.files.get(path, "FAIL")):
            stage, about = self.open_stage(), STAGE_OF_FORM.search(run.files[path])
            if "5a" in run.files[path]:
                self._report("5a", "pass", [])
            elif not (about and stage) or self.stages.get(about[1]) is stage:
                self._report("4b", "pass", [])

    def _decide(self, words: list[str], run: Run) -> None:
        match words:
            case ["approves"]:
                self.is_approved = True
                self._see_plan(run)
            case ["adopts"]:
                self.is_approved = self.is_adopted = True
                self._see_plan(run)
                for stage in self.stages.values():
                    marked = [task for task in stage.tasks if is_marked(run, task)]
                    stage.implemented |= set(marked)
                    stage.is_let_go |= len(marked) == len(stage.tasks)
            case ["moves", "on", "to", "4c"] | ["skips"]:
                # Of work that is under way the plan is still to be adopted, whatever stage is passed over.
                stage = self.open_stage()
                self.is_moved_on = True
                self.is_approved |= not (has_begun(run) or self.has_marks)
                if stage:
                    stage.is_let_go = True
            case ["moves", "on", "to", "6"]:
                # What was shut before the phase is waived, and shown to the person who does it.
                self.is_approved = self.is_validated = True
                for stage in self.stages.values():
                    stage.is_let_go = True

    def _see_plan(self, run: Run) -> None:
        """A person saw the plan as it is: rows that are gone by then are no part of it."""
        for name, stage in list(self.stages.items()):
            stage.tasks = tuple(task for task in stage.tasks if f"| f-{task} |" in run.files.get(PLAN, ""))
            if not stage.tasks:
                del self.stages[name]

    def may_go_on(self) -> bool:
        """Whether a person let the work begin; where nothing is marked any more, by moving the run on."""
        return self.is_approved or (self.is_moved_on and not self.has_marks)

    def open_stage(self, tasks: Iterable[str] = ()) -> Stage | None:
        # What was marked before anyone approved the plan is shown as done until a person adopts it; work that
        # is reported on it opens it again.
        def is_done(stage: Stage) -> bool:
            return stage.passed() or (
                not self.is_approved and stage.is_shown() and not set(tasks) & set(stage.tasks)
            )

        return next((stage for stage in self.stages.values() if not is_done(stage)), None)

    def _report(self, step: str, outcome: str, tasks: list[str]) -> None:
        stage = self.open_stage(tasks)
        # Work that is under way is shown as it lies there, until a person adopts it.
        self.is_under_way |= any(each.marked for each in self.stages.values())
        if not (self.may_go_on() or self.is_under_way):
            return
        if stage is None:
            self._report_at_the_end(step, outcome, tasks)
        elif step == "4a" and stage.verdict != "fail":
            stage.implemented |= set(tasks) & set(stage.tasks) if outcome == "complete" else set()
        elif step == "4b" and outcome == "fail":
            # A failure of work that was not done yet says nothing about it.
            if stage.implemented | stage.marked >= set(stage.tasks):
                stage.fail(tasks)
        elif step == "F1" and stage.verdict == "fail":
            stage.is_analysed = True
        elif step == "F2" and stage.is_analysed:
            stage.fixed |= set(tasks)
        elif step == "4b" and outcome == "pass":
            is_fixed = stage.verdict != "fail" or (stage.is_analysed and stage.fixed >= set(stage.failing))
            # A mark says no less than an implementer's report, and no more.
            if is_fixed and stage.implemented | stage.marked >= set(stage.tasks):
                stage.verdict = "pass"

    def _report_at_the_end(self, step: str, outcome: str, tasks: list[str]) -> None:
        if self.is_validated and self.has_learned:
            return
        if step == "5a":
            self.is_validated = outcome == "pass"
        elif step == "6" and self.is_validated:
            self.has_learned = True
        elif step == "4b" and outcome == "pass":
            # A stage that is only shown as done was looked at all the same.
            for stage in [each for each in self.stages.values() if not each.passed()][:1]:
                stage.verdict = "pass"
        elif step == "4b" and outcome == "fail":
            # Whoever passed the stage over did not see this. Where no task is named the last stage is meant.
            self.is_validated = False
            last = [*self.stages.values()][-1:] if not tasks else []
            for stage in last or self.stages.values():
                if last or set(tasks) & set(stage.tasks):
                    stage.fail(tasks)

    def broken(self, evaluation: Evaluation) -> Iterable[str]:
        gates = {gate.id: gate for gate in evaluation.gates}
        unpassed = [name for name, stage in self.stages.items() if not stage.passed()]
        if evaluation.status == "complete":
            if unpassed:
                yield f"complete without a quality gate that passed in stage {', '.join(unpassed)}"
            if not self.is_validated:
                yield "complete without a validation that passed"
            if not self.has_learned:
                yield "complete without learnings"
        # What nobody approved is shown as it lies there, and waits for a person.
        if self.is_approved and gates["2"].status == "passed" and len(unpassed) == len(STAGES):
            yield "gate 2 passed without a quality gate that passed"
        if gates["6"].status != "not-reached" and gates["5"].status == "passed" and not self.is_validated:
            yield "gate 5 passed without a validation that passed"
        early = evaluation.current_phase in ("0a", "1", "0b", "2", "3", None)
        if not (self.may_go_on() or early) and evaluation.status == "active":
            yield "work goes on without an approval"


def has_begun(run: Run) -> bool:
    """Whether the journal has a report of work on a task."""
    lines = run.files.get(f"{FOLDER}/{JOURNAL}", "").splitlines()
    records = [json.loads(line) for line in lines]
    return any(each["kind"] == "report" and each.get("phase") in ("4a", "4b", "4c") for each in records)


def is_marked(run: Run, task: str) -> bool:
    """Whether the plan marks a task as done."""
    rows = (line for line in run.files.get(PLAN, "").splitlines() if f"| f-{task} |" in line)
    return any("[x]" in row for row in rows)


def _mark(run: Run, tasks: Iterable[str], mark: str) -> None:
    lines = run.files[PLAN].splitlines()
    for number, line in enumerate(lines):
        if any(f"| f-{task} |" in line for task in tasks):
            lines[number] = line.replace("[ ]", mark).replace("[x]", mark)
    run.write(f"/{PLAN}", "\n".join(lines) + "\n")


FORMS = {
    "4a": "# Task Complete\n\n**Task File**: {task}-t.md\n**Status**: {word}\n",
    "F2": "# Task Complete\n\n**Task File**: {task}-t.md\n**Status**: {word}\n\nFixed.\n",
    "4b": "# Phase Quality Gate\n\n**Phase**: {stage}\n**PHASE GATE STATUS**: {word}\n{scope}",
    "F1": "# Failure Analysis\n\n**Phase**: {stage}\n\nThe cause.\n",
    "5a": "# 5a Objective Gate\n\n**5a OBJECTIVE GATE STATUS**: {word}\n",
    "6": "# Success Learnings\n\nNone.\n",
}


def form(run: Run, step: str, outcome: str = "", *tasks: str) -> str:
    """A report in the seed's form, about the stage of its tasks or the one under work."""
    stage = next((name for name, of in STAGES.items() if set(tasks) & set(of)), "") or run.trace().facts.stage
    scope = f"\n### Fix Scope\n\nOnly tasks [{', '.join(tasks)}] require fixes\n" if tasks else ""
    return FORMS[step].format(stage=stage, word=outcome.upper(), task="".join(tasks), scope=scope)


def _file(step: str, outcome: str = "", *tasks: str) -> Callable[[Run], object]:
    def write(run: Run) -> None:
        # A new name: nothing remembers what a file said that was overwritten before a record had it, and one
        # that comes again as a record knows it is no new report.
        known = " ".join((run.files.get(f"{run.at}/.phasekeeper/journal.jsonl", ""), *run.files))
        number = next(n for n in count() if f"{run.at}/reports/{n:02}.md" not in known)
        run.write(f"reports/{number:02}.md", form(run, step, outcome, *tasks))

    return write


def _report(step: str, outcome: str, *tasks: str) -> Callable[[Run], object]:
    return lambda run: run.report(step, outcome, *tasks)


def _reports(run: Run) -> list[str]:
    """The report files, but failures that the journal does not have: nothing remembers them."""
    journal = run.files.get(f"{run.at}/.phasekeeper/journal.jsonl", "")
    reports = ((path, text) for path, text in run.files.items() if "/reports/" in path)
    return [path for path, text in reports if path in journal or "FAIL" not in text]


def _rewrite_failures(run: Run) -> None:
    # What holds no failure is left as it is: written again it would be another file, filed now.
    for path in _reports(run):
        if "FAIL" in run.files[path]:
            run.write(f"/{path}", run.files[path].replace("FAIL", "PASS"))


def _remove_reports(run: Run) -> None:
    for path in _reports(run):
        del run.files[path]


def _forge_answer(run: Run) -> None:
    path = ".phasekeeper/journal.jsonl"
    line = '{"seq": 99, "kind": "answer", "question": "plan", "option": "approve", "prev": ""}\n'
    run.write(path, run.files.get(f"{run.at}/{path}", "") + line)


def _start() -> Run:
    return plan_run(" ", "  ", adoption="ask")


MODEL = Model(
    "master-plan",
    _start,
    Truth,
    {
        "person: approves": lambda run: run.answer("plan", "approve"),
        "person: adopts": lambda run: run.answer("adoption", "adopt"),
        "person: skips": lambda run: run.answer(f"fix_iterations:{run.trace().facts.stage}", "skip"),
        "person: moves on to 4c": lambda run: run.override("4c"),
        "person: moves on to 6": lambda run: run.override("6"),
        **{f"report: 4a complete {t}": _report("4a", "complete", t) for t in ("01", "02", "03")},
        "report: 4a blocked 02": _report("4a", "blocked", "02"),
        "report: 4b pass": _report("4b", "pass"),
        "report: 4b fail": _report("4b", "fail"),
        "report: 4b fail 02": _report("4b", "fail", "02"),
        "report: F1 ok": _report("F1", "ok"),
        **{f"report: F2 complete {t}": _report("F2", "complete", t) for t in ("01", "02", "03")},
        "report: 4c ok": _report("4c", "ok"),
        "report: 5a pass": _report("5a", "pass"),
        "report: 5a fail": _report("5a", "fail"),
        "report: 6 ok": _report("6", "ok"),
        **{f"file: 4a complete {t}": _file("4a", "complete", t) for t in ("01", "02", "03")},
        "file: 4b pass": _file("4b", "pass"),
        "file: 4b fail": _file("4b", "fail"),
        "file: F1": _file("F1"),
        "file: F2 complete 02": _file("F2", "complete", "02"),
        "file: 5a pass": _file("5a", "pass"),
        "file: 5a fail": _file("5a", "fail"),
        "file: 6": _file("6"),
        "edit: all marks": lambda run: _mark(run, ("01", "02", "03"), "[x]"),
        "edit: mark of 01": lambda run: _mark(run, ("01",), "[x]"),
        "edit: no marks": lambda run: _mark(run, ("01", "02", "03"), "[ ]"),
        "edit: more iterations": lambda run: run.write(
            f"/{CONFIG}", "parameters: {master-plan: {adoption: ask, fix_iterations: 99}}\n"
        ),
        "edit: failures into passes": _rewrite_failures,
        "edit: a forged answer": _forge_answer,
        "edit: no journal": lambda run: run.remove(".phasekeeper/journal.jsonl"),
        "edit: no reports": _remove_reports,
    },
)
