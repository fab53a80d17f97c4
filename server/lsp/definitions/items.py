"""Completion items: what stands in the list, and what is shown beside it."""

from __future__ import annotations

from lsprotocol import types as lsp

from ....orchestration.sanitize import plain

KIND = lsp.CompletionItemKind


def item(
    label: str, kind: lsp.CompletionItemKind, detail: str = "", insert: str | None = None, about: str = ""
) -> lsp.CompletionItem:
    """One completion. `detail` stands beside it in the list, `about` is shown with it, both as plain text."""
    return lsp.CompletionItem(
        label,
        kind=kind,
        detail=plain(detail, 120) or None,
        documentation=plain(about, 400) or None,
        insert_text=insert,
    )
