"""Texts laid over files: what differs wins, what is equal stays the file it was."""

from __future__ import annotations

from phasekeeper.orchestration.vfs.files import MAX_BYTES, Entry
from phasekeeper.orchestration.vfs.overlay import (
    PROPOSED_MTIME_NS,
    UNSAVED_MTIME_NS,
    MemoryFiles,
    OverlayFiles,
)

UNDER = MemoryFiles({"a.md": "saved", "sub/b.md": "b"}, {"a.md": 7, "sub/b.md": 8})


def test_a_text_that_differs_wins_and_is_the_newest() -> None:
    files = OverlayFiles(UNDER, {"a.md": "unsaved"})
    file = files.read("a.md")
    assert (file.text, file.size, file.mtime_ns) == ("unsaved", 7, UNSAVED_MTIME_NS)
    assert files.list("")["a.md"] == files.entry("a.md") == Entry("a.md", "file", 7, UNSAVED_MTIME_NS)
    assert files.read("sub/b.md") == UNDER.read("sub/b.md")
    assert OverlayFiles(UNDER, {"a.md": "new"}, PROPOSED_MTIME_NS).read("a.md").mtime_ns == PROPOSED_MTIME_NS


def test_an_equal_text_is_the_file_under_it() -> None:
    files = OverlayFiles(UNDER, {"a.md": "saved"})
    assert files.read("a.md") == UNDER.read("a.md")
    assert files.entry("a.md") == UNDER.entry("a.md")


def test_new_files_and_their_folders_are_listed_in_order() -> None:
    files = OverlayFiles(UNDER, {"0/deep/c.md": "", "../out.md": "x", "/etc": "x", "b": "a\ud800"})
    assert list(files.list("")) == ["0", "a.md", "b", "sub"]
    assert files.entry("0") == Entry("0", "folder")
    assert files.list("sub") == UNDER.list("sub")
    assert files.read("../out.md").text is None and not files.read("/etc").exists
    problem = files.read("b").problem
    assert problem is not None and problem.message.startswith("not UTF-8")
    assert files.unlisted_folders == {}


def test_a_text_past_the_limit_is_not_read() -> None:
    file = OverlayFiles(UNDER, {"a.md": "x" * (MAX_BYTES + 1)}).read("a.md")
    assert file.text is None and file.problem is not None
    assert file.problem.message == "the file is 9 MB; at most 8 MB are read"
