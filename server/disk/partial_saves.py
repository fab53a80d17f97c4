"""Saves in progress: which change of a file may be half of one, and how long such a file is held back.

A file that is gone, broken, cut off or shorter than it was may be in the middle of a save: editors rename a
file away and write it anew, writers truncate it and fill it in parts. So may a text that is written over
where it lies, as by `rsync --inplace`: its end may be that of before. Such a file counts as before until it
is whole or nothing of it changed for `GRACE_MS`. What was only added to, or replaced by a whole file, is not
held.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from time import monotonic
from typing import NamedTuple

from ...orchestration.findings import Problem
from ...orchestration.formats.json_change import stays_json
from ...orchestration.vfs.files import Entry, File, name_in, parent

GRACE_MS = 150
"""A file that may be half saved is held for so long after its last change."""
MAX_HOLD_MS = 1000
"""Whoever depends on held files waits for so long in all: one that is written without end is told."""
MAX_HOLDS = 10_000
"""At one time; what else changes is told at once."""
_BEING_SAVED = Problem("artifact-unreadable", "it is being saved")
_LARGE = 1 << 16
"""From so many characters on it is worth knowing that a text was whole."""
_END = 64
_END_AND_BLANKS = 4 * _END
_SEAM = 8
"""Bytes at the end of a text by which it is known again behind what was written over it."""
_PASSING = re.compile(r"\..*|.*~|#.*#|[0-9]+|sed[0-9A-Za-z]{6}|.*\.(?:tmp|temp|swp|bak)")
"""Names of files that programs make for the time of a save: Vim, Emacs, sed, rsync."""
_OPEN_FRONT_MATTER = re.compile(r"---[ \t]*\n(?!.*^(?:---|\.\.\.)[ \t]*$)", re.DOTALL | re.MULTILINE)


class Hold(NamedTuple):
    """A file that is held: as it counts meanwhile (None where it was not read before), what tells the state
    that was seen last from another, until when by the clock, and whether its name is gone."""

    before: File | None
    state: str
    until_ms: float
    is_gone: bool

    @property
    def answer(self) -> File:
        """The file for who reads it meanwhile: as it was before, unreadable if its text was let go."""
        before = self.before
        if before is None:
            return File("", problem=_BEING_SAVED)
        if before.exists and before.text is None and not before.problem:
            return replace(before, problem=_BEING_SAVED)
        return before


class PartialSaves:
    """The files that are held, by path. `now_ms` is a clock that only goes forward."""

    def __init__(self, now_ms: Callable[[], float]) -> None:
        self._now_ms = now_ms
        self._holds: dict[str, Hold] = {}
        self._proofs = JsonProofs()

    def is_partial(self, before: File, now: File) -> bool:
        """True if a file may be in the middle of a save, by how it was before and how it is now."""
        return is_partial(before, now, is_held=now.path in self._holds, proofs=self._proofs)

    @property
    def holds(self) -> Mapping[str, Hold]:
        return self._holds

    def hold(self, path: str, before: File | None, now: File) -> bool:
        """Hold a file, or go on with it: each change of it begins the grace anew.

        False if too many are held.
        """
        known = self._holds.get(path)
        if known is None and len(self._holds) >= MAX_HOLDS:
            return False
        state = f"{is_gone(now)}{now.digest}{now.size}"
        if known is None or known.state != state:
            before = known.before if known else before
            self._holds[path] = Hold(before, state, self._now_ms() + GRACE_MS, is_gone(now))
        return True

    def drop(self, path: str) -> bool:
        """The file is not held any more. True if it was: who waited for it looks at it again."""
        return self._holds.pop(path, None) is not None

    def over(self) -> list[str]:
        """The files whose grace is over."""
        now = self._now_ms()
        return [path for path, hold in self._holds.items() if hold.until_ms <= now]

    def wait_ms(self) -> float:
        """Milliseconds until the first grace is over; infinite when nothing is held."""
        ends = min((hold.until_ms for hold in self._holds.values()), default=float("inf"))
        return max(0.0, ends - self._now_ms())

    def keys(self) -> set[str]:
        """The keys of what is held, as the file cache has them: a name that is gone concerns its folder."""
        gone = {f"{parent(path)}/" for path, hold in self._holds.items() if hold.is_gone}
        return gone | self._holds.keys()

    def paths_in(self, keys: Iterable[str]) -> list[str]:
        """The held files that any of these keys is about."""
        asked = set(keys)
        return [
            path
            for path, hold in self._holds.items()
            if path in asked or (hold.is_gone and f"{parent(path)}/" in asked)
        ]


def monotonic_ms() -> float:
    """Milliseconds of a clock that nobody sets."""
    return monotonic() * 1000


def is_gone(file: File) -> bool:
    """True if nothing is there, or was not there any more when it was to be opened."""
    return not file.exists and not file.refused


def is_passing(folder: str, entry: Entry) -> bool:
    """True for a name that comes and goes with the work of a program, and says nothing by it."""
    is_own = name_in(folder) == ".phasekeeper"
    return entry.kind != "folder" and (is_own or bool(_PASSING.fullmatch(entry.name)))


class JsonProofs:
    """Which large JSON texts were whole, so that the next one of the file is proven by what differs."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}

    def is_whole(self, before: File, now: File) -> bool:
        """True if a text is JSON from its beginning to its end."""
        text, text_before = now.text or "", before.text
        is_known = text_before is not None and self._digests.pop(now.path, None) == before.digest
        is_whole = (is_known and stays_json(text, text_before or "")) or _is_json(text)
        if is_whole and len(text) >= _LARGE:
            self._digests[now.path] = now.digest
        return is_whole


