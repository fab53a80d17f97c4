"""Globs, natural order, joined paths, and roots held in memory."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.findings import Problem
from phasekeeper.orchestration.vfs.files import Entry, RecordingFiles, decode, join, natural
from phasekeeper.orchestration.vfs.glob import MOST_DEEP, fits, glob, is_glob, leads_to
from phasekeeper.orchestration.vfs.overlay import MemoryFiles


def found(files: MemoryFiles, pattern: str) -> list[str]:
    return [path for path, _ in glob(files, pattern)]


def files(*paths: str) -> MemoryFiles:
    return MemoryFiles(dict.fromkeys(paths, "x"))


def matches(pattern: list[str], names: list[str]) -> bool:
    """The plain meaning of a pattern, slowly: what each part stands for, tried one after the other."""
    if not pattern:
        return not names
    head, *rest = pattern
    if head == "**":
        return any(matches(rest or ["*"], names[skip:]) for skip in range(len(names) + 1))
    return bool(names) and one(head, names[0]) and matches(rest, names[1:])


def one(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    head, rest = pattern[0], pattern[1:]
    if head == "*":
        return any(one(rest, name[skip:]) for skip in range(len(name) + 1))
    return bool(name) and head in ("?", name[0]) and one(rest, name[1:])


segments = st.sampled_from(["**", "*", "a", "ab", "*b", "a*", "?", "a?", "*a*b*"])
names = st.text("ab", min_size=1, max_size=3)


@given(st.lists(segments, min_size=1, max_size=4), st.lists(names, min_size=1, max_size=5))
def test_a_path_fits_a_pattern_as_its_parts_say(pattern: list[str], path: list[str]) -> None:
    assert fits("/".join(pattern), "/".join(path)) == matches(pattern, path)


@given(
    st.lists(segments, min_size=1, max_size=4), st.sets(st.lists(names, min_size=1, max_size=4).map("/".join))
)
def test_a_glob_finds_each_file_that_fits_once(pattern: list[str], paths: set[str]) -> None:
    # A path that is a folder of another cannot be a file too.
    kept = [path for path in paths if not any(other.startswith(f"{path}/") for other in paths)]
    got = [path for path, entry in glob(files(*kept), "/".join(pattern)) if entry.kind == "file"]
    assert sorted(got) == sorted(path for path in kept if matches(pattern, path.split("/")))


@given(st.lists(segments, min_size=1, max_size=4), st.lists(names, min_size=2, max_size=5))
def test_a_folder_of_a_path_that_fits_leads_to_the_pattern(pattern: list[str], path: list[str]) -> None:
    if matches(pattern, path):
        assert all(leads_to("/".join(path[:depth]), "/".join(pattern)) for depth in range(len(path)))


def test_a_folder_beside_the_pattern_leads_nowhere() -> None:
    assert not leads_to("reports/old", "reports/*.md")
    assert not leads_to("other", "reports/*.md")
    assert leads_to("reports", "reports/*.md")
    assert leads_to("", "reports/*.md")


def test_names_come_in_natural_order_and_folders_after_files() -> None:
    paths = ["t/10.md", "t/9.md", "t/2/1.md", "t/b.md"]
    assert found(files(*paths), "t/**/*.md") == ["t/9.md", "t/10.md", "t/b.md", "t/2/1.md"]


def test_hidden_names_are_found_only_when_asked_for() -> None:
    root = files(".a/x.md", "b/x.md", "b/.y.md")
    assert found(root, "*/x.md") == ["b/x.md"]
    assert found(root, ".*/x.md") == [".a/x.md"]
    assert found(root, ".a/x.md") == [".a/x.md"]
    assert found(root, "b/*") == ["b/x.md"]
    assert found(root, "**/x.md") == [".a/x.md", "b/x.md"]


def test_what_ends_in_two_stars_is_every_name_below() -> None:
    assert found(files("a/b/c", "a/d"), "a/**") == ["a/b", "a/d", "a/b/c"]


@pytest.mark.parametrize("pattern", ["", "/", "nothing", "a/b/c/d", "a/x/*"])
def test_a_pattern_that_fits_nothing_finds_nothing(pattern: str) -> None:
    assert found(files("a/b"), pattern) == []


@pytest.mark.parametrize(
    ("pattern", "fitting"),
    [
        ("[ab].md", ["a.md", "b.md"]),
        ("[!ab].md", ["c.md", "[.md"]),
        ("[^ab].md", ["c.md", "[.md"]),
        ("[[].md", ["[.md"]),
        ("[z-a].md", []),
        ("a[", ["a["]),
    ],
)
def test_brackets_stand_for_one_character_as_in_a_shell(pattern: str, fitting: list[str]) -> None:
    assert [name for name in ("a.md", "b.md", "c.md", "[.md", "a[") if fits(pattern, name)] == fitting


def test_many_stars_take_no_time() -> None:
    assert not fits("*a" * 30 + "*b", "a" * 5_000)
    assert not fits("**/a/" * 12 + "b", "/".join("a" * 200))
    deep = files("/".join("a" * 30))
    assert len(found(deep, "**/a/" * 6 + "*")) == MOST_DEEP + 1 - 6


class Linked(MemoryFiles):
    """A root in which `loop` is a link to its own folder."""

    def list(self, folder: str) -> dict[str, Entry]:
        return {"loop": Entry("loop", "folder", link=True), "x.md": Entry("x.md", "file", 1)}


def test_two_stars_do_not_go_through_links_but_a_name_does() -> None:
    assert found(Linked({}), "**/x.md") == ["x.md"]
    assert found(Linked({}), "*/x.md") == ["loop/x.md"]
    assert found(Linked({}), "**/loop/x.md") == ["loop/x.md"]


@given(st.lists(st.text("a1٣²é0", max_size=6), max_size=6))
def test_any_names_have_a_natural_order(listed: list[str]) -> None:
    keys = [natural(name) for name in listed]
    assert all(one <= other for one, other in pairwise(sorted(keys)))


def test_numbers_in_names_count_as_numbers() -> None:
    assert sorted(["t-10", "t-9", "t-9a", "t", "10"], key=natural) == ["10", "t", "t-9", "t-9a", "t-10"]


@pytest.mark.parametrize(
    ("run", "path", "whole"),
    [
        ("a/b", "c.md", "a/b/c.md"),
        ("a/b", "../c.md", "a/c.md"),
        ("a/b", "/c.md", "c.md"),
        ("a", "..", ""),
        ("", ".", ""),
        ("a", "../..", None),
        ("a", "../../c", None),
        ("a", "/../c", None),
        ("a", "..c", "a/..c"),
        ("a", "c\0d", None),
        ("a", "c\\d", None),
    ],
)
def test_a_path_is_joined_to_its_run_and_never_leaves_the_root(
    run: str, path: str, whole: str | None
) -> None:
    assert join(run, path) == whole


def test_only_some_characters_make_a_pattern() -> None:
    assert [name for name in ("a", "a*", "a?", "[a", "a]") if is_glob(name)] == ["a*", "a?", "[a"]


def test_bytes_that_are_no_text_are_told_with_their_line() -> None:
    file = decode("a.md", b"one\ntw\xffo")
    assert (file.exists, file.text, file.size) == (True, None, 8)
    assert file.problem and file.problem.message == "not UTF-8: byte 0xff in line 2"
    assert re.fullmatch("[0-9a-f]{16}", file.digest)


def test_a_byte_order_mark_is_dropped() -> None:
    assert decode("a.md", b"\xef\xbb\xbfone").text == "one"


def test_a_root_in_memory_lists_its_folders() -> None:
    root = MemoryFiles({"a/b.md": "é", "a/c/d.md": b"\xff", "e.md": ""}, {"a/b.md": 5})
    assert root.list("a") == {"b.md": Entry("b.md", "file", 2, 5), "c": Entry("c", "folder")}
    assert set(root.list("")) == {"a", "e.md"}
    assert not root.read("a").exists
    assert root.read("a/c/d.md").text is None
    assert root.read("a/b.md").mtime_ns == 5


_NAMES = st.sampled_from(("a", "b", "ab", ".a", "a.md"))
_PATHS = st.lists(_NAMES, min_size=1, max_size=4).map("/".join)
_PATTERNS = st.lists(
    st.one_of(_NAMES, st.sampled_from(("*", "**", "a*", ".*", "[ab]"))), min_size=1, max_size=4
)


@given(st.lists(_PATHS, max_size=8), _PATTERNS.map("/".join), _PATHS)
def test_a_glob_at_a_path_finds_what_a_glob_finds_there(listed: list[str], pattern: str, path: str) -> None:
    tree = files(*(f"{each}/file" for each in listed))
    everywhere = [each for each, _ in glob(tree, pattern)]
    there = [each for each in everywhere if each == path or each.startswith(f"{path}/")]
    assert sorted(each for each, _ in glob(tree, pattern, path)) == sorted(there)


def test_what_was_asked_for_is_noted_and_nothing_else() -> None:
    noted = RecordingFiles(files("runs/T1/a.md", "runs/T2/a.md", "other/x"))
    assert [path for path, _ in glob(noted, "runs/T1/*.md")] == ["runs/T1/a.md"]
    assert noted.used == {"runs", "runs/T1", "runs/T1/"}
    assert noted.read("other/x").exists
    assert noted.entry("other/y") is None
    assert {"other/x", "other/y"} <= noted.used


def test_a_folder_that_is_shut_is_noted_when_it_was_asked_for() -> None:
    shut = {"a": Problem("artifact-unreadable", "no"), "b": Problem("artifact-unreadable", "no")}
    noted = RecordingFiles(MemoryFiles({}, unlisted_folders=shut))
    assert noted.entry("a/x") is None
    assert list(noted.unlisted_folders) == ["a"]
    assert noted.used == {"a/x", "a/"}
    noted.list("b")
    assert list(noted.unlisted_folders) == ["a", "b"]


def test_a_path_is_joined_as_it_is_written_or_normalised() -> None:
    assert join("run", "a/b.md") == "run/a/b.md"
    assert join("", ".a/b") == ".a/b"
    for path, wanted in {
        "./a": "run/a",
        "a/../b": "run/b",
        "a//b": "run/a/b",
        "a/": "run/a",
        "": "run",
    }.items():
        assert join("run", path) == wanted
    assert join("run", "../..") is None
    assert join("run", "/a") == "a"
