"""Real task lists of other conventions: no line that looks like a task is lost, and none is made up.

The lines are counted a second time here, by a counter that shares nothing with the reader.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from phasekeeper.orchestration.plans.dialects import DIALECTS
from phasekeeper.orchestration.vfs.files import decode

from tests.corpus.places import CORPUS

pytestmark = pytest.mark.corpus

PLANS = (
    sorted(each for each in (CORPUS / "conventions/plan-md").rglob("*.md") if each.is_file())
    if CORPUS
    else []
)
LISTS = {
    kind: sorted(each for each in (CORPUS / "conventions" / kind).rglob("task*.md") if each.is_file())
    for kind in ("spec-kit", "openspec", "kiro", "agent-os", "spec-workflow")
    if CORPUS
}
if CORPUS:
    LISTS["plan-file"] = PLANS
FILES = [
    (kind, path)
    for kind, paths in LISTS.items()
    for path in paths
    if not {"templates", "Implementation Logs"} & {*path.parts}
]
WORDS = ("done", "todo", "n/a", "wip", "blocked", "skipped", "cancelled")


def hidden(lines: list[str]) -> set[int]:
    """Lines in fences and comments that end."""
    found: set[int] = set()
    opened, mark = -1, ""
    for number, line in enumerate(lines):
        bare = line.strip()
        if opened < 0 and (bare.startswith(("```", "~~~")) or ("<!--" in bare and "-->" not in bare)):
            opened, mark = number, "-->" if "<!--" in bare else bare[:3]
        elif opened >= 0 and (mark in bare if mark == "-->" else bare.strip(mark[0]) == "" and mark in bare):
            found.update(range(opened, number + 1))
            opened = -1
    return found


def task_lines(text: str) -> dict[int, bool]:
    """Line -> whether its task says that it is done, counted word by word."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    out = hidden(lines)
    found: dict[int, bool] = {}
    has_boxes = any("- [ ]" in line or "- [x]" in line for line in lines)
    for number, line in enumerate(lines):
        rest = line.strip()
        if number in out or not rest or rest[0] in ">#":
            continue
        if rest[0] == "|":
            cells = [cell.strip() for cell in rest.strip("|").split("|")]
            marked = [cell for cell in cells[1:] if cell in ("☑", "☐", "✅", "[x]", "[ ]")]
            is_id = len(cells[0]) <= 6 and any(c.isdigit() for c in cells[0])
            # Beside boxes the numbers in a table are those of requirements.
            if marked and is_id and not has_boxes:
                found[number] = marked[0] in ("☑", "✅", "[x]")
            continue
        bullets = 0
        while rest[:1] in ("-", "*", "+") or (
            rest.split(" ")[0][:-1].isdigit() and rest.split(" ")[0][-1] in ".)"
        ):
            size = 1 if rest[0] in "-*+" else len(rest.split(" ")[0])
            if rest[size : size + 1] not in (" ", "\t", "["):
                break
            rest, bullets = rest[size:].lstrip(), bullets + 1
        if rest[:1] in ("☑", "☐"):
            found[number] = rest[0] == "☑"
        if rest[:1] != "[" or "]" not in rest:
            continue
        inside, after = rest[1:].split("]", 1)
        word = inside.strip().lower()
        is_mark = (
            len(word) <= 1 and inside.strip() != "P" and (after[:1] not in ("(", "[", ":") or inside == " ")
        )
        if (is_mark or word in WORDS) and (bullets or (word in ("", "x") and after[:1] == " ")):
            found[number] = word in ("x", "done")
    return found


@pytest.mark.parametrize(
    ("kind", "path"), FILES, ids=lambda value: value if isinstance(value, str) else str(value.parent.name)
)
def test_every_line_that_looks_like_a_task_is_one_and_no_other_is(kind: str, path: Path) -> None:
    text = decode(path.name, path.read_bytes()).text
    assert text is not None
    plan = DIALECTS[kind].read(text)
    tasks = {plan.span(task, task.mark).line: task for task in plan.tasks} if plan else {}
    counted = task_lines(text)
    assert set(counted) - tasks.keys() == set(), "dropped"
    assert tasks.keys() - set(counted) == set(), "made up"
    assert {line for line, task in tasks.items() if task.status == "done"} == {
        n for n, is_done in counted.items() if is_done
    }


def test_there_are_many_of_them() -> None:
    assert {kind: len(paths) >= 8 for kind, paths in LISTS.items()} == dict.fromkeys(LISTS, True)
    assert sum(len(task_lines(path.read_text("utf-8"))) for _, path in FILES) > 2400


def test_ticking_a_task_of_a_real_list_changes_its_box_alone() -> None:
    draw = random.Random(11)
    for kind, path in FILES:
        text = path.read_bytes().decode("utf-8-sig")
        plan = DIALECTS[kind].read(text)
        left = [task for task in plan.tasks if not task.done] if plan else []
        for task in draw.sample(left, min(3, len(left))):
            assert plan
            ticked = DIALECTS[kind].edit("tick_tasks", text, ([task.id],))
            changed = [n for n, pair in enumerate(zip(text, ticked, strict=True)) if pair[0] != pair[1]]
            above = {each.id for each in plan.tasks if task.id.startswith(f"{each.id}.")}
            same = [each for each in plan.tasks if each.id in {task.id, *above} and not each.done]
            assert 1 <= len(changed) <= len(same)
            assert all(re.match(r"\[.\]", text[at - 1 : at + 2]) or text[at] in "☐" for at in changed)


def test_a_real_list_that_is_cut_off_or_whose_marks_change_is_never_complete_by_it() -> None:
    draw = random.Random(12)
    for kind, path in FILES:
        raw = path.read_bytes()
        for _ in range(20):
            text = raw[: draw.randrange(len(raw) + 1)].decode("utf-8", "replace")
            if draw.random() < 0.5:
                text = text.replace("[x]", draw.choice(["[?]", "[ ]", "[]", "[", "[x", "x]"]))
            plan = DIALECTS[kind].read(text)
            is_complete = plan is not None and all(stage.is_complete for stage in plan.stages if stage.total)
            assert (
                not (is_complete and any(not is_done for is_done in task_lines(text).values()))
                or kind == "kiro"
            )
