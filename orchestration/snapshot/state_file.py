"""A run's own state file: null is absent, dotted keys are folded, lists of ids become the files they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..definition.inputs import Artifact, StateFile
from ..findings import Problem, Span
from ..formats.json_text import clean, fold_dotted, lay_under, locate_json, read_json
from ..states import ArtifactStatus
from ..vfs.files import join
from .artifacts import is_contradictory, read_file
from .read_log import ArtifactState, RunReader
from .word_lists import unknown_words

# Guards take quadratic time on what they filter; more members than this in one list or map are not judged.
MOST_MEMBERS = 1000


def read_state(state: StateFile, run: str, reader: RunReader) -> ArtifactState:
    """The run's own state file as an artifact "state": null is absent, dotted keys folded, defaults under."""
    path = join(run, state.file) or run
    file = reader.read(path)
    state_file = ArtifactState("state", ArtifactStatus.MISSING, path)
    if not (file.exists or file.refused):
        reader.add_finding(path, "artifact-missing", f"{state.file} does not exist")
        return state_file
    state_file = read_file(Artifact(id="state", kind="json"), file, reader)
    if state_file.state == ArtifactStatus.EMPTY:
        reader.add_finding(path, "artifact-unreadable", f"{state.file} is empty")
    if not state_file.valid:
        return state_file
    data: dict[str, Any] = state_file.data
    said = state_file.raw
    if state.dotted_keys:
        # Before null is dropped: {"diagnosis.context": null} empties what stands at that path.
        folded, keys = fold_dotted(state_file.raw)
        for key in keys:
            place = locate_json(state_file.text, (key,), key=True)
            reader.add_finding(path, "dotted-key", f"{key!r} is read as a path", place)
        said = folded
        data = clean(folded)  # pyright: ignore[reportAssignmentType]
    unknown = unknown_words(state.words, said, state_file)
    reader.add_findings(path, unknown.problems)
    in_members = tuple(_unknown_in_members(state, data, run, reader))
    state_file = state_file._replace(unknown=unknown.paths + in_members)
    # Both before files are included, for each costs a read, and after: they hold lists too.
    if _is_bounded(data, state_file, reader):
        for name, pattern in state.include.items():
            if isinstance(data.get(name), list):
                data = data | {name: [_included_file(item, pattern.at, run, reader) for item in data[name]]}
        if _is_bounded(data, state_file, reader):
            return state_file._replace(data=lay_under(data, dict(state.defaults)))
    return state_file._replace(state=ArtifactStatus.INVALID, data=None)


def _is_bounded(data: object, state_file: ArtifactState, reader: RunReader) -> bool:
    """True if guards can look through the data in bounded time; if not, the list or map is reported."""
    waiting: list[tuple[tuple[str | int, ...], object]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, (dict, list)):
            if len(value) > MOST_MEMBERS:
                count = f"{len(value)} items, at most {MOST_MEMBERS} can be judged"
                message, span = f"{'.'.join(map(str, path))} holds {count}", state_file.span(path)
                reader.add_finding(state_file.path, "artifact-invalid", message, span or Span(0, 0, 0, 1))
                return False
            members = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [((*path, key), item) for key, item in members]
    return True


def _included_file(item: object, pattern: str, run: str, reader: RunReader) -> object:
    """A list element that is an id (text, or a number in old files): its file, or {id, status: missing}."""
    if isinstance(item, bool) or not isinstance(item, (str, int)):
        return item
    name = str(item)
    lost = {"id": name, "status": "missing"}
    path = included_path(pattern, run, name)
    if path is None:
        return lost
    file = reader.read(path)
    if file.text is None or not file.text.strip():
        empty = Problem("artifact-unreadable", f"{path.rsplit('/', 1)[-1]} is empty", Span(0, 0, 0, 0))
        reader.add_findings(path, [file.problem or empty] if file.exists or file.problem else [])
        return lost
    document = reader.parse_cached("json", file, read_json)
    reader.add_findings(path, document.problems)
    if document.readable and not isinstance(document.data, dict):
        reader.add_finding(path, "artifact-invalid", "must be an object", Span(0, 0, 0, 1))
    data = clean(document.data)
    return {"id": name, **data} if isinstance(data, dict) and not is_contradictory(document) else lost


def _unknown_in_members(
    state: StateFile, data: Mapping[str, Any], run: str, reader: RunReader
) -> Iterator[tuple[str, ...]]:
    """The declared paths at which words nobody knows stand in the files of included members."""
    for name, pattern in state.include.items():
        words = {
            path.removeprefix(f"{name}[]."): known
            for path, known in state.words.items()
            if path.startswith(f"{name}[].")
        }
        members = data.get(name) if words else None
        for item in members[:MOST_MEMBERS] if isinstance(members, list) else ():
            path = included_path(pattern.at, run, item) if isinstance(item, str) else None
            file = reader.read(path) if path else None
            if path is None or file is None or file.text is None:
                continue
            member = ArtifactState(name, ArtifactStatus.VALID, path, kind="json", text=file.text)
            unknown = unknown_words(words, reader.parse_cached("json", file, read_json).data, member)
            reader.add_findings(path, unknown.problems)
            yield from ((name, "[]", *parts) for parts in unknown.paths)


def included_path(pattern: str, run: str, name: str) -> str | None:
    """The file of the list element with that id; None where the id is no name of a file or folder."""
    return join(run, pattern.replace("{id}", name)) if name.strip(".") and "/" not in name else None
