"""The one writer: what it records and writes, what it refuses, and what it leaves alone."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import re
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.findings import Edit
from phasekeeper.orchestration.journal.journal import read_journal, record
from phasekeeper.orchestration.vfs.files import digest_of
from phasekeeper.server.disk import safe_open
from phasekeeper.server.store import lock as lock_module
from phasekeeper.server.store.commit import (
    Commit,
    Conflict,
    LockedRun,
    StoreError,
    Writes,
    commit,
)
from phasekeeper.server.store.lock import LockWait, run_lock
from phasekeeper.server.store.log_file import BrokenLog
from phasekeeper.server.store.recovery import RecoveryAction, RecoveryKind, finish_rename, pending_writes
from phasekeeper.server.workspace import decision_proof as decide

from tests.faults.scenario import in_memory
from tests.roots import needs, not_run

RUN = "tasks/T1"
STATE = f"{RUN}/state.json"
JOURNAL = f"{RUN}/.phasekeeper/journal.jsonl"
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
REPORT: dict[str, object] = {"kind": "report", "phase": "plan", "outcome": "ok"}
WAIT_S = 60


class Died(BaseException):
    """The end of the process, at the place where it is raised."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / RUN).mkdir(parents=True)
    (tmp_path / STATE).write_text("old")
    return tmp_path.resolve()


def write(root: Path, *edits: Edit, records: Any = (REPORT,), **options: Any) -> Commit:
    return commit(root, RUN, lambda _held: Writes(records, edits), clock=lambda: NOON, **options)


def edit(root: Path, text: str, path: str = STATE) -> Edit:
    return Edit(path, digest_of((root / path).read_bytes()), text)


def lines(root: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (root / JOURNAL).read_text().splitlines()]


def names(root: Path) -> list[str]:
    return sorted(path.name for path in (root / RUN).iterdir())


