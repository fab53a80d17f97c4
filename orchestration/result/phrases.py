"""The words in which a person reads states and next steps: one table for all surfaces.

All are plain text that may hold names from files; whoever shows them escapes them (`sanitize`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Sized
from datetime import datetime

from ..states import Basis, RunStatus, SuggestionKind

# {} is the phase or action that the step leads to.
_STEPS: Mapping[SuggestionKind, str] = {
    SuggestionKind.ADVANCE: "go on to {}",
    SuggestionKind.REGRESS: "go back to {}",
    SuggestionKind.STAY: "do {}",
    SuggestionKind.ACT: "do {}",
    SuggestionKind.WAIT: "wait",
    SuggestionKind.ESCALATE: "a person decides",
    SuggestionKind.STOP: "nothing is left to do",
    SuggestionKind.NONE: "fix the run first",
}
_WAITS = {"person": "wait for a person", "job": "wait for a job"}
_STATUSES: Mapping[str, str] = {
    RunStatus.WAITING: "waits for a job",
    RunStatus.WAITING_HUMAN: "waits for a person",
}


def step_phrase(kind: SuggestionKind, target: str, action: str | None = None, waiting_for: str = "") -> str:
    """The next step as a short imperative in one line: "Go on to codegen", "Do F1, then go on to review".

    `target` is the phase or action that the step leads to. `action` is one to be done before that, and
    `waiting_for` as in `Suggestion`. The first word is never a name, so its case may be changed.
    """
    words = _STEPS[kind].format(target)
    if kind is SuggestionKind.WAIT:
        words = _WAITS.get(waiting_for.partition(":")[0], words)
    if action and kind is not SuggestionKind.ACT:
        words = f"do {action}, then {words}"
    return words[0].upper() + words[1:]


def in_sentence(phrase: str) -> str:
    """A phrase as it stands in the middle of a sentence."""
    return phrase[:1].lower() + phrase[1:]


def status_phrase(status: str) -> str:
    """A status in words: "waits for a person", "active"."""
    return _STATUSES.get(status, str(status))


# Of a span of time, the units from the greatest, in seconds.
_UNITS = ((86_400, "day", "days"), (3_600, "h", "h"), (60, "min", "min"))


def age_phrase(at: str, now: datetime) -> str:
    """How long ago a moment was, roughly: "just now", "3 min ago", "2 days ago"; the moment if it is none."""
    try:
        seconds = (now - datetime.fromisoformat(at)).total_seconds()
    except (ValueError, TypeError):
        return at
    for unit, one, many in _UNITS:
        if (count := int(seconds // unit)) >= 1:
            return f"{count} {one if count == 1 else many} ago"
    return "just now"


_BASES: Mapping[Basis, str] = {
    Basis.MEASURED: "as a check measured",
    Basis.DECIDED: "as a person decided",
    Basis.RECORDED: "as the workflow's files say",
}


def basis_phrase(
    basis: Basis | None, actors: Sequence[str], files: Sequence[str], partly: bool = False
) -> str:
    """The ground of a verdict, to stand behind it: "as codex reported; no file shows it".

    Of what is reported, `actors` are those who did, `files` the paths of those that hold the report.
    `partly`: something stronger shows a part of the verdict.
    """
    if basis is not Basis.REPORTED:
        return _BASES[basis] if basis else "on nothing that was read"
    said = f"as {_enumerate(actors)} reported" if actors else "as reported"
    at = f" in {_enumerate([path.rsplit('/', 1)[-1] for path in files])}" if files else ""
    other = "no other file" if files else "no file"
    return f"{said}{at}; {other} shows {'all of it' if partly else 'it'}"


# Of those who reported so many are named.
_MOST_NAMED = 3


def _enumerate(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    named = [*names[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
    return " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))


def shell_word(word: str) -> str:
    """A word of a command line as a shell takes it."""
    if re.fullmatch(r"[\w@%+=:,./-]+", word, re.ASCII):
        return word
    escaped = word.replace("'", "'\"'\"'")
    return f"'{escaped}'"


def with_run(text: str, run: str) -> str:
    """A definition's text with the run's name in each command that says RUN: "`phasekeeper adopt RUN`"."""
    own = shell_word(run)
    return re.sub(r"(?<=`phasekeeper )([a-z-]+) RUN\b", lambda command: f"{command[1]} {own}", text)


# Of a list in evidence, so many items are shown, texts among them with so many characters.
_MOST_ITEMS = 5
_LONGEST_TEXT = 80
# What tells one map in a list from another, the best first.
_NAMES = ("id", "task", "path", "name", "title", "message", "text", "description", "phase")


def value_summary(value: object) -> object:
    """A value as evidence: scalars as they are, of a list the first items, a map by its size."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, list):
        more = len(value) - _MOST_ITEMS
        return (*map(_item_summary, value[:_MOST_ITEMS]), *([f"and {more} more"] if more > 0 else []))
    return _size(value, "key") if isinstance(value, Mapping) else str(value)


def tells_size_alone(value: object) -> bool:
    """True for a value of which `value_summary` tells how large it is, and nothing that is in it."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, Mapping) and not _names_of(item) for item in value)
    return isinstance(value, Mapping)


def _names_of(item: Mapping[str, object]) -> list[str]:
    names = (item.get(key) for key in _NAMES)
    return [name for name in names if isinstance(name, str) and name]


def _item_summary(item: object) -> object:
    """An item of a list: text without its end where it is long, a map by what names it."""
    if isinstance(item, str):
        return item if len(item) <= _LONGEST_TEXT else f"{item[: _LONGEST_TEXT - 1]}…"
    if isinstance(item, Mapping):
        names = _names_of(item)
        return _item_summary(names[0]) if names else _size(item, "key")
    return _size(item, "item") if isinstance(item, list) else value_summary(item)


def _size(value: Sized, what: str) -> str:
    return f"{len(value)} {what}{'' if len(value) == 1 else 's'}"
