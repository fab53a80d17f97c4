"""`phasekeeper init`: what a repository needs so that several people and assistants can share its runs.

Computed first as values, shown, and written only when that was agreed to. Files that exist are added to:
no byte that stands in them changes, and what is there already is not added again.
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..orchestration.config import PATH as CONFIG_PATH
from ..orchestration.display import plain
from ..orchestration.documents import read_json
from ..orchestration.json_edits import create, set_values
from ..orchestration.workflow import Parameter, Workflow
from .commands import OK, REFUSED
from .library import Library
from .selection import PATH_LIMIT, definitions_of, opened_at
from .store_folder import StoreError, opened, told
from .store_lock import CLAIMS, FOLDER, HOLDER, JOURNAL, LOCK
from .terminal import Part, emit
from .terminal import tell as complain

ATTRIBUTES = (f"**/{FOLDER}/{JOURNAL} merge=union",)
"""Two branches that both append keep all their lines; `repair` links them (design, section 6)."""
IGNORED = (
    f"**/{FOLDER}/{CLAIMS}",
    f"**/{FOLDER}/{LOCK}",
    f"**/{FOLDER}/{HOLDER}",
    f"**/{FOLDER}/.*.new",
    ".*.phasekeeper-*.tmp",
)
"""What holds for one machine at one moment."""
DECISIONS = ("answer", "approve", "resolve", "adopt", "override")
DENIED = (
    *(f"Bash(phasekeeper {command}:*)" for command in DECISIONS),
    *(f"Bash(python -m phasekeeper {command}:*)" for command in DECISIONS),
    # The root's own folder, and that of each run: the first pattern alone does not reach below it.
    *(f"{tool}({where}{FOLDER}/**)" for tool in ("Edit", "Write") for where in ("", "**/")),
)
"""Claude Code's rules. They are a fence, not a wall: see the threat model in README.md."""
CLAUDE = ".claude/settings.json"
_CONFIG_HEAD = """\
# Phasekeeper's configuration. Everything is optional; the comments show the defaults.

# projects: [packages/*]          # further roots below this one
# workflows: {"docs/plans/*": master-plan}   # which workflow the folders that fit have

parameters:
"""


class Change(NamedTuple):
    """A file to be written: `added` are the lines that people are shown. `before` None: a new file."""

    path: str
    before: bytes | None
    after: bytes
    added: tuple[str, ...]


class Left(NamedTuple):
    """A file that would have to change and is left alone, and why."""

    path: str
    why: str


def init(options: Namespace) -> int:
    """`init`: show what will be written, ask, write it. Refused where nobody can be asked without --yes."""
    workspace = opened_at(Path(), options.root).workspaces[0]
    with definitions_of(workspace.root):
        library: Library = workspace.library
        workflows = [library.workflow(name) for name in library.names]
    try:
        changes, left = planned(workspace.root, workflows)
        return _agreed(options, workspace.root, changes, left)
    except StoreError as error:
        complain([f"phasekeeper: {plain(str(error), 600)}"])
        return REFUSED


def _agreed(options: Namespace, root: Path, changes: Sequence[Change], left: Sequence[Left]) -> int:
    complain(f"phasekeeper: {plain(each.path)} is left alone: {plain(each.why)}" for each in left)
    if not changes:
        emit([[Part(f"{plain(str(root), PATH_LIMIT)}: nothing is left to do", "good")]])
        return REFUSED if left else OK
    emit(line for change in changes for line in _shown(change))
    if not (options.yes or _asked(len(changes))):
        complain(["phasekeeper: nothing was written; `phasekeeper init --yes` writes it without asking"])
        return REFUSED
    for change in changes:
        write(root, change)
    emit([[Part(f"written: {', '.join(plain(change.path) for change in changes)}", "good")]])
    return REFUSED if left else OK


def _shown(change: Change) -> Iterator[list[Part]]:
    yield [Part(change.path, "run"), Part(" (new)" if change.before is None else " (added to)")]
    yield from ([Part(f"  + {plain(line, 300)}", "dim")] for line in change.added)


