"""A root as a version left it, as data: files with their times, the user's state, where each run stood."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any


def root_as_data(root: Path, state: Path, runs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The form of the files in `released_VERSION/`; locks and git's own files are no part of it."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and path.stem != "lock"]
    own = [path for path in files if ".git" not in path.relative_to(root).parts]
    kept = sorted(path for path in state.rglob("*") if path.is_file())
    return {
        "files": {path.relative_to(root).as_posix(): _file_as_data(path) for path in own},
        "state": {
            path.relative_to(state).as_posix(): base64.b64encode(path.read_bytes()).decode() for path in kept
        },
        "runs": {name: standing_of(run) for name, run in runs.items()},
    }


def _file_as_data(path: Path) -> dict[str, Any]:
    raw, mtime_ns = path.read_bytes(), path.stat().st_mtime_ns
    try:
        return {"text": raw.decode(), "mtime_ns": mtime_ns}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode(), "mtime_ns": mtime_ns}


def restore(root: Path, files: dict[str, dict[str, Any]]) -> None:
    """Write the files with their bytes and times of change."""
    for path, entry in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(
            entry["text"].encode() if "text" in entry else base64.b64decode(entry["base64"], validate=True)
        )
        os.utime(target, ns=(entry["mtime_ns"], entry["mtime_ns"]))


def standing_of(evaluation: dict[str, Any]) -> dict[str, Any]:
    """What a person would notice if an upgrade changed it."""
    suggestion = evaluation["suggestion"]
    return {
        "workflow": evaluation["workflow"],
        "currentPhase": evaluation["currentPhase"],
        "status": evaluation["status"],
        "suggestion": {key: suggestion[key] for key in ("kind", "suggestedNext", "action")},
        "gates": {gate["id"]: gate["status"] for gate in evaluation["gates"]},
        "questions": [question["id"] for question in evaluation["questions"]],
        "progress": evaluation["progress"],
        "limits": {limit["id"]: limit["count"] for limit in evaluation["limits"]},
        "findings": sorted({finding["code"] for finding in evaluation["findings"]} - {"definition-upgraded"}),
        "overridden": evaluation["overridden"],
    }
