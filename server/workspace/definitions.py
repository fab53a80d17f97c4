"""The definitions that a root knows: the built-in ones and `.phasekeeper/workflows/*.yaml`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from ...orchestration.definition.compiler import compile_definition
from ...orchestration.definition.model import Workflow
from ...orchestration.definition.reader import (
    DefinitionNode,
    InvalidWorkflow,
    Source,
    folders_of,
    load_definition,
    parse_definition,
    runs_word,
)
from ...orchestration.definition.root_config import PATH as CONFIG_PATH
from ...orchestration.definition.root_config import Config
from ...orchestration.findings import Finding, Problem, finding
from ...orchestration.snapshot.discovery import DiscoverableWorkflow
from ...orchestration.suggestions import did_you_mean
from ...orchestration.vfs.files import Files
from ...orchestration.vfs.glob import glob
from ..disk.disk_files import DiskFiles

FOLDER = ".phasekeeper/workflows"
MOST_DEFINITIONS, MOST_TEXT = 100, 512 * 1024
"""The most definitions that a root has, and characters of their texts: to check one may take a second."""
BUILT_IN = Path(__file__).parents[2] / "orchestration/workflows"
"""The folder of the definitions that come with the package; importlib.resources would cost a start 5 ms."""


class UnknownWorkflow(Exception):  # noqa: N818 - a name that somebody typed; no program error
    """No workflow has that name; the message names the nearest ones."""


@cache
def built_in_sources() -> dict[str, Source]:
    """Name to source of the definitions that come with the package, in order of their names."""
    released = json.loads((BUILT_IN / "released.json").read_text(encoding="utf-8"))
    return {
        (name := path.stem): Source(
            path.name, path.read_text(encoding="utf-8"), tuple(released.get(name, ()))
        )
        for path in sorted(BUILT_IN.glob("*.yaml"))
    }


@cache
def _built_in(name: str) -> Workflow:
    # Their checks are the tests' business; a start is not the time for them.
    return compile_definition(*load_definition(built_in_sources()[name]), trusted=True)


_RUNS = re.compile(r"^runs:.*?(?=^\S)", re.M | re.S)


@cache
def _built_in_runs(name: str) -> DefinitionNode:
    """Where its runs are, read from that one part of it: most roots have runs of one workflow only."""
    path, text, _ = built_in_sources()[name]
    found = _RUNS.search(text)
    assert found, f"{path} has no runs"
    return parse_definition(Source(path, found[0]))


@dataclass
class DefinitionLibrary:
    """Definitions by name, each compiled once and only when asked for."""

    own: dict[str, Source] = field(default_factory=dict)
    unread: tuple[Finding, ...] = ()
    _compiled: dict[str, Workflow] = field(default_factory=dict)

    @classmethod
    def of(cls, files: Files) -> DefinitionLibrary:
        """The definitions of a root."""
        own, unread, size = {}, [], 0
        for path, _ in [*glob(files, f"{FOLDER}/*.yml"), *glob(files, f"{FOLDER}/*.yaml")]:
            file = files.read(path)
            size += len(file.text or "")
            if len(own) >= MOST_DEFINITIONS or size > MOST_TEXT:
                said = (
                    f"a root has at most {MOST_DEFINITIONS} definitions, of {MOST_TEXT // 1024} KB together"
                )
                unread.append(finding(Problem("workflow-invalid", f"it is not read: {said}"), path))
            elif file.text is not None:
                own[path.rsplit("/", 1)[-1].rpartition(".")[0]] = Source(path, file.text)
            else:
                why = file.problem.message if file.problem else "it cannot be read"
                unread.append(finding(Problem("workflow-invalid", why), path))
        return cls(own, tuple(unread))

    @property
    def built_in(self) -> dict[str, Source]:
        return built_in_sources()

    @property
    def names(self) -> list[str]:
        return sorted({*self.built_in, *self.own})

    def source(self, name: str) -> Source | None:
        return self.built_in.get(name) or self.own.get(name)

    def workflow(self, name: str) -> Workflow:
        """The compiled workflow. Raises UnknownWorkflow or InvalidWorkflow."""
        if name not in self._compiled:
            source = self.source(name)
            if source is None:
                raise UnknownWorkflow(f"no workflow is called {name!r}{did_you_mean(name, self.names)}")
            if name in self.built_in:
                self._compiled[name] = _built_in(name)
            else:
                from ...orchestration.lint.checks import parse_workflow  # late: built-in ones need no checks

                workflow = parse_workflow(source.text, source.path, self.source)
                if workflow.name != name:
                    said = f"the file's name asks for the workflow {name!r}, it holds {workflow.name!r}"
                    problem = Problem("workflow-invalid", said, workflow.keys["workflow"].span)
                    raise InvalidWorkflow([finding(problem, source.path)])
                self._compiled[name] = workflow
        return self._compiled[name]

    def faults(self, name: str) -> tuple[Finding, ...]:
        """The errors that keep a known definition from being used; nothing, when it can be."""
        try:
            self.workflow(name)
        except InvalidWorkflow as error:
            return tuple(error.findings)
        return ()

    def states(self) -> dict[str, object]:
        """Name to what tells one state of a user's definition, and of what it extends, from another."""
        states: dict[str, object] = {}
        for name, source in self.own.items():
            try:
                states[name] = load_definition(source, self.source)[1]
            except InvalidWorkflow:
                # What is wrong may lie in any of them.
                states[name] = tuple(sorted(self.own.items()))
        return states

    def check_definitions(self) -> list[Finding]:
        """All that is wrong or doubtful in the users' definitions that are not hidden by built-in ones."""
        from ...orchestration.lint.checks import check  # late, as in `workflow`

        names = (name for name in self.own if name not in self.built_in)
        return [found for name in names for found in self.faults(name) or check(self.workflow(name))]

    def definitions(self) -> Iterator[DiscoverableWorkflow]:
        """Every definition, to find runs with. One whose YAML cannot be read has no place for its runs."""
        for name in self.names:
            is_built_in, root = name in self.built_in, None
            with suppress(InvalidWorkflow):
                root = (
                    _built_in_runs(name) if is_built_in else load_definition(self.own[name], self.source)[0]
                )
            at, past = (folders_of(root, key) if root else () for key in ("at", "history"))
            keys = ("unit", "alone", "shared")
            unit, alone, shared = (runs_word(root, key) if root else "" for key in keys)
            load = partial(self.workflow, name)
            yield DiscoverableWorkflow(
                name, at, is_built_in, load, past, unit, alone == "true", shared == "true"
            )

    def shadowing(self) -> list[Finding]:
        """Users' definitions that are not used: they cannot be read, or have the name of a built-in one."""
        said = "is the name of a built-in workflow; give it another and `extend:` that one"
        taken = [name for name in self.own if name in self.built_in]
        problems = [(Problem("workflow-invalid", f"{name!r} {said}"), self.own[name].path) for name in taken]
        return [*self.unread, *(finding(*problem) for problem in problems)]


