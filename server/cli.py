"""The command line. Exit codes and JSON are those of the design, section 7."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..orchestration.definition import InvalidWorkflow
from ..orchestration.discovery import Match
from ..orchestration.display import plain
from ..orchestration.evaluate import Steps, may
from ..orchestration.evaluation import Evaluation, as_json
from ..orchestration.findings import Finding, Severity
from ..tools import checks
from ..tools.runs import NoSuchRun, awaits_person, find_run
from . import terminal
from .library import Library, UnknownWorkflow
from .roots import UsageError
from .workspace import Opened, Workspace, open_path

OK, REFUSED, USAGE, WAITING = 0, 1, 2, 3

_EPILOG = """\
exit codes:
  check      0 clean, 1 an error finding (or a failed gate with --gates), 3 a person is awaited, 2 wrong use
  next, can  0, 1 refused, 3 a person is awaited, 2 wrong use
  others     0, 2 wrong use

RUN is a run's path from the root or its last segments. Start with `phasekeeper demo`.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if not hasattr(options, "command"):
        parser.print_help()
        return OK
    try:
        return options.command(options)
    except (UsageError, NoSuchRun, UnknownWorkflow) as error:
        return _wrong(str(error))
    except InvalidWorkflow as error:
        for found in error.findings[:20]:
            sys.stderr.write(f"phasekeeper: {_at(found)}\n")
        return USAGE
    except BrokenPipeError:
        # The reader of a pipe went away, as `head` does; Python would complain again while it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        return 130


def _wrong(message: str) -> int:
    sys.stderr.write(f"phasekeeper: {plain(message, 600)}\n")
    return USAGE


def _at(found: Finding) -> str:
    at = f":{found.span.line + 1}:{found.span.column + 1}" if found.span else ""
    return f"{plain(found.path)}{at}: {plain(found.message, 400)}"


