"""The reports that may be made now, and what each has to come with: the data, the text and the files.

What a report needs is told from a draft of it: a report of the tasks at hand that says the step is done, with
its data filled in as the example shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..decision.brings import Delivery, announced_requirements, missing_files, tasks_to_judge
from ..decision.decision import outcomes_of, step_of
from ..decision.facts import RunFacts
from ..definition.state_changes import ANY, StateChange
from ..expressions.queries import dig
from ..journal.journal import record
from ..journal.report_forms import blank_form
from ..result.values import Reportable, Requirement
from ..states import RecordKind, RequirementKind

# Of the tasks at hand, the files of so many are told beforehand.
_MOST_TASKS = 20
# A choice in the example of data: the first word says that the work is done.
_CHOICE = re.compile(r"<(\w[\w-]*)(?:, | or ).*>")
_GAP = re.compile(r"<.*>")


def reportable(facts: RunFacts, step: str, tasks: Sequence[str]) -> Reportable:
    """What a report of a step says, and comes with. `tasks` are those that it may be of."""
    workflow = facts.workflow
    declared = step_of(workflow, step)
    outcomes = outcomes_of(declared)
    example = facts.context.value(declared.data).value if declared and declared.data else None
    # Maps of expressions have no order of their own; an answer has.
    data = _sort_keys(example) if example and isinstance(example, dict) else None
    brings, instructions = (declared.brings, declared.instructions) if declared else (None, "")
    changes = "; ".join(_list_changes(data or {}, declared.changes)) if declared else ""
    unnamed = tuple(_files_not_named_yet(facts, step))
    if brings is None:
        asked = tuple(replace(each, outcomes=outcomes[:1]) for each in unnamed)
        return Reportable(step, outcomes, data, None, asked, instructions, changes)
    named = [*tasks[:_MOST_TASKS]]
    draft = record(
        kind=RecordKind.REPORT.value, phase=step, outcome=outcomes[0], stage=facts.stage,
        tasks=named, task=named[0] if len(named) == 1 else "", iteration=facts.iteration,
    )  # fmt: skip
    spoken_of = tasks_to_judge(facts, brings, draft)
    missing = missing_files(facts, brings, draft)
    read = workflow.reports.read
    form = blank_form(read[step], facts.stage, spoken_of, missing) if brings.report else None
    needed = announced_requirements(facts, brings, Delivery(draft, _fill_in(data or {})))
    # Its text alone is asked for whatever the report says.
    asked = tuple(
        replace(each, outcomes=outcomes if each.kind is RequirementKind.REPORT else outcomes[:1])
        for each in (*needed, *unnamed)
    )
    return Reportable(step, outcomes, data, form, asked, instructions, changes)


def _files_not_named_yet(facts: RunFacts, step: str) -> Iterator[Requirement]:
    """The files of a plan that the step has to make beside it, while no plan names them."""
    phase, plan = facts.workflow.phases.get(step), facts.workflow.plan
    if phase is None or plan is None or facts.artifact(plan.id).exists:
        return
    for name in phase.produces:
        listed = facts.workflow.artifacts[name].listed
        if listed and listed.source.strip() == f"{plan.id}.files":
            path = facts.artifact(plan.id).path
            said = f"the files exist that {path} names; the next step shows them once it is written"
            yield Requirement(RequirementKind.FILES, said, met=False)


def _list_changes(data: Mapping[str, Any], changes: Mapping[tuple[str, ...], StateChange]) -> Iterator[str]:
    """What becomes of each list of the state that the example of data has, in words."""
    for path, change in changes.items():
        name = ".".join(path)
        if not isinstance(dig(data, f"stateUpdates.{name}"), list):
            continue
        if change.set:
            yield f"{name} replaces the list that is there"
        elif change.remove:
            gone = (
                "what it leaves out goes"
                if change.remove == ANY
                else "only the first may be left out, and goes"
            )
            yield f"{name} lists what is left: {gone}"
        else:
            changed = f"what is named by its {change.by} is changed" if change.update else ""
            added = f"what has a new {change.by} is added" if change.update else "what is new is added"
            said = ", ".join(filter(None, (changed, added if change.append else "", "the rest stays")))
            yield f"of {name} {said}"


def _fill_in(shown: Any) -> Any:
    """The example of data as a report that says the good has it: the first word of a choice, no other gap."""
    if isinstance(shown, dict):
        return {key: _fill_in(value) for key, value in shown.items()}
    if isinstance(shown, list):
        return [_fill_in(item) for item in shown if not (isinstance(item, str) and _GAP.fullmatch(item))]
    choice = _CHOICE.fullmatch(shown) if isinstance(shown, str) else None
    return choice[1] if choice else shown


def _sort_keys(value: Any) -> Any:
    """Data with the keys of every map in order."""
    if isinstance(value, dict):
        return {key: _sort_keys(value[key]) for key in sorted(value, key=str)}
    return [_sort_keys(each) for each in value] if isinstance(value, list) else value
