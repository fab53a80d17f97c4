"""The dialect of BMAD: stories are tasks, epics their stages, and each box of a story's file is a part of it.

The order is that of sprint_plan.py 6.12: what is in progress, then in review, ready, in the backlog; of those
by epic, number and letter. Boxes are ticked from top to bottom. What is called done in one place and not in
another needs attention, last of all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...findings import Problem, Span
from ...vfs.files import natural
from ..model import Dialect, FileParts, MarkStatus, Plan
from ..records.task_records import TaskRecord, plan_of_records
from .edits import edit_sprint, other_prefix
from .quality_gate import read_gate
from .sprint import PART, TRACKERS, Sprint, Story, sprint_of
from .sprint_status import SprintEntry, read_sprint_status
from .story_file import StoryBox, read_story
from .story_status import StoryStatus, status_of

_TOP = Span(0, 0, 0, 1)
_TURNS = (
    StoryStatus.IN_PROGRESS, StoryStatus.REVIEW, StoryStatus.READY, StoryStatus.BACKLOG, StoryStatus.DRAFT,
    StoryStatus.UNKNOWN, StoryStatus.BLOCKED,
)  # fmt: skip
_WAITS: Mapping[StoryStatus, str] = {
    StoryStatus.DRAFT: "a person's approval (it is a draft)",
    StoryStatus.BLOCKED: "a person",
}
_STARTED = (StoryStatus.READY, StoryStatus.IN_PROGRESS, StoryStatus.REVIEW)
_MOST_NAMED = 3


def read_part(path: str, text: str) -> Any:
    """What one file says: the tracker, a verdict of a review, or a story."""
    if path in TRACKERS:
        return read_sprint_status(text)
    return read_story(text) if path.endswith(".md") else read_gate(path, text)


def combine(parts: Mapping[str, Any]) -> Plan | None:
    """The plan of all files; None where there is no story."""
    sprint = sprint_of(parts)
    records = [*_records(sprint)]
    if not records:
        return None
    problems = {path: [*found] for path, found in sprint.problems.items()}
    for path, problem in _problems(sprint):
        problems.setdefault(path, []).append(problem)
    names = dict.fromkeys(sorted((record.stage for record in records), key=natural))
    epics = sprint.epics
    stages = {
        name: f"Epic {name}" + (f" ({epics[name].raw})" if name in epics else "") if name else "Stories"
        for name in names
    }
    order = {name: number for number, name in enumerate(stages)}
    plan = plan_of_records(
        sorted(records, key=lambda each: order[each.stage]), Span(0, 0, 0, 0), (),
        title=sprint.status.project if sprint.status else "", stages=stages,
    )  # fmt: skip
    return replace(plan, problems_of_files={path: tuple(found) for path, found in problems.items()})


def edit(name: str, texts: Mapping[str, str], arguments: Sequence[Any]) -> Mapping[str, str]:
    """path -> text of the files that an edit changes. Raises ValueError where it cannot be made."""
    parts = {path: read_part(path, text) for path, text in texts.items()}
    return edit_sprint(sprint_of(parts), name, texts, arguments)


# ---- tasks


def _records(sprint: Sprint) -> Iterator[TaskRecord]:
    """The stories in order, each with its parts; then what else the tracker has."""
    turn = 0
    ranked: dict[str, int] = {}
    for story in sorted(sprint.stories, key=_class):
        ranked[story.id] = turn
        turn += (
            2 + len(story.file.boxes if story.file else ()) + sum(len(each.boxes) for _, each in story.others)
        )
    for story in sprint.stories:
        yield from _story_records(story, sprint.tracker, ranked[story.id])
    if sprint.tracker and not (sprint.status and sprint.status.is_read):
        yield TaskRecord(
            id=sprint.tracker, title="the tracker cannot be read", status=MarkStatus.UNKNOWN, place=_TOP,
            word="unreadable", file=sprint.tracker, type="tracker", rank=turn, stage="",
        )  # fmt: skip
    yield from _other_records(sprint, turn)


def _class(story: Story) -> int:
    return _TURNS.index(story.status) if story.status in _TURNS else len(_TURNS)


def _story_records(story: Story, tracker: str, rank: int) -> Iterator[TaskRecord]:
    """The story behind its parts: it is done last."""
    blockers = (_WAITS[story.status],) if story.status in _WAITS else ()
    boxes = list(_box_records(story, rank, blockers))
    if story.gate and story.gate[1].why:
        boxes.append(_gate_record(story, *story.gate, rank + len(boxes)))
    left = [each for each in boxes if not each.is_closed and not each.optional]
    place, mark = _TOP, None
    if story.file:
        place, mark = story.file.place, story.statement.span if story.statement else None
    elif story.entry:
        place, mark = story.entry.key_span, story.entry.value_span
    yield TaskRecord(
        id=story.id, number=story.number.text if story.number else "", title=story.title,
        status=story.mark if story.is_readable else MarkStatus.UNKNOWN, word=story.word, type="story",
        place=place, mark=mark, file=story.path or tracker, stage=story.epic, rank=rank + len(boxes),
        blockers=blockers, waits=tuple(each.id for each in left), unticked=len(left),
    )  # fmt: skip
    yield from boxes


def _box_records(story: Story, rank: int, blockers: tuple[str, ...]) -> Iterator[TaskRecord]:
    """The boxes of a story's files. Each waits for the one before it; one with parts waits for those."""
    files = [(story.path, story.file, True), *((path, file, False) for path, file in story.others)]
    number = 0
    for path, file, is_own in files:
        boxes: Sequence[StoryBox] = file.boxes if file else ()
        prefix = story.id if is_own else other_prefix(story, path)
        parts: dict[str, list[str]] = {}
        for box in boxes:
            if box.whole and box.is_open:
                parts.setdefault(box.whole, []).append(box.id)
        before = ""
        for box in boxes:
            is_work = box.is_open and is_own and box.is_required
            # Nobody ticks what is left of a story that was dropped.
            is_dropped = box.is_open and story.status is StoryStatus.DROPPED
            waits = parts.get(box.id, [before] if before else []) if is_work else []
            yield TaskRecord(
                id=f"{prefix}{PART}{box.id}", title=box.title, place=box.place,
                status=MarkStatus.CANCELLED if is_dropped else box.status, mark=box.mark, type="box",
                file=path, stage=story.epic, parent=story.id, rank=rank + number,
                optional=not (is_own and box.is_required),
                waits=tuple(f"{prefix}{PART}{name}" for name in waits),
                blockers=blockers if is_work else (), word="ticked" if not box.is_open else "open",
            )  # fmt: skip
            number += 1
            before = box.id if is_work and box.id not in parts else before


