"""`phasekeeper fleet`: a server for a team, taking part in a project, and who has which task now.

Also what other commands do with `--fleet`: the board of the project, and answers to questions of another
machine, whose server verifies and records them.
"""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from ....orchestration.evaluation.trace import EvaluationTrace
from ....orchestration.fleet.answer_fit import command_of, open_questions, override_proposal
from ....orchestration.fleet.messages import key_token
from ....orchestration.fleet.remote_answers import (
    AnswerProposal,
    AnswerResult,
    DecisionKind,
    OpenQuestion,
    misfit,
)
from ....orchestration.fleet.shared_board import RunSummary, SharedRun
from ....orchestration.fleet.shared_claims import SharedClaim, parse_claim
from ....orchestration.journal.lines import JOURNAL
from ....orchestration.journal.signatures import one_line
from ....orchestration.sanitize import plain
from ....orchestration.updates.commands import Command, InvalidCommand
from ....orchestration.updates.confirmation import confirmation
from ....orchestration.vfs.files import below
from ...disk.decision_keys import fleet_path
from ...disk.git import actor
from ...disk.ssh_signers import SshSigners, has_ssh_decisions
from ...fleet.answers import (
    NobodyAsks,
    SentAnswer,
    asking_clone,
    clone_elsewhere,
    decision_lines,
    place_line,
    question_lines,
    readable_question,
    send_answer,
    sent_answers,
    sign_answer,
)
from ...fleet.board_feed import project_board, remove_rows
from ...fleet.bucket import Bucket, FleetUnreachable
from ...fleet.connection import BOARD, CLAIMS, LINK
from ...fleet.membership import (
    FleetSetupError,
    Membership,
    membership_of,
    memberships,
    remove_membership,
    require_name,
    save_membership,
)
from ...fleet.server_process import ADMIN, Listen, ServerProcess, add_member, create_buckets, read_seed
from ...terminal.fleet_views import fleet_lines, fleet_up_lines, shared_run_lines
from ...terminal.lines import Part, print_lines
from ...workspace.decision_proof import journal_place, signing_errors, ssh_identity
from ...workspace.head_files import HeadFiles
from ...workspace.roots import UsageError
from ...workspace.workspace import Workspace
from ..confirm import ask, confirm, require_terminal
from ..output import OK, REFUSED, print_json
from ..selection import open_workspaces

_MAX_CREDENTIALS = 1 << 16
_NEEDS_SSH = (
    "an answer for another machine is signed with an SSH key, which needs `decide: {ssh: true}` and "
    ".phasekeeper/allowed_signers in the commit HEAD, here and there"
)


@contextmanager
def _usage_errors() -> Iterator[None]:
    """Turn what is wrong with a membership into wrong use."""
    try:
        yield
    except (FleetSetupError, FleetUnreachable) as error:
        raise UsageError(str(error)) from None


# ---- up -----------------------------------------------------------------------------------------


def up(options: Namespace) -> int:
    """`fleet up`: serve until Ctrl-C (0), or until the server ends by itself (1)."""
    with _usage_errors():
        project = _project(options)
        own = options.who or _host_name()
        files = {name: add_member(project, name) for name in dict.fromkeys((own, *(options.member or ())))}
        if ADMIN in files:
            raise UsageError(f"{ADMIN} is who makes the buckets; choose another name for a machine")
        add_member(project, ADMIN)
        certificate, key, ca = map(_absolute, (options.tls_cert, options.tls_key, options.ca))
        listen = Listen(options.listen, options.port, certificate, key)
        server = ServerProcess(listen)
        try:
            asyncio.run(create_buckets(listen, project, ca))
            save_membership(Membership(project, (listen.url,), own, read_seed(files[own]), ca=ca))
            print_lines(fleet_up_lines(listen.url, project, own, files))
            sys.stdout.flush()
            return _wait(server)
        finally:
            server.stop()


def _wait(server: ServerProcess) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        server.wait()
        print_lines([[Part(f"the server ended; {plain(str(server.log), 300)} says why", "bad")]])
        return REFUSED
    return OK


def _absolute(path: Path | None) -> str:
    return str(path.resolve()) if path else ""


def _host_name() -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", socket.gethostname())[:40].strip("-") or "machine"


