"""What a model reads of an answer of ours, as data or as text: assistants hand on only one of the two."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.verdicts.runs import filled_data, filled_in

LOOKED = "Looked at all of it."


class File(NamedTuple):
    path: str
    example: str


class Need(NamedTuple):
    """A thing that a report has to come with, in words, and whether it is there already."""

    phrase: str
    is_met: bool

    @property
    def files(self) -> list[str]:
        """The files that it is about."""
        found = re.search(
            r"(?:these files exist|these files hold something|since .*?): ([^:]+)$", self.phrase
        )
        return [] if found is None or found[1] == "name it" else found[1].split(", ")

    @property
    def names_files(self) -> bool:
        """True if the report has to name a file that was changed, whichever it is."""
        return "it names the files that were changed" in self.phrase or self.phrase.endswith(": name it")


class Step(NamedTuple):
    """The next step as far as somebody needs it who does just that, and how it was told: `data` or `text`."""

    told: str
    status: str
    revision: str
    report: dict[str, Any] | None
    files: tuple[File, ...]
    needs: tuple[Need, ...]
    decide: str


def read_step(answer: str) -> Step:
    """The step of an answer of `next_step` or `report`. Raises ValueError for anything else."""
    data = _data_of(answer)
    return _from_text(answer) if data is None else _from_data(data)


def allows(answer: str) -> bool:
    """Whether an answer of `check_action` allows what was asked."""
    data = _data_of(answer)
    return bool(re.search(r"^ALLOWED\b", answer, re.M)) if data is None else data["allowed"] is True


def _data_of(answer: str) -> dict[str, Any] | None:
    """The data in an answer; some assistants put words of their own before or behind it."""
    found = re.search(r"^\{", answer, re.M)
    return json.JSONDecoder().raw_decode(answer, found.start())[0] if found else None


def _from_data(data: dict[str, Any]) -> Step:
    suggestion = data["suggestion"]
    produce = suggestion.get("produce", ())
    return Step(
        "data",
        data["status"],
        data["revision"],
        _report(suggestion["reports"][0], data) if suggestion.get("reports") else None,
        tuple(File(entry["path"], entry["example"] or "made\n") for entry in produce),
        tuple(_needs_of(suggestion["reports"][0])) if suggestion.get("reports") else (),
        data.get("decide", ""),
    )


def _needs_of(due: dict[str, Any]) -> Iterator[Need]:
    for each in due["brings"]:
        named = f": {', '.join(each['paths'])}" if each["paths"] else ""
        # The text has no quotes within its quotes.
        if each["kind"] != "report":
            yield Need((each["text"] + named).replace('"', "'"), each["met"] is True)


def _report(due: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """What is reported: the good outcome, the tasks, and the data that was shown."""
    said: dict[str, Any] = {"step": due["step"], "outcome": due["outcomes"][0]}
    said |= {"tasks": [task["id"] for task in data["tasks"]]} if data.get("tasks") else {}
    said |= {"summary": filled_in(due["form"], said["outcome"], LOOKED)} if due["form"] else {}
    return said | ({"data": filled_data(due["data"])} if due["data"] else {})


_HEAD = re.compile(r", revision (\w+)\.?$", re.M)
_STATUS = re.compile(r"^phase .*?, (\w+)(?:, \d+ of \d+ done)?$", re.M)
_NEXT = re.compile(r"^NEXT: (.*)$", re.M)
_REPORT = re.compile(
    r'^when it is done: report\(step=("(?:[^"\\]|\\.)*"), outcome=("(?:[^"\\]|\\.)*")(.*)\)$', re.M
)
_DATA = re.compile(r"^its data, for example \(fill in what is true\): (.*)$", re.M)
_FORM = re.compile(r"^its summary is, with every outcome, the text of the report, filled in: (.*)$", re.M)
_NEED = re.compile(r'^\S+ needs that "(.*)"( \(so it is\))?$', re.M)
_FILE = re.compile(
    r"^(?:write|revise) (.+?)(?: \(any files below\))?(?: \(schema .*?\))?(?:, like (\".*\"))?$", re.M
)
_TASK = re.compile(r'^task (\S+) "', re.M)
_DECIDE = re.compile(r"^a person decides, not you: request_decision, or (.*)$", re.M)


def _from_text(text: str) -> Step:
    head, status, following = _HEAD.search(text), _STATUS.search(text), _NEXT.search(text)
    if not (head and status and following):
        raise ValueError(f"no next step is told: {text[:600]}")
    decide = _DECIDE.search(text)
    return Step(
        "text",
        status[1],
        head[1],
        _report_of(text),
        tuple(_files_of(text)),
        tuple(Need(found[1], bool(found[2])) for found in _NEED.finditer(text)),
        decide[1] if decide else "",
    )


def _report_of(text: str) -> dict[str, Any] | None:
    due = _REPORT.search(text)
    if not due:
        return None
    said: dict[str, Any] = {"step": json.loads(due[1]), "outcome": json.loads(due[2])}
    if "tasks=" in due[3]:
        said["tasks"] = _TASK.findall(text)
    form, data = _FORM.search(text), _DATA.search(text)
    said |= {"summary": filled_in(json.loads(form[1]), said["outcome"], LOOKED)} if form else {}
    return said | ({"data": filled_data(json.loads(data[1]))} if data else {})


def _files_of(text: str) -> Iterator[File]:
    for found in _FILE.finditer(text):
        yield File(found[1], json.loads(found[2]) if found[2] else "made\n")


def worked_over(text: str) -> str:
    """A text that was worked over: a verdict in it is a good one now."""
    text = (
        text.replace('": false', '": true')
        .replace('"failed"', '"passed"')
        .replace('"request_changes"', '"approve"')
    )
    return re.sub(r'("(?:blocking_)?issues": )\[.*?\]', r"\1[]", text, flags=re.S)


def filled_in_json(form: str) -> str:
    """A form of a file with the best words that it offers, as one whose work is good fills it in."""
    form = form.replace("<true or false>", "true")
    form = re.sub(r"\[<each .*?>\]", "[]", form)
    form = re.sub(r"<(\w+)(?:,| or)[^<>]*>", r"\1", form)
    return re.sub(r"<[^<>\n]*\w[^<>\n]*>", "as asked", form)
