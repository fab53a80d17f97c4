"""Delta specs of OpenSpec: requirements that a change adds, modifies, removes or renames, and their faults.

The rules are those of its `validate` (OpenSpec 1.13.2), as far as they are about one file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..findings import Problem, Span
from .document import TEXT, Heading, MarkdownDocument, read

_SECTION = re.compile(r"(?i)(ADDED|MODIFIED|REMOVED|RENAMED)[ \t]+Requirements")
_OTHER_SECTION = re.compile(r"(?i)\w+[ \t]+Requirements")
_REQUIREMENT = re.compile(r"(?i)Requirement:[ \t]*(.*)")
_SCENARIO = re.compile(r"(?i)Scenario:")
_DUTY = re.compile(r"\b(?:SHALL|MUST)\b")
_RENAME = re.compile(r"(?i)[ \t]*+[-*]?[ \t]*+(FROM|TO):")


class DeltaSpec(NamedTuple):
    """The number of requirements by what becomes of them, in small letters, and what is wrong."""

    counts: dict[str, int]
    problems: tuple[Problem, ...]


def read_delta_spec(text: str) -> DeltaSpec:
    """The delta in a text; never raises."""
    document = read(text)
    counts: dict[str, int] = dict.fromkeys(("added", "modified", "removed", "renamed"), 0)
    problems: list[Problem] = []
    section, is_known = "", False
    for heading in document.headings:
        if heading.level <= 2:
            match = _SECTION.fullmatch(heading.text.strip()) if heading.level == 2 else None
            section, is_known = (match[1].lower(), True) if match else (heading.text, False)
            if section == "renamed":
                names = [m[1].upper() for line in _body(document, heading) if (m := _RENAME.match(line))]
                counts["renamed"] += names.count("FROM")
                if names.count("FROM") != names.count("TO"):
                    problems.append(_problem("a rename needs FROM: and TO:", heading))
        elif heading.level == 3 and (name := _REQUIREMENT.match(heading.text)):
            if is_known:
                counts[section] += 1
                problems += _requirement_problems(document, heading, name[1], section)
            elif _OTHER_SECTION.fullmatch(section.strip()) and section.strip().lower() != "requirements":
                where = f"'## {section}', which is no section of a delta"
                message = f"{name[1]!r} stands below {where}; OpenSpec ignores it"
                problems.append(_problem(message, heading))
        elif _SCENARIO.match(heading.text) and heading.level != 4:
            line = heading.span.line
            is_marked = document.lines[line][:1] == "#"
            whole = heading.span._replace(column=0) if is_marked else heading.span
            data = {"replacements": (("Write it with four #", f"#### {heading.text}"),)} if is_marked else {}
            message = "a scenario has four #; OpenSpec does not see this one"
            problems.append(Problem("delta-invalid", message, whole, data=data))
    if not any(counts.values()):
        message = "no requirement is added, modified, removed or renamed (## ADDED Requirements, ...)"
        problems.append(Problem("delta-invalid", message, Span(0, 0, 0, 1)))
    return DeltaSpec(counts, tuple(sorted(problems, key=lambda each: each.span or Span(0, 0, 0, 0))))


def _problem(message: str, heading: Heading) -> Problem:
    return Problem("delta-invalid", message, heading.span)


def _body(document: MarkdownDocument, heading: Heading) -> Iterator[str]:
    """The lines below a heading that are said, up to the next one of its level."""
    for number in range(heading.start, heading.end):
        if document.kinds[number] == TEXT:
            yield document.lines[number]


def _requirement_problems(
    document: MarkdownDocument, heading: Heading, name: str, section: str
) -> Iterator[Problem]:
    """What a requirement that is added or modified lacks."""
    if section not in ("added", "modified"):
        return
    below = [each for each in document.headings if heading.start <= each.span.line < heading.end]
    end = min((each.span.line for each in below), default=heading.end)
    words = "\n".join(document.lines[heading.start : end])
    if not words.strip():
        yield _problem(f"{name!r} says nothing; it needs a sentence with SHALL or MUST", heading)
    elif not _DUTY.search(words):
        yield _problem(f"{name!r} says neither SHALL nor MUST", heading)
    if not any(each.level == 4 and _SCENARIO.match(each.text) for each in below):
        yield _problem(f"{name!r} has no '#### Scenario:'", heading)
