"""The reading commands: which runs, evaluated, shown as lines or JSON. Each returns its exit code."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ....orchestration.evaluation.trace import EvaluationTrace, check_action
from ....orchestration.evaluation.write_check import check_write
from ....orchestration.result.held_tasks import without_held_tasks
from ....orchestration.result.values import Evaluation, as_json
from ....orchestration.sanitize import plain
from ....orchestration.states import Basis, RunStatus
from ....tools.project_paths import rebase_checks, rebase_evaluation, rebase_evidence
from ....tools.run_names import awaits_person
from ...checks.changed_lines import ChangedLines
from ...terminal import run_views as views
from ...terminal.caller import stdout
from ...terminal.finding_views import check_summary, error_lines, finding_lines
from ...terminal.lines import Line, Part, print_errors, print_lines
from ...version import VERSION
from ...workspace.roots import UsageError
from ..output import OK, REFUSED, USAGE, WAITING, exit_code, no_run_lines, print_json, print_root_problems
from ..selection import SelectedRun, held_tasks, root_option, select_runs


def status(options: Namespace) -> int:
    """`status`: every run in short, or in a line; with --waiting those in which a person is awaited."""
    if options.fleet:
        from .fleet import board  # late: one machine alone has none

        return board(options)
    selection = select_runs(options)
    runs = [run for run in selection.runs if not options.waiting or awaits_person(run.evaluate())]
    if options.json:
        print_json({"root": str(selection.root), "runs": [as_json(run.evaluate()) for run in runs]})
    print_root_problems(selection, as_json=options.json)
    if not options.json:
        views.print_status([run.evaluate_from_root() for run in runs], oneline=options.oneline)
        if options.waiting and selection.runs and not runs:
            print_errors(["phasekeeper: no run waits for a person"])
    return exit_code(selection)


def _answer(
    options: Namespace,
    data: Callable[[SelectedRun], Mapping[str, Any]],
    lines: Callable[[SelectedRun, Sequence[str]], Iterable[Line]],
) -> int:
    """Answer about the runs that are meant: `data` of each as JSON, or `lines` of each."""
    selection = select_runs(options)
    if options.json:
        print_json({"root": str(selection.root), "runs": [data(run) for run in selection.runs]})
        print_root_problems(selection, as_json=True)
        return exit_code(selection)
    print_root_problems(selection, as_json=False)
    where = root_option(selection.root, options.root)
    print_lines(views.paragraphs(lines(run, where) for run in selection.runs))
    return exit_code(selection)


def next_step(options: Namespace) -> int:
    """`next`: the next step of each run. CommandRefused where nothing can go on or nothing can be said."""
    selection = select_runs(options)
    if options.json:
        evaluations = [*map(_evaluate, selection.runs)]
        answers = [
            _next_step_json(run, e if options.plan else e.without_tasks)
            for run, e in zip(selection.runs, evaluations, strict=True)
        ]
        print_json(answers[0] if selection.one else {"root": str(selection.root), "runs": answers})
        print_root_problems(selection, as_json=True)
    else:
        evaluations = [*map(_evaluate_from_root, selection.runs)]
        print_root_problems(selection, as_json=False)
        where = root_option(selection.root, options.root)
        held = [held_tasks(run.workspace, run.evaluate()) for run in selection.runs]
        shown = zip(evaluations, held, strict=True)
        print_lines(views.paragraphs(views.next_step_lines(e, where, taken) for e, taken in shown))
    if any(e.status in (RunStatus.INVALID, RunStatus.BLOCKED) for e in evaluations):
        return exit_code(selection, REFUSED)
    return exit_code(selection, WAITING if any(map(awaits_person, evaluations)) else OK)


def _next_step_json(run: SelectedRun, evaluation: Evaluation) -> Mapping[str, Any]:
    """The evaluation without the tasks that others have on their machines, which are named besides."""
    held = held_tasks(run.workspace, evaluation)
    data = as_json(without_held_tasks(evaluation, held))
    return {**data, "heldElsewhere": [each._asdict() for each in held]} if held else data


def _evaluate(run: SelectedRun) -> Evaluation:
    """The evaluation, with the lines at which inputs of checks changed."""
    return ChangedLines(run.workspace.root).evaluation(run.evaluate())


def _evaluate_from_root(run: SelectedRun) -> Evaluation:
    return rebase_evaluation(_evaluate(run), run.folder)


def _part(options: Namespace, key: str, lines: Callable[[Evaluation, Sequence[str]], Iterable[Line]]) -> int:
    """Show one part of every run's evaluation: `key` of its JSON, or lines of it."""

    def data(run: SelectedRun) -> Mapping[str, Any]:
        whole = as_json(_evaluate(run).without_tasks)
        return {name: whole[name] for name in ("root", "run", "revision", key)}

    return _answer(options, data, lambda run, where: lines(_evaluate_from_root(run), where))


def gates(options: Namespace) -> int:
    """`gates`: every gate with its criteria."""
    return _part(options, "gates", lambda e, _: views.gate_lines(e))


