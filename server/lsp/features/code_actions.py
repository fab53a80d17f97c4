"""Code actions: what a person may do about a finding, as an edit or as a command where the store must act."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lsprotocol import types as lsp

from ....orchestration.findings import Edit
from ....orchestration.sanitize import plain
from ....tools.fixes.fix import FixContext, QuickFix
from ....tools.fixes.registry import fixes_for
from ..view.annotations import Mark
from ..view.diagnostics import diagnostics_of
from ..view.document_context import Scene
from ..view.positions import Text
from .code_action_commands import Offer, offers

MOST_LINES = 2000
"""Of a change; a longer one is one edit instead of one a place, which nobody could tell apart anyway."""

Reads = Callable[[str], "str | None"]


def marks_in(scene: Scene, wanted: lsp.Range) -> tuple[Mark, ...]:
    """The marks of the document whose places touch a range."""
    text = scene.document.text
    return tuple(mark for mark in scene.view.at(scene.path) if _touch(text.range(mark.finding.span), wanted))


def _touch(one: lsp.Range, other: lsp.Range) -> bool:
    """Whether two ranges meet; an action is asked for with the cursor anywhere in a finding's lines."""
    return one.start.line <= other.end.line and other.start.line <= one.end.line


class Writer(NamedTuple):
    """What turns edits into an editor's: how it names files, holds texts, and what it can do to files."""

    uri_of: Callable[[Path], str]
    text_of: Callable[[str], Text | None]
    version_of: Callable[[str], int | None]
    creates: bool
    deletes: bool


def actions(scene: Scene, marks: Sequence[Mark], writer: Writer) -> list[lsp.CodeAction]:
    """The actions for marks of a document: edits first, then commands."""
    found: list[lsp.CodeAction | None] = []
    for mark in marks:
        said = _said(scene, mark, writer)
        around = scene._replace(evaluation=scene.view.run(mark.run) or scene.evaluation)
        found += [_edit(scene, mend, said, writer) for mend in _mends(around, mark, writer)]
        found += [_command(offer, said) for offer in offers(mark.finding, around)]
    return _merged(action for action in found if action is not None)


def _merged(actions: Iterable[lsp.CodeAction]) -> list[lsp.CodeAction]:
    """The actions, each once: one that is offered for several findings mends them all."""
    found: dict[tuple[str, str], lsp.CodeAction] = {}
    for action in actions:
        first = found.setdefault((action.title, repr(action.edit or action.command)), action)
        if first is not action:
            first.diagnostics = [*(first.diagnostics or ()), *(action.diagnostics or ())]
    return list(found.values())


def _said(scene: Scene, mark: Mark, writer: Writer) -> list[lsp.Diagnostic]:
    """The diagnostic of a mark, as it was published."""
    empty = Text("")
    return diagnostics_of(
        [mark], scene.document.text, lambda path: (writer.uri_of(scene.view.root / path), empty)
    )


def _mends(scene: Scene, mark: Mark, writer: Writer) -> list[QuickFix]:
    finding = mark.finding

    def read(path: str) -> str | None:
        text = writer.text_of(path)
        return text.source if text else None

    return fixes_for(FixContext(finding, scene.text, read, scene.evaluation, scene.workflow))


# ---- edits ------------------------------------------------------------------------------------


def _edit(scene: Scene, mend: QuickFix, said: list[lsp.Diagnostic], writer: Writer) -> lsp.CodeAction | None:
    """A mend as an action; None where the editor could not carry out a part of it."""
    if (mend.removes and not writer.deletes) or (
        not writer.creates and any(e.digest is None for e in mend.edits)
    ):
        return None
    changes: list[lsp.TextDocumentEdit | lsp.CreateFile | lsp.RenameFile | lsp.DeleteFile] = []
    for edit in mend.edits:
        changes += _changes(scene, edit, writer)
    changes += [lsp.DeleteFile(writer.uri_of(scene.view.root / path)) for path in mend.removes]
    return lsp.CodeAction(
        title=plain(mend.title),
        kind=lsp.CodeActionKind.QuickFix,
        diagnostics=said,
        is_preferred=mend.preferred or None,
        edit=lsp.WorkspaceEdit(document_changes=changes),
    )


def _changes(scene: Scene, edit: Edit, writer: Writer) -> Iterator[lsp.TextDocumentEdit | lsp.CreateFile]:
    uri = writer.uri_of(scene.view.root / edit.path)
    old = scene.document.text if edit.path == scene.path else writer.text_of(edit.path)
    if edit.digest is None:
        yield lsp.CreateFile(uri, options=lsp.CreateFileOptions(ignore_if_exists=True))
        old = None
    which = lsp.OptionalVersionedTextDocumentIdentifier(uri, writer.version_of(edit.path))
    yield lsp.TextDocumentEdit(
        which, list(text_edits(old or Text("", scene.document.text.encoding), edit.text))
    )


def text_edits(old: Text, new: str) -> list[lsp.TextEdit]:
    """The edits that make one text of another: one for each place that differs, so that cursors stay."""
    before, after = _lines(old.source), _lines(new)
    if max(len(before), len(after)) > MOST_LINES and len(before) != len(after):
        return [_whole(old, new)]
    found, at, offsets = [], 0, [0]
    for line in before:
        at += len(line)
        offsets.append(at)
    for kind, start, end, new_start, new_end in _opcodes(before, after):
        if kind != "equal":
            first, last = old.position_at(offsets[start]), old.position_at(offsets[end])
            found.append(lsp.TextEdit(lsp.Range(first, last), "".join(after[new_start:new_end])))
    return found


def _opcodes(before: list[str], after: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    if len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [("replace", n, n + 1, n, n + 1) for n, (one, other) in pairs if one != other]
    return difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()


def _lines(text: str) -> list[str]:
    """The lines with their ends; a form feed ends none."""
    return (
        text.replace("\r\n", "\0")
        .replace("\r", "\r\1")
        .replace("\n", "\n\1")
        .replace("\0", "\r\n\1")
        .split("\1")
    )


def _whole(old: Text, new: str) -> lsp.TextEdit:
    return lsp.TextEdit(lsp.Range(lsp.Position(0, 0), old.position_at(len(old.source))), new)


# ---- commands ---------------------------------------------------------------------------------


def _command(offer: Offer, said: list[lsp.Diagnostic]) -> lsp.CodeAction:
    return lsp.CodeAction(
        title=plain(offer.title),
        kind=lsp.CodeActionKind.QuickFix,
        diagnostics=said,
        command=lsp.Command(plain(offer.title), offer.command, arguments=[offer.argument]),
    )
