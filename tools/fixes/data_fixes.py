"""Mends of JSON, the configuration and workflow definitions: one value changed in place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from ...orchestration.definition.root_config import PATH as CONFIGURATION
from ...orchestration.definition.root_config import read_config
from ...orchestration.expressions.context import dig
from ...orchestration.findings import Edit, Span
from ...orchestration.formats.json_edits import members, set_values
from ...orchestration.formats.json_text import locate_json, read_json, span_between
from ...orchestration.snapshot.artifact_checks import gaps, lacking
from ...orchestration.snapshot.artifacts import Artifact
from ...orchestration.suggestions import meant
from ...orchestration.vfs.files import digest_of, join
from ...orchestration.vfs.glob import fits
from .fix import Ground, Mend, Mender, changed, replaced, split, without_line

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
            verb = "Add" if dig(data, path) is None else "Set"
            yield from _valued(ground, path.split("."), want, verb)
    yield from _by_schema(ground, artifact, data)


def _by_schema(ground: Ground, artifact: Artifact, data: object) -> Iterator[Mend]:
    """What the artifact's JSON Schema asks for, where that says which words or what type it may be."""
    path = join("", artifact.schema.lstrip("/")) if artifact.schema else None
    schema = read_json(ground.read(path) or "").data if path else None
    for gap in gaps(artifact, schema, data) if isinstance(schema, dict) else ():
        here = locate_json(ground.text, gap.place) or Span(0, 0, 0, 1)
        if gap.said == ground.finding.message and here == ground.span:
            yield from _valued(ground, gap.path, gap.want, "Set" if gap.path == gap.place else "Add")


def _valued(
    ground: Ground, path: Sequence[str | int], want: str | tuple[str, ...], verb: str
) -> Iterator[Mend]:
    """Each value that may stand at a path: the words that are allowed, or an empty one of the right type."""
    values = want if isinstance(want, tuple) else (False, True) if want == "bool" else (_EMPTY[want],)
    for value in values:
        text = set_values(ground.text, [(tuple(path), value)])
        title = f"{verb} {'.'.join(map(str, path))}: {json.dumps(value)}"
        yield Mend(title, (changed(ground, text),), preferred=len(values) == 1)


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
    "parameter-invalid": _parameter,
    "parameter-out-of-bounds": _parameter,
    "workflow-ambiguous": _ambiguous,
    "workflow-invalid": _definition,
}
