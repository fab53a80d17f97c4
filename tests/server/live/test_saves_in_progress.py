"""A save in progress is not a fact: what may be half saved is told when it is whole or its grace is over."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from phasekeeper.server.disk import file_cache
from phasekeeper.server.disk.partial_saves import GRACE_MS, MAX_HOLD_MS
from phasekeeper.server.live.live_root import LiveRoot
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import TASKS, plan, put, run_to_end, task

T1, T2 = f"{TASKS}/T1", f"{TASKS}/T2"
PLAN = ".orchestrator/tasks/books"
OWN = "extend: artifact-pipeline\nworkflow: mine\nruns: {at: [own/*], marker: {file: state.json}}\n"


class Clock:
    ms = 0.0

    def __call__(self) -> float:
        return self.ms


class Root:
    """A root that is told where something changed, with a clock of its own."""

    def __init__(self, root: Path) -> None:
        task(root, "T1")
        plan(root, "books", 120, done=50)
        self.root, self.clock = root, Clock()
        self.live = LiveRoot(root, now_ms=self.clock)
        run_to_end(self.live.scan_in_parts())

    def tell(self, *paths: str) -> object:
        return self.live.refresh_paths([self.root / path for path in paths], grace=True)

    def wait(self, ms: float) -> object:
        self.clock.ms += ms
        return self.live.refresh_paths(grace=True)

    def is_as_at_first_sight(self) -> bool:
        workspace = Workspace(self.root)
        return dict(self.live.runs) == {each.run: workspace.evaluate(each) for each in workspace.matches}


@pytest.fixture
def books(root: Path) -> Root:
    return Root(root)


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def rename_away(path: Path) -> None:
    path.rename(path.with_name(f"{path.name}~"))


def cut(size: int) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(path.read_bytes()[:size])


HALVES: list[tuple[str, Callable[[Path], object]]] = [
    (f"{PLAN}/MASTER_PLAN.md", remove),
    (f"{PLAN}/MASTER_PLAN.md", rename_away),
    (f"{PLAN}/MASTER_PLAN.md", cut(0)),
    (f"{PLAN}/MASTER_PLAN.md", cut(200)),
    (f"{PLAN}/00051-step.md", remove),
    (f"{PLAN}/00051-step.md", cut(0)),
    (PLAN, remove),
    (f"{T1}/state.json", remove),
    (f"{T1}/state.json", cut(9)),
    (f"{T1}/review/plan-review.json", rename_away),
    (f"{T1}/review/plan-review.json", cut(0)),
    (f"{T1}/review", remove),
    (T1, remove),
    (TASKS, remove),
]


@pytest.mark.parametrize(("path", "half"), HALVES)
def test_half_a_save_is_not_told_before_its_grace_is_over(books, path, half):
    before = books.live.runs
    half(books.root / path)
    assert books.tell(path) is None
    assert books.live.held_runs()
    assert books.wait(GRACE_MS - 1) is None
    assert books.live.wait_ms() == 1
    assert books.live.runs is before

    assert books.wait(1)
    assert not books.live.held_runs()
    assert books.live.wait_ms() == float("inf")
    assert books.is_as_at_first_sight()


@pytest.mark.parametrize(("path", "half"), HALVES)
def test_a_save_that_is_whole_within_its_grace_is_never_told_half(books, path, half):
    before = books.live.runs
    place = books.root / path
    kept = books.root / "kept"
    shutil.copytree(place, kept) if place.is_dir() else shutil.copy(place, kept)
    half(place)
    assert books.tell(path) is None
    if kept.is_dir():
        shutil.copytree(kept, place, dirs_exist_ok=True)
    else:
        shutil.copy(kept, place)
    books.tell(path)
    assert not books.live.held_runs()
    assert books.wait(MAX_HOLD_MS) is None
    said = [(run.status, run.suggestion, run.findings) for run in before.values()]
    assert said == [(run.status, run.suggestion, run.findings) for run in books.live.runs.values()]
    assert books.is_as_at_first_sight()


def test_a_save_of_something_else_is_told_as_soon_as_it_is_whole(books):
    place = books.root / PLAN / "MASTER_PLAN.md"
    text = place.read_text().replace("| 51 | books-51 | `00051-step.md` | Step 51 | impl | [ ] |", "", 1)
    rename_away(place)
    assert books.tell(f"{PLAN}/MASTER_PLAN.md") is None
    put(place, text[:200])
    assert books.tell(f"{PLAN}/MASTER_PLAN.md") is None
    put(place, text)
    assert books.tell(f"{PLAN}/MASTER_PLAN.md")
    assert books.live.runs[PLAN].progress.total == 119


def test_what_is_added_to_or_replaced_whole_is_told_at_once(books):
    place = books.root / PLAN / "MASTER_PLAN.md"
    put(place, place.read_text() + "| 121 | books-121 | `00120-step.md` | Step 121 | impl | [ ] |\n")
    assert books.tell(f"{PLAN}/MASTER_PLAN.md")
    assert books.live.runs[PLAN].progress.total == 121
    put(books.root / "new", {"ok": False}).replace(books.root / T1 / "review/plan-review.json")
    assert books.tell(f"{T1}/review/plan-review.json")
    assert books.live.runs[T1].suggestion.kind == "regress"
    assert not books.live.held_runs()


def test_a_plan_that_a_person_halves_is_told_after_its_grace(books):
    place = books.root / PLAN / "MASTER_PLAN.md"
    put(place, place.read_text().partition("## Phase 3")[0])
    assert books.tell(f"{PLAN}/MASTER_PLAN.md") is None
    assert books.wait(GRACE_MS)
    assert books.live.runs[PLAN].progress.total == 100


def test_a_slow_writer_is_told_once_when_it_comes_to_rest(books):
    place = books.root / PLAN / "MASTER_PLAN.md"
    lines = place.read_text().replace("| 120 | books-120 |", "| 120 | books-cxx |").splitlines(keepends=True)
    put(place, "")
    told = [books.tell(f"{PLAN}/MASTER_PLAN.md")]
    for number in range(0, len(lines), 30):
        with place.open("a") as out:
            out.writelines(lines[number : number + 30])
        told.append(books.wait(30))
        told.append(books.tell(f"{PLAN}/MASTER_PLAN.md"))
    told.append(books.wait(GRACE_MS))
    assert [change for change in told if change] == told[-1:]
    assert books.is_as_at_first_sight()


def test_a_file_that_is_written_without_end_is_told_all_the_same(books):
    place, told = books.root / PLAN / "MASTER_PLAN.md", 0
    text = place.read_text()
    for number in range(200, 260):
        put(place, text[:number])
        told += bool(books.tell(f"{PLAN}/MASTER_PLAN.md"))
        told += bool(books.wait(50))
    assert told >= 60 * 50 // (MAX_HOLD_MS + GRACE_MS)


def test_files_that_are_written_in_turn_without_end_are_told_all_the_same(books):
    review, state = f"{T1}/review/plan-review.json", f"{T1}/state.json"
    text = (books.root / state).read_text()
    put(books.root / review, {"ok": False})
    put(books.root / state, "")
    told = [bool(books.tell(review, state))]
    for number in range(MAX_HOLD_MS // 25):
        half, whole = (review, state) if number % 2 else (state, review)
        put(books.root / half, "")
        told.append(bool(books.tell(half)))
        put(books.root / whole, text if whole == state else {"ok": False})
        told.append(bool(books.tell(whole)))
        told.append(bool(books.wait(25)))
    assert any(told)


def test_the_other_files_of_a_run_wait_with_a_held_one_and_other_runs_do_not(books):
    task(books.root, "T2")
    books.tell(T2)
    put(books.root / T1 / "state.json", "")
    put(books.root / T1 / "review/plan-review.json", {"ok": False})
    put(books.root / T2 / "review/plan-review.json", {"ok": False})
    change = books.tell(T1, T2)
    assert change
    assert [*change.changed] == [T2]
    put(books.root / T1 / "state.json", {"phase": "plan_review"})
    change = books.tell(f"{T1}/state.json")
    assert change
    assert change.changed[T1].suggestion.kind == "regress"


def test_a_run_that_is_held_is_not_evaluated(books, monkeypatch):
    examined: list[str] = []
    real = LiveRoot._examine
    monkeypatch.setattr(
        LiveRoot, "_examine", lambda self, run, below: examined.append(run) or real(self, run, below)
    )
    put(books.root / T1 / "state.json", "")
    put(books.root / T1 / "review/plan-review.json", {"ok": False})
    books.tell(T1)
    books.tell(T1)
    assert examined == []
    books.wait(GRACE_MS)
    assert examined == [T1]


def test_a_new_configuration_that_is_half_saved_changes_nothing(root):
    task(root, "T1")
    live = LiveRoot(root, now_ms=lambda: 0.0)
    run_to_end(live.scan_in_parts())
    path = put(root / ".phasekeeper/config.yaml", "param")
    assert live.refresh_paths([path], grace=True) is None
    put(path, "parameters: 1\n")
    assert live.refresh_paths([path], grace=True)


def test_only_what_depends_on_a_held_file_is_held(books):
    put(books.root / T1 / "state.json", "")
    books.tell(T1)
    assert books.live.held_runs() == {T1}
    assert books.live.held_runs(T1) == {T1}
    assert not books.live.held_runs(PLAN)


def test_a_new_run_whose_first_file_is_half_saved_is_not_shown_yet(books):
    put(books.root / T2 / "state.json", '{"phase": "plan')
    assert books.tell(T2) is None
    assert T2 not in books.live.runs
    assert books.live.held_runs(T2)
    task(books.root, "T2")
    assert books.tell(T2)
    assert books.live.runs[T2].status == "active"


def test_a_new_run_that_stays_half_saved_is_shown_as_it_is(books):
    put(books.root / T2 / "state.json", '{"phase": "plan')
    books.tell(T2)
    assert books.wait(GRACE_MS)
    assert books.live.runs[T2].status == "invalid"


def test_a_definition_that_is_half_saved_takes_no_run_away(books):
    path = ".phasekeeper/workflows/mine.yaml"
    put(books.root / "own/T1/state.json", {"phase": "planning"})
    put(books.root / path, OWN[:60])
    assert books.tell("own", path) is None
    put(books.root / path, OWN)
    assert books.tell(path)
    assert "own/T1" in books.live.runs
    remove(books.root / path)
    assert books.tell(path) is None
    assert "own/T1" in books.live.runs
    assert books.wait(GRACE_MS)
    assert "own/T1" not in books.live.runs


def test_a_configuration_that_is_half_saved_changes_nothing(books):
    path = ".phasekeeper/config.yaml"
    put(books.root / path, "param")
    assert books.tell(path) is None
    assert path not in books.live.findings
    assert books.wait(GRACE_MS)
    assert path in books.live.findings


def test_a_first_look_shows_no_run_whose_file_is_half_saved(root, monkeypatch):
    task(root, "T1")
    put(root / T2 / "state.json", "")
    saved_ns = (root / T2 / "state.json").stat().st_ctime_ns
    monkeypatch.setattr(file_cache, "time_ns", lambda: saved_ns)
    clock = Clock()
    live = LiveRoot(root, now_ms=clock)
    run_to_end(live.scan_in_parts(grace=True))
    assert [*live.runs] == [T1]
    clock.ms += GRACE_MS
    assert live.refresh_paths(grace=True)
    assert [*live.runs] == [T1, T2]


def test_a_look_at_all_holds_back_what_may_be_half_saved(books):
    put(books.root / T1 / "state.json", "")
    remove(books.root / PLAN)
    assert run_to_end(books.live.refresh_all_in_parts(grace=True)) is None
    assert books.live.refresh_folders({books.root / TASKS: True, books.root / PLAN: False}) is None
    assert books.live.look_again(T1) is None
    assert books.live.held_runs() >= {T1, PLAN}
    assert books.wait(GRACE_MS)
    assert books.is_as_at_first_sight()


def test_what_is_asked_of_a_half_saved_run_is_answered_of_how_it_stands(books):
    before = books.live.runs[T1]
    put(books.root / T1 / "review/plan-review.json", "")
    books.tell(T1)
    steps = books.live.query(T1, lambda steps: steps)
    assert steps.evaluation == before
    assert steps.facts.artifact("plan_review").valid


def test_unsaved_texts_are_judged_with_the_last_whole_text_of_the_others(books):
    put(books.root / T1 / "state.json", "")
    books.tell(T1)
    found = books.live.evaluate_unsaved({f"{T1}/review/plan-review.json": '{"ok": false}'})
    assert found[T1].suggestion.kind == "regress"


def test_a_held_file_whose_text_was_let_go_passes_no_gate(books, monkeypatch):
    monkeypatch.setattr(file_cache, "TEXT_BYTES", 0)
    small = LiveRoot(books.root, now_ms=books.clock)
    run_to_end(small.scan_in_parts())
    put(books.root / T1 / "review/plan-review.json", "")
    assert small.refresh_paths([books.root / T1], grace=True) is None
    found = small.evaluate_unsaved({f"{T1}/planning/planning.ai.json": '{"id": "T2"}'})
    assert found[T1].suggestion.kind != "advance"
    assert all(gate.status != "passed" for gate in found[T1].gates if gate.in_force)


def test_the_swap_file_of_an_editor_holds_nothing_back(books):
    put(books.root / PLAN / ".MASTER_PLAN.md.swp", "x")
    books.tell(PLAN)
    remove(books.root / PLAN / ".MASTER_PLAN.md.swp")
    books.tell(PLAN)
    assert not books.live.held_runs()


@pytest.mark.parametrize("look", [
    lambda live, path: run_to_end(live.refresh_all_in_parts()),
    lambda live, path: live.refresh_paths([live.root / path]),
])  # fmt: skip
def test_a_definition_that_may_be_half_saved_counts_after_a_look_without_grace(books, monkeypatch, look):
    path = ".phasekeeper/workflows/phase-loop.yaml"
    put(books.root / path, '{"ok": false}')
    saved_ns = (books.root / path).stat().st_ctime_ns
    monkeypatch.setattr(file_cache, "time_ns", lambda: saved_ns)
    books.tell(path)
    assert path not in books.live.findings
    look(books.live, path)
    assert path in books.live.findings
    assert books.is_as_at_first_sight()
