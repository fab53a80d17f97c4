"""Writes into the files of a sprint: a box is ticked, a story goes one step on, and no other byte changes.

A story whose work is done goes to review, and one that was reviewed is done (BMAD's own steps); the first box
that is ticked puts it, and its epic, in progress. The tracker and the story's file are written alike, in the
words that stand there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...findings import Span
from ...markdown.block_outline import split_lines
from ...markdown.line_edits import Replacement, apply_edits
from ..model import PlanEdit
from .sprint import PART, Sprint, Story
from .story_file import StoryBox, StoryFile, WrittenStatus
from .story_status import StoryStatus, status_of

_MOST_NAMED = 8
_CAPITALS: Mapping[StoryStatus, str] = {
    StoryStatus.READY: "Approved", StoryStatus.IN_PROGRESS: "InProgress",
    StoryStatus.REVIEW: "Ready for Review", StoryStatus.DONE: "Done",
}  # fmt: skip
"""The words of version 4, whose files write them with capitals."""


class _Change(NamedTuple):
    path: str
    replacement: Replacement


def edit_sprint(
    sprint: Sprint, name: str, texts: Mapping[str, str], arguments: Sequence[object]
) -> Mapping[str, str]:
    """path -> text of the files that change.

    Raises ValueError for what is not there, for an unknown status, and for what others have to write.
    """
    if name == PlanEdit.TICK_TASKS:
        names = arguments[0] if isinstance(arguments[0], list) else []
        changes = [change for each in names for change in _ticks(sprint, str(each), texts, names)]
    elif name == PlanEdit.SET_STATUS:
        changes = [*_with_status(sprint, str(arguments[0]), str(arguments[1]))]
    else:
        raise ValueError(f"plans of this kind have no edit {name!r}")
    by_path: dict[str, dict[Span, Replacement]] = {}
    for path, replacement in changes:
        by_path.setdefault(path, {})[replacement.span] = replacement
    return {path: apply_edits(texts[path], [*found.values()]) for path, found in by_path.items()}


def _ticks(sprint: Sprint, name: str, texts: Mapping[str, str], names: Sequence[object]) -> Iterator[_Change]:
    story = _story(sprint, name)
    if story:
        yield from _step_on(sprint, story)
        return
    if found := _box(sprint, name):
        story, path, file, box, prefix = found
        ticked = {each.id for each in file.boxes if f"{prefix}{PART}{each.id}" in names}
        yield from (_tick(path, each, texts) for each in _with_wholes(file, box, ticked))
        if not story.status.is_begun and story.status.rank is not None:
            yield from _set(sprint, story, StoryStatus.IN_PROGRESS)
        return
    yield from _set_other(sprint, name, StoryStatus.DONE.value)


def _step_on(sprint: Sprint, story: Story) -> Iterator[_Change]:
    if story.status is StoryStatus.DONE and not story.is_contradicted:
        return
    is_reviewed = story.status in (StoryStatus.REVIEW, StoryStatus.DONE)
    yield from _set(sprint, story, StoryStatus.DONE if is_reviewed else StoryStatus.REVIEW)


def _with_wholes(file: StoryFile, box: StoryBox, ticked: set[str]) -> Iterator[StoryBox]:
    """A box, and those that it is a part of whose parts are then all ticked; what is ticked stays."""
    by_id = {each.id: each for each in file.boxes}
    done = ticked | {box.id}
    while True:
        if box.is_open:
            yield box
        parts = [each for each in file.boxes if each.whole == box.whole]
        if not box.whole or any(each.is_open and each.id not in done for each in parts):
            return
        box = by_id[box.whole]
        done.add(box.id)


def _tick(path: str, box: StoryBox, texts: Mapping[str, str]) -> _Change:
    line = split_lines(texts[path])[box.mark.line]
    is_box = line[box.mark.column : box.mark.column + 1] == "["
    return _Change(path, Replacement(box.mark, "[x]" if is_box else "☑"))


def _with_status(sprint: Sprint, name: str, word: str) -> Iterator[_Change]:
    status, story = status_of(word), _story(sprint, name)
    if story is None:
        yield from _set_other(sprint, name, word)
        return
    if status.rank is None:
        known = ", ".join(each.value for each in StoryStatus if each.rank is not None)
        raise ValueError(f"`{word}` is none of {known}")
    yield from _set(sprint, story, status)


def _set(sprint: Sprint, story: Story, status: StoryStatus) -> Iterator[_Change]:
    """Changes of the tracker and the story's file to a status, and of an epic that begins with it."""
    if not (story.entry or story.statement):
        raise ValueError(f"{story.path} has no status to write")
    if story.entry and story.entry.status is not status:
        word = status.value if story.entry.raw else f" {status.value}"
        yield _Change(sprint.tracker, Replacement(story.entry.value_span, word))
    if story.statement and story.statement.status is not status:
        yield _Change(story.path, Replacement(story.statement.span, _in_its_words(story.statement, status)))
    epic = sprint.epics.get(story.epic)
    if epic and status.is_begun and epic.status is StoryStatus.BACKLOG:
        yield _Change(sprint.tracker, Replacement(epic.value_span, StoryStatus.IN_PROGRESS.value))


def _in_its_words(statement: WrittenStatus, status: StoryStatus) -> str:
    """A status as the file writes them: with capitals, emphasised, or as 6.12's front matter does."""
    word = status.value
    if statement.is_front and status is StoryStatus.REVIEW:
        word = "in-review"
    elif statement.text.strip("*_ \t")[:1].isupper():
        word = _CAPITALS.get(status, word.capitalize())
    around = next((mark for mark in ("**", "__") if statement.text.startswith(mark)), "")
    return f"{around}{word}{around}"


def _set_other(sprint: Sprint, name: str, word: str) -> Iterator[_Change]:
    """Changes to what is no story: a retrospective, an epic, what a retrospective decided."""
    entries = sprint.status.entries if sprint.status else ()
    entry = next((each for each in entries if each.key.lower() == name.lower() and each.raw), None)
    if entry:
        yield _Change(sprint.tracker, Replacement(entry.value_span, word))
        return
    actions = {
        f"action-{n}": each for n, each in enumerate(sprint.status.actions if sprint.status else (), 1)
    }
    span = actions[name].status_span if name in actions else None
    if span is None:
        if name.endswith(f"{PART}qa-gate"):
            raise ValueError(f"{name} is the verdict of a reviewer, who writes it")
        has = ", ".join(each.id for each in sprint.stories[:_MOST_NAMED])
        raise ValueError(f"there is no {name}; there are {has}")
    yield _Change(sprint.tracker, Replacement(span, word))


def _story(sprint: Sprint, name: str) -> Story | None:
    """The story of that id, or of that number where one alone has it."""
    found = [each for each in sprint.stories if each.id.lower() == name.lower()]
    found = found or [each for each in sprint.stories if each.number and each.number.text == name.lower()]
    return found[0] if len(found) == 1 else None


def _box(sprint: Sprint, name: str) -> tuple[Story, str, StoryFile, StoryBox, str] | None:
    for story in sprint.stories:
        files = [(story.path, story.file, story.id)]
        files += [(path, file, other_prefix(story, path)) for path, file in story.others]
        for path, file, prefix in files:
            for box in file.boxes if file else ():
                if f"{prefix}{PART}{box.id}" == name:
                    return story, path, file, box, prefix  # pyright: ignore[reportReturnType]
    return None


def other_prefix(story: Story, path: str) -> str:
    """What the ids of the boxes of a further document begin with."""
    return f"{story.id}{PART}{path.rpartition('/')[2].removesuffix('.md')}"
