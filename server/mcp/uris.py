"""Addresses of resources. They carry root and run percent-encoded: one means one thing for every client.

phasekeeper://schema/evaluation
phasekeeper://root/{root}/runs
phasekeeper://root/{root}/run/{run}[/questions|/history|/workflow]
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote, unquote

SCHEMA = "phasekeeper://schema/evaluation"
PARTS = ("", "questions", "history", "workflow")
_ADDRESS = re.compile(r"phasekeeper://root/([^/]+)/(?:runs|run/([^/]*)(?:/(questions|history|workflow))?)\Z")


class Address(NamedTuple):
    """What an address names. `run` is None for the runs of the root, `part` "" for the whole run."""

    root: str
    run: str | None
    part: str = ""


def address(root: str, run: str | None = None, part: str = "") -> str:
    """The address of a root's runs, of a run, or of a part of it."""
    base = f"phasekeeper://root/{_encoded(root)}"
    return (
        f"{base}/runs" if run is None else f"{base}/run/{_encoded(run or '.')}" + (f"/{part}" if part else "")
    )


def _encoded(text: str) -> str:
    return quote(text.encode("utf-8", "surrogateescape"), safe="")


def read_address(uri: str) -> Address | None:
    """What an address means; None for one that is none of ours."""
    found = _ADDRESS.match(uri) if len(uri) <= 20_000 else None
    if found is None:
        return None
    root, run, part = found.groups()
    named = None if run is None else unquote(run, errors="surrogateescape").removeprefix("./")
    return Address(unquote(root, errors="surrogateescape"), "" if named == "." else named, part or "")