def _asked(count: int) -> bool:
    """Whether a person at the terminal says yes; nobody there is a no."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    sys.stdout.write(f"Write {'this file' if count == 1 else f'these {count} files'}? [y/n] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


# ---- what is to be written --------------------------------------------------------------------


def planned(root: Path, workflows: Sequence[Workflow]) -> tuple[list[Change], list[Left]]:
    """What is missing in a root, file by file. Raises StoreError for a file that cannot be read."""
    found = [
        _configuration(root, workflows),
        _with_lines(root, ".gitattributes", ATTRIBUTES),
        _with_lines(root, ".gitignore", IGNORED),
        _claude(root),
    ]
    changes = [each for each in found if isinstance(each, Change)]
    return changes, [each for each in found if isinstance(each, Left)]


def _read(root: Path, path: str) -> bytes | None:
    folder_path, _, name = path.rpartition("/")
    with told(path):
        try:
            with opened(root, folder_path) as folder:
                return folder.read(name)
        except FileNotFoundError:
            return None


def _configuration(root: Path, workflows: Sequence[Workflow]) -> Change | None:
    if _read(root, CONFIG_PATH) is not None:
        return None
    text = _CONFIG_HEAD + "".join(line + "\n" for each in workflows for line in _parameters(each))
    return Change(CONFIG_PATH, None, text.encode(), tuple(line for line in text.splitlines() if line))


def _parameters(workflow: Workflow) -> Iterator[str]:
    if workflow.parameters:
        yield f"#   {plain(workflow.name)}:"
    for parameter in workflow.parameters.values():
        said = f"#     {plain(parameter.id)}: {json.dumps(parameter.default)}"
        bounds = _bounds(parameter)
        yield f"{said}   # {bounds}" if bounds else said


def _bounds(parameter: Parameter) -> str:
    if parameter.one_of:
        return f"one of {', '.join(plain(str(value)) for value in parameter.one_of)}"
    limits = (("at least", parameter.least), ("at most", parameter.most))
    return ", ".join(f"{word} {plain(str(limit))}" for word, limit in limits if limit is not None)


def _with_lines(root: Path, path: str, lines: Sequence[str]) -> Change | None:
    before = _read(root, path)
    raw = before or b""
    there = {line.strip() for line in raw.split(b"\n")}
    missing = tuple(line for line in lines if line.encode() not in there)
    if not missing:
        return None
    end = b"\r\n" if b"\r\n" in raw else b"\n"
    gap = end if raw and not raw.endswith(b"\n") else b""
    return Change(path, before, raw + gap + b"".join(line.encode() + end for line in missing), missing)


def _claude(root: Path) -> Change | Left | None:
    before = _read(root, CLAUDE)
    if before is None or not before.strip():
        text = create({"permissions": {"deny": list(DENIED)}})
        return Change(CLAUDE, before, (before or b"") + text.encode(), DENIED)
    mark = b"\xef\xbb\xbf" if before.startswith(b"\xef\xbb\xbf") else b""
    try:
        text = before[len(mark) :].decode("utf-8")
        there = _denied(text)
        missing = tuple(rule for rule in DENIED if rule not in there)
        if not missing:
            return None
        after = set_values(text, [(("permissions", "deny"), [*there, *missing])])
    except ValueError as error:
        return Left(
            CLAUDE, f"{error}; add to permissions.deny by hand: {', '.join(DENIED[: len(DECISIONS)])} …"
        )
    return Change(CLAUDE, before, mark + after.encode(), missing)


def _denied(text: str) -> list[Any]:
    """The rules that are there. Raises ValueError where none can be added without losing something."""
    data = read_json(text).data
    permissions = data.get("permissions", {}) if isinstance(data, dict) else None
    if not isinstance(permissions, dict):
        raise ValueError("it is no JSON object with permissions")
    deny = permissions.get("deny", [])
    if not isinstance(deny, list):
        raise ValueError("permissions.deny is no list")
    return deny


def write(root: Path, change: Change) -> None:
    """Put a change in its place whole. Raises StoreError when the file is not what was shown any more."""
    folder_path, _, name = change.path.rpartition("/")
    with told(change.path), opened(root, folder_path, create=True) as folder:
        if folder.read(name) != change.before:
            raise StoreError(f"{change.path} was changed meanwhile; run `phasekeeper init` again")
        status = folder.status(name)
        temporary = f".{name}.phasekeeper-init.tmp"
        folder.write(temporary, change.after, status.st_mode & 0o777 if status else None)
        folder.replace(temporary, name)
        folder.sync()
