"""Mistakes of the conventions that are read in place: what is offered for each, and that it mends it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from phasekeeper.tools.fixes.registry import fixes_for

from tests.roots import put
from tests.tools.fixes.test_fixes import apply_fix, context_of, found

TASKS_JSON = ".taskmaster/tasks/tasks.json"
FEATURE = "specs/001-login"
KIRO = ".kiro/specs/login"
AGENT_OS = ".agent-os/specs/2026-01-05-login"
SPEC_WORKFLOW = ".spec-workflow/specs/login"
BESIDE = {
    FEATURE: {"spec.md": "# Login\n", "plan.md": "# Plan\n"},
    "openspec/changes/add": {
        "proposal.md": "## Why\n",
        "../../specs/auth/spec.md": "### Requirement: Log out\nIt SHALL.\n#### Scenario: a\n",
    },
    KIRO: {"requirements.md": "# Requirements\n"},
    AGENT_OS: {"spec.md": "# Login\n"},
    SPEC_WORKFLOW: {"requirements.md": "# Requirements\n"},
    "backlog": {"config.yml": 'statuses: ["To Do", "In Progress", "Done"]\n'},
}
"""What else lies in the folder of a convention's unit."""


class Mistake(NamedTuple):
    """A file with a mistake, the code of its finding, what is offered, and what the first of it writes."""

    path: str
    text: str
    code: str
    titles: tuple[str, ...]
    after: str


def tagged(*tasks: dict[str, object]) -> str:
    return json.dumps({"master": {"tasks": list(tasks)}}, indent=1)


MISTAKES = {
    "spec-kit: two tasks of one id": Mistake(
        f"{FEATURE}/tasks.md",
        "- [ ] T001 a\n- [ ] T007 b\n- [ ] T001 c\n  note\n",
        "duplicate-task",
        ("Give this task the next free id, T008",),
        "- [ ] T008 c",
    ),
    "spec-kit: a line that was written again when it was ticked": Mistake(
        f"{FEATURE}/tasks.md",
        "- [ ] T001 a\n- [x] T001 a\n",
        "duplicate-task",
        ("Give this task the next free id, T002", "Remove this row, which says the same"),
        "- [x] T002 a",
    ),
    "spec-kit: a dependency on a task that is not there": Mistake(
        f"{FEATURE}/tasks.md",
        "- [ ] T001 a\n- [ ] T003 b (depends on T001, T010)\n",
        "dangling-dependency",
        ("Depend on T001 instead of T010",),
        "depends on T001, T001",
    ),
    "openspec: a requirement that the present spec calls otherwise": Mistake(
        "openspec/changes/add/specs/auth/spec.md",
        "## MODIFIED Requirements\n### Requirement: Log-out\nIt SHALL more.\n#### Scenario: a\n",
        "delta-invalid",
        ("Write Log out",),
        "### Requirement: Log out\n",
    ),
    "openspec: a group that is called done": Mistake(
        "openspec/changes/add/tasks.md",
        "## 1. Page ✅\n- [x] 1.1 a\n- [ ] 1.2 b\n",
        "status-drift",
        ("Do not say that it is complete",),
        "## 1. Page\n",
    ),
    "plan-file: a line of status": Mistake(
        "PLAN.md",
        "### Phase 1\n- [ ] a\n**Status:** complete\n",
        "status-drift",
        ("Say that it is in progress",),
        "**Status:** in_progress\n",
    ),
    "backlog: a status that is nearly one of the configuration": Mistake(
        "backlog/tasks/task-1.md",
        "---\nid: TASK-1\nstatus: In-Progress\n---\n",
        "task-malformed",
        ("Say In Progress",),
        "status: In Progress\n",
    ),
    "openspec: a number of another group": Mistake(
        "openspec/changes/add/tasks.md",
        "## 2. Page\n- [ ] 2.1 a\n- [ ] 1.3 b\n",
        "task-malformed",
        ("Number it 2.2",),
        "- [ ] 2.2 b",
    ),
    "kiro: a whole is ticked before its part": Mistake(
        f"{KIRO}/tasks.md",
        "- [x] 1. a\n  - [ ] 1.1 b\n",
        "status-drift",
        ("Mark 1 as not done: [-]",),
        "- [-] 1. a",
    ),
    "agent-os: a whole is ticked before its part": Mistake(
        f"{AGENT_OS}/tasks.md",
        "- [x] 1. a\n  - [ ] 1.1 b\n",
        "status-drift",
        ("Mark 1 as not done: [ ]",),
        "- [ ] 1. a",
    ),
    "spec-workflow: a capital letter in a box": Mistake(
        f"{SPEC_WORKFLOW}/tasks.md",
        "  + [X] 1. a\n",
        "task-malformed",
        ("Write it as a checkbox",),
        "  - [x] 1. a",
    ),
    "plan-file: a heading says complete too early": Mistake(
        "PLAN.md",
        "## Store (COMPLETE)\n- [ ] a\n",
        "status-drift",
        ("Do not say that it is complete",),
        "## Store\n",
    ),
    "task-master: two tasks of one id": Mistake(
        TASKS_JSON,
        tagged({"id": 1, "title": "a"}, {"id": 1, "title": "b"}),
        "duplicate-task",
        ("Give this task the next free id, 2",),
        '"id": 2',
    ),
    "task-master: two parts of one id, as a text": Mistake(
        TASKS_JSON,
        tagged({"id": 1, "title": "a", "subtasks": [{"id": "1"}, {"id": "1"}]}),
        "duplicate-task",
        ("Give this task the next free id, 2",),
        '"id": "2"',
    ),
    "task-master: a task is done before its parts": Mistake(
        TASKS_JSON,
        tagged({"id": 1, "status": "done", "subtasks": [{"id": 1, "status": "done"}, {"id": 2}]}),
        "status-drift",
        ("Set 1 to in-progress, as its parts are",),
        '"status": "in-progress"',
    ),
    "task-master: a task is done, and nobody began its parts": Mistake(
        TASKS_JSON,
        tagged({"id": 1, "status": "done", "subtasks": [{"id": 1}]}),
        "status-drift",
        ("Set 1 to pending, as its parts are",),
        '"status": "pending"',
    ),
    "task-master: a status that is near to one": Mistake(
        TASKS_JSON,
        tagged({"id": 1, "status": "in progress"}),
        "marker-unknown",
        ("Say in-progress",),
        '"status": "in-progress"',
    ),
    "task-master: a dependency on a task that is not there": Mistake(
        TASKS_JSON,
        '{"master": {"tasks": [{"id": "sync-1"}, {"id": "b2", "dependencies": ["sync-1", "sync-7"]}]}}',
        "dangling-dependency",
        ("Depend on sync-1 instead of sync-7", "Do not depend on sync-7"),
        '["sync-1", "sync-1"]',
    ),
    "backlog: a task is done, and a criterion is open": Mistake(
        "backlog/tasks/task-1.md",
        "---\nid: TASK-1\nstatus: Done\n---\n## Acceptance Criteria\n- [ ] a\n",
        "status-drift",
        ("Set TASK-1 to In Progress",),
        "status: In Progress",
    ),
    "backlog: a status that the configuration does not have": Mistake(
        "backlog/tasks/task-1.md",
        "---\nid: TASK-1\nstatus: Completed\n---\n",
        "marker-unknown",
        ("Say Done", "Say To Do", "Say In Progress"),
        "status: Done",
    ),
    "backlog: a title that YAML refuses": Mistake(
        "backlog/tasks/task-1.md",
        "---\nid: TASK-1\ntitle: Pay: it's late\nstatus: To Do\n---\n",
        "task-unreadable",
        ("Put it in quotes",),
        "title: 'Pay: it''s late'",
    ),
    "backlog: an apostrophe in single quotes": Mistake(
        "backlog/tasks/task-1.md",
        "---\nid: TASK-1\ntitle: 'it's late'\nstatus: To Do\n---\n",
        "task-unreadable",
        ("Put it in quotes",),
        "title: 'it''s late'",
    ),
    "backlog: a file that is called otherwise": Mistake(
        "backlog/tasks/task-2 - a.md",
        "---\nid: TASK-1\nstatus: To Do\n---\n",
        "task-mismatch",
        ("Say that this is task-2",),
        "id: task-2",
    ),
    "backlog: a dependency on a task that is not there": Mistake(
        "backlog/tasks/task-2.md",
        "---\nid: task-2\nstatus: To Do\ndependencies: [task-9]\n---\n",
        "dangling-dependency",
        ("Do not depend on task-9",),
        "dependencies: []",
    ),
    "backlog: a dependency in a line of its own": Mistake(
        "backlog/tasks/task-2.md",
        "---\nid: task-2\nstatus: To Do\ndependencies:\n  - task-9\nlabels: []\n---\n",
        "dangling-dependency",
        ("Do not depend on task-9",),
        "dependencies:\nlabels: []\n",
    ),
}


