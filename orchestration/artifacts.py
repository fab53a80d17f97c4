"""Artifacts: a declared file of a run, as it stands: missing, empty, unreadable, invalid, valid or stale.

Only a valid one has data for guards. Every kind is one function from text to data and problems; a new
kind is one function and one line in `KINDS`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from . import markdown
from .documents import Document, clean, fold_dotted, lay_under, locate_json, read_json
from .files import Entry, File, Files, digest_of, glob, is_glob, join
from .findings import Finding, Problem, Span, finding
from .guards import dig
from .patches import read_patch
from .plans import Plan, dialects
from .workflow import Artifact, StateFile
from .yaml_documents import locate_yaml, read_yaml_data

# A file larger than this many bytes holds more than blanks.
SMALL = 64
# Guards take quadratic time on what they filter; more members than this in one list or map are not judged.
MOST_MEMBERS = 1000
# Judged within this time of what it judges, a verdict counts as newer: a clone writes files in any order.
SAME_MOMENT_NS = 2_000_000_000


class Held(NamedTuple):
    """An artifact of a run. `data` is what guards see (valid only); `raw` what the file says."""

    id: str
    state: str
    path: str
    data: Any = None
    raw: Any = None
    kind: str = ""
    text: str = ""
    paths: tuple[str, ...] = ()
    mtime_ns: int = 0

    @property
    def valid(self) -> bool:
        return self.state == "valid"

    @property
    def exists(self) -> bool:
        return self.state not in ("missing", "empty")

    def span(self, path: Sequence[str | int], key: bool = False) -> Span | None:
        """Where a value of the file stands, by its path in the data; None where it cannot be told."""
        if self.kind == "json" or (self.kind == "patch" and self.path.endswith(".json")):
            return locate_json(self.text, tuple(path), key)
        return locate_yaml(self.text, tuple(path), key) if self.kind == "yaml" else None


@dataclass
class Looked:
    """What reading a run looked at, for its revision, and what it found wrong.

    `parsed` may be shared between runs and times: it is keyed by kind and digest.
    """

    files: Files
    parsed: dict[tuple[str, str], Any] = field(default_factory=dict)
    reads: dict[str, str] = field(default_factory=dict)
    _filled: dict[str, frozenset[str]] = field(default_factory=dict)
    _lacking: dict[tuple[str, str, frozenset[str]], frozenset[str]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def read(self, path: str) -> File:
        file = self.files.read(path)
        self.reads[path] = file.digest or ("unreadable" if file.exists else "missing")
        return file

    def glob(self, pattern: str) -> list[tuple[str, Entry]]:
        """The files that fit; their names, and which are empty, are part of the revision."""
        found = [(path, entry) for path, entry in glob(self.files, pattern) if entry.kind == "file"]
        closed = next((folder for folder in self.files.unlisted if pattern.startswith(f"{folder}/")), None)
        if closed is not None:
            self.tell_all(closed, [self.files.unlisted[closed]])
        names = "\n".join(f"{path}\0{self.filled(path, entry)}" for path, entry in found)
        self.reads[pattern] = "unreadable" if closed is not None else digest_of(names)
        return found

    def lacking(self, run: str, names: frozenset[str], what: str) -> frozenset[str]:
        """Those of the run's named files that are missing or blank; which they are is part of the revision.

        One listing a folder answers for all names in it.
        """
        memory = (run, what, names)
        if memory in self._lacking:
            return self._lacking[memory]
        if run not in self._filled:
            entries = self.files.list(run).items()
            self._filled[run] = frozenset(name for name, entry in entries if self.filled(f"{run}/{name}" if run else name, entry))
        doubtful = names - self._filled[run]
        missing = frozenset(name for name in doubtful if not self._present(run, name))
        self.reads[f"{run}: {what}"] = digest_of("\n".join(sorted(missing)))
        self._lacking[memory] = missing
        return missing

    def filled(self, path: str, entry: Entry) -> bool:
        """Whether a name is a file that holds more than blanks."""
        if entry.kind != "file" or entry.size > SMALL:
            return entry.kind == "file"
        # Only a file this small can be nothing but blanks; it is worth a look.
        file = self.files.read(path)
        return bool(file.size) and (file.text is None or bool(file.text.strip()))

    def _present(self, run: str, name: str) -> bool:
        path = join(run, name)
        folder, _, last = (path or "").rpartition("/")
        entry = self.files.list(folder).get(last) if path else None
        return entry is not None and self.filled(path or "", entry)

    def once(self, kind: str, file: File, parse: Callable[[str], Any]) -> Any:
        """`parse(text)` of a file, done once for each content."""
        key = (kind, file.digest)
        if key not in self.parsed:
            self.parsed[key] = parse(file.text or "")
        return self.parsed[key]

    def span(self, held: Held, path: Sequence[str]) -> Span | None:
        """Where a value of a file stands; looked for once for each content."""
        key = (f"span of {held.kind}", "\0".join((self.reads.get(held.path, ""), *path)))
        if key not in self.parsed:
            self.parsed[key] = held.span(path)
        return self.parsed[key]

    def tell(self, path: str, code: str, message: str, span: Span | None = None, **more: Any) -> None:
        found = finding(Problem(code, message, span), path)
        self.findings.append(replace(found, **more) if more else found)

    def tell_all(self, path: str, problems: Sequence[Problem]) -> None:
        self.findings += [finding(problem, path) for problem in problems]


# ---- kinds ------------------------------------------------------------------------------------


def _markdown(text: str) -> Document:
    document = markdown.read(text)
    fields = {entry.key: entry.value for entry in markdown.fields(document)}
    headings = [heading.text for heading in document.headings]
    return Document({"text": text, "fields": fields, "headings": headings}, (), True)


def _text(text: str) -> Document:
    return Document({"text": text}, (), True)


KINDS: Mapping[str, Callable[[str], Document]] = {
    "json": read_json,
    "yaml": read_yaml_data,
    "markdown": _markdown,
    "text": _text,
    "patch": read_patch,
}


# ---- reading ----------------------------------------------------------------------------------


def read_artifact(artifact: Artifact, run: str, looked: Looked) -> Held:
    """The artifact as it stands in the run's folder; what is wrong with it is told to `looked`."""
    found = _locations(artifact, run, looked)
    if artifact.kind == "files":
        return _folder(artifact, run, found, looked)
    if not found:
        return Held(artifact.id, "missing", join(run, artifact.paths[0]) or artifact.paths[0])
    path = found[0][0]
    file = looked.read(path)
    if len(found) > 1:
        _copies(file, [looked.read(other) for other, _ in found[1:]], looked)
    return read_file(artifact, file, looked)


