"""Runs that a released version left on a disk stand, for this version, where they stood for that one.

Each file of `released_VERSION/` is one root as that version's commands and hand-written files left it: its
files with their times, the user's state folder (the key that signed decisions), and where each run stood.
"""

from __future__ import annotations

import base64
import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.server.cli.main import main
from phasekeeper.server.workspace.repair import prepare_repair, repair_run
from phasekeeper.server.workspace.workspace import Workspace

from tests.upgrades.released_roots import restore, standing_of

_OF_RECORDS = "what a report wanted to write and may not stands in its record now; older ones have none"
JOURNAL = ".phasekeeper/journal.jsonl"
ROOTS = sorted(Path(__file__).parent.glob("released_*/*.json"))

_UNSIGNED = {
    "suggestion": {"kind": "wait", "suggestedNext": None, "action": None},
    "status": "waiting_human",
    "questions": ["acceptance"],
    "findings": ["decision-unverified"],
}
STANDS_ELSEWHERE = {
    # A decision that lies in a file, which nobody signed and no commit holds, is one that anybody can write.
    "a_decision_file_that_a_pe": _UNSIGNED | {
        "suggestion": {"kind": "regress", "suggestedNext": "accept", "action": None},
        "status": "active",
        "findings": ["decision-unverified", "inconsistent-state"],
    },
    "a_rejection_in_a_file_can": _UNSIGNED,
    "a_rejection_in_a_file_can1": _UNSIGNED,
    "a_rejection_in_a_file_can2": _UNSIGNED,
}  # fmt: skip
"""Root -> how its run stands now on purpose, where it stood otherwise. Its gate `acceptance` is open."""

OTHERWISE: dict[str, tuple[str, str]] = {
    "a_dotted_key_is_no_way_ar": ("status-drift", _OF_RECORDS),
    "an_error_sets_nothing_and": ("status-drift", _OF_RECORDS),
}
"""Findings of the released version that are said no more, by root, and why."""

PROGRESS = {
    # Tasks of a stage that passed its check count as done before the report that marks them.
    "the_marks_stay_until_the": {"done": 2, "total": 4},
}
"""Root -> what counts as done in its run now on purpose, where it was counted otherwise."""

NEW_RUNS = {"component-session": "a child session is a run of its own since, beside its parent's"}
"""Workflows whose runs the released version did not know, and why; all others stand as they stood."""


# Signatures of the released version name no repository: a copied journal decided anywhere. Such a decision
# counts once a person confirmed it by `repair`, which lists it.


def _decided(released: dict[str, Any]) -> list[str]:
    """The runs that have decisions which the released version signed."""
    journals = {path: entry.get("text", "") for path, entry in released["files"].items()}
    journals = {path: text for path, text in journals.items() if path.endswith("/.phasekeeper/journal.jsonl")}
    return sorted(path.rsplit("/", 2)[0] for path, text in journals.items() if '"mac"' in text)


def _runs() -> dict[str, dict[str, Any]]:
    out = StringIO()
    with redirect_stdout(out):
        assert main(["status", "--json"]) == 0
    return {run["run"]: run for run in json.loads(out.getvalue())["runs"]}


def _confirm_decisions(root: Path, released: dict[str, Any]) -> None:
    """Confirm, as a person does in `repair`, what was signed; before that none of it counts."""
    before = _runs()
    workspace = Workspace(root)
    for run in _decided(released):
        lines = [
            line
            for line in (root / run / JOURNAL).read_text(encoding="utf-8").splitlines()
            if '"mac"' in line
        ]
        problems = [found for found in before[run]["findings"] if found["path"] == f"{run}/{JOURNAL}"]
        assert sum(found["code"] == "decision-unverified" for found in problems) == len(lines)
        prepared = prepare_repair(workspace, run)
        assert len(prepared.decisions) == len(lines)
        assert sum("signed by an earlier version" in line for line in prepared.lines) == len(lines)
        assert [done.kind for done in repair_run(workspace, run, prepared, "ada", "terminal")] == [
            "confirmed"
        ]
        assert prepare_repair(workspace, run).lines == ()


@pytest.mark.parametrize("recorded", ROOTS, ids=[f"{path.parent.name}-{path.stem}" for path in ROOTS])
def test_a_root_of_a_released_version_stands_where_it_stood(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = json.loads(recorded.read_text(encoding="utf-8"))
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    restore(root, released["files"])
    for path, encoded in released["state"].items():
        target = tmp_path / "user-state" / path
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        target.write_bytes(base64.b64decode(encoded, validate=True))
        target.chmod(0o600)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "user-state"))
    monkeypatch.chdir(root)
    _confirm_decisions(root, released)
    runs = {name: standing_of(run) for name, run in _runs().items() if run["workflow"] not in NEW_RUNS}
    for run, standing in runs.items():
        # A limit that is new since only counts; one that is reached shows in the rest of the standing.
        known = released["runs"][run]["limits"] if run in released["runs"] else {}
        standing["limits"] = {name: count for name, count in standing["limits"].items() if name in known}
    if elsewhere := STANDS_ELSEWHERE.get(recorded.stem):
        [before] = released["runs"].values()
        before |= {**elsewhere, "gates": before["gates"] | {"acceptance": "open"}}
    if progress := PROGRESS.get(recorded.stem):
        [before] = released["runs"].values()
        before["progress"] = progress
    gone, _ = OTHERWISE.get(recorded.stem, ("", ""))
    for standing in released["runs"].values():
        standing["findings"] = [code for code in standing["findings"] if code != gone]
    for run, standing in runs.items():
        known = released["runs"].get(run, {"gates": {}, "findings": []})
        # What a person waived is said to the end, where the released version forgot it.
        before = {name: status for name, status in known["gates"].items() if status == "not-reached"}
        forgotten = {name: "not-reached" for name, status in standing["gates"].items() if status == "waived"}
        standing["gates"] |= {name: before[name] for name in forgotten if name in before}
        if forgotten.keys() & before.keys() and "phase-skipped" not in known["findings"]:
            standing["findings"] = [code for code in standing["findings"] if code != "phase-skipped"]
    assert runs == released["runs"]


def test_there_are_roots_in_which_a_person_decided() -> None:
    released = [json.loads(recorded.read_text(encoding="utf-8")) for recorded in ROOTS]
    assert sum(bool(_decided(each)) for each in released) > 40


def test_there_are_roots_of_every_workflow() -> None:
    workflows = {
        run["workflow"]
        for recorded in ROOTS
        for run in json.loads(recorded.read_text(encoding="utf-8"))["runs"].values()
    }
    assert workflows >= {
        "artifact-pipeline",
        "component-design",
        "master-plan",
        "phase-loop",
        "skill-tuning",
    }
