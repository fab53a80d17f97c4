"""`phasekeeper doctor`: what runs, what is watched and found here, what it stands on, and what is wrong.

It looks, and changes nothing but the permissions of the folder for sockets. Every trouble comes with what
mends it. Each part is examined by itself, so that one that fails hides no other.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import stat
import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from ....orchestration.definition.reader import InvalidWorkflow
from ....orchestration.findings import Severity
from ....orchestration.result.phrases import status_phrase
from ....orchestration.sanitize import plain
from ....tools.run_names import awaits_person
from ...connector.address import (
    ServerAddress,
    UnusableFolder,
    find_address,
    lock_owner,
    runtime_folder,
    try_lock,
)
from ...connector.handshake import INFO, Greeting, GreetingRefused, ask
from ...hub.process import log_path
from ...terminal.lines import Line, Part, counted, print_lines
from ...terminal.run_views import STATUS_STYLE
from ...version import VERSION, release
from ...workspace import decision_proof as decide
from ...workspace import git
from ...workspace.roots import UsageError
from ...workspace.workspace import open_path
from ..output import OK, REFUSED, print_json

_ASK_S = 3.0
_LOG_LINES = 3
_RAISE = "sudo sysctl fs.inotify.max_user_watches=1048576 fs.inotify.max_user_instances=1024"
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:[^>]*>=([0-9.]+))?")


class Trouble(NamedTuple):
    """What is wrong in a sentence, and what mends it: a command, or what to do."""

    what: str
    mend: str


Examined = tuple[dict[str, Any], list[Trouble]]


def doctor(options: Namespace) -> int:
    """`doctor`: refused (1) when something is wrong."""
    found, troubles = examined(Path())
    if options.json:
        print_json({**found, "wrong": [trouble._asdict() for trouble in troubles]})
    else:
        print_lines(_lines(found, troubles))
    return REFUSED if troubles else OK


def examined(folder: Path) -> Examined:
    """Everything that is known, part by part, and what is wrong with it."""
    parts: Mapping[str, Callable[[], Examined]] = {
        "server": _server,
        "folders": _folders,
        "here": lambda: _here(folder),
        "software": _software,
        "watching": _watching,
    }
    found: dict[str, Any] = {}
    troubles: list[Trouble] = []
    for name, examine in parts.items():
        found[name], wrong = examine()
        troubles += wrong
    return found, troubles


# ---- the server --------------------------------------------------------------------------------


def _server() -> Examined:
    """The server that runs: what it says of itself."""
    try:
        address = find_address()
    except UnusableFolder as error:
        return {"runs": False}, [Trouble("there is no folder for sockets", str(error))]
    try:
        said = json.loads(ask(address, Greeting(INFO, "/", VERSION), _ASK_S))
    except (OSError, GreetingRefused, ValueError) as error:
        return _silent(address, error)
    return {"runs": True, **said}, [*_older(said), *_unwatched(said)]


def _silent(address: ServerAddress, error: Exception) -> Examined:
    """No answer: nothing runs, or something runs that hangs."""
    lock = try_lock(address.lock)
    if lock is not None:
        os.close(lock)
        return {"runs": False}, []
    pid = lock_owner(address)
    trouble = Trouble(
        f"a server (process {pid or 'unknown'}) runs and does not answer: {error}",
        f"kill {pid}" if pid else f"end the process that holds {address.lock}",
    )
    return {"runs": True, "pid": pid, "answers": False}, [trouble]


def _older(said: Mapping[str, Any]) -> Iterator[Trouble]:
    restart = "phasekeeper serve --stop"
    if release(str(said["version"])) < release(VERSION):
        yield Trouble(f"the server is of version {said['version']}, this is {VERSION}", restart)
    if not Path(str(said["python"])).exists():
        yield Trouble(f"the server's interpreter {said['python']} is gone", restart)


# ---- folders -----------------------------------------------------------------------------------


def _folders() -> Examined:
    """Where sockets, state, key and log are, and whether they are this user's alone."""
    state, log = decide.key_path().parent, log_path()
    found = {
        "sockets": _place(Path(runtime_folder())),
        "state": _place(state),
        "key": {**_place(decide.key_path()), "made": "with the first decision"},
        "log": {**_place(log), "errors": _errors(log)},
    }
    return found, [*_state_trouble(state), *_key_trouble()]


