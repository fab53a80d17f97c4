"""The tags of a tasks.json of Task Master, each a list of tasks; a file from before there were tags is one.

A text is asked for its tags, its faults and each tag in a row, and is read once for all of them: the newest
text is kept, and the next one is read by what differs from it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ...findings import Problem, Span
from ...formats.json_lists import ListDocument, ListText, read_lists
from ...formats.json_text import locate_json
from ...vfs.places import unit_name

FIRST_TAG = "master"
"""The tag of a file that has none, and of the first one."""
MOST_TAGS = 500
"""Each tag is read and judged like a folder; a file with more is a mistake, and is one run with a finding."""
_KEY = re.compile(r'"((?:[^"\\\n]|\\.)*+)"[ \t\r\n]*+:[ \t\r\n]*+\{|"(?:[^"\\\n]|\\.)*+"?|[{}\[\]]')
_newest: list[ListDocument] = []


def tags(text: str) -> Sequence[str]:
    """The tags of a file; of one that is damaged those that can be made out. Of too many one: see `fault`."""
    document = read_text(text).document
    if document.readable and isinstance(document.data, dict):
        found = _tags_of(document.data)
    else:
        found = _legible_tags(text) or (FIRST_TAG,)
    return found if len(found) <= MOST_TAGS else (FIRST_TAG,)


def _tags_of(data: Mapping[str, Any]) -> Sequence[str]:
    named = [key for key, value in data.items() if isinstance(value, dict) and "tasks" in value]
    return [*named, *([_own_tag(named)] if _is_untagged(data) else [])]


def read_text(text: str) -> ListDocument:
    """The value of a text, and the lists of tasks in it."""
    last = _newest[0] if _newest else None
    if last is None or last.text != text:
        last = read_lists(text, _paths_of, last)
        _newest[:] = [last]
    return last


def _paths_of(data: Any) -> Collection[tuple[str, ...]]:
    """The ways to the lists of tasks; of a file with too many tags none is looked for."""
    if not isinstance(data, dict):
        return ()
    named = [(key, "tasks") for key, tag in data.items() if isinstance(tag, dict) and _is_list(tag)]
    found = [*named, *([("tasks",)] if _is_untagged(data) else [])]
    return found if len(found) <= MOST_TAGS else ()


def _is_list(tag: Mapping[str, Any]) -> bool:
    return isinstance(tag.get("tasks"), list)


def _is_untagged(data: Mapping[str, Any]) -> bool:
    """True if the file has a list of tasks itself, as before there were tags; other tools have such, too."""
    tasks = data.get("tasks")
    return isinstance(tasks, list) and (
        not tasks or any(isinstance(each, dict) and "id" in each and "title" in each for each in tasks)
    )


def _own_tag(named: Sequence[str]) -> str:
    return "tasks" if FIRST_TAG in named else FIRST_TAG


def _legible_tags(text: str) -> list[str]:
    """The keys right in the outermost object that hold an object."""
    found: dict[str, None] = {}
    depth = 0
    for token in _KEY.finditer(text):
        last = token[0][-1]
        if depth == 1 and token[1] is not None and token[1] not in ("meta", "metadata"):
            found[token[1]] = None
        depth += 1 if last in "{[" else -1 if token[0] in ("}", "]") else 0
    return [*found]


class Tag(NamedTuple):
    """A tag: the way to its tasks, and their list; None for one that has something else there."""

    path: tuple[str, ...]
    tasks: ListText | None


def find_tag(text: str, unit: str) -> Tag | None:
    """The tag that is called so in names of runs."""
    read = read_text(text)
    data = read.document.data
    if not isinstance(data, dict):
        return None
    lists = {each.path: each for each in read.lists}
    for key, value in data.items():
        if isinstance(value, dict) and "tasks" in value and unit_name(key) == unit:
            return Tag((key, "tasks"), lists.get((key, "tasks")))
    return Tag(("tasks",), lists.get(("tasks",))) if _is_untagged(data) else None


def fault(text: str, unit: str) -> Problem | None:
    """Why nothing of a tag can be read: the text is damaged, or what the tag has for tasks is no list."""
    document = read_text(text).document
    if not document.readable:
        return document.problems[0] if document.problems else None
    if not isinstance(document.data, dict):
        said = "an object with a tag in it is expected here"
        return Problem("artifact-unreadable", said, Span(0, 0, 0, 1))
    if (count := len(_tags_of(document.data))) > MOST_TAGS:
        said = f"the file has {count} tags; of more than {MOST_TAGS} none is read"
        return Problem("budget-exceeded", said, Span(0, 0, 0, 1))
    tag = find_tag(text, unit)
    if tag is not None and tag.tasks is None:
        said = "tasks must be a list; nobody can tell what these are"
        return Problem("artifact-unreadable", said, locate_json(text, tag.path, key=True))
    return None
