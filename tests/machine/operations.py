"""Random operations on one run, and what has to hold after each of them.

The model is small: the files as the journal has them. What is acknowledged adds its records and its texts
and nothing else; what is refused changes nothing; a crash is the one or the other. Whatever was written,
the answer that the operation gave is the one somebody gets who has just come.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from phasekeeper.orchestration.journal.journal import read_journal
from phasekeeper.orchestration.result.values import Evaluation, as_json
from phasekeeper.orchestration.updates.commands import Command, CommandRefused
from phasekeeper.orchestration.updates.propose import Proposal
from phasekeeper.orchestration.updates.refusals import RecordedRefusal
from phasekeeper.server.live.live_root import LiveRoot
from phasekeeper.server.store import claims
from phasekeeper.server.store.commit import Conflict, StoreError
from phasekeeper.server.store.lock import utc_now
from phasekeeper.server.store.log_file import BrokenLog
from phasekeeper.server.store.recovery import pending_writes
from phasekeeper.server.store.repair import repair
from phasekeeper.server.workspace import apply
from phasekeeper.server.workspace.roots import UsageError
from phasekeeper.server.workspace.workspace import Workspace

from tests.faults.scenario import in_memory
from tests.machine.disk import Died, Tree, ended, failing, files, recorded
from tests.machine.world import REPORTS, World
from tests.roots import run_to_end

OUTCOMES = ("ok", "pass", "fail", "partial", "blocked", "error", "questions_needed", "discovery_needed")
VALUES = st.sampled_from([None, 0, 3, -1, True, "", "done", "complete", "running", [], {}, ["x"], {"a": 1}])
STEP_DATA = {
    "components": [{"id": "c1", "artifact_path": "docs/c1.md"}, {"id": "c2", "artifact_path": "docs/c2.md"}],
    "title": "Fixes",
    "tasks": [{"title": "Mend it"}],
    "stateUpdates": {"target_skill.name": "book-finder", "user_issue_description": "it finds old editions"},
}
"""What some steps of the five workflows need beside their outcome."""
PEOPLE = st.sampled_from(["ann", "bob"])
ERRORS = (None, None, errno.ENOSPC, errno.EIO, errno.EACCES)


class Operations(RuleBasedStateMachine):
    """Subclasses name the workflow. `tally` counts what came of the operations."""

    workflow = ""
    tally: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory(dir=in_memory(Path(tempfile.gettempdir())))
        self.environment = mock.patch.dict(os.environ, {"XDG_STATE_HOME": f"{self.place.name}/state"})
        self.environment.start()
        root = Path(self.place.name).resolve() / "root"
        root.mkdir()
        self.world = World(root, self.workflow)
        self.live = LiveRoot(root)
        run_to_end(self.live.scan_in_parts())
        self.seen = files(root)
        self.acknowledged: list[str] = self.lines()
        self.good = self.world.read(self.world.state) if self.world.state else b""
        self.claims: dict[str, tuple[str, int]] = {}
        self.past = utc_now() - timedelta(days=30)
        self.retimed: list[Path] = []
        self.parsed: dict[tuple[str, str], Any] = {}

    def teardown(self) -> None:
        self.environment.stop()
        self.place.cleanup()

    # ---- acts

    @rule(data=st.data())
    def report(self, data: st.DataObject) -> None:
        """A step in its turn or out of it, with an outcome that it has or not."""
        now = self.now()
        workflow = self.world.workflow
        steps = [*workflow.phases, *workflow.actions]
        due = [s for s in (now.suggestion.action, now.suggestion.suggested_next, now.current_phase) if s]
        step = data.draw(st.sampled_from(due * 3 + steps) if due else st.sampled_from(steps), "step")
        phase = workflow.phases.get(step)
        outcome = data.draw(
            st.sampled_from([*(phase.outcomes if phase else ())] * 3 + [*OUTCOMES]), "outcome"
        )
        tasks = data.draw(st.lists(st.sampled_from(self.tasks(now)), max_size=2, unique=True), "tasks")
        given = data.draw(st.one_of(st.just({}), self.payloads()), "data")
        goal = data.draw(st.sampled_from(["", "", "", *workflow.phases]), "next")
        self.act(
            data,
            Command(
                "report", step, outcome, tasks=tuple(tasks), data=given, next=goal, message="m", actor="ann"
            ),
        )

    def tasks(self, now: Evaluation) -> list[str]:
        known = [task.id for stage in now.plan.stages for task in stage.tasks] if now.plan else []
        return [*known, "nothing-99"]

    def payloads(self) -> st.SearchStrategy[dict[str, Any]]:
        updates = st.dictionaries(
            st.sampled_from(["phase", "status", "iteration", "x.y", "notes", "gates"]), VALUES
        )
        return st.one_of(
            updates.map(lambda u: {"stateUpdates": u}), st.just(STEP_DATA), st.just({"status": "complete"})
        )

    @rule(data=st.data())
    def go_on(self, data: st.DataObject) -> None:
        """What a good assistant does: leave what is asked for, and report the step; so that walks get on."""
        if self.good and self.now().status == "invalid":
            self.edit(self.world.state or "", self.good)
        self.produced(data, spoilt=False)
        now = self.now()
        step = now.suggestion.action or now.suggestion.suggested_next or now.current_phase or "none"
        phase = self.world.workflow.phases.get(step)
        outcome = data.draw(st.sampled_from((*(phase.outcomes if phase else ()), "ok")), "outcome")
        self.act(
            data,
            Command(
                "report",
                step,
                outcome,
                tasks=now.suggestion.tasks[:1],
                data=STEP_DATA,
                message="m",
                actor="ann",
            ),
        )

    go_on_again = go_on_still = go_on

    @rule(data=st.data())
    def start_step(self, data: st.DataObject) -> None:
        step = data.draw(st.sampled_from([*self.world.workflow.phases, *self.world.workflow.actions]), "step")
        self.act(data, Command("start", step, actor="ann"))

    @precondition(lambda self: self.now().questions)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        question = data.draw(st.sampled_from(self.now().questions), "question")
        options = [option.id for option in question.options] or ["in words"]
        option = data.draw(st.sampled_from(options * 4 + ["no-such-option"]), "option")
        stale = data.draw(st.sampled_from([False, False, False, True]), "stale")
        revision = "0" * 16 if stale else self.now().revision
        act = Command(
            "answer", question=question.id, option=option, why="because", actor="ann", channel="terminal"
        )
        self.act(data, act, signed=True, revision=revision)

    @rule(data=st.data())
    def override(self, data: st.DataObject) -> None:
        step = data.draw(st.sampled_from([*self.world.workflow.phases]), "to")
        self.act(data, Command("override", step, why="because", actor="ann", channel="terminal"), signed=True)

    @rule(data=st.data())
    def redo(self, data: st.DataObject) -> None:
        step = data.draw(st.sampled_from([*self.world.workflow.phases]), "phase")
        self.act(data, Command("redo", step, why="again", actor="ann"))

    def act(self, data: st.DataObject, act: Command, **options: Any) -> None:
        """Carry out an act, with a fault or without, and compare with the model."""
        fault = self.fault(data)
        before, proposals = recorded(self.world.root, self.world.run), list[Proposal]()
        done = None
        options["claims"] = apply.HeldClaims([f"{act.actor}'s"])
        with self.kept(proposals):
            try:
                with failing(*fault) if fault else failing(10**9, 0, False):
                    done = apply.apply_command(Workspace(self.world.root), self.world.run, act, **options)
            except RecordedRefusal as error:
                self.tally["refused"] += 1
                note(f"refused: {error}")
                self.kept_refusal(before)
            except (CommandRefused, UsageError, StoreError) as error:
                self.tally["refused"] += 1
                note(f"refused: {error}")
                claimed = any(who != act.actor for who, _ in self.claims.values())
                is_held = claimed and isinstance(error, Conflict) and "is claimed by" in str(error)
                assert fault or is_held or not isinstance(error, StoreError) or self.is_broken(), error
                is_open = isinstance(error, RecordedRefusal) or type(error).__name__ == "Unknown"
                self.same(before, proposals, undecided=is_open)
            except Died:
                self.tally["died"] += 1
                self.same(before, proposals, undecided=True)
        if done is not None:
            self.done(before, proposals[-1], done)

    def fault(self, data: st.DataObject) -> tuple[int, int | None, bool] | None:
        """(which change fails, with what error number, and all later ones too), mostly none."""
        faulty = st.tuples(st.integers(0, 30), st.sampled_from(ERRORS), st.booleans())
        return data.draw(st.one_of(st.none(), st.none(), faulty), "fault")

    def done(self, before: Tree, proposal: Proposal, done: apply.CommandResult) -> None:
        self.tally[f"acknowledged {done.commit.records[-1]['kind']}"] += 1
        self.tally[f"stands {done.evaluation.status}"] += 1
        self.acknowledged += [json.dumps(entry) for entry in done.commit.records]
        conflicts = any(each.kind == "conflict" for each in done.commit.recovery)
        after = recorded(self.world.root, self.world.run)
        if not conflicts:
            assert (
                differing(self.expected(before, proposal), without_journal(after, self.world.journal)) == []
            )
        added = after[self.world.journal][len(before.get(self.world.journal, b"")) :]
        assert [json.loads(line) for line in added.splitlines()] == list(done.commit.records)
        cold = self.world.cold()
        alike(done.evaluation, cold)

    def expected(self, before: Tree, proposal: Proposal) -> Tree:
        edits = {edit.path: edit.text.encode() for edit in proposal.edits}
        return without_journal(before, self.world.journal) | edits

    def same(self, before: Tree, proposals: list[Proposal], undecided: bool) -> None:
        """Nothing was recorded and nothing changed, or, where that is open, all of it."""
        after, journal = recorded(self.world.root, self.world.run), self.world.journal
        old, new = before.get(journal, b""), after.get(journal, b"")
        if undecided and not proposals and new != old:
            self.kept_refusal(before)
        elif undecided and proposals and new != old:
            assert new.startswith(old)
            lines = new[len(old) :].splitlines()
            assert len(lines) == len(proposals[-1].records)
            self.acknowledged += [line.decode() for line in lines]
            assert differing(self.expected(before, proposals[-1]), without_journal(after, journal)) == []
        else:
            assert differing(before, after) == []

    def kept_refusal(self, before: Tree) -> None:
        """A refusal for want of change was recorded, and nothing else changed."""
        after, journal = recorded(self.world.root, self.world.run), self.world.journal
        old, new = before.get(journal, b""), after.get(journal, b"")
        assert new.startswith(old)
        lines = [line.decode() for line in new[len(old) :].splitlines()]
        assert "refused" in [json.loads(line)["kind"] for line in lines]
        self.acknowledged += lines
        assert differing(without_journal(before, journal), without_journal(after, journal)) == []

    @contextmanager
    def kept(self, proposals: list[Proposal]) -> Iterator[None]:
        """Notes what the engine proposes."""
        real = apply.propose

        def proposed(*arguments: Any) -> Proposal:
            try:
                proposals.append(real(*arguments))
            except RecordedRefusal as refusal:
                # What is kept of it is written like a proposal that changes no file.
                proposals.append(Proposal((), refusal.records, arguments[0].evaluation))
                raise
            return proposals[-1]

        with mock.patch.object(apply, "propose", proposed):
            yield

    # ---- claims

    @rule(data=st.data(), who=PEOPLE, over=st.booleans())
    def claim(self, data: st.DataObject, who: str, over: bool) -> None:
        """A claim that is alive, or one that somebody made long ago."""
        task = data.draw(st.sampled_from(self.tasks(self.now())), "task")
        self.past += timedelta(hours=2)
        clock = (lambda: self.past) if over else utc_now
        holder = self.claims.get(task)
        try:
            made = claims.claim(self.world.root, self.world.run, task, who, 3600, f"{who}'s", clock=clock)
        except StoreError:
            assert holder and holder[0] != who
            return
        assert holder is None or holder[0] == who or over
        assert all(made.seq > seq for _, seq in self.claims.values())
        if over:
            self.claims.pop(task, None)
        else:
            self.claims[task] = (who, made.seq)

    @rule(data=st.data(), who=PEOPLE)
    def release(self, data: st.DataObject, who: str) -> None:
        task = data.draw(st.sampled_from(self.tasks(self.now())), "task")
        holder = self.claims.get(task)
        try:
            ended_one = claims.release(self.world.root, self.world.run, task, f"{who}'s")
        except StoreError:
            assert holder and holder[0] != who
            return
        assert ended_one is (holder is not None)
        self.claims.pop(task, None)

    # ---- what people, editors and crashes do to files

    @rule(data=st.data())
    def produce(self, data: st.DataObject) -> None:
        """Leave what the suggested step must leave, more or less."""
        self.produced(data, spoilt=True)

    def produced(self, data: st.DataObject, spoilt: bool) -> None:
        for made in self.now().suggestion.produce:
            path = made.path.replace("**", "a.txt").replace("*", "a")
            texts = [made.example or "# Something\n"] * 4 + (["", "{", "[]"] if spoilt else [])
            self.edit(path, data.draw(st.sampled_from(texts), path).encode())

    def edit(self, path: str, raw: bytes | None) -> None:
        """Save or remove a file; what makes it no run any more is seen by all and taken back."""
        before = self.world.read(path)
        if raw is None:
            self.world.remove(path)
        else:
            self.world.write(path, raw)
        if self.world.cold() is None:
            self.tally["vanished"] += 1
            self.the_live_answer_is_that_of_a_cold_look()
            self.world.write(path, before)

    @rule(data=st.data())
    def say_word(self, data: st.DataObject) -> None:
        """Turn a word in a file into another that means something."""
        words = (
            "false",
            "true",
            "[ ]",
            "[x]",
            "approve",
            "blocked",
            "completed",
            "pending",
            "active",
            "complete",
        )
        path = data.draw(st.sampled_from(self.world.editable() or ["a.txt"]), "path")
        old, new = (data.draw(st.sampled_from(words)).encode() for _ in range(2))
        raw = self.world.read(path)
        if old in raw:
            self.edit(path, raw.replace(old, new, 1))

    @precondition(lambda self: self.world.state)
    @rule(
        key=st.sampled_from(["phase", "status", "iteration", "actors", "history", "error_count"]),
        value=VALUES,
    )
    def set_state(self, key: str, value: Any) -> None:
        try:
            state = json.loads(self.world.read(self.world.state or ""))
        except ValueError:
            return
        if isinstance(state, dict):
            self.edit(self.world.state or "", json.dumps({**state, key: value}, indent=2).encode())

    @precondition(lambda self: self.world.state)
    @rule(data=st.data())
    def move_phase(self, data: st.DataObject) -> None:
        phase = data.draw(st.sampled_from([*self.world.workflow.phases, "nonsense"]), "phase")
        self.set_state("phase", phase)

    @rule(data=st.data())
    def cut_or_remove(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(self.world.editable() or ["a.txt"]), "path")
        if data.draw(st.booleans(), "cut"):
            raw = self.world.read(path)
            self.edit(path, raw[: data.draw(st.integers(0, len(raw)), "to")])
        else:
            self.edit(path, None)

    @precondition(lambda self: self.world.workflow.reports.files)
    @rule(
        text=st.sampled_from(REPORTS), name=st.sampled_from(["a", "b", "c"]), after_s=st.sampled_from([0, 9])
    )
    def report_file(self, text: str, name: str, after_s: int) -> None:
        self.world.write(f"{self.world.run}/reports/{name}.md", text, after_s)

    @precondition(lambda self: self.world.workflow.reports.files)
    @rule(name=st.sampled_from(["a", "b", "c"]), by_s=st.sampled_from([-9, -1, 9]))
    def report_time(self, name: str, by_s: int) -> None:
        """Give a report file another time, as a clone or a copy does."""
        path = self.world.root / self.world.run / "reports" / f"{name}.md"
        if path.exists():
            time_ns = path.stat().st_mtime_ns + by_s * 10**9
            os.utime(path, ns=(time_ns, time_ns))
            self.retimed.append(path)

    @rule(of_live=st.booleans())
    def forget(self, of_live: bool) -> None:
        """Drop what is remembered of evaluations."""
        if of_live:
            self.live._examiner.parsed.drop(self.world.run)
        else:
            self.parsed.clear()

    @rule(data=st.data())
    def torn_tail(self, data: st.DataObject) -> None:
        """What a write leaves that was cut off by a power loss."""
        line = self.world.next_line(kind="report", phase="x", outcome="ok", more=1)
        whole = self.world.read(self.world.journal)
        if whole and not whole.endswith(b"\n"):
            return
        size = data.draw(st.sampled_from([1, len(line) // 2, len(line) - 1]), "size")
        tails = [line[:size], line[:size] + b"\0" * 20, line + b"\n", line + b"\n" + line[:9]]
        self.world.append(data.draw(st.sampled_from(tails), "tail"))

    @rule()
    def forge(self) -> None:
        """A decision that no person made, put in the journal by hand: it changes nothing but is told."""
        if not self.is_whole():
            return
        before = self.now()
        line = self.world.next_line(
            kind="override", phase="x", next=before.current_phase or "", why="w", mac="0" * 64
        )
        self.world.append(line + b"\n")
        self.acknowledged.append(line.decode())
        after = self.now()
        assert "decision-unverified" in [each.code for each in after.findings]
        assert (after.current_phase, after.status, after.gates) == (
            before.current_phase,
            before.status,
            before.gates,
        )

    @rule(data=st.data())
    def merge_branch(self, data: st.DataObject) -> None:
        """Somebody reports on a branch, and git merges both journals by keeping all lines."""
        now = self.now()
        step = now.suggestion.action or now.suggestion.suggested_next
        if not step or not self.is_whole():
            return
        other = Path(self.place.name).resolve() / "other"
        shutil.copytree(self.world.root, other)
        try:
            before = (other / self.world.journal).read_bytes()
            act = Command("report", step, "ok", actor="bob")
            try:
                apply.apply_command(Workspace(other), self.world.run, act)
            except (CommandRefused, UsageError, StoreError):
                return
            theirs = (other / self.world.journal).read_bytes()[len(before) :]
        finally:
            shutil.rmtree(other)
        self.act(data, Command("report", step, "ok", message="ours", actor="ann"))
        if self.is_whole():
            self.world.append(theirs)
            self.acknowledged += theirs.decode().splitlines()

    @rule(data=st.data())
    def mend(self, data: st.DataObject) -> None:
        """`repair`: all lines stay, the branches are linked, and a second time does nothing."""
        fault = self.fault(data)
        before = recorded(self.world.root, self.world.run)
        try:
            with failing(*fault) if fault else failing(10**9, 0, False):
                repair(self.world.root, self.world.run)
        except (StoreError, Died) as error:
            assert fault or isinstance(error, BrokenLog), error
        self.linked(before)
        if not fault:
            assert repair(self.world.root, self.world.run) == ()
            assert not {"journal-forked", "journal-torn"} & {each.code for each in self.now().findings}
            assert pending_writes(self.world.root, self.world.run) == ({}, (), ())

    def linked(self, before: Tree) -> None:
        """A repair added nothing but records that link."""
        after, journal = recorded(self.world.root, self.world.run), self.world.journal
        old, new = before.get(journal, b""), after.get(journal, b"")
        assert new.startswith(old)
        added = new[len(old) :].decode().splitlines()
        assert all(json.loads(line)["kind"] == "relink" for line in added)
        self.acknowledged += added
        assert differing(without_journal(before, journal), without_journal(after, journal)) == []

    # ---- what always holds

    @invariant()
    def nothing_is_lost(self) -> None:
        lines = self.lines()
        missing = Counter(self.acknowledged) - Counter(lines)
        assert not missing, missing
        assert Counter(lines) == Counter(self.acknowledged)

    @invariant()
    def the_live_answer_is_that_of_a_cold_look(self) -> None:
        now = files(self.world.root)
        changed = [
            self.world.root / path for path in {*now, *self.seen} if now.get(path) != self.seen.get(path)
        ]
        self.seen = now
        self.live.refresh_paths([*changed, *self.left(), *self.retimed])
        self.retimed = []
        cold = self.world.cold()
        alike(self.live.runs.get(self.world.run), cold)
        alike(self.world.cold(self.parsed), cold)

    def left(self) -> list[Path]:
        """What a write has at work: a watcher hears of it too."""
        return [path for path in self.world.root.rglob("*") if "phasekeeper-" in path.name]

    # ---- questions

    def now(self) -> Evaluation:
        found = self.world.cold()
        assert found is not None
        return found

    def lines(self) -> list[str]:
        """The records in the journal, without what is torn."""
        raw = ended_or_raw(self.world.read(self.world.journal), self.world.journal)
        return [line.decode() for line in raw.split(b"\n") if line.strip()]

    def is_broken(self) -> bool:
        return read_journal(self.world.read(self.world.journal).decode(errors="replace")).broken

    def is_whole(self) -> bool:
        """Whether the journal ends with a whole line."""
        raw = self.world.read(self.world.journal)
        return ended_or_raw(raw, self.world.journal) == raw and bool(raw)


def ended_or_raw(raw: bytes, journal: str) -> bytes:
    try:
        return ended(raw, journal)
    except BrokenLog:
        return raw


def alike(left: Evaluation | None, right: Evaluation | None) -> None:
    """Fails with what two evaluations say differently."""
    if left is None or right is None:
        assert left is right, (left, right)
        return
    ours, theirs = ({**as_json(each), "reads": dict(each.reads)} for each in (left, right))
    told = {name: (said, theirs[name]) for name, said in ours.items() if said != theirs[name]}
    assert not told, told


def without_journal(tree: Tree, journal: str) -> Tree:
    return {path: raw for path, raw in tree.items() if path != journal}


def differing(left: Tree, right: Tree) -> list[str]:
    """The paths whose bytes are not the same; a journal without a line is none."""
    return sorted(path for path in {*left, *right} if (left.get(path) or None) != (right.get(path) or None))
