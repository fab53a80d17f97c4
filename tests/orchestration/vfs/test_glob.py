"""What is written, moved or deleted, beside the patterns of files that it may concern."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.vfs.glob import concerns


@pytest.mark.parametrize(
    ("pattern", "written"),
    [
        ("a/b.json", "a/b.json"),
        ("a/*.json", "a/b.json"),
        ("a/**", "a/x/y"),
        ("a/b.json", "a/b.json/"),
        ("a/b.json", "a/"),
        ("a/b/*.json", "a/"),
        ("a/b.json", "/"),
        ("a/*/c", "/"),
        ("a/b.json", "a/*.json"),
        ("a/b/c.json", "a/*/"),
        (".x/**", ".x/"),
    ],
)
def test_a_pattern_is_concerned_by_its_files_and_the_folders_above_them(pattern: str, written: str) -> None:
    assert concerns(pattern, written)


@pytest.mark.parametrize(
    ("pattern", "written"),
    [
        ("a/b.json", "a"),
        ("a/b.json", "a/b"),
        ("a/b.json", "b/"),
        ("a/b/c.json", "a/*.json"),
        ("a/b/c.json", "a/*"),
        ("a/b.json", ""),
        ("ab/c", "a/"),
    ],
)
def test_a_pattern_is_not_concerned_by_what_lies_beside_it(pattern: str, written: str) -> None:
    assert not concerns(pattern, written)