def is_partial(before: File, now: File, *, is_held: bool = False, proofs: JsonProofs | None = None) -> bool:
    """True if a file may be in the middle of a save, by how it was before and how it is now.

    One that `is_held` is whole only with a sign that it is: data that ends, the end that it had before, or
    all that it had and more. Text before that is not at hand gives no sign. Cost: linear in the text; with
    `proofs` a large JSON text costs a comparison.
    """
    if (before.exists, before.digest, before.problem) == (now.exists, now.digest, now.problem):
        return False
    if is_gone(now):
        return before.exists
    if now.problem or not now.size:
        return not before.problem
    text, text_before = now.text or "", before.text
    ends_alike = text_before is not None and _end(text) == _end(text_before)
    is_whole_json = now.path.endswith(".json") and (proofs or JsonProofs()).is_whole(before, now)
    if is_whole_json:
        return False
    if now.path.endswith(".json") or is_cut_off(now.path, text):
        return not (ends_alike and is_cut_off(now.path, text_before or ""))
    if now.size < before.size or is_held:
        is_longer = text.startswith("" if not before.exists else text_before or "\0")
        return not (ends_alike or is_longer)
    return False


def is_overwritten(before: File, now: File) -> bool:
    """True if a text that lies where it did is another one up to some place, and from there on as it was.

    So looks a save that goes on, and the whole of one that changed no length. Data is whole or it is none.
    """
    if not before.exists or before.problem or now.problem or now.path.endswith(".json"):
        return False
    if now.digest == before.digest or now.size < before.size:
        return False
    if now.text is None or before.text is None:
        return True
    text, text_before = (
        now.text.encode("utf-8", "surrogatepass"),
        before.text.encode("utf-8", "surrogatepass"),
    )
    size = len(text_before)
    return text[size - _SEAM : size] == text_before[-_SEAM:] and not text.startswith(text_before)


def is_cut_off(path: str, text: str) -> bool:
    """True if a text ends in the middle of a line, of JSON, or of the front matter of a Markdown file."""
    if path.endswith(".json"):
        return not _is_json(text)
    return text[-1:] not in ("\n", "\r") or (path.endswith(".md") and bool(_OPEN_FRONT_MATTER.match(text)))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except RecursionError:
        # Nested too deeply to be told; whoever reads it says so.
        return True
    except ValueError:
        return False
    return True


def _end(text: str) -> str:
    return text[-_END_AND_BLANKS:].rstrip()[-_END:]
