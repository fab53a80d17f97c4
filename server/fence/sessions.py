"""What is known of the sessions of assistants, a small file each in the user's state folder.

It lies outside of every workspace, so that no session can count its own refusals back.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from ...tools.fence.verdict import FenceSession
from ..disk.decision_keys import key_path

MOST_SESSIONS = 500
"""So many are kept, those that were written last."""
_MOST_BYTES = 4_096


def sessions_folder() -> Path:
    """The folder of the files, in the user's state folder."""
    return key_path().parent / "sessions"


class SessionStore:
    """The sessions of one root. One that is not known, or whose file is damaged, is bound to no run."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._folder, self._root = folder, str(root)

    def read(self, name: str) -> FenceSession:
        """What is known of a session."""
        try:
            with self._path(name).open("rb") as file:
                found: Any = json.loads(file.read(_MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            return FenceSession()
        match found:
            case {"runs": list(runs), "agent": str(agent), "stops": int(stops)} if name:
                return FenceSession(tuple(map(str, runs)), agent, stops)
            case _:
                return FenceSession()

    def write(self, name: str, session: FenceSession) -> None:
        """Keep what is known of a session; one without a name is not kept. Raises OSError."""
        if not name:
            return
        path = self._path(name)
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._make_room()
        temporary = path.with_suffix(f".{os.getpid()}.new")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, json.dumps(session._asdict()).encode("utf-8", "surrogatepass"))
        finally:
            os.close(descriptor)
        temporary.replace(path)

    def _path(self, name: str) -> Path:
        digest = sha256(f"{self._root}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / f"{digest[:32]}.json"

    def _make_room(self) -> None:
        known = sorted(self._folder.glob("*.json"), key=_written_at)
        for path in known[: max(0, len(known) - MOST_SESSIONS + 1)]:
            with suppress(OSError):
                path.unlink()


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
