"""A root's `.phasekeeper/config.yaml`: parameters, which workflow a folder has, further roots. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..findings import Finding, Problem, Span, finding
from ..formats.yaml_text import Broken, Node, read_yaml, typed
from ..suggestions import did_you_mean, misspelling

PATH = ".phasekeeper/config.yaml"
KEYS = ("parameters", "workflows", "projects")


@dataclass(frozen=True)
class Config:
    """`parameters`: workflow to name to value. `workflows`: glob of run folders to a workflow's name.

    `places` says where each parameter stands, by (workflow, name).
    """

    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    workflows: Mapping[str, str] = field(default_factory=dict)
    projects: tuple[str, ...] = ()
    places: Mapping[tuple[str, str], Span] = field(default_factory=dict, repr=False)
    findings: tuple[Finding, ...] = ()

    def of(self, workflow: str) -> Mapping[str, Any]:
        """The parameters set for a workflow."""
        return self.parameters.get(workflow, {})


def read_config(text: str) -> Config:
    """The configuration in `text`. Never raises: what is wrong is a finding, and is left out."""
    if _says_nothing(text):
        return Config()
    try:
        node = read_yaml(text, "parameter-invalid")
    except Broken as broken:
        return Config(findings=tuple(finding(problem, PATH) for problem in broken.problems))
    wrong: list[Problem] = []
    top = _map(node, "the configuration", wrong)
    for key in top:
        if key not in KEYS:
            said = f"unknown key {key!r}{did_you_mean(key, KEYS)}"
            data = misspelling(key, KEYS)
            wrong.append(Problem("parameter-invalid", said, node.keys[key], data=data))
    parameters, places = _parameters(top.get("parameters"), wrong)
    workflows = _words(top.get("workflows"), "workflows", wrong)
    projects = _texts(top.get("projects"), wrong)
    return Config(parameters, workflows, projects, places, tuple(finding(problem, PATH) for problem in wrong))


def _says_nothing(text: str) -> bool:
    """Whether there are only blank lines and comments: what `init` leaves to be filled in."""
    lines = (line.strip("\ufeff \t") for line in text.splitlines())
    return all(not line or line.startswith("#") for line in lines)


def _problem(message: str, span: Span) -> Problem:
    return Problem("parameter-invalid", message, span)


def _map(node: Node | None, what: str, wrong: list[Problem]) -> Mapping[str, Node]:
    if node is None or (node.kind == "scalar" and typed(node) is None):
        return {}
    if not isinstance(node.value, Mapping):
        wrong.append(_problem(f"{what} must be a map", node.span))
        return {}
    return node.value


def _parameters(
    node: Node | None, wrong: list[Problem]
) -> tuple[dict[str, dict[str, Any]], dict[tuple[str, str], Span]]:
    values: dict[str, dict[str, Any]] = {}
    places: dict[tuple[str, str], Span] = {}
    for workflow, entries in _map(node, "parameters", wrong).items():
        values[workflow] = {}
        for name, value in _map(entries, f"parameters of {workflow}", wrong).items():
            values[workflow][name] = typed(value) if value.kind == "scalar" else None
            places[workflow, name] = value.span
    return values, places


def _words(node: Node | None, what: str, wrong: list[Problem]) -> dict[str, str]:
    found = {}
    for key, value in _map(node, what, wrong).items():
        if _is_name(value):
            found[key] = str(value.value)
        else:
            wrong.append(_problem(f"{what}: {key} must be a name", value.span))
    return found


def _texts(node: Node | None, wrong: list[Problem]) -> tuple[str, ...]:
    if node is None:
        return ()
    items = node.value if isinstance(node.value, list) else []
    if not isinstance(node.value, list):
        wrong.append(_problem("projects must be a list of folders", node.span))
    wrong += [_problem("a project must be a folder's path", i.span) for i in items if not _is_name(i)]
    return tuple(str(item.value) for item in items if _is_name(item))


def _is_name(node: Node) -> bool:
    return isinstance(node.value, str) and bool(node.value.strip())
