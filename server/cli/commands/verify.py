"""`verify` runs the checks of a root, `trust` has a person allow what they run."""

from __future__ import annotations

import json
import os
import threading
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ....orchestration.definition.root_config import PATH as CONFIG_PATH
from ....orchestration.definition.root_config import read_config
from ....orchestration.evidence.checks import CODE, Check
from ....orchestration.sanitize import plain
from ....orchestration.states import CheckResult
from ....orchestration.suggestions import did_you_mean
from ...checks.evidence_store import attestation_path, log_path
from ...checks.present import allow, open_questions
from ...checks.verification import CheckOutcome, Listener, Verification, is_in_head
from ...terminal.caller import path_here, stdout
from ...terminal.check_progress import CheckProgress
from ...terminal.lines import Line, Part, print_errors, print_lines
from ...workspace.head_files import HeadFiles
from ...workspace.roots import UsageError
from ...workspace.workspace import Workspace
from ..confirm import confirm
from ..output import OK, REFUSED, WAITING, print_json
from ..selection import open_workspaces

_LOG_LINES, _CHUNK_SHOWN = 20, 4_096
_STYLES = {
    CheckResult.PASSED: "good",
    CheckResult.FAILED: "bad",
    CheckResult.UNTRUSTED: "wait",
}


def verify(options: Namespace) -> int:
    """`verify`: run what is not fresh; the exit code of the worst."""
    workspace, names = _select(options)
    if not names:
        # A build in a root without checks has nothing to measure, and goes on to the gates.
        print_lines([[Part("no check is declared: nothing is measured")]])
        return OK
    verification = Verification(
        workspace.root,
        workspace.config.checks,
        workspace.run_places,
        _head_check(workspace) if options.trust_head else None,
    )
    started = time.monotonic()
    if options.json_lines:
        return _report_events(verification, names, again=options.again)
    if options.json:
        outcomes = verification.verify(names, again=options.again)
        print_json({"root": str(workspace.root), "checks": [_as_json(each) for each in outcomes]})
        return _exit_code(outcomes)
    with CheckProgress() as progress:
        verification.listener = Listener(
            progress.begin,
            progress.add_output,
            lambda outcome: progress.end(outcome.check, list(_lines(outcome))),
        )
        outcomes = verification.verify(names, again=options.again)
    if any(each.ran for each in outcomes):
        print_lines([[Part(f"{len(outcomes)} looked at in {time.monotonic() - started:.1f} s", "dim")]])
    waiting = [each.check for each in outcomes if each.state.result is CheckResult.UNTRUSTED]
    if waiting:
        print_errors([f"phasekeeper: `phasekeeper trust {' '.join(waiting)}` shows what they run, and asks"])
    return _exit_code(outcomes)


def _report_events(verification: Verification, names: Sequence[str], *, again: bool) -> int:
    """Run checks and print a line of JSON for what begins, for lines that are printed, and for what ends.

    For another program, which holds standard input open: with its end all that runs is ended.
    """
    out, lock = stdout(), threading.Lock()

    def tell(**event: Any) -> None:
        with lock, suppress(OSError, ValueError):
            out.write(f"{json.dumps(event)}\n")
            out.flush()

    def end_with_owner() -> None:
        with suppress(OSError):
            while os.read(0, 1024):
                pass
        verification.stop.set()

    def end(outcome: CheckOutcome) -> None:
        log = outcome.log.decode("utf-8", "replace").splitlines()
        tell(ends=outcome.check, outcome={**_as_json(outcome), "tail": _printable(log[-_LOG_LINES:])})

    def add_output(check: str, chunk: bytes) -> None:
        lines = chunk[-_CHUNK_SHOWN:].decode("utf-8", "replace").splitlines()
        tell(prints=check, lines=_printable([line for line in lines if line.strip()][-_LOG_LINES:]))

    threading.Thread(target=end_with_owner, daemon=True).start()
    verification.listener = Listener(lambda check: tell(begins=check), add_output, end)
    return _exit_code(verification.verify(names, again=again))


