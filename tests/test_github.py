"""What GitHub reads: of the published forms, with few permissions, and actions that cannot change."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from phasekeeper.tools.fence.build_files import ACTION, WORKFLOW

from tests.published_schemas import is_valid_file

GITHUB = Path(__file__).parents[1] / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
FIXED = re.compile(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
"""An action at one commit, with the version that this is."""


def _jobs(path: Path) -> dict[str, dict[str, Any]]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]


def _used(text: str) -> list[str]:
    return re.findall(r"(?m)^\s*(?:- )?uses: (.+)$", text)


def test_every_file_has_the_form_that_is_published_for_it() -> None:
    assert is_valid_file("github-workflows", *WORKFLOWS)
    assert is_valid_file("github-issue-forms", *FORMS)
    assert is_valid_file("github-issue-config", GITHUB / "ISSUE_TEMPLATE/config.yml")
    assert is_valid_file("dependabot", GITHUB / "dependabot.yml")


@pytest.mark.parametrize("text", [*(path.read_text("utf-8") for path in WORKFLOWS), ACTION, WORKFLOW])
def test_every_action_is_one_commit(text: str) -> None:
    actions = [action for action in _used(text) if not action.startswith("./")]
    assert actions and [action for action in actions if not FIXED.fullmatch(action)] == []


def test_an_action_that_can_change_is_seen() -> None:
    assert not FIXED.fullmatch("actions/checkout@v4") and not FIXED.fullmatch(f"a/b@{'0' * 40}")
    assert _used("- uses: a/b@v1\n  - name: c\n    uses: d/e@v2 # v2") == ["a/b@v1", "d/e@v2 # v2"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_has_no_permission_and_each_job_the_least(path: Path) -> None:
    assert yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"] == {}
    for name, job in _jobs(path).items():
        written = {scope for scope, access in job["permissions"].items() if access == "write"}
        assert written <= _MAY_WRITE.get((path.stem, name), set()), name
        assert job["timeout-minutes"] <= 90


_MAY_WRITE = {
    ("release", "attest"): {"id-token", "attestations"},
    ("release", "package-index"): {"id-token"},
    ("release", "marketplaces"): {"id-token"},
    ("release", "mcp-registry"): {"id-token"},
    ("release", "github-release"): {"contents"},
}


def test_a_release_needs_no_password_and_a_person() -> None:
    text = (GITHUB / "workflows/release.yml").read_text(encoding="utf-8")
    assert "secrets." not in text
    publishing = {
        name: job for name, job in _jobs(GITHUB / "workflows/release.yml").items() if "environment" in job
    }
    assert set(publishing) == {"package-index", "marketplaces", "mcp-registry"}


def test_nothing_is_published_before_it_was_built_twice_and_signed() -> None:
    jobs = _jobs(GITHUB / "workflows/release.yml")

    def before(name: str) -> set[str]:
        needs = jobs[name].get("needs", [])
        direct = {needs} if isinstance(needs, str) else set(needs)
        return direct.union(*map(before, direct))

    assert all({"build", "attest"} <= before(name) for name in set(jobs) - {"build", "attest"})
    assert any("make release" in step.get("run", "") for step in jobs["build"]["steps"])


def test_the_tests_run_on_every_system_and_python_that_is_supported() -> None:
    matrix = _jobs(GITHUB / "workflows/tests.yml")["systems"]["strategy"]["matrix"]
    classifiers = (GITHUB.parent / "pyproject.toml").read_text(encoding="utf-8")
    assert matrix["python"] == re.findall(r"Python :: (3\.\d+)\"", classifiers)
    assert [system.split("-")[0] for system in matrix["system"]] == ["ubuntu", "macos", "windows"]