def _place(path: Path) -> dict[str, Any]:
    try:
        found = path.stat()
    except OSError as error:
        return {"path": str(path), "there": False, "why": (error.strerror or "unknown error").lower()}
    mode = f"{stat.S_IMODE(found.st_mode):04o}"
    size = {} if path.is_dir() else {"bytes": found.st_size}
    return {"path": str(path), "there": True, "mode": mode, **size}


def _errors(log: Path) -> list[str]:
    """The last errors that a server wrote down."""
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 65536))
        lines = file.read().decode(errors="replace").splitlines()
        return [line for line in lines if " ERROR " in line][-_LOG_LINES:]
    return []


def _state_trouble(state: Path) -> Iterator[Trouble]:
    nearest = next(folder for folder in (state, *state.parents) if folder.exists())
    if not os.access(nearest, os.W_OK):
        what = f"{state} cannot be written: no decision can be signed, and the server keeps no log"
        yield Trouble(what, f"make {nearest} writable, or set XDG_STATE_HOME to another folder")


def _key_trouble() -> Iterator[Trouble]:
    """A key that is not to be trusted. None at all is made with the first decision."""
    key, path = decide.load_key(), decide.key_path()
    if key.secret is None and path.exists():
        yield Trouble(f"{key.reason}: decisions count as unverified", f"chmod 600 {path}, or remove it")


# ---- the root around here ----------------------------------------------------------------------


def _here(folder: Path) -> Examined:
    """The roots around the current folder and how their runs stand."""
    try:
        workspaces = open_path(folder).workspaces
    except UsageError as error:
        return {"roots": []}, [Trouble(str(error), "cd to a folder that exists")]
    roots: list[dict[str, Any]] = []
    troubles: list[Trouble] = []
    for workspace in workspaces:
        try:
            evaluations = [workspace.evaluate(match) for match in workspace.matches]
            wrong = [found for found in workspace.findings if found.severity is Severity.ERROR]
        except InvalidWorkflow as error:
            evaluations, wrong = [], list(error.findings)
        roots.append(
            {
                "root": str(workspace.root),
                "runs": len(evaluations),
                "status": dict(Counter(e.status for e in evaluations)),
                "awaiting": sum(map(awaits_person, evaluations)),
                "passed": len(workspace.passed) if evaluations or not wrong else 0,
            }
        )
        where = workspace.root
        troubles += [Trouble(f"{where / each.path}: {each.message}", _mend(each.path)) for each in wrong]
    return {"roots": roots}, troubles


def _mend(path: str) -> str:
    lint = path.startswith(".phasekeeper/workflows/")
    return f"phasekeeper workflow lint {path}" if lint else f"edit {path}"


# ---- what it stands on -------------------------------------------------------------------------


def _software() -> Examined:
    """Python, the packages that are needed, and git."""
    packages, troubles = _packages()
    version = _git()
    if version is None:
        what = "git cannot be run: decisions that colleagues committed count as unverified"
        troubles.append(Trouble(what, "install git"))
    found = {
        "phasekeeper": VERSION,
        "python": platform.python_version(),
        "executable": sys.executable,
        "command": shutil.which("phasekeeper"),
        "git": version,
        "packages": packages,
    }
    return found, troubles


def _packages() -> tuple[dict[str, str | None], list[Trouble]]:
    """The version of every package that is needed, and what is missing or too old."""
    versions: dict[str, str | None] = {}
    troubles = []
    with suppress(metadata.PackageNotFoundError):
        for text in metadata.requires("phasekeeper") or ():
            wanted = _REQUIREMENT.match(text)
            if wanted is None or "extra ==" in text:
                continue
            package, least = wanted[1], wanted[2] or ""
            versions[package] = version = _version(package)
            if version is None or release(version) < release(least):
                what = f"{package} {least or 'any'} or newer is needed, there is {version or 'none'}"
                troubles.append(Trouble(what, f"{sys.executable} -m pip install --upgrade phasekeeper"))
    return versions, troubles


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _git() -> str | None:
    """The version of the git that the server would run."""
    said = git.answer(Path(os.sep), "--version").decode("utf-8", "replace").strip()
    return said.removeprefix("git version ") or None


def _watching() -> Examined:
    """How changes are heard of, and the system's limits for it."""
    limits: dict[str, int] = {}
    for name in ("max_user_watches", "max_user_instances", "max_queued_events"):
        with suppress(OSError, ValueError):
            limits[name] = int(Path("/proc/sys/fs/inotify", name).read_text())
    return {"limits": limits}, []


# ---- as lines ----------------------------------------------------------------------------------


