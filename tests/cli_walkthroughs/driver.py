"""A workflow driven by the commands a person or an assistant would type, from `start` to its end."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from phasekeeper.orchestration.journal.report_forms import blank_form
from phasekeeper.server.cli.main import main

from tests.verdicts.runs import built_in, filled_in, rows_of

_ASKED = re.compile(r"Type (.+) to confirm: ")
_PATIENCE_S = 60


class Result(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str


class Drive:
    """An empty repository, and commands that Ada runs in it. She signs with a key of the test's own."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        self.root = tmp_path / "repository"
        (self.root / ".git").mkdir(parents=True)
        self._monkeypatch = monkeypatch
        self._newest_ns = self._texts = 0
        monkeypatch.chdir(self.root)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "user-state"))
        person = tmp_path / "gitconfig"
        person.write_text("[user]\nname = Ada\nemail = ada@example.org\n", encoding="utf-8")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(person))
        monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")

    # ---- commands

    def run(self, *arguments: str, stdin: str = "") -> Result:
        """Run a command in this process, where nobody sits at a terminal."""
        out, err = StringIO(), StringIO()
        with self._monkeypatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setattr(sys, "stdin", StringIO(stdin))
            try:
                code = main(arguments)
            except SystemExit as leaving:  # argparse, on wrong use
                code = int(leaving.code or 0)
        return Result(code, out.getvalue(), err.getvalue())

    def do(self, *arguments: str, stdin: str = "") -> Result:
        """Run a command that has to be carried out: exit code 0, or 3 where a person is awaited now."""
        result = self.run(*arguments, stdin=stdin)
        assert result.code in (0, 3), result
        return result

    def refused(self, *arguments: str, stdin: str = "") -> str:
        """Run a command that has to be refused (exit code 1) and write nothing; what it says."""
        return self._failing(1, *arguments, stdin=stdin)

    def unchanged(self, *arguments: str) -> str:
        """Run a report that has to be refused for want of change; the journal alone keeps that."""
        before = self.files()
        result = self.run(*arguments)
        assert result.code == 1, result
        after = self.files()
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        assert [Path(path).name for path in changed] == ["journal.jsonl"], changed
        return result.err

    def wrong(self, *arguments: str, stdin: str = "") -> str:
        """Run a command that is called wrongly (exit code 2) and writes nothing; what it says."""
        return self._failing(2, *arguments, stdin=stdin)

    def _failing(self, code: int, *arguments: str, stdin: str) -> str:
        before = self.files()
        result = self.run(*arguments, stdin=stdin)
        assert result.code == code, result
        assert self.files() == before
        return result.err

    def with_text(self, step: str, outcome: str, *more: str) -> tuple[str, ...]:
        """Arguments that report a step of a master plan, with the text or file that it has to bring."""
        if step in ("4a", "F2") and outcome == "complete":
            return (step, outcome, *more, "--data", self.worked(step))
        workflow = built_in("master-plan")
        phase = workflow.phases.get(step)
        if phase is None or phase.brings is None or not phase.brings.report:
            return (step, outcome, *more)
        self._texts += 1
        path = self.root.parent / f"report-{self._texts}.md"
        said = f"Looked at all of it, time {self._texts}."
        plans = "".join(plan.read_text(encoding="utf-8") for plan in self.root.rglob("MASTER_PLAN.md"))
        tasks = re.findall(r"^\| \d+ \| (\S+) \|", plans, re.M)
        text = filled_in(blank_form(workflow.reports.read[step], "", tasks), outcome, said) + rows_of(tasks)
        path.write_text(text, encoding="utf-8")
        return (step, outcome, *more, "--report", str(path))

    def worked(self, step: str) -> str:
        """Change a file, as work does; the path of the data that names it."""
        self._texts += 1
        self.write(f"src/{step}.py", f"WORK = {self._texts}\n")
        data = self.root.parent / f"data-{self._texts}.json"
        data.write_text(json.dumps({"files": [f"src/{step}.py"]}), encoding="utf-8")
        return str(data)

    def start(self, workflow: str, name: str, *more: str) -> str:
        """Begin a run; its path from the root."""
        out = self.do("start", workflow, name, *more).out
        return out.split("started ", 1)[1].splitlines()[0].strip()

    def decide(self, *arguments: str, typed: str | None = None) -> Result:
        """Run a command on a terminal of its own, and type `typed` for every name that it asks for.

        By default a person types the very name. `err` is what the terminal shows.
        """
        person, terminal = pty.openpty()
        outgoing = self.root.parent / "decide.out"
        with outgoing.open("wb") as out:
            child = subprocess.Popen(
                [sys.executable, "-m", "phasekeeper", *arguments],
                stdin=terminal, stdout=out, stderr=terminal, cwd=self.root, start_new_session=True,
            )  # fmt: skip
        os.close(terminal)
        try:
            shown = type_names(person, typed)
            code = child.wait(timeout=_PATIENCE_S)
        finally:
            os.close(person)
            child.kill()
            child.wait()
        return Result(code, outgoing.read_text(encoding="utf-8"), shown)

    # ---- files

    def write(self, path: str, content: str | bytes | dict[str, Any], *, later_s: float = 0.001) -> Path:
        """Write a file of the root, newer by at least `later_s` than the one written before."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(content, indent=2) + "\n" if isinstance(content, dict) else content
        target.write_bytes(text.encode() if isinstance(text, str) else text)
        self._newest_ns = max(time.time_ns(), self._newest_ns + int(later_s * 1e9))
        os.utime(target, ns=(self._newest_ns, self._newest_ns))
        return target

    def time_passes(self, seconds: float = 3.0) -> None:
        """Make every file older, so that what is written next is later beyond doubt."""
        for path in self.root.rglob("*"):
            if path.is_file():
                moment = path.stat().st_mtime_ns - int(seconds * 1e9)
                os.utime(path, ns=(moment, moment))

    def text(self, path: str) -> str:
        """A file's text, line ends and all."""
        return (self.root / path).read_bytes().decode()

    def json(self, path: str) -> Any:
        """A JSON file's value."""
        return json.loads((self.root / path).read_bytes().decode("utf-8-sig"))

    def files(self) -> dict[str, bytes]:
        """Every file of the root with its bytes, but not the lock and the note of who held it last."""
        found = (path for path in sorted(self.root.rglob("*")) if path.is_file() and path.stem != "lock")
        return {str(path.relative_to(self.root)): path.read_bytes() for path in found}

    # ---- how a run stands

    def evaluation(self, run: str) -> dict[str, Any]:
        """The whole evaluation of a run, as `next --json --plan` prints it."""
        result = self.run("next", "--json", "--plan", "--run", run)
        assert result.code in (0, 1, 3), result
        return json.loads(result.out)

    def phase(self, run: str) -> str:
        """The phase that a run is in."""
        return self.evaluation(run)["currentPhase"]

    def suggestion(self, run: str) -> tuple[str, str | None]:
        """(kind, the phase or action suggested next)"""
        step = self.evaluation(run)["suggestion"]
        return step["kind"], step["action"] or step["suggestedNext"]

    def questions(self, run: str) -> list[str]:
        """The ids of the open questions."""
        return [question["id"] for question in self.evaluation(run)["questions"]]

    def codes(self, run: str) -> list[str]:
        """The codes of the findings."""
        return [finding["code"] for finding in self.evaluation(run)["findings"]]

    def records_anywhere(self) -> bool:
        """True if a run has a journal."""
        return any(self.root.rglob(".phasekeeper/journal.jsonl"))

    def records(self, run: str) -> list[dict[str, Any]]:
        """The journal of a run."""
        path = self.root / run / ".phasekeeper/journal.jsonl"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def type_names(person: int, typed: str | None) -> str:
    """Type at a terminal until the program leaves it; what the terminal showed."""
    shown, answered = "", 0
    while True:
        try:
            more = os.read(person, 4096)
        except OSError:  # Linux: nobody holds the other end any more.
            return shown
        if not more:
            return shown
        shown += more.decode(errors="replace")
        asked = _ASKED.findall(shown)
        for name in asked[answered:]:
            os.write(person, f"{name if typed is None else typed}\n".encode())
        answered = len(asked)
