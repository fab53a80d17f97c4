"""The numbers of BMAD's stories, in keys of the tracker, names of files and verdicts of reviews.

`1-2-login`, `1.2.login.story.md`, `story-1.2.md`, `e1-02-login.md` and `story: "1.2"` are one story. The
letter of `2-6a` is part of its number; an epic that came in between, `5.5`, is one of its own.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ...vfs.files import natural

_KEY = re.compile(
    r"(?i)(?:story[-_. ]*|e(?=\d))?(?P<epic>\d{1,6}(?:\.\d{1,6}){0,4}|[a-z](?=-\d))(?P<dotted>[a-z]?)"
    r"(?:-(?P<story>p?\d{1,6})(?P<letter>[a-z]?))?(?=[-_. ]|$)"
)


class StoryNumber(NamedTuple):
    """Which story it is: `letter` of a story that was split, in small letters."""

    epic: str
    story: str
    letter: str = ""

    @property
    def text(self) -> str:
        return f"{self.epic}.{self.story}{self.letter}"

    @property
    def turn(self) -> tuple[object, ...]:
        """A sort key: 2-5 before 2-6a, that before 2-6b, 2-7 and 2-10."""
        return natural(self.epic), natural(self.story), self.letter


def story_number(name: str) -> StoryNumber | None:
    """The number at the start of a name; None where it has none."""
    match = _KEY.match(name)
    if match is None:
        return None
    epic, story = match["epic"].lower(), match["story"]
    if story:
        number = story.lower() if not story.isdecimal() else str(int(story))
        return StoryNumber(_plain(epic), number, match["letter"].lower())
    first, _, rest = epic.partition(".")
    return StoryNumber(_plain(first), _plain(rest), match["dotted"].lower()) if rest else None


def _plain(number: str) -> str:
    return ".".join(str(int(part)) if part.isdecimal() else part for part in number.split("."))


def words_of(key: str) -> str:
    """The words of a key behind its number: "user login" of `1-2-user-login`."""
    match = _KEY.match(key)
    rest = key[match.end() :] if match else key
    return " ".join(filter(None, re.split(r"[-_. ]+", rest)))
