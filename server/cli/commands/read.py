"""The reading commands: which runs, evaluated, shown as lines or JSON. Each returns its exit code."""

from __future__ import annotations

import json
import math
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ....orchestration.evaluation.permission import check_action
from ....orchestration.findings import Finding, Severity
from ....orchestration.result.values import Evaluation, as_json, finding_json
from ....orchestration.sanitize import plain
from ....tools import check as checks
from ....tools.run_names import awaits_person, below, moved_evidence
from ...terminal import check_views, command_hints, workflow_views
from ...terminal import run_views as views
from ...terminal.lines import Line, Part, emit
from ...terminal.lines import tell as complain
from ...workspace.definitions import lint_file
from ...workspace.roots import UsageError
from ..selection import PATH_LIMIT, Chosen, Selection, chosen, definitions_of, line_of, lines_of, opened_at

OK, REFUSED, USAGE, WAITING = 0, 1, 2, 3
_PASSED_SHOWN = 5


def print_json(data: Any) -> None:
    """Print data as JSON in ASCII, so that no encoding can spoil it."""
    try:
        text = json.dumps(data, indent=2, default=str, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(data), indent=2, default=str)
    sys.stdout.write(text + "\n")


def _finite(data: Any) -> Any:
    """The data with numbers that JSON does not have as texts."""
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data


def tell(selection: Selection) -> None:
    """Say on stderr what no answer may hide: what is wrong with the root itself, and that there is no run."""
    complain(f"phasekeeper: {line_of(found, selection.path)}" for found in selection.findings())
    if not selection.runs:
        complain(_nothing(selection))


def tell_beside(selection: Selection) -> None:
    """Say on stderr, beside JSON, what is wrong with the root itself: runs that are not in the answer."""
    complain(f"phasekeeper: {line}" for line in lines_of(selection.findings(), selection.root))


def answered(selection: Selection, code: int = OK) -> int:
    """The exit code of an answer. One about all runs lacks those of broken definitions; one run's stands."""
    return USAGE if selection.broken() and not selection.one else code


def _nothing(selection: Selection) -> Iterable[str]:
    """There is no run: where runs are looked for, what was passed over, and what to do."""
    workspace = selection.opened.workspaces[0]
    yield f"phasekeeper: no run was found in {plain(str(selection.root), PATH_LIMIT)}"
    passed = workspace.passed
    for entry in passed[:_PASSED_SHOWN]:
        where = plain(selection.path(entry.run), PATH_LIMIT)
        yield f"  {where} is no {plain(entry.workflow)} run: {plain(entry.because)}"
    if len(passed) > _PASSED_SHOWN:
        yield f"  and {len(passed) - _PASSED_SHOWN} more folders that are no runs"
    yield "  those of a folder below are found by its path, or by `projects` in .phasekeeper/config.yaml"
    yield "  `phasekeeper workflow list` says where runs are looked for, `phasekeeper demo` makes some to see"


def status(options: Namespace) -> int:
    """`status`: every run in short."""
    selection = chosen(options)
    if options.json:
        runs = [as_json(run.evaluate()) for run in selection.runs]
        print_json({"root": str(selection.root), "runs": runs})
        tell_beside(selection)
        return answered(selection)
    tell(selection)
    views.status([run.shown() for run in selection.runs])
    return answered(selection)


def next_step(options: Namespace) -> int:
    """`next`: the next step of each run. Refused where nothing can go on or nothing can be said."""
    selection = chosen(options)
    evaluations = [run.evaluate() if options.json else run.shown() for run in selection.runs]
    if options.json:
        whole = [as_json(e) for e in evaluations]
        print_json(whole[0] if selection.one else {"root": str(selection.root), "runs": whole})
        tell_beside(selection)
    else:
        tell(selection)
        where = command_hints.root_words(selection.root, options.root)
        emit(views.paragraphs([views.next_step(e, where)] for e in evaluations))
    if any(e.status in ("invalid", "blocked") for e in evaluations):
        return answered(selection, REFUSED)
    return answered(selection, WAITING if any(map(awaits_person, evaluations)) else OK)


