"""The page of a run as one value: all that it shows, bounded, and nothing that it decides."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from phasekeeper.orchestration.evaluation.evaluate import evaluate_traced
from phasekeeper.orchestration.evaluation.trace import EvaluationTrace
from phasekeeper.orchestration.journal.journal import Claim, Proofs
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.rendering import run_page as module
from phasekeeper.orchestration.rendering.run_page import PageTexts, page_paths, run_line, run_page
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.vfs.overlay import MemoryFiles
from phasekeeper.server.workspace.definitions import DefinitionLibrary

from tests.orchestration.rendering.test_escalation_markdown import PLAN, RUN, journal, report

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
PLAN_PATH = f"{RUN}/MASTER_PLAN.md"
ASKING = parse_workflow(
    """\
workflow: asking
runs: {at: [t], marker: {file: state.json}}
state: {file: state.json, defaults: {asks: ""}}
phase: state.phase
artifacts: {paper: {paths: [paper.md], kind: text}}
phases:
  one:
    rules:
      - {when: "state.asks == 'paper' && answers.paper == 'none'", ask: paper}
      - {when: "state.asks == 'words' && answers.words == 'none'", ask: words}
      - {to: two}
  two: {terminal: complete}
questions:
  paper:
    kind: approval
    ask: Is it good?
    about: [paper]
    options: {"yes": "print it: it cannot be taken back", "no": write it again}
  words: {ask: Why?}
