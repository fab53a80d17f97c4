"""Acts on disk: looked at afresh under the lock, all or nothing, claims kept, decisions signed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.journal.journal import Claim
from phasekeeper.orchestration.result.values import as_json
from phasekeeper.orchestration.updates.commands import Command, CommandRefused, InvalidCommand
from phasekeeper.server.disk import decision_keys as decide
from phasekeeper.server.store.claims import claim, release
from phasekeeper.server.store.commit import Conflict
from phasekeeper.server.store.folder import StoreError
from phasekeeper.server.workspace import apply
from phasekeeper.server.workspace.apply import HeldClaims, apply_command, prepare_decision, record_decision
from phasekeeper.server.workspace.roots import UsageError
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import put

PLAN = """# Feature - Master Plan

**Status**: [~] In Progress

## Phase 1: First (1h)

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 1 | f-01 | `01-a.md` | Do it | impl | [ ] |
| 2 | f-02 | `02-b.md` | Do more | impl | [ ] |
"""
DEFINITION = """\
workflow: planned
runs: {at: [work/*], marker: {file: PLAN.md}}
artifacts: {plan: {paths: [PLAN.md], kind: master-plan}}
phase: [{when: "count({'kind': 'report', 'outcome': 'error'}) > 0", is: mend}, {is: do}]
phases:
  do:
    tasks: "tasks({'done': false})"
    outcomes: [ok, error]
    rules: [{when: plan.done == plan.total, stop: complete}, {when: "report.outcome == 'none'", to: mend}]
  mend: {rules: [{when: "answers.go_on != 'yes'", ask: go_on}]}
questions: {go_on: {kind: approval, ask: Go on?, options: {"yes": go on}}}
effects:
  do.ok: {file: log.txt, append: report.message}
"""
RUN = "work/one"


def planned_root(
    root: Path, configuration: str = "workflows: {'work/*': planned}\n", runs: Sequence[str] = ("one",)
) -> Path:
    """Write the definition, a configuration, and runs that each have a plan of two tasks."""
    put(root / ".phasekeeper/workflows/planned.yaml", DEFINITION)
    put(root / ".phasekeeper/config.yaml", configuration)
    for name in runs:
        put(root / "work" / name / "PLAN.md", PLAN)
        for task in ("01-a.md", "02-b.md"):
            put(root / "work" / name / task, "# A task\n")
    return root


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root with two runs of one shape, and a key of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "root"
    (root / ".git").mkdir(parents=True)
    return planned_root(root, runs=("one", "two"))


def report(outcome: str = "ok", *tasks: str, actor: str = "ann", message: str = "m") -> Command:
    return Command("report", "do", outcome, tasks=tasks, actor=actor, message=message)


def lines(root: Path, run: str = RUN) -> list[dict[str, Any]]:
    path = root / run / ".phasekeeper/journal.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def contents(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*") if path.is_file() and path.stem != "lock")
    return {str(path): path.read_bytes() for path in found}


def evaluation(root: Path, run: str = RUN) -> Any:
    workspace = Workspace(root)
    return workspace.evaluate(next(match for match in workspace.matches if match.run == run))


def test_a_report_is_recorded_with_what_it_writes(root: Path) -> None:
    done = apply_command(Workspace(root), RUN, report("ok", "f-01", message="first"))
    assert (root / RUN / "log.txt").read_text() == "first\n"
    assert [entry["kind"] for entry in lines(root)] == ["report"]
    assert lines(root)[0]["files"][0]["path"] == f"{RUN}/log.txt"
    assert as_json(done.evaluation) == as_json(evaluation(root))


def test_the_run_is_looked_at_afresh_whatever_was_seen_before(root: Path) -> None:
    stale = Workspace(root)
    assert stale.files.read(f"{RUN}/log.txt").exists is False and stale.matches
    apply_command(Workspace(root), RUN, report("ok", "f-01", message="another"))
    apply_command(stale, RUN, report("ok", "f-02", message="mine"))
    assert (root / RUN / "log.txt").read_text() == "another\nmine\n"
    assert [entry["seq"] for entry in lines(root)] == [1, 2]


def test_a_file_that_changes_under_the_writer_is_a_conflict_and_nothing_is_written(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    propose = apply.propose

    def meanwhile(*arguments: Any) -> Any:
        proposal = propose(*arguments)
        (root / RUN / "log.txt").write_text("somebody else's\n")
        return proposal

    monkeypatch.setattr(apply, "propose", meanwhile)
    with pytest.raises(Conflict, match="nothing was written"):
        apply_command(Workspace(root), RUN, report("ok", "f-01"))
    assert (root / RUN / "log.txt").read_text() == "somebody else's\n"
    assert lines(root) == []


def test_a_refusal_writes_nothing(root: Path) -> None:
    before = contents(root)
    with pytest.raises(CommandRefused, match="no phase or action"):
        apply_command(Workspace(root), RUN, Command("report", "nought", "ok"))
    assert contents(root) == before


def test_a_run_that_is_gone_is_told(root: Path) -> None:
    (root / RUN / "PLAN.md").unlink()
    with pytest.raises(UsageError, match="is no run any more"):
        apply_command(Workspace(root), RUN, report())


def test_a_run_that_two_definitions_claim_takes_nothing(root: Path) -> None:
    rival = DEFINITION.replace("workflow: planned", "workflow: rival")
    (root / ".phasekeeper/workflows/rival.yaml").write_text(rival)
    (root / ".phasekeeper/config.yaml").unlink()
    with pytest.raises(CommandRefused, match="nothing can be recorded"):
        apply_command(Workspace(root), RUN, report())
    assert lines(root) == []


# ---- claims -----------------------------------------------------------------------------------


def hers(held: Claim) -> HeldClaims:
    return HeldClaims(["hers"], held.seq, named=True)


def test_a_claimed_task_is_reported_by_nobody_else(root: Path) -> None:
    claim(root, RUN, "f-01", "ann", 3600, "hers")
    for who in ("bob", "ann"):
        with pytest.raises(Conflict, match="f-01 is claimed by ann until"):
            apply_command(Workspace(root), RUN, report("ok", "01", actor=who))
    apply_command(Workspace(root), RUN, report("ok", "02", actor="bob"))
    apply_command(Workspace(root), RUN, report("ok", "01", actor="ann"), claims=HeldClaims(["hers"]))
    assert [entry["tasks"] for entry in lines(root)] == [["f-02"], ["f-01"]]


@pytest.mark.parametrize("step", ["mend", "look"])
def test_who_judges_a_claimed_task_needs_no_claim_on_it(root: Path, step: str) -> None:
    judging = "mend: {judges: [do], tasks: \"tasks({'done': false})\", outcomes: [ok], rules: ["
    turn = '{when: "true", act: look}, ' if step == "look" else ""
    text = DEFINITION.replace("mend: {rules: [", judging + turn)
    put(root / ".phasekeeper/workflows/planned.yaml", f"{text}actions: {{look: {{judges: [do]}}}}\n")
    claim(root, RUN, "f-01", "ann", 3600, "hers")
    apply_command(Workspace(root), RUN, report("error", "02", actor="bob"))
    apply_command(Workspace(root), RUN, Command("report", step, "ok", tasks=("01",), actor="cy", message="m"))
    assert [entry["tasks"] for entry in lines(root)] == [["f-02"], ["f-01"]]


def test_the_token_of_a_claim_is_asked_again_when_its_task_is_reported(root: Path) -> None:
    first = claim(root, RUN, "f-01", "ann", 3600, "hers")
    second = claim(root, RUN, "f-01", "ann", 3600, "hers")
    with pytest.raises(StoreError, match="f-01 is claimed by ann"):
        apply_command(Workspace(root), RUN, report("ok", "01"), claims=hers(first))
    apply_command(Workspace(root), RUN, report("ok", "01"), claims=hers(second))
    assert len(lines(root)) == 1


def test_the_token_of_a_claim_that_ended_is_refused(root: Path) -> None:
    mine = claim(root, RUN, "f-01", "ann", 3600, "hers")
    release(root, RUN, "f-01", "hers")
    with pytest.raises(StoreError, match="the claim on f-01 has ended"):
        apply_command(Workspace(root), RUN, report("ok", "01"), claims=hers(mine))
    expired = claim(root, RUN, "f-01", "ann", 1e-6, "hers")
    with pytest.raises(StoreError, match="the claim on f-01 has ended"):
        apply_command(Workspace(root), RUN, report("ok", "01"), claims=hers(expired))
    assert lines(root) == []


def test_a_task_is_taken_and_given_back_by_any_of_its_names(root: Path) -> None:
    made, token = apply.claim(Workspace(root), RUN, "01", "ann", 60)
    assert (made.task, made.actor) == ("f-01", "ann")
    again, same = apply.claim(Workspace(root), RUN, "f-01", "ann", 60, token)
    assert (again.seq, same) == (made.seq + 1, token)
    with pytest.raises(Conflict):
        apply.claim(Workspace(root), RUN, "01", "ann", 60)
    with pytest.raises(Conflict):
        apply.claim(Workspace(root), RUN, "01-a.md", "bob", 60)
    with pytest.raises(UsageError, match="'nought' is no task of work/one"):
        apply.claim(Workspace(root), RUN, "nought", "ann", 60)
    with pytest.raises(UsageError, match="a claim needs"):
        apply.claim(Workspace(root), RUN, "f-02", "", 60)
    assert apply.release(Workspace(root), RUN, "01", token) == ("f-01", True)
    assert apply.release(Workspace(root), RUN, "01", token) == ("f-01", False)
    assert apply.release(Workspace(root), RUN, "nought", token) == ("nought", False)


def test_a_task_that_is_done_is_not_taken(root: Path) -> None:
    (root / RUN / "PLAN.md").write_text(PLAN.replace("impl | [ ] |", "impl | [x] |", 1))
    with pytest.raises(CommandRefused, match="f-01 cannot start now; ready are f-02"):
        apply.claim(Workspace(root), RUN, "01", "ann", 60)


def test_a_token_without_a_task_is_refused(root: Path) -> None:
    with pytest.raises(CommandRefused, match="the report names none"):
        apply_command(Workspace(root), RUN, report(), claims=HeldClaims(["hers"], named=True))


# ---- decisions --------------------------------------------------------------------------------

ANSWER = Command("answer", question="go_on", option="yes", why="fine", actor="ann", channel="terminal")


def asked(root: Path, run: str = RUN) -> None:
    apply_command(Workspace(root), run, report("error"))
    assert [question.id for question in evaluation(root, run).questions] == ["go_on"]


def test_a_signed_decision_counts_when_the_run_is_read_again(root: Path) -> None:
    asked(root)
    apply_command(Workspace(root), RUN, ANSWER, signed=True)
    made = lines(root)[-1]
    assert made["mac"] and (made["actor"], made["channel"], made["why"]) == ("ann", "terminal", "fine")
    assert evaluation(root).questions == ()
    assert not any(found.code == "decision-unverified" for found in evaluation(root).findings)


def test_a_decision_copied_to_another_run_does_not_count(root: Path) -> None:
    asked(root)
    apply_command(Workspace(root), RUN, ANSWER, signed=True)
    other = root / "work/two/.phasekeeper"
    other.mkdir()
    (other / "journal.jsonl").write_bytes((root / RUN / ".phasekeeper/journal.jsonl").read_bytes())
    there = evaluation(root, "work/two")
    assert [question.id for question in there.questions] == ["go_on"]
    assert any(found.code == "decision-unverified" for found in there.findings)


def test_a_person_sees_the_question_the_answer_and_what_comes_of_it(root: Path) -> None:
    asked(root)
    wanted = Command("answer", question="go_on", option="yes", why="fine")
    decision = prepare_decision(Workspace(root), RUN, wanted)
    assert decision.title == "Go on?"
    assert decision.lines == (
        f'run {RUN} "Feature" (planned) in {root}, revision {evaluation(root).revision}',
        "phase mend: no reason is given",
        "answer: yes (go on)",
        "reason: fine",
        "afterwards: active in mend, next mend: mend is to be done",
    )
    assert decision.revision == evaluation(root).revision and len(lines(root)) == 1
    done = record_decision(Workspace(root), decision, "ann", "editor")
    made = lines(root)[-1]
    assert (made["actor"], made["channel"], made["why"]) == ("ann", "editor", "fine") and made["mac"]
    assert done.evaluation.questions == ()


def test_an_override_shows_what_it_waives(root: Path) -> None:
    workspace = Workspace(root)
    run, _ = apply.start_run(workspace, workspace.library.workflow("artifact-pipeline"), "T1", "", "ann")
    decision = prepare_decision(Workspace(root), run, Command("override", "codegen", why="urgent"))
    said = "\n".join(decision.lines)
    way = 'from "Plan the change" (planning) to "Write the code" (codegen)'
    assert decision.title == f"Move {run} {way}, against what its files say?"
    assert 'gate "The plan is approved by its review" (plan-review) is not-reached and will be waived' in said
    assert (
        '"Plan the change" (planning) will go without what it owes: ' in said
        and "planning.ai.json is missing" in said
    )
    assert decision.lines[-1].startswith(
        'afterwards: active in "Write the code" (codegen), next "Write the code" (codegen): '
    )


def test_all_that_can_be_refused_is_refused_before_a_person_is_asked(root: Path) -> None:
    asked(root)
    wrong = (
        Command("answer", question="nought", option="yes", why="w"),
        Command("answer", question="go_on", option="maybe", why="w"),
        Command("answer", question="go_on", option="yes", why=" "),
    )
    for wanted in wrong:
        with pytest.raises(InvalidCommand):
            prepare_decision(Workspace(root), RUN, wanted)
    with pytest.raises(CommandRefused, match="no rule leads from mend"):
        prepare_decision(Workspace(root), RUN, Command("override", "do", why="w"))
    assert len(lines(root)) == 1


def test_a_decision_comes_by_a_way_of_persons_only(root: Path) -> None:
    asked(root)
    decision = prepare_decision(Workspace(root), RUN, ANSWER)
    with pytest.raises(ValueError, match="'cli' is no channel of a person's"):
        record_decision(Workspace(root), decision, "bot", "cli")
    assert len(lines(root)) == 1


def test_a_decision_is_about_what_was_shown(root: Path) -> None:
    asked(root)
    decision = prepare_decision(Workspace(root), RUN, ANSWER)
    (root / RUN / "PLAN.md").write_text(PLAN.replace("Do it", "Do something else"))
    with pytest.raises(CommandRefused, match="was changed meanwhile"):
        record_decision(Workspace(root), decision, "ann", "terminal")


def test_what_is_wrong_only_since_an_act_is_told(root: Path) -> None:
    told = apply_command(Workspace(root), RUN, report("ok", "f-01")).arisen
    assert told == ()
    definition = root / ".phasekeeper/workflows/planned.yaml"
    text = definition.read_text().replace(
        "rules: [{when: plan",
        "rules: [{when: \"report.outcome == 'ok'\", warn: status-drift, because: odd}, {when: plan",
        1,
    )
    definition.write_text(text)
    (found,) = apply_command(Workspace(root), "work/two", report("ok", "f-01")).arisen
    assert (found.code, found.message) == ("status-drift", "odd")
    assert apply_command(Workspace(root), "work/two", report("ok", "f-02")).arisen == ()


def test_a_decision_is_not_written_unsigned(root: Path) -> None:
    asked(root)
    with pytest.raises(ValueError, match="only written where a person makes it"):
        apply_command(Workspace(root), RUN, ANSWER)
    assert len(lines(root)) == 1


def test_a_decision_about_what_was_changed_meanwhile_is_refused(root: Path) -> None:
    asked(root)
    shown = evaluation(root).revision
    (root / RUN / "PLAN.md").write_text(PLAN.replace("Do it", "Do something else"))
    with pytest.raises(CommandRefused, match="was changed meanwhile"):
        apply_command(Workspace(root), RUN, ANSWER, signed=True, revision=shown)
    apply_command(Workspace(root), RUN, ANSWER, signed=True, revision=evaluation(root).revision)
    assert evaluation(root).questions == ()


def test_a_key_that_cannot_be_trusted_signs_nothing(root: Path) -> None:
    asked(root)
    path = decide.key_path()
    path.parent.mkdir(parents=True)
    path.write_bytes(b"k" * 32)
    path.chmod(0o640)
    with pytest.raises(UsageError, match=r"cannot be signed: .* can be read or written by others"):
        apply_command(Workspace(root), RUN, ANSWER, signed=True)
    assert len(lines(root)) == 1


# ---- a new run --------------------------------------------------------------------------------


def test_a_new_run_has_its_files_and_the_record_of_its_start(root: Path) -> None:
    workspace = Workspace(root)
    workflow = workspace.library.workflow("artifact-pipeline")
    run, done = apply.start_run(workspace, workflow, "T1", 'A "quoted" title', "ann")
    assert json.loads((root / run / "state.json").read_text())["title"] == 'A "quoted" title'
    began = lines(root, run)[0]
    assert (began["kind"], began["workflow"], began["actor"]) == ("start", "artifact-pipeline", "ann")
    assert began["definition"] == done.evaluation.definition.digest
    with pytest.raises(UsageError, match="exists already"):
        apply.start_run(Workspace(root), workflow, "T1", "", "ann")


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a\n", "x" * 101])
def test_a_name_that_is_no_name_of_a_folder_is_refused(root: Path, name: str) -> None:
    workspace = Workspace(root)
    with pytest.raises(UsageError, match="is no name for a run"):
        apply.start_run(workspace, workspace.library.workflow("artifact-pipeline"), name, "", "ann")


def test_a_workflow_that_does_not_say_how_it_begins_starts_nothing(root: Path) -> None:
    workspace = Workspace(root)
    with pytest.raises(UsageError, match="is started by name"):
        apply.start_run(workspace, workspace.library.workflow("planned"), "x", "", "ann")


def test_a_start_that_was_cut_off_before_its_record_can_be_repeated(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Workspace(root)
    workflow = workspace.library.workflow("artifact-pipeline")
    with monkeypatch.context() as patch:
        patch.setattr("phasekeeper.server.store.commit.append_lines", dying)
        with pytest.raises(Died):
            apply.start_run(workspace, workflow, "T9", "", "ann")
    run, done = apply.start_run(Workspace(root), workflow, "T9", "", "ann")
    assert (done.evaluation.current_phase, len(lines(root, run))) == ("planning", 1)
    with pytest.raises(UsageError, match="exists already"):
        apply.start_run(Workspace(root), workflow, "T9", "", "bob")
    assert len(lines(root, run)) == 1


def test_a_start_that_was_cut_off_after_its_record_is_finished_by_the_same_start_alone(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow = Workspace(root).library.workflow("artifact-pipeline")

    def cut_off(name: str) -> str:
        with monkeypatch.context() as patch:
            patch.setattr("phasekeeper.server.store.commit._rename_all", dying)
            with pytest.raises(Died):
                apply.start_run(Workspace(root), workflow, name, "One", "ann")
        run = f".ai-tools-chain/tasks/{name}"
        assert len(lines(root, run)) == 1
        assert not (root / run / "state.json").exists()
        return run

    run = cut_off("T8")
    again, done = apply.start_run(Workspace(root), workflow, "T8", "One", "ann")
    assert (again, done.evaluation.current_phase, len(lines(root, run))) == (run, "planning", 1)
    assert [each.path for each in done.commit.recovery] == [f"{run}/state.json"]
    with pytest.raises(UsageError, match=r"exists already; .* `phasekeeper next .*/T8` says how it stands"):
        apply.start_run(Workspace(root), workflow, "T8", "One", "ann")

    other = cut_off("T9")
    with pytest.raises(UsageError, match="exists already"):
        apply.start_run(Workspace(root), workflow, "T9", "Two", "ann")
    assert json.loads((root / other / "state.json").read_text())["title"] == "One"


def test_of_two_starts_at_one_moment_the_second_is_told(root: Path) -> None:
    workspace, late = Workspace(root), Workspace(root)
    workflow = workspace.library.workflow("artifact-pipeline")
    assert not late.files.list(".ai-tools-chain/tasks/T9")
    run, _ = apply.start_run(workspace, workflow, "T9", "", "ann")
    with pytest.raises(UsageError, match="exists already"):
        apply.start_run(late, workflow, "T9", "", "bob")
    assert [entry["actor"] for entry in lines(root, run)] == ["ann"]


class Died(BaseException):
    """The end of the process."""


def dying(*_arguments: Any) -> None:
    raise Died
