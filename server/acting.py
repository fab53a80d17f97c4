"""Acts on runs: each looks afresh under the run's lock, asks the engine what to write, and commits it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ..orchestration.discovery import Match
from ..orchestration.effects import Act, Refused, propose
from ..orchestration.evaluate import Steps
from ..orchestration.evaluation import Evaluation
from ..orchestration.findings import Edit
from ..orchestration.journal import Record, record
from ..orchestration.schedule import resolve
from ..orchestration.snapshot import definition_digest
from ..orchestration.workflow import Workflow
from . import decide
from .roots import UsageError
from .store import Committed, Held, committed
from .store import Proposal as Writes
from .store_claims import check_token
from .workspace import Workspace

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")


class Done(NamedTuple):
    """What an act came to: what was recorded, and how the run stands now."""

    committed: Committed
    evaluation: Evaluation


class Token(NamedTuple):
    """A claim that a report is made under."""

    actor: str
    seq: int


def act(
    workspace: Workspace,
    run: str,
    wanted: Act,
    *,
    signed: bool = False,
    token: Token | None = None,
    revision: str | None = None,
) -> Done:
    """Carry out an act on a run. Raises Refused, StoreError (Conflict among them) or UsageError; then nothing
    was written.

    `signed` is for decisions a person has just confirmed; `revision` is that of what the person was shown, so
    that nothing is decided about what was put in its place meanwhile.
    """
    root = workspace.root
    sign = _signer(root, run) if signed else None

    def writes(held: Held) -> Writes:
        steps = _fresh(workspace, run)
        if revision is not None and steps.evaluation.revision != revision:
            raise Refused(f"{run} was changed meanwhile; nothing was decided. Look again and repeat it")
        _check_claims(held, steps, wanted, token)
        proposal = propose(steps, wanted, datetime.fromisoformat(held.at))
        return Writes([_plain(entry) for entry in proposal.records], proposal.edits)

    done = committed(root, run, writes, sign=sign)
    after = Workspace(root, parsed=workspace.parsed)
    return Done(done, after.evaluate(_match(after, run)))


def _fresh(workspace: Workspace, run: str) -> Steps:
    """The run as it is on disk now. Raises Refused where nobody can say by which workflow to judge it."""
    fresh = Workspace(workspace.root, parsed=workspace.parsed)
    match = _match(fresh, run)
    if match.rivals:
        raise Refused(f"nothing can be recorded: {match.findings()[0].message}")
    return fresh.look(match)


def _plain(entry: Record) -> Record:
    """A record without what the store stamps."""
    return {key: value for key, value in entry.items() if key not in ("seq", "at", "prev", "mac")}


def _match(workspace: Workspace, run: str) -> Match:
    match = workspace.match(run)
    if match is None:
        raise UsageError(f"{run} is no run any more")
    return match


def _check_claims(held: Held, steps: Steps, wanted: Act, token: Token | None) -> None:
    """A report of a task that somebody claimed is that one's to make, with the claim's token."""
    plan = steps.sight.snapshot.plan
    named = (resolve(plan, name) for name in wanted.tasks) if plan and wanted.kind == "report" else ()
    tasks = [task for task in named if task]
    if token and not tasks:
        raise Refused("a token belongs to a claimed task, and the report names none")
    claims = {claim.task: claim for claim in steps.evaluation.claims}
    for task in tasks:
        if token:
            check_token(held.root, held.run, task, token.actor, token.seq, held.at)
        elif task in claims and claims[task].actor != wanted.actor:
            raise Refused(f"{task} is claimed by {claims[task].actor} until {claims[task].until}")


def _signer(root: Path, run: str) -> Any:
    key = decide.make_key()
    if key.secret is None:
        raise UsageError(f"the decision cannot be signed: {key.reason}")
    secret, where = key.secret, decide.place(root, f"{run}/.phasekeeper/journal.jsonl")
    return lambda entry: decide.sign(entry, secret, where)


# ---- a new run --------------------------------------------------------------------------------


def start(workspace: Workspace, workflow: Workflow, name: str, title: str, actor: str) -> tuple[str, Done]:
    """Make a new run: its folder, its first files and the record of its start. (its path, how it stands)"""
    if not _NAME.match(name):
        raise UsageError(f"{name!r} is no name for a run: letters, digits, '.', '_' and '-', at most 100")
    if workflow.new is None:
        raise UsageError(f"{workflow.name} does not say how a run of it begins (`new:` in its definition)")
    run = workflow.new.folder.replace("{name}", name)
    if workspace.files.list(run):
        raise UsageError(f"{run} exists already")
    filled = {path: _filled(path, text, name, title) for path, text in workflow.new.files.items()}
    edits = [Edit(f"{run}/{path}", None, text) for path, text in filled.items()]
    began = _plain(
        record(
            kind="start",
            workflow=workflow.name,
            definition=_definition(workspace, workflow),
            message=title,
            actor=actor,
        )
    )
    done = committed(workspace.root, run, lambda held: Writes([began], edits), create=True)
    after = Workspace(workspace.root, parsed=workspace.parsed)
    return run, Done(done, after.evaluate(_match(after, run)))


def _filled(path: str, text: str, name: str, title: str) -> str:
    """A first file: {name}, {title} and {now} are filled in, escaped where the file is JSON."""
    values = {
        "{name}": name,
        "{title}": title or name,
        "{now}": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    for mark, value in values.items():
        text = text.replace(mark, json.dumps(value)[1:-1] if path.endswith(".json") else value)
    return text


def _definition(workspace: Workspace, workflow: Workflow) -> str:
    parameters: Mapping[str, Any] = workspace.config.of(workflow.name)
    return definition_digest(workflow, parameters)
