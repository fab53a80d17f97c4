"""A run in memory that is written to by an assistant, a person and an editor, one change after the other."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from phasekeeper.orchestration.decision.brings import tasks_to_judge
from phasekeeper.orchestration.definition.model import Workflow
from phasekeeper.orchestration.definition.root_config import read_config
from phasekeeper.orchestration.evaluation.evaluate import evaluate_traced
from phasekeeper.orchestration.evaluation.trace import CommandRefused, EvaluationTrace
from phasekeeper.orchestration.evidence.attestation import Attestation
from phasekeeper.orchestration.evidence.check_state import CheckState
from phasekeeper.orchestration.journal.journal import EMPTY_RECORD, Claim, Proofs, record
from phasekeeper.orchestration.journal.report_forms import blank_form
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.snapshot.snapshot import Snapshot
from phasekeeper.orchestration.states import CheckResult
from phasekeeper.orchestration.updates.commands import Command, repeats_last
from phasekeeper.orchestration.updates.propose import propose
from phasekeeper.orchestration.updates.refusals import RecordedRefusal
from phasekeeper.orchestration.vfs.files import Files, digest_of
from phasekeeper.orchestration.vfs.overlay import MemoryFiles
from phasekeeper.server.workspace.definitions import DefinitionLibrary

LIBRARY = DefinitionLibrary.of(MemoryFiles({}))
BEGIN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
CONFIG = ".phasekeeper/config.yaml"


def built_in(name: str) -> Workflow:
    """A workflow that ships with the product."""
    return LIBRARY.workflow(name)


def filled_in(blank: str, outcome: str, said: str) -> str:
    """The form of a report, filled in."""
    verdict = re.sub(r"(\*\*: )<.* or .*>", rf"\g<1>{outcome.upper()}", blank)
    rows = verdict.partition("### ")[0].replace("<met or unmet>", "met")
    return re.sub("<[^>]*>", said, rows)


def rows_of(tasks: Sequence[str]) -> str:
    """Rows for the tasks that a form has no row for, since they are too many."""
    return "".join(f"| {task} | as asked | met | seen |\n" for task in tasks[8:])


def filled_data(shown: Any) -> Any:
    """The data that a step shows, filled in: the first word of each choice; no more elements of a list."""
    if isinstance(shown, dict):
        return {name: filled_data(value) for name, value in shown.items()}
    if isinstance(shown, list):
        return [filled_data(item) for item in shown if not (isinstance(item, str) and item.startswith("<"))]
    choice = re.fullmatch(r"<(\w+).*>", shown) if isinstance(shown, str) else None
    return choice[1] if choice else shown


@dataclass
class Run:
    """The files of a root with one run in the folder `at`.

    Each change is a minute after the one before, so that report files have a certain order. `proven` are the
    journal lines that a person made through a person's channel; `head` is the commit HEAD; `measured` is
    what the checks of the root say now.
    """

    workflow: Workflow
    at: str
    files: dict[str, str] = field(default_factory=dict)
    mtimes: dict[str, int] = field(default_factory=dict)
    proven: set[str] = field(default_factory=set)
    head: dict[str, str] = field(default_factory=dict)
    now: datetime = BEGIN
    measured: dict[str, CheckState] = field(default_factory=dict)
    _looked: tuple[Run, EvaluationTrace] | None = None

    def copy(self) -> Run:
        """A run that goes on by itself."""
        files, mtimes, head = dict(self.files), dict(self.mtimes), dict(self.head)
        kept = {"proven": set(self.proven), "measured": dict(self.measured)}
        return replace(self, files=files, mtimes=mtimes, head=head, **kept)

    # ---- what is changed

    def write(self, path: str, content: str | Mapping[str, Any]) -> Run:
        """Save a file; its path is from the run's folder, or from the root with a leading slash."""
        self.now += timedelta(minutes=1)
        whole = path[1:] if path.startswith("/") else f"{self.at}/{path}"
        self.files[whole] = content if isinstance(content, str) else json.dumps(content)
        self.mtimes[whole] = int(self.now.timestamp() * 1e9)
        return self

    def commit(self) -> Run:
        """Commit all files, as a person does after a review."""
        self.head = dict(self.files)
        return self

    def remove(self, path: str) -> Run:
        """Delete a file, or all that is in a folder (its path ends in a slash)."""
        whole = f"{self.at}/{path}"
        gone = [each for each in self.files if each == whole or (path[-1] == "/" and each.startswith(whole))]
        for each in gone:
            del self.files[each]
        return self

    def measure(self, check: str, result: CheckResult, subject: str = "") -> Run:
        """Let a check say this now, of the files as they are: `subject` is their digest."""
        subject = subject or digest_of(f"{check} {self.now}")
        last = Attestation(check, "", result is CheckResult.PASSED, subject, "d1", 1, "t0", "t1", 0)
        self.measured[check] = CheckState(check, result, "as it is", "d1", subject, last, "evidence.json")
        return self

    def report(self, step: str, outcome: str, *tasks: str, **more: Any) -> Run:
        """Report a step as an honest assistant does, with its text. Raises CommandRefused."""
        made = {"report": self.report_text(step, outcome), "data": self.work(step, outcome), "actor": "codex"}
        return self.apply(Command("report", step, outcome, tasks=tasks, channel="mcp", **{**made, **more}))

    def report_text(self, step: str, outcome: str) -> str:
        """A text of the form that the step's reports have; "" where there is none. No two are the same."""
        form, phase = self.workflow.reports.read.get(step), self.workflow.phases.get(step)
        if form is None:
            return ""
        brings, draft = phase.brings if phase else None, record(kind="report", phase=step)
        tasks = tasks_to_judge(self.trace().facts, brings, draft) if brings else []
        said = f"Looked at all of it at {self.now:%H:%M}."
        return filled_in(blank_form(form, "", tasks), outcome, said) + rows_of(tasks)

    def work(self, step: str, outcome: str) -> dict[str, Any]:
        """The data of a report of work that is complete: it names a file that was changed."""
        if outcome != "complete":
            return {}
        path = f"src/{step}.py"
        self.write(f"/{path}", f"# {self.now}\n")
        return {"files": [path]}

    def answer(self, question: str, option: str, **more: Any) -> Run:
        """Answer a question as a person does, with a reason."""
        made = {"question": question, "option": option, "why": "looked at it", **more}
        return self.apply(Command("answer", actor="ada", channel="cli", **made))

    def override(self, step: str) -> Run:
        """Move the run to a phase as a person does."""
        return self.apply(Command("override", step, why="looked at it", actor="ada", channel="cli"))

    def apply(self, command: Command) -> Run:
        """Carry a command out and write what it comes to."""
        self.now += timedelta(minutes=1)
        trace = self.trace()
        if repeats_last(trace, command):
            return self
        try:
            proposal = propose(trace, command, self.now)
        except RecordedRefusal as refusal:
            for record in refusal.records:
                self._append(record)
            raise
        for edit in proposal.edits:
            self.write(f"/{edit.path}", edit.text)
        files = [{"path": e.path, "digest": digest_of(e.text), "was": e.digest or ""} for e in proposal.edits]
        for number, record in enumerate(proposal.records, 1):
            is_last = number == len(proposal.records)
            seen = record["files"] if isinstance(record["files"], list) else []
            self._append({**record, "files": [*seen, *files] if is_last else seen})
        return self

    def _append(self, record: Mapping[str, object]) -> None:
        """One more line of the journal, stamped and chained as the writer does it; a person proved it."""
        path = ".phasekeeper/journal.jsonl"
        lines = self.files.get(f"{self.at}/{path}", "").splitlines()
        fields = {name: value for name, value in record.items() if value != EMPTY_RECORD[name]}
        prev = digest_of(lines[-1]) if lines else ""
        line = json.dumps({**fields, "seq": len(lines) + 1, "at": self.now.isoformat(), "prev": prev})
        self.proven.add(line)
        self.write(path, "".join(f"{each}\n" for each in [*lines, line]))

    # ---- how it stands

    def trace(self) -> EvaluationTrace:
        """The run as its files show it; what did not change since is not looked at again."""
        if self._looked is None or not self._is_like(self._looked[0]):
            then = replace(self.copy(), _looked=None)
            found = evaluate_traced(self.workflow, then.snapshot(MemoryFiles(then.files, then.mtimes), {}))
            self._looked = (then, found)
        return self._looked[1]

    def _is_like(self, other: Run) -> bool:
        """True if all that an evaluation depends on is the same."""
        return self.workflow is other.workflow and all(
            getattr(self, name) == getattr(other, name)
            for name in ("at", "files", "mtimes", "proven", "head", "measured")
        )

    def snapshot(self, files: Files, parsed: dict[tuple[str, str], Any], *claims: Claim) -> Snapshot:
        """The run as read from some files, beside parse results that are kept and the live claims."""
        return read_run(
            self.workflow, files, self.at,
            root="/root", config=read_config(self.files.get(CONFIG, "")), claims=claims, parsed=parsed,
            verify=lambda lines: Proofs(frozenset(i for i, line in enumerate(lines) if line in self.proven)),
            measured=self.measured.get,
            committed=lambda path: self.head[path].encode() if path in self.head else None,
        )  # fmt: skip

    @property
    def evaluation(self) -> Evaluation:
        return self.trace().evaluation

    @property
    def standing(self) -> str:
        """The status, the kind of the next step and the step: "active advance 4c"."""
        evaluation = self.evaluation
        words = (evaluation.status, evaluation.suggestion.kind, evaluation.suggestion.suggested_next)
        return " ".join(str(word) for word in words if word)

    def gate(self, name: str) -> str:
        """How a gate stands."""
        return next(gate.status for gate in self.evaluation.gates if gate.id == name)

    def codes(self) -> set[str]:
        """The codes of all findings."""
        return {finding.code for finding in self.evaluation.findings}

    def messages(self, code: str) -> list[str]:
        """The messages of the findings with a code, each behind its place: "path:line: message"."""
        found = (finding for finding in self.evaluation.findings if finding.code == code)
        return [f"{f.path}:{f.span.line + 1 if f.span else ''}: {f.message}" for f in found]

    def refusal(self, step: str, outcome: str, *tasks: str, **more: Any) -> str:
        """Why a report is refused."""
        with pytest.raises(CommandRefused) as refused:
            self.report(step, outcome, *tasks, **more)
        return str(refused.value)


_HEAD = "| Order | Task ID | File | Description | Type | Status |\n|---|---|---|---|---|---|"


def plan_run(*stages: str, adoption: str = "auto", **task_files: str) -> Run:
    """A master-plan run `tasks/f` whose plan has a stage for each text of marks: "x " is one done, one open.

    Tasks are f-01, f-02, … over all stages. `task_files` are texts of task files by number: `t02="…"`.
    """
    run = Run(built_in("master-plan"), "tasks/f")
    run.write(f"/{CONFIG}", f"parameters: {{master-plan: {{adoption: {adoption}}}}}\n")
    lines, number = ["# F - Master Plan"], 0
    for stage, marks in enumerate(stages, 1):
        lines += ["", f"## Phase {stage}: Part {stage}", "", _HEAD]
        for order, mark in enumerate(marks, 1):
            number += 1
            file = f"{number:02}-t.md"
            lines.append(f"| {order} | f-{number:02} | `{file}` | do {number} | impl | [{mark}] |")
            run.write(file, task_files.get(f"t{number:02}", f"# {number:02}. T\n"))
    run.write("MASTER_PLAN.md", "\n".join(lines) + "\n")
    return run