def _lines(found: Mapping[str, Any], troubles: list[Trouble]) -> Iterator[Line]:
    for name, lines in (
        ("server", _server_lines(found["server"])),
        ("here", _here_lines(found["here"])),
        ("watching", _watching_lines(found)),
        ("folders", _folder_lines(found["folders"])),
        ("software", _software_lines(found["software"])),
    ):
        for place, line in enumerate(lines):
            yield [Part(f"{'' if place else name:<10}", "dim"), *line]
    yield []
    for trouble in troubles:
        yield [Part("wrong     ", "bad"), Part(plain(trouble.what, 1000))]
        yield [Part("          mend: "), Part(plain(trouble.mend, 1000), "run")]
    if not troubles:
        yield [Part("nothing is wrong", "good")]


def _server_lines(server: Mapping[str, Any]) -> Iterator[Line]:
    if not server["runs"]:
        yield [Part("none runs; editors and assistants start it, or `phasekeeper serve`")]
        return
    if not server.get("answers", True):
        yield [Part(f"process {server['pid'] or 'unknown'} does not answer", "bad")]
        return
    size = f", {server['memory'] / 2**20:.0f} MiB" if server["memory"] else ""
    yield [
        Part(f"process {server['pid']}", "run"),
        Part(f", version {plain(str(server['version']))}, protocol {server['protocol']}"),
        Part(f", for {_ago(server['started'])}{size}"),
        Part(f"  {plain(str(server['python']), 400)}", "dim"),
    ]
    if "http" in server:
        yield [Part(f"assistants over HTTP at {plain(str(server['http']))}")]
    for client in server["clients"]:
        pid = f"process {client['pid']}, " if client["pid"] else ""
        said = f"{client['kind']}: {pid}{plain(client['folder'], 400)}, for {_ago(client['since'])}"
        yield [Part(said)]
    for root in server["roots"]:
        counts = f"{counted(root['runs'], 'run')}, {counted(root['folders'], 'folder')} watched"
        yield [Part(f"{plain(root['root'], 400)}: {counts}")]


def _unwatched(said: Mapping[str, Any]) -> Iterator[Trouble]:
    """Why boards may be behind their files; several roots mostly say the same."""
    for condition in dict.fromkeys(each for root in said["roots"] for each in root["conditions"]):
        full = "inotify" in condition
        yield Trouble(condition, _RAISE if full else "phasekeeper serve --stop; its log says more")


def _here_lines(here: Mapping[str, Any]) -> Iterator[Line]:
    for root in here["roots"]:
        parts = [Part(f"{plain(root['root'], 400)}: {counted(root['runs'], 'run')}")]
        for status, count in sorted(root["status"].items()):
            parts += [Part(", "), Part(f"{count} {status_phrase(status)}", STATUS_STYLE[status])]
        passed = root["passed"]
        parts += [Part(f"; {counted(passed, 'folder')} passed over", "dim")] if passed else []
        yield parts


def _watching_lines(found: Mapping[str, Any]) -> Iterator[Line]:
    limits = found["watching"]["limits"]
    if not limits:
        yield [Part("by this system's events")]
        return
    said = ", ".join(f"{name} {count}" for name, count in limits.items())
    yield [Part(f"by inotify ({said})")]


def _folder_lines(folders: Mapping[str, Any]) -> Iterator[Line]:
    for name, place in folders.items():
        made = f" ({place['made']})" if "made" in place else ""
        there = place["mode"] if place["there"] else f"{place['why']}{made}"
        size = f", {place['bytes']} bytes" if "bytes" in place else ""
        yield [Part(f"{name}: {plain(place['path'], 400)}"), Part(f"  {there}{size}", "dim")]
    for line in folders["log"]["errors"]:
        yield [Part("  "), Part(plain(line, 300), "warn")]


def _software_lines(software: Mapping[str, Any]) -> Iterator[Line]:
    command = software["command"] or "not on PATH"
    yield [
        Part(f"phasekeeper {software['phasekeeper']} ({plain(command, 400)}), "),
        Part(f"Python {software['python']} ({plain(software['executable'], 400)}), "),
        Part(f"git {plain(software['git'] or 'none')}"),
    ]
    packages = software["packages"].items()
    yield [Part(", ".join(f"{name} {version or 'missing'}" for name, version in packages), "dim")]


def _ago(since: float) -> str:
    seconds = max(0, int(time.time() - since))
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return counted(seconds // size, unit)
    return counted(seconds, "second")