def _locations(artifact: Artifact, run: str, looked: Looked) -> list[tuple[str, Entry]]:
    found: list[tuple[str, Entry]] = []
    for pattern in artifact.paths:
        path = join(run, pattern)
        if path is None:
            looked.tell(run, "artifact-missing", f"{artifact.id}: {pattern} leaves the root and is not read")
        elif is_glob(pattern):
            found += looked.glob(path)
        else:
            file = looked.read(path)
            if file.exists:
                found.append((path, Entry(path, "file", file.size, file.mtime_ns)))
            elif file.problem:
                looked.tell_all(path, [file.problem])
    return found


def _copies(first: File, others: Sequence[File], looked: Looked) -> None:
    for other in others:
        if other.digest != first.digest:
            looked.tell(other.path, "duplicate-location", f"{first.path} is used; this copy differs from it")


def _folder(artifact: Artifact, run: str, found: Sequence[tuple[str, Entry]], looked: Looked) -> Held:
    filled = [path for path, entry in found if looked.filled(path, entry)]
    state = "valid" if filled else "empty" if found else "missing"
    paths = tuple(path for path, _ in found)
    where = paths[0] if paths else join(run, artifact.paths[0]) or run
    newest = max((entry.mtime_ns for _, entry in found), default=0)
    data = {"paths": list(paths)} if filled else None
    return Held(artifact.id, state, where, data, kind="files", paths=paths, mtime_ns=newest)


def read_file(artifact: Artifact, file: File, looked: Looked) -> Held:
    """The artifact held by one file."""
    held = Held(artifact.id, "unreadable", file.path, kind=artifact.kind, text=file.text or "", paths=(file.path,), mtime_ns=file.mtime_ns)
    if file.text is None:
        looked.tell_all(file.path, [file.problem] if file.problem else [])
        return held
    if not file.text.strip():
        return _blank(artifact, held, looked)
    if artifact.kind in dialects():
        return _plan(artifact, file, held, looked)
    document = looked.once(artifact.kind, file, KINDS[artifact.kind])
    looked.tell_all(file.path, document.problems)
    if not document.readable:
        wrong = any(problem.code == "artifact-invalid" for problem in document.problems)
        return held._replace(state="invalid") if wrong else held
    if not isinstance(document.data, dict):
        looked.tell(file.path, "artifact-invalid", f"{artifact.id} must be an object", Span(0, 0, 0, 1))
        return held._replace(state="invalid")
    data = clean(document.data)
    held = held._replace(raw=document.data)
    problems = [*_unmet(artifact, data, held), *_schema_problems(artifact, held, looked)]
    if problems:
        looked.tell_all(file.path, problems)
        return held._replace(state="invalid")
    assert isinstance(data, dict)
    return held._replace(state="valid", data=lay_under(data, dict(artifact.defaults)))


