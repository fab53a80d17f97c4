"""Fences of git and of builds, as texts: a block in git's hooks, its merge driver, an entry for pre-commit, a
composite action.

All of them run `phasekeeper check --gates`, which judges from the files alone. A hook is put up beside what
somebody else wrote, and taken out again without a trace.
"""

from __future__ import annotations

import re
from typing import Any

from ...orchestration.formats.yaml_text import Broken, Node, read_yaml, typed_value

CHECK = "phasekeeper check --gates --allow waiting"
"""The command of every fence: an awaited person stops no commit, a failed gate does."""

# ---- git ----------------------------------------------------------------------------------------

GIT_HOOKS = ("pre-commit", "pre-push")
_SHEBANG = "#!/bin/sh\n"
# Git gives a hook the list of what is pushed on stdin, which may be for another part of it.
_BLOCK = f"""\
# >>> phasekeeper: a commit or push that a failed gate forbids is stopped
{CHECK} </dev/null || exit 1
# <<< phasekeeper
"""
_OWN_BLOCK = re.compile(r"^# >>> phasekeeper\b.*?^# <<< phasekeeper\n", re.DOTALL | re.MULTILINE)
_SHELL = re.compile(r"#!\s*\S*/(?:env\s+)?(?:sh|bash|dash|zsh|ksh)\b[^\n]*\n")


def with_git_hook(text: str) -> str:
    """The text of a hook of git with our block first in it. Raises ValueError for what is no shell script."""
    own = _OWN_BLOCK.search(text)
    if own:
        return text[: own.start()] + _BLOCK + text[own.end() :]
    if not text.strip():
        return _SHEBANG + _BLOCK
    head = _SHELL.match(text)
    if head is None:
        raise ValueError("it is no shell script")
    return text[: head.end()] + _BLOCK + text[head.end() :]


def without_git_hook(text: str) -> str:
    """The text of a hook without our block, "" where nothing else stands in it."""
    left = _OWN_BLOCK.sub("", text, count=1)
    return "" if left == _SHEBANG else left


MERGE_DRIVER = """\
[merge "phasekeeper"]
\tname = journals and plans of Phasekeeper
\tdriver = phasekeeper merge-journal %O %A %B %P
"""
_ANY_DRIVER = re.compile(r'^[ \t]*\[merge "phasekeeper"\]', re.MULTILINE)
# In a file of the clone, not in .gitattributes: who has no driver merges lines by union, as those say.
MERGED_FILES = ("**/.phasekeeper/journal.jsonl", "**/MASTER_PLAN.md")
_ATTRIBUTES = tuple(f"{each} merge=phasekeeper\n" for each in MERGED_FILES)


def with_merge_driver(text: str) -> str:
    """The text of git's configuration with our merge driver last; one that somebody set up by hand stays."""
    return text if _ANY_DRIVER.search(text) else _with_line_end(text) + MERGE_DRIVER


def without_merge_driver(text: str) -> str:
    return text.replace(MERGE_DRIVER, "", 1)


def with_merge_attributes(text: str) -> str:
    """The text of .git/info/attributes in which journals and plans are merged by our driver."""
    lines = text.splitlines(keepends=True)
    missing = [each for each in _ATTRIBUTES if each.strip() not in map(str.strip, lines)]
    return _with_line_end(text) + "".join(missing) if missing else text


def without_merge_attributes(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if line not in _ATTRIBUTES)


