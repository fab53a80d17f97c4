"""Puts a sprint of BMAD together: which files are of which story, and what they say of it together.

With a tracker (version 6) its stories are those of the sprint, and it says where they stand. Without one
(version 4) each story's file does. Where the two disagree both files say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...findings import Problem, Severity, Span
from ...vfs.files import name_in, natural
from ..model import MarkStatus
from .quality_gate import QualityGate
from .sprint_status import SprintEntry, SprintStatus
from .story_file import StoryFile, WrittenStatus
from .story_key import StoryNumber, story_number, words_of
from .story_status import StoryStatus

PART = ":"
"""What stands between the id of a story and that of a part of it."""
TRACKERS = ("sprint-status.yaml", "sprint-status.yml")
_PAST = ("archive/", "completed/")
"""Folders of stories that are over: there only a file that is called like a story of the tracker counts."""
_TOP = Span(0, 0, 0, 1)


@dataclass(frozen=True, kw_only=True)
class Story:
    """A story with its files.

    `status` is the one that counts. `path` is that of its own file, "" for none; `others` are further
    documents about it. `gate` is the newest verdict on it. `is_contradicted`: one place alone calls it done.
    """

    id: str
    epic: str
    number: StoryNumber | None
    status: StoryStatus
    word: str
    entry: SprintEntry | None = None
    path: str = ""
    file: StoryFile | None = None
    is_readable: bool = True
    others: tuple[tuple[str, StoryFile], ...] = ()
    gate: tuple[str, QualityGate] | None = None
    is_contradicted: bool = False

    @property
    def statement(self) -> WrittenStatus | None:
        return self.file.statement if self.file else None

    @property
    def title(self) -> str:
        return (self.file.title if self.file else "") or words_of(self.id).capitalize() or self.id

    @property
    def mark(self) -> MarkStatus:
        return MarkStatus.ATTENTION if self.is_contradicted else self.status.mark


@dataclass(frozen=True)
class Sprint:
    """All of it. `problems` are by the names of the files; `tracker` is that of the tracker, "" for none."""

    tracker: str
    status: SprintStatus | None
    stories: tuple[Story, ...]
    problems: Mapping[str, list[Problem]] = field(default_factory=dict)

    @property
    def epics(self) -> Mapping[str, SprintEntry]:
        entries = self.status.entries if self.status else ()
        return {each.epic: each for each in entries if each.kind == "epic"}


def sprint_of(parts: Mapping[str, Any]) -> Sprint:
    """The sprint of what each file says; None stands for a file that cannot be read."""
    tracker = next((name for name in TRACKERS if name in parts), "")
    status: SprintStatus | None = parts[tracker] if tracker else None
    documents = {path: parts[path] for path in sorted(parts, key=natural) if path.endswith(".md")}
    problems: dict[str, list[Problem]] = {}
    if status:
        problems[tracker] = [*status.faults]
        stories = [*_tracked_stories(status, documents, tracker, problems)]
    else:
        stories = [_story_of_file(path, file) for path, file in documents.items() if _is_story(path, file)]
    gates = {path: parts[path] for path in parts if path not in documents and path not in TRACKERS}
    newest = _newest_gates(gates, problems)
    stories = [
        replace(story, gate=newest.get(story.number) if story.number else None)
        for story in sorted(stories, key=_place_in_order)
    ]
    return Sprint(tracker, status, tuple(stories), problems)


def _place_in_order(story: Story) -> tuple[Any, ...]:
    number = story.number or StoryNumber(story.epic, "")
    return (*number.turn, natural(story.id), story.path)


# ---- which files are of which story


def _stem(path: str) -> str:
    return name_in(path).removesuffix(".md").removesuffix(".story")


def _is_past(path: str) -> bool:
    return path.startswith(_PAST)


def _is_story(path: str, file: StoryFile | None) -> bool:
    """True for a file that is a story without anybody who says so: by its name, or by a status and boxes."""
    if _is_past(path):
        return False
    return story_number(_stem(path)) is not None or bool(file and file.statement and file.boxes)


def _story_of_file(path: str, file: StoryFile | None) -> Story:
    stem = _stem(path)
    number = story_number(stem)
    statement = file.statement if file else None
    status = statement.status if statement else StoryStatus.BACKLOG if file else StoryStatus.UNKNOWN
    return Story(
        id=stem, epic=number.epic if number else "", number=number,
        status=status, path=path,
        word=statement.text.strip("*_ ") if statement else "no status",
        file=file, is_readable=file is not None,
    )  # fmt: skip


def _tracked_stories(
    status: SprintStatus,
    documents: Mapping[str, StoryFile | None],
    tracker: str,
    problems: dict[str, list[Problem]],
) -> Iterator[Story]:
    """The stories of the tracker with their files, and files of stories that it does not have."""
    entries = [each for each in status.entries if each.kind == "story"]
    by_stem: dict[str, list[str]] = {}
    by_number: dict[StoryNumber, list[str]] = {}
    for path in documents:
        # A spec of 6.12 is called like its story with `spec-` in front of it.
        stem = _stem(path).removeprefix("spec-").lower()
        by_stem.setdefault(stem, []).append(path)
        number = story_number(stem)
        if number and not _is_past(path):
            by_number.setdefault(number, []).append(path)
    numbers = [each.number for each in entries]
    used: set[str] = set()
    for entry in entries:
        named = by_stem.get(entry.key.lower(), [])
        is_one = entry.number is not None and numbers.count(entry.number) == 1
        alike = by_number.get(entry.number, []) if is_one and entry.number else []
        others = [each for each in alike if each not in named]
        # What is not over goes before what is; without either, a file that is called nearly like the story.
        own = sorted(named, key=_is_past)[:1] or [each for each in others if _is_own(each, entry)][:1]
        further = [each for each in (*named, *others) if each not in own]
        used.update(own, further)
        yield _with_file(entry, own[0] if own else "", further, documents, tracker, problems)
    names = {each.key.lower() for each in entries}
    for path, file in documents.items():
        if path not in used and _stem(path).lower() not in names and _is_unlisted(path, file):
            message = f"{tracker} has no story of this file; it counts by what it says itself"
            problems.setdefault(path, []).append(Problem("task-unlisted", message, _TOP, Severity.WARNING))
            yield _story_of_file(path, file)


def _is_unlisted(path: str, file: StoryFile | None) -> bool:
    """True for a file that is a story of the tracker's kind: one about a story has no status."""
    return _is_story(path, file) and (file is None or file.statement is not None)