def _gate_record(story: Story, path: str, gate: Any, rank: int) -> TaskRecord:
    """A verdict that keeps the story from being done."""
    return TaskRecord(
        id=f"{story.id}{PART}qa-gate", title=f"QA gate of {story.id} {gate.why}", status=MarkStatus.ATTENTION,
        word=gate.verdict or "unreadable", place=gate.span, mark=gate.span, type="gate", file=path,
        stage=story.epic, parent=story.id, rank=rank,
    )  # fmt: skip


def _other_records(sprint: Sprint, turn: int) -> Iterator[TaskRecord]:
    """Epics without a story, retrospectives and what those decided."""
    with_stories = {story.epic for story in sprint.stories}
    entries = sprint.status.entries if sprint.status else ()
    for entry in entries:
        is_bare = entry.kind == "epic" and entry.epic not in with_stories
        if entry.kind == "retrospective" or (is_bare and entry.status.mark is not MarkStatus.DONE):
            turn += 1
            yield TaskRecord(
                id=entry.key, title=_entry_title(entry), status=entry.status.mark, word=entry.raw,
                place=entry.key_span, mark=entry.value_span, type=entry.kind, file=sprint.tracker,
                stage=entry.epic, rank=turn, optional=entry.kind == "retrospective",
            )  # fmt: skip
    for number, item in enumerate(sprint.status.actions if sprint.status else (), 1):
        status = status_of(item.raw).mark
        yield TaskRecord(
            id=f"action-{number}", title=item.action, status=status, word=item.raw, place=item.span,
            mark=item.status_span, type="action", file=sprint.tracker, stage=item.epic, rank=turn + number,
            optional=True,
        )  # fmt: skip


