"""What a report has to come with."""

from __future__ import annotations

import re

import pytest
from phasekeeper.orchestration.decision.brings import _PATH, _is_named, named_commits
from phasekeeper.orchestration.definition.inputs import Brings
from phasekeeper.orchestration.journal.report_criteria import _NAME
from phasekeeper.orchestration.journal.report_files import _BRACKETS
from phasekeeper.orchestration.plans.master_plan.edits import _COUNT


def test_only_what_looks_like_a_commit_is_asked_of_the_repository() -> None:
    brings = Brings(data=({"pr": "address", "commit": "commit"}, {"fix.commit": "commit"}))
    hashes = {"pr": "0123456", "commit": "0123456789abcdef", "fix": {"commit": "ABCDEF0"}}
    assert list(named_commits(brings, hashes)) == ["0123456789abcdef", "ABCDEF0"]
    odd = {"commit": "--upload-pack=x", "fix": {"commit": 1234567}}
    assert list(named_commits(brings, odd)) == []
    assert list(named_commits(brings, {"commit": "HEAD", "fix": []})) == []


@pytest.mark.parametrize("pattern", [_PATH, _NAME, _BRACKETS, _COUNT])
@pytest.mark.parametrize("unit", ["a", "-", "/", ".", "@", "1", "[", "a.", "\t"])
def test_a_text_of_a_million_characters_is_searched_in_one_go(pattern: re.Pattern[str], unit: str) -> None:
    """A search that takes the square of its text does not come to an end here."""
    assert sum(1 for _ in pattern.finditer("[" + unit * 1_000_000)) <= 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/a.py", "Of src/a.py."), ("src/a.py", "`src/a.py`: renamed"),
        ("src/[id].tsx", "- src/[id].tsx: later"), ("my notes.md", "my notes.md went"),
        ("Makefile", "no Makefile"),
    ],
)  # fmt: skip
def test_a_text_names_a_path_however_it_is_set_in_it(path: str, text: str) -> None:
    assert _is_named(path, {*_PATH.findall(text)}, text)


@pytest.mark.parametrize(
    "text", ["src/a.pyc", "lib/src/a.py", "src/a.py.bak", "src/a.py/b", "../src/a.py", ""]
)
def test_another_path_that_has_it_in_it_does_not_name_a_path(text: str) -> None:
    assert not _is_named("src/a.py", {*_PATH.findall(text)}, text)
