"""Which files a change touches."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.findings import Span
from phasekeeper.orchestration.formats.patch import read_patch


def files(text: str) -> list[str]:
    document = read_patch(text)
    assert document.readable
    assert isinstance(document.data, dict)
    return document.data["files"]


@pytest.mark.parametrize(
    ("text", "touched"),
    [
        ("--- a/x.py\n+++ b/x.py\n", ["x.py"]),
        ("--- x.py\t2026-01-01\n+++ y.py\t2026-01-02\n", ["x.py", "y.py"]),
        ("--- /dev/null\n+++ b/new.py\n", ["new.py"]),
        ("diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n", ["run.sh"]),
        ("diff --git a/a b.py b/a b.py\n", ["a b.py"]),
        ("diff --git a/x.py b/y.py\nrename from x.py\nrename to y.py\n", ["x.py", "y.py"]),
        ("copy from a/x.py\ncopy to b/x.py\n", ["a/x.py", "b/x.py"]),
        ("diff --git \n", []),
        ('+++ "b/caf\\303\\251 \\"q\\" \\t\\z.py"\n', ['café "q" \tz.py']),
        ('+++ "\n', ['"']),
        ("+++ b/../../etc/passwd\n--- a/src/../x.py\n", ["../../etc/passwd", "x.py"]),
        ("--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n--- removed\n+++ added\n+++ more\n+++ b/y\n", ["x", "y"]),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n context\n\n+++ b/y\n", ["x", "y"]),
        ("--- a/x\n+++ b/x\n@@ -1,9 +1,99 @@\n+one\n--- a/y\n+++ b/y\n", ["x", "y"]),
        (f"--- a/x\n+++ b/x\n@@ -1,{'9' * 5000} +1 @@\n+++ b/y\n", ["x", "y"]),
        ("no diff at all", []),
    ],
)
def test_a_diff_touches_the_files_of_its_headers(text: str, touched: list[str]) -> None:
    assert files(text) == touched


def test_the_items_of_a_patch_file_name_its_paths() -> None:
    assert files('{"items": [{"path": "src/x.py"}, {"path": "./src/x.py"}, {"path": "y"}]}') == [
        "src/x.py",
        "y",
    ]


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ('{"items": 3}', "items must be a list", Span(0, 10, 0, 11)),
        ("{}", "items must be a list", Span(0, 0, 0, 1)),
        (
            '{"items": [{"path": "a"}, {}]}',
            "item 2 has no path, so the change cannot be told",
            Span(0, 26, 0, 28),
        ),
        ('{"items": ["a"]}', "item 1 has no path, so the change cannot be told", Span(0, 11, 0, 14)),
        ('{"items": [{"path": ""}]}', "item 1 has no path, so the change cannot be told", Span(0, 11, 0, 23)),
    ],
)
def test_a_patch_file_that_hides_a_path_is_invalid_at_its_place(text: str, message: str, place: Span) -> None:
    document = read_patch(text)
    assert not document.readable
    assert [(p.code, p.message, p.span) for p in document.problems] == [("artifact-invalid", message, place)]


def test_a_patch_file_that_is_cut_off_is_unreadable() -> None:
    assert [p.code for p in read_patch('{"items": [').problems] == ["artifact-unreadable"]


@given(st.text(max_size=100) | st.text('+-@ ab/"\\013\n\t', max_size=100))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    read_patch(text)
    read_patch(json.dumps({"items": [{"path": text}]}))
    read_patch(f'+++ "{text}"')