def _part(options: Namespace, key: str, lines: Callable[[Evaluation, Sequence[str]], Iterable[Line]]) -> int:
    """A command that shows one part of every run's evaluation."""
    selection = chosen(options)
    if options.json:
        whole = (as_json(run.evaluate()) for run in selection.runs)
        runs = [{name: data[name] for name in ("root", "run", "revision", key)} for data in whole]
        print_json({"root": str(selection.root), "runs": runs})
        tell_beside(selection)
        return answered(selection)
    tell(selection)
    where = command_hints.root_words(selection.root, options.root)
    emit(views.paragraphs([lines(run.shown(), where)] for run in selection.runs))
    return answered(selection)


def gates(options: Namespace) -> int:
    """`gates`: every gate with its criteria."""
    return _part(options, "gates", lambda e, _: views.gates(e))


def questions(options: Namespace) -> int:
    """`questions`: what persons are asked."""
    return _part(options, "questions", lambda e, where: views.questions(e, e.questions, where))


def escalations(options: Namespace) -> int:
    """`escalations`: the questions of that kind."""
    return _part(options, "escalations", lambda e, where: views.questions(e, e.escalations, where))


def explain(options: Namespace) -> int:
    """`explain`: what was looked at, in order."""
    from ....orchestration.rendering import explanation as explain

    selection = chosen(options)
    if options.json:
        runs = [explain.as_json(run.look()) for run in selection.runs]
        print_json({"root": str(selection.root), "runs": runs})
        tell_beside(selection)
        return answered(selection)
    tell(selection)
    emit(views.paragraphs([_explained(run)] for run in selection.runs))
    return answered(selection)


def _explained(run: Chosen) -> Iterable[Line]:
    from ....orchestration.rendering import explanation as explain

    steps = run.look()
    looked = explain.explain(steps)
    looked = [replace(entry, evidence=moved_evidence(entry.evidence, run.folder)) for entry in looked]
    return views.explanation(below(steps.evaluation, run.folder), looked)


def can(options: Namespace) -> int:
    """`can`: whether a step may be done now."""
    [run] = chosen(options).runs
    steps = run.look()
    permission = check_action(steps, options.step)
    if permission is None:
        workflow = run.match.workflow
        known = ", ".join([*workflow.phases, *workflow.actions])
        raise UsageError(f"{workflow.name} has no phase or action {options.step!r}; it has {known}")
    if options.json:
        evaluation = steps.evaluation
        named = {"root": evaluation.root, "run": evaluation.run, "revision": evaluation.revision}
        print_json(named | permission._asdict())
    else:
        word = Part("yes", "good") if permission.allowed else Part("no", "bad")
        gate = f" (gate {plain(permission.gate)})" if permission.gate else ""
        emit([[word, Part(f": {plain(permission.because, 300)}{gate}")]])
    if permission.allowed:
        return OK
    return WAITING if awaits_person(steps.evaluation) else REFUSED


# ---- check ------------------------------------------------------------------------------------


def check(options: Namespace) -> int:
    """`check`: findings for people and builds. The root's own definitions are checked too."""
    selection = chosen(options)
    faults = selection.faults()
    evaluations = [run.shown() for run in selection.runs]
    checked = checks.check(evaluations, [*selection.findings(), *faults])
    _CHECK_FORMATS[options.format](checked, selection, options)
    if options.format != "text":
        complain(f"phasekeeper: {line}" for line in lines_of(faults, selection.root))
    return USAGE if faults else checked.exit_code(options.gates, "waiting" in options.allow)


def _check_text(checked: checks.Checked, selection: Selection, options: Namespace) -> None:
    if not selection.runs:
        complain(_nothing(selection))
    emit(check_views.finding_lines(checked.findings, selection.path, options.hints))
    emit([list(check_views.check_summary(checked))])


def _check_json(checked: checks.Checked, selection: Selection, options: Namespace) -> None:
    print_json(checks.as_json(checked, str(selection.root)))


def _check_sarif(checked: checks.Checked, selection: Selection, options: Namespace) -> None:
    from importlib.metadata import version

    told = checks.as_sarif(_told(checked, options), str(selection.root), version("phasekeeper"))
    sys.stdout.write(told + "\n")


