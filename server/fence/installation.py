"""What puts a fence up in each program, and takes it out again, as changes of files that nobody wrote yet.

A fence is one of an assistant's (hooks, and rules that deny decisions), of git, of pre-commit or of a build.
Nothing that stands in a file is lost; what cannot be added to is left alone, and said.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ...orchestration.definition.model import Workflow
from ...tools.fence.build_files import (
    CHECK,
    GIT_HOOKS,
    GITHUB_FILES,
    PRE_COMMIT_PATH,
    with_git_hook,
    with_merge_attributes,
    with_merge_driver,
    with_pre_commit_entry,
    without_git_hook,
    without_merge_attributes,
    without_merge_driver,
    without_pre_commit_entry,
)
from ...tools.fence.client_settings import SETTINGS, with_hooks, without_hooks
from ...tools.fence.hook_input import HookClient
from ..disk import git
from ..store.additive_edits import PlannedFile, SkippedFile
from ..store.folder import read_file
from ..workspace.roots import path_in_root
from ..workspace.workspace import Workspace
from .assistant_rules import FENCES, fences

Plan = PlannedFile | SkippedFile
PROGRAMS = (*HookClient, "git", "pre-commit", "github")
_EXECUTABLE = 0o755
_MARK = b"\xef\xbb\xbf"


def plan_fence(
    name: str, workspace: Workspace, workflows: Sequence[Workflow], undo: bool = False
) -> list[Plan]:
    """The changes for one program, none where its fence is as it has to be. Raises StoreError."""
    root = workspace.root
    if name == "git":
        plans = _plan_git(root, undo)
    elif name == "pre-commit":
        change = without_pre_commit_entry if undo else with_pre_commit_entry
        plans = iter([_plan_text(root, PRE_COMMIT_PATH, change)])
    elif name == "github":
        plans = (_plan_own(root, path, text, undo) for path, text in GITHUB_FILES.items())
    else:
        plans = _plan_client(HookClient(name), workspace, workflows, undo)
    return [each for each in plans if each is not None]


def _plan_client(
    client: HookClient, workspace: Workspace, workflows: Sequence[Workflow], undo: bool
) -> Iterator[Plan | None]:
    """The hooks of a client, and with them the rules that deny decisions, which `undo` leaves."""
    path = SETTINGS[client].path
    rules = fences(workspace.root, [client], workflows) if client in FENCES and not undo else []
    # One file may hold both: the hooks are put into what the rules make of it.
    beside = next((each for each in rules if each.path == path and isinstance(each, PlannedFile)), None)
    before = beside.before if beside else read_file(workspace.root, path)[0]
    fails_closed = workspace.guard.fails_closed

    def change(text: str) -> str:
        return without_hooks(text, client) if undo else with_hooks(text, client, fails_closed)

    yield from (each for each in rules if each is not beside)
    yield _plan_change(path, before, beside.after if beside else before, change) or beside


def _plan_text(root: Path, path: str, change: Callable[[str], str], mode: int | None = None) -> Plan | None:
    before = read_file(root, path)[0]
    return _plan_change(path, before, before, change, mode)


def _plan_change(
    path: str, before: bytes | None, text: bytes | None, change: Callable[[str], str], mode: int | None = None
) -> Plan | None:
    """The file with a change of its text; a text that comes to nothing is no file."""
    raw = text or b""
    mark = _MARK if raw.startswith(_MARK) else b""
    try:
        now = raw[len(mark) :].decode("utf-8")
        after = change(now)
    except ValueError as error:
        return SkippedFile(path, f"{error}; mend it, then run this again")
    if after == now and (mode is None or text is None):
        return None
    return PlannedFile(path, before, mark + after.encode() if after else None, (), mode)


def _plan_own(root: Path, path: str, text: str, undo: bool) -> Plan | None:
    """A file that is ours as a whole; one of somebody else's is left alone."""
    before = read_file(root, path)[0]
    if before is None:
        return None if undo else PlannedFile(path, None, text.encode(), ())
    if before == text.encode():
        return PlannedFile(path, before, None, ()) if undo else None
    return SkippedFile(path, f"it holds something else; have it run `{CHECK}`")


# ---- git ----------------------------------------------------------------------------------------


def _plan_git(root: Path, undo: bool) -> Iterator[Plan | None]:
    folder = hooks_folder(root)
    for name in GIT_HOOKS:
        if folder is None:
            why = "git keeps the hooks of this folder elsewhere, or none"
            yield SkippedFile(f".git/hooks/{name}", f"{why}; have them run `{CHECK}`")
            continue
        path = f"{folder}/{name}"
        # Git runs no hook that is not executable, so ours makes one of somebody else's run, too.
        mode = None if undo or os.access(root / path, os.X_OK) else _EXECUTABLE
        yield _plan_text(root, path, without_git_hook if undo else with_git_hook, mode)
    if (root / ".git").is_dir():
        yield _plan_text(root, ".git/config", without_merge_driver if undo else with_merge_driver)
        attributes = without_merge_attributes if undo else with_merge_attributes
        yield _plan_text(root, ".git/info/attributes", attributes)


def hooks_folder(root: Path) -> str | None:
    """Where git looks for the hooks of a repository, from its top; None where that lies outside of it.

    Husky has git look into a folder that it writes itself, and runs the hooks of the one above.
    """
    if not (root / ".git").is_dir():
        return None
    set_path = _hooks_path(root)
    if not set_path:
        return ".git/hooks"
    folder = path_in_root(root, Path(os.path.normpath(root / Path(set_path).expanduser())))
    return folder.removesuffix("/_") if folder else None


def _hooks_path(root: Path) -> str:
    """git's setting; read file by file, for what we run git with sets it too."""
    for place in ("--local", "--global", "--system"):
        said = git.answer(root, "config", place, "--type=path", "--get", "core.hooksPath", person=True)
        if said.strip():
            return os.fsdecode(said).strip()
    return ""
