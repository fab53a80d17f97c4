"""`merge-journal` as a merge driver of a real git: two branches report tasks of one plan, and both stand."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
from phasekeeper.orchestration.plans.three_way_merge import merge_plans
from phasekeeper.server.store.merge_driver import union

from tests.cli_walkthroughs.driver import Drive
from tests.cli_walkthroughs.repository import Repository

RUN = ".orchestrator/tasks/M1"
PLAN = """\
# Feature - Master Plan

**Status**: [~] In Progress

## Phase 1: Foundation (2h)

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 1 | f-01 | `01-first.md` | What it does | impl | [x] |
| 2 | f-02 | `02-second.md` | The second part | impl | [ ] |
| 2 | f-03 | `03-third.md` | The third part | impl | [ ] |

**Progress**: 1/3 tasks complete (33%)
"""


class MergingRepository(Repository):
    """A repository whose merges of journals and plans go through `phasekeeper merge-journal`."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        super().__init__(tmp_path, monkeypatch)
        driver = shlex.join([sys.executable, "-m", "phasekeeper", "merge-journal"])
        self.git("config", "merge.phasekeeper.driver", f"{driver} %O %A %B %P")
        attributes = ("**/.phasekeeper/journal.jsonl", "**/MASTER_PLAN.md")
        lines = (f"{each} merge=phasekeeper\n" for each in attributes)
        (self.root / ".git/info").mkdir(exist_ok=True)
        (self.root / ".git/info/attributes").write_text("".join(lines), encoding="utf-8")
        self.write(f"{RUN}/MASTER_PLAN.md", PLAN)
        for name in ("01-first.md", "02-second.md", "03-third.md"):
            self.write(f"{RUN}/{name}", f"# {name}\n")
        self.commit()

    def done_on_branch(self, name: str, task: str) -> None:
        self.git("switch", "--quiet", "--create", name, "main")
        source, data = f"src/{task}.py", self.root.parent / f"{task}.json"
        self.write(source, f"WORK = {task!r}\n")
        data.write_text(json.dumps({"files": [source]}), encoding="utf-8")
        self.do("report", RUN, "4a", "complete", "--task", task, "--data", str(data))
        self.commit()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MergingRepository:
    return MergingRepository(tmp_path, monkeypatch)


def test_two_branches_that_each_did_a_task_merge_without_a_question(repository: MergingRepository) -> None:
    repository.done_on_branch("one", "f-02")
    repository.done_on_branch("other", "f-03")
    repository.merged("one")
    evaluation = repository.evaluation(RUN)
    codes = {found["code"] for found in evaluation["findings"]}
    assert not {"journal-forked", "status-drift"} & codes
    assert evaluation["suggestion"]["suggestedNext"] == "4b"


def test_ticks_of_neighbouring_rows_are_both_kept_and_the_totals_counted_anew(
    repository: MergingRepository,
) -> None:
    for name, task in (("one", "f-02"), ("other", "f-03")):
        repository.git("switch", "--quiet", "--create", name, "main")
        rows = [row.replace("[ ]", "[x]") if f"| {task} |" in row else row for row in PLAN.splitlines()]
        text = "\n".join(rows).replace("1/3 tasks complete (33%)", "2/3 tasks complete (67%)")
        repository.write(f"{RUN}/MASTER_PLAN.md", text + "\n")
        repository.commit()
    repository.merged("one")
    done = PLAN.replace("[ ]", "[x]").replace("1/3 tasks complete (33%)", "3/3 tasks complete (100%)")
    assert repository.text(f"{RUN}/MASTER_PLAN.md") == done


def test_what_both_sides_changed_differently_is_left_to_a_person(repository: MergingRepository) -> None:
    for name, title in (("one", "Footing"), ("other", "Ground")):
        repository.git("switch", "--quiet", "--create", name, "main")
        repository.write(f"{RUN}/MASTER_PLAN.md", PLAN.replace("Foundation", title))
        repository.commit()
    repository.merged("one", code=1)
    text = repository.text(f"{RUN}/MASTER_PLAN.md")
    assert "<<<<<<<" in text and "Footing" in text and "Ground" in text


def test_rows_that_were_added_are_merged_as_git_does_it(repository: MergingRepository) -> None:
    for name, old, new in (
        ("one", "## Phase 1", "> A note.\n\n## Phase 1"),
        ("other", "(33%)", "(33%)\n\nEnd."),
    ):
        repository.git("switch", "--quiet", "--create", name, "main")
        repository.write(f"{RUN}/MASTER_PLAN.md", PLAN.replace(old, new))
        repository.commit()
    repository.merged("one")
    text = repository.text(f"{RUN}/MASTER_PLAN.md")
    assert "> A note." in text and text.endswith("\n\nEnd.\n")


def test_totals_that_did_not_fit_before_are_not_touched() -> None:
    drifted = PLAN.replace("1/3", "0/3")
    merged = merge_plans(drifted, drifted.replace("[x]", "[~]"), drifted)
    assert merged == drifted.replace("[x]", "[~]")


@pytest.mark.parametrize("text", ["", "one line", "no\nplan\n"])
def test_what_is_no_plan_is_merged_line_by_line(text: str) -> None:
    assert merge_plans(text, text, text) == text
    assert merge_plans("a\nb\n", "A\nb\n", "a\nB\n") == "A\nB\n"
    assert merge_plans("a\n", "b\n", "c\n") is None
    assert merge_plans("a\n", "a\nb\n", "a\n") is None


def test_no_line_of_two_journals_is_lost_or_doubled() -> None:
    assert union(b"a\nb\n", b"a\nc\n") == b"a\nb\nc\n"
    assert union(b"a\nb", b"a\r\nc\r\n") == b"a\nb\nc\r\n"
    assert (union(b"", b"a\n"), union(b"a\n", b"")) == (b"a\n", b"a\n")


def test_a_file_that_cannot_be_read_is_a_wrong_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = Drive(tmp_path, monkeypatch).run("merge-journal", "no", "such", "files", "MASTER_PLAN.md")
    assert done.code == 2
