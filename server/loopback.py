"""The names under which a port of this machine's loopback is asked for, and may ask.

A request that names another host comes from a name that somebody let point here (DNS rebinding).
"""

from __future__ import annotations

_NAMES = ("127.0.0.1", "localhost", "[::1]")


def loopback_hosts(port: int) -> list[str]:
    """What the header Host may say."""
    return [f"{name}:{port}" for name in _NAMES]


def loopback_origins(port: int) -> list[str]:
    """What the header Origin may say."""
    return [f"http://{host}" for host in loopback_hosts(port)]
