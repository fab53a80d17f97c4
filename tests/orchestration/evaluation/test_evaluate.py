"""Evaluating a run: what is kept, what is explained, and what stays shut when files cannot be read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from phasekeeper.orchestration.definition.model import Workflow
from phasekeeper.orchestration.evaluation.evaluate import (
    EvaluationTrace,
    evaluate,
    evaluate_traced,
)
from phasekeeper.orchestration.findings import Problem
from phasekeeper.orchestration.journal.journal import Proofs
from phasekeeper.orchestration.journal.report_files import read_report
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.rendering.explanation import as_json, explain
from phasekeeper.orchestration.result.values import Progress
from phasekeeper.orchestration.result.values import as_json as as_data
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.snapshot.snapshot import Snapshot
from phasekeeper.orchestration.vfs.files import Entry, File, digest_of
from phasekeeper.orchestration.vfs.overlay import MemoryFiles
from phasekeeper.server.workspace.definitions import DefinitionLibrary

LOCKED = Problem("artifact-unreadable", "permission denied")


@dataclass
class Closed(MemoryFiles):
    """A root in which some paths exist and cannot be read, and some folders cannot be listed."""

    shut: frozenset[str] = frozenset()
    unlisted_folders: Mapping[str, Problem] = field(default_factory=dict)

    def read(self, path: str) -> File:
        return File(path, problem=LOCKED) if path in self.shut else super().read(path)

    def list(self, folder: str) -> Mapping[str, Entry]:
        return {} if folder in self.unlisted_folders else super().list(folder)


def workflow(more: str = "", rules: str = "[{when: state.ok == true, to: done}]") -> Workflow:
    head = "workflow: small\nruns: {at: [t], marker: {file: state.json}}\nstate: {file: state.json}\n"
    phases = f"phase: state.phase\nphases:\n  one: {{rules: {rules}}}\n  done: {{terminal: complete}}\n"
    return parse_workflow(head + phases + more)


def snapshot(files: MemoryFiles, used: Workflow | None = None) -> Snapshot:
    return read_run(used or workflow(), files, "t", verify=lambda lines: Proofs(frozenset(range(len(lines)))))


def traced(files: MemoryFiles, used: Workflow | None = None) -> EvaluationTrace:
    taken = snapshot(files, used)
    return evaluate_traced(taken.workflow, taken)


STATE = {"t/state.json": json.dumps({"phase": "one", "ok": True})}


def test_a_snapshot_gives_the_same_answer_again() -> None:
    used = workflow("reports: {files: [reports/*.md], read: {one: {heading: One}}}\n")
    taken = snapshot(MemoryFiles({**STATE, "t/reports/1.md": "# One\n"}), used)
    assert evaluate(used, taken) == evaluate(used, taken)
    assert len(evaluate_traced(used, taken).facts.records) == 1


def test_reports_beside_a_run_that_was_ended_count_for_nothing_and_are_no_error() -> None:
    reports = "reports: {files: [reports/*.md], read: {one: {heading: One}}}\n"
    used = workflow(reports, rules="[{when: state.ok == true, stop: exited}]")
    trace = traced(MemoryFiles({**STATE, "t/reports/1.md": "# One\n"}), used)
    assert (trace.evaluation.status, trace.evaluation.findings, trace.facts.records) == ("exited", (), ())


def test_evidence_shows_the_first_items_of_a_list_and_how_many_more_there_are() -> None:
    used = workflow(rules="[{when: 'state.a != [] && state.b.size() > 1 && state.c.size() == 2', to: done}]")
    odd = [{"id": "x"}, {"n": 1}, [1], 3, "y" * 99]
    state = {"phase": "one", "a": ["1", "2", "3", "4", "5", "6", "7"], "b": odd, "c": {"d": 1, "e": 2}}
    found = traced(MemoryFiles({"t/state.json": json.dumps(state)}), used).evaluation
    assert {entry.expression: entry.value for entry in found.suggestion.evidence} == {
        "state.a": ("1", "2", "3", "4", "5", "and 2 more"),
        "state.b": ("x", "1 key", "1 item", 3, "y" * 79 + "…"),
        "state.c": "2 keys",
    }


def test_only_a_run_that_is_complete_has_that_status() -> None:
    used = workflow()
    assert evaluate(used, snapshot(MemoryFiles(STATE))).status == "active"
    ended = snapshot(MemoryFiles({"t/state.json": '{"phase": "done"}'}))
    assert evaluate(used, ended).status == "complete"


@pytest.mark.parametrize("path", ["t/state.json", "t/.phasekeeper/journal.jsonl"])
def test_a_state_or_journal_that_cannot_be_read_makes_the_run_invalid(path: str) -> None:
    found = traced(Closed(STATE, shut=frozenset({path}))).evaluation
    assert (found.status, found.suggestion.kind) == ("invalid", "none")


def test_a_journal_that_is_no_text_makes_the_run_invalid() -> None:
    found = traced(MemoryFiles({**STATE, "t/.phasekeeper/journal.jsonl": b"\xff"})).evaluation
    assert found.status == "invalid"
    assert [f.path for f in found.findings] == ["t/.phasekeeper/journal.jsonl"]


@pytest.mark.parametrize("broken", [{"t/reports/1.md": b"\xff"}, {}])
def test_reports_that_cannot_be_read_may_hold_a_failure(broken: dict[str, bytes]) -> None:
    used = workflow("reports: {files: ['reports/**/*.md'], read: {one: {heading: One}}}\n")
    shut = {} if broken else {"t/reports/old": LOCKED}
    root = Closed({**STATE, "t/reports/old/2.md": "# One\n", **broken}, unlisted_folders=shut)
    found = traced(root, used).evaluation
    assert found.status == "invalid"
    assert found.status_reason.endswith("cannot be read; it may hold a failure")
    assert {finding.code for finding in found.findings} == {"artifact-unreadable"}


def test_an_artifact_that_cannot_be_read_is_told_and_proves_nothing() -> None:
    used = workflow(
        "artifacts: {a: {paths: [a.json], kind: json}, b: {paths: [b.json], kind: json}}\n",
        "[{when: '!exists.a || valid.a || valid.b', to: done}, {when: exists.a && exists.b, wait: job}]",
    )
    found = traced(Closed({**STATE, "t/b.json": b"\xff"}, shut=frozenset({"t/a.json"})), used).evaluation
    assert found.suggestion.kind == "wait"
    assert [f.path for f in found.findings] == ["t/a.json", "t/b.json"]


def test_an_artifact_that_vanished_while_it_was_read_is_told() -> None:
    gone = Problem("artifact-missing", "it vanished")

    class Vanishing(MemoryFiles):
        def read(self, path: str) -> File:
            return File(path, problem=gone) if path == "t/a.json" else super().read(path)

    used = workflow("artifacts: {a: {paths: [a.json], kind: json}}\n", "[{when: valid.a, to: done}]")
    found = traced(Vanishing(STATE), used).evaluation
    assert (found.suggestion.kind, found.suggestion.suggested_next) != ("advance", "done")
    assert [(f.path, f.code, f.message) for f in found.findings] == [("t/a.json", gone.code, gone.message)]


def test_a_state_file_that_is_no_file_to_be_read_is_a_run_nobody_can_judge() -> None:
    used = workflow()
    files = Closed({}, shut=frozenset({"t/state.json"}))
    told = traced(files, used).evaluation
    assert (told.status, told.suggestion.reason) == ("invalid", "t/state.json is unreadable")
    assert [(f.path, f.message) for f in told.findings] == [("t/state.json", "permission denied")]


def test_an_explanation_names_every_rule_once_and_the_one_that_decided() -> None:
    used = workflow(
        rules="[{when: state.no == 1, to: done}, {when: state.ok == true, to: done, because: it is}]"
    )
    shown = explain(traced(MemoryFiles(STATE), used))
    assert [(one.where, one.result, one.decided) for one in shown] == [
        ("phase", "one", False),
        ("phases.one.rules[0]", None, False),
        ("phases.one.rules[1]", True, True),
    ]
    assert "no" in (shown[1].error or "")
    assert [(e.expression, e.value) for e in shown[2].evidence] == [("state.ok", True)]


def test_a_rule_without_a_guard_decides_too() -> None:
    trace = traced(MemoryFiles(STATE), workflow(rules="[{wait: job, because: it works}]"))
    told = as_json(trace.evaluation, explain(trace))
    assert told["looked"][-1] == {
        "where": "phases.one.rules[0]", "expression": "", "result": True, "error": None,
        "about": "wait for a job: it works (always fits)", "decided": True, "named": {}, "evidence": [],
        "basis": None, "checks": [],
    }  # fmt: skip
    assert (told["status"], told["reason"], told["currentPhase"]) == ("waiting", "it works", "one")


def test_each_rule_says_what_it_leads_to_and_what_the_names_in_it_mean() -> None:
    used = workflow(
        "actions: {count: {agent: a}}\n"
        "questions: {more: {ask: More?, options: {a: A}}}\n"
        "values: {n: 'state.items.size()', many: 'n > 2', broken: state.no == 1}\n"
        "otherwise: [{stop: failed, because: it is over}]\n",
        "[{when: broken || many, wait: person}, {when: many && n < 9, ask: more, warn: own-code},"
        " {when: many || false, to: next, because: 'there are {n}'},"
        " {when: n == 3 && answers.more != 'a', act: count, to: done,"
        " because: 'there are {n}, not {broken}'}]",
    )
    shown = explain(traced(MemoryFiles({"t/state.json": '{"phase": "one", "items": [1, 2]}'}), used))
    assert [(one.about, {each.expression: each.value for each in one.named}) for one in shown[1:]] == [
        ("wait for a person", {"many": False}),
        ("ask more, warn of own-code", {"many": False, "n": 2}),
        ("to the next phase: there are 2", {"many": False}),
        ("do count, to done: there are 2, not ?", {"n": 2}),
        ("end as failed: it is over (always fits)", {}),
    ]


def test_a_guessed_phase_says_which_it_is() -> None:
    used = parse_workflow(
        "workflow: small\nruns: {at: [t], marker: {file: in.json}}\n"
        "artifacts: {input: {paths: [in.json], kind: json}}\n"
        "phase: [{when: input.n == 1, is: one}, {is: two}]\n"
        "phases: {one: {rules: [{wait: job}]}, two: {rules: [{wait: job}]}}\n"
    )
    shown = explain(traced(MemoryFiles({"t/in.json": '{"n": 2}'}), used))
    assert [(one.where, one.result, one.about) for one in shown] == [
        ("phase[0]", False, "is one"),
        ("phases.two.rules[0]", True, "wait for a job (always fits)"),
    ]


def test_nothing_leads_anywhere_in_a_run_without_a_phase() -> None:
    shown = explain(traced(MemoryFiles({"t/state.json": '{"phase": "elsewhere"}'})))
    assert [(one.where, one.result, one.about) for one in shown] == [("phase", "elsewhere", "")]


def test_what_was_looked_at_twice_is_told_once() -> None:
    used = workflow("gates: {g: {after: one, criteria: [{text: ok, when: state.ok == true}]}}\n")
    trace = traced(MemoryFiles(STATE), used)
    places = [one.where for one in explain(trace._replace(entries=(*trace.entries, *trace.entries)))]
    assert places == ["phase", "gates.g.criteria[0]", "phases.one.rules[0]"]


PLAN = """# F