def questions(options: Namespace) -> int:
    """`questions`: what persons are asked."""
    return _part(options, "questions", lambda e, where: views.question_lines(e, e.questions, where))


def escalations(options: Namespace) -> int:
    """`escalations`: the questions of that kind; with --markdown in the form of seed 004."""
    if not options.markdown:
        return _part(options, "escalations", lambda e, where: views.question_lines(e, e.escalations, where))
    from ....orchestration.rendering.escalation_markdown import escalations_markdown

    selection = select_runs(options)
    print_root_problems(selection, as_json=False)
    texts = [text for run in selection.runs if (text := escalations_markdown(run.evaluate_from_root()))]
    stdout().write("\n".join(texts))
    print_errors([] if texts else ["phasekeeper: no escalation is open"])
    return OK


def explain(options: Namespace) -> int:
    """`explain`: what was looked at, in order."""
    from ....orchestration.rendering import explanation

    def look(run: SelectedRun) -> tuple[Evaluation, list[explanation.ExplanationEntry]]:
        steps, changed = run.look(), ChangedLines(run.workspace.root)
        entries = explanation.explain(steps)
        return steps.evaluation, [replace(each, checks=changed.checks(each.checks)) for each in entries]

    def lines(run: SelectedRun, _: Sequence[str]) -> Iterable[Line]:
        evaluation, entries = look(run)
        rebased = [
            replace(
                entry,
                evidence=rebase_evidence(entry.evidence, run.folder),
                checks=rebase_checks(entry.checks, run.folder),
            )
            for entry in entries
        ]
        return views.explanation_lines(rebase_evaluation(evaluation, run.folder), rebased)

    return _answer(options, lambda run: explanation.as_json(*look(run)), lines)


def can(options: Namespace) -> int:
    """`can`: the permission for a step, or for writing a file, now."""
    if (options.step is None) == (options.write is None):
        raise UsageError("say a step or --write FILE, one of them")
    [run] = select_runs(options).runs
    steps = run.look()
    if options.write is not None:
        return _can_write(steps, options)
    permission = check_action(steps, options.step)
    if permission is None:
        workflow = run.match.workflow
        known = ", ".join([*workflow.phases, *workflow.actions])
        raise UsageError(f"{workflow.name} has no phase or action {options.step!r}; it has {known}")
    if options.json:
        print_json(_head(steps) | permission._asdict())
    else:
        answer = Part("yes", "good") if permission.allowed else Part("no", "bad")
        gate = f" (gate {plain(permission.gate)})" if permission.gate else ""
        print_lines([[answer, Part(f": {plain(permission.because, 300)}{gate}")]])
    if permission.allowed:
        return OK
    return WAITING if awaits_person(steps.evaluation) else REFUSED


def _can_write(steps: EvaluationTrace, options: Namespace) -> int:
    refusal = check_write(steps, options.write)
    if options.json:
        said = refusal._asdict() if refusal else {}
        print_json(_head(steps) | {"path": options.write, "allowed": refusal is None} | said)
    elif refusal is None:
        print_lines([[Part("yes", "good"), Part(": this run says nothing against it")]])
    else:
        gate = f" (gate {plain(refusal.gate)})" if refusal.gate else ""
        because, instead = plain(refusal.because, 300), plain(refusal.instead, 300)
        print_lines([[Part("no", "bad"), Part(f": {because}{gate}")], [Part(f"instead: {instead}")]])
    return OK if refusal is None else REFUSED


def _head(steps: EvaluationTrace) -> dict[str, str]:
    evaluation = steps.evaluation
    return {"root": evaluation.root, "run": evaluation.run, "revision": evaluation.revision}


def check(options: Namespace) -> int:
    """`check`: findings in the form that is asked for. The root's own definitions are checked too."""
    from ....tools import check as checks  # late, as the explanation above: most commands need neither

    if options.basis and not options.gates:
        raise UsageError("--basis is about gates: say --gates too")
    selection = select_runs(options)
    faults = selection.faults()
    evaluations = [run.evaluate_from_root() for run in selection.runs]
    basis = Basis(options.basis) if options.basis else None
    of_roots = [*selection.findings(), *selection.check_findings(), *faults]
    checked = checks.check(evaluations, of_roots, basis)
    allow_waiting = "waiting" in options.allow
    findings = checked.for_build(options.gates, allow_waiting)
    root = str(selection.root)
    if options.format == "text":
        print_errors(() if selection.runs else no_run_lines(selection))
        told = [*checked.findings, *checked.weak_findings()]
        print_lines(finding_lines(told, selection.path, options.hints))
        print_lines([list(check_summary(checked))])
    else:
        if options.format == "json":
            print_json(checks.as_json(checked, root))
        elif options.format == "sarif":
            stdout().write(checks.as_sarif(findings, root, VERSION) + "\n")
        else:
            stdout().writelines(f"{line}\n" for line in checks.as_github(findings, selection.path))
        print_errors(f"phasekeeper: {line}" for line in error_lines(faults, selection.root))
    return USAGE if faults else checked.exit_code(options.gates, allow_waiting)
