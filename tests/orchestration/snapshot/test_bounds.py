"""What is read of a run is bounded: what is more is a finding, and never taken for absent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from phasekeeper.orchestration.definition.reader import InvalidWorkflow, Source, load_definition
from phasekeeper.orchestration.evaluation.evaluate import evaluate
from phasekeeper.orchestration.findings import Severity
from phasekeeper.orchestration.plans.master_plan.task_file import MOST_REFERENCES, MOST_ROWS, read_task
from phasekeeper.orchestration.snapshot import read_log
from phasekeeper.orchestration.snapshot.discovery import DefinitionSet, DiscoverableWorkflow, candidates
from phasekeeper.orchestration.snapshot.read_log import ParseResults, RunReader
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.suggestions import nearest
from phasekeeper.orchestration.vfs import glob as globs
from phasekeeper.orchestration.vfs.files import decode, excess
from phasekeeper.orchestration.vfs.overlay import MemoryFiles
from phasekeeper.server.workspace.definitions import DefinitionLibrary

PLAN = "| Task ID | File | Status |\n|---|---|---|\n"


def evaluated(texts: Mapping[str, str], workflow: str, run: str) -> Any:
    return evaluate(
        DefinitionLibrary().workflow(workflow),
        read_run(DefinitionLibrary().workflow(workflow), MemoryFiles(texts), run),
    )


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("a.json", "[" + "0," * 250_001 + "0]", "values"),
        ("a.md", "a" * (2 << 20) + "b", "characters"),
        ("a.md", "\n" * 25_001, "lines"),
        ("a.jsonl", "\n" * 50_001, "lines"),
    ],
)
def test_a_text_that_would_take_too_long_is_not_read(path: str, text: str, why: str) -> None:
    file = decode(path, text.encode())
    assert file.exists and file.text is None and file.digest
    assert file.problem is not None and why in file.problem.message
    assert decode("a.txt", text.encode()).text == text


@pytest.mark.parametrize("form", ["json", "markdown", "journal", ""])
def test_a_long_line_alone_is_read(form: str) -> None:
    assert excess("a" * 1_000_000, form) == ""


def test_a_plan_is_bounded_whatever_its_file_is_called() -> None:
    text = """
