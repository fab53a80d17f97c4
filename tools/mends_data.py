"""Mends of JSON, the configuration and workflow definitions: one value changed in place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from ..orchestration.artifacts import Artifact
from ..orchestration.config import PATH as CONFIGURATION
from ..orchestration.config import read_config
from ..orchestration.documents import locate_json, read_json, span_between
from ..orchestration.files import digest_of, fits, join
from ..orchestration.findings import Edit, Span
from ..orchestration.guards import Expression, dig
from ..orchestration.json_edits import members, set_values
from ..orchestration.requirements import lacking
from ..orchestration.spelling import meant, nearest
from ..orchestration.workflow import Workflow
from .mends import Ground, Mend, Mender, changed, replaced, split, without_line

# What stands in for a value that is still to be found out; none of it lets a guard hold by itself.
_EMPTY: Mapping[str, object] = {
    "bool": False,
    "int": 0,
    "number": 0,
    "string": "",
    "list": [],
    "map": {},
    "any": "",
}


# ---- values of JSON ---------------------------------------------------------------------------


def _invalid(ground: Ground) -> Iterator[Mend]:
    """What an artifact's `require` asks for: the words it may be, or an empty value of the right type."""
    data = read_json(ground.text).data
    artifact = _artifact(ground)
    if artifact is None or not isinstance(data, dict):
        return
    for alternatives, want in lacking(artifact, data):
        path = next((path for path in alternatives if dig(data, path) is not None), alternatives[0])
        if path in ground.finding.message:
            yield from _valued(ground, path, want)


def _valued(ground: Ground, path: str, want: str | tuple[str, ...]) -> Iterator[Mend]:
    steps = tuple(path.split("."))
    values = want if isinstance(want, tuple) else (False, True) if want == "bool" else (_EMPTY[want],)
    verb = "Set" if dig(read_json(ground.text).data, path) is not None else "Add"
    for value in values:
        text = set_values(ground.text, [(steps, value)])
        yield Mend(
            f"{verb} {path}: {json.dumps(value)}", (changed(ground, text),), preferred=len(values) == 1
        )


def _artifact(ground: Ground) -> Artifact | None:
    """The artifact that the finding's file is, by the paths of the run's workflow."""
    workflow, evaluation = ground.workflow, ground.evaluation
    if workflow is None or evaluation is None:
        return None
    for artifact in workflow.artifacts.values():
        patterns = [join(evaluation.run, path) for path in artifact.paths]
        if any(pattern and fits(pattern, ground.finding.path) for pattern in patterns):
            return artifact
    return None


def _twice(ground: Ground) -> Iterator[Mend]:
    """A key that stands twice: the earlier one goes, which no reader sees anyway."""
    found = _earlier(ground)
    if found is not None:
        start, end = found
        text = ground.text[:start] + ground.text[end:]
        yield Mend(f"Remove the earlier {ground.marked}", (changed(ground, text),), preferred=True)


def _earlier(ground: Ground) -> tuple[int, int] | None:
    """Where the member with the same key before the finding's begins, and where the next one does."""
    text = ground.text
    waiting = [len(text) - len(text.lstrip())]
    while waiting:
        at = waiting.pop()
        if text[at : at + 1] not in ("{", "["):
            continue
        seen: dict[str, tuple[int, int]] = {}
        inside = list(members(text, at))
        for member, following in zip(inside, [*inside[1:], None], strict=True):
            here = span_between(text, member.start, member.key_end)
            if member.key is not None and here == ground.finding.span:
                return seen.get(member.key)
            if member.key is not None and following is not None:
                seen[member.key] = (member.start, following.start)
            waiting.append(member.value)
    return None


def _dotted(ground: Ground) -> Iterator[Mend]:
    """A key with a dot that was meant as a path: the value goes where it is read."""
    data = read_json(ground.text).data
    key = read_json(ground.marked).data
    if not isinstance(data, dict) or not isinstance(key, str) or key not in data:
        return
    kept = {name: value for name, value in data.items() if name != key}
    text = set_values(ground.text, [((), kept), (tuple(key.split(".")), data[key])])
    yield Mend(f"Write {key} as a path", (changed(ground, text),), preferred=True)


def _copies(ground: Ground) -> Iterator[Mend]:
    used = re.match(r"(.*) is used; this copy differs from it$", ground.finding.message)
    if used:
        yield Mend(f"Delete this copy; {used[1]} is used", removes=(ground.finding.path,), preferred=True)
        other = ground.read(used[1])
        if other is not None:
            yield Mend(f"Take this copy for {used[1]}", (Edit(used[1], digest_of(other), ground.text),))


# ---- phases in state files --------------------------------------------------------------------


def _phase(ground: Ground) -> Iterator[Mend]:
    """The phases that a recorded one may be: the nearest, else those of the workflow in their order."""
    workflow, evaluation = ground.workflow, ground.evaluation
    if workflow is None or evaluation is None:
        return
    raw = evaluation.raw_phase or ""
    close = nearest(raw, [*workflow.phases, *workflow.aliases])
    for name in dict.fromkeys([*close, *workflow.phases]):
        edit = _with_phase(ground, workflow, name)
        if edit:
            yield Mend(f"Set the phase to {name}", (edit,), preferred=name in close[:1])


