"""The words of BMAD's statuses, as its tracker and its story files write them, and as people do.

`✅ Done`, `**Done**` and `done (QA approved)` say the same. What none of them says is nobody's word, and a
story with such a one is not done.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from ..model import MarkStatus


class StoryStatus(StrEnum):
    """Where a story stands (sprint_plan.py 6.12; `draft` is version 4's, and that of 6.12's specs)."""

    DRAFT = "draft"
    BACKLOG = "backlog"
    READY = "ready-for-dev"
    IN_PROGRESS = "in-progress"
    REVIEW = "review"
    DONE = "done"
    BLOCKED = "blocked"
    DROPPED = "dropped"
    OPTIONAL = "optional"
    """Of a retrospective that nobody has to hold."""
    UNKNOWN = "unknown"

    @property
    def mark(self) -> MarkStatus:
        return _MARKS[self]

    @property
    def rank(self) -> int | None:
        """How far the story is, from 0 to 4; None for a word that says nothing of it."""
        return _RANKS.get(self)

    @property
    def is_begun(self) -> bool:
        return (self.rank or 0) >= _RANKS[StoryStatus.IN_PROGRESS]


_MARKS: Mapping[StoryStatus, MarkStatus] = MappingProxyType({
    **dict.fromkeys(StoryStatus, MarkStatus.TODO),
    StoryStatus.IN_PROGRESS: MarkStatus.IN_PROGRESS, StoryStatus.REVIEW: MarkStatus.IN_PROGRESS,
    StoryStatus.DONE: MarkStatus.DONE, StoryStatus.BLOCKED: MarkStatus.BLOCKED,
    StoryStatus.DROPPED: MarkStatus.CANCELLED, StoryStatus.UNKNOWN: MarkStatus.UNKNOWN,
})  # fmt: skip
_RANKS: Mapping[StoryStatus, int] = MappingProxyType({
    StoryStatus.DRAFT: 0, StoryStatus.BACKLOG: 0, StoryStatus.READY: 1,
    StoryStatus.IN_PROGRESS: 2, StoryStatus.REVIEW: 3, StoryStatus.DONE: 4,
})  # fmt: skip
_WORDS: Mapping[str, StoryStatus] = MappingProxyType({
    **{each.value: each for each in StoryStatus if each is not StoryStatus.UNKNOWN},
    **dict.fromkeys(("to-do", "todo", "not-started", "planned", "pending", "open"), StoryStatus.BACKLOG),
    **dict.fromkeys(
        ("approved", "drafted", "ready", "ready-for-development", "ready-for-implementation"),
        StoryStatus.READY,
    ),
    **dict.fromkeys(("inprogress", "in-development", "contexted", "wip"), StoryStatus.IN_PROGRESS),
    **dict.fromkeys(
        ("in-review", "ready-for-review", "readyforreview", "under-review", "code-review"), StoryStatus.REVIEW
    ),
    **dict.fromkeys(("complete", "completed", "finished", "closed", "✅", "✔", "☑"), StoryStatus.DONE),
    **dict.fromkeys(("deferred", "on-hold", "awaiting-operator"), StoryStatus.BLOCKED),
    **dict.fromkeys(
        ("cancelled", "canceled", "skipped", "deprecated", "absorbed", "obsolete", "superseded"),
        StoryStatus.DROPPED,
    ),
})  # fmt: skip
TRACKER_WORDS = frozenset(("backlog", "ready-for-dev", "in-progress", "review", "done", "drafted"))
"""Those that sprint_plan.py takes for the status of a story, its former one for `ready-for-dev` too."""
_TAIL = re.compile(r"(?<![ \t])[ \t]*+(?:[(\[,;]|[.:][ \t]|(?<=[ \t])[-–—][ \t]|[✅✔☑✓🎉]).*")
_LONGEST = 300
_AROUND = " \t*_~`'\".!\ufe0f"
_DOUBT = re.compile(
    r"(?i)\b(?:not|no|fail\w*|pending|todo|incomplete|partial\w*|rework|blocked|remaining|except|wip)\b"
)
"""Words behind a status that take back that it is done; what is not finished has a status for that."""


def status_of(raw: str) -> StoryStatus:
    """The status that a text says, in any of the ways that people write it."""
    text = raw[:_LONGEST].strip(_AROUND).removeprefix("- ").strip(_AROUND)
    bare = text.lstrip("✅✔☑✓🎉🟢 \t\ufe0f").strip(_AROUND)
    head = _TAIL.sub("", bare, count=1).strip(_AROUND) if bare else text[:1]
    found = _WORDS.get("-".join(head.lower().replace("_", " ").split()), StoryStatus.UNKNOWN)
    if found is StoryStatus.DONE and _DOUBT.search(bare[len(head) :]):
        return StoryStatus.UNKNOWN
    return found
