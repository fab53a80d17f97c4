"""Which finding codes an edit fixes, and how.

Every code of a finding is in one of three tables: `FIXERS` (an edit fixes it), `COMMANDS` in the editors'
`command_offers.py` (the store must act), or `UNFIXABLE` (with the reason why nothing is offered).
"""

from __future__ import annotations

from collections.abc import Mapping

from . import data_fixes, plan_fixes, state_fixes
from .fix import FixContext, Fixer, QuickFix

MOST_CHOICES = 6
"""So many fixes of one finding are offered at most; a longer list is no help."""

# To add a quick fix: one function of a FixContext, and one line here.
FIXERS: dict[str, Fixer] = {
    "artifact-invalid": data_fixes.set_required_value,
    "artifact-missing": plan_fixes.draft_task_file,
    "dangling-dependency": plan_fixes.change_dependency,
    "dotted-key": data_fixes.nest_dotted_key,
    "duplicate-key": data_fixes.remove_earlier_key,
    "duplicate-location": data_fixes.keep_one_copy,
    "duplicate-task": plan_fixes.rename_duplicate,
    "inconsistent-state": state_fixes.fix_inconsistent_state,
    "marker-unknown": plan_fixes.set_mark,
    "parameter-invalid": data_fixes.fix_parameter,
    "parameter-out-of-bounds": data_fixes.fix_parameter,
    "plan-cycle": plan_fixes.break_cycle,
    "report-unclear": plan_fixes.set_verdict,
    "session-inconsistent": state_fixes.set_status,
    "status-drift": plan_fixes.sync_plan,
    "task-unreadable": plan_fixes.complete_task,
    "test-task-missing": plan_fixes.add_test_task,
    "unknown-phase": state_fixes.set_known_phase,
    "workflow-ambiguous": data_fixes.assign_workflow,
    "workflow-invalid": data_fixes.respell_word,
}
UNFIXABLE: Mapping[str, str] = {
    "definition-invalid": "the definition has to be mended, where `workflow-invalid` stands",
    "action-precondition": "the state says that the action comes too early; the work before it is missing",
    "artifact-unreadable": "only who wrote the text knows what it should say",
    "fix-scope-unclear": "only who ran the checks knows which tasks failed",
    "fixes-dropped": "fixes have to be made or verified; that is work",
    "freshness-unknown": "which of two files is newer cannot be told any more",
    "gate-failing": "the gate's checks have to pass; that is work",
    "order-uncertain": "which of two reports came first cannot be told any more",
    "phase-ahead": "it is information: an artifact that comes early harms nothing",
    "phase-skipped": "it is information, with the reason",
    "plan-empty": "the tasks of a stage have to be planned; that is work",
    "quality-mismatch": "the quality gate has to be judged again",
    "report-out-of-turn": "it counts for nothing, and what it says may still be wanted",
    "report-unknown": "only who wrote the file knows what it was meant to be",
    "tests-contradictory": "the tests have to run again",
    "tests-empty": "tests have to be written",
    "unknown-action": "the workflow's definition has to name an action that it has",
}
"""Codes for which nothing is offered, and why."""


def fixes_for(ctx: FixContext) -> list[QuickFix]:
    """The fixes of a finding, the best first, each title once; none that would change nothing."""
    fixer = FIXERS.get(ctx.finding.code)
    if fixer is None:
        return []
    fixes: dict[str, QuickFix] = {}
    for fix in fixer(ctx):
        if fix.removes or any(edit.path != ctx.finding.path or edit.text != ctx.text for edit in fix.edits):
            fixes[fix.title] = fix
    return list(fixes.values())[:MOST_CHOICES]