def _is_own(path: str, entry: SprintEntry) -> bool:
    """True for a file with the story's number and words of its key, or none: others are about the story."""
    words = words_of(_stem(path)).lower().split()
    return not words or bool({*words} & {*words_of(entry.key).lower().split()})


def _with_file(
    entry: SprintEntry,
    path: str,
    further: Sequence[str],
    documents: Mapping[str, StoryFile | None],
    tracker: str,
    problems: dict[str, list[Problem]],
) -> Story:
    file = documents[path] if path else None
    others = [(each, found) for each in further if (found := documents[each])]
    statement = file.statement if file else None
    story = Story(
        id=entry.key, epic=entry.epic, number=entry.number, status=entry.status,
        word=entry.raw or "no status", entry=entry, path=path, file=file,
        is_readable=file is not None or not path, others=tuple(others),
    )  # fmt: skip
    if statement is None or (ours := statement.status).rank is None or story.status.rank is None:
        return story
    if ours.rank == story.status.rank:
        return story
    message = f"{tracker} says that {entry.key} is {entry.raw}, and its file {path} says {statement.text}"
    problems.setdefault(path, []).append(Problem("status-drift", message, statement.span))
    problems.setdefault(tracker, []).append(Problem("status-drift", message, entry.value_span))
    return replace(story, is_contradicted=story.status is StoryStatus.DONE)


# ---- verdicts


def _newest_gates(
    gates: Mapping[str, QualityGate | None], problems: dict[str, list[Problem]]
) -> Mapping[StoryNumber, tuple[str, QualityGate]]:
    """The newest verdict on each story; one that cannot be read is as new as any."""
    found: dict[StoryNumber, tuple[str, QualityGate]] = {}
    for path in sorted(gates, key=natural):
        gate = gates[path]
        if gate is None:
            number = story_number(name_in(path))
            gate = QualityGate(number, "", "cannot be read", "", _TOP, ())
        problems.setdefault(path, []).extend(gate.problems)
        if gate.number is None:
            continue
        before = found.get(gate.number)
        if before is None or _age(before[1]) < _age(gate):
            found[gate.number] = path, gate
        if before is not None:
            used, other = found[gate.number][0], before[0] if found[gate.number][0] == path else path
            message = f"{used} is the newer verdict on {gate.number.text} and counts"
            problems.setdefault(other, []).append(Problem("duplicate-location", message, _TOP))
    return found


def _age(gate: QualityGate) -> tuple[bool, str]:
    return not gate.verdict, gate.updated