def _project(options: Namespace) -> str:
    """The project that is named, else that of the configuration. Raises UsageError."""
    if options.project:
        require_name(options.project, "a project")
        return options.project
    declared = open_workspaces(Path(), options.root).workspaces[0].config.fleet
    if declared is None:
        said = "say which project: --project ID, or `fleet: {project: ID}` in .phasekeeper/config.yaml"
        raise UsageError(said)
    return declared.project


# ---- join, leave --------------------------------------------------------------------------------


def join(options: Namespace) -> int:
    """`fleet join`: connect once, and keep how."""
    with _usage_errors():
        project = _project(options)
        if bool(options.nkey) == bool(options.credentials):
            raise UsageError("say who this machine is: --nkey FILE, or --credentials FILE")
        name = options.who or (options.nkey.stem if options.nkey else _host_name())
        membership = Membership(
            project,
            tuple(options.url),
            name,
            seed=read_seed(options.nkey) if options.nkey else "",
            credentials=_credentials(options.credentials) if options.credentials else "",
            ca=_absolute(options.ca),
        )
        before = memberships().get(project)
        save_membership(membership)
        try:
            claims = LINK.call(membership, CLAIMS, _live_claims)
        except FleetUnreachable:
            # What did not work is not kept.
            _restore(project, before)
            raise
    said = f"joined {project} as {name}; {len(claims)} claims are alive there"
    print_lines([[Part(said, "good")], [Part(f"kept in {plain(str(fleet_path()), 300)}", "dim")]])
    return OK


def _restore(project: str, before: Membership | None) -> None:
    if before is None:
        remove_membership(project)
    else:
        save_membership(before)


