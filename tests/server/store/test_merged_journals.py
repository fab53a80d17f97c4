"""Two git branches that both add to one journal, merged by git with the attributes that `init` writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from phasekeeper.orchestration.journal.journal import Journal, read_journal
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.server.store.repair import repair
from phasekeeper.server.workspace.workspace import Workspace

from tests.cli_walkthroughs.repository import Repository
from tests.roots import needs

RUN = ".orchestrator/tasks/M1"
JOURNAL = f"{RUN}/.phasekeeper/journal.jsonl"
PLAN = """\
# Feature - Master Plan

**Status**: [~] In Progress

## Phase 1: Foundation (2h)

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 1 | f-01 | `01-first.md` | What it does | impl | [x] |
| 2 | f-02 | `02-tests.md` | Tests of the stage | **test** | [ ] |

**Progress**: 1/2 tasks complete (50%)
"""
WIDE_RUN = ".orchestrator/tasks/M2"
WIDE_JOURNAL = f"{WIDE_RUN}/.phasekeeper/journal.jsonl"
WIDE_PLAN = """\
# Feature - Master Plan

**Status**: [~] In Progress

## Phase 1: Foundation (2h)

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 1 | f-01 | `01-first.md` | What it does | impl | [x] |
| 2 | f-02 | `02-second.md` | The second part | impl | [ ] |
| 2 | f-03 | `03-third.md` | The third part | impl | [ ] |
"""


class PlanRepository(Repository):
    """A repository with a plan under way."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        super().__init__(tmp_path, monkeypatch)
        self.write(f"{RUN}/MASTER_PLAN.md", PLAN)
        for name in ("01-first.md", "02-tests.md"):
            self.write(f"{RUN}/{name}", f"# {name}\n")
        self.do("report", RUN, *self.with_text("4a", "complete", "--task", "f-02"))
        self.commit()

    def on_branch(self, name: str, *reports: tuple[str, ...]) -> None:
        """Reports made on a branch of its own from main."""
        self.git("switch", "--quiet", "--create", name, "main")
        for words in reports:
            self.do("report", RUN, *self.with_text(*words))
        self.commit()

    def look(self) -> tuple[Evaluation, list[tuple[str, str]]]:
        """How the run stands, and (phase, outcome) of the reports that count."""
        workspace = Workspace(self.root)
        match = workspace.match(RUN)
        assert match
        steps = workspace.look(match)
        reports = [each for each in steps.facts.snapshot.records if each["kind"] == "report"]
        return steps.evaluation, [(str(each["phase"]), str(each["outcome"])) for each in reports]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlanRepository:
    needs("git")
    return PlanRepository(tmp_path, monkeypatch)


def line(entry: dict[str, object]) -> str:
    return json.dumps(entry) + "\n"


def codes(evaluation: Evaluation) -> list[str]:
    return [found.code for found in evaluation.findings]


def gates(evaluation: Evaluation) -> dict[str, str]:
    return {gate.id: gate.status for gate in evaluation.gates}


def test_of_merged_branches_no_line_is_lost_and_git_sees_no_conflict(repository: PlanRepository) -> None:
    repository.on_branch("longer", ("4b", "fail", "--failed", "f-02"), ("F1", "ok"))
    repository.on_branch("shorter", ("4b", "pass"))
    lines = {
        line
        for name in ("longer", "shorter")
        for line in repository.git("show", f"{name}:{JOURNAL}").splitlines()
    }
    repository.merged("longer")
    assert set(repository.text(JOURNAL).splitlines()) == lines
    assert read_journal(repository.text(JOURNAL)).forked
    assert "journal-forked" in codes(repository.look()[0])


def test_a_pass_on_the_shorter_branch_opens_nothing_until_a_person_links_it(
    repository: PlanRepository,
) -> None:
    repository.on_branch("longer", ("4b", "fail", "--failed", "f-02"), ("F1", "ok"))
    repository.on_branch("shorter", ("4b", "pass"))
    repository.merged("longer")
    evaluation, counted = repository.look()
    assert counted == [("4a", "complete"), ("4b", "fail"), ("F1", "ok")]
    assert "passed" not in [gates(evaluation)[gate] for gate in gates(evaluation) if gate == "3"]
    refused = repository.run("report", RUN, "4c", "ok")
    assert refused.code == 1