# ---- arguments --------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="phasekeeper",
        description="Says, from the files alone, which phase each piece of work is in, what comes next and why, "
        "whether the gate is open, and whether a person is needed.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"phasekeeper {version('phasekeeper')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _reading(commands, "status", _status, "every run: phase, status, progress, next step, open gates, questions")
    _reading(commands, "next", _next, "the next step, why, and on what evidence")
    _reading(commands, "gates", _gates, "the gates, their criteria and the evidence for each")
    _reading(commands, "questions", _questions, "what a person is asked")
    _reading(commands, "escalations", _escalations, "the questions that are escalations")
    _reading(commands, "explain", _explain, "every rule and criterion that was looked at, with the values seen")
    _can_arguments(commands)
    _check_arguments(commands)
    _workflow_arguments(commands)
    demo = _command(commands, "demo", _demo, "copy small examples of all five workflows and show their status")
    demo.add_argument("dir", nargs="?", type=Path, default=Path("phasekeeper-demo"), metavar="DIR", help="a new folder")
    return parser


def _command(commands: Any, name: str, command: Any, about: str) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
    parser.set_defaults(command=command)
    return parser


def _reading(commands: Any, name: str, command: Any, about: str) -> None:
    parser = _command(commands, name, command, about)
    parser.add_argument("path", nargs="?", type=Path, default=Path(), metavar="PATH", help="a folder or file in the root (.)")
    parser.add_argument("--root", type=Path, help="the root, where it should not be looked for")
    parser.add_argument("--run", help="one run only")
    parser.add_argument("--json", action="store_true", help="the answer as JSON")


def _can_arguments(commands: Any) -> None:
    parser = _command(commands, "can", _can, "may this phase or action be done now")
    parser.add_argument("run", metavar="RUN", help="the run")
    parser.add_argument("step", metavar="STEP", help="a phase or an action")
    parser.add_argument("path", nargs="?", type=Path, default=Path(), metavar="PATH", help="a folder in the root (.)")
    parser.add_argument("--root", type=Path, help="the root, where it should not be looked for")
    parser.add_argument("--json", action="store_true", help="the answer as JSON")


def _check_arguments(commands: Any) -> None:
    parser = _command(commands, "check", _check, "findings with file, line and column, for terminals and builds")
    parser.add_argument("path", nargs="?", type=Path, default=Path(), metavar="PATH", help="a folder or file in the root (.)")
    parser.add_argument("--root", type=Path, help="the root, where it should not be looked for")
    parser.add_argument("--run", help="one run only")
    parser.add_argument("--format", choices=("text", "json", "sarif", "github"), default="text", help="text")
    parser.add_argument("--gates", action="store_true", help="a failed gate fails the check too")
    parser.add_argument("--allow", choices=("waiting",), action="append", default=[], help="a person being awaited is no failure")
    parser.add_argument("--hints", action="store_true", help="show hints too")


def _workflow_arguments(commands: Any) -> None:
    parser = commands.add_parser("workflow", help="the workflows: list, show, lint, graph")
    parser.set_defaults(command=lambda options: parser.print_help() or OK)
    inner = parser.add_subparsers(title="commands", metavar="COMMAND")
    listing = _command(inner, "list", _workflow_list, "every workflow that is known here")
    listing.add_argument("--root", type=Path, help="the root whose own workflows count (the one of .)")
    listing.add_argument("--json", action="store_true", help="the answer as JSON")
    show = _command(inner, "show", _workflow_show, "one workflow: its phases, gates, limits and questions")
    show.add_argument("name", metavar="NAME")
    show.add_argument("--yaml", action="store_true", help="the definition itself, to start your own from")
    show.add_argument("--root", type=Path, help="the root whose own workflows count (the one of .)")
    lint = _command(inner, "lint", _workflow_lint, "check a definition; exit 2 when it cannot be used")
    lint.add_argument("file", type=Path, metavar="FILE")
    lint.add_argument("--json", action="store_true", help="the answer as JSON")
    graph = _command(inner, "graph", _workflow_graph, "a workflow or a run as a Mermaid diagram")
    graph.add_argument("name", nargs="?", metavar="NAME")
    graph.add_argument("--run", help="mark where this run stands")
    graph.add_argument("--root", type=Path, help="the root (the one of .)")


# ---- finding runs -----------------------------------------------------------------------------


def _selected(options: argparse.Namespace) -> tuple[Opened, list[tuple[Workspace, Match]]]:
    """The opened path and the runs that are meant: --run, else those the path lies in or holds, else all."""
    opened = open_path(options.path, options.root)
    found = [(workspace, match) for workspace in opened.workspaces for match in workspace.matches]
    wanted = getattr(options, "run", None)
    if wanted:
        name = find_run([match.run for _, match in found], wanted)
        return opened, [(w, m) for w, m in found if m.run == name]
    if opened.run is not None:
        inside = [(w, m) for w, m in found if _lies_in(opened.run, m.run) or _lies_in(m.run, opened.run)]
        first = opened.workspaces[0]
        found = [(w, m) for w, m in inside if w is first] or found
    return opened, found


def _lies_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/") or folder == ""


def _evaluations(options: argparse.Namespace) -> tuple[Opened, list[Evaluation]]:
    opened, found = _selected(options)
    return opened, [workspace.evaluate(match) for workspace, match in found]


def _print_json(data: Any) -> None:
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=True, default=str) + "\n")


def _nothing(opened: Opened) -> None:
    root = opened.workspaces[0].root
    sys.stderr.write(f"phasekeeper: no run was found in {plain(str(root))}; `phasekeeper demo` shows what runs look like\n")


def _tell_root(opened: Opened) -> None:
    """What is wrong with the root's own configuration, on stderr, so that no answer hides it."""
    for workspace in opened.workspaces:
        for found in (*workspace.findings, *opened.findings):
            sys.stderr.write(f"phasekeeper: {_at(found)}\n")


# ---- reading ----------------------------------------------------------------------------------


def _status(options: argparse.Namespace) -> int:
    opened, evaluations = _evaluations(options)
    if options.json:
        _print_json({"root": str(opened.workspaces[0].root), "runs": [as_json(e) for e in evaluations]})
        return OK
    _tell_root(opened)
    if not evaluations:
        _nothing(opened)
    terminal.status(evaluations)
    return OK


