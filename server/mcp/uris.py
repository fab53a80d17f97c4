"""URIs of resources. They carry root and run percent-encoded: one means one thing for every client.

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
_URI = re.compile(r"phasekeeper://root/([^/]+)/(?:runs|run/([^/]*)(?:/(questions|history|workflow))?)\Z")


class ResourceUri(NamedTuple):
    """The parts of a URI. `run` is None for the runs of the root, `part` "" for the whole run."""

    root: str
    run: str | None
    part: str = ""


def resource_uri(root: str, run: str | None = None, part: str = "") -> str:
    """The URI of a root's runs, of a run, or of a part of it."""
    base = f"phasekeeper://root/{_encode(root)}"
    if run is None:
        return f"{base}/runs"
    return f"{base}/run/{_encode(run or '.')}" + (f"/{part}" if part else "")


def _encode(text: str) -> str:
    return quote(text.encode("utf-8", "surrogateescape"), safe="")


def parse_uri(uri: str) -> ResourceUri | None:
    """Read a URI; None for one that is none of ours."""
    match = _URI.match(uri) if len(uri) <= 20_000 else None
    if match is None:
        return None
    root, encoded, part = match.groups()
    run = None if encoded is None else unquote(encoded, errors="surrogateescape").removeprefix("./")
    return ResourceUri(unquote(root, errors="surrogateescape"), "" if run == "." else run, part or "")
