"""What must be in an artifact: the values its definition requires, and a JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NoReturn

from ..definition.model import Artifact
from ..expressions.queries import dig
from ..findings import Problem, Span
from ..formats.json_schema_cost import TooManyStepsError, steps
from ..formats.json_text import read_json
from ..vfs.files import File, join
from .read_log import ArtifactState, RunReader

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


def content_problems(
    declared: Artifact, data: object, artifact: ArtifactState, reader: RunReader
) -> list[Problem]:
    """What the artifact lacks of its `require` and its `schema`, each at its place."""
    return [*_not_there(declared, data, artifact), *_schema_problems(declared, artifact, reader)]


def _not_there(declared: Artifact, data: object, artifact: ArtifactState) -> list[Problem]:
    """A problem for each `require` entry none of whose alternatives is there with the right type."""
    return [
        _missing(declared, [(path, dig(data, path)) for path in alternatives], want, artifact)
        for alternatives, want in declared.require
        if not any(_fits(dig(data, path), want) for path in alternatives)
    ]


def _fits(value: object, want: str | tuple[str, ...]) -> bool:
    if value is None:
        return False
    if isinstance(want, tuple):
        return value in want
    if want == "any":
        return True
    return isinstance(value, _TYPES[want]) and (want == "bool" or not isinstance(value, bool))


def _missing(
    declared: Artifact, values: list[tuple[str, object]], want: str | tuple[str, ...], artifact: ArtifactState
) -> Problem:
    names = " or ".join(path for path, _ in values)
    wanted = f"one of {', '.join(want)}" if isinstance(want, tuple) else want
    for path, value in values:
        if value is not None:
            message = f"{declared.id}: {path} must be {wanted}, it is {json.dumps(value)[:40]}"
            return _invalid(message, artifact.span(path.split(".")), path.split("."), want)
    wanted = "" if want == "any" else f" ({wanted})"
    return _invalid(f"{declared.id}: {names}{wanted} is missing", None, values[0][0].split("."), want)


def _schema_problems(declared: Artifact, artifact: ArtifactState, reader: RunReader) -> Sequence[Problem]:
    """What a JSON Schema says of the artifact; one that cannot be used proves nothing, so it is a problem."""
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
        reader.parsed[memory] = _judged(declared, schema, artifact)
    return reader.parsed[memory]


def _by_schema(declared: Artifact, schema: Any, artifact: ArtifactState, error: Any) -> Problem:
    """The problem for an error of the validator, with what the value may be as far as the schema says it."""
    import jsonschema_rs

    message, place = f"{declared.id}: {_brief(error.message)}", tuple(error.instance_path)
    if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Enum):
        words = tuple(word for word in error.kind.options if isinstance(word, str))
        return _invalid(message, artifact.span(place), place, words or None)
    if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Required):
        name = error.kind.property
        want = _wanted(schema, [*error.schema_path[:-1], "properties", name])
        return _invalid(message, artifact.span(place), (*place, name), want)
    return _invalid(message, artifact.span(place))


def _wanted(schema: Any, path: Sequence[str | int]) -> str | tuple[str, ...]:
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


_OF_SCHEMA: Mapping[str, str] = {
    "boolean": "bool", "integer": "int", "number": "number",
    "string": "string", "array": "list", "object": "map",
}  # fmt: skip


def _validator(schema: Any) -> Any:
    """Nothing is fetched, and patterns run on the engine without backtracking: a schema is only data."""
    import jsonschema_rs

    options = jsonschema_rs.RegexOptions()
    return jsonschema_rs.validator_for(schema, retriever=_no_retrieval, pattern_options=options)


def _judged(declared: Artifact, schema: Any, artifact: ArtifactState) -> list[Problem]:
    try:
        long = steps(schema, artifact.raw, MOST_STEPS)
        validator = _validator(schema)
    except ValueError as error:
        return [_of_schema(declared, f"is broken: {_brief(str(error))}")]
    except (TooManyStepsError, RecursionError):
        return [_of_schema(declared, f"takes more than {MOST_STEPS} steps; let fewer of its parts repeat")]
    return [_by_schema(declared, schema, artifact, error) for error in _errors(validator, artifact, long)]


def _errors(validator: Any, artifact: ArtifactState, long: int) -> list[Any]:
    """The first errors of the artifact; of a long one just one, for all are made before any can be had."""
    import jsonschema_rs

    if len(artifact.text) <= MOST_FOR_ALL_ERRORS and long <= MOST_STEPS_FOR_ALL_ERRORS:
        return list(islice(validator.iter_errors(artifact.raw), MOST_ERRORS))
    try:
        validator.validate(artifact.raw)
    except jsonschema_rs.ValidationError as error:
        return [error]
    return []


def _no_retrieval(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not fetched")


def _of_schema(declared: Artifact, what: str) -> Problem:
    return _invalid(f"{declared.id}: its schema {declared.schema} {what}", None)


def _brief(message: str) -> str:
    """The first line of a message; it may quote a whole file."""
    line = message.split("\n", 1)[0]
    return line if len(line) <= 200 else f"{line[:200]}…"


def _invalid(
    message: str,
    span: Span | None,
    path: Sequence[str | int] = (),
    want: str | tuple[str, ...] | None = None,
) -> Problem:
    data = {"path": tuple(path), "want": want} if want else {}
    return Problem("artifact-invalid", message, span or Span(0, 0, 0, 1), data=data)
