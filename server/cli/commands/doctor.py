"""`phasekeeper doctor`: what runs, what is watched and found here, what it stands on, and what is wrong.

It looks, and changes nothing but the permissions of the folder for sockets; fences it tries in a folder of
their own. Every trouble comes with what mends it. Each part is examined by itself, so that one that fails
hides no other.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from ....orchestration.definition.reader import InvalidWorkflow
from ....orchestration.findings import Severity
from ....orchestration.result.phrases import status_phrase
from ....orchestration.sanitize import plain
from ....tools.run_names import awaits_person
from ...connector.address import UnusableFolder, find_address, lock_owner, runtime_folder, try_lock
from ...connector.handshake import INFO, Greeting, GreetingRefused, ask
from ...connector.other_servers import other_servers
from ...disk import decision_keys as decide
from ...disk import git
from ...disk.ssh_signers import ssh_troubles
from ...fence.trial import FenceTrial, TrialResult, try_fences
from ...hub.process import log_path
from ...installations import command_version, editor_extensions, upgrade_command
from ...terminal.lines import Line, Part, count_noun, print_lines
from ...terminal.run_views import STATUS_STYLE
from ...version import VERSION, release
from ...workspace.roots import UsageError
from ...workspace.workspace import open_path
from ..output import OK, REFUSED, print_json

_ASK_S = 3.0
_LOG_LINES = 3
_RAISE = "sudo sysctl fs.inotify.max_user_watches=1048576 fs.inotify.max_user_instances=1024"
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:[^>]*>=([0-9.]+))?")


_WHY_NOT_USED = {
    "untrusted": "others could have written it",
    "unreadable": "it could not be read",
    "damaged": "it is damaged",
    "outdated": "it was made by another version, under other definitions, or at a later time than now",
    "different": "a run judged anew stood otherwise than in it",
}
"""By `CacheFault`."""


class Trouble(NamedTuple):
    """A fault in a sentence, and what mends it: a command, or what to do."""

    what: str
    mend: str


def doctor(options: Namespace) -> int:
    """`doctor`: refused (1) when something is wrong."""
    troubles: list[Trouble] = []
    found = {name: examine(troubles) for name, examine in PARTS.items()}
    if options.json:
        print_json({**found, "wrong": [trouble._asdict() for trouble in troubles]})
    else:
        print_lines(_lines(found, troubles))
    return REFUSED if troubles else OK


# ---- the parts: each returns its facts, and adds what is wrong to `troubles` ---------------------


def _server(troubles: list[Trouble]) -> dict[str, Any]:
    """The server's own account, where one runs; else the process that holds its lock and hangs."""
    try:
        address = find_address()
    except UnusableFolder as error:
        troubles.append(Trouble("there is no folder for sockets", str(error)))
        return {"runs": False}
    try:
        server = json.loads(ask(address, Greeting(INFO, "/", VERSION), _ASK_S))
    except (OSError, GreetingRefused, ValueError) as error:
        if (lock := try_lock(address.lock)) is not None:
            os.close(lock)
            return {"runs": False}
        pid = lock_owner(address)
        what = f"a server (process {pid or 'unknown'}) runs and does not answer: {error}"
        mend = f"kill {pid}" if pid else f"end the process that holds {address.lock}"
        troubles.append(Trouble(what, mend))
        return {"runs": True, "pid": pid, "answers": False}
    restart = "phasekeeper serve --stop"
    _compare("the server", str(server["version"]), restart, troubles)
    if not Path(str(server["python"])).exists():
        troubles.append(Trouble(f"the server's interpreter {server['python']} is gone", restart))
    # Why boards may be behind their files; several roots mostly say the same.
    for condition in dict.fromkeys(each for root in server["roots"] for each in root["conditions"]):
        mend = _RAISE if "inotify" in condition else f"{restart}; its log says more"
        troubles.append(Trouble(condition, mend))
    return {"runs": True, **server}


