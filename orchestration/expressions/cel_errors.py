"""What CEL says about an expression, in the words of a person and at the character that is meant."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..suggestions import did_you_mean

_ERROR = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_CODES = re.compile(r" \(in container ''\)| \[[A-Z_]+\]")
_UNDECLARED = re.compile(r"undeclared reference to '([^']*)'")
_OVERLOAD = re.compile(r"found no matching overload for '([^']*)' applied to '(.*)'")
_UNEXPECTED = re.compile(r"(?:mismatched|extraneous) input (.+?)(?: expecting .*)?\Z")
_VIABLE = re.compile(r"no viable alternative at input '(.*)'")
_UNREADABLE = re.compile(r"token recognition error at: '(.*)'")
# Words and signs of other languages, and what CEL has for them.
_FOREIGN = {"and": "&&", "or": "||", "not": "!", "is": "==", "=": "==", "&": "&&", "|": "||", "None": "null"}


def complaints(source: str, report: str, names: Sequence[str]) -> list[tuple[int, str]]:
    """(offset, message) of each error in a report on `source`, without what only follows from another."""
    lines = source.split("\n")
    found = []
    for line, column, message in _ERROR.findall(report):
        if "*error*" in message:
            continue
        offset = sum(len(text) + 1 for text in lines[: int(line) - 1]) + max(int(column) - 1, 0)
        found.append(_complaint(source, min(offset, len(source)), _CODES.sub("", message), names))
        if message.startswith("Syntax error: "):
            break
    return list(dict.fromkeys(found)) or [(0, _whole(report))]


def _whole(report: str) -> str:
    if "recursion" in report:
        return "is nested too deep, at most 32 levels are allowed"
    return reason(report)


def _complaint(source: str, offset: int, message: str, names: Sequence[str]) -> tuple[int, str]:
    if unknown := _UNDECLARED.match(message):
        return _start(source, offset), f"unknown name {unknown[1]!r}{did_you_mean(unknown[1], names)}"
    if overload := _OVERLOAD.match(message):
        return _overload(source, offset, overload[1], overload[2])
    if message.startswith("Syntax error: "):
        return _syntax(source, offset, message.removeprefix("Syntax error: "))
    return offset, message


def _start(source: str, offset: int) -> int:
    """Where the name begins that ends, or has its last dot, at an offset."""
    before = re.search(r"(?:[A-Za-z_]\w*\s*\.\s*\??\s*)*[A-Za-z_]\w*\s*\Z", source[:offset])
    called = source[offset : offset + 1] == "("
    if called:
        before = re.search(r"[A-Za-z_]\w*\s*\Z", source[:offset])
    return before.start() if before and (called or source[offset : offset + 1] in (".", "?")) else offset


def _overload(source: str, offset: int, function: str, types: str) -> tuple[int, str]:
    if function == "_?_:_":
        _, _, last = types.strip("()").partition(", ")
        return offset, f"what stands before and behind the : must have one type, these are {last}"
    if function.strip("_!-@[]").isidentifier() and source[offset : offset + 1] == "(":
        return _start(source, offset), f"{function} does not take {types}"
    return offset, f"{function.strip('_@') or function} does not take {types}"


def _syntax(source: str, offset: int, message: str) -> tuple[int, str]:
    unreadable = _UNREADABLE.match(message)
    if unreadable and unreadable[1].strip()[:1] in ("'", '"'):
        return offset, "the text that starts here has no closing quote"
    unexpected = unreadable or _UNEXPECTED.match(message) or _VIABLE.match(message)
    if offset >= len(source.rstrip()):
        return max(len(source.rstrip()) - 1, 0), _early(source, message)
    if unexpected is None:
        return offset, message
    word = unexpected[1].strip()
    word = word[1:-1] if word[:1] == word[-1:] == "'" and len(word) > 2 else word
    meant = _FOREIGN.get(word) or _FOREIGN.get(_word_before(source, offset))
    return offset, f"{word!r} is not expected here" + (f"; write {meant}" if meant else "")


def _early(source: str, message: str) -> str:
    if not source.strip():
        return "an expression is expected, this is empty"
    closing = re.search(r"missing '(.)'|expecting (?:'(.)'|\{'(.)', ','\})", message)
    missing = next((sign for sign in closing.groups() if sign), "") if closing else ""
    return "the expression ends too early" + (f", {missing!r} is missing" if missing else "")


def _word_before(source: str, offset: int) -> str:
    before = re.search(r"(\w+)\s*\Z", source[:offset])
    return before[1] if before else ""


_MISSING = re.compile(r'Key not found in map : "?([^"]*)"?')
_UNBOUND = re.compile(r'No value with name "([^"]*)" found in Activation')
_WRONG_TYPE = re.compile(r"No matching overloads? found")
_RAISED = re.compile(r"\A.*?(?:ValueError|KeyError|TypeError): ", re.S)


def reason(text: str) -> str:
    """The text of an error value without its codes."""
    text = re.sub(r"\A[A-Z_]+: ", "", text.strip())
    missing = _MISSING.search(text)
    if missing:
        return f"{missing[1]} is missing"
    unbound = _UNBOUND.search(text)
    if unbound:
        return f"{unbound[1]} is not there, or not valid"
    if _WRONG_TYPE.search(text):
        return "a value has a type that does not fit"
    text = _RAISED.sub("", _CODES.sub("", text)).strip()
    return text.splitlines()[0] if text else "no value"
