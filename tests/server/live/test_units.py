"""Runs in a file as a server keeps them: they come, go and change with what the file says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.server.live.cached_live_root import CachedLiveRoot
from phasekeeper.server.live.live_root import LiveRoot

from tests.roots import put, run_to_end

FILE = ".taskmaster/tasks/tasks.json"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "root/.git").mkdir(parents=True)
    return tmp_path / "root"


def tags(root: Path, **counts: int) -> Path:
    """Write a file with so many open tasks in each tag."""
    data: dict[str, Any] = {
        tag: {"tasks": [{"id": n + 1, "title": f"{tag} {n}", "status": "pending"} for n in range(count)]}
        for tag, count in counts.items()
    }
    return put(root / FILE, json.dumps(data, indent=1))


def scanned(root: Path) -> LiveRoot:
    live = LiveRoot(root)
    run_to_end(live.scan_in_parts())
    return live


def totals(live: LiveRoot) -> dict[str, int]:
    return {
        run.rpartition("#")[2]: evaluation.progress.total if evaluation.progress else 0
        for run, evaluation in live.runs.items()
    }


def test_tags_come_and_go_with_the_text_of_the_file(root: Path) -> None:
    live = scanned(root)
    file = tags(root, master=1)
    assert live.refresh_paths([file])
    assert totals(live) == {"master": 1}
    tags(root, master=1, next=2)
    change = live.refresh_paths([file])
    assert change
    assert f"{FILE}#next" in change.changed
    tags(root, next=3)
    change = live.refresh_paths([file])
    assert change
    assert change.removed == (f"{FILE}#master",)
    assert totals(live) == {"next": 3}
    file.unlink()
    assert live.refresh_paths([file])
    assert totals(live) == {}


def test_a_change_in_one_tag_is_no_change_of_another(root: Path) -> None:
    file = tags(root, master=1, other=2)
    live = scanned(root)
    text = file.read_text()
    file.write_text(text.replace('"other 1"', '"something else"'))
    change = live.refresh_paths([file])
    assert change
    plans = {run: evaluation.plan for run, evaluation in live.runs.items()}
    titles = [task.title for plan in plans.values() if plan for task in plan.plan.tasks]
    assert titles == ["master 0", "other 0", "something else"]


def test_a_damaged_file_is_a_run_with_a_damaged_file(root: Path) -> None:
    file = tags(root, master=1, other=2)
    live = scanned(root)
    file.write_text(file.read_text()[:-6])
    assert live.refresh_paths([file])
    assert {run.rpartition("#")[2] for run in live.runs} == {"master", "other"}
    assert [each.code for each in live.findings[FILE]] == ["artifact-unreadable"]
    assert all(each.status != "complete" for each in live.runs.values())


def test_the_folder_of_the_file_goes_and_comes(root: Path) -> None:
    tags(root, master=1)
    live = scanned(root)
    (root / ".taskmaster").rename(root / "away")
    assert live.refresh_paths([root / ".taskmaster", root / "away"])
    assert totals(live) == {}
    (root / "away").rename(root / ".taskmaster")
    assert live.refresh_paths([root / ".taskmaster", root / "away"])
    assert totals(live) == {"master": 1}


def test_text_that_is_not_saved_counts_in_its_tag(root: Path) -> None:
    file = tags(root, master=1, other=1)
    live = scanned(root)
    unsaved = live.evaluate_unsaved({FILE: file.read_text().replace("pending", "done", 1)})
    assert {run.rpartition("#")[2]: each.status for run, each in unsaved.items()} == {
        "master": "complete",
        "other": "active",
    }


def test_a_run_in_a_file_stands_across_starts(root: Path, tmp_path: Path) -> None:
    tags(root, master=1, other=2)

    def start() -> dict[str, int]:
        live = CachedLiveRoot(root, cache=tmp_path / "cache")
        run_to_end(live.scan_in_parts())
        list(live.save_in_parts())
        return totals(live)

    assert start() == start() == {"master": 1, "other": 2}
    tags(root, master=4)
    assert start() == {"master": 4}


# ---- plan files, which are runs only where nothing else is one


def plan_runs(live: LiveRoot) -> list[str]:
    return [*live.runs]


def test_a_plan_file_is_a_run_while_nothing_else_may_be_one(root: Path) -> None:
    plan = put(root / "docs/PLAN.md", "- [ ] a\n")
    live = scanned(root)
    assert plan_runs(live) == ["docs/PLAN.md#PLAN"]
    change = put(root / "openspec/changes/one/proposal.md", "## Why\n")
    assert live.refresh_paths([root / "openspec"])
    assert plan_runs(live) == ["openspec/changes/one"]
    change.unlink()
    change.parent.rmdir()
    assert live.refresh_paths([change.parent])
    assert plan_runs(live) == ["docs/PLAN.md#PLAN"]
    tags(root, master=1)
    assert live.refresh_paths([root / FILE])
    assert plan_runs(live) == [f"{FILE}#master"]
    (root / FILE).unlink()
    assert live.refresh_paths([root / FILE])
    plan.write_text("nothing to do\n")
    assert live.refresh_paths([plan])
    assert plan_runs(live) == []
    plan.write_text("- [x] a\n")
    assert live.refresh_paths([plan])
    assert [each.status for each in live.runs.values()] == ["complete"]


def test_a_definition_of_one_s_own_reads_plan_files_beside_others(root: Path) -> None:
    put(root / "TODO.md", "- [ ] a\n")
    put(root / "openspec/changes/one/proposal.md", "## Why\n")
    put(
        root / ".phasekeeper/workflows/plans.yaml",
        "workflow: plans\nextend: plan-file\nruns: {alone: null}\n",
    )
    live = scanned(root)
    assert {run: each.workflow for run, each in live.runs.items()} == {
        "TODO.md#TODO": "plans",
        "openspec/changes/one": "openspec",
    }
    (root / "openspec/changes/two").mkdir()
    assert live.refresh_paths([root / "openspec/changes/two"]) is None
    assert plan_runs(live) == ["TODO.md#TODO", "openspec/changes/one"]
