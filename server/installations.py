"""Where this user has this project: in editors, by their own lists of extensions, on PATH, and here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from .version import VERSION

ID = "phasekeeper.phasekeeper"
EDITORS = {
    "VS Code": (".vscode/extensions", ".vscode-server/extensions", ".vscode-remote/extensions"),
    "VS Code Insiders": (".vscode-insiders/extensions", ".vscode-server-insiders/extensions"),
    "VSCodium": (".vscode-oss/extensions",),
    "Cursor": (".cursor/extensions", ".cursor-server/extensions"),
    "Windsurf": (".windsurf/extensions", ".windsurf-server/extensions"),
    "code-server": (".local/share/code-server/extensions",),
}
"""Editor -> the folders below the home folder in which it keeps extensions, its own and of remote windows."""
_LIST = "extensions.json"
_MAX_BYTES = 8 * 2**20
_VERSION_S = 10.0
"""So long another command may take to say its version."""


class EditorExtension(NamedTuple):
    """One installation of the extension; `folder` is the editor's folder of extensions."""

    editor: str
    version: str
    folder: Path


def editor_extensions(home: Path) -> Sequence[EditorExtension]:
    """Every installation, in the order of `EDITORS`; a list that cannot be read has none."""
    return [
        EditorExtension(editor, version, home / folder)
        for editor, folders in EDITORS.items()
        for folder in folders
        for version in _versions(home / folder / _LIST)
    ]


def _versions(path: Path) -> Iterator[str]:
    entries: object = None
    with suppress(OSError, ValueError, RecursionError):
        if path.stat().st_size <= _MAX_BYTES:
            entries = json.loads(path.read_text(encoding="utf-8"))
    for entry in entries if isinstance(entries, list) else ():
        identifier = entry.get("identifier") if isinstance(entry, dict) else None
        name = identifier.get("id") if isinstance(identifier, dict) else None
        if isinstance(name, str) and name.lower() == ID and isinstance(entry.get("version"), str):
            yield entry["version"]


def command_version(command: str) -> str | None:
    """What a command `phasekeeper` says of its version; our own where it is ours, None where it says none.

    One that is found in the current folder is not asked: that may be anybody's workspace.
    """
    if Path(command).parent == Path(sys.executable).parent:
        return VERSION
    if not Path(command).is_absolute():
        return None
    try:
        done = subprocess.run(
            [command, "--version"], capture_output=True, text=True, timeout=_VERSION_S, check=False
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    name, _, version = done.stdout.strip().partition(" ")
    return version if name == "phasekeeper" else None


def upgrade_command() -> str:
    """The command that brings a newer version of this installation, by who installed it."""
    parts = Path(sys.prefix).parts
    for tool, folder in (("uv tool", "tools"), ("pipx", "venvs")):
        if parts[-2:] == (folder, "phasekeeper"):
            return f"{tool} upgrade phasekeeper"
    return f"{sys.executable} -m pip install --upgrade phasekeeper"
