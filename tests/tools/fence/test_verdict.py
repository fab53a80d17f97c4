"""What guarded runs refuse of what an assistant's tools would do, and of its end."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.evaluation.evaluate import evaluate_traced
from phasekeeper.orchestration.evaluation.trace import EvaluationTrace
from phasekeeper.orchestration.journal.journal import Claim
from phasekeeper.orchestration.vfs.overlay import MemoryFiles
from phasekeeper.tools.fence.tool_calls import Touches
from phasekeeper.tools.fence.verdict import (
    FenceSession,
    has_work,
    settings_refusal,
    start_text,
    stop_refusal,
    tool_refusal,
)

from tests.verdicts.runs import Run, built_in, plan_run

NOBODY = FenceSession()
TASK = ".ai-tools-chain/tasks/t"
PATCH = f"{TASK}/code/diff.patch"


def pipeline(phase: str = "plan_review") -> Run:
    run = Run(built_in("artifact-pipeline"), TASK)
    run.write("planning/planning.ai.json", {"id": "T1"})
    return run.write("state.json", {"task_id": "t", "phase": phase, "iteration": 1})


def refusal(runs: list[EvaluationTrace], *paths: str, session: FenceSession = NOBODY, **touches: str) -> str:
    agents = tuple(filter(None, [touches.get("agent")]))
    return tool_refusal(Touches(paths, agents), paths, runs, session)


def test_a_refusal_says_why_what_is_allowed_and_how_a_person_overrides() -> None:
    said = refusal([pipeline().trace()], PATCH)
    assert said == (
        f"{PATCH} may not be written: it is made in codegen: gate plan-review (The plan is approved by its"
        " review) is open. Instead: do plan_review and report it. Only a person can override:"
        f" `phasekeeper override {TASK} --to codegen`."
    )
    assert refusal([pipeline().trace()], "src/a.py", f"{TASK}/review/plan-review.json") == ""


def test_an_agent_starts_only_for_a_step_that_is_permitted() -> None:
    runs = [pipeline().trace()]
    assert refusal(runs, agent="plan-reviewer") == refusal(runs, agent="kit:plan-reviewer") == ""
    assert refusal(runs, agent="Explore") == ""
    said = refusal(runs, agent="agents/Coder")
    assert said.startswith("agents/Coder may not be started for codegen: phases are not skipped. Instead: ")
    assert refusal([*runs, pipeline("codegen").trace()], agent="coder") == ""
    # A session that works on one run is not let through by another.
    other = Run(built_in("artifact-pipeline"), ".ai-tools-chain/tasks/u")
    other.write("planning/planning.ai.json", {"id": "U1"})
    other.write("state.json", {"task_id": "u", "phase": "codegen", "iteration": 1})
    assert refusal([*runs, other.trace()], agent="coder") == ""
    assert refusal([*runs, other.trace()], agent="coder", session=FenceSession((TASK,)))


def test_a_session_is_held_by_its_own_run_alone_in_files_that_are_no_runs() -> None:
    changes = (
        "## Files to Change\n\n| File | Action | Changes |\n|---|---|---|\n| `src/a.py` | modify | a |\n"
    )
    run = plan_run("x ", t02=changes).write("/src/a.py", "A = 1\n").report("4a", "complete", "02")
    analysis = run.report("4b", "fail", "02").trace()
    other = pipeline("codegen").trace()
    assert refusal([analysis, other], "src/a.py")
    assert refusal([analysis, other], "src/a.py", session=FenceSession((TASK,))) == ""
    assert refusal([analysis, other], "tasks/f/.phasekeeper/journal.jsonl", session=FenceSession((TASK,)))


def test_files_that_set_up_the_fence_are_a_persons() -> None:
    for path in (".claude/settings.local.json", ".codex/hooks.json", ".github/hooks/a.json", ".git/hooks/x"):
        assert settings_refusal(["src/a.py", path]) == f"{path} can take this fence down: a person changes it"
    assert settings_refusal([".phasekeeper/config.yaml"])
    assert (
        settings_refusal([".claude/agents/a.md", ".phasekeeper/sessions/S/session.json", ".gitignore"]) == ""
    )


def test_a_session_ends_when_nothing_is_to_be_done_or_it_was_said_three_times() -> None:
    trace = plan_run("x  ").trace()
    said = stop_refusal(trace, NOBODY, in_background=False)
    assert said.startswith("tasks/f has work that you may do: ")
    assert "escalations" in said
    assert stop_refusal(trace, FenceSession(("tasks/f",), stops=2), in_background=False) == said
    assert stop_refusal(trace, FenceSession(("tasks/f",), stops=3), in_background=False) == ""
    assert stop_refusal(trace, NOBODY, in_background=True) == ""
    waiting = plan_run("  ").trace()
    assert stop_refusal(waiting, NOBODY, in_background=False) == ""


def test_work_that_others_have_claimed_is_none() -> None:
    run = plan_run("x ")
    claim = Claim("f-02", "codex", "2026-01-02T04:00:00+00:00", 1)
    trace = evaluate_traced(run.workflow, run.snapshot(MemoryFiles(run.files, run.mtimes), {}, claim))
    assert has_work(trace.evaluation, "codex")
    assert not has_work(trace.evaluation, "claude")
    assert not has_work(trace.evaluation)


def test_a_session_is_told_where_the_guarded_runs_stand() -> None:
    assert start_text([]) == ""
    text = start_text([plan_run("x ").evaluation, pipeline().evaluation] * 40)
    assert len(text) < 1_500
    assert "- tasks/f (master-plan): " in text
    assert "- and 75 more: call status" in text


FILES = "## Files to Change\n\n| File | Action | Changes |\n|---|---|---|\n| `src/{0}.py` | modify | {0} |\n"
MASTER_PLAN = "tasks/f/MASTER_PLAN.md"
CLAUDE = FenceSession(agent="claude")


def walked(*reports: tuple[str, ...]) -> EvaluationTrace:
    """A plan whose second and third task are open, after some reports; codex has claimed the third."""
    run = plan_run("x  ", t02=FILES.format("two"), t03=FILES.format("three")).write(
        "/src/two.py", "TWO = 1\n"
    )
    run.write("/src/three.py", "THREE = 1\n")
    for said in reports:
        run.report(*said)
    claim = Claim("f-03", "codex", "2026-01-02T09:00:00+00:00", 1)
    return evaluate_traced(run.workflow, run.snapshot(MemoryFiles(run.files, run.mtimes), {}, claim))


DONE = (("4a", "complete", "02"), ("4a", "complete", "03"))
FAILED = (*DONE, ("4b", "fail", "02"))
DENIED = [
    (walked(), MASTER_PLAN, "it is not edited in 4a (Implement)"),
    (walked(*DONE), MASTER_PLAN, "it is not edited in 4b (Quality gate)"),
    (walked(*FAILED), MASTER_PLAN, "it is not edited in F1 (Failure analysis)"),
    (walked(*FAILED, ("F1", "ok")), MASTER_PLAN, "it is not edited in F2 (Fix the failing tasks only)"),
    (walked(*FAILED), "src/two.py", "it is not edited in F1 (Failure analysis)"),
    (walked(), "src/three.py", "it belongs to task f-03, which codex has claimed"),
    (walked(), "tasks/f/.phasekeeper/journal.jsonl", "only Phasekeeper writes this file"),
    (walked(), "tasks/f/.phasekeeper/claims.jsonl", "only Phasekeeper writes this file"),
    (pipeline("accept").trace(), f"{TASK}/accept/decision.json", "it holds a person's decision"),
    (pipeline().trace(), f"{TASK}/state.json", "it is the state of the run, which reports change"),
    (pipeline().trace(), PATCH, "it is made in codegen: gate plan-review"),
]
ALLOWED = [
    (walked(), "src/two.py"),
    (walked(*FAILED), "src/other.py"),
    (walked(*FAILED), "tasks/f/reports/01.md"),
    (walked(*FAILED, ("F1", "ok")), "src/two.py"),
    (walked(*DONE, ("4b", "pass")), MASTER_PLAN),
    (pipeline().trace(), f"{TASK}/review/plan-review.json"),
    (pipeline().trace(), f"{TASK}/planning/planning.ai.json"),
    (pipeline().trace(), "elsewhere/accept/decision.json"),
]


@pytest.mark.parametrize(
    ("run", "path", "because"), DENIED, ids=[f"{path}: {why}" for _, path, why in DENIED]
)
def test_each_write_that_a_run_forbids_is_refused_with_its_reason(
    run: EvaluationTrace, path: str, because: str
) -> None:
    said = refusal([run], path, session=CLAUDE)
    assert said.startswith(f"{path} may not be written: {because}")
    assert " Instead: " in said


@pytest.mark.parametrize(("run", "path"), ALLOWED, ids=[path for _, path in ALLOWED])
def test_a_write_that_no_run_forbids_is_let_through(run: EvaluationTrace, path: str) -> None:
    assert refusal([run], path, session=CLAUDE) == ""


def test_reading_is_never_refused() -> None:
    assert tool_refusal(Touches(), (), [walked(*FAILED), pipeline("accept").trace()], CLAUDE) == ""
