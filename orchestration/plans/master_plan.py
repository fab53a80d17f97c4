"""MASTER_PLAN.md and task files of seed 004 (reference: workflows, seed 004, "Facts").

The task rows are the record of progress. Three other places repeat it (the Progress Summary table, the
Quick Reference list, the Progress line); where one disagrees, that is a finding at its mark. Acceptance
checkboxes of task files and the plan's Exit Criteria are never progress: real plans leave the former
unticked for ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..files import digest_of
from ..findings import Problem, Severity, Span
from ..markdown import (
    Cell,
    Document,
    Field,
    Heading,
    Row,
    Table,
    checkboxes,
    fields,
    plain,
    read as read_markdown,
    single_word,
    tables,
)
from . import MARKS, Count, Mark, Plan, Stage, Task, TaskFile

_KNOWN_MARKS = ", ".join(f"[{mark}]" for mark in MARKS)
_MARK_OF = {status: f"[{mark}]" for mark, status in reversed(MARKS.items())}
_STAGE = re.compile(r"(?i)phase[ \t]+(\d+(?:\.\d+)*[a-z]?|[a-z]|[ivx]+)(?![\w.])[ \t]*(.*)")
_EFFORT = re.compile(r"(?i)\([ \t]*(?:~?\d|[sml]\b|xl\b)[^()]*\)$")
_LEADING_NUMBER = re.compile(r"(?i)(?:(?:stage|part|step|milestone|sprint)[ \t]+)?(\d+(?:\.\d+)*)(?![\w])")
_TRAILING_DIGITS = re.compile(r"(?<!\d)\d+$")
_LEADING_DIGITS = re.compile(r"\d+")
_REFERENCE = re.compile(r"[ \t]*+(?:(?:\d+[.)]|[-*+])[ \t]++)?+(\S++)[ \t].*(\[[^\[\]]{0,3}\])")
_PROGRESS = re.compile(r"(\d{1,9})[ \t]*/[ \t]*(\d{1,9})")
_PERCENT = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)[ \t]*%")
_RADIO = re.compile(r"\[(.?)\][ \t]*([^|\[\]]*)")
_TITLE_TAIL = re.compile(r"(?i)[ \t]+[-–—:]+[ \t]+master plan\b.*$")
_NUMBERED = re.compile(r"\d+[.:)][ \t]+")
_LINK_TARGET = re.compile(r"\[([^\[\]]*)\]\(<?([^()<>\s]*)>?[^()]*\)")


def read(text: str) -> Plan | None:
    """The plan in a MASTER_PLAN.md, or None without a task table.

    A task table is one whose header has Task ID, File and Status in any order. Never raises; what is
    odd is in `problems`, in the order of their places.
    """
    document = read_markdown(text, rescue=True)
    every = list(tables(document))
    if not any(_task_columns(table) for table in every):
        return None
    return _Reader(document, every).plan()


class _Columns(NamedTuple):
    id: int
    file: int
    status: int
    title: int
    type: int


def _column_names(table: Table) -> dict[str, int]:
    names: dict[str, int] = {}
    for index, cell in enumerate(table.header):
        names.setdefault(" ".join(plain(cell.text).lower().split()), index)
    return names


def _task_columns(table: Table) -> _Columns | None:
    names = _column_names(table)
    if not {"task id", "file", "status"} <= names.keys():
        return None
    return _Columns(
        names["task id"], names["file"], names["status"], names.get("description", -1), names.get("type", -1)
    )


class _Group(NamedTuple):
    """The task tables of one stage, and where it is named. `id` is "" until it is given a number."""

    id: str
    title: str
    span: Span
    tables: list[Table]


class _Reader:
    """What is known of one plan while it is read."""

    def __init__(self, document: Document, every: Sequence[Table]) -> None:
        self.document = document
        self.every = every
        self.problems: list[Problem] = []
        self.blanked: list[Span] = []
        self.fields = list(fields(document))

    def plan(self) -> Plan:
        if self.document.unclosed is not None:
            self.add("artifact-unreadable", "opened here and never closed; what follows is read all the same",
                     self.document.unclosed, Severity.WARNING)
        stages = [self.stage(group) for group in self.groups()]
        stages = self.with_references(self.with_summaries(stages))
        self.check_duplicates(stages)
        self.check_stages(stages)
        count = self.count(stages)
        status = self.status(stages)
        for box in checkboxes(self.document):
            self.blanked.append(box.span)
        problems = sorted(self.problems, key=lambda problem: problem.span or Span(0, 0, 0, 0))
        return Plan(_title(self.document), status, tuple(stages), self.substance(), count, tuple(problems))

    def add(self, code: str, message: str, span: Span, severity: Severity | None = None) -> None:
        self.problems.append(Problem(code, message, span, severity))

    # stages

    def groups(self) -> list[_Group]:
        """The stages in order. Task tables under one heading, or under one Phase number, are one stage."""
        groups: dict[object, _Group] = {}
        for heading, owners in self.owners():
            number = _stage_of(heading) if heading else None
            if number is None and not owners:
                continue
            if heading is None:
                span = owners[0].span
                groups.setdefault(None, _Group("", "Tasks", Span(span.line, span.column, span.line, span.column), []))
                groups[None].tables.extend(owners)
                continue
            key = number[0].casefold() if number else heading.span
            if key in groups and owners and groups[key].tables:
                self.add("duplicate-task", f"a second heading for phase {number and number[0]}; its tasks are read as one stage with the first", heading.span)
            id_, title = number or _numbered(heading)
            group = groups.setdefault(key, _Group(id_, title, heading.span, []))
            if owners and not group.tables:
                groups[key] = group = group._replace(title=title, span=heading.span)
            group.tables.extend(owners)
        return _with_ids(groups.values())

    def owners(self) -> Iterator[tuple[Heading | None, list[Table]]]:
        """Every heading that is a stage or holds task tables, with those tables."""
        held: dict[Heading | None, list[Table]] = {None: []}
        path: list[Heading] = []
        headings = iter(self.document.headings)
        following = next(headings, None)
        for table in (table for table in self.every if _task_columns(table)):
            while following is not None and following.span.line < table.span.line:
                path = [*(heading for heading in path if heading.level < following.level), following]
                held[following] = []
                following = next(headings, None)
            staged = [heading for heading in path if _stage_of(heading)]
            held[(staged or path or [None])[-1]].append(table)
        while following is not None:
            held[following] = []
            following = next(headings, None)
        for heading, owned in held.items():
            if owned or heading is not None and heading.level == 2 and _stage_of(heading, strict=True):
                yield heading, owned

    def stage(self, group: _Group) -> Stage:
        tasks: list[Task] = []
        for table in group.tables:
            columns = _task_columns(table)
            assert columns is not None
            for row in table.rows:
                task = self.task(row, columns, group.id, len(tasks) + 1)
                if task is not None:
                    tasks.append(task)
        return Stage(group.id, group.title, group.span, tuple(tasks))
