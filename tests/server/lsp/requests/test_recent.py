"""What was recorded of late, over all runs: one list, the newest first."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.vfs.files import File, digest_of
from phasekeeper.server.disk.disk_files import DiskFiles
from phasekeeper.server.lsp.requests import read

from tests.roots import TASKS, put, task
from tests.server.lsp.client import Client, run_with

START = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def key(tmp_path_factory, monkeypatch):
    """Decisions are signed with a key of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


def at(minute: int) -> str:
    return (START + timedelta(minutes=minute)).isoformat(timespec="milliseconds")


def put_journal(root: Path, name: str, *records: dict[str, Any], written: str = "") -> None:
    """A run with a journal of these records; the file is as old as its last record, unless said otherwise."""
    task(root, name)
    lines: list[str] = []
    for entry in records:
        prev = {"prev": digest_of(lines[-1])} if lines else {}
        lines.append(json.dumps({"kind": "report", "phase": "planning", "outcome": "ok", **entry, **prev}))
    journal = put(root / TASKS / name / ".phasekeeper/journal.jsonl", "".join(f"{line}\n" for line in lines))
    moment = datetime.fromisoformat(written or records[-1].get("at") or at(0)).timestamp()
    os.utime(journal, (moment, moment))


def recent_events(limit: Any, *roots: Path) -> list[dict[str, Any]]:
    """What a client of these folders is answered."""
    found: list[dict[str, Any]] = []

    async def work(client: Client) -> None:
        await client.initialize(*roots)
        await client.ready(*roots)
        found.extend((await client.request("phasekeeper/recent", limit))["events"])

    run_with(work)
    return found


def messages_of(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["run"].rpartition("/")[2], event.get("message", "")) for event in events]


def test_the_newest_records_of_all_runs_and_roots_are_told_newest_first(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    put_journal(one, "A", {"at": at(1), "message": "a"}, {"at": at(4), "message": "b"})
    put_journal(other, "B", {"at": at(2), "message": "c"}, {"at": at(3), "message": "d"})
    events = recent_events({"limit": 3}, one, other)
    assert messages_of(events) == [("A", "b"), ("B", "d"), ("B", "c")]
    assert [event["root"] for event in events] == [str(one), str(other), str(other)]
    assert [event["line"] for event in events] == [2, 2, 1]


def test_each_record_has_the_titles_of_what_it_names_by_ids(tmp_path):
    put_journal(
        tmp_path, "A", {"at": at(1)}, {"at": at(2), "phase": "review", "next": "codegen", "tasks": ["x"]}
    )
    newest, first = recent_events({"limit": 2}, tmp_path)
    assert newest["phaseTitles"] == {"review": "Review the code", "codegen": "Write the code"}
    assert first["phaseTitles"] == {"planning": "Plan the change"}
    assert newest["taskTitles"] == first["taskTitles"] == {}


@pytest.mark.parametrize("limit", [None, [], {}, {"limit": 0}, {"limit": "7"}, {"limit": True}])
def test_all_there_is_is_told_where_no_number_is_asked_for(tmp_path, limit):
    put_journal(tmp_path, "A", {"at": at(1)}, {"at": at(2)})
    assert len(recent_events(limit, tmp_path)) == 2


def test_only_journals_are_read_that_may_hold_one_of_the_newest(tmp_path, monkeypatch):
    for n in range(30):
        put_journal(tmp_path, f"T{n:02}", {"at": at(n), "message": str(n)})
    paths: list[str] = []

    class Noting(DiskFiles):
        def read(self, path: str) -> File:
            paths.append(path)
            return super().read(path)

    monkeypatch.setattr(read, "DiskFiles", Noting)
    assert messages_of(recent_events({"limit": 2}, tmp_path)) == [("T29", "29"), ("T28", "28")]
    assert set(paths) == {f"{TASKS}/{name}/.phasekeeper/journal.jsonl" for name in ("T29", "T28")}


def test_a_checkout_that_made_every_journal_at_once_hides_nothing(tmp_path):
    for n in range(12):
        put_journal(tmp_path, f"T{n:02}", {"at": at(n * 7 % 12), "message": str(n * 7 % 12)}, written=at(99))
    assert [message for _, message in messages_of(recent_events({"limit": 3}, tmp_path))] == ["11", "10", "9"]


def test_records_without_a_time_come_last_and_a_time_without_a_zone_is_utc(tmp_path):
    put_journal(tmp_path, "A", {"message": "none"}, {"at": "yesterday", "message": "word"}, written=at(9))
    put_journal(tmp_path, "B", {"at": "2026-05-01T00:05:00", "message": "bare"}, written=at(9))
    put_journal(tmp_path, "C", {"at": "2026-05-01T02:04:00+02:00", "message": "east"}, written=at(9))
    events = recent_events({}, tmp_path)
    assert [message for _, message in messages_of(events)] == ["bare", "east", "word", "none"]
    assert "at" not in events[-1]


def test_what_does_not_count_is_left_out(tmp_path):
    put_journal(
        tmp_path, "A", {"at": at(1), "message": "kept"}, {"kind": "answer", "at": at(2), "option": "forged"}
    )
    put_journal(tmp_path, "B", {"at": at(3)}, {"at": at(4), "outcome": 7})
    assert messages_of(recent_events({}, tmp_path)) == [("A", "kept")]
    assert (tmp_path / TASKS / "B/.phasekeeper/journal.jsonl").exists()


def test_there_is_nothing_to_tell_of_runs_without_a_journal(tmp_path):
    task(tmp_path, "T1")
    assert recent_events({"limit": 5}, tmp_path) == []
