"""What may stand at a place: phases, statuses, task ids, artifacts, and the names that guards know."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lsprotocol import types as lsp

from ...orchestration.artifacts import Artifact
from ...orchestration.display import plain
from ...orchestration.files import fits, join
from ...orchestration.findings import Span
from ...orchestration.functions import FUNCTION_NAMES
from ...orchestration.plans import MARKS
from ...orchestration.skeleton import split_lines
from ...orchestration.workflow import Workflow
from ...tools.mends_state import phase_path
from .definitions import is_definition
from .outline import Named, keys_at, names_in, place_at
from .scene import Scene

MOST = 500
"""Of one answer; the editor asks again as more is typed."""
TRIGGERS = ["[", '"', ":", " ", ".", "-", "{"]
_KIND = lsp.CompletionItemKind
# Possessive, and never begun in the middle of a word: lines may be very long.
_WORD_BEFORE = re.compile(r"(?<![\w.-])[\w.-]*+$")
_KEY_BEFORE = re.compile(r"(?<![\w-])[\w-]*+$")
_CHAIN_BEFORE = re.compile(r"(?<![\w.])[\w.]*+$")
_VERDICT = re.compile(r"\**+\s*+[\w-]*+")
_JSON_VALUE = re.compile(r'"((?:[^"\\]|\\.)*+)"\s*+:\s*+"?+[^",{}\[\]]*+$')
_JSON_BEFORE = 1_000
"""So much of a line before the place is looked at for the key of a value."""
_LIST_FIELD = re.compile(r"(?i)(?:depends on|parallel with|tasks?|task ids?|only tasks)\b[*: ]*.*$")
_BOX = re.compile(r"\[.?$")
_MEANING = {" ": "not done", "x": "done", "~": "in progress", "-": "blocked", "!": "needs attention"}
_CEL = {
    "state": "the run's state file", "phase": "the current phase", "report": "the newest report of the phase",
    "next_step": "the next step, in notes", "has": "whether a field is there", "size": "how many",
    "true": "", "false": "", "exists": "whether any item fits", "all": "whether every item fits",
    "filter": "the items that fit", "map": "each item changed", "string": "as text", "int": "as a number",
}  # fmt: skip


def complete(scene: Scene, position: lsp.Position) -> lsp.CompletionList:
    """The completions at a place, each replacing the word that is begun there."""
    line, column = scene.document.text.place(position)
    text = scene.document.text.line(line)[:column]
    if is_definition(scene.path, scene.text):
        items = _in_definition(scene, line, column, text)
    elif scene.path.endswith(".json"):
        items = _in_json(scene, text)
    else:
        items = _in_markdown(scene, text)
    begun = _begun(text)
    span = Span(line, column - len(begun), line, column)
    where = scene.document.text.range(span)
    found = [replace_item(item, where) for item in list(items)[:MOST]]
    return lsp.CompletionList(is_incomplete=len(found) == MOST, items=found)


def _begun(text: str) -> str:
    match = _WORD_BEFORE.search(text)
    return match[0].rpartition(".")[2] if match else ""


def replace_item(item: lsp.CompletionItem, where: lsp.Range) -> lsp.CompletionItem:
    item.text_edit = lsp.TextEdit(where, item.insert_text or item.label)
    return item


def _item(
    label: str, kind: lsp.CompletionItemKind, about: str = "", insert: str | None = None
) -> lsp.CompletionItem:
    return lsp.CompletionItem(label, kind=kind, detail=plain(about, 120) or None, insert_text=insert)


# ---- files of a run ---------------------------------------------------------------------------


def _in_json(scene: Scene, text: str) -> Iterator[lsp.CompletionItem]:
    """Values of a state file or artifact, by the key before them; task ids where nothing else is known."""
    text = text[-_JSON_BEFORE:]
    workflow, match = scene.workflow, _JSON_VALUE.search(text)
    if workflow is None or match is None:
        yield from _tasks(scene) if '"' in text else ()
        return
    key, quoted = match[1], text[match.end(1) :].count('"') % 2 == 0
    path = phase_path(workflow)
    if scene.is_state and path and key == path[-1]:
        yield from (
            _item(p.id, _KIND.EnumMember, p.title, _quoted(p.id, quoted)) for p in workflow.phases.values()
        )
        return
    words = list(_words(scene, workflow, key))
    yield from (_item(word, _KIND.EnumMember, insert=_quoted(word, quoted)) for word in words)
    if "task" in key.lower():
        yield from _tasks(scene)


def _quoted(word: str, inside: bool) -> str:
    return word if inside else f'"{word}"'


def _words(scene: Scene, workflow: Workflow, key: str) -> Iterator[str]:
    """The words that an artifact's value must be one of, by the last part of its path."""
    run = scene.evaluation.run if scene.evaluation else ""
    for artifact in workflow.artifacts.values():
        if any(fits(join(run, path) or path, scene.path) for path in artifact.paths):
            yield from _required(artifact, key)


def _required(artifact: Artifact, key: str) -> Iterator[str]:
    for alternatives, want in artifact.require:
        if any(path.rpartition(".")[2] == key for path in alternatives):
            yield from want if isinstance(want, tuple) else (("true", "false") if want == "bool" else ())