def _credentials(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(_MAX_CREDENTIALS)
    except (OSError, UnicodeDecodeError):
        raise FleetSetupError(f"{path} is no credentials file that can be read") from None


def leave(options: Namespace) -> int:
    """`fleet leave`: forget the servers and the key of a project, and take its rows off the board.

    A server that runs sees the file change, and does so too for what it has told until then.
    """
    with _usage_errors():
        project = _project(options)
        membership = membership_of(project)
        if membership is None or not remove_membership(project):
            print_lines([[Part(f"this machine takes no part in {project}")]])
            return OK
    print_lines([[Part(f"left {project}")]])
    try:
        count = LINK.call(membership, BOARD, partial(remove_rows, of=membership.member))
        said = Part(f"{count} rows of this machine were taken off its board", "dim")
    except FleetUnreachable as error:
        again = "join again and leave once it is in reach, to take them off"
        said = Part(f"rows of this machine may stay on its board; {again}: {plain(str(error), 300)}", "warn")
    print_lines([[said]])
    return OK


# ---- status -------------------------------------------------------------------------------------


def status(options: Namespace) -> int:
    """`fleet status`: of each project whether it can be reached, who has which task, and the answers that
    were sent from here."""
    with _usage_errors():
        reports = [_report(each) for each in memberships().values()]
    if options.json:
        print_json({"fleets": reports})
    elif not reports:
        print_lines([[Part("this machine takes part in no fleet; `phasekeeper fleet --help` says how")]])
    else:
        print_lines(line for report in reports for line in fleet_lines(report))
    return OK


def _report(membership: Membership) -> dict[str, Any]:
    about = {
        "project": membership.project,
        "member": membership.member,
        "servers": list(membership.servers),
        "reachable": True,
        "problem": "",
        "claims": [],
        "answers": [],
    }
    try:
        claims = LINK.call(membership, CLAIMS, _live_claims)
    except FleetUnreachable as error:
        return {**about, "reachable": False, "problem": str(error)}
    answers: Sequence[SentAnswer] = ()
    with suppress(FleetUnreachable):
        # A server that was set up by a version before has no bucket for them.
        answers = sent_answers(membership)
    held = [claim._asdict() | {"fence": fence} for claim, fence in claims]
    return {**about, "claims": held, "answers": [_answer_report(*each) for each in answers]}


def _answer_report(proposal: AnswerProposal, result: AnswerResult | None) -> dict[str, Any]:
    names = ("run", "kind", "question", "option", "member", "actor", "decided")
    told = {name: getattr(proposal, name) for name in names}
    state, why, at = (result.state, result.why, result.at) if result else ("sent", "", "")
    return {**told, "state": state, "why": why, "at": at}


async def _live_claims(bucket: Bucket) -> Sequence[tuple[SharedClaim, int]]:
    """The claims there are, with their revisions."""
    claims: list[tuple[SharedClaim, int]] = []
    async with aclosing(bucket.watch()) as values:
        async for value in values:
            if value is None:
                break
            if value.value:
                claims.append((parse_claim(value.value), value.revision))
    return sorted(claims)


# ---- the shared board ---------------------------------------------------------------------------


def board(options: Namespace) -> int:
    """`status --fleet`: where each run of the project stands on every machine."""
    workspace = open_workspaces(options.path, options.root).workspaces[0]
    declared = workspace.config.fleet
    if declared is None:
        raise UsageError("this root is of no project: `fleet: {project: ID}` in .phasekeeper/config.yaml")
    with _usage_errors():
        runs, unread = project_board(declared.project)
    if options.json:
        shared = [{"run": run.run, "differs": run.differs, "clones": _clones(run)} for run in runs]
        print_json({"project": declared.project, "runs": shared, "unread": unread})
    else:
        print_lines(line for run in runs for line in shared_run_lines(run))
        if not runs:
            print_lines([[Part("no machine has told of a run yet; a server does while it watches the root")]])
        if unread:
            print_lines([[Part(f"and {unread} entries that cannot be read", "warn")]])
    return OK


def _clones(run: SharedRun) -> list[dict[str, Any]]:
    return [clone._asdict() for clone in run.clones]


# ---- answers to questions of another machine ------------------------------------------------------


def answer(options: Namespace) -> int:
    """Show a question of another machine, have the answer confirmed, sign it and send it."""
    workspace = open_workspaces(Path(), options.root).workspaces[0]
    try:
        membership, clone = _asking(options, workspace)
        if not has_ssh_decisions(HeadFiles(workspace.root).read):
            raise UsageError(_NEEDS_SSH)
        key, signers = ssh_identity(workspace.root, options.key or "")
        id_ = _question_id(options, clone)
        trace = _same_run(workspace, clone, id_)
        question = readable_question(clone, id_, open_questions(trace) if trace else ())
        proposal = _proposal(options, workspace, membership, clone, question)
        confirm(_decision_lines(clone, question, proposal, trace), options.run)
        return _send(options, workspace, membership, proposal, clone.home, key, signers)
    except (FleetSetupError, FleetUnreachable, NobodyAsks, ValueError) as error:
        raise UsageError(f"nothing was sent: {error}") from None


def override(options: Namespace) -> int:
    """Show what an override elsewhere waives, by this clone, have it confirmed, sign and send it."""
    workspace = open_workspaces(Path(), options.root).workspaces[0]
    why = one_line(options.reason or "")
    if not why:
        raise UsageError('a decision needs a reason: --reason "..."')
    try:
        membership = _membership(workspace)
        own = membership.member, key_token(str(workspace.root))
        run, board = options.run.removesuffix("/"), project_board(membership.project)
        clone = clone_elsewhere(board, run, options.on or "", own)
        if not has_ssh_decisions(HeadFiles(workspace.root).read):
            raise UsageError(_NEEDS_SSH)
        key, signers = ssh_identity(workspace.root, options.key or "")
        match = workspace.match(clone.run)
        if match is None:
            raise NobodyAsks(f"this clone has no {clone.run}; get the files of that on {clone.member}")
        trace, who = workspace.look(match), actor(workspace.root)
        subject, head = override_proposal(trace, Command("override", step=options.to, why=why, actor=who))
        proposal = AnswerProposal(
            membership.project, clone.run, clone.member, clone.clone, "", options.to, "", (), subject, head,
            why, who, "", kind=DecisionKind.OVERRIDE,
        )  # fmt: skip
        shown = confirmation(trace, command_of(proposal), datetime.now(UTC))
        where = f"the server of {clone.member} records it, if it waives the same there; told {clone.at}"
        confirm([shown.title, *shown.lines, where], options.run)
        return _send(options, workspace, membership, proposal, trace.facts.snapshot.home, key, signers)
    except (FleetSetupError, FleetUnreachable, NobodyAsks, ValueError) as error:
        raise UsageError(f"nothing was sent: {error}") from None


def _send(
    options: Namespace,
    workspace: Workspace,
    membership: Membership,
    proposal: AnswerProposal,
    home: str,
    key: str,
    signers: SshSigners,
) -> int:
    """Sign a decision that was confirmed, and send it."""
    proposal = proposal._replace(decided=datetime.now(UTC).isoformat(timespec="seconds"))
    where = journal_place(workspace.root, below(home, JOURNAL))
    with signing_errors():
        proposal = sign_answer(workspace.root, where, key, proposal, signers)
    send_answer(membership, proposal)
    if options.json:
        print_json({"sent": {**proposal._asdict(), "id": proposal.id}})
    else:
        said = f"sent; it counts once the server of {proposal.member} has verified and recorded it"
        print_lines([[Part(plain(said, 200), "good")], [Part("`phasekeeper fleet status` tells", "dim")]])
    return OK


def _membership(workspace: Workspace) -> Membership:
    """How this machine takes part in the project of a root. Raises UsageError where it does not."""
    declared = workspace.config.fleet
    if declared is None:
        raise UsageError("this root is of no project: `fleet: {project: ID}` in .phasekeeper/config.yaml")
    membership = membership_of(declared.project)
    if membership is None:
        raise UsageError(f"this machine has not joined {declared.project}: phasekeeper fleet join URL")
    return membership


def _asking(options: Namespace, workspace: Workspace) -> tuple[Membership, RunSummary]:
    """(how this machine takes part in the project, the clone that asks)."""
    membership = _membership(workspace)
    run, machine = options.run.removesuffix("/"), options.on or ""
    clone = asking_clone(project_board(membership.project), run, options.question or "", machine)
    if (clone.member, clone.clone) == (membership.member, key_token(str(workspace.root))):
        raise UsageError(f"it is asked in this very clone: phasekeeper answer {clone.run}")
    return membership, clone


def _question_id(options: Namespace, clone: RunSummary) -> str:
    """The question that is answered; a person at the terminal is asked where several are open."""
    if options.question or len(clone.questions) == 1:
        return options.question or clone.questions[0]
    require_terminal()
    return ask("Question", clone.questions)


def _same_run(workspace: Workspace, clone: RunSummary, id_: str) -> EvaluationTrace | None:
    """The run in this clone, where the question is the same one here, about the same; else None."""
    match = workspace.match(clone.run)
    trace = workspace.look(match) if match else None
    words = dict(zip(clone.questions, clone.words, strict=False)).get(id_)
    for each in open_questions(trace) if trace else ():
        if (each.id, each.subject, each.words) == (id_, clone.subject_of(id_), words):
            return trace
    return None


def _proposal(
    options: Namespace,
    workspace: Workspace,
    membership: Membership,
    clone: RunSummary,
    question: OpenQuestion,
) -> AnswerProposal:
    """The answer as it will be signed; a person at the terminal is asked for what was left out."""
    option, why = options.option or "", options.reason or ""
    if not option:
        require_terminal()
        print_lines([[Part(plain(line, 900))] for line in question_lines(question)])
        option = ask("Option" if question.options else "Answer", question.option_ids)
        why = why or ask("Why", ())
    if not why.strip():
        raise UsageError('a decision needs a reason: --reason "..."')
    proposal = AnswerProposal(
        membership.project, clone.run, clone.member, clone.clone, question.id, one_line(option),
        question.asked, question.options, question.subject, clone.head, one_line(why),
        actor(workspace.root), "",
    )  # fmt: skip
    if misfits := misfit(proposal, [question]):
        raise InvalidCommand(misfits)
    return proposal


def _decision_lines(
    clone: RunSummary, question: OpenQuestion, proposal: AnswerProposal, trace: EvaluationTrace | None
) -> Sequence[str]:
    """What is decided, as the person has to see it before."""
    if trace is None:
        return decision_lines(clone, question, proposal)
    shown = confirmation(trace, command_of(proposal), datetime.now(UTC))
    return [shown.title, *shown.lines, place_line(clone)]
