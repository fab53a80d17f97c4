"""Completion in files of a run: phases, statuses, marks, verdicts, task ids."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol import types as lsp

from ....orchestration.definition.model import Workflow
from ....orchestration.findings import Span
from ....orchestration.plans.model import STATUS_MEANING
from ....orchestration.vfs.files import join
from ....orchestration.vfs.glob import fits
from ....tools.fixes.state_fixes import phase_path
from ..definitions.declared_names import KIND, item
from ..definitions.key_completion import in_configuration, in_definition
from ..view.documents import DocumentContext

MOST = 500
"""Of one answer; the editor asks again as more is typed."""
OPTIONS = lsp.CompletionOptions(trigger_characters=["[", '"', "'", ":", " ", ".", "-", "{"])
# Possessive, and never begun in the middle of a word: lines may be very long.
_WORD_BEFORE = re.compile(r"(?<![\w.-])[\w.-]*+$")
_VERDICT = re.compile(r"\**+\s*+[\w-]*+")
_JSON_VALUE = re.compile(r'"((?:[^"\\]|\\.)*+)"\s*+:\s*+"?+[^",{}\[\]]*+$')
_JSON_BEFORE = 1_000
"""So much of a line before the place is looked at for the key of a value."""
_LIST_FIELD = re.compile(r"(?i)(?:depends on|parallel with|tasks?|task ids?|only tasks)\b[*: ]*.*$")


def complete(context: DocumentContext, params: lsp.CompletionParams) -> lsp.CompletionList:
    """The completions at a position, each replacing the word that is begun there."""
    line, column = context.text.line_and_column(params.position)
    before = context.text.line(line)[:column]
    if context.is_definition:
        items = in_definition(context.source, line, column)
    elif context.is_configuration:
        items = in_configuration(context.source, line, column)
    elif context.path.endswith(".json"):
        items = _in_json(context, before)
    else:
        items = _in_markdown(context, before)
    place = context.text.range(Span(line, column - len(_begun_word(before)), line, column))
    offered = list(items)[:MOST]
    for each in offered:
        each.text_edit = lsp.TextEdit(place, each.insert_text or each.label)
    return lsp.CompletionList(is_incomplete=len(offered) == MOST, items=offered)


def _begun_word(text: str) -> str:
    match = _WORD_BEFORE.search(text)
    return match[0].rpartition(".")[2] if match else ""


def _in_json(context: DocumentContext, text: str) -> Iterator[lsp.CompletionItem]:
    """Values of a state file or artifact, by the key before them; task ids where nothing else is known."""
    text = text[-_JSON_BEFORE:]
    workflow, match = context.workflow, _JSON_VALUE.search(text)
    if workflow is None or match is None:
        yield from _tasks(context) if '"' in text else ()
        return
    # The place may stand between the quotes already.
    key, quote = match[1], '"' if text[match.end(1) :].count('"') % 2 else ""
    path = phase_path(workflow)
    if context.is_state and path and key == path[-1]:
        for phase in workflow.phases.values():
            yield item(phase.id, KIND.EnumMember, phase.title, quote + phase.id + quote)
        return
    for word in _words(context, workflow, key):
        yield item(word, KIND.EnumMember, insert=quote + word + quote)
    if "task" in key.lower():
        yield from _tasks(context)


def _words(context: DocumentContext, workflow: Workflow, key: str) -> Iterator[str]:
    """The words that an artifact's value must be one of, by the last part of its path."""
    run = context.evaluation.run if context.evaluation else ""
    for artifact in workflow.artifacts.values():
        if any(fits(join(run, path) or path, context.path) for path in artifact.paths):
            for alternatives, want in artifact.require:
                if any(path.rpartition(".")[2] == key for path in alternatives):
                    words = ("true", "false") if want == "bool" else want
                    yield from words if isinstance(words, tuple) else ()


def _in_markdown(context: DocumentContext, text: str) -> Iterator[lsp.CompletionItem]:
    """Plans, task files, reports: marks in a box, verdicts behind their field, ids where tasks are named."""
    workflow = context.workflow
    dialect = workflow.dialect if workflow and context.is_plan else None
    if dialect and dialect.mark_place.match(text):
        for status, mark in dialect.mark_of.items():
            yield item(f"[{mark}]", KIND.EnumMember, STATUS_MEANING[status], f"{mark}]")
        return
    verdicts = list(_verdicts(workflow, text)) if workflow else []
    yield from (item(word, KIND.EnumMember) for word in verdicts)
    if not verdicts and (_LIST_FIELD.search(text) or _begun_word(text)):
        yield from _tasks(context)


def _verdicts(workflow: Workflow, text: str) -> Iterator[str]:
    """The outcomes that a field of a report may say, where the line is such a field."""
    before, colon, verdict = text.rpartition(":")
    field = before.strip(" \t#>*-").lower()
    if colon and _VERDICT.fullmatch(verdict):
        forms = (f for f in workflow.reports.read.values() if any(field == key.lower() for key in f.outcome))
        yield from dict.fromkeys(word.upper() for form in forms for word in form.outcomes)


def _tasks(context: DocumentContext) -> Iterator[lsp.CompletionItem]:
    plan = context.plan()
    yield from (item(task.id, KIND.Reference, task.title) for task in (plan.tasks if plan else ()))
