"""`phasekeeper check`: findings for people and builds."""

from __future__ import annotations

import sys
from argparse import Namespace

from ....tools import check as checks
from ...terminal.finding_views import check_summary, error_lines, finding_lines
from ...terminal.lines import print_errors, print_lines
from ...version import VERSION
from ..output import USAGE, no_run_lines, print_json
from ..selection import select_runs


def check(options: Namespace) -> int:
    """`check`: findings in the form that is asked for. The root's own definitions are checked too."""
    selection = select_runs(options)
    faults = selection.faults()
    evaluations = [run.evaluate_from_root() for run in selection.runs]
    checked = checks.check(evaluations, [*selection.findings(), *faults])
    allow_waiting = "waiting" in options.allow
    root = str(selection.root)
    if options.format == "text":
        print_errors(() if selection.runs else no_run_lines(selection))
        print_lines(finding_lines(checked.findings, selection.path, options.hints))
        print_lines([list(check_summary(checked))])
    elif options.format == "json":
        print_json(checks.as_json(checked, root))
    elif options.format == "sarif":
        sys.stdout.write(
            checks.as_sarif(checked.for_build(options.gates, allow_waiting), root, VERSION) + "\n"
        )
    else:
        found = checked.for_build(options.gates, allow_waiting)
        sys.stdout.writelines(f"{line}\n" for line in checks.as_github(found, selection.path))
    if options.format != "text":
        print_errors(f"phasekeeper: {line}" for line in error_lines(faults, selection.root))
    return USAGE if faults else checked.exit_code(options.gates, allow_waiting)
