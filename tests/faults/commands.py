"""Commands as people run them, each on a root made ready for it."""

from __future__ import annotations

import json
import os
import pty
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple, TextIO
from unittest import mock

from phasekeeper.orchestration.result.values import as_json
from phasekeeper.server.cli.commands import init
from phasekeeper.server.cli.commands import repair as repair_command
from phasekeeper.server.cli.commands import write as writing
from phasekeeper.server.cli.main import main
from phasekeeper.server.disk import decision_keys as decide
from phasekeeper.server.store import claims, commit, repair
from phasekeeper.server.workspace import apply
from phasekeeper.server.workspace.workspace import Workspace

T1 = ".ai-tools-chain/tasks/T1"
P1 = ".phasekeeper/sessions/P1"
M1 = ".orchestrator/tasks/M1"
ADA = "Ada <ada@example.org>"
# Far off, so that a claim made then is alive now.
NOON = datetime(2099, 3, 1, 12, 0, tzinfo=UTC)
PLAN = """\
# Feature - Master Plan

**Status**: [~] In Progress

## Phase 1: Foundation (2h)

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 1 | f-01 | `01-first.md` | What it does | impl | [x] |
| 2 | f-02 | `02-tests.md` | Tests of the stage | **test** | [ ] |

**Progress**: 1/2 tasks complete (50%)
"""
COMPONENTS = {
    "components": [{"id": "c1", "artifact_path": "docs/c1.md"}, {"id": "c2", "artifact_path": "d.md"}]
}


ACKNOWLEDGED = (0, 3)
"""Exit codes of what was carried out: fine, and a person is awaited now."""


class Result(NamedTuple):
    code: int
    out: str
    err: str


class Command(NamedTuple):
    """`words` on a terminal where `typed` is typed ("" for nobody there). `begins` is where it has read all
    and goes on to write, as module and name. `ready` makes the root ready. One that is not `whole` does
    several things one after the other; one that is not `exact` may come to the same by other records."""

    words: tuple[str, ...]
    ready: Callable[[Path], object]
    run: str = T1
    typed: str = ""
    stdin: str = ""
    begins: tuple[Any, str] = (apply, "apply_command")
    whole: bool = True
    exact: bool = True


# ---- roots that are ready for a command -------------------------------------------------------


def do(*words: str, typed: str = "", stdin: str = "") -> Result:
    """Run a command in this process and in this folder."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), terminal(typed, stdin, err):
        code = main(words)
    return Result(code, out.getvalue(), err.getvalue())


@contextmanager
def terminal(typed: str, stdin: str, err: TextIO) -> Iterator[None]:
    """Standard input and error as a terminal where a person has typed a line; without one, as texts."""
    if not typed:
        with mock.patch.object(sys, "stdin", StringIO(stdin)), redirect_stderr(err):
            yield
        return
    person, theirs = pty.openpty()
    os.write(person, f"{typed}\n".encode())
    with ExitStack() as stack:
        stack.callback(os.close, person)
        source = stack.enter_context(os.fdopen(os.dup(theirs), "r"))
        target = stack.enter_context(os.fdopen(theirs, "w"))
        stack.enter_context(mock.patch.object(sys, "stdin", source))
        stack.enter_context(mock.patch.object(sys, "stderr", target))
        yield
        target.flush()
        err.write(_shown(person))


def _shown(person: int) -> str:
    """What stands on a terminal, without waiting for more."""
    os.set_blocking(person, False)
    parts: list[bytes] = []
    with suppress(BlockingIOError):
        while True:
            parts.append(os.read(person, 4096))
    return b"".join(parts).decode()


@contextmanager
def quiet(state: Path) -> Iterator[None]:
    """A fixed clock and name, and a key of its own: the same command leaves the same bytes each time."""
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, {"XDG_STATE_HOME": str(state)}))
        stack.enter_context(mock.patch.object(writing, "actor", lambda _root: ADA))
        stack.enter_context(mock.patch.object(apply, "secrets", mock.Mock(token_hex=lambda size: "a" * size)))
        for each in (commit.commit, claims.claim, claims.release, repair.repair):
            stack.enter_context(mock.patch.dict(each.__kwdefaults__, {"clock": lambda: NOON}))
        yield


def make(*words: str) -> None:
    """Carry out a command that has to succeed."""
    result = do(*words)
    assert result.code in ACKNOWLEDGED, result


def put(path: Path, content: str | Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2) + "\n")


def begun(root: Path) -> None:
    make("start", "artifact-pipeline", "T1")
    put(root / T1 / "planning/planning.ai.json", {"id": "T1"})


def asked(root: Path) -> None:
    """A change that awaits a person's decision."""
    begun(root)
    put(root / T1 / "review/plan-review.json", {"ok": True, "issues": []})
    put(root / T1 / "code/diff.patch", "--- a/f.py\n+++ b/f.py\n@@ -1 +1 @@\n-OLD = 1\n+NEW = 1\n")
    put(root / T1 / "code/files/f.py", "NEW = 1\n")
    put(root / T1 / "review/code-review.json", {"ok": True, "blocking_issues": []})
    results = [{"step": "unit", "status": "passed"}]
    put(
        root / T1 / "eval/eval-report.json", {"status": "completed", "overall_pass": True, "results": results}
    )
    state = json.loads((root / T1 / "state.json").read_text())
    put(root / T1 / "state.json", {**state, "phase": "accept"})
    decide.make_key()


