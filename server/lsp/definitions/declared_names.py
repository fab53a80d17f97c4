"""Names, options and outcomes that a workflow definition declares, as completion shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lsprotocol import types as lsp

from ....orchestration.definition.model import DEFAULT_OUTCOMES
from ....orchestration.definition.names import UNANSWERED
from ....orchestration.sanitize import plain
from .partial_yaml import keys_in

Items = Iterable[lsp.CompletionItem]
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


def items_of(meaning: Mapping[Any, str], kind: lsp.CompletionItemKind = KIND.EnumMember) -> Items:
    """Words, each with what it means."""
    return (item(str(word), kind, about=about) for word, about in meaning.items())


class DeclaredNames:
    """The names that a definition's lines declare. `values` are those of its keys, by path."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.values = {key.path: key.value for key in keys_in(lines)}

    def below(self, *above: str) -> dict[str, str]:
        """The keys right below others, with their values."""
        return {path[-1]: value for path, value in self.values.items() if path[:-1] == above}

    def items(self, *groups: str, kind: lsp.CompletionItemKind = KIND.Reference) -> Items:
        """The names of some groups, each with its title."""
        for group, *names in self.values:
            if group in groups and len(names) == 1:
                about = self.values.get((group, *names, "title"), "")
                yield item(names[0], kind, group[:-1], about=about)

    def options(self, question: str) -> Items:
        """The options of a question."""
        for name, about in self.below("questions", question, "options").items():
            yield item(name, KIND.EnumMember, "option", about=about)

    def answers(self, question: str) -> Items:
        """Everything that `answers` may say of a question: an option, or a word while there is none."""
        yield from self.options(question)
        yield item(UNANSWERED[0], KIND.EnumMember, about="nobody has answered")
        yield item(UNANSWERED[1], KIND.EnumMember, about="what it was about has changed since")

    def outcomes(self) -> Items:
        lists = (value for path, value in self.values.items() if path[-1] == "outcomes")
        words = (word.strip("[] '\"") for each in lists if each for word in each.split(","))
        for word in dict.fromkeys([*DEFAULT_OUTCOMES, *words]):
            yield item(word, KIND.EnumMember, about="what a report may say came of a step")
