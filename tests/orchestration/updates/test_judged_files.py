"""What a record names of the files it was about, and how verdicts go stale by it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from phasekeeper.orchestration.evaluation.evaluate import evaluate_traced
from phasekeeper.orchestration.evaluation.trace import EvaluationTrace
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.snapshot.staleness import MOST_NAMED
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.orchestration.updates.judged_files import files_of_artifacts, files_of_report
from phasekeeper.orchestration.updates.propose import propose
from phasekeeper.orchestration.vfs.files import digest_of
from phasekeeper.orchestration.vfs.overlay import MemoryFiles

DEFINITION = """\
workflow: small
runs: {at: [t], marker: {file: state.json}}
state: {file: state.json}
phase: state.phase
artifacts:
  code: {paths: [code/**], kind: files}
  note: {paths: [note.md], kind: text, optional: true}
  review: {paths: [review.json], kind: json, require: {ok: bool}, of: [code, note]}
phases:
  write: {produces: [code]}
  review: {produces: [review], rules: [{when: review.ok, to: done}]}
  done: {terminal: complete}
otherwise: [{when: "report.outcome == 'ok' && valid.code", to: next}]
questions: {fine: {about: [code], ask: Fine?, options: {"yes": it is}}}
before: [{when: "answers.fine == 'yes'", warn: status-drift}]
"""
SMALL = parse_workflow(DEFINITION, "small.yaml")
JOURNAL = "t/.phasekeeper/journal.jsonl"
LATER = 10_000_000_000


def texts(phase: str = "review", **more: str) -> dict[str, str]:
    return {
        "t/state.json": json.dumps({"phase": phase}), "t/code/a.py": "a = 1\n", "t/code/b.py": "b = 1\n",
        "t/review.json": '{"ok": true}', **more,
    }  # fmt: skip


def steps_of(files: dict[str, str], mtimes: dict[str, int] | None = None) -> EvaluationTrace:
    return evaluate_traced(SMALL, read_run(SMALL, MemoryFiles(files, mtimes or {}), "t"))


def recorded(files: dict[str, str], named: list[dict[str, str]], **more: object) -> dict[str, str]:
    entry = {"seq": 1, "kind": "report", "phase": "review", "outcome": "ok", "files": named, **more}
    return {**files, JOURNAL: files.get(JOURNAL, "") + json.dumps(entry) + "\n"}


def states(files: dict[str, str], mtimes: dict[str, int] | None = None) -> str:
    return steps_of(files, mtimes).facts.artifact("review").state


def reviewed(files: dict[str, str]) -> dict[str, str]:
    """The review was reported as the files are."""
    return recorded(files, files_of_report(steps_of(files).facts, "review"))


# ---- what is named ----------------------------------------------------------------------------


def test_a_report_names_what_its_phase_makes_and_what_that_judges() -> None:
    files = texts()
    named = files_of_report(steps_of(files).facts, "review")
    assert named == [
        {"path": path, "digest": digest_of(files[path])}
        for path in ("t/review.json", "t/code/a.py", "t/code/b.py")
    ]
    assert [item["path"] for item in files_of_report(steps_of(files).facts, "write")] == [
        "t/code/a.py", "t/code/b.py",
    ]  # fmt: skip


def test_an_action_and_what_is_missing_name_nothing() -> None:
    files = texts()
    del files["t/review.json"]
    assert files_of_report(steps_of(files).facts, "action-tidy") == []
    paths = [item["path"] for item in files_of_report(steps_of(files).facts, "review")]
    assert paths == ["t/code/a.py", "t/code/b.py"]


def test_an_answer_names_what_its_question_is_about() -> None:
    facts = steps_of(texts()).facts
    about = facts.workflow.questions["fine"].about
    assert [item["path"] for item in files_of_artifacts(facts, about)] == ["t/code/a.py", "t/code/b.py"]


def test_very_many_files_are_one_entry() -> None:
    many = {f"t/code/{number}.py": f"{number}\n" for number in range(MOST_NAMED)}
    files = texts(**many)
    (_, code) = files_of_report(steps_of(files).facts, "review")
    assert code["path"] == "t/code/**"
    kept = reviewed(files)
    assert states(kept) == "valid"
    assert states({**kept, "t/code/7.py": "changed\n"}) == "stale"


def test_the_record_of_a_report_holds_them_before_what_was_written() -> None:
    files, now = texts("write"), datetime(2026, 1, 2, tzinfo=UTC)
    proposal = propose(steps_of(files), Command("report", "write", "ok"), now)
    named: Any = proposal.records[-1]["files"]
    assert [item["path"] for item in named] == ["t/code/a.py", "t/code/b.py"]
    assert proposal.evaluation.current_phase == "review"


# ---- what makes a verdict stale ---------------------------------------------------------------


def test_a_verdict_stands_while_what_it_judged_is_what_it_was_whatever_the_times_say() -> None:
    files = reviewed(texts())
    assert states(files, {"t/review.json": 1, "t/code/a.py": LATER}) == "valid"


def test_a_changed_a_new_and_a_removed_file_make_a_verdict_stale() -> None:
    files = reviewed(texts())
    assert states({**files, "t/code/a.py": "a = 2\n"}) == "stale"
    assert states({**files, "t/code/c.py": "c = 1\n"}) == "stale"
    del files["t/code/b.py"]
    assert states(files) == "stale"


def test_a_kind_of_file_that_was_not_there_is_told_by_its_time() -> None:
    files = {**reviewed(texts()), "t/note.md": "a note"}
    assert states(files, {"t/review.json": 1, "t/note.md": LATER}) == "stale"
    assert states(files, {"t/review.json": LATER, "t/note.md": 1}) == "valid"


def test_the_newest_record_of_the_verdict_as_it_is_decides() -> None:
    files = reviewed(texts())
    changed = {**files, "t/code/a.py": "a = 2\n"}
    again = files_of_report(steps_of(texts(**{"t/code/a.py": "a = 2\n"})).facts, "review")
    assert states(changed) == "stale"
    prev = digest_of(files[JOURNAL].strip())
    assert states(recorded(changed, again, seq=2, prev=prev)) == "valid"


def test_a_record_that_names_only_the_verdict_or_another_text_of_it_says_nothing() -> None:
    files = texts()
    alone = [{"path": "t/review.json", "digest": digest_of(files["t/review.json"])}]
    old = [{"path": "t/review.json", "digest": "0" * 16}, {"path": "t/code/a.py", "digest": "0" * 16}]
    for named in (alone, old):
        kept = recorded(files, [*named, "odd"])  # type: ignore[list-item]
        assert states(kept, {"t/review.json": LATER, "t/code/a.py": 1, "t/code/b.py": 1}) == "valid"
        assert states(kept, {"t/review.json": 1, "t/code/a.py": LATER, "t/code/b.py": 1}) == "stale"


def test_a_stale_verdict_is_named_again_once_it_was_saved_after_what_it_judges() -> None:
    files = {**reviewed(texts()), "t/code/a.py": "a = 2\n"}
    older = {"t/review.json": 1, "t/code/a.py": LATER, "t/code/b.py": 1}
    newer = {**older, "t/review.json": LATER + 1}
    assert files_of_report(steps_of(files, older).facts, "review") == []
    assert files_of_report(steps_of(files, newer).facts, "review")[0]["path"] == "t/review.json"
