"""Files as they were last seen are the files as they are, until they change."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from phasekeeper.server.disk.disk_files import DiskFiles
from phasekeeper.server.disk.file_cache import FileCache
from phasekeeper.server.disk.partial_saves import GRACE_MS
from phasekeeper.server.disk.safe_open import links_on

from tests.roots import put


@pytest.mark.parametrize(
    "path",
    [
        "there/x",
        "there/no",
        "gone/x",
        "gone/deep/x",
        "gone/../there/x",
        "gone/..",
        "there/x/y",
        "a\0b/x",
        "/x",
    ],
)
def test_a_file_is_what_a_look_at_the_disk_says(root, path):
    put(root / "there/x", "text")
    assert FileCache(root).read(path) == DiskFiles(root).read(path)


def test_a_file_in_a_folder_that_cannot_be_looked_at_is_not_taken_for_absent(root, monkeypatch):
    put(root / "shut/x", "text")
    lstat = os.lstat

    def refused(path: str | Path, **more: object) -> os.stat_result:
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied")
        return lstat(path)

    monkeypatch.setattr(os, "lstat", refused)
    assert FileCache(root).read("shut/x").text == "text"


def test_a_file_behind_a_link_that_leads_nowhere_is_seen_once_it_leads_somewhere(root):
    (root / "link").symlink_to(root / "later")
    kept = FileCache(root)
    assert not kept.read("link/deep/x").exists
    put(root / "later/deep/x", "text")
    kept.refresh(["later"])
    assert kept.read("link/deep/x").text == "text"


@pytest.mark.parametrize("is_asked", [True, False])
def test_a_link_to_nothing_in_the_place_of_no_file_is_seen_though_nobody_told(root, is_asked):
    (root / "f").mkdir()
    kept = FileCache(root)
    assert kept.read("f/x") == DiskFiles(root).read("f/x")
    (root / "f/x").symlink_to(root / "nothing")
    if is_asked:
        kept.recheck(["f/x"])
    else:
        list(kept.rescanning())
    assert kept.take()[0] == {"f/x"}
    assert kept.read("f/x") == DiskFiles(root).read("f/x")
    assert kept.read("f/x").problem


def test_a_folder_that_is_made_is_seen_with_its_files(root):
    kept = FileCache(root)
    assert not kept.read("a/b/x").exists
    put(root / "a/b/x", "text")
    kept.refresh(["a"])
    assert kept.read("a/b/x").text == "text"
    assert "a/b/x" in kept.take()[0]


@pytest.mark.parametrize("path", ["a/b", "link"])
def test_what_was_no_file_is_seen_as_a_folder_once_something_in_it_is_named(root, path):
    (root / "link").symlink_to(root / "a/b")
    kept = FileCache(root)
    assert not kept.read(path).exists
    put(root / "a/b/x", "text")
    kept.refresh(["a/b/x"])
    assert path in kept.take()[0]
    assert kept.read(path) == DiskFiles(root).read(path)


def test_a_link_that_leads_to_itself_is_looked_at_once(root):
    (root / "own").symlink_to("own")
    (root / "round").symlink_to("about")
    (root / "about").symlink_to("./round")
    assert links_on(str(root.resolve()), "own/x") == {"own"}
    assert links_on(str(root.resolve()), "round") == {"round", "about"}
    cache = FileCache(root)
    assert cache.read("own/x") == DiskFiles(root).read("own/x")
    cache.refresh(["own"])
    assert not cache.read("own").exists


@pytest.mark.parametrize("then", ["nothing", "file"])
def test_a_folder_that_went_before_its_own_was_watched_takes_its_files_along(root, then):
    put(root / "docs/design/deep/x", "text")
    kept = FileCache(root)
    assert kept.read("docs/design/deep/x").text == "text"
    (root / "docs/design").rename(root / "elsewhere")
    if then == "file":
        put(root / "docs/design", "text")
    kept.refresh_right_in(["docs"])
    assert "docs/design/deep/x" in kept.take()[0]
    assert not kept.read("docs/design/deep/x").exists


def test_a_look_right_in_a_folder_reads_nothing_below_folders_that_are_there(root, monkeypatch):
    put(root / "docs/design/x", "text")
    kept = FileCache(root)
    kept.read("docs/design/x")
    monkeypatch.setattr(kept, "_read", lambda path: pytest.fail(f"{path} was read"))
    kept.refresh_right_in(["docs"])


def test_a_look_at_names_that_are_as_they_were_opens_nothing(root, monkeypatch):
    put(root / "there/x", "text")
    kept = FileCache(root)
    names = ["there/x", "there", "there/no", "gone"]
    for path in names:
        kept.entry(path)
    monkeypatch.setattr(os, "open", lambda *_, **__: pytest.fail("something was opened"))
    kept.recheck(names)
    assert kept.take() == (set(), set())


def _file(path: Path) -> None:
    put(path, "another text")


def _folder(path: Path) -> None:
    path.mkdir()


def _link_to_a_file(path: Path) -> None:
    path.symlink_to(path.parent.parent / "beside/file")


def _link_to_a_folder(path: Path) -> None:
    path.symlink_to(path.parent.parent / "beside")


def _link_out(path: Path) -> None:
    path.symlink_to("/")


def _nothing(_: Path) -> None: ...


KINDS = [_file, _folder, _link_to_a_file, _link_to_a_folder, _link_out, _nothing]


@pytest.mark.parametrize("before", KINDS)
@pytest.mark.parametrize("after", KINDS)
@pytest.mark.parametrize("place", ["f/name", "by-link/name"])
def test_a_look_at_a_name_sees_whatever_stands_there_now(root, before, after, place):
    put(root / "beside/file", "text")
    (root / "f").mkdir()
    (root / "by-link").symlink_to(root / "f")
    before(root / "f/name")
    kept = FileCache(root)
    kept.entry(place)
    kept.take()
    if (root / "f/name").is_dir() and not (root / "f/name").is_symlink():
        (root / "f/name").rmdir()
    else:
        (root / "f/name").unlink(missing_ok=True)
    after(root / "f/name")
    kept.recheck([place])
    assert kept.entry(place) == DiskFiles(root).entry(place)


def test_a_look_at_a_name_whose_folder_became_a_link_goes_where_that_leads(root):
    put(root / "f/name", "text")
    put(root / "elsewhere/name/x", "text")
    kept = FileCache(root)
    kept.entry("f/name")
    (root / "f").rename(root / "old")
    (root / "f").symlink_to("elsewhere")
    kept.recheck(["f/name"])
    assert kept.entry("f/name") == DiskFiles(root).entry("f/name")


def test_a_name_that_is_held_goes_with_its_grace_though_nobody_asks_for_its_file_any_more(tmp_path):
    ms = [0.0]
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x.md").write_text("# X\n")
    cache = FileCache(tmp_path, lambda: ms[0])
    cache.has_grace = True
    assert [*cache.list("a")] == ["x.md"]
    assert cache.read("a/x.md").exists
    (tmp_path / "a/x.md").unlink()
    cache.refresh(["a/x.md"])
    assert [*cache.list("a")] == ["x.md"]
    assert cache.take() == (set(), set())
    cache.forget(["a/x.md"])
    ms[0] += GRACE_MS
    cache.end_holds(cache.saves.over())
    assert [*cache.list("a")] == []
    assert cache.take()[0] == {"a/x.md", "a/"}


def _link_nowhere(path: Path) -> None:
    path.symlink_to("nowhere")


@pytest.mark.parametrize("kind", [*KINDS, _link_nowhere])
def test_a_name_of_any_kind_that_was_read_as_a_file_goes_with_its_grace(root, kind):
    ms = [0.0]
    put(root / "beside/file", "text")
    (root / "f").mkdir()
    kind(root / "f/name")
    cache = FileCache(root, lambda: ms[0])
    cache.has_grace = True
    cache.list("f")
    cache.read("f/name")
    if (root / "f/name").is_dir() and not (root / "f/name").is_symlink():
        (root / "f/name").rmdir()
    else:
        (root / "f/name").unlink(missing_ok=True)
    cache.refresh(["f/name"])
    ms[0] += GRACE_MS
    cache.end_holds(cache.saves.over())
    assert [*cache.list("f")] == []
    assert not cache.read("f/name").exists


def test_a_name_that_was_held_and_is_back_is_looked_at_by_whoever_waited_for_it(root):
    put(root / "a/f/x", "text")
    cache = FileCache(root, lambda: 0.0)
    cache.has_grace = True
    cache.list("a")
    (root / "a/f").rename(root / "away")
    cache.refresh(["a/f"])
    assert "a/f" in cache.saves.holds
    cache.take()
    (root / "away").rename(root / "a/f")
    cache.recheck(["a/"])
    assert not cache.saves.holds
    assert "a/f" in cache.take()[0]


class SavedBeside:
    """A file that is saved beside itself and then over itself, as by `sed -i`, told or not at each step."""

    BESIDE, SAVED = "f/sedAbCdEf", "f/a.py"

    def __init__(self, root: Path) -> None:
        self.root, self.ms = root, 0.0
        put(root / self.SAVED, "one\n")
        self.cache = FileCache(root, lambda: self.ms)
        self.look()

    def look(self) -> None:
        """Read all that the folder names, as an artifact with a pattern does."""
        for name in self.cache.list("f"):
            self.cache.read(f"f/{name}")

    def begin(self) -> None:
        put(self.root / self.BESIDE, "")

    def fill(self) -> None:
        if (self.root / self.BESIDE).exists():
            put(self.root / self.BESIDE, "two\n")

    def end(self) -> None:
        os.replace(self.root / self.BESIDE, self.root / self.SAVED)  # noqa: PTH105

    def tell(self, *paths: str, grace: bool = True) -> None:
        self.cache.has_grace = grace
        self.cache.refresh(paths or (self.BESIDE, self.SAVED))

    def tell_beside(self) -> None:
        self.tell(self.BESIDE)

    def tell_folder(self) -> None:
        self.tell("f", grace=False)

    def look_again(self) -> None:
        self.cache.has_grace = True
        self.cache.recheck([self.SAVED, "f/"])

    def look_beside(self) -> None:
        self.cache.has_grace = True
        self.cache.recheck([self.BESIDE])

    def forget(self) -> None:
        self.cache.forget([self.BESIDE])

    def wait(self, share: float = 1) -> None:
        self.ms += share * GRACE_MS
        self.cache.end_holds(self.cache.saves.over())

    def wait_briefly(self) -> None:
        self.wait(0.4)

    MEANWHILE = (
        look, fill, tell, tell_beside, tell_folder, look_again, look_beside, forget, wait, wait_briefly
    )  # fmt: skip

    def assert_as_on_disk(self) -> None:
        """Compare once all was told and each grace is over."""
        self.tell()
        for _ in range(3):
            self.wait()
            self.look()
        assert [*self.cache.list("f")] == sorted(os.listdir(self.root / "f"))  # noqa: PTH208
        assert self.cache.read(self.SAVED) == DiskFiles(self.root).read(self.SAVED)


def test_a_file_that_was_only_there_for_a_save_is_named_no_more(root):
    save = SavedBeside(root)
    save.begin()
    save.tell()
    save.look()
    save.end()
    save.assert_as_on_disk()


def test_whatever_is_told_and_asked_while_a_file_is_saved_beside_itself_it_is_as_on_disk_then(root):
    choose = random.Random(1)
    for number in range(150):
        save, steps = SavedBeside(root / str(number)), choose.randint(1, 7)
        save.begin()
        ends_after = choose.randrange(steps)
        for step in range(steps):
            choose.choice(SavedBeside.MEANWHILE)(save)
            if step == ends_after:
                save.end()
        save.assert_as_on_disk()