def _check_github(checked: checks.Checked, selection: Selection, options: Namespace) -> None:
    sys.stdout.writelines(f"{line}\n" for line in checks.as_github(_told(checked, options), selection.path))


def _told(checked: checks.Checked, options: Namespace) -> list[Finding]:
    return checked.told(options.gates, "waiting" in options.allow)


_CHECK_FORMATS = {"text": _check_text, "json": _check_json, "sarif": _check_sarif, "github": _check_github}


# ---- workflows and examples -------------------------------------------------------------------


def workflow_list(options: Namespace) -> int:
    """`workflow list`: the known workflows and where their runs are looked for."""
    workspace = opened_at(Path(), options.root).workspaces[0]
    library = workspace.library
    faults = [found for name in library.names for found in library.faults(name)]
    workflows = [library.workflow(name) for name in library.names if not library.faults(name)]
    if options.json:
        print_json([workflow_views.summary(workflow, library) for workflow in workflows])
    else:
        emit(line for workflow in workflows for line in workflow_views.summary_lines(workflow, library))
    complain(f"phasekeeper: {line}" for line in lines_of(faults, workspace.root))
    return USAGE if faults else OK


def workflow_show(options: Namespace) -> int:
    """`workflow show`: one workflow for people, or its definition."""
    workspace = opened_at(Path(), options.root).workspaces[0]
    with definitions_of(workspace.root):
        workflow = workspace.library.workflow(options.name)
    source = workspace.library.source(options.name)
    if options.yaml and source:
        sys.stdout.write(workflow_views.printable(source.text, sys.stdout))
    else:
        emit(workflow_views.workflow_lines(workflow))
    return OK


def workflow_lint(options: Namespace) -> int:
    """`workflow lint`: what is wrong or doubtful in a definition file."""
    if not options.file.is_file():
        raise UsageError(f"{str(options.file)!r} is no file; name a YAML file with a definition")
    findings = lint_file(options.file, opened_at(options.file, None).workspaces[0].library)
    if options.json:
        print_json([finding_json(found) for found in findings])
    else:
        emit(check_views.finding_lines(findings, str, hints=True))
        if not findings:
            emit([[Part(f"{plain(str(options.file), PATH_LIMIT)}: "), Part("nothing wrong", "good")]])
    return USAGE if any(found.severity is Severity.ERROR for found in findings) else OK


def workflow_graph(options: Namespace) -> int:
    """`workflow graph`: Mermaid, on stdout."""
    from ....orchestration.rendering.mermaid import mermaid_diagram

    if bool(options.name) == bool(options.run):
        raise UsageError("name a workflow, or a run with --run")
    if options.run:
        [run] = chosen(Namespace(path=Path(), root=options.root, run=options.run)).runs
        sys.stdout.write(mermaid_diagram(run.match.workflow, run.evaluate()))
        return OK
    workspace = opened_at(Path(), options.root).workspaces[0]
    with definitions_of(workspace.root):
        sys.stdout.write(mermaid_diagram(workspace.library.workflow(options.name)))
    return OK


def demo(options: Namespace) -> int:
    """`demo`: copy the examples and show how they stand."""
    from .demo import copy_examples

    folder = options.dir
    copy_examples(folder)
    emit([[Part(f"Five small runs, one of each workflow, are in {plain(str(folder), PATH_LIMIT)}.")], []])
    views.status([run.shown() for run in chosen(Namespace(path=folder, root=folder, run=None)).runs])
    where = plain(shlex.quote(str(folder)), PATH_LIMIT)
    words = ("next", "gates", "questions", "explain", "check")
    emit([[], [Part("Go on with:")], *([Part(f"  phasekeeper {word} {where}", "run")] for word in words)])
    return OK


COMMANDS: Mapping[str, Callable[[Namespace], int]] = {
    "status": status,
    "next": next_step,
    "gates": gates,
    "questions": questions,
    "escalations": escalations,
    "explain": explain,
    "can": can,
    "check": check,
    "workflow list": workflow_list,
    "workflow show": workflow_show,
    "workflow lint": workflow_lint,
    "workflow graph": workflow_graph,
    "demo": demo,
}
