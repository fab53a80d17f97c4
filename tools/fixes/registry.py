"""Which finding codes an edit fixes, and how.

Every code of a finding is in one of three tables: `FIXERS` (an edit fixes it), `OFFERS` in the editors'
`command_offers.py` (the store must act), or `UNFIXABLE` in the test (with the reason why nothing is offered).
"""

from __future__ import annotations

from . import data_fixes, plan_fixes, state_fixes
from .fix import FixContext, Fixer, QuickFix

MOST_CHOICES = 6
"""So many fixes of one finding are offered at most; a longer list is no help."""

# To add a quick fix: one function of a FixContext, and one line here.
FIXERS: dict[str, Fixer] = {
    "artifact-invalid": data_fixes.set_required_value,
    "artifact-missing": plan_fixes.draft_task_file,
    "dangling-dependency": plan_fixes.change_dependency,
    "delta-invalid": plan_fixes.put_in_place,
    "dotted-key": data_fixes.nest_dotted_key,
    "duplicate-key": data_fixes.remove_earlier_key,
    "duplicate-location": data_fixes.keep_one_copy,
    "duplicate-task": plan_fixes.rename_duplicate,
    "inconsistent-state": state_fixes.fix_inconsistent_state,
    "mark-reverted": plan_fixes.restore_marks,
    "marker-unknown": plan_fixes.set_mark,
    "parameter-invalid": data_fixes.fix_parameter,
    "parameter-out-of-bounds": data_fixes.fix_parameter,
    "plan-cycle": plan_fixes.break_cycle,
    "report-unclear": plan_fixes.set_verdict,
    "session-inconsistent": state_fixes.set_status,
    "state-loosened": data_fixes.restore_value,
    "status-drift": plan_fixes.sync_plan,
    "task-malformed": plan_fixes.write_as_box,
    "task-mismatch": plan_fixes.set_task_id,
    "task-unreadable": plan_fixes.complete_task,
    "test-task-missing": plan_fixes.add_test_task,
    "unknown-phase": state_fixes.set_known_phase,
    "unknown-word": data_fixes.set_known_word,
    "workflow-ambiguous": data_fixes.assign_workflow,
    "workflow-invalid": data_fixes.respell_word,
}


def fixes_for(ctx: FixContext) -> list[QuickFix]:
    """The fixes of a finding, the best first, each title once; none that would change nothing."""
    fixer = FIXERS.get(ctx.finding.code)
    if fixer is None:
        return []
    fixes: dict[str, QuickFix] = {}
    for fix in plan_fixes.put_in_place(ctx) if "replacements" in ctx.finding.data else fixer(ctx):
        if fix.removes or any(edit.path != ctx.finding.path or edit.text != ctx.text for edit in fix.edits):
            fixes[fix.title] = fix
    return list(fixes.values())[:MOST_CHOICES]
