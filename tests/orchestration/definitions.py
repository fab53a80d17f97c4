"""A small definition for tests, and the errors that a text gives."""

from __future__ import annotations

import textwrap

import pytest
from phasekeeper.orchestration.definition.compiler import compile_definition
from phasekeeper.orchestration.definition.model import Workflow
from phasekeeper.orchestration.definition.reader import Extend, InvalidWorkflow, Source, load_definition
from phasekeeper.orchestration.lint import checks as lint
from phasekeeper.orchestration.lint.checks import parse_workflow

HEAD = """\
workflow: small
runs: {at: [tasks/*], marker: {file: state.json}}
state: {file: state.json}
"""
BODY = """\
phase: state.phase
phases:
  one:
    rules: [{when: "state.ok == false", ask: help}, {when: "state.ok == true", to: two}]
  two: {terminal: complete}
questions:
  help: {ask: Help?, options: {go: go on}}
effects: {answer.help.go: {ok: "true"}}
"""


def text(extra: str = "", body: str = BODY) -> str:
    """A sound definition, with more keys behind it."""
    return HEAD + body + textwrap.dedent(extra)


def sound(extra: str = "", body: str = BODY) -> Workflow:
    """The workflow of a text that has no error."""
    return parse_workflow(text(extra, body), "small.yaml")


def errors(definition: str, extend: Extend = lambda name: None) -> list[str]:
    """ "PATH:LINE:COLUMN: message" of each error of a text."""
    with pytest.raises(InvalidWorkflow) as told:
        parse_workflow(definition, "small.yaml", extend)
    return [_line(found) for found in told.value.findings]


def faults(definition: str) -> list[str]:
    """ "SEVERITY LINE:COLUMN message" of what the static checks say of a text that compiles."""
    workflow = compile_definition(*load_definition(Source("small.yaml", definition)))
    found = lint.check(workflow)
    return [f"{one.severity} {_at(one)} {one.message}" for one in found]


def _line(found) -> str:
    return f"{found.path}:{_at(found)}: {found.message}"


def _at(found) -> str:
    return f"{found.span.line + 1}:{found.span.column + 1}" if found.span else "-"


def where(definition: str, part: str, skip: int = 0) -> str:
    """ "LINE:COLUMN" of a part of a text."""
    offset = definition.index(part)
    for _ in range(skip):
        offset = definition.index(part, offset + 1)
    line = definition.count("\n", 0, offset)
    return f"{line + 1}:{offset - definition.rfind(chr(10), 0, offset)}"
