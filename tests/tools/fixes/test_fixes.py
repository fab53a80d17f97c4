"""Every code of a finding: whether an edit fixes it, and that the edit, made, clears it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from phasekeeper.orchestration.findings import CODES, Finding
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.server.disk.disk_files import DiskFiles
from phasekeeper.server.lsp.features import command_offers
from phasekeeper.server.lsp.view import annotations as marks
from phasekeeper.server.lsp.view.unsaved_evaluator import lint_definition
from phasekeeper.server.workspace.workspace import Workspace
from phasekeeper.tools.fixes.fix import FixContext, QuickFix
from phasekeeper.tools.fixes.registry import FIXERS, fixes_for

from tests.roots import TASKS, loop, put, task

PLANS = ".orchestrator/tasks"
HEAD = "| Order | Task ID | File | Description | Type | Status |\n|---|---|---|---|---|---|\n"


def plan(root: Path, *rows: str, above: str = "", below: str = "", first: str = "[x]") -> Path:
    """An adopted plan of one phase, whose task files stand beside it."""
    folder = root / PLANS / "shop"
    usual = (
        f"1 | shop-01 | `01-cart.md` | The cart | impl | {first}",
        "2 | shop-02 | `02-tests.md` | Tests | test | [ ]",
    )
    text = "".join(f"| {row} |\n" for row in (*usual, *rows))
    put(
        folder / "MASTER_PLAN.md",
        f"# Shop - Master Plan\n\n{above}\n## Phase 1: Core\n\n{HEAD}{text}\n{below}",
    )
    for name, number in (("01-cart.md", "01"), ("02-tests.md", "02")):
        put(folder / name, f"# {number}. Work\n\n## Meta\n\n- **ID**: shop-{number}\n- **Depends On**: []\n")
    put(root / ".phasekeeper/config.yaml", "parameters:\n  master-plan:\n    adoption: auto\n")
    return folder


# ---- the scenarios: what makes a finding of a code, and (its fields but for the code are looked up) ---


def _drift(root: Path) -> None:
    said = "**Progress**: 2/2 tasks complete (100%)\n\n## Quick Reference\n\n"
    plan(root, below=f"{said}```\n 1. shop-01  Cart  [ ]\n```\n")


def _word_unknown(root: Path) -> None:
    state = {"version": "2.0", "phase": "classify", "workQueue": [], "gates": {"lint": {"status": "pased"}}}
    put(root / ".claude/state/loop.state.json", json.dumps(state))


def _mark(root: Path) -> None:
    plan(root, first="[?]")


def _duplicate(root: Path) -> None:
    plan(root, "3 | shop-01 | `03-more.md` | More | impl | [ ]")
    put(root / PLANS / "shop/03-more.md", "# 03. More\n\n## Meta\n\n- **ID**: shop-03\n")


def _reverted(root: Path) -> None:
    folder = plan(root, first="[ ]")
    put(
        folder / ".phasekeeper/journal.jsonl",
        '{"seq": 1, "kind": "report", "phase": "4c", "outcome": "ok", "stage": "1", "prev": ""}\n',
    )


def _mismatched(root: Path) -> None:
    put(plan(root) / "02-tests.md", "# 02. Tests\n\n## Meta\n\n- **ID**: FT-002\n")


def _malformed(root: Path) -> None:
    feature = root / "specs/001-login"
    put(feature / "spec.md", "# Login\n")
    put(feature / "tasks.md", "- [x] T001 a\n  * ☑ **T002** b\n1. [done] T003 c\n[ ] d\n")


def _missing(root: Path) -> None:
    plan(root, "3 | shop-03 | `03-pay.md` | Paying | impl | [ ]")


def _unreadable_task(root: Path) -> None:
    put(plan(root) / "01-cart.md", "# 01. The cart\n\nSome words.\n")


def _untested(root: Path) -> None:
    folder = plan(root)
    text = (folder / "MASTER_PLAN.md").read_text()
    put(
        folder / "MASTER_PLAN.md",
        text.replace("| Tests | test |", "| The till | impl |").replace("02-tests", "02-till"),
    )
    (folder / "02-tests.md").rename(folder / "02-till.md")


def _dangling(root: Path) -> None:
    put(
        plan(root) / "02-tests.md",
        "# 02. Tests\n\n## Meta\n\n- **ID**: shop-02\n- **Depends On**: [shop-1]\n",
    )


def _circle(root: Path) -> None:
    folder = plan(root)
    put(folder / "01-cart.md", "# 01. Cart\n\n## Meta\n\n- **ID**: shop-01\n- **Depends On**: [shop-02]\n")
    put(folder / "02-tests.md", "# 02. Tests\n\n## Meta\n\n- **ID**: shop-02\n- **Depends On**: [shop-01]\n")


def _unclear(root: Path) -> None:
    put(
        plan(root) / "reports/01-4b.md",
        "## Phase Quality Gate\n\n**Phase**: 1\n**Overall Status**: PROBABLY\n",
    )


def _invalid(root: Path) -> None:
    put(task(root, "T1") / "review/plan-review.json", {"issues": []})


def _shallow_scenario(root: Path) -> None:
    change = root / "openspec/changes/add-login"
    put(change / "proposal.md", "## Why\nPeople want it.\n")
    scenario = "### Scenario: A known person\n- **WHEN** the password is right\n"
    told = "## ADDED Requirements\n### Requirement: Log in\nIt SHALL let in.\n#### Scenario: b\n"
    put(change / "specs/auth/spec.md", f"{told}{scenario}")


def _dotted(root: Path) -> None:
    state = {"status": "running", "target_skill": {"name": "x"}, "diagnosis": {}, "completed_actions": []}
    state["diagnosis.memory"] = {"status": "completed"}
    put(root / ".workflow/.scratchpad/skill-tuning-x/state.json", state)


def _twice(root: Path) -> None:
    put(task(root, "T1") / "review/plan-review.json", '{\n  "ok": true,\n  "note": 1,\n  "ok": true\n}\n')


def _copies(root: Path) -> None:
    folder = task(root, "T1")
    put(folder / "planning/plan-review.json", {"ok": False})


def _phase_unknown(root: Path) -> None:
    put(task(root, "T1") / "state.json", '{\n  "phase": "plan_reviw"\n}\n')


def _inconsistent(root: Path) -> None:
    put(root / ".phasekeeper/workflows/article.yaml", ARTICLE)
    put(root / "articles/tides/article.json", {"phase": "review"})


def _parameter(root: Path) -> None:
    task(root, "T1")
    loop(root)
    put(root / ".phasekeeper/config.yaml", "parameters:\n  phase-loop:\n    max_iteration: 9\n")


def _bounds(root: Path) -> None:
    loop(root)
    put(root / ".phasekeeper/config.yaml", "parameters:\n  phase-loop:\n    max_iterations: 0\n")


def _loosened(root: Path) -> None:
    loop(root, workQueue=[{"id": "WQ-1", "priority": "S2", "status": "pending"}])
    kept = [{"head": ""}, {"path": ["workQueue", "WQ-1", "priority"], "value": "S0"}]
    line = json.dumps({"seq": 1, "kind": "start", "phase": "assess", "held": kept})
    put(root / ".claude/state/.phasekeeper/journal.jsonl", f"{line}\n")


def _ambiguous(root: Path) -> None:
    for name in ("one", "two"):
        put(
            root / f".phasekeeper/workflows/{name}.yaml",
            ARTICLE.replace("workflow: article", f"workflow: {name}"),
        )
    put(root / "articles/tides/article.json", {"phase": "draft"})


def _definition(root: Path) -> None:
    put(root / ".phasekeeper/workflows/article.yaml", ARTICLE.replace("to: review", "to: reviw"))


def _session(root: Path) -> None:
    put(
        root / ".phasekeeper/sessions/S/session.json",
        {"id": "S", "type": "ContextComponentsDesignSessions", "status": "activ", "interactions": []},
    )


ARTICLE = """\
workflow: article
runs: {at: [articles/*], marker: {file: article.json, has: [phase]}}
state: {file: article.json}
phase: state.phase
artifacts:
  text: {paths: [text.md], kind: markdown}
phases:
  draft:
    produces: [text]
    rules:
      - {when: valid.text, to: review, because: written}
  review:
    rules:
      - {when: state.ok == true, to: published, because: accepted}
  published: {terminal: complete}
"""
SCENES: dict[str, Callable[[Path], None]] = {
    "artifact-invalid": _invalid,
    "artifact-missing": _missing,
    "dangling-dependency": _dangling,
    "delta-invalid": _shallow_scenario,
    "dotted-key": _dotted,
    "duplicate-key": _twice,
    "duplicate-location": _copies,
    "duplicate-task": _duplicate,
    "inconsistent-state": _inconsistent,
    "mark-reverted": _reverted,
    "marker-unknown": _mark,
    "parameter-invalid": _parameter,
    "parameter-out-of-bounds": _bounds,
    "plan-cycle": _circle,
    "report-unclear": _unclear,
    "session-inconsistent": _session,
    "state-loosened": _loosened,
    "status-drift": _drift,
    "task-malformed": _malformed,
    "task-mismatch": _mismatched,
    "task-unreadable": _unreadable_task,
    "test-task-missing": _untested,
    "unknown-phase": _phase_unknown,
    "unknown-word": _word_unknown,
    "workflow-ambiguous": _ambiguous,
    "workflow-invalid": _definition,
}


def judge(root: Path) -> tuple[list[Finding], list[Evaluation]]:
    """All findings of a root, and its runs."""
    workspace = Workspace(root)
    own = list(workspace.findings)
    for path in sorted((root / ".phasekeeper/workflows").glob("*.yaml")):
        own += lint_definition(path.read_text(), path.relative_to(root).as_posix(), workspace.library)
    try:
        runs = [workspace.evaluate(match) for match in workspace.matches]
    except Exception:
        # A broken definition hides the runs; its own findings are told all the same.
        runs = []
    return [*own, *(f for e in runs for f in e.findings)], runs


def context_of(root: Path, finding: Finding) -> FixContext:
    files = DiskFiles(root)
    workspace = Workspace(root)
    _, runs = judge(root)
    owner = next((e for e in runs if finding in e.findings), None)
    match = next((m for m in workspace.matches if owner and m.run == owner.run), None) if owner else None
    text = files.read(finding.path).text or ""
    return FixContext(
        finding, text, lambda path: files.read(path).text, owner, match.workflow if match else None
    )


def apply_fix(root: Path, fix: QuickFix) -> None:
    for edit in fix.edits:
        path = put(root / edit.path, edit.text)
        # Within the two seconds of one moment nothing is older than anything.
        os.utime(path)
    for path in fix.removes:
        (root / path).unlink()


def found(root: Path, code: str) -> list[Finding]:
    return [finding for finding in judge(root)[0] if finding.code == code]


UNFIXABLE: dict[str, str] = {
    "duplicate-number": "a folder is renamed by who knows which branch and links it has",
    "artifact-contradictory": "only its author knows which of the values holds",
    "dependency-cancelled": "whether the other task is wanted after all, only who planned them knows",
    "definition-upgraded": "it is information: what was recorded stays in force",
    "plan-shrank": "only who planned knows whether the work is still wanted",
    "report-unmatched": "only who wrote the report knows which stage it is of",
    "task-unlisted": "only who planned knows the stage that the task belongs to",
    "definition-invalid": "the definition has to be mended, where `workflow-invalid` stands",
    "coverage-low": "tests have to be written; that is work",
    "issue-reported": "the tool that reports it knows what mends it",
    "test-failed": "the code or the test has to be mended; that is work",
    "action-precondition": "the state says that the action comes too early; the work before it is missing",
    "budget-exceeded": "only who wrote the guards, or keeps the files, knows what can be left out",
    "artifact-unreadable": "only who wrote the text knows what it should say",
    "fix-scope-unclear": "only who ran the checks knows which tasks failed",
    "fixes-dropped": "fixes have to be made or verified; that is work",
    "freshness-unknown": "which of two files is newer cannot be told any more",
    "evidence-unverified": "the check has to run here, or the record to be committed",
    "inputs-unwatched": "only who declares the check knows which files it depends on",
    "check-changed": "only a person can say whether the check is as good as it was",
    "check-failed": "the code has to be mended; that is work",
    "check-narrowed": "its inputs have to come back, or a person accepts that on a terminal",
    "check-stale": "the check has to run; `phasekeeper verify` runs it",
    "check-untrusted": "only a person on a terminal allows what is run",
    "coverage-dropped": "tests have to be written, or a person accepts that on a terminal",
    "threshold-lowered": "the threshold has to be raised again, or a person accepts that on a terminal",
    "tests-removed": "the tests have to come back, or a person accepts that on a terminal",
    "tests-skipped": "the tests have to run, or a person accepts that on a terminal",
    "check-invalid": "only who declares the check knows what it should run",
    "gate-failing": "the gate's checks have to pass; that is work",
    "root-slow": "which files are large, or how often they change, is for those to say who keep them",
    "order-uncertain": "which of two reports came first cannot be told any more",
    "phase-ahead": "it is information: an artifact that comes early harms nothing",
    "phase-skipped": "it is information, with the reason",
    "placeholder-left": "only who knows what is wanted can say it",
    "task-ahead": "whether the one is done or the other is not, only who did them knows",
    "plan-empty": "the tasks of a stage have to be planned; that is work",
    "quality-mismatch": "the quality gate has to be judged again",
    "report-out-of-turn": "it counts for nothing, and what it says may still be wanted",
    "report-unsupported": "what is missing is work, or has to be named by whoever did it",
    "report-unknown": "only who wrote the file knows what it was meant to be",
    "tests-contradictory": "the tests have to run again",
    "tests-empty": "tests have to be written",
    "updates-ignored": "what was left out is for the rules or a person to write",
    "unknown-action": "the workflow's definition has to name an action that it has",
}
"""Codes for which nothing is offered, and why."""


def test_every_code_is_fixed_by_an_edit_or_a_command_or_there_is_a_reason_why_not() -> None:
    fixed, commanded, left = set(FIXERS), set(command_offers.OFFERS), set(UNFIXABLE)
    assert fixed | commanded | left == set(CODES) | set(marks.CODES)
    assert not (fixed | commanded) & left
    assert set(SCENES) == fixed


@pytest.mark.parametrize("code", sorted(SCENES))
def test_the_first_fix_that_is_offered_clears_the_finding(root: Path, code: str) -> None:
    SCENES[code](root)
    before = found(root, code)
    assert before, f"nothing says {code}: {[f.code for f in judge(root)[0]]}"
    finding, offered = first_offered(root, before)
    apply_fix(root, offered[0])
    left = [(f.path, f.message) for f in found(root, code)]
    assert (finding.path, finding.message) not in left
    assert len(left) < len(before)


def first_offered(root: Path, findings: list[Finding]) -> tuple[Finding, list[QuickFix]]:
    """The first finding that can be fixed; of broken definitions not all can."""
    pairs = ((finding, fixes_for(context_of(root, finding))) for finding in findings)
    return next((finding, offered) for finding, offered in pairs if offered)


@pytest.mark.parametrize("code", sorted(SCENES))
def test_each_way_that_is_offered_clears_the_finding(tmp_path: Path, code: str) -> None:
    way = 0
    while True:
        root = tmp_path / str(way)
        (root / ".git").mkdir(parents=True)
        SCENES[code](root)
        before, offered = first_offered(root, found(root, code))
        if way >= len(offered):
            break
        apply_fix(root, offered[way])
        assert (before.path, before.message) not in [(f.path, f.message) for f in found(root, code)], offered[
            way
        ]
        way += 1
    assert way


def test_a_strike_over_a_row_can_be_removed(root: Path) -> None:
    plan(root, first="[x]")
    path = next(root.rglob("MASTER_PLAN.md"))
    path.write_text(path.read_text().replace("`01", "~~`01", 1).replace(".md`", ".md`~~", 1))
    [finding] = found(root, "marker-unknown")
    [fix] = fixes_for(context_of(root, finding))
    assert fix.title == "Remove the strike"
    apply_fix(root, fix)
    assert found(root, "marker-unknown") == []


def test_a_value_that_is_added_opens_no_gate(root: Path) -> None:
    _invalid(root)
    [finding] = found(root, "artifact-invalid")
    first = fixes_for(context_of(root, finding))[0]
    assert json.loads(first.edits[0].text)["ok"] is False


SCHEMA = {
    "required": ["verdict", "notes"],
    "properties": {
        "verdict": {"enum": ["rework", "accept"]},
        "notes": {"type": "array", "items": {"$ref": "#/$defs/note"}},
        "level": {"enum": [1, 2]},
    },
    "$defs": {"note": {"required": ["line", "any"], "properties": {"line": {"type": "integer"}}}},
}


def _with_schema(root: Path, review: dict[str, object], schema: object = SCHEMA) -> list[list[str]]:
    """The titles of what is offered for each finding of an artifact that has a JSON Schema."""
    artifacts = "  text: {paths: [text.md], kind: markdown}"
    review_file = "  review: {paths: [review.json], kind: json, schema: /review.schema.json}"
    put(
        root / ".phasekeeper/workflows/article.yaml",
        ARTICLE.replace(artifacts, f"{artifacts}\n{review_file}"),
    )
    put(root / "review.schema.json", json.dumps(schema))
    put(root / "articles/tides/article.json", {"phase": "draft"})
    put(root / "articles/tides/review.json", review)
    offered = [fixes_for(context_of(root, finding)) for finding in found(root, "artifact-invalid")]
    return [[fix.title for fix in each] for each in offered]


def test_what_a_schema_asks_for_is_offered_as_far_as_it_says_what_that_may_be(root: Path) -> None:
    assert sorted(_with_schema(root, {})) == [
        ["Add notes: []"],
        ['Add verdict: "rework"', 'Add verdict: "accept"'],
    ]
    review = {"verdict": "acept", "notes": [{"line": 1, "any": 2}, {}], "level": 3}
    assert sorted(_with_schema(root, review)) == [
        [],
        ['Add notes.1.any: ""'],
        ["Add notes.1.line: 0"],
        ['Set verdict: "rework"', 'Set verdict: "accept"'],
    ]


def test_a_value_that_a_schema_asks_for_clears_its_finding(root: Path) -> None:
    _with_schema(root, {"verdict": "acept", "notes": [{}]})
    for left in (2, 1, 0):
        before = found(root, "artifact-invalid")
        apply_fix(root, fixes_for(context_of(root, before[0]))[0])
        assert len(found(root, "artifact-invalid")) == left


def test_a_schema_that_cannot_be_used_offers_nothing(root: Path) -> None:
    assert _with_schema(root, {}, {"required": "verdict", "properties": {}}) == [[]]
    assert _with_schema(root, {}, {"required": ["verdict"], "properties": [True]}) == [[]]


def test_a_report_without_a_verdict_gets_the_field_and_no_verdict(root: Path) -> None:
    folder = plan(root)
    put(folder / "reports/01-4b.md", "## Phase Quality Gate\n\n**Phase**: 1\n")
    [finding] = found(root, "report-unclear")
    [fix] = fixes_for(context_of(root, finding))
    assert fix.title == "Add the field PHASE GATE STATUS, to be filled in"
    apply_fix(root, fix)
    [left] = found(root, "report-unclear")
    assert left.message == "`PASS | FAIL` is no verdict; expected one of: pass, fail"
    assert [fix.title for fix in fixes_for(context_of(root, left))] == ["Say pass", "Say fail"]
    assert [gate.status for gate in judge(root)[1][0].gates if gate.id == "2"] == ["not-reached"]


# ---- status words -------------------------------------------------------------------------------


def titles(root: Path, code: str) -> list[str]:
    """The titles of what is offered for the first finding of a code."""
    return fix_titles(root, found(root, code)[0])


def fix_titles(root: Path, finding: Finding) -> list[str]:
    return [fix.title for fix in fixes_for(context_of(root, finding))]


def test_a_status_that_is_no_word_is_set_to_one_that_it_may_be(root: Path) -> None:
    _session(root)
    assert titles(root, "session-inconsistent") == [
        f"Set the status to {word}" for word in ("active", "failed", "cancelled")
    ]


def test_a_status_that_says_complete_too_early_is_set_back(root: Path) -> None:
    session = {"id": "S", "type": "ContextComponentsDesignSessions", "status": "complete"}
    put(root / ".phasekeeper/sessions/S/session.json", {**session, "interactions": []})
    assert titles(root, "session-inconsistent") == ["Set the status to active"]
    loop(root, status="complete")
    assert titles(root, "inconsistent-state") == ["Set the status to running"]


def test_a_status_of_a_loop_that_is_no_word_is_fixed_too(root: Path) -> None:
    loop(root, status="complet", workQueue=[])
    assert titles(root, "inconsistent-state")[0] == "Set the status to complete"


def test_what_no_status_fixes_is_left_alone(root: Path) -> None:
    child = {"id": "code", "type": "ComponentCodingSessions", "status": "active"}
    put(
        root / ".phasekeeper/sessions/S/session.json",
        {"id": "S", "type": "ContextComponentsDesignSessions", "child_sessions": [child]},
    )
    assert titles(root, "session-inconsistent") == []


def test_a_fix_is_a_function_and_a_line_of_the_table(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def empty(ctx: FixContext) -> Iterator[QuickFix]:
        yield QuickFix("Leave it as it is", (ctx.edit(ctx.text),))
        yield QuickFix(f"Empty {ctx.finding.path}", (ctx.edit(""),), preferred=True)

    monkeypatch.setitem(FIXERS, "plan-is-long", empty)
    finding = Finding("plan-is-long", "plan.md", "said in whatever words")
    [fix] = fixes_for(FixContext(finding, "# Plan\n", lambda _: None))
    assert fix.title == "Empty plan.md"
    assert fix.edits[0].text == ""


def test_a_misspelt_key_of_the_configuration_gets_the_name_that_was_meant(root: Path) -> None:
    loop(root)
    put(root / ".phasekeeper/config.yaml", "paramters:\n  phase-loop:\n    max_iterations: 9\n")
    assert titles(root, "parameter-invalid")[0] == "Write parameters"


@pytest.mark.parametrize(
    ("right", "wrong", "word"),
    [
        ("phase: state.phase", "phaze: state.phase", "phase"),
        ("kind: markdown", "kind: markdwn", "markdown"),
        ("terminal: complete", "terminal: complet", "complete"),
        ("produces: [text]", "produces: [txt]", "text"),
        ("to: published", "to: publishd", "published"),
        ("when: valid.text", "when: vald.text", "valid.text"),
        ("because: written", 'because: "{valid.txt} is written"', "valid.text"),
    ],
)
def test_a_misspelt_word_of_a_definition_gets_the_word_that_was_meant(
    root: Path, right: str, wrong: str, word: str
) -> None:
    put(root / ".phasekeeper/workflows/article.yaml", ARTICLE.replace(right, wrong))
    offered = [title for each in found(root, "workflow-invalid") for title in fix_titles(root, each)]
    assert f"Write {word}" in offered


def test_an_artifact_that_a_gate_asks_for_is_never_made(root: Path) -> None:
    put(root / TASKS / "T1/state.json", {"phase": "codegen"})
    missing = [f for f in judge(root)[0] if f.code in ("artifact-missing", "inconsistent-state")]
    assert missing
    edits = [edit for f in missing for fix in fixes_for(context_of(root, f)) for edit in fix.edits]
    assert all(edit.digest is not None for edit in edits)
