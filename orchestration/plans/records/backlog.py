"""The dialect of Backlog.md: a file a task, and its configuration.

The last of its statuses is its end. A task is ready once each of its dependencies is one task that is at
the end or in completed/; what nobody or two answer to holds it back. The order is that of ordinals,
priorities and ids (version 1.52).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ...findings import Problem, Span
from ...markdown.line_edits import Insertion, Replacement, apply_edits
from ...suggestions import nearest
from ...vfs.files import name_in, natural
from ..model import Dialect, FileParts, MarkStatus, Plan, PlanEdit
from .task_document import TaskDocument, read_document, read_mapping
from .task_records import TaskRecord, plan_of_records

STATUSES = ("To Do", "In Progress", "Done")
_DONE = frozenset(("done", "complete", "completed", "closed", "finished"))
_DROPPED = frozenset(
    ("wontfix", "wontdo", "cancelled", "canceled", "dropped", "rejected", "obsolete", "duplicate")
)
_PRIORITIES = MappingProxyType({"critical": 0, "high": 1, "medium": 2, "low": 3})
_FILE_ID = re.compile(r"([A-Za-z]+-\d+(?:\.\d+)*)(?=[ \t]-|\.md$|[ \t]|$)")
_ID_PARTS = re.compile(r"([a-z_]+)-?(\d+(?:\.\d+)*)")
_CONFIGURATIONS = ("config.yml", "config.yaml", "/backlog.config.yml")
_MOST_NAMED = 8


def canonical(name: str) -> str:
    """An id as it is compared: without case, and without zeros before its numbers."""
    match = _ID_PARTS.fullmatch(name.strip().lower())
    if match is None:
        return name.strip().lower()
    return f"{match[1]}-{'.'.join(str(int(part[-18:])) for part in match[2].split('.'))}"


def _same(word: str) -> str:
    return re.sub(r"[\s_-]+", "", word).lower()


class _Statuses(NamedTuple):
    """The statuses of a configuration, in order; of one that cannot be read none is known."""

    words: tuple[str, ...] = STATUSES

    def of(self, word: str) -> MarkStatus:
        if not word and self.words:
            return MarkStatus.TODO
        same, known = _same(word), [_same(each) for each in self.words]
        if same not in known:
            return MarkStatus.UNKNOWN
        if same in _DROPPED:
            return MarkStatus.CANCELLED
        if same == known[-1] or same in _DONE:
            return MarkStatus.DONE
        return MarkStatus.TODO if same == known[0] else MarkStatus.IN_PROGRESS

    def spelling(self, word: str) -> str:
        """The status that a word means and is not written like, whatever its case; "" for none."""
        proper = next((each for each in self.words if _same(each) == _same(word)), "")
        return proper if proper and proper.lower() != word.lower() else ""

    @property
    def end(self) -> str:
        """The word for what is done."""
        return next((each for each in self.words if _same(each) in _DONE), self.words[-1])

    def reopening(self, name: str) -> tuple[tuple[str, str], ...]:
        """What sets a task back that is done too early: the status before the end."""
        under_way = [each for each in self.words if self.of(each) is MarkStatus.IN_PROGRESS]
        word = (under_way or [each for each in self.words if self.of(each) is MarkStatus.TODO])[-1:]
        return tuple((f"Set {name} to {each}", each) for each in word)

    @property
    def first(self) -> str:
        """The word for what says none."""
        return self.words[0] if self.words else "unknown"


class _TaskFile(NamedTuple):
    """A file with a task in it. `id` is unique, `said` the one that it says."""

    path: str
    id: str
    said: str
    document: TaskDocument | None

    @property
    def is_completed(self) -> bool:
        return self.path.startswith("completed/")


def _statuses(parts: Mapping[str, Any]) -> _Statuses:
    name = next((name for name in _CONFIGURATIONS if name in parts), None)
    if name is None:
        return _Statuses()
    document: TaskDocument | None = parts[name]
    if document is None:
        return _Statuses(())
    words = document.values("statuses")
    return _Statuses(words) if words else _Statuses()


def read_part(name: str, text: str) -> TaskDocument:
    """What a file says, a task's or the configuration's."""
    return read_mapping(text) if name in _CONFIGURATIONS else read_document(text)


def combine(parts: Mapping[str, Any]) -> Plan | None:
    """The plan of all files; None where there is no task."""
    statuses, files = _statuses(parts), list(_task_files(parts))
    if not files:
        return None
    ids: dict[str, list[_TaskFile]] = {}
    for file in files:
        ids.setdefault(canonical(file.said), []).append(file)
    above = {file.id: _parent(file, ids) for file in files}
    open_parts: dict[str, list[str]] = {}
    for file in files:
        if above[file.id] and not _is_closed(file, statuses):
            open_parts.setdefault(above[file.id], []).append(file.id)
    turns = {file.id: number for number, file in enumerate(sorted(files, key=_turn))}
    records = [_record(file, statuses, ids, above, open_parts, turns[file.id]) for file in files]
    document = next((parts[name] for name in _CONFIGURATIONS if parts.get(name)), None)
    title = document.text("project_name") if document else ""

    def mend(code: str, record: TaskRecord) -> Sequence[tuple[str, str]]:
        return statuses.reopening(record.id) if code == "status-drift" and record.mark else ()

    return plan_of_records(records, Span(0, 0, 0, 0), (), title=title, mend=mend)


def _task_files(parts: Mapping[str, Any]) -> Iterator[_TaskFile]:
    """The files that are tasks: by the id that they say, or by their names."""
    taken: dict[str, int] = {}
    for path in sorted((path for path in parts if path not in _CONFIGURATIONS), key=natural):
        document: TaskDocument | None = parts[path]
        named = _FILE_ID.match(name_in(path))
        said = (document.text("id") if document else "") or (named[1] if named else "")
        if not said and document and "status" not in document.entries:
            continue
        said = said or name_in(path).removesuffix(".md")
        number = taken[canonical(said)] = taken.get(canonical(said), 0) + 1
        yield _TaskFile(path, said if number == 1 else f"{said} ({number})", said, document)


def _status(file: _TaskFile, statuses: _Statuses) -> MarkStatus:
    if file.document is None:
        return MarkStatus.UNKNOWN
    status = statuses.of(file.document.text("status"))
    # What lies there is done, whatever it says.
    return status if status is MarkStatus.CANCELLED or not file.is_completed else MarkStatus.DONE


def _is_closed(file: _TaskFile, statuses: _Statuses) -> bool:
    return _status(file, statuses) in (MarkStatus.DONE, MarkStatus.CANCELLED)


def _parent(file: _TaskFile, ids: Mapping[str, Sequence[_TaskFile]]) -> str:
    said = file.document.text("parent_task_id") or file.document.text("parent") if file.document else ""
    named = canonical(said or (file.said.rpartition(".")[0] if "." in file.said else ""))
    found = ids.get(named, ())
    return found[0].id if len(found) == 1 and found[0].id != file.id else ""


def _record(
    file: _TaskFile,
    statuses: _Statuses,
    ids: Mapping[str, Sequence[_TaskFile]],
    above: Mapping[str, str],
    open_parts: Mapping[str, Sequence[str]],
    rank: int,
) -> TaskRecord:
    document, status = file.document, _status(file, statuses)
    if document is None:
        return TaskRecord(
            id=file.id,
            title=name_in(file.path),
            status=status,
            place=Span(0, 0, 0, 0),
            word="unreadable",
            file=file.path,
            rank=rank,
        )
    named: list[str] = []
    blockers: list[str] = []
    for name in document.values("dependencies"):
        found = ids.get(canonical(name), ())
        if len(found) > 1:
            blockers.append(f"{name}, which {len(found)} files say they are")
        else:
            named.append(found[0].id if found else name)
    return TaskRecord(
        id=file.id, title=document.text("title"), status=status,
        place=document.span("id") or document.span("title") or Span(0, 0, 0, 0),
        word=document.text("status") or statuses.first, mark=document.span("status"),
        file=file.path,
        depends_on=tuple(named), depends_span=document.span("dependencies"),
        depends_places=document.places("dependencies"), blockers=tuple(blockers),
        waits=tuple(open_parts.get(file.id, ())), parent=above[file.id], type=document.text("type"),
        rank=rank,
        unticked=document.open_criteria,
        problems=() if file.is_completed else tuple(_problems(file, document, status, statuses)),
    )  # fmt: skip


def _turn(file: _TaskFile) -> tuple[Any, ...]:
    document = file.document
    ordinal = document.text("ordinal") if document else ""
    order = float(ordinal) if re.fullmatch(r"-?\d{1,15}(?:\.\d{1,9})?", ordinal) else float("inf")
    priority = _PRIORITIES.get(document.text("priority").lower(), 4) if document else 4
    return order, priority, natural(canonical(file.said)), file.path


def _problems(
    file: _TaskFile, document: TaskDocument, status: MarkStatus, statuses: _Statuses
) -> Iterator[Problem]:
    top = Span(0, 0, 0, 1)
    for said, span, proper in document.faults:
        data = {"replacements": (("Put it in quotes", proper),)} if proper else {}
        message = f"{said}: Backlog.md does not show this task; it is read all the same"
        yield Problem("task-unreadable", message, span, data=data)
    if not document.end:
        message = "it has no front matter: Backlog.md does not show this task; it counts as not done"
        yield Problem("task-unreadable", message, top)
    if file.path.count("/") > 1:
        message = "Backlog.md does not look into folders below tasks/"
        yield Problem("task-malformed", message, top)
    if file.id != file.said:
        message = f"another file says that it is {file.said}, too; this one is called {file.id} here"
        yield Problem("duplicate-task", message, document.span("id") or top)
    named = _FILE_ID.match(name_in(file.path))
    if named and canonical(named[1]) != canonical(file.said):
        message = f"its file is called {named[1]}, and it says {file.said}"
        data = {"replacements": ((f"Say that this is {named[1]}", named[1]),)} if document.span("id") else {}
        yield Problem("task-mismatch", message, document.span("id") or top, data=data)
    if status is MarkStatus.UNKNOWN and statuses.words:
        known = ", ".join(statuses.words)
        message = f"{file.id}: {document.text('status')!r} is none of {known}; the task counts as not done"
        said = _same(document.text("status"))
        likely = [statuses.end] if said in _DONE else nearest(document.text("status"), statuses.words)
        words = dict.fromkeys((*likely, *statuses.words))
        data = {"replacements": tuple((f"Say {each}", each) for each in words)}
        yield Problem("marker-unknown", message, document.span("status") or top, data=data)
    if proper := statuses.spelling(said := document.text("status")):
        message = f"{file.id} is read as {proper}; Backlog.md takes {said!r} for another status"
        data = {"replacements": ((f"Say {proper}", proper),)}
        yield Problem("task-malformed", message, document.span("status"), data=data)
    if status is MarkStatus.DONE and document.open_criteria:
        left = f"{document.open_criteria} of its {document.criteria} criteria are not ticked"
        message = f"{file.id} is {document.text('status')}, but {left}"
        data = {"replacements": statuses.reopening(file.id)} if document.span("status") else {}
        yield Problem("status-drift", message, document.span("status") or top, data=data)


# ---- edits


def edit(name: str, texts: Mapping[str, str], arguments: Sequence[Any]) -> Mapping[str, str]:
    """path -> text of the tasks whose status changes.

    Raises ValueError for one that is not there, or there twice, and for an unknown status.
    """
    parts = {path: read_part(path, text) for path, text in texts.items()}
    statuses = _statuses(parts)
    if name == PlanEdit.TICK_TASKS:
        names, word = [str(each) for each in arguments[0]], statuses.end
    elif name == PlanEdit.SET_STATUS:
        names, said = [str(arguments[0])], str(arguments[1])
        word = next((each for each in statuses.words if _same(each) == _same(said)), "")
        if not word:
            raise ValueError(f"`{said}` is none of {', '.join(statuses.words)}")
    else:
        raise ValueError(f"plans of this kind have no edit {name!r}")
    files = list(_task_files(parts))
    chosen = [_chosen(files, each) for each in names]
    return {
        file.path: _with_status(texts[file.path], file.document, word)
        for file in chosen
        if file.document and statuses.of(file.document.text("status")) is not statuses.of(word)
    }


def _chosen(files: Sequence[_TaskFile], name: str) -> _TaskFile:
    found = [file for file in files if file.id.lower() == name.lower()]
    found = found or [file for file in files if canonical(file.said) == canonical(name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(
            f"{name} is said by {', '.join(file.path for file in found)}; which is meant, nobody can tell"
        )
    raise ValueError(
        f"there is no task {name}; there are {', '.join(file.id for file in files[:_MOST_NAMED])}"
    )


def _with_status(text: str, document: TaskDocument, word: str) -> str:
    """The text with another status, in quotes where it had some."""
    span = document.span("status")
    if span is not None:
        line = text.removeprefix("\ufeff").splitlines()[span.line]
        quote = line[span.column : span.column + 1]
        value = f"{quote}{word}{quote}" if quote and quote in "'\"" else word
        return apply_edits(text, [Replacement(span, value)])
    if not document.end:
        raise ValueError("it has no front matter to write a status in")
    return apply_edits(text, (), [Insertion(document.end, [f"status: {word}"])])


DIALECT = Dialect(
    about="the folder of Backlog.md: a file a task",
    lacks="task",
    read=lambda text: None,
    marks={},
    mark_place=re.compile(r"(?!)"),
    parts=FileParts(read_part, combine, edit),
)
