"""What acts write: the order of effects, the records, what is refused; and the preview tells the truth."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from phasekeeper.orchestration.definition.model import Workflow
from phasekeeper.orchestration.evaluation.evaluate import evaluate_traced
from phasekeeper.orchestration.evaluation.trace import EvaluationTrace
from phasekeeper.orchestration.journal.journal import EMPTY_RECORD, Claim, Proofs
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.result.values import as_json
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.updates.commands import Command, CommandKind, CommandRefused, InvalidCommand
from phasekeeper.orchestration.updates.propose import Proposal, propose
from phasekeeper.orchestration.vfs.files import digest_of
from phasekeeper.orchestration.vfs.overlay import MemoryFiles
from phasekeeper.server.workspace.definitions import DefinitionLibrary

NOW = datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)
AT = "2026-01-02T03:04:05.678+00:00"
JOURNAL = "t/.phasekeeper/journal.jsonl"
DEFINITION = """\
workflow: small
runs: {at: [t], marker: {file: state.json}}
state: {file: state.json, defaults: {note: "", log: [], iteration: 0}}
phase: state.phase
artifacts:
  paper: {paths: [paper.md], kind: markdown}
reports:
  files: [reports/*.md]
  read:
    one: {heading: One, outcome: [Result]}
    two: {heading: Two, outcome: [Result]}
phases:
  one:
    produces: [paper]
    # The first outcome claims that the paper is there, the others claim nothing.
    outcomes: [done, ok, error]
    rules:
      - when: "report.outcome in ['done', 'ok'] && valid.paper"
        to: two
        set: {passed: report.phase, at: string(now)}
      - {when: "report.outcome == 'error'", ask: help}
  two:
    rules:
      - {when: "report.outcome == 'ok'", stop: complete}
      - {when: "state.?give_up.orValue(false)", stop: failed}
      - {when: "report.outcome == 'error'", to: one}
  three: {rules: [{when: "report.phase == 'three'", to: one}]}
questions:
  help: {ask: Help?, scope: string(state.iteration), about: [paper], options: {go: go on, stop: no}}
gates:
  g:
    after: one
    criteria: [{text: the note is empty, when: "state.note == ''"}]
    forbidden: {three: the note comes first}
effects:
  always: {seen: "report.message + '/' + report.actor"}
  start: {note: "'started'"}
  ok: {log: "state.log + [step]", note: state.note + report.message}
  one.ok: {copy: state.log}
  error: {"*": report.stateUpdates}
  redo: {phase: step}
  override:
    - {phase: report.next}
    - {file: transcript.jsonl, append: "{'to': report.next, 'why': report.why, 'seq': report.seq}"}
  answer.help: {asked: report.scope}
  answer.help.go: {helped: report.why}
  answer.help.stop: {}
  stop: {status: "'over'", last: report.outcome}
"""


def workflow(text: str = DEFINITION, **parts: str) -> Workflow:
    for old, new in parts.items():
        text = text.replace(f"<{old}>", new)
    return parse_workflow(text, "small.yaml")


SMALL = workflow()
STATE = {"phase": "one", "note": "n", "log": ["x"], "iteration": 3}


def files(state: dict[str, Any] | str | None = None, **more: str) -> dict[str, str]:
    text = state if isinstance(state, str) else json.dumps(STATE | (state or {}))
    beside = {f"t/{name.replace('__', '/').replace('_', '.')}": text for name, text in more.items()}
    return {"t/state.json": text, **beside}


def everyone(lines: Any) -> Proofs:
    return Proofs(frozenset(range(len(lines))))


def steps_of(texts: dict[str, Any], of: Workflow = SMALL, run: str = "t", **options: Any) -> EvaluationTrace:
    snapshot = read_run(of, MemoryFiles(texts), run, root="r", **{"verify": everyone, **options})
    return evaluate_traced(of, snapshot)


def proposed(texts: dict[str, Any], act: Command, of: Workflow = SMALL, run: str = "t") -> Proposal:
    return propose(steps_of(texts, of, run), act, NOW)


def refused(texts: dict[str, Any], act: Command, of: Workflow = SMALL, run: str = "t") -> str:
    with pytest.raises(CommandRefused) as told:
        proposed(texts, act, of, run)
    return str(told.value)


def report(step: str = "one", outcome: str = "ok", **more: Any) -> Command:
    return Command("report", step, outcome, **{"actor": "me", "channel": "cli", **more})


def written(proposal: Proposal, path: str = "t/state.json") -> Any:
    text = next(edit.text for edit in proposal.edits if edit.path == path)
    return json.loads(text)


def after(texts: dict[str, Any], proposal: Proposal, run: str = "t") -> dict[str, Any]:
    """The files once a proposal was written, its records stamped and chained by hand."""
    path = f"{run}/.phasekeeper/journal.jsonl"
    text = texts.get(path, "")
    lines = [line for line in text.split("\n") if line.strip()]
    seq = max((json.loads(line)["seq"] for line in lines), default=0)
    for number, entry in enumerate(proposal.records):
        said = {key: value for key, value in entry.items() if value != EMPTY_RECORD[key]}
        last = number == len(proposal.records) - 1
        named = [{"path": e.path, "digest": digest_of(e.text), "was": e.digest or ""} for e in proposal.edits]
        prev = digest_of(lines[-1]) if lines else ""
        files = [*said.get("files", ()), *(named if last else ())]  # type: ignore[misc]
        made = {**said, "seq": seq + 1 + number, "at": AT, "prev": prev} | ({"files": files} if files else {})
        lines.append(json.dumps(made))
    return {**texts, **{e.path: e.text for e in proposal.edits}, path: "".join(f"{line}\n" for line in lines)}


def seen(trace: EvaluationTrace) -> dict[str, Any]:
    """An evaluation without the fingerprint of the files, which holds a line's very bytes."""
    return {key: value for key, value in as_json(trace.evaluation).items() if key != "revision"}


def told_truly(
    texts: dict[str, Any], proposal: Proposal, of: Workflow = SMALL, run: str = "t", **options: Any
) -> None:
    cold = steps_of(after(texts, proposal, run), of, run, **options)
    shown = {k: v for k, v in as_json(proposal.evaluation).items() if k != "revision"}
    assert shown == seen(cold)


# ---- the order of A.14 ------------------------------------------------------------------------


def test_every_effect_sees_the_state_before_the_act() -> None:
    state = written(proposed(files(), report(message="m")))
    assert (state["log"], state["copy"]) == (["x", "one"], ["x"])
    assert (state["note"], state["seen"]) == ("nm", "m/me")


def test_a_rule_that_wins_after_the_effects_sets_its_values_and_moves_the_phase() -> None:
    texts = files({"note": ""}, paper_md="# Paper\n")
    proposal = proposed(texts, report())
    state = written(proposal)
    assert (state["phase"], state["passed"]) == ("two", "one")
    assert state["at"] == "2026-01-02T03:04:05.678Z"
    assert proposal.evaluation.current_phase == "two"
    told_truly(texts, proposal)


def test_a_gate_that_keeps_the_run_writes_neither_the_phase_nor_what_the_rule_sets() -> None:
    texts = files(paper_md="# Paper\n")
    proposal = proposed(texts, report())
    assert written(proposal)["phase"] == "one" and "passed" not in written(proposal)
    assert proposal.evaluation.suggestion.reason.startswith("gate g is failed")
    told_truly(texts, proposal)


def test_an_end_that_is_complete_has_effects_of_its_own() -> None:
    proposal = proposed(files({"phase": "two", "note": ""}, paper_md="# P\n"), report("two"))
    assert proposal.evaluation.status == "complete"
    assert (written(proposal)["status"], written(proposal)["last"]) == ("over", "ok")


def test_an_end_that_is_no_success_has_not() -> None:
    texts = files({"phase": "two", "note": ""}, paper_md="# P\n")
    proposal = proposed(texts, report("two", "error", data={"stateUpdates": {"give_up": True}}))
    assert proposal.evaluation.status == "failed"
    assert "status" not in written(proposal)
    told_truly(texts, proposal)


def test_a_way_back_moves_the_phase_too() -> None:
    proposal = proposed(files({"phase": "two", "note": ""}, paper_md="# P\n"), report("two", "error"))
    assert written(proposal)["phase"] == "one"


def test_an_override_ends_in_the_phase_it_names_though_a_rule_would_lead_on() -> None:
    texts = files({"phase": "two", "note": ""}, paper_md="# P\n")
    proposal = proposed(texts, Command("override", "one", why="look again", actor="me", channel="terminal"))
    assert written(proposal)["phase"] == proposal.evaluation.current_phase == "one"
    told_truly(texts, proposal)


def test_a_redo_ends_in_the_phase_it_names() -> None:
    proposal = proposed(
        files({"phase": "two", "note": ""}, paper_md="# P\n"), Command("redo", "one", why="again")
    )
    assert written(proposal)["phase"] == "one"
    entry = proposal.records[-1]
    assert [entry[key] for key in ("kind", "phase", "next", "why")] == ["transition", "two", "one", "again"]


def test_a_start_leads_only_into_the_step_that_is_started() -> None:
    texts = after(texts := files({"note": ""}), proposed(texts, report()))
    texts["t/paper.md"] = "# P\n"
    assert steps_of(texts).evaluation.suggestion.suggested_next == "two"
    stays, goes = proposed(texts, Command("start", "one")), proposed(texts, Command("start", "two"))
    assert (written(stays)["phase"], written(goes)["phase"]) == ("one", "two")
    assert goes.records[-1]["kind"] == "start" and goes.records[-1]["phase"] == "two"


# ---- records ----------------------------------------------------------------------------------


def test_a_record_says_who_where_and_in_which_iteration() -> None:
    entry = proposed(files(), report(message="m", next="two", manual_criteria=("looks right",))).records[-1]
    assert entry.pop("definition")
    assert {key: value for key, value in entry.items() if value != EMPTY_RECORD[key]} == {
        "kind": "report", "phase": "one", "outcome": "ok", "next": "two", "message": "m", "iteration": 3,
        "manual_criteria": ["looks right"], "actor": "me", "channel": "cli",
    }  # fmt: skip


@pytest.mark.parametrize("iteration", [True, "3", 2.5])
def test_an_iteration_that_is_no_whole_number_is_none(iteration: object) -> None:
    assert proposed(files({"iteration": iteration}), report()).records[-1]["iteration"] == 0


def test_the_override_lists_what_was_shut_and_what_was_missing() -> None:
    act = Command("override", "two", why="no time", actor="me", channel="terminal")
    texts = files()
    proposal = proposed(texts, act)
    entry = proposal.records[-1]
    assert (entry["phase"], entry["next"], entry["gates"], entry["phases"]) == ("one", "two", ["g"], ["one"])
    told_truly(texts, proposal)


def test_an_answer_is_bound_to_its_scope_and_to_what_it_is_about() -> None:
    texts = files(paper_md="# Paper\n")
    texts = after(texts, proposed(texts, report(outcome="error")))
    proposal = proposed(texts, Command("answer", question="help:3", option="go", why="because"))
    entry = proposal.records[-1]
    assert (entry["question"], entry["scope"], entry["option"], entry["why"]) == (
        "help",
        "3",
        "go",
        "because",
    )
    about = steps_of(texts).facts.content_digest(SMALL.questions["help"])
    assert entry["about"] == about != ""
    assert (written(proposal)["asked"], written(proposal)["helped"]) == ("3", "because")
    told_truly(texts, proposal)


def test_accepting_a_changed_definition_names_the_one_accepted() -> None:
    start = json.dumps({"seq": 1, "kind": "start", "workflow": "small", "definition": "another"})
    texts = {**files(), JOURNAL: f"{start}\n"}
    proposal = proposed(texts, Command("answer", question="definition", option="accept", why="I read it"))
    assert proposal.records[-1]["about"] == steps_of(texts).facts.snapshot.definition
    assert not any(question.id == "definition" for question in proposal.evaluation.questions)
    told_truly(texts, proposal)


def test_a_question_that_an_agent_raised_is_answered_by_its_number() -> None:
    raised = json.dumps({"seq": 7, "kind": "question", "message": "Which?"})
    proposal = proposed(
        {**files(), JOURNAL: f"{raised}\n"}, Command("answer", question="raised:7", option="stop", why="no")
    )
    entry = proposal.records[-1]
    assert (entry["question"], entry["scope"], entry["about"]) == ("raised:7", "", "")
    assert proposal.evaluation.status == "blocked"


def test_report_files_are_recorded_before_the_act() -> None:
    texts = files({"note": ""}, paper_md="# P\n", reports__one_md="# One\n\n**Result**: error\n")
    trace = steps_of(texts)
    assert trace.evaluation.suggestion.kind == "escalate"
    proposal = propose(trace, Command("answer", question="help:3", option="go", why="w"), NOW)
    assert [(entry["kind"], entry["path"]) for entry in proposal.records] == [
        ("report", "t/reports/one.md"), ("answer", ""),
    ]  # fmt: skip
    told_truly(texts, proposal)


def test_effects_know_the_number_that_the_record_will_have() -> None:
    old = [json.dumps({"seq": 41, "kind": "start"})]
    old.append(json.dumps({"seq": 44, "kind": "transition", "prev": digest_of(old[0])}))
    texts = {**files(), JOURNAL: "\n".join(old)}
    proposal = proposed(texts, Command("override", "two", why="w"))
    line = next(edit.text for edit in proposal.edits if edit.path == "t/transcript.jsonl")
    assert json.loads(line) == {"to": "two", "why": "w", "seq": 45}


# ---- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (report("three"), "three may not be reported now: the note comes first (gate g); it is the turn"),
        (report("two"), "two may not be reported now: phases are not skipped; it is the turn of one"),
        (report("tow"), "small has no phase or action 'tow'; did you mean 'two'?"),
        (report(outcome="fine"), "a report of one says one of done, ok, error, not 'fine'"),
        (report(next="thre"), "unknown phase 'thre'; did you mean 'three'?"),
        (report(tasks=("01",)), "'01' is no task: this run has no plan; leave `--task` out"),
        (Command("answer", question="hlep", option="go", why="w"), "the question 'hlep' is not open"),
        (Command("override", "thre", why="w"), "unknown phase 'thre'; did you mean 'three'?"),
        (Command("override", "three", why="w"), "no rule leads from one to three, not even by way of others"),
        (Command("override", "two", why=" \n"), "a decision needs a reason"),
        (Command("redo", "nought"), "unknown phase 'nought'"),
        (Command("redo", "three"), "three is ahead of one; what was not done cannot be done again"),
        (report(message="\udc80"), "what is said cannot be kept as text: "),
        (report(message="x" * 100_001), "the record has "),
        (report(data={"a": float("nan")}), "the data of the report cannot be used: "),
        (report(data={"a": object()}), "the data of the report cannot be used: "),
        (report("one", "error", data={"stateUpdates": 1}), "t/state.json cannot be changed: what is merged"),
        (report(data={"a": [2**63]}), "the data of the report cannot be used: 9223372036854775808 is"),
        (report(data={"a": "\udc80"}), "the data of the report cannot be used: "),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_its_reason(act: Command, said: str) -> None:
    assert refused(files(), act).startswith(said)


@pytest.mark.parametrize(
    ("option", "why", "said"),
    [
        ("og", "w", "help:3 has no option 'og'; it has go, stop"),
        ("", "w", "help:3 has no option ''; it has go, stop"),
        ("go", "", "a decision needs a reason"),
        ("go", " \t", "a decision needs a reason"),
    ],
)
def test_an_answer_needs_an_option_and_a_reason(option: str, why: str, said: str) -> None:
    texts = after(texts := files(), proposed(texts, report(outcome="error")))
    assert refused(texts, Command("answer", question="help:3", option=option, why=why)) == said


def test_while_a_person_decides_nothing_is_reported() -> None:
    texts = after(texts := files(), proposed(texts, report(outcome="error")))
    said = "one may not be reported now: a person decides first (`phasekeeper answer t help:3`): "
    assert refused(texts, report()).startswith(said)


def test_a_run_that_ended_badly_takes_no_report() -> None:
    said = refused(files({"phase": "two", "give_up": True}, paper_md="# P\n"), report("two"))
    assert said.startswith("two may not be reported now: the run is failed")


@pytest.mark.parametrize("state", ["", "{", "[]", '{"phase": "nowhere"}'])
def test_a_state_that_cannot_be_judged_takes_nothing(state: str) -> None:
    assert "may not be reported now: the run is invalid" in refused(files(state), report())
    override = Command("override", "two", why="w")
    assert refused(files(state), override).startswith("nothing can be overridden: ")


def test_what_a_person_stopped_is_not_done_again() -> None:
    texts = {**files(), JOURNAL: f"{json.dumps({'seq': 7, 'kind': 'question', 'message': 'Which?'})}\n"}
    stopped = after(
        texts, proposed(texts, Command("answer", question="raised:7", option="stop", why="not worth it"))
    )
    said = "the run is blocked: a person stopped the run: not worth it"
    way_on = "`phasekeeper override t --to one` takes it up again"
    assert refused(stopped, Command("redo", "one")) == f"{said}; {way_on}"


def test_a_redo_mends_a_phase_that_is_unknown_and_no_file_that_is_broken() -> None:
    assert written(proposed(files({"phase": "nowhere"}), Command("redo", "one")))["phase"] == "one"
    assert refused(files("{"), Command("redo", "one")) == "the run has no state file that could be changed"


def test_a_broken_journal_takes_nothing() -> None:
    said = refused({**files(), JOURNAL: '{"kind": "odd"}\n{}\n'}, Command("redo", "one"))
    assert said.startswith("nothing can be recorded: the journal cannot be trusted")


def test_a_question_without_options_is_answered_in_words() -> None:
    of = workflow(
        DEFINITION.replace(
            "{when: \"report.outcome == 'error'\", ask: help}", "{wait: person, because: Which way?}"
        )
    )
    asked = steps_of(files(), of).evaluation.questions[0]
    entry = proposed(
        files(), Command("answer", question=asked.id, option="left", why="it is nearer"), of
    ).records[-1]
    assert (entry["question"], entry["option"]) == (asked.id, "left")


def test_a_workflow_without_redo_says_that_its_files_decide() -> None:
    of = workflow(DEFINITION.replace("  redo: {phase: step}\n", ""))
    assert "its files decide" in refused(files(), Command("redo", "one"), of)
    own = workflow(DEFINITION.replace("  redo: {phase: step}\n", "  one.redo: {again: step}\n"))
    assert written(proposed(files(), Command("redo", "one"), own))["again"] == "one"


# ---- values -----------------------------------------------------------------------------------


def with_ok(effect: str, **more: str) -> Workflow:
    """The small workflow with another effect of `ok`."""
    start = DEFINITION.index("  ok: {")
    end = DEFINITION.index("  error:")
    return workflow(DEFINITION[:start] + f"  ok: {effect}\n" + DEFINITION[end:])


def test_updates_with_dotted_keys_land_at_their_paths() -> None:
    """Seed 003: `stateUpdates` name places deep in the state by keys with dots."""
    updates = {"diagnosis.context": {"status": "done", "gone": None}, "plain": {"kept": False}}
    texts = files({"diagnosis": {"context": {"old": 1, "gone": 2}, "memory": 3}, "plain": {"other": 4}})
    state = written(proposed(texts, report(outcome="error", data={"stateUpdates": updates})))
    assert state["diagnosis"] == {"context": {"old": 1, "gone": None, "status": "done"}, "memory": 3}
    assert state["plain"] == {"other": 4, "kept": False}


def test_a_report_without_updates_changes_nothing_by_them() -> None:
    state = written(proposed(files(), report(outcome="error")))
    assert state == STATE | {"seen": "/me"}


def test_maps_are_written_in_the_order_of_their_expression() -> None:
    of = with_ok("""{entry: "{'z': 1, \\"b\\": {'q': 1, 'a': 2}, 'a': now, 'more': report.data}"}""")
    entry = written(proposed(files(), report(data={"y": None, "c": [True, 1.5]}), of))["entry"]
    assert list(entry) == ["z", "b", "a", "more"] and list(entry["b"]) == ["q", "a"]
    assert (entry["a"], entry["more"]) == (AT.replace("678", "678000"), {"c": [True, 1.5], "y": None})


def test_a_value_that_json_does_not_have_is_refused() -> None:
    assert "which JSON does not have" in refused(files(), report(), with_ok("{kind: type(1)}"))


def test_a_value_that_would_nest_too_deep_is_refused() -> None:
    deep: Any = 1
    for _ in range(190):
        deep = {"a": deep}
    said = refused(
        files(), report(data={"d": deep}), with_ok("{" + ".".join("abcdefghijklmn") + ": report.data.d}")
    )
    assert said.startswith("t/state.json cannot be changed: nested more than")


def test_an_effect_without_a_value_is_refused_and_names_it() -> None:
    assert refused(files(), report(), with_ok("{x: state.nothing.at_all}")).startswith(
        "what ok writes to x has no value: "
    )


def test_a_place_that_cannot_be_told_is_refused() -> None:
    said = refused(files(), report(), with_ok("""{"a.{state.nothing}.b": "1"}"""))
    assert said.startswith("the place 'a.{state.nothing}.b' that ok writes to cannot be told: ")


def test_a_place_is_told_from_the_step() -> None:
    assert written(proposed(files(), report(), with_ok("""{"actors.{step}.status": "'done'"}""")))[
        "actors"
    ] == {"one": {"status": "done"}}


def test_the_bytes_around_a_change_stay_as_they_were() -> None:
    text = '{ "phase":"one",\r\n\t"odd" : [1.0,  2],\r\n\t"note": "" }\r\n'
    changed = proposed(files(text), report(), with_ok("{note: \"'new'\"}")).edits[0].text
    assert changed.replace('"new"', '""').replace(',\r\n\t"seen": "/me"', "") == text


# ---- files ------------------------------------------------------------------------------------


def test_a_line_is_appended_behind_what_is_there() -> None:
    of = with_ok("[{file: log.txt, append: report.message}, {file: log.txt, append: \"{'n': 1}\"}]")
    for before, text in ((None, "m\n"), ("a\n", "a\nm\n"), ("a", "a\nm\n")):
        texts = files() if before is None else files(log_txt=before)
        edit = next(e for e in proposed(texts, report(message="m"), of).edits if e.path == "t/log.txt")
        assert edit.text == f'{text}{{"n": 1}}\n'
        assert edit.digest == (None if before is None else digest_of(before))


def test_a_file_is_created_once() -> None:
    of = with_ok('{file: "made/{step}.json", create: "{\'a\': 1}"}')
    edit = next(e for e in proposed(files(), report(), of).edits if e.path == "t/made/one.json")
    assert (edit.digest, edit.text) == (None, '{\n  "a": 1\n}\n')
    for same in (edit.text, '{"a":1}'):
        again = proposed(files(made__one_json=same), report(), of)
        assert [e.path for e in again.edits] == ["t/state.json"]
    assert refused(files(made__one_json='{"a": 2}'), report(), of) == (
        "t/made/one.json exists with other content; it is not overwritten"
    )
    assert "exists with other content" in refused(files(made__one_json="{"), report(), of)


def test_a_file_is_replaced_whatever_it_held() -> None:
    of = with_ok("{file: out.md, replace: report.message}")
    for before in ("old", b"\xff"):
        edits = proposed({**files(), "t/out.md": before}, report(message="new"), of).edits
        assert [(e.path, e.digest, e.text) for e in edits if e.path == "t/out.md"] == [
            ("t/out.md", digest_of(before), "new")
        ]


@pytest.mark.parametrize("verb", ["append", "create"])
def test_a_file_that_cannot_be_read_is_not_overwritten(verb: str) -> None:
    said = refused(
        {**files(), "t/out.md": b"\xff"}, report(), with_ok(f"{{file: out.md, {verb}: report.message}}")
    )
    assert said == "t/out.md exists and cannot be read; it is not overwritten"


@pytest.mark.parametrize("path", ["../../x", "{report.message}", "/", ".", "a\\b"])
def test_no_file_is_written_out_of_the_root_or_in_place_of_the_run(path: str) -> None:
    said = refused(files(), report(message="../.."), with_ok(f"{{file: '{path}', append: step}}"))
    assert said.endswith("is no file below the root and is not written")


def test_a_number_that_json_does_not_have_is_not_appended() -> None:
    assert "cannot be changed" in refused(files(), report(), with_ok("{file: a.txt, append: 1.0 / 0.0}"))


# ---- plans ------------------------------------------------------------------------------------

PLAN = """# Feature - Master Plan

**Status**: [~] In Progress

## Phase 1: First (1h)

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 1 | f-01 | `01-a.md` | Do it | impl | [ ] |
| 2 | f-02 | `02-b.md` | Do more | impl | [ ] |

## Phase 2: Second (1h)

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 3 | f-03 | `03-c.md` | Do the rest | impl | [ ] |
"""
PLANNED = """\
workflow: planned
runs: {at: [t], marker: {file: PLAN.md}}
artifacts: {plan: {paths: [PLAN.md], kind: master-plan}}
phase: [{is: work}]
values: {todo: "tasks({'stage': '1', 'done': false})"}
phases:
  work:
    tasks: todo
    rules: [{when: plan.done == plan.total, stop: complete}, {when: "report.phase == 'work'", act: tidy}]
actions: {tidy: {}}
effects:
  work.ok: {plan: "check_tasks('1')"}
  work.error: {file: todo.json, create: "{'ids': todo.map(t, t.id)}"}
  tidy.ok: {note: "1"}
"""
TASKS = {"t/PLAN.md": PLAN, "t/01-a.md": "# a\n", "t/02-b.md": "# b\n", "t/03-c.md": "# c\n"}


def test_tasks_are_recorded_by_their_ids_and_with_their_stage() -> None:
    of = workflow(PLANNED)
    one = proposed(TASKS, report("work", "error", tasks=("01",)), of).records[-1]
    assert (one["task"], one["tasks"], one["stage"]) == ("f-01", ["f-01"], "1")
    both = proposed(TASKS, report("work", "error", tasks=("02", "f-01")), of).records[-1]
    assert (both["task"], both["tasks"], both["stage"]) == ("", ["f-02", "f-01"], "1")
    staged = proposed(TASKS, report("work", "error", stage="2"), of).records[-1]
    assert (staged["tasks"], staged["stage"]) == ([], "2")


def test_tasks_and_stages_that_are_not_in_the_plan_are_refused() -> None:
    of = workflow(PLANNED)
    assert refused(TASKS, report("work", tasks=("f-0l",)), of).startswith(
        "'f-0l' is no task of the plan; did you mean"
    )
    assert refused(TASKS, report("work", stage="9"), of) == "the plan has no stage '9'; it has 1, 2"
    mixed = "one report is of one stage, not of 1, 2"
    assert refused(TASKS, report("work", tasks=("01", "03")), of) == mixed
    assert refused(TASKS, report("work", tasks=("01",), stage="2"), of) == mixed


def test_an_effect_changes_the_plan() -> None:
    of = workflow(PLANNED)
    proposal = proposed(TASKS, report("work"), of)
    assert [edit.path for edit in proposal.edits] == ["t/PLAN.md"]
    assert proposal.edits[0].text.count("[x]") == 2
    told_truly(TASKS, proposal, of)


def test_an_effect_that_adds_tasks_drafts_the_files_that_are_not_there() -> None:
    of = workflow(PLANNED.replace("check_tasks('1')", "append_stage('More', [{'title': 'mend'}])"))
    kept = {**TASKS, "t/05-phase-3-tests.md": "# mine\n"}
    edits = {edit.path: edit.text for edit in proposed(kept, report("work"), of).edits}
    assert [*edits] == ["t/PLAN.md", "t/04-mend.md"]
    assert edits["t/04-mend.md"].startswith("# 04. mend\n")


def test_an_effect_reads_sets_of_tasks() -> None:
    proposal = proposed(TASKS, report("work", "error"), workflow(PLANNED))
    assert written(proposal, "t/todo.json") == {"ids": ["f-01", "f-02"]}


def test_an_effect_on_a_plan_that_cannot_be_read_is_refused() -> None:
    assert (
        refused({"t/PLAN.md": "# None\n"}, report("work"), workflow(PLANNED))
        == "t/PLAN.md is invalid; it cannot be changed"
    )


def test_an_action_is_reported_in_its_turn_and_needs_what_it_writes_to() -> None:
    of = workflow(PLANNED)
    texts = after(TASKS, proposed(TASKS, report("work", "error"), of))
    assert refused(texts, report("tidy"), of) == "the run has no state file that could be changed"
    assert proposed(texts, report("tidy", "error"), of).records[-1]["phase"] == "tidy"


# ---- lists of files ---------------------------------------------------------------------------

PARENT = DEFINITION.replace(
    "state: {file: state.json,", "state: {file: state.json, include: {children: {at: '/c/{id}.json'}},"
)


def test_new_members_of_a_list_are_files_and_are_found_again() -> None:
    of = workflow(
        PARENT.replace(
            "  ok: {", "  one.error: {include: children, create: \"[{'id': 'k', 'n': 1}]\"}\n  ok: {"
        )
    )
    texts = files({"children": []})
    proposal = proposed(texts, report(outcome="error"), of)
    assert [edit.path for edit in proposal.edits] == ["t/state.json", "c/k.json"]
    assert written(proposal)["children"] == ["k"] and written(proposal, "c/k.json") == {"id": "k", "n": 1}
    told_truly(texts, proposal, of)
    done = {**texts, **{edit.path: edit.text for edit in proposal.edits}}
    again = proposed(done, report(outcome="error"), of)
    assert again.edits == ()


def test_no_new_members_make_no_list() -> None:
    of = workflow(PARENT.replace("  ok: {", "  one.error: {include: children, create: '[]'}\n  ok: {"))
    assert "children" not in written(proposed(files(), report(outcome="error"), of))


# ---- the preview ------------------------------------------------------------------------------


def test_a_decision_that_was_not_proven_stays_unproven() -> None:
    start = json.dumps({"seq": 1, "kind": "start", "workflow": "small"})
    forged = json.dumps(
        {"seq": 2, "kind": "override", "phase": "one", "next": "two", "why": "w", "prev": digest_of(start)}
    )
    texts = {**files(), JOURNAL: f"{start}\n{forged}\n"}

    def nobody(lines: Any) -> Proofs:
        return Proofs(frozenset(i for i, line in enumerate(lines) if line != forged))

    trace = steps_of(texts, verify=nobody)
    proposal = propose(trace, report(), NOW)
    assert [f.code for f in proposal.evaluation.findings if f.code == "decision-unverified"]
    assert proposal.evaluation.current_phase == "one"
    told_truly(texts, proposal, verify=nobody)


def test_the_torn_end_of_a_journal_is_cut_before_more_is_added() -> None:
    start = json.dumps({"seq": 1, "kind": "start", "workflow": "small"})
    texts = {**files(), JOURNAL: f'{start}\n{{"seq": 2, "ki'}
    proposal = proposed(texts, report())
    assert not any(f.code.startswith("journal") for f in proposal.evaluation.findings)
    assert proposal.evaluation.status == "active"


def test_claims_stay_in_the_preview() -> None:
    of, claim = workflow(PLANNED), Claim("f-01", "ann", "2999-01-01", 1)
    proposal = propose(steps_of(TASKS, of, claims=(claim,)), report("work", "error"), NOW)
    assert proposal.evaluation.claims == (claim,)


BUILT_IN = {name: DefinitionLibrary().workflow(name) for name in DefinitionLibrary().names}
# Plans are written by people; the other runs begin with the files of `new:`.
BEGUN = {
    "artifact-pipeline": None,
    "phase-loop": None,
    "skill-tuning": None,
    "component-design": None,
    "master-plan": {"MASTER_PLAN.md": PLAN, "01-a.md": "# a\n", "02-b.md": "# b\n", "03-c.md": "# c\n"},
}


def begun(name: str) -> dict[str, Any]:
    new = BUILT_IN[name].new
    return {f"t/{path}": text for path, text in (BEGUN[name] or (new.files if new else {})).items()}


@pytest.mark.parametrize("name", BEGUN)
@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_preview_is_what_a_cold_look_at_the_written_files_says(name: str, data: st.DataObject) -> None:
    of, run = BUILT_IN[name], "t"
    texts = begun(name)
    for _ in range(data.draw(st.integers(1, 6))):
        trace = steps_of(texts, of, run)
        act = data.draw(acts(trace))
        try:
            proposal = propose(trace, act, NOW)
        except CommandRefused:
            continue
        told_truly(texts, proposal, of, run)
        texts = after(texts, proposal, run)
        assert not any(f.code.startswith("journal") for f in proposal.evaluation.findings)


@st.composite
def acts(draw: st.DrawFn, trace: EvaluationTrace) -> Command:
    evaluation, of = trace.evaluation, trace.facts.workflow
    suggestion = evaluation.suggestion
    likely = [
        name for name in (suggestion.suggested_next, suggestion.action, evaluation.current_phase) if name
    ]
    step = draw(st.sampled_from([*likely, *of.phases]))
    phase = of.phases.get(step)
    outcome = draw(st.sampled_from(phase.outcomes if phase else ("ok", "error")))
    kinds: tuple[CommandKind, ...] = get_args(CommandKind)
    reports: tuple[CommandKind, ...] = ("report",) * 5
    kind = draw(st.sampled_from((*reports, "answer", "answer", *kinds)))
    options = [(q.id, o.id) for q in evaluation.questions for o in q.options]
    question, option = draw(st.sampled_from(options or [("none", "")]))
    updates = draw(st.dictionaries(st.sampled_from(["a", "b.c", "b"]), st.integers(), max_size=2))
    act = Command(kind, step, outcome, question=question, option=option, data={"stateUpdates": updates})
    return act._replace(message=draw(st.text(max_size=5)), why="because", actor="me")


def test_an_edit_of_a_plan_may_come_to_none() -> None:
    of = workflow(PLANNED.replace("\"check_tasks('1')\"", "\"valid.plan ? {} : check_tasks('1')\""))
    proposal = proposed(TASKS, report("work", "ok", tasks=("01",)), of)
    assert not [edit for edit in proposal.edits if edit.path == "t/PLAN.md"]


def test_a_report_that_work_is_done_is_refused_where_it_names_no_task_and_leaves_all_as_it_was() -> None:
    of = workflow(PLANNED.replace("\"check_tasks('1')\"", "\"valid.plan ? {} : check_tasks('1')\""))
    said = "nothing was recorded: a report of work names the tasks that it is about; they are f-01, f-02"
    assert refused(TASKS, report("work", "ok"), of) == said
    assert proposed(TASKS, report("work", "error"), of).records


def test_an_effect_of_what_cannot_be_told_is_refused() -> None:
    of = workflow(
        PLANNED.replace("todo.map(t, t.id)", "odd").replace("values: {", "values: {odd: \"int('x')\", ")
    )
    said = "what work.error writes to todo.json has no value: odd: int: 'x' is no whole number of 64 bits"
    assert refused(TASKS, report("work", "error", tasks=("01",)), of) == said


# ---- what would spoil the run, and what is claimed ---------------------------------------------


def test_a_report_that_writes_a_word_which_nobody_knows_is_refused_with_the_known_ones() -> None:
    of = workflow(DEFINITION.replace("iteration: 0}}", "iteration: 0}, words: {'list[].rank': [S0, S1]}}"))
    old = {"list": [{"rank": "odd"}]}
    more = {"stateUpdates": {"list": [{"rank": "S1"}, {"rank": "odd"}, {"rank": "S9"}]}}
    said = refused(files(old), report(outcome="error", data=more), of)
    known = "which is no known word; known: S0, S1"
    assert said == f'nothing was recorded: in stateUpdates list.2.rank is "S9", {known}'
    # What stood there before is nobody's fault who moves it.
    more["stateUpdates"]["list"].pop()
    assert proposed(files(old), report(outcome="error", data=more), of).records


def test_an_effect_that_would_write_a_word_which_nobody_knows_is_refused_too() -> None:
    of = workflow(DEFINITION.replace("iteration: 0}}", "iteration: 0}, words: {note: [n]}}"))
    said = refused(files(paper_md="p"), report(message="!"), of)
    where = "nothing was recorded, for t/state.json would say: "
    assert said.startswith(f"{where}note is \"n!\", which is no known word; did you mean 'n'?")


def test_nothing_leads_on_from_an_end_but_a_new_run() -> None:
    of = workflow(f"{DEFINITION}\n".replace("  three: {", "  end: {terminal: failed}\n  three: {"))
    override = Command("override", "one", why="w")
    said = "nothing leads on from end, the end of the run; `phasekeeper start small NAME` begins a new run"
    assert refused(files({"phase": "end"}), override, of) == said


def test_what_would_make_the_run_invalid_is_refused_with_what_is_wrong() -> None:
    said = refused(files(), report(outcome="error", data={"stateUpdates": {"phase": "nowhere"}}))
    assert said.startswith(
        "nothing was written, because the run would be invalid: t/state.json: 'nowhere' is no"
    )
    many = {"log": list(range(1001))}
    said = refused(files(), report(outcome="error", data={"stateUpdates": many}))
    assert said.startswith("nothing was written, because the run would be invalid: t/state.json: ")


def test_a_run_that_a_rule_calls_invalid_is_told_by_the_rules_reason() -> None:
    of = workflow(
        DEFINITION.replace(
            "phases:\n",
            "before: [{when: state.iteration > 5, stop: invalid, because: too many}]\nphases:\n",
            1,
        )
    )
    updates = {"stateUpdates": {"iteration": 6}}
    assert refused(files(), report(outcome="error", data=updates), of).endswith("would be invalid: too many")
    # A run that is invalid already takes no report at all.
    assert "too many" in refused(files({"iteration": 7}), report(outcome="error"), of)


def test_the_first_outcome_claims_the_artifacts_of_the_phase() -> None:
    assert refused(files(), report(outcome="done")) == (
        "one is not done: paper is missing (t/paper.md); make it, then report again. "
        "`phasekeeper next --run t` shows what it needs"
    )
    assert "paper is empty" in refused(files(paper_md=" \n"), report(outcome="done"))
    assert (
        proposed(files({"note": ""}, paper_md="# P\n"), report(outcome="done")).evaluation.current_phase
        == "two"
    )


def test_the_first_outcome_of_a_phase_without_artifacts_claims_none() -> None:
    of = workflow(DEFINITION.replace("report.phase == 'three'", "state.iteration > 9"))
    texts = files({"phase": "three", "note": ""}, paper_md="# P\n")
    proposal = proposed(texts, report("three", of.phases["three"].outcomes[0]), of)
    assert proposal.records[-1]["phase"] == proposal.evaluation.current_phase == "three"


def test_a_first_outcome_that_is_a_failure_claims_nothing() -> None:
    of = workflow(DEFINITION.replace("outcomes: [done, ok, error]", "outcomes: [error, ok]"))
    assert proposed(files(), report(outcome="error"), of).records[-1]["outcome"] == "error"


def test_a_phase_that_a_rule_keeps_says_more_than_its_missing_artifact() -> None:
    asks = "      - {when: \"report.outcome == 'error'\", ask: help}\n"
    waits = "      - {when: \"report.outcome == 'done'\", wait: job}\n"
    of = workflow(DEFINITION.replace(asks, asks + waits))
    assert proposed(files(), report(outcome="done"), of).evaluation.status == "waiting"


def test_a_report_of_a_phase_that_the_run_is_past_says_what_shows_it() -> None:
    assert refused(files({"phase": "two"}, paper_md="# P\n"), report(outcome="ok")) == (
        "one counts as done by its evidence (t/paper.md); the run is in two now: two is to be done; "
        "it is the turn of two"
    )
    loop = BUILT_IN["phase-loop"]
    texts = begun("phase-loop")
    state = json.loads(texts["t/loop.state.json"]) | {"phase": "verify"}
    said = refused({"t/loop.state.json": json.dumps(state)}, report("plan"), loop)
    assert said.startswith("plan is behind the run; the run is in verify now: ")


def test_nothing_is_reported_of_a_run_that_is_over() -> None:
    of = workflow(DEFINITION.replace("stop: complete}", "stop: exited}"))
    texts = files({"phase": "two"}, paper_md="# P\n")
    ended = after(texts, proposed(texts, report("two"), of))
    assert refused(ended, report("two"), of).startswith("two may not be reported now: the run is exited: ")
    assert "nothing is left to decide" in refused(ended, Command("raise", message="Why?"), of)


# ---- phases that are passed over --------------------------------------------------------------

SKIPPING = """\
workflow: skipping
runs: {at: [t], marker: {file: state.json}}
state: {file: state.json, defaults: {log: [], quick: false}}
phase: state.phase
phases:
  one: {}
  two: {skip: state.quick, skip_because: it is quick}
  three: {skip: state.quick}
  four: {rules: [{when: "report.outcome == 'ok'", stop: complete}]}
otherwise: [{when: "report.outcome == 'ok'", to: next}, {when: "phase == 'two' && state.quick", to: next}]
effects:
  ok: {log: "state.log + [step]", phase: step}
  start: {log: "state.log + ['start ' + step]"}
  skip: {log: "state.log + ['skip ' + step + ': ' + report.why]"}
  three.skip: {third: "true"}
"""


def _skips(
    state: dict[str, Any], act: Command, text: str = SKIPPING
) -> tuple[Any, list[tuple[Any, Any, Any]]]:
    """(the state afterwards, kind, phase and reason of the records)"""
    of, texts = workflow(text), {"t/state.json": json.dumps(state)}
    proposal = propose(steps_of(texts, of), act, NOW)
    told_truly(texts, proposal, of)
    records = [(entry["kind"], entry["phase"], entry["why"]) for entry in proposal.records]
    return json.loads(after(texts, proposal)["t/state.json"]), records


def test_phases_passed_over_on_the_way_on_are_recorded_behind_the_report() -> None:
    state, records = _skips({"phase": "one", "quick": True}, report("one"))
    standard = "its condition to be skipped holds"
    assert records == [
        ("report", "one", ""), ("transition", "two", "it is quick"), ("transition", "three", standard),
    ]  # fmt: skip
    assert state == {
        "phase": "four", "quick": True, "third": True,
        "log": ["one", "skip two: it is quick", f"skip three: {standard}"],
    }  # fmt: skip


@pytest.mark.parametrize("act", [report("four"), Command("start", "four")])
def test_phases_passed_over_before_the_step_are_recorded_before_it(act: Command) -> None:
    state, records = _skips({"phase": "two", "quick": True}, act)
    assert [entry[:2] for entry in records] == [
        ("transition", "two"), ("transition", "three"), (act.kind, "four"),
    ]  # fmt: skip
    assert [line.split(":")[0] for line in state["log"]][:2] == ["skip two", "skip three"]
    assert state["log"][2].endswith("four")


def test_nothing_is_passed_over_where_no_phase_is_skipped() -> None:
    state, records = _skips({"phase": "one"}, report("one"))
    assert (state["phase"], [entry[0] for entry in records]) == ("two", ["report"])


def test_where_the_files_tell_the_phase_it_is_passed_over_when_the_next_one_is_reported() -> None:
    inferred = SKIPPING.replace(
        "phase: state.phase", "phase: [{when: \"'one' in state.log\", is: two}, {is: one}]", 1
    )
    inferred = inferred.replace(", phase: step}", "}")
    _, records = _skips({"log": [], "quick": True}, report("one"), inferred)
    assert [entry[:2] for entry in records] == [("report", "one")]
    _, records = _skips({"log": ["one"], "quick": True}, report("four"), inferred)
    assert [entry[:2] for entry in records] == [
        ("transition", "two"), ("transition", "three"), ("report", "four"),
    ]  # fmt: skip


# ---- the order of keys ------------------------------------------------------------------------


def test_objects_of_a_report_keep_the_order_of_their_keys() -> None:
    item = {"zeta": 1, "alpha": {"second": 2, "first": 1}, "list": [{"y": 1, "x": 2}]}
    proposal = proposed(files(), report(outcome="error", data={"stateUpdates": {"made": item}}))
    made = written(proposal)["made"]
    assert json.dumps(made) == json.dumps(item)


def test_every_map_keeps_the_order_of_its_own_keys() -> None:
    updates = {"one": {"b": 1, "a": 2}, "two": {"a": 1, "b": 2}}
    made = written(proposed(files(), report(outcome="error", data={"stateUpdates": updates})))
    assert (list(made["one"]), list(made["two"])) == (["b", "a"], ["a", "b"])


# ---- an agent asks ----------------------------------------------------------------------------


def test_a_question_of_an_agent_is_recorded_and_writes_nothing() -> None:
    proposal = proposed(files(), Command("raise", message="Which one?", actor="bot"))
    (entry,) = proposal.records
    assert (entry["kind"], entry["message"], entry["phase"], proposal.edits) == (
        "question",
        "Which one?",
        "one",
        (),
    )
    assert [q.id for q in proposal.evaluation.questions] == ["raised:1"]
    again = after(files(), proposal)
    assert (
        refused(again, Command("raise", message=" Which  one? "))
        == "raised:1 asks that already, and awaits its answer"
    )
    assert refused(files(), Command("raise", message=" ")) == "say what a person is to decide"


def test_what_is_not_named_right_is_wrong_use() -> None:
    unknown = Command("answer", question="x", option="y", why="z")
    for act in (unknown, Command("override", "two"), Command("raise")):
        with pytest.raises(InvalidCommand):
            proposed(files(), act)


def test_an_override_that_no_rule_allows_is_answered_with_those_that_may_be() -> None:
    said = refused(files(), Command("override", "three", why="w"))
    assert said.endswith("; an override may go to two; `phasekeeper next --run t` says what leads on")
