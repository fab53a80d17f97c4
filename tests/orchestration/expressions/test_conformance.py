"""The public conformance cases of CEL, as far as they are about what the guard language has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from phasekeeper.orchestration.expressions.context import Context, Outcome
from phasekeeper.orchestration.expressions.language import Language
from phasekeeper.orchestration.expressions.syntax import InvalidExpression
from phasekeeper.orchestration.expressions.values import TypeName

from tests.corpus.places import CORPUS
from tests.orchestration.expressions.agreement import agree

Message = list[tuple[str, Any]]
# What a refusal of a construct outside of the guard language says.
OUTSIDE = re.compile(
    r"CEL has|a key of a map is text|in does not take \(\w+, map\)|'[{.`]' is not expected here"
    r"|unknown name '(cel|math|strings|base64|existsOne|transform|TestAllTypes|google|duration)"
)


class Case(NamedTuple):
    """One case: an expression over bindings, and its value (None: it has to be an error)."""

    name: str
    expression: str
    bindings: dict[str, Any]
    expected: Message | None
    is_checked: bool
    is_contained: bool


# ---- the text format of protocol buffers ------------------------------------------------------

_TOKEN = re.compile(r"""\s+|\#[^\n]*|("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|([\w.+-]+)|([{}:\[\],<>;/])""")


def _tokens(text: str) -> Iterator[str]:
    return (match[0] for match in _TOKEN.finditer(text) if match[1] or match[2] or match[3])


def _unquoted(token: str) -> str:
    """The text of a literal: its escapes by number are bytes of UTF-8, except for those of code points."""
    code = r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)|([^\\]+)"
    found = re.finditer(code, token[1:-1], re.S)
    return b"".join(map(_bytes, found)).decode("utf-8", "replace")


def _bytes(match: re.Match[str]) -> bytes:
    escape = match[1] or ""
    if escape[:1] in ("u", "U"):
        return chr(int(escape[1:], 16)).encode()
    if escape[:1] == "x" or escape[:1].isdigit():
        return bytes([int(escape[1:], 16) if escape[0] == "x" else int(escape, 8)])
    simple = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
    return (match[2] or simple.get(escape, escape)).encode()


def _message(tokens: Iterator[str], end: str = "}") -> Message:
    found: Message = []
    pending: str | None = None
    for token in tokens:
        if token == end:
            return found
        if token in "{<":
            found.append((pending or "", _message(tokens, "}" if token == "{" else ">")))
            pending = None
        elif token == "[":
            # `[type.googleapis.com/..]` names a message of protocol buffers; a list of values holds messages.
            inside = _message(tokens, "]")
            found += [(pending or "", value) for _, value in inside] if pending else [("any", inside)]
        elif token in ":,;/":
            continue
        elif token[0] in "\"'":
            if pending is None and found and isinstance(found[-1][1], str):
                found[-1] = (found[-1][0], found[-1][1] + _unquoted(token))
            else:
                found.append((pending or "", _unquoted(token)))
                pending = None
        elif pending is not None:
            found.append((pending, token))
            pending = None
        else:
            pending = token
    return found


def _one(message: Message, key: str) -> Any:
    return next((value for name, value in message if name == key), None)


def cases(folder: Path) -> Iterator[Case]:
    """The cases of all files."""
    for file in sorted(folder.glob("*.textproto")):
        for section in (v for k, v in _message(_tokens(file.read_text("utf-8"))) if k == "section"):
            for test in (value for key, value in section if key == "test"):
                bound = [value for key, value in test if key == "bindings"]
                names = {_one(one, "key"): _one(one, "value") for one in bound}
                value = _one(test, "value") or [("bool_value", "true")]
                yield Case(
                    f"{file.stem}/{_one(section, 'name')}/{_one(test, 'name')}",
                    _one(test, "expr"),
                    {name: _one(value, "value") for name, value in names.items()},
                    None if _one(test, "eval_error") is not None else value,
                    _one(test, "disable_check") != "true",
                    _one(test, "container") is not None,
                )  # fmt: skip


