"""What a delta spec of OpenSpec takes away from the present spec, or looks for there in vain.

A MODIFIED requirement replaces the whole one: a scenario that it leaves out would be lost, and `validate`
refuses that (OpenSpec 1.13.2). That there is no such requirement only its archive tells, for a change that
is archived before may bring it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..findings import Problem, Severity, Span
from ..suggestions import nearest, suggestion_text
from .document import Heading, MarkdownDocument, read

_MODIFIED = re.compile(r"(?i)MODIFIED[ \t]+Requirements")
_RENAMED = re.compile(r"(?i)RENAMED[ \t]+Requirements")
_REQUIREMENT = re.compile(r"(?i)Requirement:[ \t]*(.*)")
_SCENARIO = re.compile(r"(?i)Scenario:[ \t]*(.*)")
_RENAME = re.compile(
    r"(?i)[ \t]*+[-*]?[ \t]*+(FROM|TO):[ \t]*+`?[ \t]*+(?:###[ \t]*+)?(?:Requirement:)?[ \t]*+([^`\n]*)"
)
_MOST_NAMED = 3


class _Requirement(NamedTuple):
    """A requirement below a heading `section`; `span` is that of its heading."""

    name: str
    section: str
    span: Span
    scenarios: tuple[str, ...]


def delta_problems(delta: str, present: str) -> Iterator[Problem]:
    """What is wrong with a delta beside the present spec of its capability, "" where there is none."""
    document = read(delta)
    known = {each.name: each for each in _requirements(read(present))}
    old_names = _old_names(document)
    for each in _requirements(document):
        if not _MODIFIED.fullmatch(each.section):
            continue
        now = known.get(each.name) or known.get(old_names.get(each.name, ""))
        if now is None:
            yield _unknown(each, [*known])
        elif left := [*(Counter(now.scenarios) - Counter(each.scenarios)).elements()]:
            named = ", ".join(map(repr, left[:_MOST_NAMED]))
            more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
            message = f"{each.name!r} leaves out {named}{more} of the present spec; a modified requirement"
            yield Problem("delta-invalid", f"{message} replaces the whole one", each.span)


def _unknown(each: _Requirement, known: Sequence[str]) -> Problem:
    names = nearest(each.name, known)
    message = f"{each.name!r} is in no present spec of its capability, and openspec archive refuses that"
    data = {"replacements": tuple((f"Write {name}", f"Requirement: {name}") for name in names)}
    said = f"{message}{suggestion_text(names)}"
    return Problem("delta-invalid", said, each.span, Severity.INFO, data if names else {})


def _requirements(document: MarkdownDocument) -> Iterator[_Requirement]:
    section = ""
    for number, heading in enumerate(document.headings):
        if heading.level <= 2:
            section = heading.text.strip()
        elif heading.level == 3 and (name := _REQUIREMENT.match(heading.text)):
            scenarios = tuple(_scenarios(document.headings[number + 1 :], heading.end))
            yield _Requirement(name[1].strip(), section, heading.span, scenarios)


def _scenarios(headings: Sequence[Heading], end: int) -> Iterator[str]:
    for heading in headings:
        if heading.span.line >= end:
            return
        if heading.level == 4 and (name := _SCENARIO.match(heading.text)):
            yield name[1].strip()


def _old_names(document: MarkdownDocument) -> Mapping[str, str]:
    """New name -> old name of the requirements that the delta renames."""
    pairs: dict[str, str] = {}
    for heading in document.headings:
        if heading.level == 2 and _RENAMED.fullmatch(heading.text.strip()):
            old = ""
            for line in document.lines[heading.start : heading.end]:
                if match := _RENAME.match(line):
                    if match[1].upper() == "FROM":
                        old = match[2].strip()
                    elif old:
                        pairs[match[2].strip()] = old
    return pairs
