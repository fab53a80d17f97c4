"""Completion in the expressions of workflow definitions: names, facts, fields, functions, comparisons."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ....orchestration.definition.names import UNANSWERED
from ....orchestration.expressions.functions import FALLBACKS, FUNCTIONS, METHODS
from ....orchestration.expressions.syntax import MACROS, Lexeme, tokens
from ....orchestration.lint.expressions import OF_RECORDS, OF_TASKS, STAGE_FIELDS, TASK_FIELDS
from ....orchestration.plans.dialects import DIALECTS
from ....orchestration.plans.model import STATUS_MEANING
from . import reference_docs as words
from .declared_names import KIND, Given, Items, item

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


def in_expression(given: Given, text: str) -> Items:
    """The names, facts and functions that an expression may use at its end."""
    text = text[-_BEFORE:]
    frames, in_text = _open_frames(text)
    pattern = _pattern_at(frames)
    if pattern is not None:
        fields, key = pattern
        return _field_values(given, key, in_text) if key else _fields(fields, in_text)
    compared = _COMPARED.search(text)
    if compared:
        return _quoted(_compared_with(given, compared[1]), in_text)
    if in_text:
        return ()
    match = _CHAIN_BEFORE.search(text)
    chain = match[0].rpartition(".")[0] if match else ""
    return _behind(given, chain) if chain else _beginnings(given)


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


def _fields(fields: Mapping[str, str], in_text: bool) -> Items:
    for name, about in fields.items():
        yield item(name, KIND.Field, about=about, insert=name if in_text else f"'{name}': ")


def _quoted(items: Items, in_text: bool) -> Items:
    """The items as texts of an expression."""
    for each in items:
        each.insert_text = each.label if in_text else f"'{each.label}'"
        yield each


def _field_values(given: Given, key: str, in_text: bool) -> Items:
    if key in ("done", "complete"):
        return [item(word, KIND.Keyword, about=f"{key} or not") for word in ("true", "false")]
    return _quoted(_values_of_field(given, key), in_text)


def _values_of_field(given: Given, key: str) -> Items:
    if key == "kind":
        yield from (item(word, KIND.EnumMember, about=about) for word, about in words.KINDS.items())
    elif key in ("phase", "next"):
        yield from given.items("phases", "actions")
    elif key == "question":
        yield from given.items("questions")
    elif key == "option":
        for each in given.of("questions"):
            yield from (one for one in given.options(each.name) if one.label not in UNANSWERED)
    elif key == "outcome":
        yield from given.outcomes()
    elif key == "status":
        yield from (item(str(word), KIND.EnumMember, about=about) for word, about in STATUS_MEANING.items())


def _compared_with(given: Given, chain: str) -> Items:
    """What a name may be compared with."""
    head, _, last = chain.rpartition(".")
    if head == "answers":
        return given.options(last)
    if chain == "phase" or last in ("phase", "next"):
        return given.items("phases")
    return _values_of_field(given, last) if last in ("kind", "outcome", "question", "option") else ()


def _behind(given: Given, chain: str) -> Items:
    """What may stand behind the dot of a chain: the parts of a fact, the fields of a thing, methods."""
    head, _, rest = chain.partition(".")
    if head in words.FACTS:
        group = words.FACTS[head][0]
        if rest:
            yield from _fields_plain(words.LIMIT if head == "limits" else {})
        else:
            yield from given.items(group, kind=KIND.Field)
        return
    yield from _fields_plain(_parts_of(given, head) if not rest else {})
    for name, method in METHODS.items():
        of = "LIST" if method.takes[0] == "list" else "x"
        yield item(name, KIND.Method, method.signature(name, of), f"{name}(", method.about)
    for name, about in (*MACROS.items(), *FALLBACKS.items()):
        yield item(name, KIND.Method, insert=f"{name}(", about=about)


def _fields_plain(fields: Mapping[str, str]) -> Items:
    return (item(name, KIND.Field, about=about) for name, about in fields.items())


def _parts_of(given: Given, name: str) -> Mapping[str, str]:
    """What a name has in it, as far as its entry shows."""
    if name == "report":
        return words.RECORD
    named = given.named(name, "artifacts", "values")
    said = "\n".join(given.entry(named)) if named else ""
    plans = "|".join(map(re.escape, DIALECTS))
    if named and named.group == "artifacts":
        return words.PLAN if re.search(rf"(?<!\w)kind *: *({plans})\b", said) else {}
    for call, parts in (("open_stage(", STAGE_FIELDS), ("newest({", words.RECORD)):
        if re.match(rf"{re.escape(name)} *: *[\"']?{re.escape(call)}", said):
            return parts
    return {}


def _beginnings(given: Given) -> Items:
    """What an expression, or a part of one, may begin with."""
    yield from given.items("artifacts", "values", kind=KIND.Variable)
    yield from (item(name, KIND.Variable, about=about) for name, about in words.NAMES.items())
    for name, (_, about) in words.FACTS.items():
        yield item(name, KIND.Module, insert=f"{name}.", about=about)
    for name, function in FUNCTIONS.items():
        yield item(name, KIND.Function, function.signature(name), f"{name}(", function.about)
    yield item("has", KIND.Function, "has(a.b)", "has(", "whether the last part is there")
    yield item("true", KIND.Keyword, about="the one value with which a guard holds")
    yield item("false", KIND.Keyword)
