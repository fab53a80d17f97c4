"""Notes beside the next step: a person's advice, those of the workflow, verdicts on one's own work."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, takewhile
from operator import itemgetter

from ..decision.decision import outcomes_of
from ..decision.facts import RunFacts
from ..definition.model import Action, Phase
from ..journal.journal import Record
from ..result.values import NoteText
from ..states import RecordKind

# Of a person's words since the last report, so many are told.
_MOST_ADVICE = 3


def notes_of(facts: RunFacts) -> Iterator[NoteText]:
    """The notes of a run whose phase is known; the advice first, since answers are cut at their ends."""
    yield from _advice(facts)
    for note in facts.workflow.notes.values():
        if facts.holds(f"notes.{note.id}.when", note.when):
            yield NoteText(note.id, note.title, facts.text(note.text))
    steps = (*facts.workflow.phases.values(), *facts.workflow.actions.values())
    if told := [said for step in steps if step.judges and (said := _own_verdict(facts, step))]:
        yield NoteText("own-verdict", "Judged by whom it judges", "; ".join(told))


def _advice(facts: RunFacts) -> Iterator[NoteText]:
    """The words with which a person answered or overrode, until something is reported."""
    kinds = (RecordKind.ANSWER, RecordKind.REPORT, RecordKind.OVERRIDE)
    entries = (entry for entry in reversed(facts.records) if entry["kind"] in kinds)
    since = takewhile(lambda entry: entry["kind"] != RecordKind.REPORT, entries)
    for number, entry in enumerate(islice(filter(itemgetter("why"), since), _MOST_ADVICE)):
        # One name for the newest; those before it are told apart by their records.
        name = f"advice:{entry['seq']}" if number else "advice"
        if entry["kind"] == RecordKind.OVERRIDE:
            yield NoteText(name, "A person overrode the gates", f"on to {entry['next']}: {entry['why']}")
        else:
            earlier = f", before that, {entry['question']}" if number else ""
            yield NoteText(name, f"A person answered{earlier}", f"{entry['option']}: {entry['why']}")


def _own_verdict(facts: RunFacts, step: Phase | Action) -> str:
    """The newest verdict of a step as a phrase; "" unless whoever gave it had reported the judged work."""
    mark = {"kind": RecordKind.REPORT.value, "phase": step.id}
    verdict: Record | None = next(iter(facts.context.records.pick(mark)[-1:]), None)
    if verdict is None or not verdict["actor"] or verdict["outcome"] != outcomes_of(step)[0]:
        return ""
    work = {"kind": RecordKind.REPORT.value, "phase": list(step.judges)}
    if stage := verdict["stage"]:
        work["stage"] = str(stage)
    reports = facts.context.records.pick(work)
    later = facts.context.records.since(mark, work)
    before = reports[: len(reports) - len(later)]
    own = dict.fromkeys(str(each["phase"]) for each in before if each["actor"] == verdict["actor"])
    of_stage = f" of stage {stage}" if stage else ""
    said = f"{verdict['actor']} reported {step.id} {verdict['outcome']}{of_stage}"
    return f"{said} and {', '.join(own)}, which it judges" if own else ""
