"""An artifact kind is a function and a line: INI files, added from outside, are read and completed."""

from __future__ import annotations

from configparser import ConfigParser

import pytest
from phasekeeper.orchestration.definition.artifact_kinds import KINDS, KINDS_AND_DIALECTS, ArtifactKind
from phasekeeper.orchestration.evaluation.evaluate import evaluate_traced
from phasekeeper.orchestration.findings import Span
from phasekeeper.orchestration.formats.json_text import ParsedText
from phasekeeper.orchestration.journal.journal import prove_none
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.vfs.overlay import MemoryFiles
from phasekeeper.server.lsp.definitions.key_completion import in_definition

from ..definitions import errors

WORKFLOW = """\
workflow: settings
runs: {at: [work/*], marker: {file: setup.ini}}
artifacts:
  setup: {paths: [setup.ini], kind: ini, require: {server.port: [80, 443]}}
phase: [{is: work}]
phases:
  work: {produces: [setup], rules: [{when: setup.server.port == '80', to: done}]}
  done: {terminal: complete}
"""


def read_ini(text: str) -> ParsedText:
    parser = ConfigParser()
    parser.read_string(text)
    return ParsedText({name: dict(section) for name, section in parser.items() if section}, (), True)


def locate_in_ini(text: str, path: tuple[str | int, ...], key: bool = False) -> Span | None:
    """The line of the last key of a path."""
    line = next(n for n, line in enumerate(text.split("\n")) if line.startswith(f"{path[-1]} ="))
    return Span(line, 0, line, len(str(path[-1])))


@pytest.fixture(autouse=True)
def ini(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kind, registered while a test runs."""
    monkeypatch.setitem(KINDS, "ini", ArtifactKind("settings by section", read_ini, locate_in_ini))


def evaluated(text: str):
    workflow, files = parse_workflow(WORKFLOW), MemoryFiles({"work/a/setup.ini": text})
    run = read_run(workflow, files, "work/a", root="r", verify=prove_none)
    return evaluate_traced(workflow, run).evaluation


def test_its_data_is_what_guards_see() -> None:
    evaluation = evaluated("[server]\nport = 80\n")
    assert evaluation.findings == ()
    assert evaluation.suggestion.kind == "advance"


def test_what_is_wrong_with_it_stands_at_its_place() -> None:
    (finding,) = evaluated("[server]\nname = a\nport = 81\n").findings
    assert (finding.code, finding.span) == ("artifact-invalid", Span(2, 0, 2, 4))


def test_its_word_is_completed_and_no_unknown_one_is_taken() -> None:
    source = WORKFLOW.replace("kind: ini", "kind: ")
    items = list(in_definition(source, 3, source.split("\n")[3].index("kind: ") + 6))
    assert [(item.label, item.detail) for item in items if item.label == "ini"]
    assert [item.label for item in items] == list(KINDS_AND_DIALECTS)
    (error,) = errors(WORKFLOW.replace("kind: ini", "kind: inn"))
    assert error.endswith("'inn' is not known here; did you mean 'ini'?")


def test_a_kind_without_places_locates_nothing() -> None:
    assert KINDS["text"].locate("some", ("text",), False) is None


def test_what_is_struck_out_is_no_field_of_a_markdown_file() -> None:
    read = KINDS["markdown"].read
    assert read
    text = "# A\n## ~~B~~\n**Result**: ~~PASS~~\n~~**Verdict**: PASS~~\n**Left**: yes\n"
    data = read(text).data
    assert data == {"text": text, "fields": {"Left": "yes"}, "headings": ["A"]}
