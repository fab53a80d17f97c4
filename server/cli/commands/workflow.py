"""`phasekeeper workflow`: the definitions, listed, shown, checked and drawn."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ....orchestration.definition.model import Gate, Phase, Question, Workflow
from ....orchestration.findings import Severity
from ....orchestration.journal.lines import FOLDER
from ....orchestration.result.values import as_json
from ....orchestration.sanitize import plain
from ...terminal.finding_views import error_lines, finding_lines
from ...terminal.lines import Line, Part, path, print_errors, print_lines
from ...workspace.definitions import DefinitionLibrary, lint_file
from ...workspace.roots import UsageError
from ...workspace.workspace import Workspace
from ..output import OK, USAGE, print_json
from ..selection import definitions_of, open_workspaces, select_runs


def list_all(options: Namespace) -> int:
    """`workflow list`: the known workflows and where their runs are looked for."""
    workspace = open_workspaces(Path(), options.root).workspaces[0]
    library = workspace.library
    faults = [found for name in library.names for found in library.faults(name)]
    workflows = [library.workflow(name) for name in library.names if not library.faults(name)]
    if options.json:
        print_json([_summary(workflow, workspace) for workflow in workflows])
    else:
        for workflow in workflows:
            built_in = workflow.name in library.built_in
            where = "built in" if built_in else library.own[workflow.name].path
            print_lines(_head(workflow, f"  ({path(where)})"))
    print_errors(f"phasekeeper: {line}" for line in error_lines(faults, workspace.root))
    return USAGE if faults else OK


def _summary(workflow: Workflow, workspace: Workspace) -> dict[str, Any]:
    """One workflow in a list, as data. `at` are globs of the folders that may be its runs.

    `new` is null where no run can be started. `named` says whether a name tells its folder; where it does
    not, `taken` says whether the only one is there already.
    """
    return {
        "name": workflow.name,
        "title": workflow.title,
        "digest": workflow.digest,
        "builtIn": workflow.name in workspace.library.built_in,
        "at": list(workflow.runs.at),
        "new": _beginning(workflow, workspace),
    }


def _beginning(workflow: Workflow, workspace: Workspace) -> dict[str, Any] | None:
    if workflow.new is None:
        return None
    folder = workflow.new.folder
    named = "{name}" in folder
    taken = not named and not set(workspace.files.list(folder)) <= {FOLDER}
    return {"folder": folder, "named": named, "taken": taken}


def _head(workflow: Workflow, where: str = "") -> Iterator[Line]:
    yield [Part(plain(workflow.name), "run"), Part(f"  {plain(workflow.title)}"), Part(where, "dim")]
    yield [Part(f"  runs at {plain(', '.join(workflow.runs.at))}", "dim")]


def _find_workflow(options: Namespace) -> tuple[Workflow, DefinitionLibrary]:
    """The workflow that is named, and the definitions it stands in."""
    workspace = open_workspaces(Path(), options.root).workspaces[0]
    with definitions_of(workspace.root):
        return workspace.library.workflow(options.name), workspace.library


def show(options: Namespace) -> int:
    """`workflow show`: one workflow for people, or its definition."""
    workflow, library = _find_workflow(options)
    source = library.source(options.name)
    if not (options.yaml and source):
        print_lines(workflow_lines(workflow))
    elif sys.stdout.isatty():
        # A file or pipe gets the text as it is; a terminal nothing that could move the cursor.
        sys.stdout.writelines(plain(line, 4096) + "\n" for line in source.text.splitlines())
    else:
        sys.stdout.write(source.text)
    return OK


def workflow_lines(workflow: Workflow) -> Iterator[Line]:
    """A workflow for people: its phases with who does them, gates, limits, questions and parameters."""
    yield from _head(workflow)
    yield from _section("phases", workflow.phases.values(), _phase)
    yield from _section("gates", workflow.gates.values(), _gate)
    yield from _section("limits", workflow.limits.values(), lambda limit: f"at most {limit.max.source}")
    yield from _section("questions", workflow.questions.values(), _question)
    yield from _section("parameters", workflow.parameters.values(), lambda one: str(one.default))


def _section(title: str, entries: Iterable[Any], text: Callable[[Any], str]) -> Iterator[Line]:
    """A heading and a line for each entry; nothing when there is none."""
    for place, entry in enumerate(entries):
        if not place:
            yield [Part(title, "run")]
        yield [Part(f"  {plain(entry.id)}", "phase"), Part(f"  {plain(text(entry), 400)}")]


def _gate(gate: Gate) -> str:
    return f"after {gate.after}: {'; '.join(criterion.text for criterion in gate.criteria)}"


def _question(question: Question) -> str:
    return f"{question.kind}: {', '.join(question.options)}"


def _phase(phase: Phase) -> str:
    who = f" by {', '.join(phase.agents)}" if phase.agents else ""
    leaves = f", leaves {', '.join(phase.produces)}" if phase.produces else ""
    kind = " (detour)" if phase.detour else f" (ends: {phase.terminal})" if phase.terminal else ""
    title = "" if phase.title == phase.id else phase.title
    return f"{title}{kind}{who}{leaves}".strip()


def lint(options: Namespace) -> int:
    """`workflow lint`: errors and doubts in a definition file."""
    if not options.file.is_file():
        raise UsageError(f"{str(options.file)!r} is no file; name a YAML file with a definition")
    findings = lint_file(options.file, open_workspaces(options.file, None).workspaces[0].library)
    if options.json:
        print_json([as_json(found) for found in findings])
    else:
        print_lines(finding_lines(findings, str, hints=True))
        if not findings:
            print_lines([[Part(f"{path(str(options.file))}: "), Part("nothing wrong", "good")]])
    return USAGE if any(found.severity is Severity.ERROR for found in findings) else OK


def draw_graph(options: Namespace) -> int:
    """`workflow graph`: Mermaid, on stdout."""
    from ....orchestration.rendering.mermaid import mermaid_diagram

    if bool(options.name) == bool(options.run):
        raise UsageError("name a workflow, or a run with --run")
    if options.run:
        [run] = select_runs(options).runs
        sys.stdout.write(mermaid_diagram(run.match.workflow, run.evaluate()))
        return OK
    sys.stdout.write(mermaid_diagram(_find_workflow(options)[0]))
    return OK