def test_a_decision_on_the_shorter_branch_counts_only_once_a_person_links_it(
    repository: PlanRepository,
) -> None:
    repository.on_branch("longer", ("4b", "fail", "--failed", "f-02"), ("F1", "ok"))
    repository.git("switch", "--quiet", "--create", "shorter", "main")
    assert repository.decide("override", RUN, "--to", "4c", "--reason", "in haste").code in (0, 3)
    repository.commit()
    repository.merged("longer")
    assert not repository.look()[0].overridden
    assert repository.decide("repair", RUN).code == 0
    kinds = [each["kind"] for each in repository.records(RUN)]
    assert kinds.count("override") == 1 and "decision-unverified" not in codes(repository.look()[0])


def test_a_failure_on_the_shorter_branch_counts_at_once(repository: PlanRepository) -> None:
    repository.on_branch("longer", ("4b", "pass"), ("4c", "ok"))
    repository.on_branch("shorter", ("4b", "fail", "--failed", "f-02"))
    repository.git("merge", "--quiet", "--no-edit", "-X", "theirs", "longer")
    evaluation, counted = repository.look()
    assert "journal-forked" in codes(evaluation)
    assert ("4b", "fail") in counted and len(counted) == 4
    assert evaluation.status != "complete"


def test_repair_links_the_branches_and_then_all_records_count(repository: PlanRepository) -> None:
    repository.on_branch("longer", ("4b", "fail", "--failed", "f-02"), ("F1", "ok"))
    repository.on_branch("shorter", ("4b", "pass"))
    repository.merged("longer")
    before = repository.text(JOURNAL)
    done = repository.decide("repair", RUN)
    assert done.code == 0, done
    assert repository.text(JOURNAL).startswith(before)
    assert repository.records(RUN)[-1]["kind"] == "relink"
    evaluation, counted = repository.look()
    assert "journal-forked" not in codes(evaluation)
    assert sorted(counted) == sorted([("4a", "complete"), ("4b", "fail"), ("F1", "ok"), ("4b", "pass")])
    # Both branches of a second merge know the link, and nothing is left to do.
    repository.commit()
    assert repair(repository.root, RUN) == ()


def test_both_branches_may_link_the_same_fork(repository: PlanRepository) -> None:
    repository.on_branch("longer", ("4b", "fail", "--failed", "f-02"), ("F1", "ok"))
    repository.on_branch("shorter", ("4b", "pass"))
    repository.merged("longer")
    repository.git("switch", "--quiet", "--create", "other")
    repository.decide("repair", RUN)
    repository.commit()
    repository.git("switch", "--quiet", "shorter")
    repository.decide("repair", RUN)
    repository.commit()
    repository.merged("other")
    repository.decide("repair", RUN)
    evaluation, counted = repository.look()
    assert "journal-forked" not in codes(evaluation) and "journal-invalid" not in codes(evaluation)
    assert len(counted) == 4
    assert evaluation.status != "invalid"


