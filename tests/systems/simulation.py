"""`python -m tests.systems.simulation SYSTEM HERE THERE`: this program where Python says it is elsewhere.

Everything is imported and used once as it is, in the folder HERE, so that the standard library and what we
depend on are those of this system. Then what the other one lacks is taken away, and our own modules are
imported and used anew, in the folder THERE. Reads command lines as JSON, prints what became of both.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import pathlib
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from types import ModuleType
from typing import Any

ROOT = pathlib.Path(__file__).parents[2]
_FILES = [path for top in ("orchestration", "tools", "server") for path in sorted((ROOT / top).rglob("*.py"))]
LINUX_ALONE = frozenset({"phasekeeper.server.watch.prompt_observer"})
"""Modules that are imported on Linux alone."""
_OS_NAMES = {"win32": "nt", "darwin": "posix"}
_MISSING_MODULES = {"win32": ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"), "darwin": ()}
_MISSING = {
    "win32": {
        "os": "fchmod fork geteuid getuid killpg mkfifo pidfd_open sysconf O_CLOEXEC O_DIRECTORY O_NOCTTY "
        "O_NOFOLLOW O_NONBLOCK O_PATH WNOHANG",
        "signal": "SIGHUP SIGKILL SIGSTOP pthread_sigmask",
        "socket": "AF_UNIX SO_PEERCRED",
        "_socket": "AF_UNIX SO_PEERCRED",
    },
    "darwin": {"os": "O_PATH pidfd_open", "socket": "SO_PEERCRED", "_socket": "SO_PEERCRED"},
}
"""What each system does not have, by module."""
_PATH_FUNCTIONS = ("open", "stat", "mkdir", "unlink", "readlink", "rename", "replace", "rmdir")


def main(system: str, here: str, there: str) -> None:
    commands: list[list[str]] = json.load(sys.stdin)
    assert not any(fault for _, fault in _import_all())
    os.chdir(here)
    expected = [_run(words) for words in commands]
    for name in [name for name in sys.modules if name.startswith("phasekeeper.")]:
        del sys.modules[name]
    pretend(system)
    imported, faults = 0, list[str]()
    for name, fault in _import_all():
        imported += 1
        faults += [f"{name}: {fault}"] if fault else []
    os.chdir(there)
    answers = [_run(words) for words in commands]
    said = {"modules": imported, "faults": faults, "expected": expected, "answers": answers}
    json.dump(said, sys.stdout)


def pretend(system: str) -> None:
    """Have our modules find what there is on `system`, and no more; others keep what they have imported."""
    sys.platform = system
    for name, missing in _MISSING[system].items():
        sys.modules[name] = copy_without(sys.modules[name], missing.split())
    for name in _MISSING_MODULES[system]:
        # So an import fails, as of a module that there is not.
        sys.modules[name] = None  # pyright: ignore[reportArgumentType]
    elsewhere: Any = sys.modules["os"]
    elsewhere.name = _OS_NAMES[system]
    if system == "win32":
        # Folders have no descriptors there, and no path is relative to one. Paths keep their form.
        elsewhere.supports_dir_fd = elsewhere.supports_fd = elsewhere.supports_follow_symlinks = set[Any]()
        for name in _PATH_FUNCTIONS:
            setattr(elsewhere, name, without_descriptors(getattr(elsewhere, name)))
        sys.modules["msvcrt"] = ModuleType("msvcrt")


def copy_without(module: ModuleType, names: Iterable[str]) -> ModuleType:
    copy = ModuleType(module.__name__)
    copy.__dict__.update({name: value for name, value in vars(module).items() if name not in set(names)})
    return copy


def without_descriptors(function: Any) -> Any:
    def called(path: Any, *values: Any, **named: Any) -> Any:
        if any(named.get(name) is not None for name in ("dir_fd", "src_dir_fd", "dst_dir_fd")):
            raise NotImplementedError("there are no descriptors of folders")
        return function(path, *values, **named)

    return called


def _import_all() -> Iterator[tuple[str, str]]:
    """(module, why it cannot be imported, or "") of all our modules."""
    for name in module_names():
        if name in LINUX_ALONE and sys.platform != "linux":
            continue
        try:
            importlib.import_module(name)
        except Exception as error:
            yield name, f"{type(error).__name__}: {error}"
        else:
            yield name, ""


def module_names() -> Iterator[str]:
    """Our modules, by the names under which they are installed."""
    yield "phasekeeper.api"
    for path in _FILES:
        parts = path.relative_to(ROOT).with_suffix("").parts
        # What lies in server/package is installed a folder higher.
        if parts[:2] != ("server", "package"):
            yield ".".join(("phasekeeper", *(part for part in parts if part != "__init__")))


def _run(words: list[str]) -> tuple[int, str]:
    """(exit code, what a command printed, errors last)"""
    command = importlib.import_module("phasekeeper.server.cli.main")
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    with redirect_stdout(out), redirect_stderr(err), suppress(SystemExit):
        code = command.main(words)
    return code, out.getvalue() + err.getvalue()


if __name__ == "__main__":
    main(*sys.argv[1:])