def _entry_title(entry: SprintEntry) -> str:
    return (
        f"Retrospective of epic {entry.epic}"
        if entry.kind == "retrospective"
        else f"Stories of epic {entry.epic}"
    )


# ---- problems


def _problems(sprint: Sprint) -> Iterator[tuple[str, Problem]]:
    for story in sprint.stories:
        for path, file in ((story.path, story.file), *story.others):
            yield from ((path, problem) for problem in (file.problems if file else ()))
        yield from _story_problems(story, sprint)
    by_epic: dict[str, list[Story]] = {}
    for story in sprint.stories:
        by_epic.setdefault(story.epic, []).append(story)
    for epic, entry in sprint.epics.items():
        yield from ((sprint.tracker, found) for found in _epic_problems(entry, by_epic.get(epic, [])))


def _story_problems(story: Story, sprint: Sprint) -> Iterator[tuple[str, Problem]]:
    file, statement = story.file, story.statement
    if file is None:
        any_files = any(each.file for each in sprint.stories)
        if story.entry and story.is_readable and story.status in _STARTED and any_files:
            message = f"{story.id} is {story.word}, and there is no file of it"
            yield sprint.tracker, Problem("task-unreadable", message, story.entry.value_span)
        return
    if statement is None and story.entry is None:
        message = "it says no status, so it counts as one of the backlog"
        yield story.path, Problem("task-unreadable", message, file.place)
    if statement and statement.status is StoryStatus.UNKNOWN:
        counts = "the tracker counts" if story.entry else "the story counts as not done"
        yield (
            story.path,
            Problem(
                "marker-unknown", f"{statement.text!r} is none of BMAD's statuses; {counts}", statement.span
            ),
        )
    for other in file.statuses[1:]:
        if statement and other.status.rank != statement.status.rank:
            first = f"{statement.text} in line {statement.span.line + 1}, which counts"
            message = f"it says {other.text} here, and {first}"
            yield story.path, Problem("status-drift", message, other.span)
    ticked = [box for box in file.boxes if box.is_required and box.status is MarkStatus.DONE]
    status = story.status
    if ticked and status.rank is not None and not status.is_begun:
        message = f"{story.id} is {story.word}, but {len(ticked)} of its {len(file.boxes)} boxes are ticked"
        yield story.path, Problem("status-drift", message, statement.span if statement else file.place)
    if status in _STARTED or status is StoryStatus.DONE:
        for text, span in file.placeholders:
            yield story.path, Problem("placeholder-left", f"{text} of the template is not filled in", span)


def _epic_problems(entry: SprintEntry, stories: Sequence[Story]) -> Iterator[Problem]:
    left = [each for each in stories if each.mark not in (MarkStatus.DONE, MarkStatus.CANCELLED)]
    if entry.status is StoryStatus.DONE and left:
        named = ", ".join(each.id for each in left[:_MOST_NAMED])
        more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
        yield Problem("status-drift", f"{entry.key} is done, but {named}{more} is not", entry.value_span)
    begun = [each for each in stories if each.status.is_begun]
    if begun and entry.status is StoryStatus.BACKLOG:
        message = f"{entry.key} is in the backlog, but {begun[0].id} is {begun[0].word}"
        yield Problem("status-drift", message, entry.value_span)
    if entry.status is StoryStatus.UNKNOWN and entry.raw:
        message = f"{entry.key}: {entry.raw!r} is none of BMAD's statuses"
        yield Problem("marker-unknown", message, entry.value_span)


DIALECT = Dialect(
    about="the stories of BMAD: their tracker, a file each, and verdicts of reviews",
    lacks="story",
    read=lambda text: None,
    marks={},
    mark_place=re.compile(r"(?!)"),
    parts=FileParts(read_part, combine, edit),
)
