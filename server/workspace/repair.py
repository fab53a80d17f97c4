"""Repair of a run with the consent of a person, for every surface: the store's own, and decisions of before.

It has two steps as a decision has: `prepare_repair` says what a person has to agree to, `repair_run` does it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...orchestration.journal.lines import JOURNAL
from ...orchestration.vfs.files import below
from ..store.commit import LockedRun, Writes, commit
from ..store.recovery import RecoveryAction, RecoveryKind
from ..store.repair import RepairConsent, consent_lines, find_damage, repair
from .decision_proof import signer
from .earlier_decisions import confirmation, earlier_decisions, earlier_lines
from .workspace import Workspace


class PreparedRepair(NamedTuple):
    """What counts only once a person agrees: the last lines of a forked journal's branches and earlier
    decisions, by their digests; `lines` are to be read before (text of files, still to be escaped)."""

    heads: tuple[str, ...]
    decisions: tuple[str, ...]
    lines: tuple[str, ...]


NOTHING_AGREED = PreparedRepair((), (), ())


def prepare_repair(workspace: Workspace, run: str, *, drop_bad_lines: bool = False) -> PreparedRepair:
    """What a person has to agree to before `repair_run`. Nothing is locked or changed."""
    home = workspace.home(run)
    damage = find_damage(workspace.root, home)
    earlier = earlier_decisions(workspace.root, home)
    lines = (*consent_lines(damage, drop_bad_lines), *earlier_lines(earlier))
    heads = tuple(branch.head for branch in damage.branches)
    return PreparedRepair(heads, tuple(each.digest for each in earlier), lines)


def repair_run(
    workspace: Workspace,
    run: str,
    agreed: PreparedRepair,
    actor: str,
    channel: str,
    program: str = "",
    **more: Any,
) -> tuple[RecoveryAction, ...]:
    """Finish interrupted writes, remove what they left, and let count what a person agreed to.

    `more` goes to `store.repair`; without it lines that cannot be read stay. Raises StoreError.
    """
    consent = RepairConsent(agreed.heads, actor, channel)
    home = workspace.home(run)
    actions = repair(workspace.root, home, agreed=consent, **more)
    if not agreed.decisions:
        return actions

    def confirm(_: LockedRun) -> Writes:
        found = [e for e in earlier_decisions(workspace.root, home) if e.digest in agreed.decisions]
        return Writes([confirmation(found, actor, channel) | {"program": program}] if found else [])

    done = commit(workspace.root, home, confirm, sign=signer(workspace.root, home))
    confirmed = RecoveryAction(below(home, JOURNAL), RecoveryKind.CONFIRMED)
    return (*actions, *done.recovery, *([confirmed] if done.records else []))
