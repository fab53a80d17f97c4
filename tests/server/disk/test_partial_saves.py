"""What may be half of a save, by how a file was before and how it is now."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from phasekeeper.orchestration.findings import Problem
from phasekeeper.orchestration.vfs.files import Entry, File, decode
from phasekeeper.server.disk import partial_saves
from phasekeeper.server.disk.partial_saves import (
    GRACE_MS,
    MAX_HOLDS,
    PartialSaves,
    is_cut_off,
    is_overwritten,
    is_partial,
    is_passing,
)

PLAN = "# Plan\n\n| Task | Status |\n|---|---|\n" + "".join(f"| t-{n} | [ ] |\n" for n in range(20))
DONE = PLAN.replace("[ ]", "[x]")
NOTES = "---\ntitle: Notes\n---\n" + "A line of text.\n" * 9 + "The end.\n"
DATA = '{"phase": "plan_review", "gates": [{"ok": true}]}'


def file(text: str | bytes | None, path: str = "MASTER_PLAN.md") -> File:
    return File(path) if text is None else decode(path, text if isinstance(text, bytes) else text.encode())


@pytest.mark.parametrize(
    ("path", "before", "now"),
    [
        ("MASTER_PLAN.md", PLAN, None),
        ("MASTER_PLAN.md", PLAN, ""),
        ("MASTER_PLAN.md", PLAN, PLAN[:200]),
        ("MASTER_PLAN.md", PLAN, PLAN[: PLAN.index("| t-7")]),
        ("MASTER_PLAN.md", PLAN, PLAN.replace("# Plan", "# Another plan")[:200]),
        ("MASTER_PLAN.md", PLAN, PLAN + "| t-21 | ["),
        ("MASTER_PLAN.md", None, ""),
        ("MASTER_PLAN.md", None, PLAN[:-5]),
        ("MASTER_PLAN.md", PLAN, PLAN.encode() + b"\xe2\x82"),
        ("notes.md", NOTES, "---\n" + "title: Notes, and all else\n" * 20),
        ("notes.md", None, "---\ntitle: Notes\n"),
        ("state.json", DATA, None),
        ("state.json", DATA, ""),
        ("state.json", DATA, DATA[:-1]),
        ("state.json", DATA, '{"phase": "plan_review", "gates": [{"ok": true, "by": "somebody"}'),
        ("state.json", DATA, '{"phase": "done"}w", "gates": [{"ok": true}]}'),
        ("state.json", None, DATA[:9]),
        ("journal.jsonl", '{"seq": 1}\n{"seq": 2}\n', '{"seq": 1}\n'),
        ("journal.jsonl", '{"seq": 1}\n', '{"seq": 1}\n{"seq'),
        ("own.yaml", "workflow: own\nphases: {}\n", "workflow: own\npha"),
        ("diff.patch", "--- a\n+++ b\n", "--- a\n"),
    ],
)
def test_what_is_gone_shorter_broken_or_cut_off_may_be_half_saved(path, before, now):
    assert is_partial(file(before, path), file(now, path))


@pytest.mark.parametrize(
    ("path", "before", "now"),
    [
        ("MASTER_PLAN.md", PLAN, PLAN),
        ("MASTER_PLAN.md", PLAN, PLAN + "| t-21 | [ ] |\n"),
        ("MASTER_PLAN.md", PLAN, PLAN.replace("| t-3 | [ ] |", "| t-3 | [x] |")),
        ("MASTER_PLAN.md", PLAN, PLAN.replace("| t-3 | [ ] |\n", "")),
        ("MASTER_PLAN.md", None, PLAN),
        ("MASTER_PLAN.md", "", PLAN),
        ("MASTER_PLAN.md", None, None),
        ("MASTER_PLAN.md", PLAN[:-1], PLAN[:-1].replace("| t-3 | [ ] |\n", "")),
        ("notes.md", NOTES, NOTES.replace("A line of text.\n", "", 3)),
        ("state.json", DATA, '{"phase": "done"}'),
        ("state.json", None, DATA),
        ("state.json", f'{{"phase": fals, "{"x" * 70}": 1}}', f'{{"phase": fal, "{"x" * 70}": 1}}'),
        ("state.json", DATA, "[" * 100_000),
        ("journal.jsonl", '{"seq": 1}\n', '{"seq": 1}\n{"seq": 2}\n'),
        ("code.bin", b"\xff\xfe", b"\xff"),
    ],
)
def test_what_is_added_to_or_replaced_whole_is_not(path, before, now):
    assert not is_partial(file(before, path), file(now, path))


def test_a_file_that_is_being_written_anew_is_whole_by_a_sign_alone():
    """A plan that is written line by line is longer than it was before it is all there."""
    longer = PLAN + "".join(f"| u-{n} | [ ] |\n" for n in range(20))
    changed = longer.replace("# Plan", "# Another plan")
    assert is_partial(file(PLAN), file(changed[: changed.index("| u-9")]), is_held=True)
    assert not is_partial(file(PLAN), file(changed[: changed.index("| u-9")]))
    assert not is_partial(file(PLAN), file(longer), is_held=True)
    assert not is_partial(file(PLAN), file(PLAN.replace("# Plan", "# Another plan")), is_held=True)
    assert not is_partial(file(DATA, "a.json"), file('{"phase": "done"}', "a.json"), is_held=True)


def test_what_takes_the_place_of_a_file_and_cannot_be_read_is_held_once():
    folder = File("state.json", problem=Problem("artifact-unreadable", "it is a folder, not a file"))
    assert is_partial(file(DATA, "state.json"), folder)
    other = File("state.json", problem=Problem("artifact-unreadable", "the link leads to nothing"))
    assert not is_partial(folder, other)


@pytest.mark.parametrize(
    "name", [".MASTER_PLAN.md.swp", "MASTER_PLAN.md~", "4913", "#a.md#", "sedAb12Cd", "a.tmp"]
)
def test_the_names_that_programs_make_for_a_save_say_nothing_by_their_going(name):
    assert is_passing("tasks/a", Entry(name, "file"))
    assert not is_passing("tasks/a", Entry(name, "folder"))


@pytest.mark.parametrize("name", ["01-task.md", "MASTER_PLAN.md", "state.json", "sedate.md"])
def test_other_names_do(name):
    assert not is_passing("tasks/a", Entry(name, "file"))
    assert is_passing("tasks/a/.phasekeeper", Entry(name, "file"))


def test_a_line_that_ends_as_on_old_machines_has_ended():
    assert not is_cut_off("a.txt", "a\r")


def test_each_change_of_a_held_file_begins_its_grace_anew():
    now = [0.0]
    saves = PartialSaves(lambda: now[0])
    for at, text in ((0.0, "a"), (100.0, "ab"), (200.0, "ab")):
        now[0] = at
        assert saves.hold("x", file(PLAN), file(text))
    assert saves.wait_ms() == GRACE_MS - 100
    assert saves.over() == []
    now[0] = 100.0 + GRACE_MS
    assert saves.over() == ["x"]
    saves.drop("x")
    assert saves.wait_ms() == float("inf")


def test_no_more_than_a_limit_is_held():
    saves = PartialSaves(lambda: 0.0)
    assert all(saves.hold(f"x{n}", file(PLAN), file(None)) for n in range(MAX_HOLDS))
    assert not saves.hold("one more", file(PLAN), file(None))
    assert saves.hold("x0", file(PLAN), file("again"))
    assert "one more" not in saves.holds


def test_a_held_file_whose_text_was_let_go_cannot_be_read_meanwhile():
    saves = PartialSaves(lambda: 0.0)
    saves.hold("a", file(PLAN), file(None))
    saves.hold("b", File("b", True, digest="d", size=9), File("b"))
    assert saves.holds["a"].answer == file(PLAN)
    assert saves.holds["b"].answer.refused


@pytest.mark.parametrize("at", [1 + PLAN.index("t-0 | ["), PLAN.index("| t-9"), PLAN.index("| t-19") - 60])
def test_a_text_that_another_is_written_over_may_be_half_of_it(at):
    end = PLAN.index("\n", at)
    assert is_overwritten(file(PLAN), file(DONE[:end] + PLAN[end:]))
    assert is_overwritten(file(PLAN), file("# Name\n" + PLAN[7:] + "and more\n"))
    # Letters of more bytes than one.
    assert is_overwritten(file("\u00fc" * 9 + PLAN), file("\u00e9" * 9 + PLAN))


@pytest.mark.parametrize(
    ("path", "before", "now"),
    [
        ("MASTER_PLAN.md", PLAN, PLAN),
        ("MASTER_PLAN.md", PLAN, PLAN + "| t-21 | [ ] |\n"),
        ("MASTER_PLAN.md", PLAN, DONE),
        ("MASTER_PLAN.md", PLAN, DONE[:-20]),
        ("MASTER_PLAN.md", None, PLAN),
        ("state.json", DATA, DATA.replace("plan", "code")),
    ],
)
def test_what_was_added_to_ends_otherwise_or_is_data_is_not(path, before, now):
    assert not is_overwritten(file(before, path), file(now, path))


def test_a_large_file_of_data_is_proven_whole_by_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps({"tasks": [{"id": n, "status": "pending"} for n in range(3000)]}, indent=1)
    states = [text, text.replace("pending", "done", 1), text.replace("pending", "done", 2), text[:-2]]
    files = [file(each, "a.json") for each in states]
    parsed: list[str] = []
    is_json = partial_saves._is_json
    monkeypatch.setattr(partial_saves, "_is_json", lambda text: parsed.append(text) or is_json(text))
    saves = PartialSaves(lambda: 0.0)
    assert not saves.is_partial(File("a.json"), files[0])
    assert [saves.is_partial(*pair) for pair in pairwise(files[:3])] == [False, False]
    assert len(parsed) == 1
    # What is not proven is parsed, and so is what comes after it.
    assert saves.is_partial(files[2], files[3])
    assert not saves.is_partial(files[3], files[2])
    assert len(parsed) == 3


def test_a_text_is_not_proven_by_another_one_than_the_last_that_was_whole() -> None:
    text = json.dumps({"tasks": [{"id": n, "status": "pending"} for n in range(3000)]}, indent=1)
    broken = text.replace('"status"', '"status', 1)
    saves = PartialSaves(lambda: 0.0)
    saves.is_partial(File("a.json"), file(text, "a.json"))
    assert saves.is_partial(file(broken, "a.json"), file(broken.replace("pending", "done"), "a.json"))