def _blank(artifact: Artifact, held: Held, looked: Looked) -> Held:
    """A file of nothing. An optional one is not as good as absent: somebody emptied it or has yet to fill it."""
    if not artifact.optional:
        return held._replace(state="empty")
    looked.tell(held.path, "artifact-invalid", f"{artifact.id} is empty; fill it or remove it", Span(0, 0, 0, 0))
    return held._replace(state="invalid")


def _plan(artifact: Artifact, file: File, held: Held, looked: Looked) -> Held:
    plan: Plan | None = looked.once(artifact.kind, file, dialects()[artifact.kind].read)
    if plan is None:
        looked.tell(file.path, "artifact-invalid", "holds no table with Task ID, File and Status", Span(0, 0, 0, 1))
        return held._replace(state="invalid")
    looked.tell_all(file.path, plan.problems)
    return held._replace(state="valid", data=plan)


def read_state(state: StateFile, run: str, looked: Looked) -> Held:
    """The run's own state file as an artifact named "state": null is absent, dotted keys folded, defaults under."""
    path = join(run, state.file) or run
    file = looked.read(path)
    held = Held("state", "missing", path)
    if not file.exists:
        looked.tell(path, "artifact-missing", f"{state.file} does not exist")
        return held
    held = read_file(Artifact("state", "json"), file, looked)
    if held.state == "empty":
        looked.tell(path, "artifact-unreadable", f"{state.file} is empty")
    if not held.valid:
        return held
    data: dict[str, Any] = held.data
    if state.fold_dotted:
        # Before null is dropped: {"diagnosis.context": null} empties what stands at that path.
        data = _folded(held.raw, held, looked)
    for name, pattern in state.include.items():
        if isinstance(data.get(name), list):
            data = data | {name: [_included(item, pattern, run, looked) for item in data[name]]}
    long = _too_long(data)
    if long:
        path_in, count = long
        said = f"{'.'.join(map(str, path_in))} holds {count} items, at most {MOST_MEMBERS} can be judged"
        looked.tell(path, "artifact-invalid", said, held.span(path_in) or Span(0, 0, 0, 1))
        return held._replace(state="invalid", data=None)
    return held._replace(data=lay_under(data, dict(state.defaults)))


def _too_long(data: object) -> tuple[tuple[str | int, ...], int] | None:
    """The path and length of a list or map that guards could not look through in bounded time."""
    waiting: list[tuple[tuple[str | int, ...], object]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, (dict, list)):
            if len(value) > MOST_MEMBERS:
                return path, len(value)
            members = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [((*path, key), item) for key, item in members]
    return None


def _folded(data: dict[str, Any], held: Held, looked: Looked) -> dict[str, Any]:
    folded, keys = fold_dotted(data)
    for key in keys:
        looked.tell(held.path, "dotted-key", f"{key!r} is read as a path", locate_json(held.text, (key,), True))
    cleaned = clean(folded)
    assert isinstance(cleaned, dict)
    return cleaned


def _included(item: object, pattern: str, run: str, looked: Looked) -> object:
    """A list element that is an id (text, or a number as in old files): the file of that id, or {id, status: missing}."""
    if isinstance(item, bool) or not isinstance(item, (str, int)):
        return item
    name = str(item)
    lost = {"id": name, "status": "missing"}
    path = join(run, pattern.replace("{id}", name)) if name.strip(".") and "/" not in name else None
    if path is None:
        return lost
    file = looked.read(path)
    data = _object_in(file, looked)
    return lost if data is None else {"id": name, **data}


def _object_in(file: File, looked: Looked) -> dict[str, Any] | None:
    """The JSON object a file holds, null left out; None, and a finding, where it holds none."""
    if file.text is None or not file.text.strip():
        empty = Problem("artifact-unreadable", f"{file.path.rsplit('/', 1)[-1]} is empty", Span(0, 0, 0, 0))
        looked.tell_all(file.path, [file.problem or empty] if file.exists or file.problem else [])
        return None
    document = looked.once("json", file, read_json)
    looked.tell_all(file.path, document.problems)
    if document.readable and not isinstance(document.data, dict):
        looked.tell(file.path, "artifact-invalid", "must be an object", Span(0, 0, 0, 1))
    data = clean(document.data)
    return data if isinstance(data, dict) else None


# ---- what must be in it -----------------------------------------------------------------------

_TYPES: Mapping[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "number": (int, float),
    "string": (str,),
    "list": (list,),
    "map": (dict,),
}