def startable_workflows(root: Path) -> list[str]:
    """The names of the workflows of a root of which a run can be started, in order."""
    library = DefinitionLibrary.of(DiskFiles(root))
    names: list[str] = []
    for name in library.names:
        with suppress(InvalidWorkflow, UnknownWorkflow):
            if library.workflow(name).new is not None:
                names.append(name)
    return names


def root_findings(config: Config, library: DefinitionLibrary) -> tuple[Finding, ...]:
    """The findings about a root's configuration, and with its definitions as far as their names go."""
    names = library.names
    unknown = [name for name in config.workflows.values() if name not in names]
    said = (f"workflows: no workflow is called {name!r}{did_you_mean(name, names)}" for name in unknown)
    to_none = (Finding("parameter-invalid", CONFIG_PATH, message) for message in said)
    return (*config.findings, *library.shadowing(), *to_none)


def lint_file(file: Path, library: DefinitionLibrary) -> list[Finding]:
    """Everything that is wrong or doubtful in a definition file, at its place.

    `library` has the definitions that it may extend.
    """
    from ...orchestration.lint.checks import check  # late: a cold start needs no checks

    source = DiskFiles(file.resolve().parent).read(file.name)
    path = file.as_posix()
    if source.text is None:
        reason = source.problem.message if source.problem else "it is empty or cannot be read"
        return [Finding("workflow-invalid", path, reason)]
    try:
        return check(compile_definition(*load_definition(Source(path, source.text), library.source)))
    except InvalidWorkflow as error:
        return list(error.findings)