def sessions(root: Path) -> None:
    make("start", "component-design", "P1")
    make("report", "P1", "Initialize", "ok")


def plan(root: Path) -> None:
    put(root / ".phasekeeper/config.yaml", "parameters: {master-plan: {adoption: auto}}\n")
    put(root / M1 / "MASTER_PLAN.md", PLAN)
    for name in ("01-first.md", "02-tests.md"):
        put(root / M1 / name, f"# {name}\n")


def claimed(root: Path) -> None:
    plan(root)
    make("claim", "M1", "f-02", "--as", "ada")


def implemented(root: Path) -> None:
    plan(root)
    put(root / "work.py", "")
    make("report", "M1", "4a", "complete", "--task", "f-02", "--summary", "wrote work.py")
    text = root / "4b.md"
    table = (
        "| Task | Criterion | Status |\n|---|---|---|\n| f-01 | it runs | met |\n| f-02 | it runs | met |\n"
    )
    put(text, f"# Phase Quality Gate\n\n**PHASE GATE STATUS**: PASS\n\nLooked at all of it.\n\n{table}")
    make("report", "M1", "4b", "pass", "--report", str(text))
    text.unlink()


def damaged(root: Path) -> None:
    """An interrupted write, a fork, a broken state with a good copy beside it, and a torn last line."""
    begun(root)
    journal = root / T1 / ".phasekeeper/journal.jsonl"
    base, state = journal.read_bytes(), (root / T1 / "state.json").read_text()
    make("report", "T1", "planning", "ok")
    ours = journal.read_bytes()
    journal.write_bytes(base)
    put(root / T1 / "state.json", state)
    with dying_before_the_rename():
        make("report", "T1", "planning", "ok", "--summary", "theirs")
    theirs = journal.read_bytes()[len(base) :]
    journal.write_bytes(ours + theirs + b'{"seq": 9, "ki')
    put(root / T1 / "state.json.bak", (root / T1 / "state.json").read_text())
    put(root / T1 / "state.json", "{")


class _Died(BaseException):
    pass


@contextmanager
def dying_before_the_rename() -> Iterator[None]:
    """A writer that dies after its commit point, before it renames anything."""
    with mock.patch.object(commit, "finish_rename", side_effect=_Died):
        try:
            yield
        except _Died:
            return


def nothing(_root: Path) -> None:
    return


COMMANDS: Mapping[str, Command] = {
    "report": Command(("report", "T1", "planning", "ok"), begun),
    "report of a plan": Command(("report", "M1", "4c", "ok"), implemented, M1),
    "report that spawns": Command(
        ("report", "P1", "SpawnComponentDesignSessions", "ok", "--data", "-"),
        sessions,
        P1,
        stdin=json.dumps(COMPONENTS),
    ),
    "answer": Command(("answer", "T1", "acceptance", "accepted", "--reason", "it is good"), asked, typed=T1),
    "override": Command(("override", "T1", "--to", "codegen", "--reason", "in haste"), begun, typed=T1),
    "redo": Command(("redo", "T1", "planning"), begun),
    "claim": Command(("claim", "M1", "f-02", "--as", "ada"), plan, M1, begins=(claims, "claim")),
    "release": Command(("release", "M1", "f-02"), claimed, M1, typed=M1, begins=(claims, "release")),
    "start": Command(("start", "artifact-pipeline", "T2"), begun, "T2", begins=(apply, "start_run")),
    "repair": Command(
        ("repair", "T1", "--restore"),
        damaged,
        typed=T1,
        begins=(repair_command, "_mend"),
        whole=False,
        exact=False,
    ),
    "init": Command(("init", "--yes"), nothing, "", begins=(init, "_write"), whole=False),
}
"""By the name of what is done."""


def carried_out(command: Command, root: Path) -> Result:
    """What a command comes to in a root."""
    with chdir(root):
        return do(*command.words, typed=command.typed, stdin=command.stdin)


# ---- how a root stands ------------------------------------------------------------------------

_OWN = re.compile(r"(^|/)(lock|lock\.holder|\.lock\.holder\.new)$")
_AT_WORK = re.compile(r"phasekeeper-.*\.tmp$|(^|/)\.[^/]*\.new$")


def tree(root: Path) -> dict[str, bytes]:
    """Every file of a root but the lock, what a write has at work included.

    A log counts without its torn end and without its last line end, and none without a line.
    """
    paths = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    found = {name: path.read_bytes() for name, path in sorted(paths.items()) if not _OWN.search(name)}
    logs = {name: whole_lines(raw) for name, raw in found.items() if name.endswith(".jsonl")}
    return {name: raw for name, raw in (found | logs).items() if raw or name not in logs}


def whole_lines(raw: bytes) -> bytes:
    """A log without what was cut off at its end."""
    lines = raw.split(b"\n")
    return b"\n".join(lines if is_json(lines[-1]) else lines[:-1])


def is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def at_work(name: str) -> bool:
    """Whether a name is that of a temporary file."""
    return bool(_AT_WORK.search(name))


def stands(root: Path) -> dict[str, Any]:
    """Every run's evaluation as JSON, but for the revision and what is said of a torn end of its journal."""
    workspace = Workspace(root)
    found = {match.run: as_json(workspace.evaluate(match)) for match in workspace.matches}
    for each in found.values():
        del each["revision"]
        each["findings"] = [one for one in each["findings"] if one["code"] != "journal-torn"]
    return found