def _value(message: Message | None) -> Any:
    """A value as our expressions have it; raises NotImplementedError for one that they cannot have."""
    ((kind, value),) = message or [("none", None)]
    if kind == "list_value":
        return [_value(item) for key, item in value if key == "values"]
    if kind == "map_value":
        entries = [(_value(_one(e, "key")), _value(_one(e, "value"))) for key, e in value if key == "entries"]
        if not all(isinstance(key, str) for key, _ in entries):
            raise NotImplementedError("a key that is no text")
        return dict(entries)
    scalar = {
        "int64_value": int, "double_value": float, "string_value": str, "bool_value": "true".__eq__,
        "null_value": lambda _: None, "type_value": lambda name: TypeName(name),
    }  # fmt: skip
    if kind not in scalar:
        raise NotImplementedError(kind)
    return scalar[kind](value)


# ---- the cases --------------------------------------------------------------------------------


def verdict(case: Case) -> str:
    """What differs, "" where nothing does; "outside: .." where it is about what guards do not have."""
    try:
        expected = None if case.expected is None else _value(case.expected)
        bindings = {name: _value(value) for name, value in case.bindings.items()}
    except NotImplementedError as error:
        return f"outside: {error}"
    if case.is_contained:
        return "outside: a container of names"
    language = Language(dict.fromkeys(bindings, "any"), {}, trusted=not case.is_checked)
    try:
        outcome = Context(language, bindings, lambda name: name).value(language.compile(case.expression))
    except InvalidExpression as error:
        outcome = Outcome(None, str(error))
    if outcome.error and OUTSIDE.search(outcome.error):
        return f"outside: {outcome.error}"
    wanted = Outcome(expected) if case.expected is not None else Outcome(None, "an error")
    return "" if agree(outcome, wanted) else f"{case.expression} -> {outcome}, not {wanted}"


# Cases that are not met, by decision.
DIFFERENT = {
    "comparisons/lt_literal/not_lt_dyn_int_big_lossy_double": "whole numbers and fractions compare exactly",
    "comparisons/gt_literal/not_gt_dyn_big_double_int": "whole numbers and fractions compare exactly",
    "comparisons/lte_literal/lte_dyn_big_double_int": "whole numbers and fractions compare exactly",
    "comparisons/gte_literal/gte_dyn_int_big_lossy_double": "whole numbers and fractions compare exactly",
    "conversions/type/uint_denotation": "there are no unsigned numbers",
    "conversions/type/bytes_denotation": "there are no bytes",
    "optionals/optionals/type": "the type of optional values has no name",
    "timestamps/timestamp_conversions/toString_timestamp_nanos": "moments are kept to the microsecond",
}


@pytest.mark.parametrize("folder", [CORPUS / "cel"] if CORPUS else [])
def test_every_public_case_about_the_guard_language_holds(folder: Path) -> None:
    verdicts = {case.name: verdict(case) for case in cases(folder)}
    differing = {name: found for name, found in verdicts.items() if found and not found.startswith("outside")}
    assert {name: found for name, found in differing.items() if name not in DIFFERENT} == {}
    assert differing.keys() == DIFFERENT.keys()
    assert sum(found == "" for found in verdicts.values()) >= 830


def test_the_text_format_of_the_cases_is_read() -> None:
    text = """section { name: "s" test: { name: "t" expr: "x == 'a\\\\nb'" 'c'
        bindings { key: "x" value { value {
            list_value { values { int64_value: 1 } values { null_value: NULL_VALUE } } } } }
        value { string_value: "\\303\\277" } }
        test { name: "u" expr: "1" eval_error { errors { message: "m" } } } }"""
    message = _message(_tokens(text))
    (section,) = (value for _, value in message)
    first, second = (value for key, value in section if key == "test")
    assert _one(first, "expr") == "x == 'a\\nb'c"
    assert _value(_one(_one(_one(first, "bindings"), "value"), "value")) == [1, None]
    assert _value(_one(first, "value")) == "ÿ"
    assert _one(second, "eval_error") is not None
