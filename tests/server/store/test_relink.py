"""Journals that forked or lost a line: what a reader makes of them, and what `repair` links again."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from phasekeeper.orchestration.journal.journal import Journal, Record, read_journal
from phasekeeper.orchestration.vfs.files import digest_of
from phasekeeper.server.store.commit import Writes, commit
from phasekeeper.server.store.repair import repair

from tests.roots import needs

RUN = "tasks/T1"
JOURNAL = f"{RUN}/.phasekeeper/journal.jsonl"


def line(message: str, after: str = "", **more: object) -> str:
    """A report's line behind another line."""
    entry: dict[str, object] = {"kind": "report", "message": message, "outcome": "ok", **more}
    return json.dumps(entry | ({"prev": digest_of(after)} if after else {}))


def relink(after: str, *heads: str) -> str:
    return line("linked", after, kind="relink", about=",".join(map(digest_of, heads)))


def read(*lines: str) -> Journal:
    return read_journal("".join(each + "\n" for each in lines))


def messages(journal: Journal) -> list[object]:
    return [entry["message"] for entry in journal.records]


def codes(journal: Journal) -> list[str]:
    return [problem.code for problem in journal.problems]


def add(root: Path, message: str, count: int = 1) -> None:
    records: list[Record] = [
        {"kind": "report", "message": f"{message}{n or ''}", "outcome": "ok"} for n in range(count)
    ]
    commit(root, RUN, lambda _held: Writes(records), create=True)


def at(root: Path) -> Journal:
    return read_journal((root / JOURNAL).read_text())


# ---- what the reader makes of it


def test_a_branch_that_a_relink_names_counts_whole_just_before_it() -> None:
    first = line("first")
    left, right = line("left", first), line("right", first)
    end, branch = line("end", left), line("branch", right)
    mended = relink(end, branch)
    journal = read(first, left, right, branch, end, mended)
    assert messages(journal) == ["first", "left", "end", "right", "branch", "linked"]
    assert (codes(journal), journal.forked, journal.head) == ([], False, digest_of(mended))


def test_a_branch_that_grows_after_it_was_linked_is_a_fork_again() -> None:
    first = line("first")
    left, right = line("left", first), line("right", first)
    mended = relink(left, right)
    journal = read(first, left, right, mended, line("late", right))
    assert codes(journal) == ["journal-forked"]
    assert messages(journal) == ["first", "left", "right", "linked"]


def test_a_relink_off_the_chain_links_nothing() -> None:
    first = line("first")
    left, right = line("left", first), line("right", first)
    journal = read(
        first, left, line("more", left), line("end", line("more", left)), right, relink(right, left)
    )
    assert codes(journal) == ["journal-forked"]


def test_a_digest_that_is_not_in_the_file_is_passed_over() -> None:
    first = line("first")
    journal = read(first, relink(first, "taken out", first))
    assert (messages(journal), codes(journal)) == (["first", "linked"], [])


def test_a_line_whose_predecessor_was_taken_out_counts_when_a_relink_names_it() -> None:
    orphan = line("orphan", "taken out")
    assert codes(read(line("first"), orphan)) == ["journal-invalid"]
    journal = read(line("first"), orphan, relink(line("first"), orphan))
    assert (messages(journal), codes(journal)) == (["first", "orphan", "linked"], [])


def test_a_relink_may_be_the_only_line_that_follows_none() -> None:
    orphan = line("orphan", "taken out")
    journal = read(orphan, relink("", orphan))
    assert (messages(journal), journal.broken) == (["orphan", "linked"], False)


def test_names_in_other_records_link_nothing() -> None:
    first = line("first")
    left, right = line("left", first), line("right", first)
    assert read(first, left, right, line("end", left, about=digest_of(right))).forked


def test_a_commit_that_ends_before_its_last_record_was_never_made() -> None:
    first = line("first")
    one = line("one", first, more=2)
    two = line("two", one, more=1)
    cut = read(first, one, two)
    assert (messages(cut), codes(cut), cut.head) == (["first"], ["journal-torn"] * 2, digest_of(first))
    whole = read(first, one, two, line("three", two))
    assert (messages(whole), codes(whole)) == (["first", "one", "two", "three"], [])


def test_a_commit_whose_last_record_is_cut_off_was_never_made() -> None:
    first = line("first")
    one = line("one", first, more=1)
    journal = read_journal(f"{first}\n{one}\n" + line("two", one)[:20])
    assert (messages(journal), codes(journal)) == (["first"], ["journal-torn"] * 2)


def test_more_that_is_no_number_says_nothing() -> None:
    assert messages(read(line("first", more="2"))) == ["first"]


def test_empty_lines_between_two_records_are_none() -> None:
    first = line("first")
    assert messages(read(first, "", " ", line("second", first))) == ["first", "second"]


# ---- what `repair` does


def test_repair_links_the_branches_of_a_fork_and_a_second_time_does_nothing(tmp_path: Path) -> None:
    add(tmp_path, "first")
    before = (tmp_path / JOURNAL).read_text()
    add(tmp_path, "left", 2)
    left = (tmp_path / JOURNAL).read_text()
    (tmp_path / JOURNAL).write_text(before)
    add(tmp_path, "right")
    right = (tmp_path / JOURNAL).read_text()
    (tmp_path / JOURNAL).write_text(left + right[len(before) :])
    assert at(tmp_path).forked
    assert [mended.kind for mended in repair(tmp_path, RUN)] == ["relinked"]
    assert messages(at(tmp_path)) == ["first", "left", "left1", "right", "branches linked together"]
    assert repair(tmp_path, RUN) == ()
    assert at(tmp_path).problems == ()


def test_lines_behind_one_that_was_taken_out_still_count(tmp_path: Path) -> None:
    for message in ("first", "second", "third"):
        add(tmp_path, message)
    lines = (tmp_path / JOURNAL).read_text().splitlines()
    (tmp_path / JOURNAL).write_text("\n".join([lines[0], "<<<<<<< ours", lines[2]]) + "\n")
    assert at(tmp_path).broken
    [dropped] = repair(tmp_path, RUN, drop_bad_lines=True)
    assert (
        dropped.kind == "dropped" and dropped.saved_as and "<<<<" in (tmp_path / dropped.saved_as).read_text()
    )
    assert messages(at(tmp_path))[:2] == ["first", "third"]
    assert at(tmp_path).problems == ()
    add(tmp_path, "fourth")
    assert messages(at(tmp_path))[-1] == "fourth"


# ---- two branches of a repository


def git(root: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        [needs("git"), *identity, *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A run with one record, in a repository that merges journals line by line."""
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / ".gitattributes").write_text("**/.phasekeeper/journal.jsonl merge=union\n")
    (tmp_path / ".gitignore").write_text("lock\nlock.holder\n")
    add(tmp_path, "first")
    commit_with_git(tmp_path)
    return tmp_path


def commit_with_git(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "work")


def test_two_git_branches_that_both_append_are_forked_and_repair_loses_nothing(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "other")
    add(repository, "other", 3)
    commit_with_git(repository)
    git(repository, "checkout", "-q", "main")
    add(repository, "main")
    add(repository, "main again")
    commit_with_git(repository)
    git(repository, "merge", "-q", "other", "-m", "merge")
    both = (repository / JOURNAL).read_text()
    assert codes(at(repository)) == ["journal-forked"]
    repair(repository, RUN)
    assert (repository / JOURNAL).read_text().startswith(both)
    mended = at(repository)
    said = {"first", "other", "other1", "other2", "main", "main again", "branches linked together"}
    assert (set(messages(mended)), len(mended.records), mended.problems) == (said, 7, ())