def write_unit(root: Path, path: str, text: str) -> None:
    for folder, files in BESIDE.items():
        for name, said in files.items() if path.startswith(f"{folder}/") else ():
            put(root / folder / name, said)
    put(root / path, text)


@pytest.mark.parametrize("name", MISTAKES)
def test_what_is_offered_for_a_mistake_mends_it(root: Path, name: str) -> None:
    mistake = MISTAKES[name]
    write_unit(root, mistake.path, mistake.text)
    [finding] = found(root, mistake.code)
    offered = fixes_for(context_of(root, finding))
    assert [fix.title for fix in offered] == [*mistake.titles]
    apply_fix(root, offered[0])
    assert mistake.after in (root / mistake.path).read_text(encoding="utf-8")
    assert found(root, mistake.code) == []


UNTOUCHED = {
    "beads: an export is not written": (
        ".beads/issues.jsonl",
        '{"id": "a-1", "status": "open"}\n{"id": "a-1", "status": "closed"}\n',
        "duplicate-task",
    ),
    "task-master: an id that has no number": (
        TASKS_JSON,
        tagged({"id": "sync", "title": "a"}, {"id": "sync", "title": "b"}),
        "duplicate-task",
    ),
    "backlog: a front matter that never ends": (
        "backlog/tasks/task-1.md",
        "---\nid: TASK-1\nstatus: To Do\n",
        "task-unreadable",
    ),
    "spec-kit: a row of a table has an id that another has": (
        f"{FEATURE}/tasks.md",
        "| T001 | a | [ ] |\n|---|---|---|\n| T001 | b | [ ] |\n",
        "duplicate-task",
    ),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_nothing_is_offered_where_nobody_knows_what_is_right(root: Path, name: str) -> None:
    path, text, code = UNTOUCHED[name]
    write_unit(root, path, text)
    findings = found(root, code)
    assert findings
    assert [fix.title for finding in findings for fix in fixes_for(context_of(root, finding))] == []