workflow: small
runs: {at: [t], marker: {file: PLAN.txt, table: [Task ID, File, Status]}}
artifacts: {plan: {paths: [PLAN.txt], kind: master-plan}}
phase: "'one'"
phases: {one: {rules: [{when: 'plan.total == 0', to: done}]}, done: {terminal: complete}}
"""
    library = DefinitionLibrary({"small": Source("small.yaml", text)})
    files = MemoryFiles({"t/PLAN.txt": PLAN + "| a | `a.md` | [x] |\n" * 30_000})
    known = DefinitionSet(library.definitions())
    assert candidates(known, files) == {"t": ["small"]}
    evaluation = evaluate(library.workflow("small"), read_run(library.workflow("small"), files, "t"))
    assert [(each.code, each.path) for each in evaluation.findings] == [("artifact-unreadable", "t/PLAN.txt")]
    assert evaluation.progress is None or evaluation.progress.total == 0


def test_of_a_run_so_much_is_read_and_what_is_behind_it_is_no_absent_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read_log, "MOST_BYTES", 10)
    reader = RunReader(MemoryFiles({"a": "123456", "b": "123456"}))
    assert reader.read("a").text == "123456"
    file = reader.read("b")
    assert file.exists and file.text is None
    assert file.problem is not None and file.problem.code == "budget-exceeded"
    assert reader.read("c").problem is None


def test_parse_results_of_many_runs_go_when_their_texts_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_log, "MOST_PARSED", 10)
    results, files = ParseResults(), MemoryFiles({name: name * 6 for name in "abc"})
    for name in "abc":
        RunReader(files, results).parse_cached("text", files.read(name), str)
    assert list(results.values()) == ["cccccc"]


def test_a_walk_into_too_many_folders_is_no_short_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(globs, "MOST_FOLDERS", 5)
    files = MemoryFiles({f"t/{number}/a.json": "{}" for number in range(9)})
    with pytest.raises(globs.TooManyFolders, match="more than 5 folders"):
        list(globs.glob(files, "t/*/a.json"))
    reader = RunReader(files)
    reader.glob("t/*/a.json")
    assert reader.reads["t/*/a.json"] == "unreadable"
    assert [(each.code, each.severity) for each in reader.findings] == [("budget-exceeded", Severity.ERROR)]
    known = DefinitionSet([DiscoverableWorkflow("w", ("t/*/x",), False, lambda: None)])  # type: ignore[arg-type,return-value]
    assert candidates(known, files) == {}
    assert [each.code for each in known.broken["w"]] == ["budget-exceeded"]


def test_definitions_extend_each_other_eight_times_at_most() -> None:
    sources = {f"e{n}": Source(f"e{n}.yaml", f"workflow: e{n}\nextend: e{n + 1}\n") for n in range(20)}
    with pytest.raises(InvalidWorkflow) as raised:
        load_definition(sources["e0"], sources.get)
    assert "more than 8 in a row" in raised.value.findings[0].message


def test_of_one_code_the_findings_behind_the_first_are_counted() -> None:
    rows = "".join(f"| f-{n} | `{n}.md` | [odd] |\n" for n in range(700))
    found = evaluated({"tasks/f/MASTER_PLAN.md": PLAN + rows}, "master-plan", "tasks/f").findings
    marks = [each for each in found if each.code == "marker-unknown"]
    assert len(marks) == 501
    assert (marks[-1].path, marks[-1].message) == (
        "tasks/f",
        "and 200 more such findings in the files of this run",
    )


def test_references_and_files_of_a_task_are_cut_where_that_shows() -> None:
    names = ", ".join(f"g-{n}" for n in range(MOST_REFERENCES + 3))
    rows = "".join(f"| `a{n}` | Modify |\n" for n in range(MOST_ROWS + 1))
    table = f"## Files to Change\n\n| File | Action |\n|---|---|\n{rows}"
    task = read_task(f"# 1. a\n\n## Meta\n\n- **ID**: f-1\n- **Depends On**: [{names}]\n\n{table}")
    assert task.depends_on[-1] == "and 3 more" and len(task.depends_on) == MOST_REFERENCES + 1
    assert len(task.files) == MOST_ROWS
    assert [each.code for each in task.problems] == ["task-unreadable"]


def test_many_unknown_references_are_all_told_and_few_compared() -> None:
    rows = "".join(f"| f-{n} | `{n}.md` | [ ] |\n" for n in range(3))
    texts = {"tasks/f/MASTER_PLAN.md": PLAN + rows}
    for number in range(3):
        names = ", ".join(f"f-1{number}{n:03}" for n in range(60))
        meta = f"- **ID**: f-{number}\n- **Depends On**: [{names}]\n"
        texts[f"tasks/f/{number}.md"] = f"# {number}. a\n\n## Meta\n\n{meta}"
    found = evaluated(texts, "master-plan", "tasks/f").findings
    unknown = [each.message for each in found if each.code == "dangling-dependency"]
    assert len(unknown) == 180
    assert sum("did you mean" in message for message in unknown) == 100


def test_nobody_mistypes_a_word_of_thousands_of_letters() -> None:
    assert nearest("a" * 101, ["a" * 100]) == []
    assert nearest("reveiw", ["review", "x" * 10_000]) == ["review"]


def test_a_state_of_many_values_makes_its_run_invalid() -> None:
    text = json.dumps({"phase": "planning", "a": list(range(250_002))})
    run = ".ai-tools-chain/tasks/T1"
    evaluation = evaluated({f"{run}/state.json": text}, "artifact-pipeline", run)
    assert evaluation.status == "invalid"
    assert "values" in evaluation.findings[0].message
