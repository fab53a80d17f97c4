"""A root's `.phasekeeper/config.yaml`: parameters, which workflow a folder has, roots, checks, guards.

Data only: nothing here runs a check.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..evidence.checks import KEYS as CHECK_KEYS
from ..evidence.checks import REPORTS, Check, read_checks
from ..findings import Finding, Problem, Span, finding
from ..formats.yaml_text import Broken, Node, locate_yaml, read_yaml, typed_value
from ..suggestions import did_you_mean, misspelling
from ..vfs.files import File
from ..vfs.glob import fits
from .shapes import BOOL, TEXT, TYPED, Key, Shape, list_of, map_of, struct, word

PATH = ".phasekeeper/config.yaml"
EVERY_RUN = "**"
_GUARD = {
    "runs": Key(list_of(TEXT), "patterns of their folders; ** is every run", required=True),
    "fail": Key(word("open", "closed"), "what an assistant may do where no verdict can be had"),
}
_FLEET = {
    "project": Key(TEXT, "the id by which machines know this project", required=True),
    "share": Key(word("ids", "full"), "what others see: ids and states (ids), or titles and reasons too"),
}
_DECIDE = {
    "ssh": Key(BOOL, "decisions on a terminal are signed with people's SSH keys; counts once committed"),
}
_PROJECT = re.compile(r"[A-Za-z0-9_-]{1,40}\Z")
_LISTS = {"run", "inputs", "definition"}
_SHAPES: dict[str, Shape] = {"reports": struct("reports of a check"), "timeout_s": TYPED}
STRUCTS: dict[str, dict[str, Key]] = {
    "configuration": {
        "parameters": Key(
            map_of(map_of(TYPED)), "values for the parameters of workflows, by workflow and name"
        ),
        "workflows": Key(map_of(TEXT), "which workflow the folders that fit have, by a pattern of folders"),
        "projects": Key(list_of(TEXT), "folders that are roots of their own"),
        "checks": Key(map_of(struct("check")), "what can be run to measure the work, by name"),
        "guard": Key(struct("guard"), "which runs assistants may not pass the gates of"),
        "fleet": Key(struct("fleet"), "the machines that share claims and a board of this project"),
        "decide": Key(struct("decide"), "how a decision is proven to be a person's"),
    },
    "decide": _DECIDE,
    "fleet": _FLEET,
    "guard": _GUARD,
    "check": {
        key: Key(list_of(TEXT) if key in _LISTS else _SHAPES[key], about, key == "run")
        for key, about in CHECK_KEYS.items()
    },
    "reports of a check": {kind: Key(TEXT, about) for kind, about in REPORTS.items()},
}
"""The grammar of the configuration: every kind of map, its keys, and what they hold."""
KEYS = tuple(STRUCTS["configuration"])


@dataclass(frozen=True)
class Guard:
    """The runs whose gates hold assistants back, by patterns of their folders. With `fails_closed` an
    assistant may do nothing of what it asks for where no verdict can be had."""

    runs: tuple[str, ...] = ()
    fails_closed: bool = False

    def covers(self, run: str) -> bool:
        """True if a run is guarded."""
        return any(pattern in (run, EVERY_RUN) or fits(pattern, run) for pattern in self.runs)

    def with_other(self, other: Guard) -> Guard:
        """The stricter of both: what one of them guards is guarded."""
        runs = tuple(dict.fromkeys((*self.runs, *other.runs)))
        return Guard(runs, self.fails_closed or other.fails_closed)


@dataclass(frozen=True)
class FleetProject:
    """The id of a project among the machines that share it. Which servers those use no workspace can say.

    With `shares_texts` others see titles and reasons too.
    """

    project: str
    shares_texts: bool = False


@dataclass(frozen=True)
class Config:
    """`parameters`: workflow to name to value. `workflows`: glob of run folders to a workflow's name.

    `places` says where each parameter stands, by (workflow, name). `has_ssh_decisions` counts of the commit
    HEAD's configuration alone.
    """

    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    workflows: Mapping[str, str] = field(default_factory=dict)
    projects: tuple[str, ...] = ()
    checks: Mapping[str, Check] = field(default_factory=dict)
    guard: Guard = field(default_factory=Guard)
    fleet: FleetProject | None = None
    has_ssh_decisions: bool = False
    places: Mapping[tuple[str, str], Span] = field(default_factory=dict, repr=False)
    findings: tuple[Finding, ...] = ()

    def of(self, workflow: str) -> Mapping[str, Any]:
        """The parameters set for a workflow."""
        return self.parameters.get(workflow, {})


def config_in(file: File) -> Config:
    """The configuration that a file holds; none, with a finding, where something else is in its place."""
    if file.text is None and file.problem:
        return Config(findings=(finding(Problem("parameter-invalid", file.problem.message), PATH),))
    return read_config(file.text or "")


def read_config(text: str) -> Config:
    """The configuration in `text`. Never raises: what is wrong is a finding, and is left out."""
    lines = (line.strip("\ufeff \t") for line in text.splitlines())
    if all(not line or line.startswith("#") for line in lines):
        # Only blank lines and comments: what `init` leaves to be filled in.
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
            wrong.append(Problem("parameter-invalid", said, node.keys[key], data=misspelling(key, KEYS)))
    values: dict[str, dict[str, Any]] = {}
    places: dict[tuple[str, str], Span] = {}
    for workflow, entries in _map(top.get("parameters"), "parameters", wrong).items():
        values[workflow] = {}
        for name, value in _map(entries, f"parameters of {workflow}", wrong).items():
            values[workflow][name] = None if value.kind == "map" else typed_value(value)
            places[workflow, name] = value.span
    workflows = _map(top.get("workflows"), "workflows", wrong)
    names = {key: _name(each, f"workflows: {key} must be a name", wrong) for key, each in workflows.items()}
    declared = top.get("checks")
    no_checks = declared is None or (declared.kind == "scalar" and typed_value(declared) is None)
    checks = {} if declared is None or no_checks else read_checks(declared, wrong)
    projects, folders = top.get("projects"), []
    if projects and isinstance(projects.value, list):
        folders = [_name(each, "a project must be a folder's path", wrong) for each in projects.value]
    elif projects:
        wrong.append(Problem("parameter-invalid", "projects must be a list of folders", projects.span))
    return Config(
        values,
        {key: name for key, name in names.items() if name},
        tuple(filter(None, folders)),
        checks,
        _guard(top.get("guard"), wrong),
        _fleet(top.get("fleet"), wrong),
        _has_ssh_decisions(top.get("decide"), wrong),
        places,
        tuple(finding(problem, PATH) for problem in wrong),
    )


def _guard(node: Node | None, wrong: list[Problem]) -> Guard:
    """The guard that a node declares; one that is written wrongly guards every run."""
    if node is None or (node.kind == "scalar" and typed_value(node) is None):
        return Guard()
    entries = _known_entries(node, "guard", wrong)
    runs, fail = entries.get("runs"), entries.get("fail")
    listed = runs.value if runs and isinstance(runs.value, list) else []
    patterns = [_name(each, "a pattern of runs must be a text", wrong) for each in listed]
    if not patterns and isinstance(node.value, dict):
        place = runs.span if runs else node.span
        wrong.append(Problem("parameter-invalid", "guard needs runs: a list of patterns, as ['**']", place))
    if fail and fail.value not in ("open", "closed"):
        wrong.append(Problem("parameter-invalid", "fail must be open or closed", fail.span))
    is_whole = bool(patterns) and all(patterns)
    return Guard(tuple(patterns) if is_whole else (EVERY_RUN,), fail is not None and fail.value != "open")


def _has_ssh_decisions(node: Node | None, wrong: list[Problem]) -> bool:
    """True if a node has decisions signed with SSH keys; what is written wrongly has not."""
    ssh = _known_entries(node, "decide", wrong).get("ssh")
    value = typed_value(ssh) if ssh and ssh.kind == "scalar" else None
    if ssh and not isinstance(value, bool):
        wrong.append(Problem("parameter-invalid", "ssh must be true or false", ssh.span))
    return value is True


def _known_entries(node: Node | None, what: str, wrong: list[Problem]) -> Mapping[str, Node]:
    """The entries of a map of the grammar; a key that it does not have is a problem."""
    entries, known = _map(node, what, wrong), tuple(STRUCTS[what])
    for key in entries:
        if key not in known:
            said = f"unknown key {key!r} of {what}{did_you_mean(key, known)}"
            place = node.keys[key] if node else None
            wrong.append(Problem("parameter-invalid", said, place, data=misspelling(key, known)))
    return entries


def _fleet(node: Node | None, wrong: list[Problem]) -> FleetProject | None:
    """The project that a node declares; one that is written wrongly is shared with nobody."""
    entries = _known_entries(node, "fleet", wrong)
    project, share = entries.get("project"), entries.get("share")
    if node is None or not entries:
        return None
    if not (project and isinstance(project.value, str) and _PROJECT.match(project.value)):
        said = "fleet needs project: an id of letters, digits, _ and -, at most 40"
        wrong.append(Problem("parameter-invalid", said, (project or node).span))
        return None
    if share and share.value not in ("ids", "full"):
        wrong.append(Problem("parameter-invalid", "share must be ids or full", share.span))
    return FleetProject(project.value, share is not None and share.value == "full")


def _map(node: Node | None, what: str, wrong: list[Problem]) -> Mapping[str, Node]:
    if node is None or (node.kind == "scalar" and typed_value(node) is None):
        return {}
    if isinstance(node.value, Mapping):
        return node.value
    wrong.append(Problem("parameter-invalid", f"{what} must be a map", node.span))
    return {}


def _name(node: Node, otherwise: str, wrong: list[Problem]) -> str:
    """The text of a node, or "" and a problem where it has none."""
    if isinstance(node.value, str) and node.value.strip():
        return node.value
    wrong.append(Problem("parameter-invalid", otherwise, node.span))
    return ""


def with_guard(text: str, guard: Guard) -> str:
    """The text of a configuration with this guard in place of its own; all else stays byte for byte."""
    lines = text.splitlines(keepends=True)
    key, value = locate_yaml(text, ("guard",), key=True), locate_yaml(text, ("guard",))
    if key and value:
        # A value that ends at the beginning of a line has none of it.
        end = max(value.end_line + (value.end_column > 0), key.line + 1)
        before, after = lines[: key.line], lines[end:]
    else:
        before, after = lines, []
    if before and not before[-1].endswith("\n"):
        before[-1] += "\n"
    fail = ", fail: closed" if guard.fails_closed else ""
    own = f"guard: {{runs: {json.dumps(list(guard.runs))}{fail}}}\n" if guard.runs else ""
    return "".join((*before, own, *after))
