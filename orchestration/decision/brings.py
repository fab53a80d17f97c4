"""Comparison of a report with what its step says it must come with (`brings:` of a definition).

It is looked for in the report's text and data and in the files of the root. What cannot be told is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from ..definition.inputs import Brings
from ..expressions.context import Context
from ..expressions.language import Expression
from ..expressions.queries import dig
from ..journal.journal import Record
from ..vfs.files import join
from .facts import RunFacts

# Of the words of a report, so many that look like paths are looked up.
_MOST_WORDS = 100
# Of one kind of missing files, so many are named.
_MOST_NAMED = 5
_PATH = re.compile(r"[\w@+~-]*(?:[./][\w@+~-]+)+")
_ADDRESS = re.compile(r"https?://[\w.-]+(?::\d+)?/\S+")
_COMMIT = re.compile(r"[0-9a-fA-F]{7,64}")
_KINDS: Mapping[str, tuple[type, ...]] = {
    "text": (str,), "number": (int, float), "list": (list,), "map": (dict,),
}  # fmt: skip


class Delivery(NamedTuple):
    """A report as it is handed in: the record that it would be, its data and its whole text.

    `commits` are the commits named in its data that the repository has. `is_past` is true of a report of
    which nobody can tell any more what lay beside it when it was written.
    """

    record: Record
    data: Mapping[str, Any] = {}
    text: str = ""
    commits: frozenset[str] = frozenset()
    is_past: bool = False


class BroughtFiles(NamedTuple):
    """The files that a report has to come with, as paths from the root: `there` and `absent` as the step
    declares them, `named` what the report names itself."""

    there: tuple[str, ...]
    absent: tuple[str, ...]
    named: tuple[str, ...]


def brought_files(facts: RunFacts, brings: Brings, delivery: Delivery) -> BroughtFiles:
    """The files that a report is about. A path declared both ways is not looked at."""
    context = _context(facts, delivery)
    there, absent = (_paths(facts, context, wanted) for wanted in (brings.files, brings.absent))
    both = there.keys() & absent.keys()
    return BroughtFiles(
        tuple(path for path in there if path not in both),
        tuple(path for path in absent if path not in both),
        tuple(_named(facts, delivery)),
    )


def missing(facts: RunFacts, brings: Brings, delivery: Delivery) -> Iterator[str]:
    """Phrases that say what a report that calls its step done lacks, but for a change."""
    context = _context(facts, delivery)
    for alternatives in brings.data:
        if not any(_fits(delivery, path, kind) for path, kind in alternatives.items()):
            yield "its data says " + " or ".join(f"{path} ({_WANTED[k]})" for path, k in alternatives.items())
    if not delivery.is_past:
        yield from _missing_files(facts, brings, brought_files(facts, brings, delivery), context)
    yield from (criterion.text for criterion in brings.holds if not context.holds(criterion.when))


def lacking_at_all(facts: RunFacts, brings: Brings, delivery: Delivery) -> list[str]:
    """Phrases that say all that a report lacks."""
    return [*missing(facts, brings, delivery), *lacking_change(facts, brings, delivery)]


def lacking_change(facts: RunFacts, brings: Brings, delivery: Delivery) -> Iterator[str]:
    """Phrases that say what is still as it was when the step, or what it mends, failed or was sent back."""
    context = _context(facts, delivery)
    if not delivery.is_past:
        yield from _missing_change(facts, brings, brought_files(facts, brings, delivery), context)
    yield from (criterion.text for criterion in brings.differs if not context.holds(criterion.when))


def _missing_change(facts: RunFacts, brings: Brings, files: BroughtFiles, context: Context) -> Iterator[str]:
    is_about_files = _names_files(brings, context) or brings.files is None or bool(files.there or files.named)
    then = context.value(brings.changed).value if brings.changed and is_about_files else {}
    if not (isinstance(then, dict) and _has_changed(facts, then, files)):
        moment = (
            f"{then['phase']} {then['outcome']}".strip() or then["kind"] if isinstance(then, dict) else "?"
        )
        named = _some([*files.there, *files.named]) or "name it"
        yield f"a file was changed since {moment}: {named}"


def _missing_files(facts: RunFacts, brings: Brings, files: BroughtFiles, context: Context) -> Iterator[str]:
    lacking = [path for path in files.there if not facts.snapshot.reader.exists(path)]
    if lacking:
        yield f"these files exist: {_some(lacking)}"
    left = [path for path in files.absent if facts.snapshot.reader.exists(path)]
    if left:
        yield f"these files are gone: {_some(left)}"
    for wanted in filter(None, (brings.files, brings.absent)):
        if error := context.value(wanted).error:
            yield f"the files that it must come with can be told ({error})"
    if _names_files(brings, context) and not (files.there or files.absent or files.named):
        yield 'it names the files that were changed, in its data ({"files": ["src/name.py"]}) or its summary'


def _names_files(brings: Brings, context: Context) -> bool:
    """True if the report has to name files where none are declared; what cannot be told is asked for."""
    return brings.named is not None and context.value(brings.named).value is not False


def file_digests(facts: RunFacts, files: BroughtFiles) -> dict[str, str]:
    """path -> digest of the files that a report came with, as far as they can be read."""
    read = {path: facts.snapshot.reader.read(path).digest for path in (*files.there, *files.named)}
    return {path: digest for path, digest in read.items() if digest}


def _context(facts: RunFacts, delivery: Delivery) -> Context:
    """The names of expressions, `report` being the report at hand."""
    more = {"data": delivery.data, "text": delivery.text}
    at_hand = {**delivery.record, **more, "stateUpdates": delivery.data.get("stateUpdates", {})}

    def known(name: str) -> object:
        return at_hand if name == "report" else facts.context.known(name).value_or_raise()

    context = facts.context
    return Context(facts.workflow.language, context.variables, known, context.records, context.tasks)


def _paths(facts: RunFacts, context: Context, wanted: Expression | None) -> dict[str, None]:
    """The paths of a list, or of lists in it; each where it lies, the root going before the run's folder."""
    value = context.value(wanted).value if wanted else None
    names: dict[str, None] = {}
    for item in value if isinstance(value, list) else ():
        for name in item if isinstance(item, list) else (item,):
            if isinstance(name, str):
                names |= dict.fromkeys(_matching(facts, _located(facts, name)))
    return names