## Phase 1: Only

| Order | Task ID | File | Description | Type | Status |
|-------|---------|------|-------------|------|--------|
"""
ADOPTED = '{"kind": "answer", "question": "adoption", "option": "adopt"}\n'


def test_many_reports_of_one_moment_all_count() -> None:
    names = [f"{n:02}-a.md" for n in range(1, 61)]
    marks = ["x", *" " * 59]
    rows = [
        f"| 1 | f-{name[:2]} | `{name}` | T | impl | [{mark}] |\n"
        for name, mark in zip(names, marks, strict=True)
    ]
    done = "## Task Complete\nChanged src/a.py.\n\n**Status**: Complete\n**Task File**: "
    files = {"t/MASTER_PLAN.md": PLAN + "".join(rows), "t/.phasekeeper/journal.jsonl": ADOPTED}
    files |= {f"t/{name}": "# T\n" for name in names} | {"src/a.py": "A = 1\n"}
    files |= {f"t/reports/{name}": f"{done}{name}\n" for name in names}
    trace = traced(MemoryFiles(files), DefinitionLibrary().workflow("master-plan"))
    assert [str(entry["task"]) for entry in trace.facts.records[1:]] == [f"f-{n:02}" for n in range(1, 61)]
    assert not [f for f in trace.evaluation.findings if f.code.startswith("report")]
    assert trace.facts.context.records.items[-1]["task"] == "f-60"


def test_what_looks_through_a_state_is_bounded() -> None:
    used = parse_workflow(
        "workflow: small\nruns: {at: [t], marker: {file: state.json}}\n"
        "state: {file: state.json, include: {parts: {at: '/parts/{id}.json'}}}\nphase: state.phase\n"
        "phases: {one: {terminal: complete}}\n"
    )
    long = {"phase": "one", "parts": ["x"] * 1001}
    taken = snapshot(MemoryFiles({"t/state.json": json.dumps(long), "parts/x.json": "{}"}), used)
    assert taken.state and taken.state.state == "invalid"
    assert "parts/x.json" not in taken.reader.reads
    assert [f.message for f in taken.findings] == ["parts holds 1001 items, at most 1000 can be judged"]

    deep = {
        "t/state.json": '{"phase": "one", "parts": ["x", 7]}',
        "parts/x.json": json.dumps({"many": [0] * 1001}),
    }
    taken = snapshot(MemoryFiles(deep), used)
    assert taken.state and taken.state.state == "invalid"


@pytest.mark.parametrize(
    ("text", "code"),
    [("", "artifact-unreadable"), ("[1]", "artifact-invalid"), ("{", "artifact-unreadable"), (None, None)],
)
def test_a_part_that_cannot_be_read_is_missing_and_told(text: str | None, code: str | None) -> None:
    used = parse_workflow(
        "workflow: small\nruns: {at: [t], marker: {file: state.json}}\n"
        "state: {file: state.json, include: {parts: {at: '/parts/{id}.json'}}}\nphase: state.phase\n"
        "phases: {one: {terminal: complete}}\n"
    )
    state = {"phase": "one", "parts": ["x", "..", "a/b", True, {"id": "here"}, 7]}
    parts = {} if text is None else {"parts/x.json": text}
    taken = snapshot(
        MemoryFiles({"t/state.json": json.dumps(state), "parts/7.json": '{"ok": 1, "no": null}', **parts}),
        used,
    )
    lost = [{"id": name, "status": "missing"} for name in ("x", "..", "a/b")]
    assert taken.state and taken.state.data["parts"] == [*lost, True, {"id": "here"}, {"id": "7", "ok": 1}]
    assert [f.code for f in taken.findings] == ([code] if code else [])


def test_without_a_phase_what_is_made_of_it_is_unknown() -> None:
    used = workflow('progress: {done: "phase == \'one\' ? 1 : 0", total: "1"}\n')
    assert traced(MemoryFiles(STATE), used).evaluation.progress == Progress(1, 1)
    assert traced(MemoryFiles({"t/state.json": "{}"}), used).evaluation.progress is None


def test_the_next_step_is_known_in_notes_only() -> None:
    used = workflow(rules="[{when: next_step == 'done', to: done}]")
    assert (
        explain(traced(MemoryFiles(STATE), used))[-1].error
        == "next_step: the next step is known in notes only"
    )


def test_many_files_that_are_missing_are_told_up_to_a_bound() -> None:
    rows = "".join(f"| 1 | f-{n:02} | `{n:02}-a.md` | T | impl | [ ] |\n" for n in range(60))
    used = DefinitionLibrary().workflow("master-plan")
    taken = snapshot(
        MemoryFiles({"t/MASTER_PLAN.md": PLAN + rows + "| 1 | f-60 | | T | impl | [ ] |\n"}), used
    )
    first, again = evaluate(used, taken), evaluate(used, taken)
    assert as_data(first) == as_data(again)
    missing = [found.message for found in first.findings if found.code == "artifact-missing"]
    assert len(missing) == 51
    assert "and 11 more task files do not exist" in missing


def test_files_named_without_a_state_file_are_missed_in_the_run() -> None:
    used = parse_workflow(
        "workflow: small\nruns: {at: [t], marker: {file: in.json}}\n"
        "artifacts: {input: {paths: [in.json], kind: json}, out: {listed: input.files, kind: files}}\n"
        "phase: [{is: one}]\nparameters: {speed: {default: 1.5, from: input.speed}}\n"
        "phases: {one: {produces: [out], rules: [{when: valid.out, to: done}]}, done: {terminal: complete}}\n"
    )
    found = traced(MemoryFiles({"t/in.json": '{"files": ["a.md"], "speed": 2}'}), used).evaluation
    assert [(f.path, f.message) for f in found.findings] == [("t", "out: a.md does not exist or is empty")]
    assert found.parameters == {"speed": 2.0}


def test_parsed_plans_and_folders_are_kept_between_snapshots() -> None:
    used = DefinitionLibrary().workflow("master-plan")
    files = MemoryFiles(
        {"t/MASTER_PLAN.md": PLAN + "| 1 | f-00 | `00-a.md` | T | impl | [ ] |\n", "t/00-a.md": "x"}
    )
    parsed: dict = {}
    first = read_run(used, files, "t", parsed=parsed)
    again = read_run(used, files, "t", parsed=parsed)
    assert as_data(evaluate(used, first)) == as_data(evaluate(used, again))
    assert first.plan_facts is again.plan_facts
    assert first.reader.missing_files("t", frozenset({"00-a.md"}), "some") == frozenset()
    assert first.reader.missing_files("t", frozenset({"01-a.md"}), "others") == frozenset({"01-a.md"})


def test_the_same_warning_of_two_rules_is_told_once() -> None:
    warning = "{when: state.ok == true, warn: odd, because: it is odd}"
    found = traced(
        MemoryFiles(STATE), workflow(rules=f"[{warning}, {warning}, {{wait: job, because: it works}}]")
    )
    assert [one.code for one in found.evaluation.findings] == ["odd"]


GATED = """# F - Master Plan

