"""Where a task or a phase is defined, and where it is named."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lsprotocol import types as lsp

from ....orchestration.definition.model import Workflow
from ....orchestration.findings import Span
from ....orchestration.markdown.block_outline import split_lines
from ....orchestration.plans.model import Plan
from ....orchestration.plans.schedule import resolve
from ....orchestration.result.values import Evaluation
from ....orchestration.vfs.files import join
from ..definitions.partial_yaml import names_in
from ..view.document_context import Scene
from ..view.open_definitions import is_definition
from ..view.positions import Text

MOST_FILES = 300
"""Of a run that are looked through for a name."""
_WORD = re.compile(r"[\w][\w.-]*")
_GIVEN = ("phases", "artifacts", "values", "limits", "questions", "parameters", "actions", "gates")

Find = Callable[[str], "tuple[str, Text] | None"]
"""The URI and text of a path of the root."""


class Where(NamedTuple):
    path: str
    span: Span


def definition(
    scene: Scene, position: lsp.Position, find: Find, built_in: Callable[[str], Path | None]
) -> list[lsp.Location]:
    """Where what stands at a place is defined: a task's row and file, a phase's entry in its definition."""
    line, column = scene.document.text.place(position)
    if is_definition(scene.path, scene.text):
        found = [Where(scene.path, span) for span in _given(scene.text, _word(scene.text, line, column))]
    else:
        found = list(_of_run(scene, line, column))
    here = [_location(where, find) for where in found]
    word = _word(scene.text, line, column)
    return [each for each in here if each] or list(_of_phase(scene.workflow, word, scene, find, built_in))


def _word(text: str, line: int, column: int) -> str:
    lines = split_lines(text)
    words = _WORD.finditer(lines[line]) if line < len(lines) else ()
    return next((m[0] for m in words if m.start() <= column <= m.end()), "")


def _given(text: str, word: str) -> Iterator[Span]:
    for named in names_in(split_lines(text)):
        if named.name == word and named.group in _GIVEN:
            yield Span(named.line, named.column, named.line, named.column + len(word))


def _location(where: Where, find: Find) -> lsp.Location | None:
    found = find(where.path)
    return lsp.Location(found[0], found[1].range(where.span)) if found else None


def _of_run(scene: Scene, line: int, column: int) -> Iterator[Where]:
    """The row of the task that is named, then the task's own file."""
    plan, evaluation = scene.plan() or scene.board(), scene.evaluation
    if plan is None or evaluation is None or evaluation.plan is None:
        return
    word = _word(scene.text, line, column)
    on_row = next((t for t in plan.tasks if scene.is_plan and t.span.line == line), None)
    task = plan.by_id.get(resolve(plan, word) or "") if word else None
    task = task or on_row
    if task is None:
        return
    file = join(evaluation.run, task.file) if task.file else None
    row = Where(evaluation.plan.path, task.span)
    top = [Where(file, Span(0, 0, 0, 0))] if file else []
    # Who stands in the row wants the file; who stands elsewhere the row.
    yield from [*top, row] if on_row is task and scene.is_plan else [row, *top]


def _of_phase(
    workflow: Workflow | None, word: str, scene: Scene, find: Find, built_in: Callable[[str], Path | None]
) -> Iterator[lsp.Location]:
    phase = workflow.phases.get(workflow.aliases.get(word, word)) if workflow else None
    if workflow is None or phase is None:
        return
    path = phase.place.source.path
    text = Text(phase.place.source.text, scene.document.text.encoding)
    shipped = built_in(path)
    if shipped is not None:
        yield lsp.Location(shipped.as_uri(), text.range(phase.place.span))
    elif (found := find(path)) is not None:
        yield lsp.Location(found[0], found[1].range(phase.place.span))


# ---- references -------------------------------------------------------------------------------


def references(scene: Scene, position: lsp.Position, find: Find) -> list[lsp.Location]:
    """Every place of the run, or of the definition, that names what stands at a place."""
    line, column = scene.document.text.place(position)
    word = _word(scene.text, line, column)
    if is_definition(scene.path, scene.text):
        return list(_naming(scene.path, (word,), find)) if word else []
    names = _names(scene, word, line)
    paths = _files(scene.evaluation) if scene.evaluation and names else ()
    return [each for path in paths for each in _naming(path, names, find)]


def _naming(path: str, names: Sequence[str], find: Find) -> Iterator[lsp.Location]:
    """The places of a file where one of the names stands."""
    found = find(path)
    if found is not None:
        uri, text = found
        yield from (lsp.Location(uri, text.range(span)) for span in _named(text.source, names))


def _named(text: str, names: Sequence[str]) -> Iterator[Span]:
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])")
    for number, line in enumerate(split_lines(text)):
        yield from (Span(number, m.start(), number, m.end()) for m in pattern.finditer(line))


def _names(scene: Scene, word: str, line: int) -> tuple[str, ...]:
    plan: Plan | None = scene.plan() or scene.board()
    task = plan.by_id.get(resolve(plan, word) or "") if plan and word else None
    if task is None and plan is not None and scene.is_plan:
        task = next((t for t in plan.tasks if t.span.line == line), None)
    if task is not None:
        return (task.id, *([task.file.rsplit("/", 1)[-1]] if task.file else []))
    phases = scene.workflow.phases if scene.workflow else {}
    aliases = scene.workflow.aliases if scene.workflow else {}
    name = aliases.get(word, word)
    return (
        (name, *(alias for alias, of in aliases.items() if of == name and "*" not in alias))
        if name in phases
        else ()
    )


def _files(e: Evaluation) -> tuple[str, ...]:
    states = ("missing", "unreadable")
    named = [
        p
        for p, s in e.reads.items()
        if p.endswith((".md", ".json", ".yaml")) and s not in states and "*" not in p
    ]
    return tuple(named[:MOST_FILES])