def _printable(lines: Sequence[str]) -> list[str]:
    return [plain(line, 300) for line in lines]


def _select(options: Namespace) -> tuple[Workspace, list[str]]:
    """The root that is meant, and the checks. Raises UsageError."""
    words: list[str] = list(options.checks)
    workspace = open_workspaces(Path(), options.root).workspaces[0]
    if words and words[0] not in workspace.config.checks and path_here(Path(words[0])).exists():
        workspace = open_workspaces(Path(words.pop(0)), options.root).workspaces[0]
    checks = workspace.config.checks
    wrong = [found for found in workspace.config.findings if found.code == CODE]
    if wrong:
        line = wrong[0].span.line + 1 if wrong[0].span else 1
        raise UsageError(f"{CONFIG_PATH}:{line}: {wrong[0].message}; nothing is run before it is mended")
    if not checks and not (getattr(options, "trust_head", False)):
        raise UsageError(f"no check is declared under `checks:` in {workspace.root / CONFIG_PATH}")
    for word in words:
        if word not in checks:
            raise UsageError(f"there is no check {word!r}{did_you_mean(word, list(checks))}")
    return workspace, list(dict.fromkeys(words)) or list(checks)


def _head_check(workspace: Workspace) -> Any:
    """A test of definitions: whether the commit HEAD holds them."""
    head = HeadFiles(workspace.root)
    config = (head.read(CONFIG_PATH) or b"").decode("utf-8", "replace")
    checks: Mapping[str, Check] = read_config(config).checks
    return lambda definition: is_in_head(definition, checks, head.read)


def _exit_code(outcomes: Sequence[CheckOutcome]) -> int:
    results = {each.state.result for each in outcomes}
    if results - {CheckResult.PASSED, CheckResult.UNTRUSTED}:
        return REFUSED
    return WAITING if CheckResult.UNTRUSTED in results else OK


def _lines(outcome: CheckOutcome) -> Iterator[Line]:
    """What came of a check, with the end of its output where it did not pass."""
    state = outcome.state
    known = "" if outcome.ran or not state.is_fresh else "; nothing changed since it ran"
    if known and state.result is CheckResult.FAILED:
        known += ", and --again runs it all the same"
    head = Part(f"{state.check}: {state.result.value}", _STYLES.get(state.result, "warn"))
    yield [head, Part(f", {plain(state.reason, 400)}{known}")]
    for each in state.shrinkage:
        yield [Part(f"  {each.now:g} {each.what}, {each.before:g} when it passed before", "warn")]
    if not outcome.ran or state.result is CheckResult.PASSED:
        return
    lines = outcome.log.decode("utf-8", "replace").splitlines()
    for line in lines[-_LOG_LINES:]:
        yield [Part(f"  | {plain(line, 300)}", "dim")]
    yield [Part(f"  the whole output: {log_path(state.check)}", "dim")]


def _as_json(outcome: CheckOutcome) -> dict[str, Any]:
    state = outcome.state
    shrunk = [{"code": s.code, "before": s.before, "now": s.now} for s in state.shrinkage]
    return state.data() | {
        "ran": outcome.ran,
        "attestation": attestation_path(state.check),
        "log": log_path(state.check),
        "shrinkage": shrunk,
    }


# ---- trust --------------------------------------------------------------------------------------


def trust(options: Namespace) -> int:
    """`trust`: show each check that waits for it, and keep that a person allowed it."""
    workspace, names = _select(options)
    config, places = workspace.config.checks, workspace.run_places
    waiting = open_questions(workspace.root, config, places, names)
    if not waiting:
        print_lines([[Part(f"allowed as they are: {', '.join(names)}", "good")]])
        return OK
    for question in waiting:
        confirm(question.lines, question.check)
        allow(question)
        print_lines([[Part(f"allowed: {question.check}", "good")]])
    return OK