def dying(monkeypatch: pytest.MonkeyPatch, call: str, nth: int = 1, how: BaseException | None = None) -> None:
    """The nth call of an os function ends the process, or raises `how`."""
    real, left = getattr(os, call), [nth]

    def struck(*arguments: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise how or Died
        return real(*arguments, **options)

    monkeypatch.setattr(os, call, struck)


# --- what is written


def test_records_follow_each_other_and_name_the_files_that_were_written(root: Path) -> None:
    first = write(root)
    second = write(root, edit(root, "new"), records=(REPORT, {"kind": "transition", "next": "code"}))
    journal = read_journal((root / JOURNAL).read_text())
    assert (journal.problems, journal.head, len(journal.records)) == ((), second.head, 3)
    assert [each["seq"] for each in lines(root)] == [1, 2, 3]
    assert lines(root)[1]["prev"] == first.head
    assert lines(root)[0]["at"] == "2026-03-01T12:00:00.000+00:00"
    written = {"path": STATE, "digest": digest_of("new"), "was": digest_of("old")}
    assert [each.get("files") for each in lines(root)] == [None, None, [written]]
    assert (root / STATE).read_text() == "new"
    assert names(root) == [".phasekeeper", "state.json"]


def test_empty_fields_are_not_written_and_what_was_seen_stays_beside_what_was_written(root: Path) -> None:
    seen = {"path": "tasks/T1/review.json", "digest": "0f"}
    done = write(root, edit(root, "new"), records=(record(kind="report", files=[seen], seq=99, prev="x"),))
    assert lines(root) == [done.records[0]]
    assert list(lines(root)[0]) == ["seq", "at", "kind", "files"]
    assert lines(root)[0]["files"][0] == seen and lines(root)[0]["files"][1]["path"] == STATE


def test_a_line_is_ascii_whatever_it_says(root: Path) -> None:
    write(root, records=({**REPORT, "message": "grün \u202e\u2028😀"},))
    assert (root / JOURNAL).read_bytes().isascii()
    assert read_journal((root / JOURNAL).read_text()).records[0]["message"] == "grün \u202e\u2028😀"


def test_the_proposal_is_made_under_the_lock_with_what_the_first_record_will_get(root: Path) -> None:
    write(root)
    seen: list[LockedRun] = []

    def propose(held: LockedRun) -> Writes:
        seen.append(held)
        with pytest.raises(StoreError, match="is being written by process"), run_lock(root, RUN, timeout_s=0):
            pass
        return Writes()

    done = commit(root, RUN, propose, clock=lambda: NOON)
    assert seen == [LockedRun(root, RUN, done.head, 2, "2026-03-01T12:00:00.000+00:00")]
    assert (done.records, len(lines(root))) == ((), 1)


def test_a_new_file_gets_its_folders_and_the_same_content_twice_is_no_conflict(root: Path) -> None:
    new = Edit(f"{RUN}/reports/a/b.md", None, "text")
    write(root, new)
    before = (root / new.path).stat().st_mtime_ns
    write(root, new)
    assert (root / new.path).read_text() == "text"
    assert (root / new.path).stat().st_mtime_ns == before
    with pytest.raises(Conflict, match="exists already with other content"):
        write(root, Edit(new.path, None, "other"))


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_a_file_keeps_its_mode_and_its_byte_order_mark(root: Path) -> None:
    (root / STATE).write_bytes(b"\xef\xbb\xbfold")
    (root / STATE).chmod(0o640)
    write(root, edit(root, "new"))
    assert (root / STATE).read_bytes() == b"\xef\xbb\xbfnew"
    assert stat.S_IMODE((root / STATE).stat().st_mode) == 0o640


def test_a_run_that_is_the_root_itself_is_written(tmp_path: Path) -> None:
    commit(tmp_path, "", lambda _held: Writes((REPORT,), (Edit("state.json", None, "x"),)))
    assert (tmp_path / ".phasekeeper/journal.jsonl").exists() and (tmp_path / "state.json").read_text() == "x"


def test_a_decision_is_signed_over_its_place_in_the_chain(root: Path) -> None:
    key = bytes(range(32))
    write(root)
    decision = {"kind": "answer", "question": "go", "option": "yes", "why": "grün"}
    with pytest.raises(ValueError, match="signed"):
        write(root, records=(decision,))
    write(
        root,
        records=(decision,),
        sign=lambda entry: {"mac": decide.sign(entry, key, decide.journal_place(root, JOURNAL))},
    )
    raw = (root / JOURNAL).read_text().splitlines()
    assert decide.prove_lines(root, JOURNAL, raw, key).proven == {1}


@pytest.mark.parametrize(
    "records",
    [
        ({"kind": "party"},),
        ({"kind": "report", "iteration": "2"},),
        ({**REPORT, "x": float("nan")},),
        ({**REPORT, "message": "\ud800"},),
    ],
)
def test_what_a_reader_would_refuse_is_not_written(root: Path, records: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        write(root, edit(root, "new"), records=records)
    assert not (root / JOURNAL).exists() and (root / STATE).read_text() == "old"


def test_edits_need_a_record_and_one_file_is_edited_once(root: Path) -> None:
    with pytest.raises(ValueError, match="without a record"):
        write(root, edit(root, "new"), records=())
    with pytest.raises(ValueError, match="two edits"):
        write(root, edit(root, "new"), edit(root, "newer"))


# --- what is refused


def test_a_file_that_changed_since_it_was_read_is_a_conflict_and_nothing_is_written(root: Path) -> None:
    stale = edit(root, "new")
    (root / STATE).write_text("by somebody else")
    with pytest.raises(Conflict, match=r"tasks/T1/state\.json was changed .* `phasekeeper status`"):
        write(root, Edit(f"{RUN}/a.md", None, "a"), stale)
    (root / STATE).unlink()
    with pytest.raises(Conflict, match="was removed"):
        write(root, stale)
    assert names(root) == [] and not (root / JOURNAL).exists()


def test_a_save_while_the_new_text_is_flushed_is_a_conflict_too(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync

    def saved_meanwhile(descriptor: int) -> None:
        (root / STATE).write_text("by somebody else")
        real(descriptor)

    stale = edit(root, "new")
    monkeypatch.setattr(os, "fsync", saved_meanwhile)
    with pytest.raises(Conflict):
        write(root, stale)
    assert names(root) == ["state.json"] and (root / STATE).read_text() == "by somebody else"


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "/etc/x",
        "a//b",
        "",
        ".git/hooks/post-commit",
        "a/.GIT/config",
        JOURNAL,
        f"{RUN}/.phasekeeper/lock",
    ],
)
def test_paths_outside_and_files_of_git_and_of_the_store_are_refused(root: Path, path: str) -> None:
    with pytest.raises(StoreError):
        write(root, Edit(path, None, "x"))
    assert not (root / JOURNAL).exists()


@pytest.mark.skipif(os.name != "posix", reason="links need a right on Windows")
def test_nothing_is_written_through_links(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "f").write_text("theirs")
    (root / "tasks/L").symlink_to(outside)
    (root / RUN / "link").symlink_to(outside / "f")
    (root / RUN / "sub").symlink_to(outside)
    for path in (f"{RUN}/link", f"{RUN}/sub/f", f"{RUN}/sub/new"):
        with pytest.raises(StoreError, match="link"):
            write(root, Edit(path, digest_of("theirs"), "x"))
    with pytest.raises(StoreError, match="link"):
        commit(root, "tasks/L", lambda _held: Writes((REPORT,)))
    assert [path.name for path in outside.iterdir()] == ["f"] and (outside / "f").read_text() == "theirs"


@pytest.mark.skipif(os.name != "posix", reason="links need a right on Windows")
@pytest.mark.parametrize("name", ["journal.jsonl", "lock"])
def test_the_stores_own_files_are_not_links(root: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "theirs").touch()
    (root / RUN / ".phasekeeper").mkdir()
    (root / RUN / ".phasekeeper" / name).symlink_to(tmp_path / "theirs")
    with pytest.raises(StoreError):
        write(root)
    assert (tmp_path / "theirs").read_bytes() == b""


def test_a_pipe_in_the_place_of_a_file_is_refused_without_waiting(root: Path) -> None:
    if not hasattr(os, "mkfifo"):
        return
    os.mkfifo(root / RUN / "pipe")
    with pytest.raises(StoreError, match="not a regular file"):
        write(root, Edit(f"{RUN}/pipe", None, "x"))


def test_a_folder_that_does_not_exist_is_not_made_by_a_slip(root: Path) -> None:
    with pytest.raises(StoreError, match="there is no folder tasks/T9"):
        commit(root, "tasks/T9", lambda _held: Writes((REPORT,)))
    commit(root, "tasks/T9", lambda _held: Writes((REPORT,)), create=True)
    assert (root / "tasks/T9/.phasekeeper/journal.jsonl").exists()


def test_a_read_only_file_is_left_alone(root: Path) -> None:
    (root / STATE).chmod(0o444)
    with pytest.raises(StoreError, match="read-only"):
        write(root, edit(root, "new"))


@pytest.mark.skipif(os.name != "posix", reason="privileges are POSIX's")
def test_a_folder_without_permission_is_said_in_a_sentence(root: Path) -> None:
    said = unprivileged(root, 0o555)
    assert said.startswith("StoreError tasks/T1/.phasekeeper cannot be written: permission denied")
    assert names(root) == ["state.json"]


def unprivileged(root: Path, mode: int) -> str:
    """What a writer without special rights is told when the run's folder has this mode."""
    program = (
        "import filelock, os, sys; from pathlib import Path  # all that root alone may read\n"
        "from phasekeeper.server.store.commit import *\n"
        "if os.geteuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        f"try: commit(Path(sys.argv[1]), {RUN!r}, lambda locked: Writes(({REPORT!r},)))\n"
        "except StoreError as error: print(type(error).__name__, error)"
    )
    with tempfile.TemporaryDirectory() as folder:
        # The fixture's folder is closed to other users, and may be below one that is.
        Path(folder).chmod(0o755)
        moved = Path(folder).resolve() / "root"
        root.rename(moved)
        try:
            moved.chmod(0o755)
            (moved / RUN).chmod(mode)
            done = subprocess.run(
                [sys.executable, "-c", program, moved], capture_output=True, text=True, check=False
            )
        finally:
            (moved / RUN).chmod(0o755)
            moved.rename(root)
    assert not done.stderr
    return done.stdout


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB in memory."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        not_run("root")
    place = tmp_path / "small"
    place.mkdir()
    done = subprocess.run(
        [needs("mount"), "-t", "tmpfs", "-o", "size=64k", "none", place], capture_output=True, check=False
    )
    if done.returncode:
        not_run("root that may mount")
    try:
        yield place
    finally:
        subprocess.run([needs("umount"), place], check=True)


def test_a_full_disk_changes_nothing_and_is_said(small_disk: Path) -> None:
    (small_disk / RUN).mkdir(parents=True)
    (small_disk / STATE).write_text("old")
    done = 0
    with pytest.raises(StoreError, match="the disk is full; free some space"):
        while done < 1000:
            write(small_disk, records=({**REPORT, "message": "x" * 900},))
            done += 1
    journal = read_journal((small_disk / JOURNAL).read_text())
    assert (len(journal.records), journal.problems) == (done, ())
    with pytest.raises(StoreError, match="the disk is full"):
        write(small_disk, edit(small_disk, "y" * 40_000))
    assert (small_disk / STATE).read_text() == "old" and names(small_disk) == [".phasekeeper", "state.json"]


@pytest.mark.skipif(os.name != "posix", reason="links need a right on Windows")
def test_a_system_without_folder_descriptors_writes_and_refuses_the_same(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(safe_open, "_HAS_DESCRIPTORS", False)
    write(root, edit(root, "new"), Edit(f"{RUN}/a/b.md", None, "b"))
    assert ((root / STATE).read_text(), (root / RUN / "a/b.md").read_text()) == ("new", "b")
    interrupted(root, monkeypatch, "newer")
    assert write(root).recovery == (RecoveryAction(STATE, RecoveryKind.FINISHED),)
    (root / "tasks/L").symlink_to(root / "tasks/T1")
    with pytest.raises(StoreError, match="link"):
        commit(root, "tasks/L", lambda _held: Writes((REPORT,)))


# --- crashes and recovery


@pytest.mark.parametrize(
    ("call", "nth"), [("fsync", n) for n in range(1, 12)] + [("replace", n) for n in range(1, 6)]
)
def test_a_writer_that_dies_is_finished_or_undone_by_the_next(
    root: Path, monkeypatch: pytest.MonkeyPatch, call: str, nth: int
) -> None:
    with monkeypatch.context() as patched:
        dying(patched, call, nth)
        with suppress(Died):
            write(root, edit(root, "new"), Edit(f"{RUN}/note.md", None, "note"))
    seen = pending_writes(root, RUN)
    done = write(root, records=())
    recorded = bool(done.head)
    assert (root / STATE).read_text() == ("new" if recorded else "old")
    assert (root / RUN / "note.md").exists() is recorded
    assert {each.path for each in done.recovery if each.kind == "finished"} == set(seen.texts)
    assert not [name for name in names(root) if "phasekeeper-" in name]
    assert write(root, records=()).recovery == ()


def interrupted(root: Path, monkeypatch: pytest.MonkeyPatch, text: str = "new") -> None:
    """A commit whose record is in the journal, and whose writer died before it could rename anything."""
    with monkeypatch.context() as patched:
        patched.setattr("phasekeeper.server.store.commit.finish_rename", raising)
        with pytest.raises(Died):
            write(root, edit(root, text))


def raising(*_arguments: Any) -> Any:
    raise Died


def test_a_reader_sees_what_is_committed_before_anybody_recovers(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(root, monkeypatch)
    assert pending_writes(root, RUN) == ({STATE: "new"}, (), ())
    assert (root / STATE).read_text() == "old"
    assert write(root, records=()).recovery == (RecoveryAction(STATE, RecoveryKind.FINISHED),)
    assert pending_writes(root, RUN) == ({}, (), ())


def test_a_save_after_the_crash_is_kept_and_the_committed_text_lies_beside_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(root, monkeypatch)
    (root / STATE).write_text("by somebody else")
    assert pending_writes(root, RUN).conflicts == (STATE,)
    assert write(root).recovery == (
        RecoveryAction(STATE, RecoveryKind.CONFLICT, f"{STATE}.phasekeeper-conflict"),
    )
    assert (root / STATE).read_text() == "by somebody else"
    interrupted(root, monkeypatch, "newer")
    (root / STATE).write_text("again")
    kept = write(root).recovery[0].saved_as or ""
    assert (root / kept).read_text() == "newer" and kept != f"{STATE}.phasekeeper-conflict"
    assert (root / f"{STATE}.phasekeeper-conflict").read_text() == "new"


def test_a_run_that_was_moved_after_the_crash_is_finished_too(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(root, monkeypatch)
    (root / "tasks").rename(root / "away")
    (root / "tasks").symlink_to("nowhere")
    commit(root, "away/T1", lambda _held: Writes())
    assert (root / "away/T1/state.json").read_text() == "new"


def test_files_that_another_run_writes_in_the_same_folder_are_left_alone(root: Path) -> None:
    theirs = root / RUN / ".state.json.phasekeeper-0123abcd-1-0.tmp"
    theirs.write_text("being written")
    write(root, edit(root, "new"))
    write(root, edit(root, "newer"))
    assert theirs.read_text() == "being written"


def test_a_file_that_cannot_be_replaced_is_recorded_told_and_finished_later(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = OSError(errno.EACCES, "denied")
    with monkeypatch.context() as patched:
        dying(patched, "replace", 3, refused)  # the first two are the note beside the lock
        done = write(root, edit(root, "new"))
    assert [each.path for each in done.unfinished] == [STATE]
    assert "permission denied" in done.unfinished[0].why and (root / STATE).read_text() == "old"
    with monkeypatch.context() as patched:
        dying(patched, "replace", 2, refused)
        with pytest.raises(StoreError, match="permission denied"):
            write(root)
    assert write(root).recovery == (RecoveryAction(STATE, RecoveryKind.FINISHED),)


def temporary(root: Path) -> Path:
    return next((root / RUN).glob(".state.json.phasekeeper-*.tmp"))


def test_a_committed_text_that_is_not_what_was_recorded_is_put_aside_and_not_in_place(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(root, monkeypatch)
    temporary(root).write_text("bad disk")
    assert pending_writes(root, RUN) == ({}, (), (STATE,))
    assert write(root).recovery == (
        RecoveryAction(STATE, RecoveryKind.CONFLICT, f"{STATE}.phasekeeper-conflict"),
    )
    assert (root / STATE).read_text() == "old"


def test_a_target_that_became_a_folder_is_a_conflict(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(root, monkeypatch)
    (root / STATE).unlink()
    (root / STATE).mkdir()
    assert [each.kind for each in write(root).recovery] == ["conflict"]
    assert (root / STATE).is_dir()


def test_a_text_that_is_taken_away_before_it_is_in_place_is_told(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken(folder: Any, name: str, item: Any) -> Any:
        temporary(root).unlink()
        return finish_rename(folder, name, item)

    monkeypatch.setattr("phasekeeper.server.store.commit.finish_rename", taken)
    done = write(root, edit(root, "new"))
    assert "was taken away" in done.unfinished[0].why and lines(root)[0]["files"]


def test_a_text_that_stands_in_place_already_only_loses_its_temporary_file(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(root, monkeypatch)
    (root / STATE).write_text("new")
    assert pending_writes(root, RUN) == ({}, (), ())
    assert write(root).recovery == ()
    assert names(root) == [".phasekeeper", "state.json"]


def test_a_torn_last_line_is_cut_and_said(root: Path) -> None:
    write(root)
    with (root / JOURNAL).open("ab") as file:
        file.write(b'{"seq": 2, "kind": "rep')
    assert write(root).recovery == (RecoveryAction(JOURNAL, RecoveryKind.CUT),)
    assert [each["seq"] for each in lines(root)] == [1, 2]


def test_records_of_a_commit_that_was_cut_off_between_them_do_not_stay(root: Path) -> None:
    write(root)
    write(root, records=(REPORT, {"kind": "transition"}, {"kind": "question"}))
    raw = (root / JOURNAL).read_bytes().splitlines(keepends=True)
    (root / JOURNAL).write_bytes(b"".join(raw[:3]))
    write(root)
    assert [each["seq"] for each in lines(root)] == [1, 2]
    assert "more" not in lines(root)[1]


def test_a_whole_last_line_without_its_end_stays(root: Path) -> None:
    write(root)
    (root / JOURNAL).write_bytes((root / JOURNAL).read_bytes().rstrip(b"\n"))
    write(root)
    assert len(read_journal((root / JOURNAL).read_text()).records) == 2


@pytest.mark.parametrize("line", ['{"seq": 2, "kind": "newer-kind"}\n', ">>>>>>> theirs\n"])
def test_a_last_line_that_no_torn_write_left_is_not_cut(root: Path, line: str) -> None:
    write(root)
    with (root / JOURNAL).open("a") as file:
        file.write(line)
    with pytest.raises(BrokenLog, match="phasekeeper repair"):
        write(root)
    assert (root / JOURNAL).read_text().endswith(line)


def test_a_line_in_the_middle_that_was_changed_stops_all_writing(root: Path) -> None:
    for _ in range(3):
        write(root)
    raw = (root / JOURNAL).read_text()
    (root / JOURNAL).write_text(raw.replace('"outcome": "ok"', '"outcome": "no"', 1))
    with pytest.raises(BrokenLog, match="does not follow"):
        write(root)
    (root / JOURNAL).write_text(raw.replace('{"seq": 2', "{seq 2"))
    with pytest.raises(BrokenLog, match="line 2"):
        write(root)


def test_a_disk_that_fails_to_flush_the_journal_leaves_it_as_it_was(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root)
    before = (root / JOURNAL).read_bytes()
    with monkeypatch.context() as patched:
        dying(patched, "fsync", 1, OSError(errno.EIO, "bad disk"))
        with pytest.raises(StoreError, match="bad disk"):
            write(root)
    assert (root / JOURNAL).read_bytes() == before
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", failing)
        with pytest.raises(StoreError, match="is not known; look with `phasekeeper history`"):
            write(root)


def failing(_descriptor: int) -> None:
    raise OSError(errno.EIO, "bad disk")


# --- several writers and clocks


def contend(root: Path, barrier: Any, times: int) -> None:
    """Counts in the state file, once a commit."""

    def propose(held: LockedRun) -> Writes:
        text = (held.root / STATE).read_text()
        return Writes((REPORT,), (Edit(STATE, digest_of(text), str(int(text) + 1)),))

    barrier.wait(WAIT_S)
    for _ in range(times):
        commit(root, RUN, propose, timeout_s=WAIT_S)


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Processes that begin anew, and find this module."""
    monkeypatch.syspath_prepend(Path(__file__).parents[3])
    return multiprocessing.get_context("spawn")


def test_eight_processes_lose_no_report_and_leave_no_gap(tmp_path: Path, spawned: Any) -> None:
    with tempfile.TemporaryDirectory(dir=in_memory(tmp_path)) as folder:
        root = Path(folder).resolve()
        (root / RUN).mkdir(parents=True)
        (root / STATE).write_text("0")
        barrier = spawned.Barrier(8)
        writers = [spawned.Process(target=contend, args=(root, barrier, 250)) for _ in range(8)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join(3 * WAIT_S)
        assert [writer.exitcode for writer in writers] == [0] * 8
        journal = read_journal((root / JOURNAL).read_text())
        assert [each["seq"] for each in journal.records] == list(range(1, 2001))
        assert (journal.problems, (root / STATE).read_text()) == ((), "2000")


def hold(root: Path, ours: Any) -> None:
    with run_lock(root, RUN):
        ours.send("held")
        ours.poll(WAIT_S)


@pytest.fixture
def held_elsewhere(root: Path, spawned: Any) -> Iterator[Callable[[], None]]:
    """Another process has the lock; the value ends that process without letting go."""
    ours, theirs = spawned.Pipe()
    other = spawned.Process(target=hold, args=(root, theirs))
    other.start()

    def kill() -> None:
        other.kill()
        other.join(WAIT_S)

    try:
        assert ours.poll(WAIT_S)
        yield kill
    finally:
        kill()


def test_who_has_the_lock_is_said_and_a_dead_holder_has_it_no_more(
    root: Path, held_elsewhere: Callable[[], None]
) -> None:
    with pytest.raises(
        StoreError, match=r"tasks/T1 is being written by process \d+ on .* nothing was changed"
    ):
        write(root, timeout_s=0.05)
    held_elsewhere()
    assert write(root, timeout_s=WAIT_S).records


@pytest.fixture
def told_waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[LockWait]]:
    """What a person would be told of waits for locks, which is told at once."""
    monkeypatch.setattr(lock_module, "TOLD_AFTER_S", 0.01)
    waits: list[LockWait] = []
    token = lock_module.on_lock_wait.set(waits.append)
    yield waits
    lock_module.on_lock_wait.reset(token)


def test_whoever_waits_for_the_lock_is_told_once_for_whom_and_until_when(
    root: Path, held_elsewhere: Callable[[], None], told_waits: list[LockWait]
) -> None:
    with pytest.raises(StoreError, match=r"after 0.05 s nothing was changed"):
        write(root, timeout_s=0.05)
    [wait] = told_waits
    assert re.match(r"process \d+ on ", wait.holder)
    assert (wait.run, wait.waited_s, wait.left_s) == (RUN, 0.01, pytest.approx(0.04))
    assert wait.until == NOON + timedelta(seconds=wait.left_s)
    held_elsewhere()
    write(root)
    assert told_waits == [wait]


def test_whoever_has_been_told_gets_the_lock_when_it_is_free(
    root: Path, held_elsewhere: Callable[[], None], told_waits: list[LockWait]
) -> None:
    def free(wait: LockWait) -> None:
        told_waits.append(wait)
        held_elsewhere()

    token = lock_module.on_lock_wait.set(free)
    assert write(root, timeout_s=WAIT_S).records
    lock_module.on_lock_wait.reset(token)
    assert len(told_waits) == 1


def test_a_time_too_short_for_telling_is_not_told(
    root: Path, held_elsewhere: Callable[[], None], told_waits: list[LockWait]
) -> None:
    with pytest.raises(StoreError, match="is being written by process"):
        write(root, timeout_s=0.005)
    assert told_waits == []


def test_a_clock_that_is_set_back_changes_neither_order_nor_numbers(root: Path) -> None:
    for hours in (0, -5, 3):
        commit(root, RUN, lambda _held: Writes((REPORT,)), clock=lambda h=hours: NOON + timedelta(hours=h))
    journal = read_journal((root / JOURNAL).read_text())
    assert [each["seq"] for each in journal.records] == [1, 2, 3]
    assert [str(each["at"])[11:13] for each in journal.records] == ["12", "07", "15"]