## Phase 1: A (1h)

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 1 | f-01 | `01-a.md` | A | impl | [ ] |
| 2 | f-02 | `02-b.md` | B | **test** | [ ] |
"""
FAIL = """## Phase Quality Gate: FAIL

**Phase**: 1
**Iteration**: {round} of 3
**Overall Status**: FAIL

Only tasks [01] require fixes.
"""


def test_evidence_of_a_report_file_stays_in_it_once_the_journal_holds_it_and_the_newest_is_first() -> None:
    used = DefinitionLibrary().workflow("master-plan")
    forms = list(used.reports.read.values())
    texts = {f"t/reports/{number}-4b.md": FAIL.format(round=number) for number in (1, 2)}
    texts["t/reports/2-4b.md"] = "\n" + texts["t/reports/2-4b.md"]
    records = [
        {"kind": "report", "phase": "4a", "outcome": "complete", "tasks": ["f-01", "f-02"], "stage": "1"},
        *(
            {
                "kind": "report",
                "phase": "4b",
                "outcome": "fail",
                "tasks": ["f-01"],
                "stage": "1",
                "path": path,
            }
            | {"about": report.digest}
            for path, text in texts.items()
            if (report := read_report(text, forms)[0])
        ),
    ]
    files = {"t/MASTER_PLAN.md": GATED, "t/01-a.md": "# a\n", "t/02-b.md": "# b\n", **texts}
    lines, prev = "", ""
    for number, entry in enumerate(records, 1):
        line = json.dumps({"seq": number, **entry, "prev": prev})
        lines, prev = f"{lines}{line}\n", digest_of(line)
    files["t/.phasekeeper/journal.jsonl"] = lines
    found = traced(MemoryFiles(files), used).evaluation
    gate = next(gate for gate in found.gates if gate.id == "3")
    said = [entry for entry in gate.criteria[0].evidence if entry.expression == "report 4b of stage 1"]
    assert [(entry.path, entry.span and entry.span.line) for entry in said] == [
        ("t/reports/2-4b.md", 5),
        ("t/reports/1-4b.md", 4),
    ]
    task = found.plan and found.plan.task("f-01")
    assert task and (task.state, task.failed_by) == ("failed", said[0])
    # A file that says something else by now does not show what was recorded: the record does.
    files["t/reports/2-4b.md"] = files["t/reports/2-4b.md"].replace("Iteration**: 2", "Iteration**: 3")
    again = traced(MemoryFiles(files), used).evaluation.gates
    gate = next(gate for gate in again if gate.id == "3")
    assert "t/.phasekeeper/journal.jsonl" in [entry.path for entry in gate.criteria[0].evidence]