effects: {answer.paper.yes: {}, answer.paper.no: {}}
""",
    "asking.yaml",
)


def asking(asks: str) -> EvaluationTrace:
    files = {"t/state.json": json.dumps({"phase": "one", "asks": asks}), "t/paper.md": "new\n"}
    return evaluate_traced(ASKING, read_run(ASKING, MemoryFiles(files), "t"))


def plan_trace(*entries: dict[str, Any], plan: str = PLAN, claims: tuple[Claim, ...] = ()) -> EvaluationTrace:
    """The run of a plan that was adopted, with these records behind each other."""
    adopted = {"kind": "answer", "question": "adoption", "option": "adopt", "why": "ours"}
    files = {
        PLAN_PATH: plan,
        f"{RUN}/01-fees.md": "# Fees\n",
        f"{RUN}/.phasekeeper/journal.jsonl": journal(adopted, *entries),
    }
    used = DefinitionLibrary().workflow("master-plan")
    taken = read_run(used, MemoryFiles(files), RUN, verify=lambda lines: Proofs(frozenset(range(len(lines)))))
    return evaluate_traced(used, replace(taken, claims=claims))


def page(trace: EvaluationTrace, **texts: dict[str, str]) -> dict[str, Any]:
    given = PageTexts(texts.get("now", {}), texts.get("committed", {}))
    made = run_page(trace, given, NOW, lambda words: " ".join(words))
    # It is JSON, all of it.
    return json.loads(json.dumps(made))


def test_a_question_has_each_option_with_what_it_leads_to_and_the_command_that_decides() -> None:
    (decision,) = page(asking("paper"))["decisions"]
    assert (decision["text"], decision["kind"]) == ("Is it good?", "approval")
    yes, no = decision["options"]
    assert (yes["label"], yes["consequence"]) == ("print it", "it cannot be taken back")
    assert yes["outcome"].startswith("afterwards: complete in two")
    assert (yes["possible"], yes["command"]) == (True, "answer paper yes")
    assert (no["label"], no["consequence"]) == ("write it again", "")


def test_a_question_without_options_is_answered_in_words() -> None:
    (decision,) = page(asking("words"))["decisions"]
    assert (decision["options"], decision["command"]) == ([], "answer words ANSWER")


def test_beside_a_question_stands_what_it_is_about_and_how_that_differs_from_the_last_commit() -> None:
    trace = asking("paper")
    assert page_paths(trace) == (("t/paper.md",), ("t/paper.md",))
    now, committed = {"t/paper.md": "new\n"}, {"t/paper.md": "old\n"}
    (document,) = page(trace, now=now, committed=committed)["decisions"][0]["documents"]
    assert (document["role"], document["text"], document["cut"]) == ("asked about", "new\n", False)
    assert document["changes"]["lines"] == ["@@ -1 +1 @@", "-old", "+new"]
    (same,) = page(trace, now=now, committed=now)["decisions"][0]["documents"]
    assert same["changes"] is None
    (gone,) = page(trace)["decisions"][0]["documents"]
    assert (gone["text"], gone["changes"]) == (None, None)


def test_a_long_file_is_cut_and_says_so(monkeypatch) -> None:
    monkeypatch.setattr(module, "MOST_CHARACTERS", 3)
    (document,) = page(asking("paper"), now={"t/paper.md": "four"})["decisions"][0]["documents"]
    assert (document["text"], document["cut"]) == ("fou", True)


def test_beside_a_question_about_no_file_stands_the_evidence_for_it() -> None:
    (document,) = page(asking("words"))["decisions"][0]["documents"]
    assert (document["path"], document["role"]) == ("t/state.json", "evidence")


def test_beside_an_escalation_stand_its_reports_the_newest_first_and_the_files_of_its_tasks() -> None:
    fails = [
        {**report("4b", "fail"), "path": f"{RUN}/reports/{number}.md", "tasks": ["LF-1"]} for number in (1, 2)
    ]
    plan = PLAN.replace("[x]", "[ ]")
    trace = plan_trace({**report("4a", "complete"), "task": "LF-1"}, report("4b", "fail"), *fails, plan=plan)
    (decision,) = page(trace)["decisions"]
    assert decision["question"] == "fix_iterations:1"
    roles = [(each["path"].removeprefix(f"{RUN}/"), each["role"]) for each in decision["documents"]]
    reports = [(f"reports/{number}.md", "report of 4b") for number in (2, 1)]
    assert roles == [*reports, ("01-fees.md", "task LF-1")]
    assert decision["background"][0] == "tasks: LF-1"


def test_more_questions_than_have_room_are_counted(monkeypatch) -> None:
    monkeypatch.setattr(module, "MOST_QUESTIONS", 0)
    shown = page(asking("paper"))
    assert (shown["decisions"], shown["moreDecisions"]) == ([], 1)


def test_the_board_has_all_stages_and_the_tasks_that_need_somebody_first(monkeypatch) -> None:
    row = "| {0} | LF-{0} | `01-fees.md` | Fees {0} | impl | [{1}] |"
    rows = "\n".join(row.format(number, "x" if number < 4 else " ") for number in range(1, 7))
    plan = PLAN.replace("| 1 | LF-1 | `01-fees.md` | Fees | impl | [x] |", rows)
    board = page(plan_trace(plan=plan))["board"]
    (stage,) = board["stages"]
    assert (board["path"], stage["done"], stage["total"], stage["more"]) == (PLAN_PATH, 3, 6, 0)
    assert [task["state"] for task in stage["tasks"]][:4] == ["done"] * 3 + ["ready"]
    monkeypatch.setattr(module, "MOST_TASKS", 3)
    (short,) = page(plan_trace(plan=plan))["board"]["stages"]
    assert ([task["id"] for task in short["tasks"]], short["more"]) == (["LF-4", "LF-5", "LF-6"], 3)


def test_the_board_says_who_has_claimed_what_until_when() -> None:
    claim = Claim("LF-1", "Grace", "2026-03-02T18:00:00Z", 1)
    trace = plan_trace(plan=PLAN.replace("[x]", "[ ]"), claims=(claim,))
    (task,) = page(trace)["board"]["stages"][0]["tasks"]
    assert (task["state"], task["claimedBy"], task["claimedUntil"]) == ("claimed", "Grace", claim.until)


def test_a_run_without_a_plan_has_no_board() -> None:
    assert page(asking(""))["board"] is None


def test_findings_are_bounded_and_counted(monkeypatch) -> None:
    broken = evaluate_traced(ASKING, read_run(ASKING, MemoryFiles({"t/state.json": "{"}), "t"))
    assert page(broken)["evaluation"]["findings"]
    monkeypatch.setattr(module, "MOST_FINDINGS", 0)
    shown = page(broken)
    assert (shown["evaluation"]["findings"], shown["moreFindings"] > 0) == ([], True)


def test_graph_and_timeline_are_those_of_the_run() -> None:
    shown = page(plan_trace(report("4a", "complete")))
    assert shown["timeline"]["entries"][0]["sentence"] == "4a reported: complete"
    phases = [phase["id"] for phase in shown["graph"]["phases"]]
    assert phases == [phase["id"] for phase in shown["evaluation"]["phases"]]


def test_runs_are_ranked_by_who_has_to_look() -> None:
    broken = evaluate_traced(ASKING, read_run(ASKING, MemoryFiles({"t/state.json": "{"}), "t"))
    over = evaluate_traced(ASKING, read_run(ASKING, MemoryFiles({"t/state.json": '{"phase": "two"}'}), "t"))
    traces = (asking("paper"), broken, asking(""), over)
    assert [run_line(trace.evaluation)["rank"] for trace in traces] == [0, 1, 2, 3]
    line = run_line(plan_trace(report("4b", "fail")).evaluation)
    assert (line["run"], line["progress"]) == (RUN, {"done": 1, "total": 1})
    assert run_line(asking("paper").evaluation)["progress"] is None


def test_a_report_that_was_refused_stands_on_the_timeline_where_the_journal_has_it() -> None:
    refused = {"kind": "refused", "phase": "4a", "outcome": "complete", "stage": "1", "why": "no change"}
    shown = page(plan_trace(refused, report("4a", "complete")))["timeline"]["entries"]
    assert [each["sentence"] for each in shown[:2]] == [
        "4a reported: complete",
        "4a reported complete, refused",
    ]
    assert shown[1]["failed"] and shown[1]["why"] == "no change"
    assert (shown[1]["path"], shown[1]["line"]) == (f"{RUN}/.phasekeeper/journal.jsonl", 2)


def test_a_reason_that_is_still_to_be_typed_is_said_as_such() -> None:
    asked = {"kind": "question", "phase": "4a", "message": "Which one?"}
    (decision,) = page(plan_trace(asked))["decisions"]
    stop = next(option for option in decision["options"] if option["id"] == "stop")
    assert "a person stopped the run: (your reason, which you type next); " in stop["outcome"]
