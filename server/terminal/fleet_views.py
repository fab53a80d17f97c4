"""What machines share, as lines: how others join, who has which task, and how runs stand on each of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...orchestration.fleet.remote_answers import AnswerState, DecisionKind
from ...orchestration.fleet.shared_board import RunSummary, SharedRun
from ...orchestration.sanitize import plain
from .lines import COMMAND, Line, Part

_ANSWER_STATES = {
    "sent": "sent {decided}; {member} has not looked at it yet",
    AnswerState.RECORDED: "recorded on {member} {at}",
    AnswerState.REFUSED: "refused by {member} {at}: {why}",
}
_STYLES = {"sent": "", AnswerState.RECORDED: "good", AnswerState.REFUSED: "bad"}


def fleet_up_lines(url: str, project: str, own: str, files: Mapping[str, Path]) -> Iterator[Line]:
    """What `fleet up` says once it serves: how the other machines join; `files` are the members' keys."""
    yield [Part(f"the fleet of {project} is served at {url}; this machine is {own}", "good")]
    for name, path in files.items():
        if name != own:
            words = ["phasekeeper", "fleet", "join", url, "--project", project, "--nkey", f"{name}.nk"]
            yield [
                Part(f"{name}: carry {plain(str(path), 300)} there, then  "),
                Part(shlex.join(words), COMMAND),
            ]
    yield [Part("Ctrl-C ends it; what it has stays", "dim")]


def fleet_lines(report: Mapping[str, Any]) -> Iterator[Line]:
    """One project of `fleet status`, from its JSON."""
    where = f"{report['project']}: {report['member']} on {', '.join(report['servers'])}"
    yield [Part(plain(where, 600), "run")]
    if not report["reachable"]:
        yield [Part(f"  cannot be reached: {plain(report['problem'], 600)}", "bad")]
        yield [Part("  work goes on as on one machine; claims are reconciled at the next contact", "dim")]
        return
    for claim in report["claims"]:
        until = f" until {claim['until']}" if claim["state"] == "claimed" else f" {claim['outcome']}"
        who = f"{claim['state']} by {claim['actor']} on {claim['member']}"
        yield [Part(plain(f"  {claim['task']} of {claim['run']}: {who}{until}", 600))]
    if not report["claims"]:
        yield [Part("  nobody has a task", "dim")]
    for sent in report["answers"]:
        what = f"  answered {sent['question']} of {sent['run']} with {sent['option']}: "
        if sent["kind"] == DecisionKind.OVERRIDE:
            what = f"  overrode {sent['run']} to {sent['option']}: "
        yield [Part(plain(what + _ANSWER_STATES[sent["state"]].format(**sent), 900), _STYLES[sent["state"]])]


def shared_run_lines(run: SharedRun) -> Iterator[Line]:
    """A run in each of its clones, and where they differ."""
    differs = [Part("  clones differ", "warn")] if run.differs else []
    title = next((clone.title for clone in run.clones if clone.title), "")
    yield [Part(plain(run.run, 300), "run"), Part(f"  {plain(title, 200)}" if title else ""), *differs]
    for clone in run.clones:
        progress = f", {clone.done} of {clone.total} done" if clone.total >= 0 else ""
        state = f"{clone.status}, phase {clone.phase or 'none'}{progress}, next: {clone.next}"
        where = f"revision {clone.revision[:12]}, commit {clone.commit[:10] or 'none'}, told {clone.at}"
        yield [Part(plain(f"  {clone.member}: {state}", 600))]
        yield [Part(plain(f"    {where}", 300), "dim")]
        if clone.reason:
            yield [Part(plain(f"    {clone.reason}", 500), "dim")]
        yield from _question_lines(clone)


def _question_lines(clone: RunSummary) -> Iterator[Line]:
    """What a person is asked, in words where the project shares them, and how it is answered over there."""
    is_whole = len(clone.asked) == len(clone.questions)
    for id_, asked in zip(clone.questions, clone.asked if is_whole else clone.questions, strict=True):
        yield [Part(plain(f"    a person is asked: {asked}", 500), "warn")]
        words = shlex.join(["phasekeeper", "answer", clone.run or ".", id_])
        yield [Part(plain(f"      on {clone.member}:  ", 100), "dim"), Part(plain(words, 1500), COMMAND)]
        if clone.subject_of(id_):
            words = shlex.join(
                ["phasekeeper", "answer", "--fleet", clone.run or ".", id_, "--on", clone.member]
            )
            yield [Part("      or here:  ", "dim"), Part(plain(words, 1500), COMMAND)]