class WideRepository(PlanRepository):
    """A plan with two tasks that two people may do at once, each in a worktree of their own."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        super().__init__(tmp_path, monkeypatch)
        self.write(f"{WIDE_RUN}/MASTER_PLAN.md", WIDE_PLAN)
        for name in ("01-first.md", "02-second.md", "03-third.md"):
            self.write(f"{WIDE_RUN}/{name}", f"# {name}\n")
        self.commit()

    def work(self, task: str, outcome: str = "complete") -> None:
        """Do a task, with a source file of its own, and report it."""
        source, data = f"src/{task}.py", self.root.parent / f"{task}.json"
        self.write(source, f"WORK = {task!r}\n")
        data.write_text(json.dumps({"files": [source]}), encoding="utf-8")
        self.do("report", WIDE_RUN, "4a", outcome, "--task", task, "--data", str(data))

    def work_on_branch(self, name: str, *tasks: str) -> None:
        """Tasks that were done on a branch of its own from main."""
        self.git("switch", "--quiet", "--create", name, "main")
        for task in tasks:
            self.work(task)
        self.commit_journal()

    def commit_journal(self) -> None:
        """Commit without the marks of the plan: how those are merged is another matter."""
        self.git("checkout", "main", "--", f"{WIDE_RUN}/MASTER_PLAN.md")
        self.commit()

    def journal(self) -> Journal:
        return read_journal(self.text(WIDE_JOURNAL))


@pytest.fixture
def wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WideRepository:
    return WideRepository(tmp_path, monkeypatch)


def test_reports_of_two_tasks_on_two_branches_both_count_at_once(wide: WideRepository) -> None:
    wide.work_on_branch("one", "f-02")
    wide.work_on_branch("other", "f-03")
    wide.merged("one")
    journal = wide.journal()
    assert (journal.forked, len(journal.merged), journal.problems) == (False, 1, ())
    evaluation = wide.evaluation(WIDE_RUN)
    assert not [found for found in evaluation["findings"] if found["code"].startswith("journal")]
    assert evaluation["suggestion"]["suggestedNext"] == "4b"


def test_the_order_of_merged_branches_is_the_same_whichever_way_they_were_merged(
    wide: WideRepository,
) -> None:
    wide.work_on_branch("one", "f-02")
    wide.work_on_branch("other", "f-03")
    wide.git("switch", "--quiet", "--create", "left", "one")
    wide.merged("other")
    left, left_text = wide.journal(), wide.text(WIDE_JOURNAL)
    wide.git("switch", "--quiet", "--create", "right", "other")
    wide.merged("one")
    right, right_text = wide.journal(), wide.text(WIDE_JOURNAL)
    assert left_text != right_text
    assert (left.records, left.head, left.merged) == (right.records, right.head, right.merged)


def test_the_next_write_links_branches_and_nobody_is_asked_about_them_again(wide: WideRepository) -> None:
    wide.work_on_branch("one", "f-02")
    wide.work_on_branch("other", "f-03")
    wide.merged("one")
    before = wide.journal()
    wide.do("report", WIDE_RUN, *wide.with_text("4b", "pass"))
    after = wide.journal()
    assert [entry["kind"] for entry in after.records[len(before.records) :]] == ["relink", "report"]
    assert after.records[: len(before.records)] == before.records
    assert (after.merged, after.forked) == ((), False)
    assert after.records[-2]["about"] == ",".join(before.merged)
    assert [entry["seq"] for entry in after.records[-2:]] == [2, 3]


def test_both_sides_may_link_the_same_branches_and_go_on(wide: WideRepository) -> None:
    wide.work_on_branch("one", "f-02")
    wide.work_on_branch("other", "f-03")
    wide.git("switch", "--quiet", "--create", "left", "one")
    wide.merged("other")
    wide.do("report", WIDE_RUN, *wide.with_text("4b", "pass"))
    wide.commit_journal()
    wide.git("switch", "--quiet", "--create", "right", "other")
    wide.merged("one")
    wide.do("report", WIDE_RUN, *wide.with_text("4b", "fail", "--failed", "f-02"))
    wide.commit_journal()
    wide.git("merge", "--quiet", "--no-edit", "-X", "ours", "left")
    journal = wide.journal()
    assert journal.forked
    said = journal.problems[0].message
    assert "two branches contradict each other: 4b" in said and "2 records await repair" in said


def test_the_same_task_on_two_branches_is_for_a_person(wide: WideRepository) -> None:
    wide.work_on_branch("one", "f-02")
    wide.work_on_branch("other", "f-02", "f-03")
    wide.git("merge", "--quiet", "--no-edit", "-X", "ours", "one")
    journal = wide.journal()
    assert (journal.forked, journal.merged) == (True, ())
    assert journal.problems[0].message.startswith(
        "two branches contradict each other: 4a complete of f-02 by "
    )


def test_runs_that_were_started_on_two_branches_are_one(wide: WideRepository) -> None:
    (wide.root / WIDE_JOURNAL).unlink(missing_ok=True)
    for name, task in (("one", "f-02"), ("other", "f-03")):
        wide.git("switch", "--quiet", "--create", name, "main")
        wide.write(WIDE_JOURNAL, line({"seq": 1, "at": name, "kind": "start", "workflow": "master-plan"}))
        wide.work(task)
        wide.commit_journal()
    wide.merged("one")
    journal = wide.journal()
    assert (journal.forked, len(journal.merged)) == (False, 1)
    assert [entry["kind"] for entry in journal.records] == ["start", "report", "start", "report"]
