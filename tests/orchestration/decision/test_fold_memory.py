"""A fold that goes on from what is remembered says, reads and watches what one from the start does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phasekeeper.orchestration.decision import pending_reports
from phasekeeper.orchestration.decision.facts import RunFacts
from phasekeeper.orchestration.evaluation.evaluate import evaluate_traced
from phasekeeper.orchestration.journal.journal import Claim
from phasekeeper.orchestration.journal.lines import JOURNAL
from phasekeeper.orchestration.result.values import as_json
from phasekeeper.orchestration.vfs.files import RecordingFiles
from phasekeeper.orchestration.vfs.overlay import MemoryFiles
from phasekeeper.server.workspace.definitions import DefinitionLibrary

from tests.verdicts.runs import CONFIG, Run, built_in, plan_run

TASK = "# Task Complete\n\n**Task File**: {}\n\n**Status**: {}\n\nChanged src/a.py, all of it.\n"
GATE = (
    "# Phase Quality Gate\n\n**Phase**: {}\n\n**PHASE GATE STATUS**: {}\n\nLooked at all of it.\n"
    "\n- 01: met\n- 02: met\n- 03: met\n- 04: met\n"
)
ANALYSIS = "# Failure Analysis\n\n**Phase**: {}\n\nThe cause in 01, 02, 03 and 04.\n"
UNREADABLE = "not UTF-8"
MINUTE_NS = 60 * 10**9


@dataclass
class Watched:
    """A run that is evaluated with what is remembered of the time before, each time beside a cold look."""

    run: Run
    parsed: dict[tuple[str, str], Any] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()

    def look(self) -> dict[str, Any]:
        """The evaluation; what differs from a cold one fails."""
        warm, cold = self._look(self.parsed), self._look({})
        for name, value in cold.items():
            assert warm[name] == value, name
        return warm["evaluation"]

    def _look(self, parsed: dict[tuple[str, str], Any]) -> dict[str, Any]:
        files = RecordingFiles(MemoryFiles(self.run.files, self.run.mtimes))
        snapshot = self.run.snapshot(files, parsed, *self.claims)
        trace = evaluate_traced(self.run.workflow, snapshot)
        facts = trace.facts
        return {
            "evaluation": as_json(trace.evaluation),
            "trace": [(entry.where, entry.outcome, entry.about) for entry in trace.entries],
            "records": facts.records,
            "origins": [facts.origins[id(record)] for record in facts.records],
            "reads": list(trace.evaluation.reads.items()),
            "used": files.used,
        }

    def report(self, name: str, text: str) -> Watched:
        self.run.write(f"reports/{name}.md", text)
        return self


@pytest.fixture
def decisions(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[RunFacts]]:
    """The facts of each decision that folds made."""
    made: list[RunFacts] = []
    decide = pending_reports.decide

    def counted(facts: RunFacts) -> Any:
        made.append(facts)
        return decide(facts)

    monkeypatch.setattr(pending_reports, "decide", counted)
    yield made


def working() -> Watched:
    """A run whose first task is done, with reports of the next two; the fourth is still to come."""
    watched = Watched(plan_run("x   ", " ").write("/src/a.py", ""))
    for number in (2, 3):
        watched.report(f"00{number}", TASK.format(f"0{number}-t.md", "Complete"))
    return watched


def spent(watched: Watched, decisions: list[RunFacts]) -> int:
    """How many decisions a look with what is remembered makes now; it says what a cold one does."""
    decisions.clear()
    watched._look(dict(watched.parsed))
    made = len(decisions)
    watched.look()
    return made


def test_a_fold_of_what_is_known_decides_once(decisions: list[RunFacts]) -> None:
    watched = working()
    assert spent(watched, decisions) == 3
    assert spent(watched, decisions) == 1


def test_one_more_report_costs_one_more_decision(decisions: list[RunFacts]) -> None:
    watched = working()
    watched.look()
    watched.report("004", TASK.format("04-t.md", "Complete"))
    assert spent(watched, decisions) == 2
    assert spent(watched.report("005", GATE.format(1, "PASS")), decisions) == 2


def test_a_report_that_counts_for_nothing_is_remembered_with_its_finding(decisions: list[RunFacts]) -> None:
    watched = working().report("004", GATE.format(1, "PASS"))
    early = [each for each in watched.look()["findings"] if each["code"] == "report-out-of-turn"]
    assert early
    assert spent(watched, decisions) == 1


def test_a_report_that_is_edited_is_judged_anew_and_those_before_it_are_not(
    decisions: list[RunFacts],
) -> None:
    watched = working()
    watched.look()
    watched.report("003", TASK.format("03-t.md", "Partial"))
    assert spent(watched, decisions) == 2
    # The same bytes, saved at another time.
    watched.run.mtimes["tasks/f/reports/002.md"] -= MINUTE_NS
    assert spent(watched, decisions) == 3


def test_a_failure_that_comes_later_can_speak_for_a_report_that_lacks_something(
    decisions: list[RunFacts],
) -> None:
    watched = Watched(plan_run("x ", " ")).report("002", TASK.format("02-t.md", "Complete"))
    assert "report-unsupported" in {each["code"] for each in watched.look()["findings"]}
    watched.report("003", GATE.format(1, "FAIL"))
    assert "report-unsupported" not in {each["code"] for each in watched.look()["findings"]}
    assert spent(watched, decisions) == 1
    watched.run.remove("reports/003.md")
    assert "report-unsupported" in {each["code"] for each in watched.look()["findings"]}


def test_a_failure_whose_turn_never_came_goes_on_speaking_for_reports() -> None:
    watched = Watched(plan_run("x ", " "))
    watched.report("001", GATE.format(1, "PASS")).report("002", GATE.format(1, "FAIL"))
    watched.run.mtimes["tasks/f/reports/002.md"] = watched.run.mtimes["tasks/f/reports/001.md"]
    assert "order-uncertain" in {each["code"] for each in watched.look()["findings"]}
    watched.report("003", TASK.format("02-t.md", "Complete"))
    watched.look()


def test_a_report_that_is_taken_away_takes_those_behind_it_along(decisions: list[RunFacts]) -> None:
    watched = working().report("004", TASK.format("04-t.md", "Complete"))
    watched.look()
    watched.run.remove("reports/003.md")
    assert spent(watched, decisions) == 2


def test_a_report_of_the_same_moment_is_judged_together_with_those_there(decisions: list[RunFacts]) -> None:
    watched = working()
    watched.look()
    watched.report("003b", TASK.format("03-t.md", "Blocked"))
    watched.run.mtimes["tasks/f/reports/003b.md"] = watched.run.mtimes["tasks/f/reports/003.md"] + 1
    assert spent(watched, decisions) == 2


def changed_file(run: Run) -> None:
    run.write("03-t.md", "# 03. T\n\n## Meta\n\n- **Depends On**: [02]\n")


def changed_letter(run: Run) -> None:
    run.files["tasks/f/03-t.md"] = run.files["tasks/f/03-t.md"].replace("T", "U")


def lost_file(run: Run) -> None:
    run.remove("04-t.md")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("# 03. T\n\n## Meta\n\n- **Depends On**: [99]\n", "dangling-dependency"),
        (built_in("master-plan").artifacts["task_files"].example, "artifact-missing"),
    ],
)
def test_a_fault_of_a_task_file_is_found_once_it_is_saved_and_gone_once_it_is_mended(
    text: str, code: str
) -> None:
    watched = working()
    before = watched.run.files["tasks/f/03-t.md"]
    for now, is_found in ((before, False), (text, True), (before, False), (text, True)):
        watched.run.write("03-t.md", now)
        found = [each for each in watched.look()["findings"] if each["code"] == code and "03" in str(each)]
        assert bool(found) == is_found


def new_file(run: Run) -> None:
    run.write("09-more.md", "# 09. More\n")


def ticked_row(run: Run) -> None:
    run.write("MASTER_PLAN.md", run.files["tasks/f/MASTER_PLAN.md"].replace("[ ]", "[x]", 1))


def raised_limit(run: Run) -> None:
    run.write(f"/{CONFIG}", "parameters: {master-plan: {adoption: auto, fix_iterations: 9}}\n")


@pytest.mark.parametrize("change", [changed_file, changed_letter, ticked_row, raised_limit])
def test_what_it_depends_on_is_judged_anew(change: Any, decisions: list[RunFacts]) -> None:
    watched = working()
    watched.look()
    change(watched.run)
    assert spent(watched, decisions) == 3
    assert spent(watched, decisions) == 1


@pytest.mark.parametrize("change", [lost_file, new_file])
def test_what_no_report_was_judged_by_costs_nothing(change: Any, decisions: list[RunFacts]) -> None:
    watched = working()
    watched.look()
    change(watched.run)
    assert spent(watched, decisions) == 1


def test_a_record_that_came_since_overtakes_the_reports(decisions: list[RunFacts]) -> None:
    watched = working()
    assert not [each for each in watched.look()["findings"] if each["code"] == "report-out-of-turn"]
    watched.run._append({"kind": "start", "workflow": "master-plan"})
    assert [each for each in watched.look()["findings"] if each["code"] == "report-out-of-turn"]


def test_a_commit_and_a_proof_are_inputs_too(decisions: list[RunFacts]) -> None:
    watched = Watched(plan_run("x ", " ").write("/src/a.py", ""))
    raised_limit(watched.run)
    watched.run._append({"kind": "answer", "question": "plan", "option": "approve"})
    watched.report("002", TASK.format("02-t.md", "Complete")).report("003", GATE.format(1, "FAIL"))
    assert spent(watched, decisions) == 3
    watched.run.commit()
    assert spent(watched, decisions) == 2
    watched.run.proven.clear()
    assert spent(watched, decisions) == 3


def test_a_report_that_cannot_be_read_holds_all(decisions: list[RunFacts]) -> None:
    watched = working()
    watched.look()
    watched.run.files["tasks/f/reports/009.md"] = b"\xff"  # type: ignore[assignment]
    assert watched.look()["status"] == "invalid"
    watched.run.remove("reports/009.md")
    assert watched.look()["status"] == "active"


def test_another_definition_judges_from_the_start(decisions: list[RunFacts]) -> None:
    watched = working()
    watched.look()
    watched.run.workflow = replace(watched.run.workflow, digest="f" * 16)
    assert spent(watched, decisions) == 3


def test_a_claim_that_ends_changes_no_fold(decisions: list[RunFacts]) -> None:
    watched = working()
    watched.claims = (Claim("f-04", "ann", "2026-01-02T04:00:00+00:00", 1),)
    watched.look()
    watched.claims = ()
    assert spent(watched, decisions) == 1


LISTED = """
workflow: listed
title: Files that a list names
runs: {at: [r], marker: {file: state.json}}
state: {file: state.json}
artifacts:
  draft: {paths: [draft.md], kind: text, optional: true}
  verdict: {paths: [verdict.json], kind: json, of: [draft], optional: true}
  pages: {listed: state.pages, kind: files}
  notes: {paths: ["notes/*.txt"], kind: files}
