"""The commands of `running_arguments`, by name."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping


def _serve(options: Namespace) -> int:
    from .commands.serve import serve

    return serve(options)


def _connect(options: Namespace) -> int:
    from ..connector.connector import run_connector

    return run_connector(options.command, options.standalone)


def _doctor(options: Namespace) -> int:
    from .commands.doctor import doctor

    return doctor(options)


RUNNING: Mapping[str, Callable[[Namespace], int]] = {
    "serve": _serve,
    "lsp": _connect,
    "mcp": _connect,
    "doctor": _doctor,
}
