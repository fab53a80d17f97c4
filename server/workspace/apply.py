"""The service that applies commands to runs, the one door for every surface.

Editors, assistants and the command line write through it and never by the store. Each command reads the run
again under its lock, asks the engine what to write, and commits that. Nothing here reads arguments of a
command or talks to a person.

A decision has two steps, so that a person is asked only what can be decided: `prepare_decision` checks it
and says what the person has to see, `record_decision` signs and records what was confirmed.
"""

from __future__ import annotations

import json
import re
import secrets
import shlex
from collections.abc import Collection
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...orchestration.decision.brings import named_commits
from ...orchestration.definition.model import Workflow
from ...orchestration.evaluation.evaluate import evaluate_traced
from ...orchestration.evaluation.trace import EvaluationTrace
from ...orchestration.findings import Edit, Finding, new_findings
from ...orchestration.journal.journal import Claim, Record, record
from ...orchestration.journal.lines import FOLDER
from ...orchestration.plans.schedule import resolve
from ...orchestration.result.values import Evaluation
from ...orchestration.snapshot.discovery import Match
from ...orchestration.snapshot.run_files import read_run
from ...orchestration.snapshot.snapshot import definition_digest
from ...orchestration.states import RecordKind
from ...orchestration.suggestions import did_you_mean
from ...orchestration.updates.baseline_entries import baseline_entries
from ...orchestration.updates.commands import Command, CommandRefused, InvalidCommand, repeats_last
from ...orchestration.updates.confirmation import confirmation
from ...orchestration.updates.left_entries import left_entries
from ...orchestration.updates.measurements import unrecorded_reports as _unrecorded
from ...orchestration.updates.propose import propose
from ...orchestration.updates.refusals import RecordedRefusal
from ...orchestration.vfs.overlay import OverlayFiles
from ..disk.git import answer
from ..store import claims as store_claims
from ..store.claims import FleetConflict, key_of
from ..store.commit import Commit, Conflict, LockedRun, StoreError, Writes, commit
from .decision_proof import SignerOf, evidence_signer, require_usable_key, signer
from .roots import UsageError
from .workspace import Workspace

if TYPE_CHECKING:
    from .fleet_claims import FleetClaims

CHANNELS = ("terminal", "editor", "vscode", "mcp")
"""The ways by which a person decides (design, section 6): a terminal, an editor's own request, our extension
and what an assistant's program asks its user. Each shows a `PreparedDecision` whole and has the
person confirm it."""
_START = ("kind", "workflow", "definition", "message", "actor")
"""The fields that make a start the same as another."""
_CLAIM_TRIES = 50
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")


class CommandResult(NamedTuple):
    """The result of a command: what was recorded, how the run stands now, and the warnings that are new."""

    commit: Commit
    evaluation: Evaluation
    arisen: tuple[Finding, ...] = ()


class HeldClaims(NamedTuple):
    """The claims under which a report is made: their tokens, `seq` of the one that has to be alive still.

    With `named` a claim was named by the reporter, so that one has to be alive.
    """

    tokens: Collection[str] = ()
    seq: int | None = None
    named: bool = False


NO_CLAIMS = HeldClaims()


class PreparedDecision(NamedTuple):
    """A decision that can be made now. `title` and `lines` are what a person has to see before (plain text
    that still has to be escaped); `revision` is that of the evaluation they were made from."""

    run: str
    wanted: Command
    title: str
    lines: tuple[str, ...]
    revision: str
    sign_with: SignerOf = signer

    @property
    def text(self) -> tuple[str, ...]:
        """All of it as lines, for a surface without a place for a title."""
        return self.title, *self.lines


