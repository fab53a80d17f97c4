"""Random changes of a root on disk: what editors, assistants, writers, crashes and mistakes do to one.

Each change answers with the paths that a watcher would name, and no more: both ends of a rename, and for what
is written through a link only the place where it leads.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from phasekeeper.orchestration.updates.commands import Command, CommandRefused
from phasekeeper.orchestration.vfs.files import digest_of
from phasekeeper.server.store.folder import StoreError
from phasekeeper.server.workspace import apply
from phasekeeper.server.workspace.roots import UsageError
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import EXAMPLES

BEGINNING = datetime(2030, 1, 1, tzinfo=UTC)
RUNS = (
    ".ai-tools-chain/tasks/late-fees",
    ".ai-tools-chain/tasks/T2",
    ".orchestrator/tasks/reading-lists",
    ".phasekeeper/sessions/lending-loans",
    ".claude/state",
    ".workflow/.scratchpad/skill-tuning-book-finder",
    "own/one",
    "own/one/deep/two",
)
FOLDERS = (
    *RUNS,
    ".ai-tools-chain",
    ".ai-tools-chain/tasks",
    ".ai-tools-chain/tasks/late-fees/review",
    ".orchestrator/tasks/reading-lists/reports",
    ".phasekeeper",
    ".phasekeeper/workflows",
    "docs",
    "docs/design",
    "elsewhere",
    "own",
    "packages/a",
)
NAMES = (
    "state.json",
    "session.json",
    "loop.state.json",
    "MASTER_PLAN.md",
    "review/plan-review.json",
    "planning/plan-review.json",
    "code/diff.patch",
    "code/files/sedAbCdEf",
    "reports/09-4a-task-03.md",
    "03-share-link.md",
    ".phasekeeper/journal.jsonl",
    ".phasekeeper/claims.jsonl",
    "x",
)
PLACES = (
    ".phasekeeper/config.yaml",
    ".phasekeeper/workflows/mine.yaml",
    ".phasekeeper/workflows/yours.yaml",
    ".phasekeeper/workflows/phase-loop.yaml",
    "docs/design/lending/loans.md",
    "docs/schema.json",
    *(f"{run}/{name}" for run in RUNS for name in NAMES),
)

MINE = """\
extend: artifact-pipeline
workflow: mine
runs: {at: [own/*], marker: {file: state.json, has: [phase]}}
"""
DEEP = """\
workflow: yours
runs: {at: ["own/**/*"], marker: {file: state.json, text: phase}}
state: {file: state.json}
parameters: {most: 3}
artifacts:
  review:
    {paths: [review/*.json, /docs/schema.json], kind: json, require: {ok: bool}, schema: /docs/schema.json}
  done: {paths: [x], kind: text, of: [review]}
phase: state.phase
phases:
  planning: {produces: [review], rules: [{when: review.ok == true, to: codegen}]}
  codegen: {produces: [done], rules: [{when: valid.done, to: done}]}
  done: {terminal: complete}
"""
CONFIGS = (
    "",
    "workflows: {own/*: mine}\n",
    "workflows: {own/**: yours}\nparameters: {yours: {most: 5}, artifact-pipeline: {nothing: 1}}\n",
    "workflows: {own/*: nobody}\nprojects: [packages/*, nowhere]\n",
    "parameters: {master-plan: {adoption: auto}}\n",
    "projects: [packages/*, own/*]\n",
    "workflows: [",
)
STATES = tuple(
    json.dumps(state)
    for state in (
        {"phase": "planning"},
        {"phase": "plan_review", "title": "Other"},
        {"phase": "done"},
        {"phase": "nowhere"},
        {"phase": None},
        {
            "version": "2.0",
            "phase": "plan",
            "status": "running",
            "iteration": 1,
            "gates": {},
            "workQueue": [],
        },
    )
)
TEXTS = (
    "",
    " ",
    "{",
    "\ufeff{}",
    "a\0b",
    '{"ok": true}',
    '{"ok": false, "issues": [{"severity": "high"}]}',
    "# Report\n\n**PHASE GATE STATUS**: PASS\n",
    "# Report\n\n**PHASE GATE STATUS**: FAIL\n",
    '{"type": "object", "required": ["ok"]}',
    MINE,
    DEEP,
    MINE.replace("extend: artifact-pipeline", "extend: yours"),
    DEEP.replace("workflow: yours", "workflow: mine"),
    "workflow: yours\nruns: {at: [",
    "workflow: yours\nruns: {at: [own/*]}\nphases: 1\n",
    *CONFIGS,
    *STATES,
)


def _lines(*records: dict[str, object]) -> str:
    text, prev = "", ""
    for number, record in enumerate(records, 1):
        line = json.dumps({"seq": number, "at": "2030-01-01T00:00:00.000+00:00", **record, "prev": prev})
        text, prev = f"{text}{line}\n", digest_of(line)
    return text


_ADOPTED: dict[str, object] = {"kind": "answer", "question": "adoption", "option": "adopt"}
JOURNALS = (
    _lines({"kind": "start", "workflow": "mine"}),
    _lines({"kind": "start", "workflow": "yours"}),
    _lines({"kind": "start", "workflow": "artifact-pipeline", "definition": "0" * 16}),
    _lines({"kind": "start", "workflow": "master-plan"}, _ADOPTED),
    _lines(_ADOPTED, {"kind": "override", "from": "planning", "to": "codegen", "why": "so"}),
    _lines({"kind": "report", "phase": "planning", "outcome": "ok"}) + '{"seq": 2, "ki',
    "nothing\n" + _lines({"kind": "start", "workflow": "mine"}),
)


def claim(seconds: int) -> str:
    until = (BEGINNING + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")
    claimed = {"seq": 1, "kind": "claim", "task": "reading-lists-03", "actor": "a", "until": until}
    return json.dumps(claimed) + "\n"


CONTENTS = (*TEXTS, *JOURNALS, *map(claim, (-1, 5, 60)))
ANYWHERE = (*PLACES, *FOLDERS)

Change = tuple[str, tuple[Any, ...]]
"""The name of a method of `Changes` and its arguments."""
KINDS: tuple[tuple[str, tuple[tuple[Any, ...], ...]], ...] = (
    ("write", (PLACES, CONTENTS)),
    ("write", (PLACES[:6], CONTENTS)),
    ("replace", (PLACES, CONTENTS)),
    ("cut", (PLACES, (0.0, 0.5))),
    ("spoil", (PLACES,)),
    ("remove", (ANYWHERE,)),
    ("rename", (ANYWHERE, ANYWHERE)),
    ("copy", (FOLDERS, FOLDERS)),
    ("link", (ANYWHERE, (*ANYWHERE, ""))),
    ("relocate", (FOLDERS,)),
    ("folder", (ANYWHERE,)),
    ("file", (ANYWHERE,)),
    ("age", (PLACES, (-10, 1, 10))),
    ("later", ((3, 30),)),
    ("act", (RUNS, ("planning", "plan_review", "4a"), ("ok", "fail"))),
    ("commit", ()),
)
"""Names of changes, and for each of their arguments what it is chosen from."""


class Changes:
    """One root and what can be done to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.now = BEGINNING
        shutil.copytree(EXAMPLES, root, dirs_exist_ok=True)
        self.run_git("init", "-q")

    def clock(self) -> datetime:
        return self.now

    def at(self, place: str) -> Path:
        return self.root / place

    def write(self, place: str, text: str) -> list[Path]:
        """Save a file in place; its folders are made."""
        path = self.at(place)
        if not self._make_folder(path.parent) or path.is_dir():
            return []
        with suppress(OSError):
            path.write_text(text, encoding="utf-8")
        return [_content(path)]

    def replace(self, place: str, text: str) -> list[Path]:
        """Save a file as editors do: beside it, then over it."""
        path = self.at(place)
        if not self._make_folder(path.parent) or path.is_dir():
            return []
        made = path.with_name(f".{path.name}.swp")
        made.write_text(text, encoding="utf-8")
        made.replace(path)
        return [_name(made), _name(path)]

    def cut(self, place: str, share: float) -> list[Path]:
        """Half of a save."""
        path = self.at(place)
        if not path.is_file():
            return []
        raw = path.read_bytes()
        path.write_bytes(raw[: int(len(raw) * share)])
        return [_content(path)]

    def spoil(self, place: str) -> list[Path]:
        path = self.at(place)
        if not path.is_file():
            return []
        path.write_bytes(path.read_bytes() + b"\xff\xfe")
        return [_content(path)]

    def remove(self, place: str) -> list[Path]:
        path = self.at(place)
        named = _name(path)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif os.path.lexists(path):
            path.unlink()
        return [named]

    def rename(self, place: str, to: str) -> list[Path]:
        path, target = self.at(place), self.at(to)
        if not os.path.lexists(path) or target.is_relative_to(path) or not self._make_folder(target.parent):
            return []
        named = [_name(path), _name(target)]
        with suppress(OSError):
            path.rename(target)
        return named

    def copy(self, place: str, to: str) -> list[Path]:
        path, target = self.at(place), self.at(to)
        # A link may lead to a folder around the place that is copied to.
        is_around = Path(os.path.realpath(target)).is_relative_to(os.path.realpath(path))
        if not path.is_dir() or target.exists() or is_around:
            return []
        if not self._make_folder(target.parent):
            return []
        with suppress(OSError, shutil.Error):
            shutil.copytree(path, target, symlinks=True)
        return [_name(target)]

    def link(self, place: str, to: str) -> list[Path]:
        """A link at a place that leads to another one, or out of the root."""
        path = self.at(place)
        if os.path.lexists(path) or not self._make_folder(path.parent):
            return []
        path.symlink_to(self.at(to) if to else self.root.parent)
        return [_name(path)]

    def relocate(self, place: str) -> list[Path]:
        """A folder that is moved elsewhere, with a link where it was."""
        path, target = self.at(place), self.at("elsewhere") / place.replace("/", "-")
        if not path.is_dir() or path.is_symlink() or os.path.lexists(target):
            return []
        if not self._make_folder(target.parent) or target.resolve().is_relative_to(path.resolve()):
            return []
        named = [_name(path), _name(target)]
        path.rename(target)
        path.symlink_to(target)
        return named

    def folder(self, place: str) -> list[Path]:
        """A folder, in the place of a file if there is one."""
        path = self.at(place)
        named = _name(path)
        if path.is_file() or path.is_symlink():
            path.unlink()
        self._make_folder(path)
        return [named]

    def file(self, place: str) -> list[Path]:
        """A file in the place of a folder."""
        path = self.at(place)
        touched = self.remove(place)
        if self._make_folder(path.parent):
            path.write_text("x")
        return [*touched, _name(path)]

    def age(self, place: str, seconds: int) -> list[Path]:
        path = self.at(place)
        if not path.is_file():
            return []
        time = path.stat().st_mtime + seconds
        os.utime(path, (time, time))
        return [_content(path)]

    def later(self, seconds: int) -> list[Path]:
        self.now += timedelta(seconds=seconds)
        return []

    def act(self, run: str, step: str, outcome: str) -> list[Path]:
        """A report by the one door for writes; what it wrote is not told, only where."""
        with suppress(CommandRefused, StoreError, UsageError):
            apply.apply_command(
                Workspace(self.root), run, Command("report", step=step, outcome=outcome, actor="a")
            )
        return [_content(self.at(run))]

    def commit(self) -> list[Path]:
        self.run_git("add", "--all")
        self.run_git("commit", "-q", "--allow-empty", "-m", "all")
        return [self.root / ".git/HEAD"]

    def run_git(self, *words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *who, *words], cwd=self.root, check=False, capture_output=True)

    def _make_folder(self, path: Path) -> bool:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError:
            return False
        # Nothing is ever written outside of the root.
        return path.resolve().is_relative_to(self.root)


def _name(path: Path) -> Path:
    """What the system calls a name in a folder, the folder's links resolved."""
    return Path(os.path.realpath(path.parent)) / path.name


def _content(path: Path) -> Path:
    """What the system calls the file or folder that a path leads to."""
    return Path(os.path.realpath(path))


def changes() -> st.SearchStrategy[Change]:
    """Any change."""
    kinds = ((name, map(st.sampled_from, choices)) for name, choices in KINDS)
    return st.one_of(*(st.tuples(st.just(name), st.tuples(*arguments)) for name, arguments in kinds))


def random_change(choose: random.Random) -> Change:
    """Any change, without what finds a shorter way to a fault."""
    name, choices = choose.choice(KINDS)
    return name, tuple(map(choose.choice, choices))
