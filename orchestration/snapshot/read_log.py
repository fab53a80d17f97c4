"""Reader of a run that records files and folders for its revision, and what is wrong in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Any, NamedTuple, TypeVar, TypeVarTuple

from ..definition.artifact_kinds import KINDS
from ..definition.state_changes import Ratchet
from ..evidence.check_state import CheckState
from ..evidence.source_files import findings_at_sources
from ..findings import NO_DATA, Finding, Problem, Severity, SourceProblem, Span, finding
from ..states import ArtifactStatus
from ..vfs.files import MEBIBYTE, Entry, File, Files, digest_of, is_below_root, join, name_in, natural, parent
from ..vfs.glob import TooManyFolders, fits, glob, leads_to

Committed = Callable[[str], bytes | None]
"""The bytes of a file, by its path from the root, in the commit HEAD; None where they are not known."""
Measured = Callable[[str], CheckState | None]
"""The state of a check of the root, by its name; None where nobody looks after checks."""
Question = tuple[Any, ...]
"""A question to a reader: the name of its method and what was asked."""
Asked = Mapping[Question, object]
"""Questions in the order in which they were asked, each with a value that differs where its answer does."""
_Subject = TypeVarTuple("_Subject")
_Answer = TypeVar("_Answer")
# A file larger than this many bytes holds more than blanks.
SMALL = 64
MOST_BYTES = 32 * MEBIBYTE
"""The most that is read of one run: what is asked for behind it is not."""
MOST_PARSED = 16 * MEBIBYTE
"""So much parsed text is kept for the runs to come; JSON takes about ten times its text."""
_MEMORY_BYTES = 1024
"""About so much the memory of a run takes beside what it has of its journal."""
_MOST_SHOWN = 60


class ParseResults(dict[tuple[str, str], Any]):
    """Parse results of many runs; the oldest go while their texts have more than `MOST_PARSED` bytes."""

    def __init__(self) -> None:
        super().__init__()
        self._sizes: dict[tuple[str, str], int] = {}
        self._size = 0

    def note(self, key: tuple[str, str], size: int) -> None:
        """Such a result was added, of a text of so many bytes."""
        self._size += size - self._sizes.pop(key, 0)
        self._sizes[key] = size
        while self._size > MOST_PARSED and len(self._sizes) > 1:
            oldest = next(iter(self._sizes))
            self._size -= self._sizes.pop(oldest)
            self.pop(oldest, None)


class LoosenedValue(NamedTuple):
    """A value of the state that is looser than it was, which does not count.

    `names` are the keys on the way to it, and what tells elements of lists apart; `name` is the same for
    people, `path` the place in the file, `parts` the declared path with that ratchet. `lost`: the value, or
    the element that it is a value of, is there no more. `neighbours`: of an element that is gone, the one
    that stood ahead of it, and the next one behind it that is still there, "" for none.
    """

    names: tuple[str, ...]
    name: str
    path: tuple[str | int, ...]
    before: Any
    now: Any
    parts: tuple[str, ...]
    ratchet: Ratchet
    lost: bool
    neighbours: tuple[str, str] = ("", "")

    @property
    def gone(self) -> bool:
        """True if it is an element, and that is there no more."""
        return self.ratchet.members

    @property
    def change(self) -> str:
        """The change in words."""
        if self.gone:
            return f"{self.name} was taken away"
        return f"{self.name} was {_value_text(self.before)}, now it is {_value_text(self.now)}"


def _value_text(value: Any) -> str:
    text = "absent" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


class ArtifactState(NamedTuple):
    """An artifact of a run. `data` is what guards see (valid only); `raw` what the file says.

    `missing` are the first of the files named by data that are not there,
    `unknown` the parts of the declared paths at which words stand that nobody knows, `contradicted` of those
    at which the file contradicts itself or another.
    Of `loosened` values `data` has what was before.
    """

    id: str
    state: ArtifactStatus
    path: str
    data: Any = None
    raw: Any = None
    kind: str = ""
    text: str = ""
    paths: tuple[str, ...] = ()
    mtime_ns: int = 0
    missing: tuple[str, ...] = ()
    unknown: tuple[tuple[str, ...], ...] = ()
    contradicted: tuple[tuple[str, ...], ...] = ()
    loosened: tuple[LoosenedValue, ...] = ()

    @property
    def valid(self) -> bool:
        return self.state == ArtifactStatus.VALID

    @property
    def exists(self) -> bool:
        return self.state not in (ArtifactStatus.MISSING, ArtifactStatus.EMPTY)

    def span(self, path: Sequence[str | int], key: bool = False) -> Span | None:
        """The place of a value in the file, by its path in the data; None where it cannot be told."""
        kind = KINDS.get(self.kind)
        return kind.locate(self.text, tuple(path), key) if kind else None


def _note_question(
    method: Callable[[RunReader, *_Subject], _Answer],
) -> Callable[[RunReader, *_Subject], _Answer]:
    """A question that the reader notes in `asked`, while that is a dict; not those asked on the way."""

    @wraps(method)
    def ask(reader: RunReader, *subject: *_Subject) -> _Answer:
        asked = reader.asked
        if asked is None:
            return method(reader, *subject)
        reader.asked = None
        answer = method(reader, *subject)
        reader.asked = asked
        asked[(method.__name__, *subject)] = _mark(answer)
        return answer

    return ask


def _mark(answer: object) -> object:
    """A small value that differs where an answer does."""
    if isinstance(answer, File):
        return answer.exists, answer.digest, answer.size, answer.mtime_ns, answer.problem
    if isinstance(answer, bytes):
        return digest_of(answer)
    if isinstance(answer, CheckState):
        return answer.digest
    return tuple(answer) if isinstance(answer, list) else answer


@dataclass
class RunReader:
    """Reader of a run that keeps what it looked at, for the revision, and what it found wrong.

    `parsed` may be shared between runs and times: it is keyed by kind and digest. `memory` is what one
    evaluation of a run keeps for the next. Like the rest they are unguarded dicts, for one thread at a time;
    threads that evaluate side by side need some each. Where `asked` is a dict it grows by each question.
    `root` is the root's absolute path, "" where nobody knows it.
    """

    files: Files
    parsed: dict[tuple[str, str], Any] = field(default_factory=dict)
    committed: Committed = lambda path: None
    measured: Measured = lambda check: None
    reads: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    asked: dict[Question, object] | None = None
    root: str = ""
    memory: dict[str, Any] = field(default_factory=dict)
    _bytes: int = 0
    _read: dict[str, File] = field(default_factory=dict)
    _contents: dict[str, str] = field(default_factory=dict)
    _found: dict[str, list[tuple[str, Entry]]] = field(default_factory=dict)
    _missing: dict[tuple[str, str, frozenset[str]], frozenset[str]] = field(default_factory=dict)

    @_note_question
    def read(self, path: str) -> File:
        if path in self._read:
            return self._read[path]
        file = self.files.read(path)
        self._bytes += file.size if file.text is not None else 0
        if file.text is not None and self._bytes > MOST_BYTES:
            said = f"the files that are read of this run have more than {MOST_BYTES // MEBIBYTE} MB together"
            file = replace(file, text=None, problem=Problem("budget-exceeded", said, severity=Severity.ERROR))
        self._read[path] = file
        # The path as the file has it: equal, and kept anyway.
        self.reads[file.path] = file.digest or ("unreadable" if file.exists or file.refused else "missing")
        return file

    def answers_alike(self, asked: Asked) -> bool:
        """Ask again, in order, up to the first answer that differs; True where none does."""
        return all(_mark(getattr(self, name)(*subject)) == mark for (name, *subject), mark in asked.items())

    @_note_question
    def content_of(self, path: str) -> str:
        """The content at a path in a word, which alone is part of the revision: "missing", "empty" for a file
        of blanks, "unreadable", or "filled" for other files and for a folder that holds something."""
        if path in self._contents:
            return self._contents[path]
        entry, folder = self.files.entry(path) if is_below_root(path) else None, parent(path)
        if entry is None or entry.kind == "folder":
            content = "unreadable" if folder in self.files.unlisted_folders else "missing"
            content = "filled" if entry and self.files.list(path) else content
        elif entry.kind == "file":
            content = "filled" if self.is_filled(path, entry) else "empty"
        else:
            content = "unreadable"
        self.reads[f"{path}: content"] = self._contents[path] = content
        return content

    @_note_question
    def read_check(self, name: str) -> CheckState | None:
        """The state of a check; what guards see of it is part of the revision."""
        state = self.measured(name)
        self.reads[f"check: {name}"] = state.digest if state else "missing"
        return state

    @_note_question
    def read_committed(self, path: str) -> bytes | None:
        """The bytes of a file in the commit HEAD, which are part of the revision."""
        found = self.committed(path)
        self.reads[f"HEAD:{path}"] = "missing" if found is None else digest_of(found)
        return found

    @_note_question
    def glob(self, pattern: str) -> list[tuple[str, Entry]]:
        """The files that fit, also those that are not read, as links out of the root; their names, and which
        are empty, are part of the revision.

        A folder on the way that cannot be listed makes the pattern "unreadable" in `reads`, and a finding.
        """
        if pattern not in self._found:
            # A folder that is called like a file of the pattern's kind stands where one belongs.
            suffixed = "." in name_in(pattern).lstrip(".")
            entries: list[tuple[str, Entry]] = []
            endless = ""
            try:
                for path, entry in glob(self.files, pattern):
                    entries += [(path, entry)] if suffixed or entry.kind != "folder" else []
            except TooManyFolders as error:
                endless = str(error)
                self.findings.append(finding(Problem("budget-exceeded", endless), pattern))
            closed = [folder for folder in self.files.unlisted_folders if leads_to(folder, pattern)]
            for folder in closed:
                self.add_findings(folder, [self.files.unlisted_folders[folder]])
            names = "\n".join(f"{path}\0{self.is_filled(path, entry)}" for path, entry in entries)
            self.reads[pattern] = "unreadable" if closed or endless else digest_of(names)
            self._found[pattern] = entries
        return self._found[pattern]

    @_note_question
    def missing_files(self, run: str, names: frozenset[str], what: str) -> frozenset[str]:
        """Those of the run's named files that are missing or blank; which they are is part of the revision.

        One listing a folder answers for all names in it.
        """
        memory = (run, what, names)
        if memory in self._missing:
            return self._missing[memory]
        entries = self.files.list(run)
        missing: set[str] = set()
        for name in names:
            # Nearly every name is that of a file right in the folder that is too large to be blank.
            entry = entries.get(name)
            if entry is not None and entry.size > SMALL and entry.kind == "file":
                continue
            path = join(run, name) or ""
            folder, _, last = path.rpartition("/")
            entry = self.files.list(folder).get(last) if path else None
            if entry is None or not self.is_filled(path, entry):
                missing.add(name)
        self.reads[f"{run}: {what}"] = digest_of("\n".join(sorted(missing)))
        self._missing[memory] = frozenset(missing)
        return self._missing[memory]

    @_note_question
    def unnamed_files(self, run: str, names: frozenset[str], pattern: str) -> tuple[str, ...]:
        """Files of the run's folder that fit a pattern of its plan's task files and that the plan names not.

        One listing answers for a pattern without folders; which they are is part of the revision.
        """
        if "/" in pattern:
            prefix = f"{run}/" if run else ""
            found = (path.removeprefix(prefix) for path, _ in self.glob(prefix + pattern))
            return tuple(name for name in found if name not in names)
        entries = self.files.list(run)
        found = (name for name in entries if name not in names and fits(pattern, name))
        unnamed = sorted((name for name in found if entries[name].kind == "file"), key=natural)
        self.reads[f"{run}: {pattern}"] = digest_of("\n".join(unnamed))
        return tuple(unnamed)

    @_note_question
    def is_filled(self, path: str, entry: Entry) -> bool:
        """True if a name is a file that holds more than blanks."""
        if entry.kind != "file" or entry.size > SMALL:
            return entry.kind == "file"
        # Only a file this small can be nothing but blanks; it is worth a look.
        file = self.files.read(path)
        return bool(file.size) and (file.text is None or bool(file.text.strip()))

    @_note_question
    def first_files(self, what: str, paths: tuple[tuple[str, ...], ...]) -> list[str]:
        """Of each list of paths the first that is a file, "" where none is; they are part of the revision."""
        kinds: dict[str, bool] = {}

        def is_file(path: str) -> bool:
            if path not in kinds:
                entry = self.files.entry(path)
                kinds[path] = entry is not None and entry.kind == "file"
            return kinds[path]

        first = [next(filter(is_file, each), "") for each in paths]
        self.reads[f"{what}: sources"] = digest_of("\n".join(first))
        return first

    def add_source_problems(self, path: str, problems: Sequence[SourceProblem]) -> None:
        """Tell what a tool's report at a path says, each at the source line that it names."""
        if problems:
            first_files = partial(self.first_files, path)
            self.findings += findings_at_sources(problems, path, self.root, first_files)

    def parse_cached(self, kind: str, file: File, parse: Callable[[str], Any]) -> Any:
        """`parse(text)` of a file, done once for each content."""
        key = (kind, file.digest)
        if key not in self.parsed:
            self._keep(key, parse(file.text or ""), file.size)
        return self.parsed[key]

    def open_memory(self, run: str, journal: File) -> None:
        """Go on from what the last evaluation of this run kept."""
        key = "run", run
        if key not in self.parsed:
            self._keep(key, {}, journal.size + _MEMORY_BYTES)
        self.memory = self.parsed[key]

    def _keep(self, key: tuple[str, str], value: object, size: int) -> None:
        self.parsed[key] = value
        if isinstance(self.parsed, ParseResults):
            self.parsed.note(key, size)

    def remember(self, what: str, inputs: tuple[object, ...], compute: Callable[[], _Answer]) -> _Answer:
        """What `compute` gives, once for inputs that are the same or equal; it may look at nothing else.

        Of each thing the newest is kept.
        """
        known = self.memory.get(what)
        if known is None or known[0] != inputs:
            known = self.memory[what] = inputs, compute()
        return known[1]

    def span(self, artifact: ArtifactState, path: Sequence[str | int]) -> Span | None:
        """The place of a value in a file; looked for once for each content."""
        key = (f"span of {artifact.kind}", "\0".join((self.reads.get(artifact.path, ""), *map(repr, path))))
        if key not in self.parsed:
            self.parsed[key] = artifact.span(path)
        return self.parsed[key]

    def add_finding(
        self, path: str, code: str, message: str, span: Span | None = None, data: Mapping[str, Any] = NO_DATA
    ) -> None:
        self.findings.append(finding(Problem(code, message, span, data=data), path))

    def add_findings(self, path: str, problems: Sequence[Problem]) -> None:
        self.findings += [finding(problem, path) for problem in problems]