def _next(options: argparse.Namespace) -> int:
    opened, evaluations = _evaluations(options)
    if options.json:
        one = len(evaluations) == 1 and (options.run or opened.run is not None)
        root = str(opened.workspaces[0].root)
        _print_json(as_json(evaluations[0]) if one else {"root": root, "runs": [as_json(e) for e in evaluations]})
    else:
        _tell_root(opened)
        if not evaluations:
            _nothing(opened)
        _paragraphs([list(terminal.next_step(e)) for e in evaluations])
    return WAITING if any(awaits_person(e) for e in evaluations) else OK


def _paragraphs(blocks: Sequence[Sequence[terminal.Line]]) -> None:
    for place, block in enumerate(blocks):
        terminal.emit([*([[]] if place else []), *block])


def _part(options: argparse.Namespace, name: str, lines: Any) -> int:
    """A command that shows one part of every run's evaluation."""
    opened, evaluations = _evaluations(options)
    if options.json:
        runs = [{key: as_json(e)[key] for key in ("root", "run", "revision", name)} for e in evaluations]
        _print_json({"root": str(opened.workspaces[0].root), "runs": runs})
        return OK
    _tell_root(opened)
    if not evaluations:
        _nothing(opened)
    _paragraphs([list(lines(e)) for e in evaluations])
    return OK


def _gates(options: argparse.Namespace) -> int:
    return _part(options, "gates", terminal.gates)


def _questions(options: argparse.Namespace) -> int:
    return _part(options, "questions", lambda e: terminal.questions(e, e.questions))


def _escalations(options: argparse.Namespace) -> int:
    return _part(options, "escalations", lambda e: terminal.questions(e, e.escalations))


def _explain(options: argparse.Namespace) -> int:
    from ..orchestration import explain

    opened, found = _selected(options)
    looks: list[Steps] = [workspace.look(match) for workspace, match in found]
    if options.json:
        _print_json({"root": str(opened.workspaces[0].root), "runs": [explain.as_json(steps) for steps in looks]})
        return OK
    _tell_root(opened)
    if not looks:
        _nothing(opened)
    _paragraphs([list(terminal.explanation(steps.evaluation, explain.explain(steps))) for steps in looks])
    return OK


def _can(options: argparse.Namespace) -> int:
    _, found = _selected(options)
    workspace, match = found[0]
    steps = workspace.look(match)
    permission = may(steps, options.step)
    if permission is None:
        names = [*match.workflow.phases, *match.workflow.actions]
        raise UsageError(f"{match.workflow.name} has no phase or action {options.step!r}; it has {', '.join(names)}")
    awaited = not permission.allowed and awaits_person(steps.evaluation)
    if options.json:
        data = {"root": str(workspace.root), "run": match.run, "revision": steps.evaluation.revision}
        _print_json(data | permission._asdict())
    else:
        word = terminal.Part("yes", "good") if permission.allowed else terminal.Part("no", "bad")
        gate = f" (gate {permission.gate})" if permission.gate else ""
        terminal.emit([[word, terminal.Part(f": {plain(permission.because, 300)}{gate}")]])
    return OK if permission.allowed else WAITING if awaited else REFUSED


# ---- check ------------------------------------------------------------------------------------


def _check(options: argparse.Namespace) -> int:
    opened, evaluations = _evaluations(options)
    root = opened.workspaces[0].root
    more = [found for workspace in opened.workspaces for found in workspace.findings]
    checked = checks.check(evaluations, [*more, *opened.findings])
    if options.format == "json":
        _print_json(checks.as_json(checked, str(root)))
    elif options.format == "sarif":
        sys.stdout.write(checks.as_sarif(checked, str(root), version("phasekeeper")) + "\n")
    elif options.format == "github":
        for line in checks.as_github(checked, lambda path: _from_here(root, path)):
            sys.stdout.write(line + "\n")
    else:
        _check_text(checked, root, options.hints)
    return checked.exit_code(options.gates, "waiting" in options.allow)


