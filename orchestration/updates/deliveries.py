"""Deliveries of reports: the check of what a step must come with, and the file of a report's text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..decision.brings import (
    Delivery,
    delivery_files,
    file_digests,
    missing_files,
    tasks_to_judge,
    unmet_requirements,
)
from ..decision.decision import step_of
from ..decision.facts import RunFacts
from ..definition.inputs import Brings
from ..evaluation.trace import CommandRefused, ReportTextRefused
from ..journal.journal import Record, files_of, record
from ..journal.report_files import ReportFile, is_filled_in, read_report
from ..journal.report_forms import ReportForm, blank_form
from ..states import RecordKind, RequirementKind
from ..vfs.files import digest_of, join


class ReportText(NamedTuple):
    """The text of a report, what it says, and the path of the file that will keep it."""

    text: str
    report: ReportFile
    path: str


def report_text(facts: RunFacts, step: str, outcome: str, text: str) -> ReportText:
    """Read the text of a report. Raises CommandRefused where it is none of the step with that outcome."""
    form, forms = facts.workflow.reports.read[step], list(facts.workflow.reports.read.values())
    report, problems = read_report(text, forms) if text.strip() else (None, ())
    if report is None:
        why = f": {problems[0].message}" if problems else ""
        raise _refusal(facts, form, f"a report of {step} comes with its text in the form of one{why}")
    if problems:
        raise _refusal(facts, form, f"the text contradicts itself: {problems[0].message}")
    if step not in report.phases or report.outcome != outcome:
        said = f"{' or '.join(report.phases)} {report.outcome}"
        raise _refusal(facts, form, f"the text is a report of {said}, not of {step} {outcome}")
    if not is_filled_in(text, report):
        raise _refusal(facts, form, "the text does not say in a sentence what was looked at and found")
    kept = filed_text(text)
    return ReportText(kept, report, _path(facts, step, kept))


def filed_text(text: str) -> str:
    """The text of a report as its file holds it."""
    return text if text.endswith("\n") else f"{text}\n"


def _refusal(facts: RunFacts, form: ReportForm, why: str) -> CommandRefused:
    draft = record(kind=RecordKind.REPORT.value, phase=form.phase, stage=facts.stage)
    declared = step_of(facts.workflow, form.phase)
    brings = declared.brings if declared else None
    tasks = tasks_to_judge(facts, brings, draft) if brings else []
    missing = missing_files(facts, brings, draft) if brings else []
    return ReportTextRefused(f"nothing was recorded: {why}", blank_form(form, facts.stage, tasks, missing))


def _path(facts: RunFacts, step: str, text: str) -> str:
    """The path for a text where the workflow's reports lie: two branches never have one for two texts."""
    stage = f"-{facts.stage}" if facts.stage else ""
    pattern = facts.workflow.reports.files[0]
    return join(facts.snapshot.folder, pattern.replace("*", f"{step}{stage}-{digest_of(text)[:8]}")) or ""


def check_delivery(
    facts: RunFacts, brings: Brings, delivery: Delivery, is_done: bool, lets_through: bool
) -> str:
    """Add to the record of a report the digests of the files that it came with.

    Returns why it brings no change where it has to, as the same report again does not; "" where it does, or a
    person lets it through. Raises CommandRefused with all that is missing otherwise.
    """
    entry = delivery.record
    digests = file_digests(facts, delivery_files(facts, brings, delivery))
    seen = entry["files"] if isinstance(entry["files"], list) else []
    known = {each["path"] for each in seen}
    more = [{"path": path, "digest": digest} for path, digest in digests.items() if path not in known]
    entry["files"] = [*seen, *more]
    needed = unmet_requirements(facts, brings, delivery) if is_done else []
    needed = [each for each in needed if not (lets_through and each.kind.is_of_change)]
    said = f"{entry['phase']} {entry['outcome']} needs that {'; '.join(each.phrase for each in needed)}"
    if any(each.kind.is_of_change for each in needed):
        return said
    if any(each.kind in (RequirementKind.REPORT, RequirementKind.MISSING) for each in needed):
        raise _refusal(facts, facts.workflow.reports.read[str(entry["phase"])], said)
    if needed:
        raise CommandRefused(f"nothing was recorded: {said}")
    newest = facts.newest_record((RecordKind.START, RecordKind.REPORT))
    is_verdict = is_done or bool(entry["path"])
    if newest and is_verdict and not lets_through and _is_same(newest, delivery, digests):
        said = f"the same report of {entry['phase']} was the last one, and nothing has changed since"
        return f"{said}; do what is missing, or say what is new"
    return ""


def _is_same(newest: Record, delivery: Delivery, now: Mapping[str, str]) -> bool:
    """True if the newest report said the same of the same files, and none of these was touched since.

    A file with `was` was written by the report, and is none that it was about.
    """
    entry, kept = delivery.record, newest["files"] if isinstance(newest["files"], list) else []
    fields = ("kind", "phase", "outcome", "stage", "tasks", "message", "about", "given")
    if any(entry[name] != newest[name] for name in fields):
        return False
    before = {each["path"]: each["digest"] for each in kept}
    after = {**files_of(entry), **now}
    left = {each["path"] for each in kept if "was" not in each} - after.keys()
    texts_differ = entry["path"] and before.get(str(newest["path"])) != digest_of(delivery.text)
    return not (texts_differ or left) and all(before.get(path) == digest for path, digest in after.items())
