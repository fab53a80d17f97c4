"""What may stand at a place of a run's file: phases, statuses, marks, verdicts, task ids."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol import types as lsp

from ....orchestration.definition.model import Workflow
from ....orchestration.findings import Span
from ....orchestration.plans.model import STATUS_MEANING
from ....orchestration.snapshot.artifacts import Artifact
from ....orchestration.vfs.files import join
from ....orchestration.vfs.glob import fits
from ....tools.fixes.state_fixes import phase_path
from ..definitions.items import KIND, item
from ..definitions.key_completion import in_definition
from ..view.document_context import Scene
from ..view.open_definitions import is_definition

MOST = 500
"""Of one answer; the editor asks again as more is typed."""
TRIGGERS = ["[", '"', "'", ":", " ", ".", "-", "{"]
# Possessive, and never begun in the middle of a word: lines may be very long.
_WORD_BEFORE = re.compile(r"(?<![\w.-])[\w.-]*+$")
_VERDICT = re.compile(r"\**+\s*+[\w-]*+")
_JSON_VALUE = re.compile(r'"((?:[^"\\]|\\.)*+)"\s*+:\s*+"?+[^",{}\[\]]*+$')
_JSON_BEFORE = 1_000
"""So much of a line before the place is looked at for the key of a value."""
_LIST_FIELD = re.compile(r"(?i)(?:depends on|parallel with|tasks?|task ids?|only tasks)\b[*: ]*.*$")


def complete(scene: Scene, position: lsp.Position) -> lsp.CompletionList:
    """The completions at a place, each replacing the word that is begun there."""
    line, column = scene.document.text.place(position)
    text = scene.document.text.line(line)[:column]
    if is_definition(scene.path, scene.text):
        items = in_definition(scene.text, line, column)
    elif scene.path.endswith(".json"):
        items = _in_json(scene, text)
    else:
        items = _in_markdown(scene, text)
    begun = _begun(text)
    span = Span(line, column - len(begun), line, column)
    where = scene.document.text.range(span)
    found = [replace_item(each, where) for each in list(items)[:MOST]]
    return lsp.CompletionList(is_incomplete=len(found) == MOST, items=found)


def _begun(text: str) -> str:
    match = _WORD_BEFORE.search(text)
    return match[0].rpartition(".")[2] if match else ""


def replace_item(made: lsp.CompletionItem, where: lsp.Range) -> lsp.CompletionItem:
    made.text_edit = lsp.TextEdit(where, made.insert_text or made.label)
    return made


# ---- files of a run ---------------------------------------------------------------------------


def _in_json(scene: Scene, text: str) -> Iterator[lsp.CompletionItem]:
    """Values of a state file or artifact, by the key before them; task ids where nothing else is known."""
    text = text[-_JSON_BEFORE:]
    workflow, match = scene.workflow, _JSON_VALUE.search(text)
    if workflow is None or match is None:
        yield from _tasks(scene) if '"' in text else ()
        return
    key, quoted = match[1], text[match.end(1) :].count('"') % 2 == 0
    path = phase_path(workflow)
    if scene.is_state and path and key == path[-1]:
        yield from (
            item(p.id, KIND.EnumMember, p.title, _quoted(p.id, quoted)) for p in workflow.phases.values()
        )
        return
    words = list(_words(scene, workflow, key))
    yield from (item(word, KIND.EnumMember, insert=_quoted(word, quoted)) for word in words)
    if "task" in key.lower():
        yield from _tasks(scene)


def _quoted(word: str, inside: bool) -> str:
    return word if inside else f'"{word}"'


def _words(scene: Scene, workflow: Workflow, key: str) -> Iterator[str]:
    """The words that an artifact's value must be one of, by the last part of its path."""
    run = scene.evaluation.run if scene.evaluation else ""
    for artifact in workflow.artifacts.values():
        if any(fits(join(run, path) or path, scene.path) for path in artifact.paths):
            yield from _required(artifact, key)


def _required(artifact: Artifact, key: str) -> Iterator[str]:
    for alternatives, want in artifact.require:
        if any(path.rpartition(".")[2] == key for path in alternatives):
            yield from want if isinstance(want, tuple) else (("true", "false") if want == "bool" else ())


def _in_markdown(scene: Scene, text: str) -> Iterator[lsp.CompletionItem]:
    """Plans, task files, reports: marks in a box, verdicts behind their field, ids where tasks are named."""
    workflow = scene.workflow
    dialect = workflow.dialect if workflow and scene.is_plan else None
    if dialect and dialect.mark_place.match(text):
        for status, mark in dialect.mark_of.items():
            yield item(f"[{mark}]", KIND.EnumMember, STATUS_MEANING[status], f"{mark}]")
        return
    verdicts = list(_verdicts(workflow, text)) if workflow else []
    if verdicts:
        yield from (item(word, KIND.EnumMember) for word in verdicts)
        return
    if _LIST_FIELD.search(text) or _begun(text):
        yield from _tasks(scene)


def _verdicts(workflow: Workflow, text: str) -> Iterator[str]:
    """The outcomes that a field of a report may say, where the line is such a field."""
    field, colon, said = text.rpartition(":")
    named = field.strip(" \t#>*-").lower()
    if colon and _VERDICT.fullmatch(said):
        forms = (f for f in workflow.report_forms if any(named == key.lower() for key in f.outcome))
        yield from dict.fromkeys(word.upper() for form in forms for word in form.outcomes)


def _tasks(scene: Scene) -> Iterator[lsp.CompletionItem]:
    plan = scene.plan() or scene.board()
    yield from (item(task.id, KIND.Reference, task.title) for task in (plan.tasks if plan else ()))
