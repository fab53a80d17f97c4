"""A sequence in partitions is the sequence, and of a later one those that stayed are the same objects."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.partitions import SIZE, partition
from phasekeeper.orchestration.plans.model import MarkStatus, RowPlace, StageTasks, Task

EDITS = st.lists(
    st.tuples(st.sampled_from(["set", "insert", "remove"]), st.floats(0, 1), st.integers(1, 300)),
    max_size=6,
)


def edited(items: list[object], kind: str, place: float, count: int) -> list[object]:
    at = int(place * len(items))
    if kind == "set":
        return [*items[:at], object(), *items[at + 1 :]]
    new = [object() for _ in range(count)] if kind == "insert" else []
    return [*items[:at], *new, *items[at + (count if kind == "remove" else 0) :]]


@given(st.integers(0, 6 * SIZE), EDITS)
def test_partitions_hold_the_items_whatever_was_before(count: int, edits) -> None:
    items, parts = [object() for _ in range(count)], list[tuple[object, ...]]()
    for edit in [("insert", 0.0, 1), *edits]:
        items = edited(items, *edit)
        parts = partition(items, parts, tuple)
        assert [each for part in parts for each in part] == items
        assert all(0 < len(part) <= 2 * SIZE for part in parts)


def test_an_edit_costs_the_partition_that_it_is_in() -> None:
    items = [object() for _ in range(10 * SIZE)]
    before = partition(items, (), tuple)
    for edit in [("set", 0.5, 1), ("insert", 0.5, 1), ("remove", 0.5, 1), ("insert", 1.0, 1)]:
        after = partition(edited(items, *edit), before, tuple)
        assert len([part for part in after if all(part is not old for old in before)]) == 1
    assert all(map(lambda new, old: new is old, partition(items, before, tuple), before))


def tasks(count: int) -> list[Task]:
    """Tasks of which some share an id."""
    statuses = [*MarkStatus]
    return [
        Task(
            f"t{n % 400}", f"{n % 400:03}", f"Task {n}", "1", statuses[n % 7], f"{n % 390}.md", "",
            RowPlace(n, 0, 1), optional=not n % 11,
        )
        for n in range(count)
    ]  # fmt: skip


def all_of(stage: StageTasks) -> object:
    return stage.done, stage.total, stage.unknown, stage.files, dict(stage.by_id), dict(stage.names)


def test_a_long_stage_counts_and_finds_what_its_tasks_say_in_one_piece() -> None:
    for count in (300, 900):
        stage = StageTasks.after(tasks(count), None)
        assert len(stage.partitions) > 1 and all_of(stage) == all_of(StageTasks(tasks(count)))
        assert StageTasks.after([*stage], stage) is stage
        one = replace(stage[count // 2], status=MarkStatus.DONE)
        again = [*stage[: count // 2], one, *stage[count // 2 + 1 :]]
        after = StageTasks.after(again, stage)
        assert all_of(after) == all_of(StageTasks(again))
        kept = [part for part in after.partitions if any(part is each for each in stage.partitions)]
        assert len(kept) == len(after.partitions) - 1
