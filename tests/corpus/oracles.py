"""`make oracles`: asks the conventions' own tools, newest versions, about real files, beside what was said.

    python -m tests.corpus.oracles [TOOL…]
    python -m tests.corpus.oracles --record backlog

Packages come from npm, and what BMAD's script imports from Python's index, all into a folder that is taken
away; each tool works on a copy of a repository. Exit code 1 where an answer is another one than what was
recorded. `--record` writes those of Backlog.md, which the tests compare with ours.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tests.corpus.places import CORPUS

BACKLOG_ANSWERS = Path(__file__).with_name("backlog_answers.json")
_SCRIPT = "src/bmm-skills/plan/bmad-sprint-planning/scripts/sprint_plan.py"
_SECONDS = 300
_QUIET = {"OPENSPEC_TELEMETRY": "0", "DO_NOT_TRACK": "1", "TASKMASTER_SKIP_AUTO_UPDATE": "1", "NO_COLOR": "1"}
Answers = dict[str, Any]


class Oracle(NamedTuple):
    """A tool: its package, where its repositories lie, and what is asked of it in a copy of one of them.

    `ask` gives the answers by question, from the installed package, a repository and what was recorded of
    it; `recorded` gives those of all repositories.
    """

    package: str
    convention: str
    ask: Callable[[Path, Path, Answers], Answers]
    recorded: Callable[[Path], Mapping[str, Answers]]


def _run(*words: str, at: Path) -> str:
    environment = os.environ | _QUIET
    done = subprocess.run(
        words, cwd=at, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        timeout=_SECONDS,
    )  # fmt: skip
    return done.stdout


def _json(*words: str, at: Path) -> Any:
    """What a tool prints as JSON; some print lines of other things before and behind it."""
    said = _run(*words, at=at)
    start = min((at for at in (said.find("{"), said.find("[")) if at >= 0), default=-1)
    return json.JSONDecoder().raw_decode(said, start)[0] if start >= 0 else {"no answer": True}


def _installed(package: str, folder: Path) -> Path:
    """The folder of the newest version of a package, without running any script of it."""
    npm = shutil.which("npm")
    if npm is None:
        sys.exit(f"npm is not installed; it brings the package {package}")
    folder.mkdir()
    options = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--omit=optional")
    if package == "backlog.md":
        # Its program for this system is an optional package.
        options = options[:-1]
    _run(npm, "install", *options, "--prefix", str(folder), package, at=folder)
    return folder / "node_modules" / package


def _program(package: Path, name: str) -> str:
    modules = next(each for each in package.parents if each.name == "node_modules")
    return str(modules / ".bin" / name)


# ---- what each is asked -----------------------------------------------------------------------


def _openspec(package: Path, root: Path, recorded: Answers) -> Answers:
    tool = _program(package, "openspec")
    answers = {
        f"list {each['name']}": _counts(each) for each in _json(tool, "list", "--json", at=root)["changes"]
    }
    for name in recorded["changes"]:
        status = _json(tool, "status", "--change", name, "--json", at=root)
        apply = _json(tool, "instructions", "apply", "--change", name, "--json", at=root)
        answers |= {f"status {name}": _artifacts(status), f"apply {name}": apply.get("state")}
    return answers


def _recorded_openspec(corpus: Path) -> Mapping[str, Answers]:
    whole = json.loads((corpus / "oracle/openspec-1.13.2.json").read_text("utf-8"))
    return {
        repository: {f"list {each['name']}": _counts(each) for each in told["list"]["changes"]}
        | {f"status {name}": _artifacts(each["status"]["json"]) for name, each in told["changes"].items()}
        | {f"apply {name}": each["apply"]["json"]["state"] for name, each in told["changes"].items()}
        | {"changes": list(told["changes"])}
        for repository, told in whole.items()
    }


def _counts(change: Mapping[str, Any]) -> str:
    return f"{change['completedTasks']} of {change['totalTasks']}, {change['status']}"


def _artifacts(status: Mapping[str, Any]) -> Mapping[str, str]:
    return {each["id"]: each["status"] for each in status.get("artifacts", ())}


def _task_master(package: Path, root: Path, recorded: Answers) -> Answers:
    tool = _program(package, "task-master")
    (root / ".taskmaster").mkdir(exist_ok=True)
    answers = {}
    for tag in recorded:
        task = _json(tool, "next", "--tag", tag, "--format", "json", at=root).get("task")
        answers[tag] = str(task["id"]) if task else None
    return answers


def _recorded_task_master(corpus: Path) -> Mapping[str, Answers]:
    whole = json.loads((corpus / "oracle/taskmaster-findNextTask.json").read_text("utf-8"))
    return {
        repository: {tag: str(task["id"]) if task else None for tag, task in told["next"].items()}
        for repository, told in whole.items()
    }


def _backlog(package: Path, root: Path, recorded: Answers) -> Answers:
    tool = _program(package, "backlog")
    _run("git", "init", "--quiet", at=root)
    listed = _json(tool, "task", "list", "--json", at=root)
    if "tasks" not in listed:
        return {"refuses": True}
    ready = _json(tool, "task", "list", "--ready", "--json", at=root)["tasks"]
    return {
        "status": {each["id"]: each["status"] for each in listed["tasks"]},
        "ready": sorted(each["id"] for each in ready),
    }


def _recorded_backlog(corpus: Path) -> Mapping[str, Answers]:
    known = json.loads(BACKLOG_ANSWERS.read_text("utf-8")) if BACKLOG_ANSWERS.exists() else {}
    folders = (corpus / "conventions/backlog").glob("*/backlog")
    return {folder.parent.name: known.get(folder.parent.name, {}) for folder in sorted(folders)}


def _bmad(package: Path, root: Path, recorded: Answers) -> Answers:
    python = package.parent / "venv/bin/python"
    if not python.exists():
        venv.create(python.parents[1], with_pip=True)
        _run(str(python), "-m", "pip", "install", "--quiet", "ruamel.yaml", at=package)
    answers: Answers = {}
    for asked in recorded:
        # Its answers have the path in them, as it was asked for.
        question, path = asked.split(" ", 1)
        script = (str(python), str(package / _SCRIPT), question, "--status-file", path)
        answers[asked] = _json(*script, at=root.parents[1])
    return answers


def _recorded_bmad(corpus: Path) -> Mapping[str, Answers]:
    """By repository; each path begins at the folder of all conventions."""
    whole = json.loads((corpus / "oracle/bmad-sprint_plan-6.12.0.json").read_text("utf-8"))
    found: dict[str, Answers] = {}
    for path, told in whole.items():
        answers = found.setdefault(path.split("/")[1], {})
        answers |= {f"{question} {path}": told[question] for question in ("status", "validate")}
    return found


ORACLES = {
    "openspec": Oracle("@fission-ai/openspec", "openspec", _openspec, _recorded_openspec),
    "task-master": Oracle("task-master-ai", "taskmaster", _task_master, _recorded_task_master),
    "backlog": Oracle("backlog.md", "backlog", _backlog, _recorded_backlog),
    "bmad": Oracle("bmad-method", "bmad", _bmad, _recorded_bmad),
}


# ---- asking -----------------------------------------------------------------------------------


def _ask_all(
    oracle: Oracle, corpus: Path, package: Path, work: Path
) -> Iterator[tuple[str, Answers, Answers]]:
    """(repository, what was recorded, what the tool says now)."""
    for repository, recorded in oracle.recorded(corpus).items():
        root = work / oracle.convention / repository
        shutil.copytree(corpus / "conventions" / oracle.convention / repository, root)
        now = oracle.ask(package, root, recorded)
        recorded = {key: value for key, value in recorded.items() if key != "changes"}
        yield repository, recorded, now


def _differences(repository: str, before: Answers, now: Answers) -> Iterator[str]:
    for key in sorted(before.keys() | now.keys()):
        old, new = before.get(key), now.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _differences(f"{repository}: {key}", old, new)
        elif old != new:
            yield f"{repository}: {key}: {old!r} -> {new!r}"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.corpus.oracles", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("tools", metavar="TOOL", nargs="*", help=f"of {', '.join(ORACLES)}; all without one")
    parser.add_argument("--record", action="store_true", help="write the answers of Backlog.md for the tests")
    arguments = parser.parse_args()
    if CORPUS is None:
        sys.exit("there are no real files beside the repository")
    if unknown := {*arguments.tools} - ORACLES.keys():
        parser.error(f"no tool is called {', '.join(sorted(unknown))}")
    differs = False
    for name in arguments.tools or ORACLES:
        with TemporaryDirectory() as folder:
            oracle, work = ORACLES[name], Path(folder).resolve() / "work"
            package = _installed(oracle.package, Path(folder).resolve() / "tool")
            version = json.loads((package / "package.json").read_text("utf-8"))["version"]
            asked = list(_ask_all(oracle, CORPUS, package, work))
        if arguments.record and name == "backlog":
            answers = {repository: now for repository, _, now in asked}
            BACKLOG_ANSWERS.write_text(f"{json.dumps(answers, indent=1, ensure_ascii=False)}\n", "utf-8")
        found = [line for each in asked for line in _differences(*each)]
        print(
            f"{oracle.package} {version}: {len(asked)} repositories, {len(found)} answers are not as recorded"
        )
        print("".join(f"  {line}\n" for line in found), end="", flush=True)
        differs |= bool(found)
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
