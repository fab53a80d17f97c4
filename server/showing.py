"""Definitions, shown and checked for people."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..orchestration.definition import InvalidWorkflow, Source
from ..orchestration.display import plain
from ..orchestration.findings import Finding
from ..orchestration.lint import check
from ..orchestration.workflow import Workflow, build, load_branch
from .files import DiskFiles
from .library import Library
from .terminal import Line, Part


def lint(file: Path, library: Library) -> list[Finding]:
    """Everything that is wrong or doubtful in a definition file, at its place."""
    read = DiskFiles(file.resolve().parent).read(file.name)
    path = file.as_posix()
    if read.text is None:
        return [Finding("workflow-invalid", path, read.problem.message if read.problem else "cannot be read")]
    try:
        return check(build(*load_branch(Source(path, read.text), library.source)))
    except InvalidWorkflow as error:
        return list(error.findings)


def workflow_lines(workflow: Workflow) -> Iterator[Line]:
    """A workflow for people: its phases with who does them, gates, limits, questions and parameters."""
    yield [Part(workflow.name, "run"), Part(f"  {plain(workflow.title)}")]
    yield [Part(f"  runs at {plain(', '.join(workflow.at))}", "dim")]
    yield [Part("phases", "run")]
    for phase in workflow.phases.values():
        who = f"  by {plain(', '.join(phase.agents))}" if phase.agents else ""
        leaves = f"  leaves {plain(', '.join(phase.produces))}" if phase.produces else ""
        kind = "  (detour)" if phase.detour else f"  ({phase.terminal})" if phase.terminal else ""
        title = "" if phase.title == phase.id else f"  {plain(phase.title)}"
        yield [Part(f"  {plain(phase.id)}", "phase"), Part(title), Part(f"{who}{leaves}{kind}", "dim")]
    if workflow.gates:
        yield [Part("gates", "run")]
    for gate in workflow.gates:
        said = "; ".join(plain(criterion.text) for criterion in gate.criteria)
        yield [Part(f"  {plain(gate.id)}", "phase"), Part(f"  after {plain(gate.after)}: {said}")]
    if workflow.limits:
        yield [Part("limits", "run")]
    for limit in workflow.limits.values():
        yield [Part(f"  {plain(limit.id)}", "phase"), Part(f"  at most {plain(limit.max.source)}")]
    if workflow.questions:
        yield [Part("questions", "run")]
    for question in workflow.questions.values():
        options = ", ".join(plain(option) for option in question.options)
        yield [Part(f"  {plain(question.id)}", "phase"), Part(f"  {question.kind}: {options}")]
    if workflow.parameters:
        yield [Part("parameters", "run")]
    for parameter in workflow.parameters.values():
        yield [Part(f"  {plain(parameter.id)}", "phase"), Part(f"  {plain(str(parameter.default))}")]