def apply_command(
    workspace: Workspace,
    run: str,
    wanted: Command,
    *,
    signed: bool = False,
    claims: HeldClaims = NO_CLAIMS,
    revision: str | None = None,
    sign_with: SignerOf = signer,
) -> CommandResult:
    """Carry out a command on a run.

    Raises CommandRefused, StoreError (Conflict among them) or UsageError; then nothing was written, but for
    the records of a RecordedRefusal. A call that only repeats the one behind the last record writes nothing.

    `signed` is for decisions a person has just confirmed, `sign_with` their signature; `revision` is that of
    what the person was shown: nothing is decided about what was put in its place meanwhile.
    """
    root = workspace.root
    if revision is not None:
        # Again under the lock; here nothing was made for it yet that would stay behind.
        _require_revision(_read_again(workspace, run), revision)
    home = workspace.home(run)
    sign = (sign_with if signed else evidence_signer)(root, home)
    fence = _fleet(workspace, run) if wanted.kind == "report" and wanted.tasks else None
    before: list[Evaluation] = []
    refusals: list[RecordedRefusal] = []

    def writes(locked: LockedRun) -> Writes:
        trace = _read_again(workspace, run)
        if revision is not None:
            _require_revision(trace, revision)
        before[:] = [trace.evaluation]
        if repeats_last(trace, wanted):
            return Writes()
        _check_claims(locked, trace, wanted, claims)
        known = wanted._replace(commits=_known_commits(root, trace, wanted))
        try:
            proposal = propose(trace, known, datetime.fromisoformat(locked.at))
        except RecordedRefusal as refusal:
            refusals[:] = [refusal]
            return Writes(refusal.records)
        if fence and not trace.judges(wanted.step):
            # Last, when nothing else stands in the way: from here on the tasks are nobody else's.
            fence.begin(trace, wanted)
        return Writes(proposal.records, proposal.edits)

    with fence or nullcontext():
        done = commit(root, home, writes, sign=sign, home_of=workspace.home_of)
    if refusals:
        raise refusals[0]
    after = Workspace(root, parsed=workspace.parsed)
    evaluation = after.evaluate(_match(after, run))
    return CommandResult(done, evaluation, new_findings(before[0].findings, evaluation.findings))


def _require_revision(trace: EvaluationTrace, revision: str) -> None:
    """Raises CommandRefused when the run is not the one that the person was shown any more."""
    if trace.evaluation.revision != revision:
        run = trace.evaluation.run
        raise CommandRefused(f"{run} was changed meanwhile; nothing was decided. Look again and repeat it")


def _known_commits(root: Path, trace: EvaluationTrace, wanted: Command) -> frozenset[str]:
    """The commits that the data of a report names where it has to, and that the repository has."""
    workflow = trace.facts.workflow
    declared = workflow.phases.get(wanted.step) or workflow.actions.get(wanted.step)
    named = named_commits(declared.brings, wanted.data) if declared and declared.brings else ()
    return frozenset(name for name in named if answer(root, "cat-file", "-t", name).strip() == b"commit")


def unrecorded_reports(trace: EvaluationTrace) -> tuple[Record, ...]:
    """The records of report files that no record in the journal holds, with what checks measured for them."""
    return _unrecorded(trace.facts)


def record_reports(workspace: Workspace, run: str) -> int:
    """Record a run's report files that no record holds, as the next act would; how many those were.

    Raises CommandRefused where the journal cannot be trusted, StoreError or UsageError; then nothing was
    written.
    """

    def writes(_: LockedRun) -> Writes:
        trace = _read_again(workspace, run)
        if trace.facts.snapshot.journal.broken:
            raise CommandRefused(f"nothing can be recorded: {trace.evaluation.status_reason}")
        return Writes(unrecorded_reports(trace))

    home = workspace.home(run)
    done = commit(workspace.root, home, writes, sign=evidence_signer(workspace.root, home))
    return sum(each["kind"] == RecordKind.REPORT for each in done.records)


def _read_again(workspace: Workspace, run: str) -> EvaluationTrace:
    """The run as it is on disk now. Raises CommandRefused where its workflow is not known."""
    fresh = Workspace(workspace.root, parsed=workspace.parsed)
    match = _match(fresh, run)
    if match.rivals:
        raise CommandRefused(f"nothing can be recorded: {match.findings()[0].message}")
    return fresh.look(match)


def _match(workspace: Workspace, run: str) -> Match:
    match = workspace.match(run)
    if match is None:
        raise UsageError(f"{run} is no run any more")
    return match


# ---- decisions --------------------------------------------------------------------------------


def prepare_decision(
    workspace: Workspace,
    run: str,
    wanted: Command,
    *,
    reason_follows: bool = False,
    sign_with: SignerOf = signer,
) -> PreparedDecision:
    """The decision that a person is asked to confirm, once all that could be refused was tried.

    `wanted` is an answer or an override, with its reason; with `reason_follows` the reason is typed after the
    text was read, and an answer may leave the option to the person. Raises InvalidCommand for a question or
    option that is not open and for a missing reason, CommandRefused for what is not possible, UsageError for
    a key that cannot be used. Nothing is written.
    """
    if not (reason_follows or wanted.why.strip()):
        raise InvalidCommand("a decision needs a reason")
    if sign_with is signer:
        require_usable_key(workspace.root)
    trace = _read_again(workspace, run)
    text = confirmation(trace, wanted, datetime.now(UTC))
    return PreparedDecision(run, wanted, text.title, text.lines, trace.evaluation.revision, sign_with)