def _other_servers(troubles: list[Trouble]) -> dict[str, Any]:
    """Servers of other releases that run beside this one's, as they speak another protocol."""
    try:
        addresses = other_servers(find_address())
    except UnusableFolder:
        return {"running": []}
    running: list[dict[str, Any]] = []
    for address in addresses:
        known = {"protocol": address.protocol, "pid": lock_owner(address), "version": None, "clients": []}
        who = f"a server of another release (process {known['pid'] or 'unknown'})"
        try:
            told = json.loads(ask(address, Greeting(INFO, "/", VERSION), _ASK_S))
            known |= {name: told[name] for name in ("pid", "version", "clients")}
        except (OSError, GreetingRefused, ValueError, KeyError) as error:
            mend = f"kill {known['pid']}" if known["pid"] else f"end the process that holds {address.lock}"
            troubles.append(Trouble(f"{who} runs and does not answer: {error}", mend))
        else:
            what = f"{who} runs, too, for {count_noun(len(known['clients']), 'program')}: it is of version"
            mend = "start those programs again with this version, or phasekeeper serve --stop"
            newer = release(str(known["version"])) > release(VERSION)
            known_fact = f"{what} {known['version']}, this is {VERSION}; both look at the same files"
            troubles.append(Trouble(known_fact, upgrade_command() if newer else mend))
        running.append(known)
    return {"running": running}


def _extensions(troubles: list[Trouble]) -> dict[str, Any]:
    """The extension in each editor of this user; it is of one release with the program."""
    found = editor_extensions(Path.home())
    for each in found:
        mend = f"update the extension Phasekeeper in {each.editor}"
        _compare(f"the extension in {each.editor} ({each.folder})", each.version, mend, troubles)
    return {"installed": [{**each._asdict(), "folder": str(each.folder)} for each in found]}


def _compare(what: str, version: str, mend: str, troubles: list[Trouble]) -> None:
    """Add a trouble where something is of another version; `mend` raises an older one."""
    theirs, ours = release(version), release(VERSION)
    if theirs != ours:
        troubles.append(
            Trouble(
                f"{what} is of version {version}, this is {VERSION}",
                mend if theirs < ours else upgrade_command(),
            )
        )


def _folders(troubles: list[Trouble]) -> dict[str, Any]:
    """The places of sockets, state, key and log, with their modes."""
    key, log = decide.key_path(), log_path()
    found = {
        "sockets": _path_facts(Path(runtime_folder())),
        "state": _path_facts(key.parent),
        "key": {**_path_facts(key), "made": "with the first decision"},
        "log": {**_path_facts(log), "errors": []},
    }
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 65536))
        lines = file.read().decode(errors="replace").splitlines()
        found["log"]["errors"] = [line for line in lines if " ERROR " in line][-_LOG_LINES:]
    nearest = next(folder for folder in key.parents if folder.exists())
    if not os.access(nearest, os.W_OK):
        what = f"{key.parent} cannot be written: no decision can be signed, and the server keeps no log"
        mend = f"make {nearest} writable, or set XDG_STATE_HOME to another folder"
        troubles.append(Trouble(what, mend))
    loaded = decide.load_key()
    # One that is not there is made with the first decision.
    if loaded.secret is None and key.exists():
        what = f"{loaded.reason}: decisions count as unverified"
        troubles.append(Trouble(what, f"chmod 600 {key}, or remove it"))
    return found


def _path_facts(path: Path) -> dict[str, Any]:
    try:
        found = path.stat()
    except OSError as error:
        return {"path": str(path), "there": False, "why": (error.strerror or "unknown error").lower()}
    size = {} if path.is_dir() else {"bytes": found.st_size}
    return {"path": str(path), "there": True, "mode": f"{stat.S_IMODE(found.st_mode):04o}", **size}