def _check_text(checked: checks.Checked, root: Path, hints: bool) -> None:
    terminal.emit(terminal.finding_lines(checks.as_text(checked, lambda path: _from_here(root, path), hints)))
    counts = [(checked.count(Severity.ERROR), "error", "bad"), (checked.count(Severity.WARNING), "warning", "warn")]
    parts = [terminal.Part(f"{checked.runs} run{_s(checked.runs)}", "dim")]
    parts += [terminal.Part(f", {count} {word}{_s(count)}", style) for count, word, style in counts if count]
    parts += [terminal.Part(f", gate {gate} of {plain(run)} failed", "bad") for run, gate in checked.shut]
    parts += [terminal.Part(f", {len(checked.waiting)} waiting for a person", "wait")] if checked.waiting else []
    terminal.emit([parts])


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _from_here(root: Path, path: str) -> str:
    """A root-relative path as it is seen from the current folder."""
    whole = root / path
    try:
        return Path(os.path.relpath(whole)).as_posix()
    except ValueError:
        # Another drive.
        return whole.as_posix()


# ---- workflows --------------------------------------------------------------------------------


def _library(root: Path | None) -> Library:
    return open_path(Path(), root).workspaces[0].library


def _workflow_list(options: argparse.Namespace) -> int:
    library = _library(options.root)
    workflows = [library.workflow(name) for name in library.names]
    if options.json:
        _print_json([{"name": w.name, "title": w.title, "digest": w.digest, "builtIn": w.name in library.built_in, "at": list(w.at)} for w in workflows])
        return OK
    width = max(len(w.name) for w in workflows)
    for w in workflows:
        where = "built in" if w.name in library.built_in else library.own[w.name].path
        terminal.emit([[terminal.Part(w.name.ljust(width), "run"), terminal.Part(f"  {plain(w.title)}"), terminal.Part(f"  ({plain(where)})", "dim")]])
    return OK


def _workflow_show(options: argparse.Namespace) -> int:
    from .showing import workflow_lines

    library = _library(options.root)
    workflow = library.workflow(options.name)
    if options.yaml:
        source = library.source(options.name)
        sys.stdout.write(source.text if source else "")
        return OK
    terminal.emit(workflow_lines(workflow))
    return OK


def _workflow_lint(options: argparse.Namespace) -> int:
    from .showing import lint

    file: Path = options.file
    if not file.is_file():
        raise UsageError(f"{file} is no file")
    findings = lint(file, _library(None))
    if options.json:
        from ..orchestration.evaluation import finding_json

        _print_json([finding_json(found) for found in findings])
    else:
        terminal.emit(terminal.finding_lines([f"{plain(f.path)}{_colon(f)}: {f.severity} {f.code}: {plain(f.message, 400)}" for f in findings]))
        if not findings:
            terminal.emit([[terminal.Part(f"{plain(str(file))}: ", ""), terminal.Part("nothing wrong", "good")]])
    return USAGE if any(found.severity is Severity.ERROR for found in findings) else OK


def _colon(found: Finding) -> str:
    return f":{found.span.line + 1}:{found.span.column + 1}" if found.span else ""


def _workflow_graph(options: argparse.Namespace) -> int:
    from ..orchestration.graph import graph

    if bool(options.name) == bool(options.run):
        raise UsageError("name a workflow, or a run with --run")
    if options.run:
        options.path = Path()
        _, found = _selected(options)
        workspace, match = found[0]
        sys.stdout.write(graph(match.workflow, workspace.evaluate(match)))
    else:
        sys.stdout.write(graph(_library(options.root).workflow(options.name)))
    return OK


# ---- demo -------------------------------------------------------------------------------------


def _demo(options: argparse.Namespace) -> int:
    from .demo import copy_examples

    copy_examples(options.dir)
    sys.stdout.write(f"five small runs, one of each workflow, are in {plain(str(options.dir))}\n\n")
    opened = open_path(options.dir, options.dir)
    terminal.status([w.evaluate(match) for w in opened.workspaces for match in w.matches])
    sys.stdout.write(f"\ntry: phasekeeper next {_quoted(options.dir)} · phasekeeper explain {_quoted(options.dir)} · phasekeeper check {_quoted(options.dir)}\n")
    return OK


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))


if __name__ == "__main__":
    sys.exit(main())
