"""The check of an edit against a run: may somebody write this file now, and what is the way instead.

It is asked before a tool of an assistant writes. Of files that a run does not know nothing is said: sources
are free, but for those that a phase declares `read_only`, and those of a task that another has claimed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from ..journal.lines import CLAIMS_NAME, FOLDER, HOLDER_NAME, JOURNAL_NAME, LOCK_NAME
from ..vfs.files import below
from ..vfs.glob import concerns
from .trace import EvaluationTrace, fits_patterns, is_made_in, shut_step, step_at_hand

OWN_FILES = (JOURNAL_NAME, CLAIMS_NAME, LOCK_NAME, HOLDER_NAME)
"""The files of the `.phasekeeper/` of a run's home: only the product writes them."""
ROOT_FILES = ("config.yaml", "allowed_signers", "workflows/**", "evidence/**")
"""Those of a root's: they say how its work is judged and who decides, or hold what was measured."""


class WriteRefusal(NamedTuple):
    """Why a file may not be written now, and what is allowed instead.

    `step` is the phase that makes it, where that is not permitted; `gate` the one that is shut before it.
    """

    because: str
    instead: str
    gate: str = ""
    step: str = ""


def check_write(trace: EvaluationTrace, path: str, holders: Collection[str] = ()) -> WriteRefusal | None:
    """The refusal by this run of what is written at `path`, from the root; None where it has none.

    A path that ends in a slash is a folder that goes with all below it, one with `*` is all that fits it.
    `holders` are the names under which whoever writes may have claimed tasks. Without any nothing is said of
    the files of claimed tasks: whose they are cannot be told.
    """
    check = _WriteCheck(trace, path)
    return (
        check.of_own_file()
        or check.of_decision()
        or check.of_state()
        or check.of_read_only()
        or check.of_gates()
        or (check.of_claims(holders) if holders else None)
    )


def is_root_file(path: str) -> bool:
    """True for the configuration, the definitions and the results of checks of a root."""
    return any(concerns(f"{FOLDER}/{name}", path) for name in ROOT_FILES)


class _WriteCheck:
    """The checks of one path by one run, each with its refusal or None."""

    def __init__(self, trace: EvaluationTrace, path: str) -> None:
        self.trace, self.path = trace, path
        self.facts, self.snapshot = trace.facts, trace.facts.snapshot
        self.workflow, self.phase = trace.facts.workflow, step_at_hand(trace)

    def of_own_file(self) -> WriteRefusal | None:
        own = (below(self.snapshot.home, f"{FOLDER}/{name}") for name in OWN_FILES)
        if not any(concerns(each, self.path) for each in own):
            return None
        return WriteRefusal("only Phasekeeper writes this file", "report what was done; it is written then")

    def of_decision(self) -> WriteRefusal | None:
        decided = (artifact for artifact in self.workflow.artifacts.values() if artifact.decided_by)
        if not any(self._is_of(artifact.paths) for artifact in decided):
            return None
        instead = "ask for it with request_decision, or have a person look at `phasekeeper questions`"
        return WriteRefusal("it holds a person's decision", instead)

    def of_state(self) -> WriteRefusal | None:
        state = self.workflow.state
        if not (state and self._is_of([state.file]) and "state" in self.workflow.written_by_reports):
            return None
        return WriteRefusal(
            "it is the state of the run, which reports change", "report the step with its data"
        )

    def of_read_only(self) -> WriteRefusal | None:
        phase = self.phase
        if phase is None or phase.read_only is None:
            return None
        found = self.facts.context.value(phase.read_only).value
        # Where it cannot be told which files these are, all are but what the phase produces.
        is_fenced = (
            self._is_of(map(str, found))
            if isinstance(found, list)
            else not is_made_in(self.trace, phase, self.path)
        )
        said = f"it is not edited in {phase.id} ({phase.title})"
        return WriteRefusal(said, f"do {phase.id} and report it") if is_fenced else None

    def of_gates(self) -> WriteRefusal | None:
        """Of what only later phases produce, while none of them is permitted."""
        shut = shut_step(self.trace, self.path)
        if shut is None or self.phase is None:
            return None
        return WriteRefusal(shut.because, f"do {self.phase.id} and report it", shut.gate, shut.step)

    def of_claims(self, holders: Collection[str]) -> WriteRefusal | None:
        plan = self.snapshot.plan
        claims = [claim for claim in self.trace.evaluation.claims if plan and claim.task in plan.by_id]
        files = {c.task: self.snapshot.details(plan.by_id[c.task]).files for c in claims} if plan else {}
        concerned = [
            claim for claim in claims if any(concerns(file, self.path) for file in files[claim.task])
        ]
        if not concerned or any(claim.actor in holders for claim in concerned):
            return None
        claim = concerned[0]
        said = f"it belongs to task {claim.task}, which {claim.actor} has claimed until {claim.until}"
        return WriteRefusal(said, "claim another task with next_step, or wait for the end of this claim")

    def _is_of(self, patterns: Iterable[str]) -> bool:
        return fits_patterns(self.snapshot, patterns, self.path)