def _here(troubles: list[Trouble]) -> dict[str, Any]:
    """The roots around the current folder and how their runs stand."""
    try:
        workspaces = open_path(Path()).workspaces
    except UsageError as error:
        troubles.append(Trouble(str(error), "cd to a folder that exists"))
        return {"roots": []}
    roots: list[dict[str, Any]] = []
    for workspace in workspaces:
        try:
            evaluations = [workspace.evaluate(match) for match in workspace.matches]
            errors = [found for found in workspace.findings if found.severity is Severity.ERROR]
            ssh = ssh_troubles(workspace.root, workspace.head_file, workspace.config.has_ssh_decisions)
            troubles += [Trouble(what, mend) for what, mend in ssh]
        except InvalidWorkflow as error:
            evaluations, errors = [], list(error.findings)
        facts = {
            "root": str(workspace.root),
            "runs": len(evaluations),
            "status": dict(Counter(e.status for e in evaluations)),
            "awaiting": sum(map(awaits_person, evaluations)),
            "passed": len(workspace.passed_folders) if evaluations or not errors else 0,
        }
        roots.append(facts)
        for each in errors:
            own = each.path.startswith(".phasekeeper/workflows/")
            mend = f"phasekeeper workflow lint {each.path}" if own else f"edit {each.path}"
            troubles.append(Trouble(f"{workspace.root / each.path}: {each.message}", mend))
    return {"roots": roots}


