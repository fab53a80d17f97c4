"""Definitions as lines on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

from ...orchestration.definition.model import Gate, Phase, Question, Workflow
from ...orchestration.sanitize import plain
from ..workspace.definitions import DefinitionLibrary
from .lines import Line, Part


def printable(text: str, stream: IO[str]) -> str:
    """A definition's text as it is for a file or pipe; on a terminal without what could move the cursor."""
    return "".join(plain(line, 4096) + "\n" for line in text.splitlines()) if stream.isatty() else text


def summary(workflow: Workflow, library: DefinitionLibrary) -> dict[str, Any]:
    """One workflow in a list, as data. `at` are globs of the folders that may be its runs."""
    return {
        "name": workflow.name,
        "title": workflow.title,
        "digest": workflow.digest,
        "builtIn": workflow.name in library.built_in,
        "at": list(workflow.at),
    }


def summary_lines(workflow: Workflow, library: DefinitionLibrary) -> Iterator[Line]:
    """One workflow in a list, for people."""
    built_in = workflow.name in library.built_in
    where = "built in" if built_in else plain(library.own[workflow.name].path, 4096)
    yield [Part(plain(workflow.name), "run"), Part(f"  {plain(workflow.title)}"), Part(f"  ({where})", "dim")]
    yield [Part(f"  runs at {plain(', '.join(workflow.at))}", "dim")]


def workflow_lines(workflow: Workflow) -> Iterator[Line]:
    """A workflow for people: its phases with who does them, gates, limits, questions and parameters."""
    yield [Part(workflow.name, "run"), Part(f"  {plain(workflow.title)}")]
    yield [Part(f"  runs at {plain(', '.join(workflow.at))}", "dim")]
    yield from _section("phases", workflow.phases.values(), _phase)
    yield from _section("gates", workflow.gates, _gate)
    yield from _section("limits", workflow.limits.values(), lambda limit: f"at most {limit.max.source}")
    yield from _section("questions", workflow.questions.values(), _question)
    yield from _section("parameters", workflow.parameters.values(), lambda one: str(one.default))


def _section(title: str, entries: Iterable[Any], said: Callable[[Any], str]) -> Iterator[Line]:
    """A heading and a line for each entry; nothing when there is none."""
    for place, entry in enumerate(entries):
        if not place:
            yield [Part(title, "run")]
        yield [Part(f"  {plain(entry.id)}", "phase"), Part(f"  {plain(said(entry), 400)}")]


def _phase(phase: Phase) -> str:
    who = f" by {', '.join(phase.agents)}" if phase.agents else ""
    leaves = f", leaves {', '.join(phase.produces)}" if phase.produces else ""
    kind = " (detour)" if phase.detour else f" (ends: {phase.terminal})" if phase.terminal else ""
    title = "" if phase.title == phase.id else phase.title
    return f"{title}{kind}{who}{leaves}".strip()


def _gate(gate: Gate) -> str:
    return f"after {gate.after}: {'; '.join(criterion.text for criterion in gate.criteria)}"


def _question(question: Question) -> str:
    return f"{question.kind}: {', '.join(question.options)}"
