"""Opening a path: its root, its projects, its runs, and how each look is a look at one moment."""

from __future__ import annotations

from pathlib import Path

import pytest
from phasekeeper.orchestration.findings import Edit
from phasekeeper.orchestration.vfs.files import digest_of
from phasekeeper.server.store.commit import Writes, commit
from phasekeeper.server.workspace.roots import UsageError
from phasekeeper.server.workspace.workspace import Workspace, open_path

from tests.roots import TASKS, put, task


def runs(workspace: Workspace) -> list[str]:
    return [match.run for match in workspace.matches]


def test_the_root_is_found_from_inside_a_run(root):
    folder = task(root, "T1")
    opened = open_path(folder / "review")

    assert opened.workspaces[0].root == root
    assert opened.run == f"{TASKS}/T1/review"
    assert runs(opened.workspaces[0]) == [f"{TASKS}/T1"]


def test_a_root_that_is_named_is_not_looked_for(root):
    task(root / "inner", "T1")
    assert runs(open_path(Path(), root).workspaces[0]) == []
    with pytest.raises(UsageError):
        open_path(Path(), root / "gone")


def test_projects_are_workspaces_of_their_own(root):
    put(root / ".phasekeeper/config.yaml", "projects: [packages/*]\n")
    task(root / "packages/b", "T1")
    task(root / "packages/a", "T1")
    opened = open_path(root)

    assert [w.root for w in opened.workspaces] == [root, root / "packages/a", root / "packages/b"]
    assert [runs(w) for w in opened.workspaces] == [[], [f"{TASKS}/T1"], [f"{TASKS}/T1"]]


def test_projects_that_fit_nothing_are_a_finding_of_the_configuration(root):
    put(root / ".phasekeeper/config.yaml", "projects: [none/*]\n")
    [found] = open_path(root).findings
    assert (found.code, found.path) == ("parameter-invalid", ".phasekeeper/config.yaml")


def test_a_workspace_keeps_what_it_saw(root):
    folder = task(root, "T1")
    before = Workspace(root)
    first = before.evaluate(before.matches[0])
    put(folder / "review/plan-review.json", {"ok": False})

    assert before.evaluate(before.matches[0]) == first
    after = Workspace(root)
    assert after.evaluate(after.matches[0]).suggestion.kind == "regress"


def test_unsaved_text_is_judged_instead_of_the_file(root):
    task(root, "T1")
    path = f"{TASKS}/T1/review/plan-review.json"
    workspace = Workspace(root, {path: '{"ok": false}'})
    assert workspace.evaluate(workspace.matches[0]).suggestion.kind == "regress"


def test_parse_results_are_kept_between_two_looks(root):
    task(root, "T1")
    parsed: dict = {}
    first = Workspace(root, parsed=parsed)
    first.evaluate(first.matches[0])
    known = dict(parsed)
    second = Workspace(root, parsed=parsed)
    second.evaluate(second.matches[0])

    assert parsed == known
    assert known


def claimed(root: Path, until: str) -> tuple:
    folder = task(root, "T1")
    put(
        folder / ".phasekeeper/claims.jsonl",
        f'{{"seq": 1, "kind": "claim", "task": "x", "actor": "a", "until": "{until}"}}\n',
    )
    workspace = Workspace(root)
    return workspace.evaluate(workspace.matches[0]).claims


def test_only_live_claims_are_seen(root):
    assert [claim.actor for claim in claimed(root, "2999-01-01T00:00:00Z")] == ["a"]
    assert claimed(root, "2001-01-01T00:00:00Z") == ()


OWN = """\
extend: artifact-pipeline
workflow: {name}
runs: {{at: [own/*], marker: {{file: state.json, has: [phase]}}}}
"""


def test_a_folder_that_two_definitions_claim_is_judged_by_neither(root):
    for name in ("one", "two"):
        put(root / f".phasekeeper/workflows/{name}.yaml", OWN.format(name=name))
    put(root / "own/T1/state.json", {"phase": "planning"})
    workspace = Workspace(root)
    evaluation = workspace.evaluate(workspace.matches[0])

    assert (evaluation.status, evaluation.suggestion.kind) == ("invalid", "none")
    assert "workflow-ambiguous" in [found.code for found in evaluation.findings]
    put(root / ".phasekeeper/config.yaml", "workflows: {own/*: two}\n")
    workspace = Workspace(root)
    assert workspace.evaluate(workspace.matches[0]).workflow == "two"


def test_a_definition_with_the_name_of_a_built_in_one_is_told_and_not_used(root):
    put(root / ".phasekeeper/workflows/phase-loop.yaml", "workflow: phase-loop\n")
    task(root, "T1")
    workspace = Workspace(root)

    assert [found.code for found in workspace.findings] == ["workflow-invalid"]
    assert runs(workspace) == [f"{TASKS}/T1"]


def test_what_a_crash_kept_from_its_place_is_read_as_it_was_committed(root, monkeypatch):
    folder = task(root, "T1")
    run, review = f"{TASKS}/T1", f"{TASKS}/T1/review/plan-review.json"
    edit = Edit(review, digest_of((folder / "review/plan-review.json").read_bytes()), '{"ok": false}')
    record: dict[str, object] = {"kind": "report", "phase": "plan_review", "outcome": "ok"}
    with monkeypatch.context() as patched:
        patched.setattr("phasekeeper.server.store.commit.finish_rename", died)
        with pytest.raises(KeyboardInterrupt):
            commit(root, run, lambda _held: Writes((record,), (edit,)))

    assert (folder / "review/plan-review.json").read_text() != edit.text
    workspace = open_path(folder).workspaces[0]
    assert workspace.evaluate(workspace.matches[0]).suggestion.suggested_next == "planning"
    Path(folder / "review/plan-review.json").write_text('{"ok": true}\n\n')
    workspace = open_path(folder).workspaces[0]
    assert workspace.evaluate(workspace.matches[0]).suggestion.suggested_next != "planning"


def died(*_arguments: object) -> None:
    raise KeyboardInterrupt