def _located(facts: RunFacts, name: str) -> str:
    if name.startswith("./"):
        return join(facts.snapshot.run, name) or name
    exists = facts.snapshot.reader.exists
    from_root, from_run = join("", name.lstrip("/")), join(facts.snapshot.run, name)
    is_in_run = from_run and not (from_root and exists(from_root)) and exists(from_run)
    # What leads out of the root is not read, so it is missing.
    return (from_run if is_in_run else from_root) or name


def _matching(facts: RunFacts, path: str) -> list[str]:
    """The files that fit a pattern; where none does, and of a plain path, the path."""
    is_pattern = any(character in path for character in "*?[")
    return [name for name, _ in facts.snapshot.reader.glob(path)] or [path] if is_pattern else [path]


def _named(facts: RunFacts, delivery: Delivery) -> Iterator[str]:
    """The files that a report names: existing ones outside of the run's own folder."""
    listed = delivery.data.get("files")
    told = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    words = _PATH.findall(f"{delivery.record['message']}\n{delivery.text}")
    for name in dict.fromkeys((*told, *words[:_MOST_WORDS])):
        path = join("", name.lstrip("/"))
        if path and not path.startswith(f"{facts.snapshot.run}/") and facts.snapshot.reader.read(path).exists:
            yield path


def _fits(delivery: Delivery, path: str, kind: str) -> bool:
    value = dig(delivery.data, path)
    if kind == "address":
        return isinstance(value, str) and _ADDRESS.fullmatch(value.strip()) is not None
    if kind == "commit":
        return isinstance(value, str) and value in delivery.commits
    return type(value) in _KINDS[kind] and value not in ("", [], {})


_WANTED = {
    "text": "text", "number": "a number", "list": "a list", "map": "a map",
    "address": "an address that begins with https://", "commit": "a commit that the repository has",
}  # fmt: skip


def commits_named(brings: Brings, data: Mapping[str, Any]) -> Iterator[str]:
    """Texts in the data of a report that have to be commits, as far as they look like some."""
    for alternatives in brings.data:
        for path, kind in alternatives.items():
            value = dig(data, path)
            if kind == "commit" and isinstance(value, str) and _COMMIT.fullmatch(value):
                yield value


def _has_changed(facts: RunFacts, then: Mapping[str, Any], files: BroughtFiles) -> bool:
    """True if one of the files differs from what a record keeps of it, or is newer than that.

    Without a record there is nothing to differ from.
    """
    if not then.get("kind"):
        return True
    since = _moment(facts, then)
    kept = {entry["path"]: entry["digest"] for entry in then["files"] if isinstance(entry, dict)}
    for path in (*files.there, *files.absent, *files.named):
        file = facts.snapshot.reader.read(path)
        if (file.digest != kept[path]) if path in kept else (since is None or file.mtime_ns > since):
            return True
    return False


def _moment(facts: RunFacts, entry: Mapping[str, Any]) -> int | None:
    """The time of a record in nanoseconds: that of its report file where that is older."""
    moments: list[int] = []
    if entry["at"]:
        moments.append(int(datetime.fromisoformat(entry["at"]).timestamp() * 1e9))
    if entry["path"] and (file := facts.snapshot.reader.read(entry["path"])).exists:
        moments.append(file.mtime_ns)
    return min(moments, default=None)


def _some(paths: list[str]) -> str:
    more = len(paths) - _MOST_NAMED
    return ", ".join(paths[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
