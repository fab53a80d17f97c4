"""The keys that sign decisions: one of the user, and of it one for each repository.

They lie in the user's folder for application state, never in a workspace: what is copied from there signs
nothing anywhere else. A repository is known by its place; its key is made of the user's and of a random id.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from .repository import toplevel

KEY_BYTES = 32
"""A shorter key is refused; bytes past 1,024 are not a key of ours."""
_MAX_KEY_BYTES = 1024
_MAX_REPOSITORY_BYTES = 65_536
_ID = re.compile(r"[0-9a-f]{32}\Z")


class DecisionKey(NamedTuple):
    """A key, or None and the reason why there is none to be trusted."""

    secret: bytes | None
    reason: str | None = None


class RepositoryKey(NamedTuple):
    """The key of the repository at a place, which may be gone or hold another one by now."""

    place: Path
    secret: bytes


# ---- the user's key ---------------------------------------------------------------------------


def key_path() -> Path:
    """The user's key: `phasekeeper/decision.key` in the user's folder for application state."""
    import platformdirs  # late: most evaluations ask for no key

    return platformdirs.user_state_path("phasekeeper", appauthor=False) / "decision.key"


def fleet_path() -> Path:
    """The user's file of the fleets that this machine has joined, beside the key."""
    return key_path().with_name("fleet.json")


def load_key() -> DecisionKey:
    """The user's key, unless it is missing, too short, not this user's, or open to others."""
    path = key_path()
    found = read_private(path, _MAX_KEY_BYTES)
    if found.secret is not None and len(found.secret) < KEY_BYTES:
        found = DecisionKey(None, "has the wrong size")
    if found.secret is not None:
        return found
    return DecisionKey(
        None, f"the key at {path} {found.reason}" if found.reason else f"there is no key at {path}"
    )


def make_key() -> DecisionKey:
    """The user's key, made when there is none: 32 random bytes in a file that only this user can read."""
    return _make_key(key_path(), os.urandom(KEY_BYTES), load_key)


# ---- a repository's key -----------------------------------------------------------------------


def place_of(root: Path) -> Path:
    """The repository of a root: the git toplevel, without one the root itself; links resolved.

    So a decision stays valid whichever folder of one repository is watched. A worktree is one of its own.
    """
    resolved = root.resolve()
    return toplevel(resolved) or resolved


def repository_path(root: Path) -> Path:
    """The file with the random id of a root's repository, beside the user's key."""
    name = os.path.normcase(place_of(root))
    # Most file systems of macOS take names in any case for the same.
    name = name.lower() if sys.platform == "darwin" else name
    return _repositories() / f"{sha256(os.fsencode(name)).hexdigest()[:32]}.json"


def load_repository_key(root: Path) -> DecisionKey:
    """The key of a root's repository; there is none before the first decision in that place."""
    user = load_key()
    if user.secret is None:
        return user
    path = repository_path(root)
    known = _read_repository(path, user.secret)
    return DecisionKey(known.secret) if known else DecisionKey(None, f"there is no id of {root} at {path}")


def make_repository_key(root: Path) -> DecisionKey:
    """The key of a root's repository; it and the user's are made where there are none."""
    user = make_key()
    if user.secret is None:
        return user
    content = json.dumps({"path": os.fspath(place_of(root)), "id": os.urandom(16).hex()})
    return _make_key(repository_path(root), content.encode(), lambda: load_repository_key(root))


def unusable_reason(root: Path) -> str:
    """Why `make_repository_key` would give no key, as far as can be known without making one; "" if none."""
    user, repository = key_path(), repository_path(root)
    if os.path.lexists(user) and (reason := load_key().reason):
        return reason
    if os.path.lexists(repository) and _read_repository(repository, b"") is None:
        return f"there is no id of {root} at {repository}"
    for path in (each for each in (user, repository) if not os.path.lexists(each)):
        nearest = next(folder for folder in path.parents if os.path.lexists(folder))
        if not (nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)):
            return f"the key at {path} cannot be made: {nearest} is no folder that can be written in"
    return ""


def repository_keys() -> Iterator[RepositoryKey]:
    """The keys of all repositories in which this user decided something."""
    user = load_key()
    paths = sorted(_repositories().glob("*.json")) if user.secret is not None else []
    for path in paths:
        if known := _read_repository(path, user.secret or b""):
            yield known


def _repositories() -> Path:
    return key_path().with_name("repositories")


def _read_repository(path: Path, user: bytes) -> RepositoryKey | None:
    found = read_private(path, _MAX_REPOSITORY_BYTES)
    try:
        entry = json.loads(found.secret or b"")
        place, identity = entry["path"], entry["id"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not (isinstance(place, str) and isinstance(identity, str) and _ID.match(identity)):
        return None
    return RepositoryKey(Path(place), hmac.digest(user, f"repository {identity}".encode(), "sha256"))


# ---- files that only the user can read --------------------------------------------------------


def read_private(path: Path, most: int) -> DecisionKey:
    """The bytes of a file; for one that is not this user's alone the reason, for none an empty one."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
            reason = _distrust_reason(os.fstat(file.fileno()))
            content = b"" if reason else file.read(most + 1)
    except FileNotFoundError:
        return DecisionKey(None, "")
    except OSError as error:
        return DecisionKey(None, f"cannot be read: {(error.strerror or 'unknown error').lower()}")
    if not reason and len(content) > most:
        reason = "has the wrong size"
    return DecisionKey(None, reason) if reason else DecisionKey(content)


def _make_key(path: Path, content: bytes, load: Callable[[], DecisionKey]) -> DecisionKey:
    """The key that `load` finds; where there is nothing at `path` that gets `content` before."""
    # Another process may make it at this moment: what was there is not replaced, what comes then is loaded.
    was_there = os.path.lexists(path)
    key = load()
    if key.secret is not None or was_there:
        return key
    try:
        create_private(path, content)
    except OSError as error:
        why = (error.strerror or "unknown error").lower()
        return DecisionKey(None, f"the key at {path} cannot be made: {why}")
    return load()


def create_private(path: Path, content: bytes) -> None:
    """A new file that only the user can read. It gets its name once it is whole: of several made at one
    moment the first one stays, and nobody sees half of it."""
    new = [folder for folder in path.parents if not folder.exists()]
    for folder in reversed(new):
        folder.mkdir(mode=0o700, exist_ok=True)
    whole = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    descriptor = os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(whole, path)
    finally:
        whole.unlink()
    # A key that a power loss takes away takes the proof of every decision with it.
    for folder in (path.parent, *(each.parent for each in new)) if os.name == "posix" else ():
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _distrust_reason(status: os.stat_result) -> str | None:
    if not stat.S_ISREG(status.st_mode):
        return "is not a regular file"
    if os.name != "posix":
        return None
    if status.st_uid != os.geteuid():
        return "belongs to another user"
    return "can be read or written by others (chmod 600 it)" if status.st_mode & 0o077 else None
