"""Fences of git, pre-commit and builds: put in beside what others wrote, taken out without a trace."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from phasekeeper.tools.fence.build_files import (
    ACTION,
    ACTION_PATH,
    CHECK,
    PRE_COMMIT_ID,
    WORKFLOW,
    with_git_hook,
    with_pre_commit_entry,
    without_git_hook,
    without_pre_commit_entry,
)

from tests.published_schemas import is_github_file
from tests.roots import put

REPOSITORY = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "before", ["", "#!/bin/sh\nexit 0\n", "#!/usr/bin/env bash\nset -e\n", "#!/bin/dash\n"]
)
def test_a_hook_of_git_asks_before_the_rest_of_it_and_loses_that_again(before: str) -> None:
    after = with_git_hook(before)
    lines = after.splitlines()
    assert lines[0] == (before or "#!/bin/sh").splitlines()[0]
    assert lines[2] == f"{CHECK} </dev/null || exit 1"
    assert with_git_hook(after) == after
    assert without_git_hook(after) == ("" if before in ("", "#!/bin/sh\n") else before)


def test_an_older_block_of_ours_is_replaced_and_a_hook_that_is_no_shell_script_left_alone() -> None:
    older = "#!/bin/sh\n# >>> phasekeeper: as it was\nold\n# <<< phasekeeper\nmine\n"
    assert with_git_hook(older) == with_git_hook("#!/bin/sh\nmine\n")
    for text in ("#!/usr/bin/env python3\n", "echo\n"):
        with pytest.raises(ValueError, match="no shell script"):
            with_git_hook(text)
        assert without_git_hook(text) == text


CONFIGS = [
    """\
repos:
  - repo: a
    rev: v1
    hooks:
      - id: x
        args: [1,
          2]
# end
ci: {a: 1}
""",
    "repos:\n- repo: a\n  hooks:\n  - {id: x}",
    """\
default_stages: [pre-commit]
repos:
    # first
    - repo: a
      hooks:
      - id: x
        name: >-
          two
          lines

""",
]


@pytest.mark.parametrize("before", CONFIGS)
def test_pre_commit_gets_an_entry_after_those_of_others(before: str) -> None:
    after = with_pre_commit_entry(before)
    repos, others = yaml.safe_load(after)["repos"], yaml.safe_load(before)["repos"]
    assert (repos[:-1], repos[-1]["hooks"][0]["id"]) == (others, PRE_COMMIT_ID)
    rest = {key: value for key, value in yaml.safe_load(after).items() if key != "repos"}
    assert rest == {key: value for key, value in yaml.safe_load(before).items() if key != "repos"}
    assert with_pre_commit_entry(after) == after
    assert without_pre_commit_entry(after).rstrip("\n") == before.rstrip("\n")


def test_a_configuration_of_ours_alone_comes_and_goes_as_a_file() -> None:
    assert without_pre_commit_entry(with_pre_commit_entry("")) == ""
    assert without_pre_commit_entry(CONFIGS[0]) == CONFIGS[0]


@pytest.mark.parametrize(
    "text", ["repos: []\n", "repos: [{repo: a, hooks: []}]\n", "repos: x\n", "[]\n", "a: &b 1\n"]
)
def test_a_configuration_without_a_place_for_an_entry_is_left_alone(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        with_pre_commit_entry(text)


def test_an_entry_that_was_changed_is_not_taken_out() -> None:
    changed = with_pre_commit_entry("").replace("always_run: true", "always_run: false")
    with pytest.raises(ValueError, match="was changed: take it out by hand"):
        without_pre_commit_entry(changed)
    with pytest.raises(ValueError, match="was changed"):
        with_pre_commit_entry(changed)


# ---- what is published in this repository --------------------------------------------------------


def test_the_manifest_for_pre_commit_runs_the_same_command_as_the_other_fences() -> None:
    [hook] = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    [entry] = yaml.safe_load(with_pre_commit_entry(""))["repos"][0]["hooks"]
    differing = {key for key in hook | entry if hook.get(key) != entry.get(key)}
    assert (hook["entry"], hook["id"]) == (CHECK, PRE_COMMIT_ID)
    assert differing == {"description", "language", "minimum_pre_commit_version", "stages"}


def test_the_action_of_this_repository_is_the_one_that_is_installed() -> None:
    assert (REPOSITORY / ACTION_PATH).read_text(encoding="utf-8") == ACTION


@pytest.mark.parametrize(("kind", "text"), [("actions", ACTION), ("workflows", WORKFLOW)])
def test_action_and_workflow_have_the_form_that_github_publishes(
    kind: str, text: str, tmp_path: Path
) -> None:
    assert is_github_file(kind, put(tmp_path / "right.yml", text))
    assert not is_github_file(kind, put(tmp_path / "wrong.yml", text.replace("runs", "walks")))