def record_decision(
    workspace: Workspace, decision: PreparedDecision, actor: str, channel: str, program: str = ""
) -> CommandResult:
    """Sign and record what a person has confirmed by one of CHANNELS, in a program.

    Raises as `act` does, and CommandRefused when the run is not the one that was shown any more.
    """
    if channel not in CHANNELS:
        raise ValueError(f"{channel!r} is no channel of a person's; they are {', '.join(CHANNELS)}")
    wanted = decision.wanted._replace(actor=actor, channel=channel, program=program)
    given = decision.run, wanted
    return apply_command(
        workspace, *given, signed=True, revision=decision.revision, sign_with=decision.sign_with
    )


# ---- claims -----------------------------------------------------------------------------------


def claim(
    workspace: Workspace, run: str, task: str, who: str, ttl_s: float, token: str = ""
) -> tuple[Claim, str]:
    """Take a task for a time, by any name the plan knows it by: (the claim, its token).

    `token` is that of a claim to be renewed. Raises UsageError for a task that is none, an empty `who` or a
    wrong time; CommandRefused for one that cannot start now; Conflict while somebody else has it.
    """
    trace = _read_again(workspace, run)
    plan = trace.facts.snapshot.plan
    name = resolve(plan, task) if plan else None
    if name is None:
        close = did_you_mean(task, list(plan.by_id)) if plan else "; it has no plan that can be read"
        raise UsageError(f"{task!r} is no task of {run}{close}")
    ready, claims = trace.evaluation.suggestion.tasks, trace.evaluation.claims
    if name not in ready and all(each.task != name for each in claims):
        raise CommandRefused(f"{name} cannot start now; ready are {', '.join(ready) or 'none'}")
    return _record_claim(workspace, run, name, who, ttl_s, token)


def claim_next(
    workspace: Workspace, run: str, who: str, ttl_s: float, tokens: Collection[str] = ()
) -> tuple[Claim, str] | None:
    """Take the first task that is free: one that `who` has by one of the tokens, else the first that is
    ready; None where there is none.

    Many ask at once: whoever finds the task taken meanwhile looks again. Raises as `claim` does.
    """
    keys = {key_of(token): token for token in tokens}
    elsewhere: dict[str, FleetConflict] = {}
    for _ in range(_CLAIM_TRIES):
        evaluation = _read_again(workspace, run).evaluation
        theirs = {
            each.task: keys[each.key] for each in evaluation.claims if each.key in keys and each.actor == who
        }
        own = [task for task in evaluation.plan.schedule.claimed if task in theirs] if evaluation.plan else []
        free = [task for task in (*own, *evaluation.suggestion.tasks) if task not in elsewhere]
        if not free and elsewhere:
            raise next(iter(elsewhere.values()))
        if not free:
            return None
        try:
            return _record_claim(workspace, run, free[0], who, ttl_s, theirs.get(free[0], ""))
        except FleetConflict as conflict:
            elsewhere[free[0]] = conflict
        except Conflict:
            pass
    raise Conflict("others took every task that was tried; ask again")


def _record_claim(
    workspace: Workspace, run: str, task: str, who: str, ttl_s: float, token: str
) -> tuple[Claim, str]:
    token = token or secrets.token_hex(16)
    fleet = _fleet(workspace, run)
    try:
        home, fence = workspace.home(run), fleet.take(task, who, ttl_s, token) if fleet else None
        return store_claims.claim(workspace.root, home, task, who, ttl_s, token, fence=fence), token
    except ValueError as error:
        raise UsageError(str(error)) from None
    except Conflict as conflict:
        if fleet and not isinstance(conflict, FleetConflict):
            fleet.give_back(task, token)
        raise


def claimed_task(workspace: Workspace, run: str, task: str) -> tuple[str, Claim | None]:
    """(the id of a task, its live claim), by any name the plan knows it by."""
    trace = _read_again(workspace, run)
    plan = trace.facts.snapshot.plan
    name = (resolve(plan, task) if plan else None) or task
    live = next((each for each in trace.evaluation.claims if each.task == name), None)
    fleet = None if live else _fleet(workspace, run)
    return name, fleet.claim_elsewhere(name) if fleet else live


def release(workspace: Workspace, run: str, task: str, token: str | None) -> tuple[str, bool]:
    """Give a task back: (its id, whether it was claimed). Without a token a person has confirmed it.

    Raises Conflict when somebody else has it.
    """
    name, _ = claimed_task(workspace, run, task)
    ended = store_claims.release(workspace.root, workspace.home(run), name, token)
    fleet = _fleet(workspace, run)
    return name, bool(fleet and fleet.give_back(name, token)) or ended


def _fleet(workspace: Workspace, run: str) -> FleetClaims | None:
    """The claims on the run's tasks that machines share, where the root's configuration has it shared."""
    if workspace.config.fleet is None:
        return None
    from .fleet_claims import fleet_claims  # late: one machine alone has nothing to do with it

    return fleet_claims(workspace, run, partial(apply_command, workspace, run))


