"""Code actions: what a person may do about a finding, as edits or, where the store must act, as commands."""

from __future__ import annotations

import difflib

from lsprotocol import types as lsp

from ....orchestration.sanitize import plain
from ....tools.fixes.fix import FixContext, QuickFix
from ....tools.fixes.registry import fixes_for
from ..view.annotations import diagnostics_of
from ..view.documents import DocumentContext
from ..view.positions import EncodedText
from .command_offers import offers

MOST_LINES = 2000
"""Of a change; a longer one is one edit instead of one a place, which nobody could tell apart anyway."""
OPTIONS = lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix])


def code_actions(context: DocumentContext, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """The actions for a range of a document: for each of its findings edits first, then commands."""
    kinds = params.context.only
    if kinds and not any(lsp.CodeActionKind.QuickFix.value.startswith(kind) for kind in kinds):
        return []
    actions: list[lsp.CodeAction | None] = []

    def locate(path: str) -> tuple[str, EncodedText] | None:
        text = context.text_of(path)
        return (context.uri(path), text) if text else None

    for annotation in context.view.at(context.path):
        finding = annotation.finding
        place, wanted = context.text.range(finding.span), params.range
        # The cursor may stand anywhere in the lines of a finding.
        if place.start.line > wanted.end.line or wanted.start.line > place.end.line:
            continue
        # The diagnostic of the annotation, as it was published.
        diagnostics = diagnostics_of([annotation], context.text, locate)
        around = context._replace(evaluation=context.view.run(annotation.run) or context.evaluation)
        fixes = fixes_for(
            FixContext(finding, context.source, context.source_of, around.evaluation, around.workflow)
        )
        actions += [_edit_action(context, fix, diagnostics) for fix in fixes]
        actions += [
            lsp.CodeAction(command.title, lsp.CodeActionKind.QuickFix, diagnostics, command=command)
            for command in offers(finding, around)
        ]
    # Each once: an action that is offered for several findings fixes them all.
    merged: dict[tuple[str, str], lsp.CodeAction] = {}
    for action in filter(None, actions):
        first = merged.setdefault((action.title, repr(action.edit or action.command)), action)
        if first is not action:
            first.diagnostics = [*(first.diagnostics or ()), *(action.diagnostics or ())]
    return list(merged.values())


def _edit_action(
    context: DocumentContext, fix: QuickFix, diagnostics: list[lsp.Diagnostic]
) -> lsp.CodeAction | None:
    """A quick fix as an action; None where the editor could not carry out a part of it."""
    workspace = context.capabilities.workspace
    edits = workspace.workspace_edit if workspace else None
    needed = {lsp.ResourceOperationKind.Delete} if fix.removes else set()
    if any(edit.digest is None for edit in fix.edits):
        needed.add(lsp.ResourceOperationKind.Create)
    if not needed.issubset((edits.resource_operations if edits else None) or ()):
        return None
    changes: list[lsp.TextDocumentEdit | lsp.CreateFile | lsp.RenameFile | lsp.DeleteFile] = []
    for edit in fix.edits:
        uri, old = context.uri(edit.path), EncodedText("", context.documents.encoding)
        if edit.digest is None:
            changes.append(lsp.CreateFile(uri, options=lsp.CreateFileOptions(ignore_if_exists=True)))
        else:
            old = context.text_of(edit.path) or old
        document = context.documents.get(uri)
        named = lsp.OptionalVersionedTextDocumentIdentifier(uri, document.version if document else None)
        changes.append(lsp.TextDocumentEdit(named, [*text_edits(old, edit.text)]))
    changes += [lsp.DeleteFile(context.uri(path)) for path in fix.removes]
    return lsp.CodeAction(
        title=plain(fix.title),
        kind=lsp.CodeActionKind.QuickFix,
        diagnostics=diagnostics,
        is_preferred=fix.preferred or None,
        edit=lsp.WorkspaceEdit(document_changes=changes),
    )


def text_edits(old: EncodedText, new: str) -> list[lsp.TextEdit]:
    """The edits that make one text of another: one for each place that differs, so that cursors stay."""
    before, after = old.lines_with_ends(), EncodedText(new).lines_with_ends()
    end_of_text = old.position_at(len(old.source))
    # (start, end, new start, new end) of each run of lines that differs.
    if len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        places = [(n, n + 1, n, n + 1) for n, (one, other) in pairs if one != other]
    elif max(len(before), len(after)) > MOST_LINES:
        return [lsp.TextEdit(lsp.Range(lsp.Position(0, 0), end_of_text), new)]
    else:
        opcodes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        places = [tuple(place) for kind, *place in opcodes if kind != "equal"]
    starts = [*(lsp.Position(line, 0) for line in range(len(before))), end_of_text]
    return [
        lsp.TextEdit(lsp.Range(starts[start], starts[end]), "".join(after[new_start:new_end]))
        for start, end, new_start, new_end in places
    ]