reports:
  files: [said/*.md]
  read:
    write: {heading: Written}
    check: {heading: Checked, outcome: [Status]}
phase: "count({'kind': 'report', 'phase': 'write'}) > 0 ? 'check' : 'write'"
phases:
  write:
    title: Write
    outcomes: [ok]
    rules: [{when: "valid.pages || valid.notes || valid.verdict", to: check, because: there are pages}]
  check:
    title: Check
    outcomes: [pass, fail]
    rules: [{when: "report.outcome == 'pass' && valid.pages", stop: complete, because: it was checked}]
"""


def listed() -> Watched:
    library = DefinitionLibrary.of(MemoryFiles({".phasekeeper/workflows/listed.yaml": LISTED}))
    run = Run(library.workflow("listed"), "r")
    run.write("state.json", {"pages": ["a.md", "b.md"]}).write("a.md", "x")
    watched = Watched(run)
    for number, text in enumerate(("# Written\n", "# Checked\n\n**Status**: PASS\n", "# Written\n"), 1):
        run.write(f"said/{number}.md", text)
    return watched


def test_a_file_named_by_data_comes_and_goes(decisions: list[RunFacts]) -> None:
    watched = listed()
    watched.look()
    for change in (
        lambda run: run.write("b.md", "y"),
        lambda run: run.write("b.md", " \n"),
        lambda run: run.remove("a.md"),
        lambda run: run.write("notes/1.txt", " "),
        lambda run: run.write("notes/1.txt", "z"),
        lambda run: run.write("a.md", "x"),
    ):
        change(watched.run)
        assert spent(watched, decisions) > 1
        assert spent(watched, decisions) == 1


def test_the_time_of_a_file_that_is_judged_is_an_input(decisions: list[RunFacts]) -> None:
    watched = listed()
    watched.run.write("draft.md", "x").write("verdict.json", "{}")
    watched.look()
    watched.run.mtimes["r/draft.md"] += 9 * MINUTE_NS
    assert spent(watched, decisions) > 1


# ---- any changes, in any order

REPORTS = (
    *(TASK.format(f"0{number}-t.md", status) for number in (1, 2, 3) for status in ("Complete", "Blocked")),
    *(GATE.format(stage, verdict) for stage in (1, 2, 7) for verdict in ("PASS", "FAIL")),
    GATE.format(1, "FAIL\n\n**Fix Scope**: 02-t.md"),
    *(ANALYSIS.format(stage) for stage in (1, 2)),
    "# 5a Objective Gate\n\n**5a OBJECTIVE GATE STATUS**: PASS\n",
    "nothing that is known\n",
    " \n",
    UNREADABLE,
)
NAMES = st.sampled_from(["reports/001.md", "reports/002.md", "reports/003.md", "reports/010.md"])
CHANGES = st.one_of(
    st.tuples(st.just("report"), NAMES, st.sampled_from(REPORTS)),
    st.tuples(st.just("report"), NAMES, st.sampled_from(REPORTS)),
    st.tuples(
        st.just("remove"), st.one_of(NAMES, st.sampled_from(["01-t.md", "03-t.md", "MASTER_PLAN.md", "src/"]))
    ),
    st.tuples(st.just("time"), NAMES, st.integers(-3, 3)),
    st.tuples(st.just("write"), st.sampled_from(["01-t.md", "03-t.md", "05-new.md", "/src/a.py"])),
    st.tuples(st.sampled_from(["blank form", "unknown dependency"]), st.sampled_from(["01-t.md", "03-t.md"])),
    st.tuples(
        st.sampled_from(["tick", "untick", "raise", "start", "commit", "unproven", "override", "claim"])
    ),
    st.tuples(st.sampled_from(["answer", "empty plan", "forget", "lose a record"])),
)


def change(watched: Watched, what: str, *more: Any) -> None:
    """One change of a run, of its surroundings or of what is remembered."""
    run, plan = watched.run, "tasks/f/MASTER_PLAN.md"
    text = run.files.get(plan, "")
    if what == "report":
        run.write(*more)
        if more[1] == UNREADABLE:
            run.files[f"{run.at}/{more[0]}"] = b"\xff"  # type: ignore[assignment]
    elif what == "remove" and more[0] == "src/":
        run.files.pop("src/a.py", None)
    elif what == "remove":
        run.remove(more[0])
    elif what == "time":
        run.mtimes[f"{run.at}/{more[0]}"] = (
            run.mtimes.get(f"{run.at}/{more[0]}", 0) + more[1] * MINUTE_NS // 30
        )
    elif what == "write":
        run.write(more[0], f"# T\n\n## Meta\n\n- **Depends On**: [01]\n- **ID**: {more[0]}\n")
    elif what == "blank form":
        run.write(more[0], run.workflow.artifacts["task_files"].example)
    elif what == "unknown dependency":
        run.write(more[0], "# T\n\n## Meta\n\n- **Depends On**: [99]\n")
    elif what == "lose a record":
        journal = f"{run.at}/{JOURNAL}"
        lines = run.files.get(journal, "").splitlines(keepends=True)
        run.files[journal] = "".join(lines[:-1])
    elif what in ("tick", "untick"):
        run.write("MASTER_PLAN.md", text.replace(*(("[ ]", "[x]") if what == "tick" else ("[x]", "[ ]")), 1))
    elif what == "empty plan":
        run.write("MASTER_PLAN.md", "")
    elif what == "raise":
        raised_limit(run)
    elif what == "commit":
        run.commit()
        run.head = {path: text for path, text in run.head.items() if isinstance(text, str)}
    elif what == "unproven":
        run.proven.clear()
    elif what == "forget":
        watched.parsed.clear()
    elif what == "claim":
        watched.claims = () if watched.claims else (Claim("f-02", "ann", "2030-01-01T00:00:00+00:00", 1),)
    else:
        fields = {
            "override": {"next": "4c", "phase": "4b"},
            "answer": {"question": "plan", "option": "approve"},
        }
        run._append({"kind": what, **fields.get(what, {"workflow": "master-plan"})})


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.lists(CHANGES, min_size=4, max_size=25))
def test_after_any_changes_it_says_what_a_cold_look_says(changes: list[tuple[Any, ...]]) -> None:
    watched = Watched(plan_run("x  ", " ").write("/src/a.py", ""))
    for each in changes:
        change(watched, *each)
        watched.look()
