"""Artifacts: a declared file of a run, as it stands: missing, empty, unreadable, invalid, valid or stale.

Only a valid one has data for guards. How a file is read is told by its kind (`definition/artifact_kinds.py`);
a valid one has the values that its definition requires, and fits its JSON Schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, NoReturn

from ..definition.artifact_kinds import FILES, KINDS
from ..definition.inputs import Artifact
from ..evidence.report_readers import read_text
from ..expressions.queries import dig
from ..findings import Problem, Span
from ..formats.json_schema_cost import TooManyStepsError, steps
from ..formats.json_text import ParsedText, clean, lay_under, read_json
from ..plans.dialects import DIALECTS
from ..plans.model import Dialect, FileParts, Plan
from ..states import ArtifactStatus
from ..vfs.files import Entry, File, digest_of, excess, join
from ..vfs.glob import is_glob
from ..vfs.places import RunPlace
from .placeholders import placeholders
from .read_log import ArtifactState, RunReader
from .word_lists import unknown_words

# Nobody reads more errors of one file, and of a long one they are not even made.
MOST_ERRORS = 20
MOST_FOR_ALL_ERRORS = 64 * 1024
# So many steps take a schema some 20 ms; with each step an error that is told, they would take seconds.
MOST_STEPS = 100_000
MOST_STEPS_FOR_ALL_ERRORS = 5_000

_TYPES: Mapping[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "number": (int, float),
    "string": (str,),
    "list": (list,),
    "map": (dict,),
}
# The types of JSON Schema, as `require` calls them.
_OF_SCHEMA: Mapping[str, str] = {
    "boolean": "bool", "integer": "int", "number": "number",
    "string": "string", "array": "list", "object": "map",
}  # fmt: skip
_INVALID = ("artifact-invalid", "coverage-low")
"""Codes of problems with which a text was read, and is not what it has to be."""
_Want = str | tuple[str, ...]
SMALL_PLAN = 50
"""A plan of so many tasks is read whole in half a millisecond: of it nothing is kept to read it again by."""


def read_artifact(declared: Artifact, place: RunPlace, reader: RunReader) -> ArtifactState:
    """The artifact as it stands at the run's place; what is wrong with it is told to `reader`.

    Of several files the first is used; the others are copies, and a finding where they differ from it.
    """
    entries = _matching_files(declared, place, reader)
    paths = tuple(path for path, _ in entries)
    default = place.join(declared.paths[0])
    if declared.kind == FILES:
        filled = any(reader.is_filled(path, entry) for path, entry in entries)
        status = ArtifactStatus.EMPTY if entries else ArtifactStatus.MISSING
        path = paths[0] if paths else default or place.itself
        return ArtifactState(
            declared.id, ArtifactStatus.VALID if filled else status, path,
            {"paths": list(paths)} if filled else None, kind=FILES, paths=paths,
            mtime_ns=max((entry.mtime_ns for _, entry in entries), default=0),
        )  # fmt: skip
    if not paths:
        if default and not is_glob(declared.paths[0]):
            # The path as the file has it: equal, and kept anyway.
            default = reader.read(default).path
        return ArtifactState(declared.id, ArtifactStatus.MISSING, default or declared.paths[0])
    if declared.kind in DIALECTS and (parts := DIALECTS[declared.kind].parts):
        return _plan_of_files(declared, parts, place, paths, reader)
    add_up = KINDS[declared.kind].add_up if declared.kind in KINDS else None
    if add_up:
        return _added_up(declared, [read_file(declared, reader.read(path), reader) for path in paths], add_up)
    file = reader.read(paths[0])
    for copy in map(reader.read, paths[1:]):
        if copy.digest != file.digest:
            message = f"{file.path} is used; this copy differs from it"
            reader.add_finding(copy.path, "duplicate-location", message, data={"used": file.path})
    return read_file(declared, file, reader, place.unit)


def _plan_of_files(
    declared: Artifact, parts: FileParts, place: RunPlace, paths: Sequence[str], reader: RunReader
) -> ArtifactState:
    """The plan that all files are of. One that cannot be read is told, and the plan knows of it."""
    read: dict[str, Any] = {}
    files = [reader.read(path) for path in paths]
    for file in files:
        why = excess(file.text, "markdown") if file.text is not None else ""
        if why:
            reader.add_finding(file.path, "artifact-unreadable", why)
        elif file.problem:
            reader.add_findings(file.path, [file.problem])
        is_read = file.text is not None and not why
        name = place.name(file.path)
        memory = f"{name} of {declared.kind}"
        read[name] = reader.parse_cached(memory, file, partial(parts.read, name)) if is_read else None
    whole = (declared.kind, digest_of("\n".join(f"{file.path}\0{file.digest}" for file in files)))
    if whole not in reader.parsed:
        reader.parsed[whole] = parts.combine(read)
    plan: Plan | None = reader.parsed[whole]
    of_files = plan.problems_of_files if plan else {}
    for file in files:
        reader.add_findings(file.path, of_files.get(place.name(file.path), ()))
    state = ArtifactState(
        declared.id, ArtifactStatus.MISSING, place.itself, kind=declared.kind, paths=tuple(paths),
        mtime_ns=max(file.mtime_ns for file in files),
    )  # fmt: skip
    return state._replace(state=ArtifactStatus.VALID, data=plan) if plan else state


def _added_up(
    declared: Artifact,
    read: Sequence[ArtifactState],
    add_up: Callable[[Sequence[Mapping[str, Any]]], dict[str, Any]],
) -> ArtifactState:
    """One artifact of all its files. The first that is not valid speaks for all, but for one of nothing."""
    paths, mtime_ns = tuple(each.path for each in read), max(each.mtime_ns for each in read)
    filled = [each for each in read if each.state is not ArtifactStatus.EMPTY]
    first = next((each for each in filled if not each.valid), (filled or read)[0])
    if first.valid:
        data = add_up([each.data for each in filled])
        first = first._replace(data=data, raw=data)
    return first._replace(paths=paths, mtime_ns=mtime_ns)


def _matching_files(declared: Artifact, place: RunPlace, reader: RunReader) -> list[tuple[str, Entry]]:
    entries: list[tuple[str, Entry]] = []
    for pattern in declared.paths:
        path = place.join(pattern)
        if path is None:
            message = f"{declared.id}: {pattern} leaves the root and is not read"
            reader.add_finding(place.itself, "artifact-missing", message)
        elif is_glob(pattern):
            entries += reader.glob(path)
        else:
            file = reader.read(path)
            if file.exists or file.refused:
                entries.append((path, Entry(path, "file", file.size, file.mtime_ns)))
            elif file.problem:
                reader.add_findings(path, [file.problem])
    return entries


def read_file(declared: Artifact, file: File, reader: RunReader, unit: str = "") -> ArtifactState:
    """The artifact held by one file, or by a unit of it."""
    artifact = ArtifactState(
        declared.id, ArtifactStatus.UNREADABLE, file.path, kind=declared.kind, text=file.text or "",
        paths=(file.path,), mtime_ns=file.mtime_ns,
    )  # fmt: skip
    if file.text is None:
        reader.add_findings(file.path, [file.problem] if file.problem else [])
        return artifact
    if not file.text.strip():
        return _blank(declared, artifact, reader)
    form = DIALECTS[declared.kind].form if declared.kind in DIALECTS else declared.kind
    if why := excess(file.text, form):
        reader.add_finding(file.path, "artifact-unreadable", why)
        return artifact
    if left := declared.unfilled_gap(file.text):
        return _invalidate(artifact, f"{declared.id} still holds {left} of its form; fill it in", reader)
    if declared.kind in DIALECTS:
        dialect = DIALECTS[declared.kind].for_unit(unit)
        if fault := reader.parse_cached(f"fault of {declared.kind} {unit}", file, dialect.fault):
            reader.add_findings(file.path, [fault])
            return artifact
        plan = read_plan(declared.kind, file, reader, unit)
        if plan is None:
            return _invalidate(artifact, f"holds no {dialect.lacks}", reader)
        reader.add_findings(file.path, plan.problems)
        return artifact._replace(state=ArtifactStatus.VALID, data=plan)
    document = _parse(declared, file, reader)
    reader.add_findings(file.path, document.problems)
    reader.add_source_problems(file.path, document.source_problems)
    if not document.readable:
        # Without a problem it is YAML that is all comments.
        wrong = any(problem.code in _INVALID for problem in document.problems)
        broken = artifact._replace(state=ArtifactStatus.INVALID) if wrong else artifact
        return broken if document.problems else _blank(declared, artifact, reader)
    artifact, data = artifact._replace(raw=document.data), clean(document.data)
    if not isinstance(data, dict):
        return _invalidate(artifact, f"{declared.id} must be an object", reader)
    problems = [*_required_values(declared, data, artifact), *_schema_problems(declared, artifact, reader)]
    reader.add_findings(file.path, problems)
    if problems or is_contradictory(document):
        return artifact._replace(state=ArtifactStatus.INVALID)
    unknown = unknown_words(declared.words, artifact.raw, artifact)
    reader.add_findings(file.path, unknown.problems)
    data = lay_under(data, dict(declared.defaults))
    if declared.placeholders:
        memory, wanted = f"placeholders {declared.placeholders}", declared.placeholders
        left = reader.parse_cached(memory, file, lambda text: placeholders(text, wanted))
        reader.add_findings(file.path, left)
        data |= {"placeholders": len(left)}
    return artifact._replace(state=ArtifactStatus.VALID, data=data, unknown=unknown.paths)


def _parse(declared: Artifact, file: File, reader: RunReader) -> ParsedText:
    """The text as its kind reads it; coverage below a threshold of the definition says nothing."""
    least = declared.thresholds
    if least is None:
        kind = KINDS[declared.kind]
        assert kind.read
        other = kind.counterpart(file.path) if kind.counterpart else ""
        if kind.compare is None or not other:
            return reader.parse_cached(declared.kind, file, kind.read)
        return _compare(declared, file, reader.read(other), reader, kind.compare)
    thresholds = {
        name: number
        for name, number in (("lines", least.lines), ("branches", least.branches))
        if number is not None
    }
    kind = f"{declared.kind} from {thresholds}"
    return reader.parse_cached(kind, file, lambda text: read_text(declared.kind, text, thresholds))


def _compare(
    declared: Artifact, file: File, other: File, reader: RunReader, compare: Callable[[str, str], ParsedText]
) -> ParsedText:
    """The text as its kind reads it beside another one; with one that cannot be read it is not valid."""
    if other.refused or (other.exists and other.text is None):
        reader.add_findings(other.path, [other.problem] if other.problem else [])
        message = f"it cannot be compared with {other.path}, which cannot be read"
        return ParsedText(None, (Problem("artifact-unreadable", message, Span(0, 0, 0, 1)),), False)
    memory, present = f"{declared.kind} beside {other.digest}", other.text or ""
    return reader.parse_cached(memory, file, lambda text: compare(text, present))


def read_plan(kind: str, file: File, reader: RunReader, unit: str = "") -> Plan | None:
    """The plan in a file, or that of a unit; what did not change since it was last read is not read again."""
    memory, dialect = f"{kind} {unit}".rstrip(), DIALECTS[kind].for_unit(unit)
    newest = (f"newest {memory}", file.path)
    before: Plan | None = None
    if newest in reader.parsed:
        before = reader.parsed[newest]
    plan = reader.parse_cached(memory, file, lambda text: _plan_of(dialect, text, before))
    if plan is not None:
        reader.parsed[newest] = plan
    return plan


def _plan_of(dialect: Dialect, text: str, before: Plan | None) -> Plan | None:
    plan = dialect.read_after(text, before)
    is_small = plan is not None and sum(len(stage.tasks) for stage in plan.stages) <= SMALL_PLAN
    return replace(plan, memory={}) if plan and is_small else plan


def is_contradictory(document: ParsedText) -> bool:
    """True if a key of the text stands twice with different values: then it says nothing."""
    return any(problem.code == "artifact-contradictory" for problem in document.problems)


def _invalidate(
    artifact: ArtifactState, why: str, reader: RunReader, span: Span | None = None
) -> ArtifactState:
    """The artifact as one whose whole content is not what it has to be."""
    reader.add_finding(artifact.path, "artifact-invalid", why, span or Span(0, 0, 0, 1))
    return artifact._replace(state=ArtifactStatus.INVALID)


def _blank(declared: Artifact, artifact: ArtifactState, reader: RunReader) -> ArtifactState:
    """A file of nothing. An optional one is not as good as absent: it was emptied, or is yet to be filled."""
    if not declared.optional:
        return artifact._replace(state=ArtifactStatus.EMPTY)
    return _invalidate(artifact, f"{declared.id} is empty; fill it or remove it", reader, Span(0, 0, 0, 0))


# ---- what has to be in it: the values that the definition requires, and a JSON Schema


def _required_values(declared: Artifact, data: object, artifact: ArtifactState) -> list[Problem]:
    """A problem for each `require` entry none of whose alternatives is there with the right type."""
    problems: list[Problem] = []
    for alternatives, want in declared.require:
        values = [(path, dig(data, path)) for path in alternatives]
        if any(_fits(value, want) for _, value in values):
            continue
        # What is there with another type, the first of them; else what is missing.
        path, value = next((pair for pair in values if pair[1] is not None), values[0])
        keys = path.split(".")
        wanted = f"one of {', '.join(want)}" if isinstance(want, tuple) else want
        if value is None:
            of_type = "" if want == "any" else f" ({wanted})"
            message = f"{' or '.join(alternatives)}{of_type} is missing"
        else:
            message = f"{path} must be {wanted}, it is {json.dumps(value)[:40]}"
        span = None if value is None else artifact.span(keys)
        problems.append(_invalid(f"{declared.id}: {message}", span, keys, want))
    return problems


def _fits(value: object, want: _Want) -> bool:
    if isinstance(want, tuple):
        return value in want
    return value is not None and (want == "any" or type(value) in _TYPES[want])


def _schema_problems(declared: Artifact, artifact: ArtifactState, reader: RunReader) -> Sequence[Problem]:
    """Problems that a JSON Schema finds; one that cannot be used proves nothing, so it is a problem."""
    if not declared.schema:
        return ()
    path = join("", declared.schema.lstrip("/"))
    file = reader.read(path) if path else File("")
    schema = reader.parse_cached("json", file, read_json).data if file.text is not None else None
    if not isinstance(schema, (dict, bool)):
        return [_of_schema(declared, "could not be read")]
    # Compiling a schema takes longer than all the rest of an evaluation.
    memory = (f"schema {file.digest} of {declared.id}", reader.reads[artifact.path])
    if memory not in reader.parsed:
        reader.parsed[memory] = _schema_violations(declared, schema, artifact)
    return reader.parsed[memory]


def _schema_violations(declared: Artifact, schema: Any, artifact: ArtifactState) -> list[Problem]:
    """The first errors of the artifact; of a long one just one, for all are made before any can be had.

    Nothing is fetched, and patterns run on the engine without backtracking: a schema is only data.
    """
    import jsonschema_rs

    try:
        count = steps(schema, artifact.raw, MOST_STEPS)
        options = jsonschema_rs.RegexOptions()
        validator = jsonschema_rs.validator_for(schema, retriever=_no_retrieval, pattern_options=options)
    except ValueError as error:
        return [_of_schema(declared, f"is broken: {_brief(str(error))}")]
    except (TooManyStepsError, RecursionError):
        return [_of_schema(declared, f"takes more than {MOST_STEPS} steps; let fewer of its parts repeat")]
    if len(artifact.text) <= MOST_FOR_ALL_ERRORS and count <= MOST_STEPS_FOR_ALL_ERRORS:
        errors = islice(validator.iter_errors(artifact.raw), MOST_ERRORS)
        return [_schema_problem(declared, schema, artifact, error) for error in errors]
    try:
        validator.validate(artifact.raw)
    except jsonschema_rs.ValidationError as error:
        return [_schema_problem(declared, schema, artifact, error)]
    return []


def _no_retrieval(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not fetched")


def _schema_problem(declared: Artifact, schema: Any, artifact: ArtifactState, error: Any) -> Problem:
    """The problem for an error of the validator, with what the value may be as far as the schema says it."""
    import jsonschema_rs

    message, place = f"{declared.id}: {_brief(error.message)}", tuple(error.instance_path)
    path, want = place, None
    if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Enum):
        want = tuple(word for word in error.kind.options if isinstance(word, str)) or None
    elif isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Required):
        path = (*place, error.kind.property)
        want = _expected_words(schema, [*error.schema_path[:-1], "properties", error.kind.property])
    return _invalid(message, artifact.span(place), path, want)


def _expected_words(schema: Any, path: Sequence[str | int]) -> _Want:
    """The words that a part of a schema allows, or the type it asks for; "any" where it says neither."""
    for step in path:
        if isinstance(schema, list) and isinstance(step, int):
            schema = schema[step]
        else:
            schema = schema.get(step) if isinstance(schema, dict) else None
    declared = schema if isinstance(schema, dict) else {}
    words = declared.get("enum")
    if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
        return tuple(words)
    return _OF_SCHEMA.get(str(declared.get("type")), "any")


def _of_schema(declared: Artifact, what: str) -> Problem:
    return _invalid(f"{declared.id}: its schema {declared.schema} {what}", None)


def _brief(message: str) -> str:
    """The first line of a message; it may quote a whole file."""
    line = message.split("\n", 1)[0]
    return line if len(line) <= 200 else f"{line[:200]}…"


def _invalid(
    message: str, span: Span | None, path: Sequence[str | int] = (), want: _Want | None = None
) -> Problem:
    data = {"path": tuple(path), "want": want} if want else {}
    return Problem("artifact-invalid", message, span or Span(0, 0, 0, 1), data=data)
