"""A folder of many names is not listed for a question where a watcher and a stat say that it is as it was."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from phasekeeper.server.disk import file_cache, large_folders
from phasekeeper.server.disk.disk_files import DiskFiles
from phasekeeper.server.disk.file_cache import FileCache
from phasekeeper.server.disk.large_folders import FolderSign

from tests.roots import put

LATER_NS = 10**10


@pytest.fixture
def many(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that counts as large, whose files were made some time ago."""
    monkeypatch.setattr(large_folders, "LARGE_FOLDER", 3)
    now_ns = file_cache.time_ns
    monkeypatch.setattr(file_cache, "time_ns", lambda: now_ns() + LATER_NS)
    for name in ("a", "b", "c"):
        put(root / f"many/{name}", name)
    return root / "many"


def is_listed(cache: FileCache, heard_all: bool = True) -> bool:
    """Whether a look at the names of the folder lists it."""
    listed = list[str]()
    whole = cache._list
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "_list", lambda folder: (listed.append(folder), whole(folder))[1])
        cache.recheck(["many/"], heard_all)
    assert cache.list("many") == DiskFiles(cache.root).list("many")
    return bool(listed)


def test_it_is_not_listed_where_all_was_heard_and_a_stat_finds_it_as_it_was(root: Path, many: Path) -> None:
    cache = FileCache(root)
    cache.list("many")
    assert cache.large_folders.among(["many/", "many", "x/"]) == ["many"]
    assert not is_listed(cache)
    assert is_listed(cache, heard_all=False)


def add(many: Path) -> None:
    put(many / "d", "d")


def remove(many: Path) -> None:
    (many / "a").unlink()


def rename(many: Path) -> None:
    (many / "a").rename(many / "z")


def replace_file(many: Path) -> None:
    put(many.parent / "new", "another text")
    (many.parent / "new").replace(many / "a")


def replace_folder(many: Path) -> None:
    many.rename(many.parent / "old")
    for name in ("a", "b", "e"):
        put(many / name, name)


def link_folder(many: Path) -> None:
    many.rename(many.parent / "old")
    many.symlink_to(many.parent / "old")


def remove_folder(many: Path) -> None:
    many.rename(many.parent / "old")


@pytest.mark.parametrize(
    "change", [add, remove, rename, replace_file, replace_folder, link_folder, remove_folder]
)
def test_names_that_came_or_went_are_seen_though_nobody_told(
    root: Path, many: Path, change: Callable[[Path], None]
) -> None:
    cache = FileCache(root)
    cache.list("many")
    change(many)
    assert is_listed(cache)


def test_a_hint_tells_what_was_written_in_place(root: Path, many: Path) -> None:
    cache = FileCache(root)
    cache.list("many")
    (many / "a").write_text("a longer text")
    cache.refresh(["many/a"])
    assert not is_listed(cache)
    assert {"many/a", "many/"} <= cache.take()[0]


def test_its_files_are_not_looked_at_where_all_was_heard(
    root: Path, many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = FileCache(root)
    cache.list("many")
    assert (cache.read("many/a").text, cache.read("many/none").exists) == ("a", False)
    with monkeypatch.context() as patched:
        patched.setattr(cache, "_may_differ", lambda path: pytest.fail(f"{path} was looked at"))
        cache.recheck({"many/", "many/a", "many/none"}, heard_all=True)
    (many / "a").write_text("a longer text")
    cache.recheck({"many/", "many/a"})
    assert cache.read("many/a").text == "a longer text"
    put(many / "none", "text")
    cache.recheck({"many/", "many/none"}, heard_all=True)
    assert cache.read("many/none").text == "text"


def test_a_file_in_it_that_was_read_right_after_its_save_is_read_again(root: Path, many: Path) -> None:
    later_ns = file_cache.time_ns()
    os.utime(many / "a", ns=(later_ns, later_ns))
    cache = FileCache(root)
    cache.list("many")
    cache.read("many/a")
    (many / "a").write_text("b")
    cache.recheck({"many/", "many/a"}, heard_all=True)
    assert cache.read("many/a").text == "b"


def link_from_elsewhere(many: Path) -> None:
    os.link(many / "a", many.parent / "elsewhere")


def link_to_elsewhere(many: Path) -> None:
    put(many.parent / "elsewhere", "text")
    (many / "d").symlink_to(many.parent / "elsewhere")


def remove_one(many: Path) -> None:
    (many / "a").unlink()


@pytest.mark.parametrize("change", [link_from_elsewhere, link_to_elsewhere, remove_one])
def test_one_that_a_watcher_cannot_vouch_for_or_is_small_is_listed_each_time(
    root: Path, many: Path, change: Callable[[Path], None]
) -> None:
    change(many)
    cache = FileCache(root)
    cache.list("many")
    assert not cache.large_folders.among(["many/"])
    assert is_listed(cache) and is_listed(cache)


def test_one_that_changed_this_moment_is_listed_until_its_times_tell_of_a_change(
    root: Path, many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_ns = file_cache.time_ns
    monkeypatch.setattr(file_cache, "time_ns", lambda: now_ns() - LATER_NS)
    cache = FileCache(root)
    cache.list("many")
    assert is_listed(cache)
    monkeypatch.setattr(file_cache, "time_ns", now_ns)
    assert is_listed(cache)
    assert not is_listed(cache)


def test_one_of_another_file_system_is_listed_each_time(
    root: Path, many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_of = file_cache.folder_sign

    def mounted(full: str) -> FolderSign | None:
        sign = sign_of(full)
        return sign._replace(device=sign.device + 1) if sign else None

    monkeypatch.setattr(file_cache, "folder_sign", mounted)
    cache = FileCache(root)
    cache.list("many")
    assert is_listed(cache) and is_listed(cache)


@pytest.mark.parametrize("way", ["link", "link/many"])
def test_one_that_is_reached_by_a_link_is_listed_each_time(root: Path, many: Path, way: str) -> None:
    (root / "link").symlink_to(many if way == "link" else root)
    cache = FileCache(root)
    cache.list(way)
    assert not cache.large_folders.among([f"{way}/"])


def test_nothing_is_kept_of_one_that_nobody_asks_for(root: Path, many: Path) -> None:
    cache = FileCache(root)
    cache.list("many")
    cache.forget_names(())
    assert not cache.large_folders.among(["many/"])