def _software(troubles: list[Trouble]) -> dict[str, Any]:
    """Python, the packages that are needed with those missing or too old, and git."""
    packages: dict[str, str | None] = {}
    with suppress(metadata.PackageNotFoundError):
        for text in metadata.requires("phasekeeper") or ():
            requirement = _REQUIREMENT.match(text)
            if requirement is None or "extra ==" in text:
                continue
            package, least = requirement[1], requirement[2] or ""
            packages[package] = version = _version(package)
            if version is None or release(version) < release(least):
                what = f"{package} {least or 'any'} or newer is needed, there is {version or 'none'}"
                troubles.append(Trouble(what, upgrade_command()))
    # The git that the server would run.
    answer = git.answer(Path(os.sep), "--version").decode("utf-8", "replace").strip()
    if not answer:
        what = "git cannot be run: decisions that colleagues committed count as unverified"
        troubles.append(Trouble(what, "install git"))
    command = shutil.which("phasekeeper")
    if command and (said := command_version(command)):
        _compare(
            f"the command on PATH ({command})", said, "remove it, or upgrade it as it was installed", troubles
        )
    return {
        "phasekeeper": VERSION,
        "python": platform.python_version(),
        "executable": sys.executable,
        "command": command,
        "git": answer.removeprefix("git version ") or None,
        "packages": packages,
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _watching(_: list[Trouble]) -> dict[str, Any]:
    """The system's limits for hearing of changes."""
    limits: dict[str, int] = {}
    for name in ("max_user_watches", "max_user_instances", "max_queued_events"):
        with suppress(OSError, ValueError):
            limits[name] = int(Path("/proc/sys/fs/inotify", name).read_text())
    return {"limits": limits}


def _fences(troubles: list[Trouble]) -> dict[str, Any]:
    """The fences that are installed around the current folder, each tried by a call that it has to deny."""
    found: list[FenceTrial] = []
    with suppress(UsageError, InvalidWorkflow):
        for workspace in open_path(Path()).workspaces:
            found += try_fences(workspace)
    for trial in found:
        if trial.why:
            what = f"the fence of {trial.program} ({trial.path}) {trial.result}: {trial.why}"
            troubles.append(Trouble(what, trial.mend))
    return {"tried": [trial._asdict() for trial in found]}


PARTS: Mapping[str, Callable[[list[Trouble]], dict[str, Any]]] = {
    "server": _server,
    "otherServers": _other_servers,
    "extensions": _extensions,
    "folders": _folders,
    "here": _here,
    "software": _software,
    "watching": _watching,
    "fences": _fences,
}


# ---- as lines ----------------------------------------------------------------------------------


def _lines(found: Mapping[str, Any], troubles: list[Trouble]) -> Iterator[Line]:
    limits = ", ".join(f"{name} {count}" for name, count in found["watching"]["limits"].items())
    for name, lines in (
        ("server", [*_server_lines(found["server"]), *_other_server_lines(found["otherServers"]["running"])]),
        ("editors", _extension_lines(found["extensions"]["installed"])),
        ("here", _here_lines(found["here"])),
        ("fences", _fence_lines(found["fences"]["tried"])),
        ("watching", _watching_lines(limits, found["server"].get("watching") or {})),
        ("cache", _cache_lines(found["server"].get("cache") or {})),
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
        where = f"{pid}{plain(client['folder'], 400)}"
        yield [Part(f"{client['kind']}: {where}, for {_ago(client['since'])}")]
    for root in server["roots"]:
        counts = f"{count_noun(root['runs'], 'run')}, {count_noun(root['folders'], 'folder')} watched"
        yield [Part(f"{plain(root['root'], 400)}: {counts}")]


def _other_server_lines(running: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    for server in running:
        known = f", version {plain(str(server['version']))}" if server["version"] else ""
        yield [
            Part(f"process {server['pid'] or 'unknown'}", "warn"),
            Part(f" of another release{known}, protocol {server['protocol']}"),
        ]
        for client in server["clients"]:
            yield [Part(f"  {plain(str(client['kind']))}: {plain(str(client['folder']), 400)}")]


def _extension_lines(installed: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    if not installed:
        yield [Part("none that is known has the extension", "dim")]
    for each in installed:
        yield [
            Part(f"{each['editor']}: the extension, version {plain(each['version'])}"),
            Part(f"  {plain(each['folder'], 400)}", "dim"),
        ]


def _here_lines(here: Mapping[str, Any]) -> Iterator[Line]:
    for root in here["roots"]:
        parts = [Part(f"{plain(root['root'], 400)}: {count_noun(root['runs'], 'run')}")]
        for status, count in sorted(root["status"].items()):
            parts += [Part(", "), Part(f"{count} {status_phrase(status)}", STATUS_STYLE[status])]
        if passed := root["passed"]:
            parts.append(Part(f"; {count_noun(passed, 'folder')} passed over", "dim"))
        yield parts


def _fence_lines(trials: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    if not trials:
        yield [Part("none is installed here; `phasekeeper install` puts them up", "dim")]
    for trial in trials:
        good = trial["result"] in (TrialResult.DENIES, TrialResult.UNTRIED)
        kept = f"; without an answer it {trial['without_answer']}" if trial["without_answer"] else ""
        yield [
            Part(f"{trial['program']}: "),
            Part(trial["result"], "good" if good else "bad"),
            Part(kept),
            Part(f"  {plain(trial['path'], 400)}", "dim"),
        ]


def _watching_lines(limits: str, faults: Mapping[str, Any]) -> Iterator[Line]:
    yield [Part(f"by inotify ({limits})" if limits else "by this system's events")]
    if replaced := faults.get("replaced", 0):
        last = plain(str(faults["last"]), 400)
        yield [
            Part(
                f"the server's watcher had gone deaf and was replaced {count_noun(replaced, 'time')}", "warn"
            ),
            Part(f", the last time because {last}; all roots were looked at again"),
        ]
    if overflows := faults.get("overflows", 0):
        yield [
            Part(f"the system's queue of events was too short {count_noun(overflows, 'time')}", "warn"),
            Part("; all roots were looked at again. max_queued_events makes it longer", "dim"),
        ]


def _cache_lines(cache: Mapping[str, Any]) -> Iterator[Line]:
    if folder := cache.get("folder"):
        runs = count_noun(cache["runs"], "run")
        yield [Part(f"{runs} packed: unchanged since judged"), Part(f"  {plain(folder, 400)}", "dim")]
    for fault, count in sorted(cache.get("faults", {}).items()):
        yield [
            Part(f"a file was not used {count_noun(count, 'time')}: {_WHY_NOT_USED[fault]}", "warn"),
            Part("; all of its root was looked at anew", "dim"),
        ]


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
            return count_noun(seconds // size, unit)
    return count_noun(seconds, "second")
