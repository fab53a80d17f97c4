"""The verdict on what an assistant's tool would do, and on a session's end: pure, over guarded runs.

Never refused are reading, our own tools and commands, and whatever concerns no guarded run. A refusal is one
text: why, what is allowed instead, and how a person can override it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...orchestration.evaluation.trace import EvaluationTrace, Permission, check_action, step_at_hand
from ...orchestration.evaluation.write_check import check_write, is_root_file
from ...orchestration.result.values import Evaluation
from ...orchestration.sanitize import plain
from ...orchestration.snapshot.snapshot import Snapshot
from ...orchestration.vfs.glob import concerns
from .tool_calls import Touches

MOST_STOPS = 3
"""A session's stop is refused so often; then it ends, and a person is asked."""
SETTINGS = (
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/hooks.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".github/hooks/**",
    ".cursor/hooks.json",
    ".mcp.json",
    ".git/hooks/**",
    ".git/config",
    ".husky/**",
    ".pre-commit-config.yaml",
    ".github/actions/phasekeeper/**",
    ".github/workflows/**",
)
"""Files of a root by which a fence is put up, or taken down."""
_MOST_TOLD = 5


class FenceSession(NamedTuple):
    """What is known of a session of an assistant: the runs that it said it works on, the name under which it
    claims and reports, and how often its stop was refused."""

    runs: tuple[str, ...] = ()
    agent: str = ""
    stops: int = 0


def settings_refusal(paths: Iterable[str]) -> str:
    """The refusal of a write of files that say what is guarded and how it is judged; "" for others."""
    for path in paths:
        if is_root_file(path):
            return f"{plain(path, 200)} says how the work is judged: a person changes it"
        if any(concerns(pattern, path) for pattern in SETTINGS):
            return f"{plain(path, 200)} can take this fence down: a person changes it"
    return ""


def tool_refusal(
    touches: Touches, paths: Sequence[str], runs: Sequence[EvaluationTrace], session: FenceSession
) -> str:
    """The refusal of a tool's call, "" where it may be. `paths` are those it writes, from the root; `runs`
    the guarded ones of the root."""
    bound = [run for run in runs if run.facts.snapshot.run in session.runs]
    for path in paths:
        for run in runs:
            # A run's own files are its own matter; others are that of the runs that are worked on.
            if bound and run not in bound and not _is_own(path, run.facts.snapshot):
                continue
            refused = check_write(run, path, [session.agent] if session.agent else ())
            if refused:
                because = f"{path} may not be written: {refused.because}"
                return _text(run, because, refused.instead, refused.step)
    for agent in touches.agents:
        if refusal := _agent_refusal(agent, bound or runs):
            return refusal
    return ""


def stop_refusal(run: EvaluationTrace, session: FenceSession, in_background: bool) -> str:
    """The refusal of a session's end while its run has work that it may do; "" where it may end."""
    evaluation = run.evaluation
    if in_background or session.stops >= MOST_STOPS or not has_work(evaluation, session.agent):
        return ""
    name, step = plain(evaluation.run, 200) or ".", plain(evaluation.suggestion.phrase, 200)
    return (
        f"{name} has work that you may do: {step}: {plain(evaluation.suggestion.reason, 300)}."
        " Do it and report it; if you cannot go on, raise a question with escalations."
        f" Your end is refused {MOST_STOPS} times, then a person is asked."
    )


def has_work(evaluation: Evaluation, agent: str = "") -> bool:
    """True if an assistant can go on with the run: it is its turn, and not all tasks are others'."""
    suggestion = evaluation.suggestion
    if not suggestion.kind.is_work or suggestion.waiting_for:
        return False
    is_shared_out = evaluation.plan is not None and bool(evaluation.plan.schedule.claimed)
    is_own = any(claim.actor == agent for claim in evaluation.claims)
    return bool(suggestion.tasks) or is_own or not is_shared_out


def start_text(guarded: Sequence[Evaluation]) -> str:
    """What a session is told at its start about the guarded runs that are not over; "" without any."""
    active = [each for each in guarded if not each.suggestion.kind.is_final]
    if not active:
        return ""
    lines = ["Phasekeeper guards the gates of this folder's runs; where they stand:"]
    for each in active[:_MOST_TOLD]:
        name, step = plain(each.run, 120) or ".", plain(each.suggestion.phrase, 120)
        lines.append(f"- {name} ({each.workflow}): {step}: {plain(each.suggestion.reason, 120)}")
    if len(active) > _MOST_TOLD:
        lines.append(f"- and {len(active) - _MOST_TOLD} more: call status")
    lines.append(
        "Call next_step of your run, do exactly that step, then report it. Decisions are a person's."
    )
    return "\n".join(lines)


def _is_own(path: str, snapshot: Snapshot) -> bool:
    """True for what lies in the file or folder of a run or in its home, and for a folder that holds these."""
    places = (snapshot.place.itself, snapshot.home)
    return any(concerns(place, path) or path.startswith(f"{place}/") for place in places)


def _agent_refusal(agent: str, runs: Sequence[EvaluationTrace]) -> str:
    """The refusal to start an agent whose steps no run permits now; one of no workflow may start."""
    refused: list[tuple[EvaluationTrace, Permission]] = []
    for run in runs:
        permissions = [check_action(run, step) for step in _steps_of(agent, run)]
        if any(permission and permission.allowed for permission in permissions):
            return ""
        refused += [(run, permission) for permission in permissions if permission]
    if not refused:
        return ""
    run, permission = refused[0]
    gate = f"gate {permission.gate} is shut: " if permission.gate else ""
    step = step_at_hand(run)
    instead = f"{step.id} ({step.title}) is at hand" if step else "call next_step"
    because = f"{plain(agent, 80)} may not be started for {permission.step}: {gate}{permission.because}"
    return _text(run, because, instead, permission.step)


def _steps_of(agent: str, run: EvaluationTrace) -> list[str]:
    """The phases and actions that an agent does; plugins and folders stand before its name."""
    name = agent.rpartition(":")[2].rpartition("/")[2].casefold()
    workflow = run.facts.workflow
    steps = (*workflow.phases.values(), *workflow.actions.values())
    return [step.id for step in steps if name in map(str.casefold, step.agents)]


def _text(run: EvaluationTrace, because: str, instead: str, step: str) -> str:
    """The text of a refusal; to a `step` that is gated a person can override."""
    name = run.facts.snapshot.run or "."
    way = f" Only a person can override: `phasekeeper override {name} --to {step}`." if step else ""
    return plain(f"{because}. Instead: {instead}.{way}", 1_000)
