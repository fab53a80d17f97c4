"""The fleets that this user's machine has joined: a file of the user's own, outside of every workspace.

A workspace names its project by an id that its repository commits; which servers that is shared on, and with
which key, stands here alone (0600 in the folder for application state). So a workspace chooses no server.
Nothing of NATS is imported.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ..disk.decision_keys import fleet_path, read_private

_MAX_BYTES = 1 << 18
_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}\Z")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class FleetSetupError(Exception):
    """A membership that cannot be used or made; the text says why and what to do."""


class Membership(NamedTuple):
    """How this machine takes part in a project: as `member`, on `servers`, by a `seed` (an NKey) or the text
    of a `credentials` file. `ca` is the file of a certificate authority, "" for the system's."""

    project: str
    servers: tuple[str, ...]
    member: str
    seed: str = ""
    credentials: str = ""
    ca: str = ""


def memberships(path: Path | None = None) -> Mapping[str, Membership]:
    """The memberships by project, none where none was ever made, from the user's file or the one at `path`.

    Raises FleetSetupError for a file that others can read, or that holds something else.
    """
    path = path or fleet_path()
    content = read_private(path, _MAX_BYTES)
    if content.secret is None:
        if content.reason:
            raise FleetSetupError(f"{path} {content.reason}")
        return {}
    try:
        entries: Any = json.loads(content.secret)
        joined = [_membership(project, entry) for project, entry in entries["projects"].items()]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FleetSetupError(f"{path} holds no memberships; remove it and join again") from None
    return {each.project: each for each in joined}


def membership_of(project: str) -> Membership | None:
    """How this machine takes part in a project, None where it does not. Raises FleetSetupError."""
    return memberships().get(project)


def save_membership(membership: Membership) -> None:
    """Keep a membership, in place of an earlier one of its project. Raises FleetSetupError."""
    require_name(membership.project, "a project")
    require_name(membership.member, "a member")
    for url in membership.servers:
        require_safe(url)
    _write({**memberships(), membership.project: membership})


def remove_membership(project: str) -> bool:
    """Forget a membership, with its key; False where there was none. Raises FleetSetupError."""
    joined = dict(memberships())
    if joined.pop(project, None) is None:
        return False
    _write(joined)
    return True


def require_name(name: str, what: str) -> None:
    """Raises FleetSetupError for what is no name of a project or a member."""
    if not _NAME.match(name):
        raise FleetSetupError(f"{name[:60]!r} is no name of {what}: letters, digits, _ and -, at most 40")


def require_safe(url: str) -> None:
    """Raises FleetSetupError for a URL of no server, and for one off loopback without TLS."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    if parts.scheme not in ("nats", "tls") or not host or port is None or parts.username or parts.path:
        raise FleetSetupError(f"{url[:200]!r} is no server: tls://HOST:PORT is, or nats://127.0.0.1:PORT")
    if parts.scheme != "tls" and not is_loopback(host):
        raise FleetSetupError(f"{url[:200]} is another machine, which needs TLS: tls://{host}:{port}")


def is_loopback(host: str) -> bool:
    return host in _LOOPBACK


def _membership(project: str, entry: Mapping[str, Any]) -> Membership:
    texts = {name: str(entry.get(name, "")) for name in ("member", "seed", "credentials", "ca")}
    return Membership(project, tuple(map(str, entry["servers"])), **texts)


def _write(joined: Mapping[str, Membership]) -> None:
    entries = {project: each._asdict() for project, each in joined.items()}
    write_private(fleet_path(), json.dumps({"projects": entries}, indent=1).encode())


def write_private(path: Path, content: bytes) -> None:
    """Put a file that only the user can read in the place of another. Raises FleetSetupError."""
    new = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        why = (error.strerror or "unknown error").lower()
        raise FleetSetupError(f"{path} cannot be written: {why}") from None
