"""A writer between its record and its files: who looks meanwhile is asked nothing that the writer made so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.server.live.live_root import LiveRoot
from phasekeeper.server.store import commit as store
from phasekeeper.server.store import recovery
from phasekeeper.server.workspace.apply import apply_command
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import put, run_to_end
from tests.server.live.quality_gates import GATES, RUN, STATE, loop_at_quality_gates

JOURNAL = f"{RUN}/.phasekeeper/journal.jsonl"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return loop_at_quality_gates(tmp_path / "root")


def report(root: Path, step: str, data: dict[str, Any] | None = None) -> None:
    wanted = Command("report", step, "ok", message="done", data=data or {})
    apply_command(Workspace(root), RUN, wanted)


def all_reports(root: Path) -> Iterator[Callable[[], None]]:
    """Reports one after another, each of which writes the state beside its record."""
    yield lambda: report(root, "quality", {"stateUpdates": {"gates": GATES}})
    yield lambda: report(root, "checkpoint")
    yield lambda: report(root, "evaluate")


def cold(workspace: Workspace) -> Evaluation:
    match = workspace.match(RUN)
    assert match
    return workspace.evaluate(match)


def is_calm(evaluation: Evaluation) -> bool:
    """True if nobody is asked, and nothing is wrong, for what a command wrote."""
    return not evaluation.questions and not evaluation.findings


@pytest.mark.parametrize("early", [STATE, JOURNAL, f"{RUN}/"])
def test_a_look_that_began_before_a_commit_and_ends_after_it_is_of_one_moment(root: Path, early: str) -> None:
    for number, write in enumerate(all_reports(root), 1):
        workspace = Workspace(root)
        (workspace.files.list if early.endswith("/") else workspace.files.read)(early.rstrip("/"))
        write()
        seen = cold(workspace)
        assert is_calm(seen) and seen.revision == cold(Workspace(root)).revision
        assert len((root / JOURNAL).read_text().splitlines()) == number


def test_a_look_that_two_commits_overtook_is_of_one_moment(root: Path) -> None:
    workspace = Workspace(root)
    workspace.files.read(STATE)
    for write in all_reports(root):
        write()
    assert is_calm(cold(workspace))


@pytest.mark.parametrize("hint", [JOURNAL, STATE, f"{RUN}/gates", RUN])
def test_a_server_that_hears_of_a_commit_while_its_files_wait_asks_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch, hint: str
) -> None:
    live = LiveRoot(root)
    run_to_end(live.scan_in_parts())
    finish, looks = store.finish_rename, list[bool]()

    def look() -> None:
        live.refresh_paths([root / hint], grace=True)
        looks.extend((is_calm(live.runs[RUN]), is_calm(cold(Workspace(root)))))

    def between(*arguments: Any) -> Any:
        look()  # the record is there, its files are not
        done = finish(*arguments)
        look()
        return done

    monkeypatch.setattr(store, "finish_rename", between)
    for write in all_reports(root):
        write()
        look()
    assert looks and all(looks)


@pytest.mark.parametrize("grace", [True, False])
def test_a_rename_while_the_folder_is_looked_at_is_seen_with_its_record(
    root: Path, monkeypatch: pytest.MonkeyPatch, grace: bool
) -> None:
    report(root, "quality", {"stateUpdates": {"gates": GATES}})
    report(root, "checkpoint")
    live = LiveRoot(root)
    run_to_end(live.scan_in_parts())
    pending, waiting = recovery.pending_writes, list[tuple[Any, ...]]()

    def renamed(*arguments: Any) -> Any:
        for each in waiting:
            recovery.finish_rename(*each)
        waiting.clear()
        return pending(*arguments)

    def stop(*arguments: Any) -> None:
        waiting.append(arguments)
        live.refresh_paths([root / RUN], grace=grace)

    monkeypatch.setattr(recovery, "pending_writes", renamed)
    monkeypatch.setattr(store, "finish_rename", stop)
    report(root, "evaluate")
    assert not waiting and is_calm(live.runs[RUN])


def loosen(root: Path) -> None:
    """Raise a count by hand that only a report may raise."""
    state = json.loads((root / STATE).read_text())
    put(root / STATE, {**state, "consecutivePasses": state["consecutivePasses"] + 1})


def is_asked(root: Path) -> tuple[bool, bool]:
    live = LiveRoot(root)
    run_to_end(live.scan_in_parts())
    asked = [[each.id for each in one.questions] for one in (live.runs[RUN], cold(Workspace(root)))]
    return asked[0] == ["state"], asked[1] == ["state"]


def test_what_is_loosened_by_hand_right_after_a_record_is_asked(root: Path) -> None:
    for write in all_reports(root):
        write()
    live = LiveRoot(root)
    run_to_end(live.scan_in_parts())
    loosen(root)
    live.refresh_paths([root / STATE])
    assert [each.id for each in live.runs[RUN].questions] == ["state"]
    assert is_asked(root) == (True, True)


def test_the_state_of_before_a_record_put_back_by_hand_is_asked(root: Path) -> None:
    *earlier, last = all_reports(root)
    for write in earlier:
        write()
    before = (root / STATE).read_text()
    last()
    put(root / STATE, before)
    assert is_asked(root) == (True, True)


def test_what_is_loosened_by_hand_beside_a_write_that_was_cut_off_is_asked(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    *earlier, last = all_reports(root)
    for write in earlier:
        write()
    with monkeypatch.context() as patched:
        patched.setattr(store, "finish_rename", lambda *_: None)
        last()
    assert list((root / RUN).glob(".*.tmp"))
    assert is_asked(root) == (False, False)
    loosen(root)
    assert is_asked(root) == (True, True)
