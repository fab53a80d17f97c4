"""What a workflow definition gives, as completion shows it: its names with their titles, options, outcomes.

A text in the middle of a change is rarely YAML, so only lines are read; see `partial_yaml.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from lsprotocol import types as lsp

from ....orchestration.definition.model import DEFAULT_OUTCOMES
from ....orchestration.definition.names import UNANSWERED
from ....orchestration.sanitize import plain
from .partial_yaml import Named, names_in

Items = Iterable[lsp.CompletionItem]
KIND = lsp.CompletionItemKind
_IN_BRACES = re.compile(r"\{([^{}]*+)\}?")
_OPTIONS = re.compile(r"(?<!\w)options *+:(.*+)")
_OUTCOMES = re.compile(r"(?<!\w)outcomes *+: *+\[([^\]]*+)")
_TITLE = re.compile(r"(?<!\w)title *+: *+([^,}#\n]++)")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


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


class Given:
    """What a definition's lines give: its names, and the lines of each."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.names = list(names_in(lines))

    def of(self, *groups: str) -> Iterator[Named]:
        return (each for each in self.names if each.group in groups)

    def entry(self, name: Named) -> list[str]:
        """The lines of one name: its own from its key on, and those below that are indented more."""
        first, *below = self.lines[name.line :]
        inside = takewhile(lambda line: not line.strip() or _indent(line) > _indent(first), below)
        return [first[name.column :], *inside]

    def named(self, name: str, *groups: str) -> Named | None:
        return next((each for each in self.of(*groups) if each.name == name), None)

    def items(self, *groups: str, kind: lsp.CompletionItemKind = KIND.Reference) -> Items:
        """The names of some groups, each with its title."""
        for each in self.of(*groups):
            title = _TITLE.search("\n".join(self.entry(each)[:3]))
            yield item(each.name, kind, each.group[:-1], about=title[1].strip(" '\"") if title else "")

    def options(self, question: str) -> Items:
        """What a question may be answered with, and what is said while it is not."""
        named = self.named(question, "questions")
        entry = self.entry(named) if named else []
        for number, line in enumerate(entry):
            match = _OPTIONS.search(line)
            if match:
                yield from _options(match[1], entry[number + 1 :], _indent(line))
        yield item(UNANSWERED[0], KIND.EnumMember, about="nobody has answered")
        yield item(UNANSWERED[1], KIND.EnumMember, about="what it was about has changed since")

    def outcomes(self) -> Items:
        found = (
            word.strip(" '\"")
            for line in self.lines
            for match in _OUTCOMES.finditer(line)
            for word in match[1].split(",")
        )
        for word in dict.fromkeys([*DEFAULT_OUTCOMES, *found]):
            yield item(word, KIND.EnumMember, about="what a report may say came of a step")


def _options(flow: str, below: Sequence[str], indent: int) -> Items:
    """Options in braces on their line, or below it."""
    braces = _IN_BRACES.search(flow)
    pairs = re.findall(r"([\w-]++) *+:([^,]*+)", braces[1]) if braces else []
    for line in below if not braces else ():
        match = re.match(r" *+([\w-]++) *+:(.*+)", line)
        if match is None or _indent(line) <= indent:
            break
        pairs.append((match[1], match[2]))
    for name, text in pairs:
        yield item(name, KIND.EnumMember, "option", about=text.strip(" '\""))
