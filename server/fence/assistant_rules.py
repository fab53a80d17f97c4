"""Rules in assistants' settings that keep them from a person's commands and from Phasekeeper's own files.

They are a fence, not a wall: what they do not stop is told in README.md. Where an assistant has no way to
tell one command of a program from another, only the files are fenced; a decision needs a terminal anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ...orchestration.definition.model import Workflow
from ...orchestration.evaluation.write_check import OWN_FILES, ROOT_FILES
from ...orchestration.journal.lines import FOLDER
from ..store.additive_edits import PlannedFile, SkippedFile, plan_deny_rules, plan_file

DECISIONS = ("answer", "approve", "resolve", "adopt", "override", "trust")
"""The commands by which a person decides; a test compares them with the catalogue."""
_PYTHONS = ("python", "python3")
_WHY = "a person decides: show the question with `phasekeeper questions`, and wait"
# What only Phasekeeper and people write, of the root and of each run. The sessions beside it are work
# of assistants, and a rule that names the folder would deny all below it.
_OWN = (*OWN_FILES, *ROOT_FILES)
_FILES = tuple(f"{before}{FOLDER}/{name}" for before in ("", "**/") for name in _OWN)


def decision_files(workflows: Iterable[Workflow]) -> tuple[str, ...]:
    """The paths in a run's folder that hold a person's decision (`decided_by`)."""
    artifacts = (artifact for workflow in workflows for artifact in workflow.artifacts.values())
    paths = (path for artifact in artifacts if artifact.decided_by for path in artifact.paths)
    return tuple(dict.fromkeys(paths))


def _commands() -> list[str]:
    """The beginnings of the commands by which a person decides."""
    programs = ("phasekeeper", *(f"{python} -m phasekeeper" for python in _PYTHONS))
    return [f"{program} {command}" for program in programs for command in DECISIONS]


def claude_rules(decided: Sequence[str]) -> tuple[str, ...]:
    """The deny rules of Claude Code, with the files that hold decisions."""
    files = (*_FILES, *(f"**/{path}" for path in decided))
    return (
        *(f"Bash({command}:*)" for command in _commands()),
        *(f"{tool}({file})" for file in files for tool in ("Edit", "Write")),
    )


def cursor_rules(decided: Sequence[str]) -> tuple[str, ...]:
    """The deny rules of Cursor, with the files that hold decisions."""
    files = (*_FILES, *(f"**/{path}" for path in decided))
    shell = (f"Shell(phasekeeper:{command}*)" for command in DECISIONS)
    return (*shell, *(f"Write({file})" for file in files))


_WORDS = ", ".join(f'"{command}"' for command in DECISIONS)
CODEX = f"""\
# Written by `phasekeeper init`: decisions are a person's. Loaded where the project is trusted.
# These rules know commands only: files are fenced by nothing here.
prefix_rule(
    pattern = ["phasekeeper", [{_WORDS}]],
    decision = "forbidden",
    justification = "{_WHY}",
    match = ["phasekeeper approve RUN"],
    not_match = ["phasekeeper report RUN STEP ok"],
)
prefix_rule(
    pattern = [[{", ".join(f'"{python}"' for python in _PYTHONS)}], "-m", "phasekeeper", [{_WORDS}]],
    decision = "forbidden",
    justification = "{_WHY}",
    match = ["python3 -m phasekeeper approve RUN"],
)
"""
_PREFIXES = "".join(f'  "{command}",\n' for command in _commands())
_PARTS = "|".join(name.rstrip("*").replace(".", r"\.") for name in _OWN)
_GEMINI = f"""\
# Written by `phasekeeper init`: decisions are a person's, and so are Phasekeeper's own files.
[[rule]]
toolName = "run_shell_command"
commandPrefix = [
{_PREFIXES}]
decision = "deny"
priority = 900
denyMessage = "{_WHY}"

[[rule]]
toolName = ["write_file", "replace"]
argsPattern = '"file_path":"([^"]*/)?\\.phasekeeper/({_PARTS})'
decision = "deny"
priority = 900
denyMessage = "Phasekeeper writes these files itself"
"""


def gemini_policies(decided: Sequence[str]) -> str:
    """The policies of Gemini, with the files that hold decisions; of a pattern its folders without a glob."""
    plain = [path for path in decided if not any(character in path for character in "*?[]'")]
    if not plain:
        return _GEMINI
    return f"""{_GEMINI}
[[rule]]
toolName = ["write_file", "replace"]
argsPattern = '"file_path":"([^"]*/)?({"|".join(map(re.escape, plain))})"'
decision = "deny"
priority = 900
denyMessage = "{_WHY}"
"""


_Fence = Callable[[Path, Sequence[str]], "PlannedFile | SkippedFile | None"]
FENCES: dict[str, tuple[str, _Fence]] = {
    "claude": (
        ".claude",
        lambda at, files: plan_deny_rules(at, ".claude/settings.json", claude_rules(files)),
    ),
    "codex": (".codex", lambda at, _: plan_file(at, ".codex/rules/phasekeeper.rules", CODEX)),
    "cursor": (".cursor", lambda at, files: plan_deny_rules(at, ".cursor/cli.json", cursor_rules(files))),
    "gemini": (
        ".gemini",
        lambda at, files: plan_file(at, ".gemini/policies/phasekeeper.toml", gemini_policies(files)),
    ),
}
"""name of an assistant -> (the folder of its settings, what its fence has to be made of)"""


def fences(
    root: Path, names: Sequence[str] | None, workflows: Iterable[Workflow]
) -> list[PlannedFile | SkippedFile]:
    """What is missing in the settings of these assistants; for None of Claude Code's, and of those whose
    folder is there. Raises StoreError for a file that cannot be read."""
    decided = decision_files(workflows)
    if names is None:
        names = [name for name, (folder, _) in FENCES.items() if name == "claude" or (root / folder).is_dir()]
    made = (FENCES[name][1](root, decided) for name in dict.fromkeys(names))
    return [each for each in made if each is not None]