def _in_markdown(scene: Scene, text: str) -> Iterator[lsp.CompletionItem]:
    """Plans, task files, reports: marks in a box, verdicts behind their field, ids where tasks are named."""
    if scene.is_plan and _BOX.search(text) and "|" in text:
        yield from (
            _item(f"[{mark}]", _KIND.EnumMember, _MEANING[mark], f"{mark}]") for mark in MARKS if mark != "X"
        )
        return
    workflow = scene.workflow
    verdicts = list(_verdicts(workflow, text)) if workflow else []
    if verdicts:
        yield from (_item(word, _KIND.EnumMember) for word in verdicts)
        return
    if _LIST_FIELD.search(text) or _begun(text):
        yield from _tasks(scene)


def _verdicts(workflow: Workflow, text: str) -> Iterator[str]:
    """The outcomes that a field of a report may say, where the line is such a field."""
    field, colon, said = text.rpartition(":")
    named = field.strip(" \t#>*-").lower()
    if colon and _VERDICT.fullmatch(said):
        forms = (f for f in workflow.report_forms if any(named == key.lower() for key in f.outcome))
        yield from dict.fromkeys(word.upper() for form in forms for word in form.outcomes)


def _tasks(scene: Scene) -> Iterator[lsp.CompletionItem]:
    plan = scene.plan() or scene.board()
    yield from (_item(task.id, _KIND.Reference, task.title) for task in (plan.tasks if plan else ()))


# ---- definitions ------------------------------------------------------------------------------


def _in_definition(scene: Scene, line: int, column: int, text: str) -> Iterable[lsp.CompletionItem]:
    lines = split_lines(scene.text)
    place = place_at(lines, line, column)
    named = list(names_in(lines))
    shape = place.shape
    keys = keys_at(shape)
    if keys and _begins_key(text):
        return [_item(name, _KIND.Property, key.about, f"{name}: ") for name, key in keys.items()]
    if shape is not None and shape.kind in ("list", "some", "either") and shape.of and not keys:
        shape = shape.of
    if shape is None:
        return ()
    if shape.kind == "word":
        return [_item(word, _KIND.EnumMember) for word in shape.words]
    if shape.kind == "bool":
        return [_item(word, _KIND.Keyword) for word in ("true", "false")]
    if shape.kind == "cel" or (
        shape.kind == "template" and text.rfind("{") > text.rfind("}") and "{" in text.rpartition(":")[2]
    ):
        return list(_cel(named, text))
    return list(_names(named, place.path[-1] if place.path else "", place.path))


def _begins_key(text: str) -> bool:
    """Whether the word before a place is the first of its line, list item or map entry."""
    match = _KEY_BEFORE.search(text)
    before = text[: match.start() if match else None].rstrip()
    return not before or before[-1] in "{,-"


_GROUPS = {
    "to": ("phases",), "is": ("phases",), "after": ("phases",), "leads_to": ("phases",),
    "allowed": ("phases", "actions"),
    "produces": ("artifacts",), "of": ("artifacts",), "about": ("artifacts",), "artifact": ("artifacts",),
    "ask": ("questions",), "act": ("actions",),
}  # fmt: skip


def _names(named: list[Named], key: str, path: tuple[str, ...]) -> Iterator[lsp.CompletionItem]:
    """The names of the definition that a key holds."""
    if key == "-" and len(path) > 1:
        key = path[-2]
    if path[:1] == ("aliases",):
        key = "to"
    for group in _GROUPS.get(key, ()):
        yield from (_item(each.name, _KIND.Reference, group[:-1]) for each in named if each.group == group)
    if key == "to":
        yield _item("next", _KIND.Keyword, "the next phase in order")


_FACTS = {
    "valid": ("artifacts", ()), "exists": ("artifacts", ()), "answers": ("questions", ()),
    "parameters": ("parameters", ()), "limits": ("limits", ("count", "max", "reached")),
}  # fmt: skip


def _cel(named: list[Named], text: str) -> Iterator[lsp.CompletionItem]:
    """The names, facts and functions that an expression may use; behind a dot those of the fact before it."""
    match = _CHAIN_BEFORE.search(text)
    chain = match[0].rpartition(".")[0] if match else ""
    if chain:
        head, _, rest = chain.partition(".")
        group, parts = _FACTS.get(head, ("", ()))
        if rest:
            yield from (_item(part, _KIND.Field) for part in parts)
        else:
            yield from (_item(each.name, _KIND.Field, group[:-1]) for each in named if each.group == group)
        yield from (_item(name, _KIND.Method) for name in FUNCTION_NAMES if not group)
        return
    yield from (
        _item(each.name, _KIND.Variable, each.group[:-1])
        for each in named
        if each.group in ("artifacts", "values")
    )
    yield from (
        _item(name, _KIND.Module, f"{group} by name", f"{name}.") for name, (group, _) in _FACTS.items()
    )
    yield from (_item(name, _KIND.Keyword, about) for name, about in _CEL.items() if name not in _FACTS)
    yield from (_item(name, _KIND.Function, insert=f"{name}(") for name in FUNCTION_NAMES)