def _roll_back(ground: Ground) -> Iterator[Mend]:
    """Where no command has a phase done again, the state file says which it is."""
    workflow = ground.workflow
    if workflow is None or "redo" in workflow.effects:
        return
    for fix in ground.finding.fixes:
        edit = _with_phase(ground, workflow, fix.command[-1]) if fix.command[:1] == ("redo",) else None
        if edit:
            yield Mend(f"{fix.title[:1].upper()}{fix.title[1:]}: set the phase", (edit,))


def _with_phase(ground: Ground, workflow: Workflow, name: str) -> Edit | None:
    """The edit of the state file that names a phase; None where no single value of it does."""
    path = phase_path(workflow)
    if path is None or not isinstance(read_json(ground.text).data, dict):
        return None
    if locate_json(ground.text, path) is None:
        return None
    return changed(ground, set_values(ground.text, [(path, name)]))


def phase_path(workflow: Workflow) -> tuple[str, ...] | None:
    """The path of the value in the state file that names the phase; None where it is inferred."""
    if not isinstance(workflow.phase, Expression) or len(workflow.phase.reads) != 1:
        return None
    group, *path = workflow.phase.reads[0].path
    return tuple(path) if group == "state" and path else None


# ---- YAML -------------------------------------------------------------------------------------


def _parameter(ground: Ground) -> Iterator[Mend]:
    """A parameter of the configuration: the name that was meant, its default, or none of it."""
    if ground.finding.path != CONFIGURATION or ground.finding.span is None:
        return
    key = re.match(r"[\w.-]+", ground.marked)
    for name in meant(ground.finding.message):
        yield from _renamed(ground, name)
    default = re.search(r"; (.+) is used$", ground.finding.message)
    if default and key:
        yield Mend(f"Set it to its default, {default[1]}", (replaced(ground, default[1]),), preferred=True)
    yield from _without_key(ground)


def _renamed(ground: Ground, name: str) -> Iterator[Mend]:
    """The key at the finding, or the one whose value stands there, under another name."""
    wrong = re.search(r"'([^']+)'", ground.finding.message)
    line = ground.lines[ground.span.line]
    at = line.rfind(wrong[1], 0, max(ground.span.end_column, 1)) if wrong else -1
    if wrong and at >= 0:
        span = Span(ground.span.line, at, ground.span.line, at + len(wrong[1]))
        yield Mend(f"Write {name}", (replaced(ground, name, span),), preferred=True)


def _without_key(ground: Ground) -> Iterator[Mend]:
    """Take the entry out, where it has a line of its own."""
    line = ground.lines[ground.span.line]
    if re.match(r"\s*[\w.-]+\s*:\s*[^{\[]*$", line):
        edit = without_line(ground, ground.span.line)
        yield Mend("Remove it", (edit,))


def _definition(ground: Ground) -> Iterator[Mend]:
    """A word of a definition that is misspelt: the words that were meant."""
    for word in meant(ground.finding.message):
        wrong = re.search(r"'([^']+)'; did you mean ", ground.finding.message)
        if wrong and wrong[1] in ground.marked:
            text = ground.marked.replace(wrong[1], word, 1)
            yield Mend(f"Write {word}", (replaced(ground, text),), preferred=True)


def _ambiguous(ground: Ground) -> Iterator[Mend]:
    """Two definitions claim a folder: the configuration assigns it to one."""
    evaluation = ground.evaluation
    names = ground.finding.message.partition(" all claim this folder")[0].rpartition(": ")[2].split(", ")
    if evaluation is None:
        return
    text = ground.read(CONFIGURATION)
    for name in names:
        made = _assigned(text or "", evaluation.run, name)
        if made is not None:
            edit = Edit(CONFIGURATION, digest_of(text) if text is not None else None, made)
            yield Mend(f"Judge it by {name}", (edit,))


def _assigned(text: str, run: str, name: str) -> str | None:
    """The configuration with a folder given to a workflow; None where its `workflows` is in one line."""
    entry = f"  {json.dumps(run)}: {name}"
    lines = split(text)
    at = next((number for number, line in enumerate(lines) if re.match(r"workflows\s*:", line)), None)
    if at is None:
        whole = text if not text or text.endswith("\n") else text + "\n"
        made = f"{whole}workflows:\n{entry}\n"
    elif re.fullmatch(r"workflows\s*:\s*", lines[at]):
        made = "\n".join([*lines[: at + 1], entry, *lines[at + 1 :]])
    else:
        return None
    return made if read_config(made).workflows.get(run) == name else None


MENDS: Mapping[str, Mender] = {
    "artifact-invalid": _invalid,
    "dotted-key": _dotted,
    "duplicate-key": _twice,
    "duplicate-location": _copies,
    "inconsistent-state": _roll_back,
    "parameter-invalid": _parameter,
    "parameter-out-of-bounds": _parameter,
    "unknown-phase": _phase,
    "workflow-ambiguous": _ambiguous,
    "workflow-invalid": _definition,
}
