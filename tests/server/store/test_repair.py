"""Repair: only what a person asked for, nothing lost, and twice is once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.findings import Problem
from phasekeeper.orchestration.journal.journal import read_journal
from phasekeeper.orchestration.vfs.files import digest_of
from phasekeeper.server.store.commit import Writes, commit
from phasekeeper.server.store.log_file import BrokenLog, WrittenFile
from phasekeeper.server.store.recovery import run_tag, temporary_name
from phasekeeper.server.store.repair import repair

RUN = "tasks/T1"
STATE = f"{RUN}/state.json"
JOURNAL = f"{RUN}/.phasekeeper/journal.jsonl"
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / RUN).mkdir(parents=True)
    return tmp_path.resolve()


def report(root: Path, *messages: str) -> None:
    for message in messages:
        records: list[dict[str, object]] = [{"kind": "report", "message": message}]
        commit(root, RUN, lambda _held, records=records: Writes(records), clock=lambda: NOON)


def raw_lines(root: Path) -> list[str]:
    return (root / JOURNAL).read_text().splitlines()


def rewrite(root: Path, lines: Sequence[str]) -> None:
    (root / JOURNAL).write_text("".join(line + "\n" for line in lines))


def last(root: Path) -> dict[str, Any]:
    return json.loads(raw_lines(root)[-1])


def mended(root: Path, **options: Any) -> list[tuple[str, str, str | None]]:
    return [
        (each.path, each.kind, each.saved_as) for each in repair(root, RUN, clock=lambda: NOON, **options)
    ]


def forked(root: Path) -> list[str]:
    """Three lines, of which the last two were also written otherwise elsewhere, and merged as git does it."""
    report(root, "start", "ours", "ours too")
    ours = raw_lines(root)
    rewrite(root, ours[:1])
    report(root, "theirs")
    merged = [*ours, raw_lines(root)[1]]
    rewrite(root, merged)
    return merged


def test_a_forked_journal_is_linked_together_by_one_record_and_no_line_is_touched(root: Path) -> None:
    merged = forked(root)
    assert mended(root) == [(JOURNAL, "relinked", None)]
    assert raw_lines(root)[:-1] == merged
    relink = last(root)
    assert (relink["kind"], relink["about"]) == ("relink", digest_of(merged[3]))
    assert (relink["prev"], relink["seq"]) == (digest_of(merged[2]), 4)
    assert mended(root) == []
    assert read(root) == ((), ["start", "ours", "ours too", "theirs", "branches linked together"])
    report(root, "next")
    assert (read(root)[1][-1], last(root)["seq"]) == ("next", 5)


def test_writing_goes_on_at_the_longer_branch_with_a_number_of_its_own(root: Path) -> None:
    merged = forked(root)
    report(root, "next")
    assert (last(root)["prev"], last(root)["seq"]) == (digest_of(merged[2]), 4)


def test_bad_lines_are_only_taken_out_when_asked_and_the_journal_is_copied_aside(root: Path) -> None:
    report(root, "one", "two", "three", "four")
    lines = raw_lines(root)
    lines[1] = lines[1][:20]
    rewrite(root, lines)
    broken = (root / JOURNAL).read_bytes()
    with pytest.raises(BrokenLog, match="line 2"):
        repair(root, RUN)
    assert (root / JOURNAL).read_bytes() == broken
    kept = f"{JOURNAL}.corrupt-{digest_of(broken)}"
    assert mended(root, drop_bad_lines=True) == [(JOURNAL, "dropped", kept)]
    assert (root / kept).read_bytes() == broken
    assert raw_lines(root)[:-1] == [lines[0], *lines[2:]]
    relink = last(root)
    assert (relink["kind"], relink["about"], relink["prev"]) == (
        "relink",
        digest_of(lines[3]),
        digest_of(lines[0]),
    )
    assert read(root) == ((), ["one", "three", "four", "lines that could not be read were taken out"])
    report(root, "five")
    assert read(root)[1][-1] == "five"
    assert mended(root, drop_bad_lines=True) == []


def read(root: Path) -> tuple[tuple[Problem, ...], list[object]]:
    journal = read_journal((root / JOURNAL).read_text())
    return journal.problems, [record["message"] for record in journal.records]


def test_a_journal_whose_first_line_is_bad_keeps_all_others(root: Path) -> None:
    report(root, "one", "two", "three")
    lines = raw_lines(root)
    rewrite(root, ["{", *lines[1:]])
    repair(root, RUN, drop_bad_lines=True)
    assert raw_lines(root)[:-1] == lines[1:]
    assert read(root) == ((), ["two", "three", "lines that could not be read were taken out"])


def test_merge_markers_are_taken_out_without_any_link(root: Path) -> None:
    report(root, "one", "two")
    lines = raw_lines(root)
    rewrite(root, ["<<<<<<< ours", lines[0], "=======", lines[1], ">>>>>>> theirs"])
    assert [did for _, did, _ in mended(root, drop_bad_lines=True)] == ["dropped"]
    assert raw_lines(root) == lines


def test_a_broken_state_file_is_copied_aside_and_replaced_by_the_text_that_was_given(root: Path) -> None:
    (root / STATE).write_bytes(b"{torn")
    kept = f"{STATE}.corrupt-{digest_of(b'{torn')}"
    assert mended(root) == []
    assert (root / STATE).read_bytes() == b"{torn"
    assert mended(root, restore={STATE: "{}"}) == [(STATE, "restored", kept)]
    assert ((root / STATE).read_text(), (root / kept).read_bytes()) == ("{}", b"{torn")
    assert last(root)["files"] == [{"path": STATE, "digest": digest_of("{}"), "was": digest_of(b"{torn")}]
    assert mended(root, restore={STATE: "{}"}) == []


def test_what_an_interrupted_writer_left_deep_below_the_run_is_removed(root: Path) -> None:
    report(root, "one")
    (root / RUN / "a/b").mkdir(parents=True)
    name = temporary_name(run_tag(root, RUN), WrittenFile(2, 0, f"{RUN}/a/b/x.md", "", ""))
    (root / RUN / "a/b" / name).write_text("never committed")
    assert mended(root) == [(f"{RUN}/a/b/{name}", "removed", None)]
