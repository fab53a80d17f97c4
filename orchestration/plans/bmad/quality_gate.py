"""Reads a QA gate of BMAD 4, `docs/qa/gates/1.2-login.yml`: a reviewer's verdict on one story.

PASS lets the story be done, and CONCERNS does with a remark; WAIVED does while its waiver is active. FAIL,
any other word, and a file that cannot be read do not. When it expires is for people to see: no clock is read.
"""

from __future__ import annotations

from typing import NamedTuple

from ...findings import Problem, Span
from ...formats.yaml_text import locate_yaml, read_yaml_data
from ...vfs.files import name_in
from .story_key import StoryNumber, story_number

VERDICTS = ("PASS", "CONCERNS", "FAIL", "WAIVED")


class QualityGate(NamedTuple):
    """A verdict. `why` says what keeps the story open, "" where it passes; `span` is that of its word."""

    number: StoryNumber | None
    verdict: str
    why: str
    updated: str
    span: Span
    problems: tuple[Problem, ...]


def read_gate(path: str, text: str) -> QualityGate:
    """What a gate says, of the story that it names or else its file's name; never raises."""
    document = read_yaml_data(text)
    data = document.data if isinstance(document.data, dict) else {}
    # Without quotes 1.10 is a number of YAML, and no longer another one than 1.1.
    named = data.get("story")
    number = (story_number(named) if isinstance(named, str) else None) or story_number(name_in(path))
    word, waiver = data.get("gate"), data.get("waiver")
    verdict = word.strip().upper() if isinstance(word, str) else ""
    span = locate_yaml(text, ("gate",)) or Span(0, 0, 0, 1)
    problems = list(document.problems)
    why = ""
    if not document.readable:
        why = "cannot be read"
        problems = problems or [Problem("artifact-unreadable", "it is empty", Span(0, 0, 0, 0))]
    elif verdict not in VERDICTS:
        why = f"says {verdict or 'nothing'}"
        message = f"{verdict or 'no verdict'} is none of {', '.join(VERDICTS)}; the gate does not pass"
        problems.append(Problem("unknown-word", message, span))
    elif verdict == "FAIL":
        why = "says FAIL"
    elif verdict == "WAIVED" and not (isinstance(waiver, dict) and waiver.get("active") is True):
        why = "says WAIVED, and no waiver is active"
    updated = data.get("updated")
    return QualityGate(
        number, verdict, why, updated if isinstance(updated, str) else "", span, tuple(problems)
    )