def _with_line_end(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


# ---- pre-commit ---------------------------------------------------------------------------------

PRE_COMMIT_PATH = ".pre-commit-config.yaml"
PRE_COMMIT_ID = "phasekeeper-gates"
_ENTRY = f"""\
- repo: local
  hooks:
    - id: {PRE_COMMIT_ID}
      name: gates of phasekeeper
      entry: {CHECK}
      language: system
      pass_filenames: false
      always_run: true
      require_serial: true
      stages: [pre-commit, pre-push]
"""
_NEW_CONFIG = "repos:\n"


def with_pre_commit_entry(text: str) -> str:
    """The text of a configuration of pre-commit with our entry last. Raises ValueError where it has no place.

    All else stays byte for byte, which is proved by reading what comes of it.
    """
    text = text or _NEW_CONFIG + _indent_entry("  ")
    repos, before = _repositories(text)
    own = typed_value(read_yaml(_ENTRY))
    if found := [each for each in before if _is_own(each)]:
        if found != own:
            raise ValueError(f"its entry {PRE_COMMIT_ID} was changed")
        return text
    if not isinstance(repos.value, list) or not repos.value or text[repos.start] != "-":
        raise ValueError("its repos are no list in lines of their own")
    indent = " " * repos.span.column
    lines = text.splitlines(keepends=True)
    end = _last_line(repos) + 1
    if not lines[end - 1].endswith("\n"):
        lines[end - 1] += "\n"
    after = "".join((*lines[:end], _indent_entry(indent), *lines[end:]))
    if _repositories(after)[1] != before + own:  # pyright: ignore[reportOperatorIssue] - both are lists
        raise ValueError("its repos cannot be added to without changing them")
    return after


def without_pre_commit_entry(text: str) -> str:
    """The text without our entry, "" where nothing else stands in it. Raises ValueError for a changed one."""
    if not any(_is_own(each) for each in _repositories(text)[1]):
        return text
    if text == _NEW_CONFIG + _indent_entry("  "):
        return ""
    for indent in range(9):
        own = _indent_entry(" " * indent)
        if f"\n{own}" in f"\n{text}":
            return text.replace(own, "", 1)
    raise ValueError(f"its entry {PRE_COMMIT_ID} was changed: take it out by hand")


def _repositories(text: str) -> tuple[Node, list[Any]]:
    """The list of repositories, as a node and as data. Raises ValueError."""
    try:
        root = read_yaml(text)
    except Broken as error:
        raise ValueError(str(error)) from None
    node = root.value.get("repos") if isinstance(root.value, dict) else None
    data = typed_value(node) if node else None
    if node is None or not isinstance(data, list):
        raise ValueError("it has no list of repos")
    return node, data


def _is_own(entry: object) -> bool:
    hooks = entry.get("hooks") if isinstance(entry, dict) else None
    return isinstance(hooks, list) and any(
        isinstance(hook, dict) and hook.get("id") == PRE_COMMIT_ID for hook in hooks
    )


def _last_line(node: Node) -> int:
    """The last line of a value that has text."""
    if isinstance(node.value, dict):
        return max(map(_last_line, node.value.values()), default=node.span.end_line)
    if isinstance(node.value, list):
        closed = [node.span.end_line] if node.span.end_column else []
        return max([*map(_last_line, node.value), *closed], default=node.span.line)
    return node.span.end_line - (node.span.end_column == 0)


def _indent_entry(indent: str) -> str:
    return "".join(f"{indent}{line}\n" for line in _ENTRY.splitlines())


# ---- GitHub -------------------------------------------------------------------------------------

ACTION_PATH = ".github/actions/phasekeeper/action.yml"
WORKFLOW_PATH = ".github/workflows/phasekeeper.yml"
WORKFLOW = """\
# Measures what the work rests on, then asks the gates: nothing that the working copy claims is trusted.
name: gates
on: [push, pull_request]
permissions:
  contents: read
  security-events: write
jobs:
  gates:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with: {persist-credentials: false}
      - uses: actions/setup-python@5fda3b95a4ea91299a34e894583c3862153e4b97 # v7.0.0
        with: {python-version: "3.x"}
      - uses: ./.github/actions/phasekeeper
"""
ACTION = """\
name: Phasekeeper gates
description: Runs the checks of the commit, asks the gates, and shows findings as annotations and SARIF.
inputs:
  root:
    description: The folder of the work, from the top of the checkout
    required: false
    default: .
  package:
    description: What pip installs; `phasekeeper==` and a version keep to one
    required: false
    default: phasekeeper
  basis:
    description: The least that a passed gate may rest on, as `measured`; without one a word is enough
    required: false
    default: ""
  allow-waiting:
    description: Whether a run that awaits a person passes
    required: false
    default: "true"
  upload-sarif:
    description: Whether findings go to code scanning, which needs `security-events` to be writable
    required: false
    default: "true"
outputs:
  sarif:
    description: The file with the findings
    value: ${{ steps.gates.outputs.sarif }}
runs:
  using: composite
  steps:
    # Isolated: no module of the checkout takes the place of one that is needed here.
    - name: Install Phasekeeper
      id: install
      shell: bash
      env:
        PACKAGE: ${{ inputs.package }}
      run: |
        python3 -I -m venv "$RUNNER_TEMP/phasekeeper"
        "$RUNNER_TEMP/phasekeeper/bin/python" -I -m pip install --quiet --disable-pip-version-check "$PACKAGE"
    - name: Measure
      id: measure
      shell: bash
      env:
        ROOT: ${{ inputs.root }}
      run: |
        code=0
        "$RUNNER_TEMP/phasekeeper/bin/phasekeeper" verify --trust-head --root "$ROOT" || code=$?
        echo "code=$code" >> "$GITHUB_OUTPUT"
    - name: Ask the gates
      id: gates
      shell: bash
      env:
        ROOT: ${{ inputs.root }}
        BASIS: ${{ inputs.basis }}
        ALLOW_WAITING: ${{ inputs.allow-waiting }}
      run: |
        words=(check --cold --gates --root "$ROOT")
        if [ -n "$BASIS" ]; then words+=(--basis "$BASIS"); fi
        if [ "$ALLOW_WAITING" = true ]; then words+=(--allow waiting); fi
        sarif="$RUNNER_TEMP/phasekeeper.sarif"
        "$RUNNER_TEMP/phasekeeper/bin/phasekeeper" "${words[@]}" --format sarif > "$sarif" || true
        if [ -s "$sarif" ]; then echo "sarif=$sarif" >> "$GITHUB_OUTPUT"; fi
        code=0
        "$RUNNER_TEMP/phasekeeper/bin/phasekeeper" "${words[@]}" --format github || code=$?
        echo "code=$code" >> "$GITHUB_OUTPUT"
    # A pull request of a fork may not write there; its annotations are enough.
    - name: Upload the findings
      if: inputs.upload-sarif == 'true' && steps.gates.outputs.sarif != ''
      continue-on-error: true
      uses: github/codeql-action/upload-sarif@2892aa5e19bbd11bc0cff5427e3b750a04d9e3c2 # v4.38.2
      with:
        sarif_file: ${{ steps.gates.outputs.sarif }}
        category: phasekeeper
    - name: Tell the verdict
      shell: bash
      env:
        MEASURED: ${{ steps.measure.outputs.code }}
        JUDGED: ${{ steps.gates.outputs.code }}
      run: |
        tell() {
          if [ "$2" != 0 ]; then echo "::error title=phasekeeper::phasekeeper $1 ended with ${2:-nothing}"; fi
        }
        tell verify "$MEASURED"
        tell check "$JUDGED"
        [ "$MEASURED" = 0 ] && [ "$JUDGED" = 0 ]
"""
GITHUB_FILES = {ACTION_PATH: ACTION, WORKFLOW_PATH: WORKFLOW}
