"""`make oracles`: asks the conventions' own tools, newest versions, about real files, beside what was said.

    python -m tests.corpus.oracles [TOOL…]
    python -m tests.corpus.oracles --record backlog

Packages come from npm, and what BMAD's script imports from Python's index, all into a folder that is taken
away; each tool works on a copy of a repository. Then a task of an example is reported as done, and the tool
has to read what was written there. Exit code 1 where an answer is another one than what was recorded, or a
tool reads something else. `--record` writes the answers of Backlog.md, which the tests compare with ours.
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

from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.server.workspace.apply import apply_command
from phasekeeper.server.workspace.workspace import Workspace

from tests.corpus.places import CORPUS
from tests.roots import EXAMPLES

BACKLOG_ANSWERS = Path(__file__).with_name("backlog_answers.json")
_SCRIPT = "src/bmm-skills/plan/bmad-sprint-planning/scripts/sprint_plan.py"
_SECONDS = 300
_QUIET = {"OPENSPEC_TELEMETRY": "0", "DO_NOT_TRACK": "1", "TASKMASTER_SKIP_AUTO_UPDATE": "1", "NO_COLOR": "1"}
Answers = dict[str, Any]


class Oracle(NamedTuple):
    """A tool: its package, where its repositories lie, and what is asked of it in a copy of one of them.

    `ask` gives the answers by question, from the installed package, a repository and what was recorded of
    it; `recorded` gives those of all repositories. `states` are those of all work, as it says they are.
    """

    package: str
    convention: str
    ask: Callable[[Path, Path, Answers], Answers]
    recorded: Callable[[Path], Mapping[str, Answers]]
    states: Callable[[Path, Path], Answers]


class Write(NamedTuple):
    """A task of an example that is reported as done, and the states that the tool has to show differently."""

    run: str
    step: str
    task: str
    becomes: Answers


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
    python = _bmad_python(package)
    answers: Answers = {}
    for asked in recorded:
        # Its answers have the path in them, as it was asked for.
        question, path = asked.split(" ", 1)
        script = (str(python), str(package / _SCRIPT), question, "--status-file", path)
        answers[asked] = _json(*script, at=root.parents[1])
    return answers


def _bmad_python(package: Path) -> Path:
    """A Python that has what its script imports."""
    python = package.parent / "venv/bin/python"
    if not python.exists():
        venv.create(python.parents[1], with_pip=True)
        _run(str(python), "-m", "pip", "install", "--quiet", "ruamel.yaml", at=package)
    return python


def _recorded_bmad(corpus: Path) -> Mapping[str, Answers]:
    """By repository; each path begins at the folder of all conventions."""
    whole = json.loads((corpus / "oracle/bmad-sprint_plan-6.12.0.json").read_text("utf-8"))
    found: dict[str, Answers] = {}
    for path, told in whole.items():
        answers = found.setdefault(path.split("/")[1], {})
        answers |= {f"{question} {path}": told[question] for question in ("status", "validate")}
    return found


# ---- what each reads of what was written --------------------------------------------------------


def _openspec_states(package: Path, root: Path) -> Answers:
    listed = _json(_program(package, "openspec"), "list", "--json", at=root)
    validated = _json(_program(package, "openspec"), "validate", "--all", "--json", at=root)
    return {each["name"]: _counts(each) for each in listed["changes"]} | {
        f"valid {each['id']}": each["valid"] for each in validated["items"]
    }


def _task_master_states(package: Path, root: Path) -> Answers:
    tool = _program(package, "task-master")
    listed = _json(tool, "list", "--with-subtasks", "--format", "json", at=root)["tasks"]
    return {str(task["id"]): task["status"] for task in listed} | {
        f"{task['id']}.{each['id']}": each["status"] for task in listed for each in task["subtasks"]
    }


def _backlog_states(package: Path, root: Path) -> Answers:
    listed = _json(_program(package, "backlog"), "task", "list", "--json", at=root)["tasks"]
    return {each["id"]: each["status"] for each in listed}


def _bmad_states(package: Path, root: Path) -> Answers:
    path = "_bmad-output/implementation-artifacts/sprint-status.yaml"
    script = (str(_bmad_python(package)), str(package / _SCRIPT))
    status = _json(*script, "status", "--status-file", path, at=root)
    is_valid = _json(*script, "validate", "--status-file", path, at=root)["valid"]
    return {"valid": is_valid, "illegal": status["illegal"], **status["stories"]}


ORACLES = {
    "openspec": Oracle("@fission-ai/openspec", "openspec", _openspec, _recorded_openspec, _openspec_states),
    "task-master": Oracle(
        "task-master-ai", "taskmaster", _task_master, _recorded_task_master, _task_master_states
    ),
    "backlog": Oracle("backlog.md", "backlog", _backlog, _recorded_backlog, _backlog_states),
    "bmad": Oracle("bmad-method", "bmad", _bmad, _recorded_bmad, _bmad_states),
}
WRITES = {
    "openspec": Write(
        "openspec/changes/add-shelf-map", "apply", "1.2", {"add-shelf-map": "2 of 3, in-progress"}
    ),
    "task-master": Write(".taskmaster/tasks/tasks.json#master", "implement", "2.2", {"2.2": "done"}),
    "backlog": Write("backlog", "work", "TASK-2", {"TASK-2": "Done"}),
    "bmad": Write(
        "_bmad-output/implementation-artifacts", "develop", "1-3-count-fines", {"backlog": None, "review": 1}
    ),
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


def _misread(name: str, package: Path, work: Path) -> Iterator[str]:
    """What the tool does not read as it was written."""
    root, write = work / "written" / name, WRITES[name]
    shutil.copytree(EXAMPLES / "conventions" / name, root)
    _run("git", "init", "--quiet", at=root)
    for path in root.glob("backlog/tasks/*.md"):
        # Nothing is done there before its criteria are.
        path.write_text(path.read_text("utf-8").replace("- [ ]", "- [x]"), "utf-8")
    before = ORACLES[name].states(package, root)
    said = Command("report", write.step, "complete", tasks=(write.task,), actor="a", channel="cli")
    apply_command(Workspace(root), write.run, said)
    now = ORACLES[name].states(package, root)
    yield from _differences(f"written by us: {write.run}", before | write.becomes, now)


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
            misread = list(_misread(name, package, work))
        if arguments.record and name == "backlog":
            answers = {repository: now for repository, _, now in asked}
            BACKLOG_ANSWERS.write_text(f"{json.dumps(answers, indent=1, ensure_ascii=False)}\n", "utf-8")
        found = [line for each in asked for line in _differences(*each)]
        head = f"{oracle.package} {version}: {len(asked)} repositories, {len(found)} answers not as recorded"
        print(f"{head}, {len(misread) or 'nothing'} of what was written is read differently")
        print("".join(f"  {line}\n" for line in (*found, *misread)), end="", flush=True)
        differs |= bool(found or misread)
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