def _unmet(artifact: Artifact, data: object, held: Held) -> list[Problem]:
    """A problem for each `require` entry none of whose alternatives is there with the right type."""
    problems = []
    for alternatives, want in artifact.require:
        values = [(path, dig(data, path)) for path in alternatives]
        if not any(_fits(value, want) for _, value in values):
            problems.append(_missing(artifact, values, want, held))
    return problems


def _fits(value: object, want: str | tuple[str, ...]) -> bool:
    if value is None:
        return False
    if isinstance(want, tuple):
        return value in want
    if want == "any":
        return True
    return isinstance(value, _TYPES[want]) and (want == "bool" or not isinstance(value, bool))


def _missing(artifact: Artifact, values: list[tuple[str, object]], want: str | tuple[str, ...], held: Held) -> Problem:
    names = " or ".join(path for path, _ in values)
    wanted = f"one of {', '.join(want)}" if isinstance(want, tuple) else want
    for path, value in values:
        if value is not None:
            message = f"{artifact.id}: {path} must be {wanted}, it is {json.dumps(value)[:40]}"
            return Problem("artifact-invalid", message, held.span(path.split(".")))
    wanted = "" if want == "any" else f" ({wanted})"
    return Problem("artifact-invalid", f"{artifact.id}: {names}{wanted} is missing", Span(0, 0, 0, 1))


def _schema_problems(artifact: Artifact, held: Held, looked: Looked) -> list[Problem]:
    if not artifact.schema:
        return []
    file = looked.read(artifact.schema.lstrip("/"))
    schema = looked.once("json", file, read_json).data if file.text is not None else None
    if not isinstance(schema, (dict, bool)):
        return [Problem("artifact-invalid", f"{artifact.id}: its schema {artifact.schema} could not be read", Span(0, 0, 0, 1))]
    import jsonschema_rs

    try:
        # Nothing is fetched, and patterns run on the engine without backtracking: a schema is only data.
        options = jsonschema_rs.RegexOptions()
        validator = jsonschema_rs.validator_for(schema, retriever=_no_retrieval, pattern_options=options)
        errors = list(validator.iter_errors(held.raw))
    except ValueError as error:
        return [Problem("artifact-invalid", f"{artifact.id}: its schema {artifact.schema} is broken: {str(error).splitlines()[0]}", Span(0, 0, 0, 1))]
    return [
        Problem("artifact-invalid", f"{artifact.id}: {error.message}", held.span(error.instance_path) or Span(0, 0, 0, 1))
        for error in errors[:20]
    ]


def _no_retrieval(uri: str) -> object:
    raise ValueError(f"{uri} is not fetched")


# ---- staleness --------------------------------------------------------------------------------


def aged(held: Mapping[str, Held], artifacts: Mapping[str, Artifact], records: Sequence[Mapping[str, Any]], looked: Looked) -> dict[str, Held]:
    """The artifacts with those made `stale` that judge something which changed after the verdict."""
    out = dict(held)
    for artifact in artifacts.values():
        verdict = held.get(artifact.id)
        if verdict is None or not verdict.valid:
            continue
        for judged in (held[name] for name in artifact.of if name in held and held[name].exists):
            newer = _changed_since(verdict, judged, records, looked)
            if newer:
                looked.tell(verdict.path, "artifact-stale", f"{newer} changed after this was made; make it again", Span(0, 0, 0, 1))
                out[artifact.id] = verdict._replace(state="stale", data=None)
                break
    return out


def _changed_since(verdict: Held, judged: Held, records: Sequence[Mapping[str, Any]], looked: Looked) -> str:
    """The path of a judged file that is not the one the verdict was about, or ""."""
    known = _journalled(verdict, records, looked)
    compared = [path for path in judged.paths if path in known]
    for path in compared:
        if looked.read(path).digest != known[path]:
            return path
    if compared or not verdict.mtime_ns or not judged.mtime_ns:
        return ""
    later = judged.mtime_ns - verdict.mtime_ns
    if later > SAME_MOMENT_NS:
        return judged.path
    hinted = any(f.code == "freshness-unknown" and f.path == verdict.path for f in looked.findings)
    if later > 0 and not hinted:
        looked.tell(verdict.path, "freshness-unknown", f"saved within 2 s of {judged.path}; it counts as newer")
    return ""


def _journalled(verdict: Held, records: Sequence[Mapping[str, Any]], looked: Looked) -> dict[str, str]:
    """path -> digest of the files in the first record that names the verdict as it is now."""
    digest = looked.read(verdict.path).digest
    for entry in records:
        files = {item.get("path"): item.get("digest") for item in entry["files"] if isinstance(item, dict)}
        if files.get(verdict.path) == digest:
            return {str(path): str(value) for path, value in files.items()}
    return {}
