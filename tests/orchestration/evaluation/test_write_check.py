"""What may be written now, by the phase at hand, its gates, and who has claimed what."""

from __future__ import annotations

from phasekeeper.orchestration.definition.compiler import compile_definition
from phasekeeper.orchestration.definition.reader import Source, load_definition
from phasekeeper.orchestration.evaluation.evaluate import evaluate_traced
from phasekeeper.orchestration.evaluation.write_check import WriteRefusal, check_write, is_root_file
from phasekeeper.orchestration.journal.journal import Claim
from phasekeeper.orchestration.vfs.overlay import MemoryFiles

from tests.verdicts.runs import Run, built_in, plan_run

FILES = "## Files to Change\n\n| File | Action | Changes |\n|---|---|---|\n| `src/{0}.py` | modify | {0} |\n"


def refusal(run: Run, path: str, *holders: str) -> WriteRefusal | None:
    return check_write(run.trace(), path, holders)


def because(run: Run, path: str, *holders: str) -> str:
    found = refusal(run, path, *holders)
    return found.because if found else ""


TASK = ".ai-tools-chain/tasks/t"


def pipeline(phase: str) -> Run:
    run = Run(built_in("artifact-pipeline"), TASK)
    return run.write("state.json", {"task_id": "t", "phase": phase, "iteration": 1})


def test_the_plan_is_read_only_while_its_tasks_are_implemented_and_checked() -> None:
    run = plan_run("x ")
    assert because(run, "tasks/f/MASTER_PLAN.md") == "it is not edited in 4a (Implement)"
    run.report("4a", "complete", "02")
    assert because(run, "tasks/f/MASTER_PLAN.md") == "it is not edited in 4b (Quality gate)"
    run.report("4b", "pass")
    assert refusal(run, "tasks/f/MASTER_PLAN.md") is None


def test_files_of_the_stage_are_read_only_while_the_analysis_is_owed() -> None:
    run = plan_run("x ", t02=FILES.format("two")).write("/src/two.py", "TWO = 1\n")
    assert refusal(run, "src/two.py") is None
    run.report("4a", "complete", "02").report("4b", "fail", "02")
    assert because(run, "src/two.py") == "it is not edited in F1 (Failure analysis)"
    assert refusal(run, "src/other.py") is None
    run.report("F1", "ok")
    assert refusal(run, "src/two.py") is None
    assert because(run, "tasks/f/MASTER_PLAN.md") == "it is not edited in F2 (Fix the failing tasks only)"


def test_what_a_later_phase_makes_waits_for_the_gate_before_it() -> None:
    run = pipeline("plan_review")
    run.write("planning/planning.ai.json", {"id": "T1"})
    why = "it is made in codegen: gate plan-review (The plan is approved by its review) is open"
    instead = "do plan_review and report it"
    assert refusal(run, f"{TASK}/code/diff.patch") == WriteRefusal(why, instead, "plan-review", "codegen")
    assert refusal(run, f"{TASK}/planning/planning.ai.json") is None
    assert refusal(run, f"{TASK}/review/plan-review.json") is None
    assert refusal(run, "src/flag.py") is None


def test_a_decision_of_a_person_and_the_state_are_never_written_by_hand() -> None:
    run = pipeline("accept")
    assert because(run, f"{TASK}/accept/decision.json") == "it holds a person's decision"
    assert because(run, f"{TASK}/state.json") == "it is the state of the run, which reports change"


def test_files_of_a_task_are_those_of_whoever_claimed_it() -> None:
    run = plan_run("x  ", t02=FILES.format("two"), t03=FILES.format("three"))
    claims = [Claim("f-02", "codex", "2026-01-02T04:00:00+00:00", 1)]
    trace = evaluate_traced(run.workflow, run.snapshot(MemoryFiles(run.files, run.mtimes), {}, *claims))
    assert check_write(trace, "src/two.py", ["codex"]) is None
    assert check_write(trace, "src/three.py", ["claude"]) is None
    found = check_write(trace, "src/two.py", ["claude"])
    assert found
    assert found.because == "it belongs to task f-02, which codex has claimed until 2026-01-02T04:00:00+00:00"
    assert check_write(trace, "src/two.py") is None


def test_own_files_are_written_by_the_product_alone() -> None:
    run = plan_run("x ")
    for name in ("journal.jsonl", "claims.jsonl", "lock"):
        assert because(run, f"tasks/f/.phasekeeper/{name}") == "only Phasekeeper writes this file"
    assert refusal(run, "tasks/g/.phasekeeper/journal.jsonl") is None
    found = [is_root_file(f".phasekeeper/{name}") for name in ("config.yaml", "workflows/a.yaml", "notes.md")]
    assert found == [True, True, False]


PUBLISHED = """
workflow: article
runs: {at: [articles/*], marker: {file: article.json, has: [phase]}}
state: {file: article.json}
phase: state.phase
artifacts:
  text: {paths: [text.md], kind: text}
  page: {paths: [page.html], kind: text}
phases:
  draft: {produces: [text]}
  review: {}
  publish: {produces: [page]}
gates:
  short: {after: draft, criteria: [{text: it is short, when: has(state.short)}], allowed: [publish]}
"""


def test_what_a_gate_in_force_allows_may_be_made_before_its_turn() -> None:
    run = Run(compile_definition(*load_definition(Source("article.yaml", PUBLISHED))), "articles/a")
    run.write("text.md", "# A").write("article.json", {"phase": "draft"})
    assert because(run, "articles/a/page.html").startswith("it is made in publish: gate short")
    assert (
        refusal(run.write("article.json", {"phase": "draft", "short": True}), "articles/a/page.html") is None
    )


UNIT = "{at: [docs/PLAN.md], unit: file, marker: {file: '#'}}"
WORK = "work: {paths: ['#'], kind: plan-file}"


def test_a_run_in_a_file_has_its_paths_from_the_folder_of_the_file() -> None:
    text = PUBLISHED.replace("{at: [articles/*], marker: {file: article.json, has: [phase]}}", UNIT)
    text = text.replace("state: {file: article.json}\nphase: state.phase", "phase: \"'draft'\"")
    text = text.replace("has(state.short)", "work.done > 9").replace("artifacts:", f"artifacts:\n  {WORK}")
    run = Run(compile_definition(*load_definition(Source("article.yaml", text))), "docs/PLAN.md#PLAN")
    run.write("/docs/PLAN.md", "- [ ] write it\n").write("/docs/text.md", "# A")
    assert because(run, "docs/page.html").startswith("it is made in publish: ")
    assert refusal(run, "docs/PLAN.md#PLAN/page.html") is None


def test_a_folder_is_refused_for_each_file_in_it() -> None:
    run = pipeline("accept")
    for path in (f"{TASK}/accept/", f"{TASK}/", ".ai-tools-chain/", "/", f"{TASK}/accept/*.json"):
        assert refusal(run, path)
    for path in (f"{TASK}/notes/", f"{TASK}/accept", "src/", f"{TASK}/*.md"):
        assert refusal(run, path) is None
