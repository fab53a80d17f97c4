"""Files of the commit HEAD: found without a process for each, and none on any doubt."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from phasekeeper.server.disk import git
from phasekeeper.server.workspace import head_files
from phasekeeper.server.workspace.head_files import HeadFiles

from tests.roots import needs, put


def committed(root: Path, **files: str) -> None:
    """A repository whose only commit has these files, each `a__b` as a/b."""
    program = [needs("git"), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for name, text in files.items():
        put(root / name.replace("__", "/"), text)
    for words in (["init", "-q"], ["add", "--all"], ["commit", "-q", "--allow-empty", "-m", "all"]):
        subprocess.run([*program, *words], cwd=root, check=True)


def test_files_are_as_they_were_committed_with_one_process_for_a_folder_of_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed(tmp_path, tasks__a__x="A", tasks__b__x="B", top="T", tasks__long="")
    asked: list[str] = []
    ask = git.answer
    monkeypatch.setattr(git, "answer", lambda root, *words: asked.append(words[0]) or ask(root, *words))
    files = HeadFiles(tmp_path)
    assert [files.read(f"tasks/{name}/x") for name in "ab"] == [b"A", b"B"]
    assert asked == ["ls-tree"]
    put(tmp_path / "tasks/b/x", "C")
    assert (files.read("tasks/b/x"), asked) == (b"B", ["ls-tree", "cat-file"])
    (tmp_path / "tasks/b/x").unlink()
    assert (files.read("tasks/b/x"), files.read("top"), files.read("tasks/long")) == (b"B", b"T", b"")
    assert files.blob("tasks/a/x") != files.blob("tasks/b/x") != ""


@pytest.mark.parametrize("path", ["none", "tasks/none", "tasks", "../x", "", "a\0b"])
def test_what_is_not_in_head_is_none(tmp_path: Path, path: str) -> None:
    committed(tmp_path, tasks__a__x="A")
    put(tmp_path / "tasks/none", "new")
    assert (HeadFiles(tmp_path).read(path), HeadFiles(tmp_path).blob(path)) == (None, "")


def test_no_repository_no_commit_and_a_large_file_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "a/x", "A")
    (tmp_path / ".git").mkdir()
    assert HeadFiles(tmp_path).read("a/x") is None
    (tmp_path / ".git").rmdir()
    committed(tmp_path)
    monkeypatch.setattr(head_files, "MAX_BYTES", 0)
    assert HeadFiles(tmp_path).read("a/x") is None
