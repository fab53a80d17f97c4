"""Completion in the expressions of workflow definitions: names, facts, fields, functions, comparisons."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ....orchestration.definition.artifact_kinds import KINDS
from ....orchestration.expressions.functions import FALLBACKS, FUNCTIONS, METHODS
from ....orchestration.expressions.tokens import MACROS, Lexeme, tokens
from ....orchestration.lint.expressions import OF_RECORDS, OF_TASKS, STAGE_FIELDS, TASK_FIELDS
from ....orchestration.plans.dialects import DIALECTS
from ....orchestration.plans.model import STATUS_MEANING
from . import reference_docs as words
from .declared_names import KIND, DeclaredNames, Items, item, items_of

_BEFORE = 1_000
"""So much of a line before the place is read as the expression around it."""
# Possessive, and never begun in the middle of a word: lines may be very long.
_CHAIN_BEFORE = re.compile(r"(?<![\w.])[\w.]*+$")
_COMPARED = re.compile(r"(?<![\w.])([\w.]++) *+(?:==|!=|in) *+\[?(?: *+'[^']*+',)*+ *+'?([\w.-]*+)$")


class _Frame(NamedTuple):
    """A bracket that is open at a place: the word before it, which part of it, and the key in it."""

    bracket: str
    word: str = ""
    part: int = 0
    key: str = ""


def in_expression(declared: DeclaredNames, text: str) -> Items:
    """The names, facts and functions that an expression may use at its end."""
    text = text[-_BEFORE:]
    frames, in_text = _open_frames(text)
    if (pattern := _pattern_at(frames)) is not None:
        fields, key = pattern
        if key in ("done", "complete"):
            return [item(word, KIND.Keyword, about=f"{key} or not") for word in ("true", "false")]
        if not key:
            return [
                item(name, KIND.Field, about=about, insert=name if in_text else f"'{name}': ")
                for name, about in fields.items()
            ]
        items = _values_of_field(declared, key)
    elif compared := _COMPARED.search(text):
        items = _compared_with(declared, compared[1])
    elif in_text:
        return ()
    else:
        match = _CHAIN_BEFORE.search(text)
        chain = match[0].rpartition(".")[0] if match else ""
        return _behind(declared, chain) if chain else _beginnings(declared)
    words = list(items)
    for each in words:
        each.insert_text = each.label if in_text else f"'{each.label}'"
    return words


def _open_frames(text: str) -> tuple[list[_Frame], bool]:
    """(the brackets that are open at the end, the innermost last; whether the end is inside a text)."""
    frames: list[_Frame] = []
    name = literal = ""
    for token in tokens(text):
        sign = token.text if token.kind is Lexeme.SIGN else ""
        if token.kind is Lexeme.UNCLOSED:
            return frames, True
        if sign in ("(", "[", "{"):
            frames.append(_Frame(sign, name if sign == "(" else ""))
        elif sign in (")", "]", "}"):
            frames[-1:] = []
        elif sign == "," and frames:
            frames[-1] = frames[-1]._replace(part=frames[-1].part + 1, key="")
        elif sign == ":" and frames:
            frames[-1] = frames[-1]._replace(key=literal)
        name = token.text if token.kind is Lexeme.NAME else ""
        literal = token.text[1:-1] if token.kind is Lexeme.TEXT else ""
    return frames, False


def _pattern_at(frames: Sequence[_Frame]) -> tuple[Mapping[str, str], str] | None:
    """(the fields that a pattern may have, the key whose value stands there or ""); None outside of one."""
    # A list of words may stand for a value.
    if len(frames) > 1 and frames[-1].bracket == "[" and frames[-2].bracket == "{":
        frames = frames[:-1]
    if len(frames) < 2 or frames[-1].bracket != "{" or frames[-2].bracket != "(":
        return None
    call = frames[-2]
    if call.word == "stage_ids":
        return STAGE_FIELDS, frames[-1].key
    if call.word in OF_TASKS and call.part == OF_TASKS[call.word]:
        return TASK_FIELDS, frames[-1].key
    of_records = call.word in OF_RECORDS or call.word in OF_TASKS
    return (words.RECORD, frames[-1].key) if of_records else None


def _values_of_field(declared: DeclaredNames, key: str) -> Items:
    """The values that a field of a record or task may have, as far as they are known."""
    match key:
        case "kind":
            return items_of(words.KINDS)
        case "phase" | "next":
            return declared.items("phases", "actions")
        case "question":
            return declared.items("questions")
        case "option":
            questions = (each.label for each in declared.items("questions"))
            return (option for question in questions for option in declared.options(question))
        case "outcome":
            return declared.outcomes()
        case "status":
            return items_of(STATUS_MEANING)
    return ()


def _compared_with(declared: DeclaredNames, chain: str) -> Items:
    """The words that a name may be compared with."""
    head, _, last = chain.rpartition(".")
    if head == "answers":
        return declared.answers(last)
    if chain == "phase" or last in ("phase", "next"):
        return declared.items("phases")
    return _values_of_field(declared, last) if last in ("kind", "outcome", "question", "option") else ()


def _behind(declared: DeclaredNames, chain: str) -> Items:
    """The parts of a fact, the fields of a thing, and the methods, for behind the dot of a chain."""
    head, _, rest = chain.partition(".")
    if head in words.FACTS:
        fields = words.LIMIT if rest and head == "limits" else {}
        names = () if rest else declared.items(words.FACTS[head][0], kind=KIND.Field)
        yield from (*names, *items_of(fields, KIND.Field))
        return
    yield from items_of({} if rest else _parts_of(declared, head), KIND.Field)
    for name, method in METHODS.items():
        of = "LIST" if method.takes[0] in ("list", "items") else "x"
        yield item(name, KIND.Method, method.signature(name, of), f"{name}(", method.about)
    for name, about in (*MACROS.items(), *FALLBACKS.items()):
        yield item(name, KIND.Method, insert=f"{name}(", about=about)


def _parts_of(declared: DeclaredNames, name: str) -> Mapping[str, str]:
    """The parts that a name has, as far as its declaration shows them."""
    value = declared.values.get(("values", name), "")
    if name == "report" or value.startswith("newest({"):
        return words.RECORD
    if value.startswith("open_stage("):
        return STAGE_FIELDS
    kind = declared.values.get(("artifacts", name, "kind"), "")
    if kind in DIALECTS:
        return words.PLAN
    return KINDS[kind].fields if kind in KINDS else {}


def _beginnings(declared: DeclaredNames) -> Items:
    """Everything that an expression, or a part of one, may begin with."""
    yield from declared.items("artifacts", "values", kind=KIND.Variable)
    yield from items_of(words.NAMES, KIND.Variable)
    for name, (_, about) in words.FACTS.items():
        yield item(name, KIND.Module, insert=f"{name}.", about=about)
    for name, function in FUNCTIONS.items():
        yield item(name, KIND.Function, function.signature(name), f"{name}(", function.about)
    yield item("has", KIND.Function, "has(a.b)", "has(", "whether the last part is there")
    yield item("true", KIND.Keyword, about="the one value with which a guard holds")
    yield item("false", KIND.Keyword)