def _check_claims(locked: LockedRun, trace: EvaluationTrace, wanted: Command, held: HeldClaims) -> None:
    """A report of a task that somebody claimed is that one's to make, with the claim's token. Who judges it
    needs none."""
    plan, is_of_work = trace.facts.snapshot.plan, wanted.kind == "report" and not trace.judges(wanted.step)
    named = (resolve(plan, name) for name in wanted.tasks) if plan and is_of_work else ()
    tasks = [task for task in named if task]
    if held.named and not tasks:
        raise CommandRefused("a token belongs to a claimed task, and the report names none")
    claimed = {each.task for each in trace.evaluation.claims}
    for task in tasks:
        if held.named or task in claimed:
            tokens, seq = held.tokens, held.seq
            store_claims.check_claim(locked.root, locked.run, task, tokens, seq, locked.at, live=held.named)


# ---- a new run --------------------------------------------------------------------------------


def start_run(
    workspace: Workspace, workflow: Workflow, name: str, title: str, actor: str
) -> tuple[str, CommandResult]:
    """Make a new run: its folder, its first files and the record of its start. (its path, how it stands)

    Repeated after it was cut off it ends what it began. Raises UsageError for a name that cannot be taken.
    """
    if not _NAME.match(name):
        raise UsageError(f"{name!r} is no name for a run: letters, digits, '.', '_' and '-', at most 100")
    if workflow.new is None:
        how = "a report of the run that it is part of makes it, or whoever writes its files"
        raise UsageError(f"no run of {workflow.name} is started by name (no `new:` in its definition): {how}")
    run = workflow.new.folder.replace("{name}", name)
    # With our own folder in it, it may be what an interrupted start left; that is known under the lock.
    if (names := workspace.files.list(run)) and FOLDER not in names:
        raise _exists_error(workspace, run, workflow)
    filled = {path: _fill_in(path, text, name, title) for path, text in workflow.new.files.items()}
    edits = [Edit(f"{run}/{path}", None, text) for path, text in filled.items()]
    began = record(
        kind="start",
        workflow=workflow.name,
        definition=definition_digest(workflow.digest, workspace.config.of(workflow.name)),
        message=title,
        actor=actor,
    )
    files = OverlayFiles(workspace.files, {edit.path: edit.text for edit in edits})
    as_begun = read_run(workflow, files, run, config=workspace.config)
    trace = evaluate_traced(workflow, as_begun)
    held = baseline_entries(trace, as_begun.state, began)
    began["held"] = [*held, *left_entries(trace, files, began)]

    def writes(locked: LockedRun) -> Writes:
        if locked.seq > 1 or set(Workspace(workspace.root).files.list(run)) - {FOLDER}:
            if locked.recovery and _is_this_start(workspace, run, began):
                # The same start was cut off after its record, and has just been finished: there it is.
                return Writes([])
            raise _exists_error(workspace, run, workflow)
        return Writes([began], edits)

    done = commit(workspace.root, run, writes, create=True)
    if done.unfinished:
        raise StoreError(f"{run} was begun; {done.unfinished[0].path}: {done.unfinished[0].why}")
    after = Workspace(workspace.root, parsed=workspace.parsed)
    return run, CommandResult(done, after.evaluate(_match(after, run)))


def _exists_error(workspace: Workspace, run: str, workflow: Workflow) -> UsageError:
    way, look = "choose another name", shlex.join(["phasekeeper", "next", run])
    if workflow.new is None or "{name}" not in workflow.new.folder:
        way = f"a root has one run of {workflow.name}, whatever its name"
        match = next((each for each in workspace.matches if each.run == run), None)
        if match and workspace.evaluate(match).status.is_over:
            move = shlex.join(["mv", run, f"{run}-1"])
            way += f"; this one is over, and a person puts it away first: `{move}`"
    return UsageError(f"{run} exists already; {way}; `{look}` says how it stands")


def _is_this_start(workspace: Workspace, run: str, began: Record) -> bool:
    """True when all that the run's journal holds is this very start."""
    fresh = Workspace(workspace.root)
    match = fresh.match(run)
    records = fresh.snapshot(match).records if match else ()
    return len(records) == 1 and all(records[0].get(key) == began.get(key) for key in _START)


def _fill_in(path: str, text: str, name: str, title: str) -> str:
    """A first file: {name}, {title} and {now} are filled in, escaped where the file is JSON."""
    values = {
        "{name}": name,
        "{title}": title or name,
        "{now}": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    for mark, value in values.items():
        text = text.replace(mark, json.dumps(value)[1:-1] if path.endswith(".json") else value)
    return text
