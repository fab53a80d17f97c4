"""Reads sprint-status.yaml, the tracker of BMAD 6, line by line, so that no line of it is lost.

One value with a colon too many makes the whole file no YAML, and BMAD's own script (sprint_plan.py 6.12) then
reads nothing of it. Here each line with a key below `development_status` counts, whatever stands beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...findings import Problem, Severity, Span
from ...formats.yaml_text import Broken, Node, read_yaml
from ...markdown.block_outline import split_lines
from .story_key import StoryNumber, story_number
from .story_status import TRACKER_WORDS, StoryStatus, status_of

_BLOCK = re.compile(r"development_status[ \t]*+:(.*)")
_TOP_KEY = re.compile(r"[^\s#-][^#]*?:(?:\s|$)|(?:---|\.\.\.)\s*$")
_ENTRY = re.compile(
    r"(?P<indent>[ \t]++)(?P<quote>['\"]?)(?P<key>[^\s:#'\"-][^:'\"]*+)(?P=quote)[ \t]*+:"
    r"(?:[ \t]++(?P<value>.*))?"
)
_QUOTED = re.compile(r"(['\"])(.*?)\1[ \t]*(?:#.*)?")
_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#.*")
_PROJECT = re.compile(r"project[ \t]*:[ \t]*(.*)")
_EPIC = re.compile(r"epic-(?P<epic>[\w.]+?)(?P<retrospective>-retrospective)?")
_OWN_KEY = re.compile(r"epic-\d+(?:-retrospective)?|\d+-\d+[a-z]?-.+")
"""The keys that sprint_plan.py knows."""
_MOST_NAMED = 5
_EMPTY = ("", "{}", "null", "~")


class SprintEntry(NamedTuple):
    """A line of the tracker. `kind` is story, epic or retrospective; `epic` names the one that it is of."""

    key: str
    kind: str
    epic: str
    number: StoryNumber | None
    raw: str
    key_span: Span
    value_span: Span

    @property
    def status(self) -> StoryStatus:
        return status_of(self.raw) if self.raw else StoryStatus.UNKNOWN


class ActionItem(NamedTuple):
    """What a retrospective decided to do."""

    action: str
    epic: str
    raw: str
    span: Span
    status_span: Span | None


class SprintStatus(NamedTuple):
    """A tracker. `faults` are problems of its file; `is_read` is False where it has no stories to be read."""

    project: str
    entries: tuple[SprintEntry, ...]
    actions: tuple[ActionItem, ...]
    faults: tuple[Problem, ...]
    is_read: bool


def read_sprint_status(text: str) -> SprintStatus:
    """What a tracker says; never raises."""
    lines = split_lines(text)
    begin = next((n for n, line in enumerate(lines) if _BLOCK.fullmatch(line)), -1)
    tree, faults = _tree(text)
    entries: tuple[SprintEntry, ...] = ()
    is_read = begin >= 0
    if begin >= 0:
        is_read = _plain(lines[begin].partition(":")[2].strip())[0] in _EMPTY
        if not is_read:
            message = "its stories stand in one line; write one in a line each, they are not read here"
            faults.append(Problem("artifact-unreadable", message, Span(begin, 0, begin, len(lines[begin]))))
        entries = tuple(_entries(lines, begin + 1))
        faults += _faults(entries)
    else:
        message = "it has no `development_status`, so nobody can tell which stories there are"
        faults.append(Problem("artifact-unreadable", message, Span(0, 0, 0, len(lines[0]))))
    named = next((match[1] for line in lines if (match := _PROJECT.fullmatch(line))), "")
    return SprintStatus(_plain(named)[0], entries, tuple(_actions(tree)), tuple(faults), is_read)


def _tree(text: str) -> tuple[Node | None, list[Problem]]:
    """The file as YAML, or why it is none."""
    try:
        return read_yaml(text, "artifact-unreadable"), []
    except Broken as broken:
        first = broken.problems[0]
        said = f"{first.message}: sprint_plan.py reads nothing of this file; here each line of it is read"
        return None, [Problem("artifact-unreadable", said, first.span, Severity.WARNING)]


def _entries(lines: Sequence[str], start: int) -> Iterator[SprintEntry]:
    """The keys below `development_status`; what stands below a key without a value is its own."""
    epic, above = "", -1
    waiting: SprintEntry | None = None
    for number in range(start, len(lines)):
        line = lines[number]
        if _TOP_KEY.match(line):
            break
        match = _ENTRY.fullmatch(line)
        if match is None:
            continue
        indent = len(match["indent"])
        value, column = _plain(match["value"] or "")
        begin = match.start("value") + column if match["value"] else len(line)
        span = Span(number, begin, number, begin + len(value))
        if waiting and indent > above:
            if match["key"] == "status":
                waiting = waiting._replace(raw=value, value_span=span)
            continue
        if waiting:
            yield waiting
        entry = _entry(match, number, value, span, epic)
        epic, above = entry.epic, indent
        waiting = entry if not value else None
        if value:
            yield entry
    if waiting:
        yield waiting


def _entry(match: re.Match[str], line: int, value: str, span: Span, epic: str) -> SprintEntry:
    key = match["key"].strip()
    key_span = Span(line, match.start("key"), line, match.start("key") + len(key))
    if of_epic := _EPIC.fullmatch(key):
        kind = "retrospective" if of_epic["retrospective"] else "epic"
        return SprintEntry(key, kind, of_epic["epic"].lower(), None, value, key_span, span)
    number = story_number(key)
    return SprintEntry(key, "story", number.epic if number else epic, number, value, key_span, span)


def _plain(value: str) -> tuple[str, int]:
    """A scalar without quotes and the comment behind it, and the column where it begins."""
    if quoted := _QUOTED.fullmatch(value.strip()):
        return quoted[2], value.index(quoted[1]) + 1
    return _COMMENT.sub("", value).rstrip(), 0


def _faults(entries: Sequence[SprintEntry]) -> Iterator[Problem]:
    """What sprint_plan.py makes of the keys and words otherwise: it counts none of them."""
    foreign = [each for each in entries if not _OWN_KEY.fullmatch(each.key)]
    if foreign:
        names = ", ".join(each.key for each in foreign[:_MOST_NAMED])
        more = f" and {len(foreign) - _MOST_NAMED} more" if len(foreign) > _MOST_NAMED else ""
        message = f"sprint_plan.py passes over {names}{more}; all of them count here"
        yield Problem("task-malformed", message, foreign[0].key_span)
    for entry in entries:
        if entry.kind == "story" and entry.raw not in TRACKER_WORDS:
            yield _word_problem(entry)


def _word_problem(entry: SprintEntry) -> Problem:
    said = (
        f"{entry.key}: {entry.raw!r} is none of BMAD's statuses" if entry.raw else f"{entry.key}: no status"
    )
    if entry.status is StoryStatus.UNKNOWN:
        place = entry.value_span if entry.raw else entry.key_span
        return Problem("marker-unknown", f"{said}; the story counts as not done", place)
    read_as = f"it is read as {entry.status.value}, and sprint_plan.py counts it nowhere"
    return Problem("task-malformed", f"{said}; {read_as}", entry.value_span)


def _actions(tree: Node | None) -> Iterator[ActionItem]:
    listed = tree.value.get("action_items") if tree and isinstance(tree.value, dict) else None
    for item in listed.value if listed and isinstance(listed.value, list) else ():
        if not isinstance(item, Node) or not isinstance(item.value, dict):
            continue
        said = {key: node for key, node in item.value.items() if isinstance(node.value, str)}
        span, status = item.span, said.get("status")
        yield ActionItem(
            action=str(said["action"].value) if "action" in said else "",
            epic=str(said["epic"].value) if "epic" in said else "",
            raw=str(status.value) if status else "",
            span=Span(span.line, span.column, span.line, span.column + 1),
            status_span=status.span if status and status.span.line == status.span.end_line else None,
        )
