"""What is published says one version, one repository and one name, and registries take it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.server.version import VERSION, release

from tests.release.version import PLACES, with_version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTENSION = json.loads((ROOT / "vscode-extension/package.json").read_text(encoding="utf-8"))
SERVER = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
RELEASED = (0, 1, 0)
"""The newest version that anybody has; what is built from here is newer."""


# ---- the version -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLACES)
def test_every_file_has_the_version_of_the_program(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert with_version(text, PLACES[name]) == text, "run `make version`"
    assert f'"version": "{VERSION}"' in text


def test_another_version_is_seen() -> None:
    assert with_version('{\n  "version": "0.0.7",\n  "a": {\n "version": "1"}}', 1) == (
        f'{{\n  "version": "{VERSION}",\n  "a": {{\n "version": "1"}}}}'
    )


def test_the_version_is_one_that_python_and_the_marketplaces_read_alike() -> None:
    assert re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}", VERSION)
    assert release(VERSION) > RELEASED


def test_the_changelog_begins_with_what_is_not_released_or_with_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"(?m)^## (\S+)", text)
    assert sections[0] in ("Unreleased", VERSION)
    numbers = [release(section) for section in sections if section != "Unreleased"]
    assert numbers == sorted(numbers, reverse=True) and numbers[-1] == RELEASED


# ---- names and addresses ---------------------------------------------------------------------


def test_all_entries_name_one_repository() -> None:
    repository = PROJECT["urls"]["Repository"]
    assert EXTENSION["repository"] == {
        "type": "git",
        "url": f"{repository}.git",
        "directory": "vscode-extension",
    }
    assert EXTENSION["bugs"]["url"] == PROJECT["urls"]["Issues"] == f"{repository}/issues"
    assert SERVER["repository"] == {"url": repository, "source": "github"}


def test_the_entry_of_the_mcp_registry_is_within_its_limits() -> None:
    assert set(SERVER) == {"$schema", "name", "title", "description", "version", "repository", "packages"}
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", SERVER["name"])
    assert 0 < len(SERVER["description"]) <= 100 and 0 < len(SERVER["title"]) <= 100


def test_the_entry_of_the_mcp_registry_starts_the_program_that_is_installed() -> None:
    [package] = SERVER["packages"]
    [argument] = package["packageArguments"]
    assert (package["registryType"], package["runtimeHint"]) == ("pypi", "uvx")
    assert package["transport"] == {"type": "stdio"}
    # `uvx NAME WORDS` starts the command of the package's own name.
    assert package["identifier"] == PROJECT["name"] and package["identifier"] in PROJECT["scripts"]
    assert argument == {"type": "positional", "value": "mcp"}


def test_the_readme_proves_to_the_mcp_registry_whose_package_it_is() -> None:
    assert f"<!-- mcp-name: {SERVER['name']} -->" in (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")


def test_the_extension_has_what_the_marketplaces_show() -> None:
    needed = {
        "displayName",
        "publisher",
        "description",
        "license",
        "icon",
        "categories",
        "repository",
        "bugs",
    }
    assert needed <= set(EXTENSION)
    assert (ROOT / "vscode-extension" / EXTENSION["icon"]).is_file()
    assert EXTENSION["license"] == PROJECT["license"]
    # Open VSX takes at most so many, the other marketplace too.
    assert 0 < len(EXTENSION["keywords"]) <= 30 and len(EXTENSION["description"]) <= 200


def _linked(text: str) -> list[str]:
    return re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "ARCHITECTURE.md"])
def test_every_link_of_a_document_leads_somewhere(name: str) -> None:
    links = _linked((ROOT / name).read_text(encoding="utf-8"))
    missing = [link for link in links if not link.startswith("https:") and not (ROOT / link).exists()]
    assert missing == []


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in _texts(each)]
    return [value] if isinstance(value, str) else []


def test_the_package_page_links_to_what_people_look_for() -> None:
    assert {"Repository", "Documentation", "Changelog", "Issues"} <= set(PROJECT["urls"])
    assert all(text.startswith("https://") for text in _texts(PROJECT["urls"]))
