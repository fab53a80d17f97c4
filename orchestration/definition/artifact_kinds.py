"""The registry of artifact kinds: how the files of a run are read, by the word that `kind:` uses.

To add a kind: a function from text to data and problems, and a line in `KINDS`. Plans are kinds too, with a
registry of their own (`plans/dialects.py`).
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..evidence.report_readers import READERS, read_text
from ..findings import Severity, Span
from ..formats.json_text import ParsedText, locate_json, read_json
from ..formats.patch import locate_in_patch, read_patch
from ..formats.yaml_text import locate_yaml, read_yaml_data
from ..markdown import document as markdown
from ..markdown.checklist import CANCELLED_MARKS, DONE_MARKS, read_checklist
from ..markdown.delta_spec import read_delta_spec
from ..markdown.present_spec import delta_problems
from ..markdown.strikes import struck_lines
from ..plans.dialects import DIALECTS
from ..plans.model import Dialect

FILES = "files"
"""The kind of artifacts whose files only have to be there; nothing in them is read."""
MOST_OPEN = 50
"""So many open items of checklists are listed by their words."""


def _nowhere(text: str, path: tuple[str | int, ...], key: bool = False) -> Span | None:
    return None


@dataclass(frozen=True, slots=True)
class ArtifactKind:
    """The reader of one kind of file. `about` names it in completion, `fields` are the keys of its data with
    what they mean; any other keys may stand there where it has none.

    `read` is None where nothing in the files is read; where there is `add_up`, the data of all files of an
    artifact are added up by it. `counterpart` gives the path of the file that one at a path is compared with,
    "" for none, and `compare` reads the two texts. `locate` gives the span of the value at a path of the
    data, or of its key; None where that cannot be told.
    """

    about: str
    read: Callable[[str], ParsedText] | None
    locate: Callable[[str, tuple[str | int, ...], bool], Span | None] = _nowhere
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    add_up: Callable[[Sequence[Mapping[str, Any]]], dict[str, Any]] | None = None
    counterpart: Callable[[str], str] | None = None
    compare: Callable[[str, str], ParsedText] | None = None


def _read_markdown(text: str) -> ParsedText:
    document = markdown.read(text)
    # What is struck out is not said.
    struck = struck_lines(document)
    data: dict[str, Any] = {
        "text": text,
        "fields": {field.key: field.value for field in markdown.fields(document) if field.line not in struck},
        "headings": [each.text for each in document.headings if each.span.line not in struck],
    }
    return ParsedText(data, (), True)


def _read_text(text: str) -> ParsedText:
    return ParsedText({"text": text}, (), True)


_BOXES: Mapping[str, str] = {
    "done": "how many boxes are ticked",
    "total": "how many boxes there are",
    "open": "the words of the first that are not ticked",
}
_DELTA: Mapping[str, str] = {
    "added": "how many requirements are added",
    "modified": "how many are modified",
    "removed": "how many are removed",
    "renamed": "how many are renamed",
    "faults": "how many faults there are",
}


def _read_boxes(text: str) -> ParsedText:
    """The number of boxes that are ticked, of how many, and the words of those that are not."""
    items = [item for item in read_checklist(text).items if item.mark not in CANCELLED_MARKS]
    left = [item.text for item in items if item.mark not in DONE_MARKS]
    data = {"done": len(items) - len(left), "total": len(items), "open": left[:MOST_OPEN]}
    return ParsedText(data, (), True)


def _add_boxes(read: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    left = [text for data in read for text in data["open"]]
    return {key: sum(data[key] for data in read) for key in ("done", "total")} | {"open": left[:MOST_OPEN]}


def _read_delta(text: str) -> ParsedText:
    delta = read_delta_spec(text)
    return ParsedText({**delta.counts, "faults": len(delta.problems)}, delta.problems, True)


def _present_spec(path: str) -> str:
    """The spec that a delta is of: that of the capability which its folder is called like."""
    root, in_changes, below_it = path.rpartition("changes/")
    change, in_specs, capability = below_it.partition("/specs/")
    return f"{root}specs/{capability}" if in_changes and change and in_specs else ""


def _compare_delta(text: str, present: str) -> ParsedText:
    """A delta, and what is wrong beside the present spec; what an archive alone refuses is no fault."""
    delta = read_delta_spec(text)
    problems = [*delta.problems, *delta_problems(text, present)]
    faults = sum(each.severity is not Severity.INFO for each in problems)
    problems.sort(key=lambda each: each.span or Span(0, 0, 0, 0))
    return ParsedText({**delta.counts, "faults": faults}, tuple(problems), True)


def _add_deltas(read: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {key: sum(data[key] for data in read) for key in read[0]}


def _read_approval(text: str) -> ParsedText:
    """One approval: the document that it is of, by its name without an ending, and what it says."""
    document = read_json(text)
    data = document.data if isinstance(document.data, dict) else {}
    path, status, at = (data.get(key) for key in ("filePath", "status", "createdAt"))
    if not document.readable or not (isinstance(path, str) and isinstance(status, str)):
        return document if document.problems else ParsedText({"newest": {}, "times": {}}, (), True)
    name = path.replace("\\", "/").rpartition("/")[2].removesuffix(".md")
    when = at if isinstance(at, str) else ""
    return ParsedText({"newest": {name: status}, "times": {name: when}}, (), True)


def _newest_approvals(read: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    newest: dict[str, str] = {}
    times: dict[str, str] = {}
    for data in read:
        for name, status in data["newest"].items():
            if data["times"][name] >= times.get(name, ""):
                newest[name], times[name] = status, data["times"][name]
    return {"newest": newest, "times": times}


KINDS: dict[str, ArtifactKind] = {
    "json": ArtifactKind("an object of JSON", read_json, locate_json),
    "yaml": ArtifactKind("an object of YAML", read_yaml_data, locate_yaml),
    "markdown": ArtifactKind(
        "its headings and fields",
        _read_markdown,
        fields={
            "text": "the whole text",
            "fields": "the values of its fields, by name",
            "headings": "the texts of its headings",
            "placeholders": "how many of its placeholders are left",
        },
    ),
    "text": ArtifactKind("any text", _read_text, fields={"text": "the whole text"}),
    FILES: ArtifactKind("files that only have to be there", None, fields={"paths": "the paths of the files"}),
    "patch": ArtifactKind(
        "a diff", read_patch, locate_in_patch, {"files": "the paths of the files that are changed"}
    ),
    **{
        kind: ArtifactKind(reader.about, partial(read_text, kind), fields=reader.fields)
        for kind, reader in READERS.items()
    },
    "delta-spec": ArtifactKind(
        "requirements that a change adds or modifies",
        _read_delta,
        fields=_DELTA,
        add_up=_add_deltas,
        counterpart=_present_spec,
        compare=_compare_delta,
    ),
    "approvals": ArtifactKind(
        "approvals of documents, one in a file of JSON",
        _read_approval,
        fields={"newest": "what the newest says, by document", "times": "when that was made"},
        add_up=_newest_approvals,
    ),
    "checklist": ArtifactKind(
        "boxes to tick, of one file or several", _read_boxes, fields=_BOXES, add_up=_add_boxes
    ),
}
KINDS_AND_DIALECTS: Mapping[str, ArtifactKind | Dialect] = ChainMap[str, Any](DIALECTS, KINDS)
"""All words that `kind:` may have, a live view of both registries."""
