"""One table of odd lines, and every reader of logs: what one takes for a line all take for one.

A line that the store appends behind and that the journal cannot read would make the run invalid for good.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from phasekeeper.orchestration.journal.journal import read_claims, read_journal
from phasekeeper.orchestration.vfs.files import decode, digest_of
from phasekeeper.server.store.claims import claim, release
from phasekeeper.server.store.commit import Conflict, Writes, commit
from phasekeeper.server.store.folder import StoreError
from phasekeeper.server.store.repair import find_damage
from phasekeeper.server.workspace.decision_proof import journal_place, prove_lines, sign

RUN = "T1"
JOURNAL, CLAIMS = f"{RUN}/.phasekeeper/journal.jsonl", f"{RUN}/.phasekeeper/claims.jsonl"
KEY = bytes(range(32))
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
START = json.dumps({"seq": 1, "kind": "start"})

# What stands in a record besides its own fields, and what readers make of the line.
ODD = {
    "plain": (b'"x": 1', "line"),
    "twice": (b'"x": 1, "x": 2', "repeated"),
    "twice-inside": (b'"x": {"y": 1, "y": 2}', "repeated"),
    "null": (b'"x": null, "about": null', "line"),
    "23-digits": (b'"x": ' + b"9" * 23, "line"),
    "23-digits-number": (b'"iteration": ' + b"9" * 23, "no record"),
    "wrong-type": (b'"tasks": "x"', "no record"),
    "4300-digits": (b'"x": ' + b"9" * 4300, "line"),
    "4301-digits": (b'"x": ' + b"9" * 4301, "torn"),
    "nan": (b'"x": NaN', "torn"),
    "infinity": (b'"x": -Infinity', "torn"),
    "beyond-double": (b'"x": 1e999', "unsigned"),
    "surrogate": (rb'"x": "\ud800"', "torn"),
    "pair": (rb'"x": "\ud83d\ude00"', "line"),
    "no-utf-8": (b'"x": "\xff"', "torn"),
    "nested": (b'"x": ' + b"[" * 600 + b"]" * 600, "torn"),
    "nested-190": (b'"x": ' + b"[" * 190 + b"]" * 190, "line"),
    "control": (b'"x": "\x01"', "torn"),
    "no-break-space-behind": ('"x": 1}\u00a0'.encode(), "torn"),
}
BLANK = {"space": b" \t", "no-break space": "\u00a0".encode(), "separators": b"\x1c\x1f", "CR": b"\r"}


def odd(fields: bytes, **record: object) -> bytes:
    whole = json.dumps(record).encode()[:-1] + b", " + fields
    return whole if fields.endswith("}\u00a0".encode()) else whole + b"}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / RUN / ".phasekeeper").mkdir(parents=True)
    return tmp_path.resolve()


def accepts(root: Path, journal: bytes) -> bool:
    """Whether the store writes behind these lines; then what stands there has to be a journal still."""
    (root / JOURNAL).write_bytes(journal)
    try:
        commit(root, RUN, lambda _: Writes([{"kind": "report", "message": "next"}]), clock=lambda: NOON)
    except StoreError:
        return False
    after = read_journal(decode(JOURNAL, (root / JOURNAL).read_bytes()).text or "")
    assert not after.broken and after.records[-1]["message"] == "next"
    return True


@pytest.mark.parametrize("name", ODD)
def test_the_journal_the_store_and_repair_agree_on_which_line_is_a_record(root: Path, name: str) -> None:
    fields, verdict = ODD[name]
    line = odd(fields, seq=2, kind="report", prev=digest_of(START))
    is_record = verdict not in ("torn", "no record")
    log = START.encode() + b"\n" + line + b"\n"
    assert accepts(root, log) is is_record
    journal = read_journal(log)
    assert len(journal.records) == (2 if is_record else journal.broken is False)
    assert [problem.code for problem in journal.problems] == (
        [] if is_record else ["journal-torn" if verdict == "torn" else "journal-invalid"]
    )
    (root / JOURNAL).write_bytes(log)
    assert find_damage(root, RUN).unreadable == (not is_record)
    behind = json.dumps({"seq": 3, "kind": "report", "prev": digest_of(line)}).encode() + b"\n"
    assert read_journal(log + behind).broken is not is_record


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n", "\n\r\n", " \n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_a_record_follows_the_last_line_whatever_its_line_end_is(
    root: Path, bom: str, end: str, count: int
) -> None:
    content = end.partition("\n")[0].removesuffix("\r")
    lines: list[str] = []
    for seq in range(1, count + 1):
        # CR before LF belongs to the line end, whatever else precedes it to the line.
        prev = {"prev": digest_of(lines[-1] + content)} if lines else {}
        lines.append(json.dumps({"seq": seq, "kind": "report", **prev}))
    assert accepts(root, (bom + "".join(line + end for line in lines)).encode())
    assert [each["seq"] for each in read_journal((root / JOURNAL).read_bytes()).records] == [
        *range(1, count + 2)
    ]


@pytest.mark.parametrize("name", ODD)
def test_a_decision_is_proven_only_where_its_line_is_one_to_all_readers(root: Path, name: str) -> None:
    fields, verdict = ODD[name]
    line = odd(fields, kind="answer", question="go", option="yes")
    if verdict in ("line", "no record"):
        record = json.loads(line)
        record["mac"] = sign(record, KEY, journal_place(root, JOURNAL))
        text = json.dumps(record)
    else:
        text = line.decode("utf-8", "replace").replace('"answer"', '"answer", "mac": "00"')
    proven = prove_lines(root, JOURNAL, [text], KEY, lambda _root, _path: frozenset()).proven
    assert proven == ({0} if verdict in ("line", "no record") else set())
    in_head = prove_lines(root, JOURNAL, [text], KEY, lambda _root, _path: frozenset({text})).proven
    assert in_head == ({0} if verdict in ("line", "no record", "unsigned") or name == "no-utf-8" else set())


@pytest.mark.parametrize("name", ODD)
def test_the_store_and_whoever_looks_agree_on_which_line_is_a_claim(root: Path, name: str) -> None:
    fields, verdict = ODD[name]
    log = odd(fields, seq=4, kind="claim", task="a", actor="ada", until="2027-01-01T00:00:00+00:00") + b"\n"
    (root / CLAIMS).write_bytes(log)
    is_claim = verdict != "torn"
    assert len(read_claims(log, "2026-03-01T12:00:00+00:00")) == is_claim
    if is_claim:
        with pytest.raises(Conflict):
            claim(root, RUN, "a", "bob", 60, "bob's", clock=lambda: NOON)
        assert release(root, RUN, "a", None, clock=lambda: NOON)
    else:
        assert claim(root, RUN, "a", "bob", 60, "bob's", clock=lambda: NOON).actor == "bob"


@pytest.mark.parametrize("name", BLANK)
def test_a_blank_line_is_blank_to_all_readers(root: Path, name: str) -> None:
    for log in (START.encode() + b"\n" + BLANK[name] + b"\n", BLANK[name] + b"\n" + START.encode() + b"\n"):
        assert len(read_journal(log).records) == 1 and not read_journal(log).problems
        assert accepts(root, log)
        assert find_damage(root, RUN).unreadable == 0


def test_one_byte_order_mark_is_none_of_the_content_and_a_second_one_is(root: Path) -> None:
    mark, log = "\ufeff".encode(), START.encode() + b"\n"
    assert accepts(root, mark + log)
    assert not accepts(root, mark + mark + log)
    for raw, kept in ((mark + log, 1), (mark + mark + log, 0)):
        assert len(read_journal(decode(JOURNAL, raw).text or "").records) == kept
        assert len(read_journal(raw).records) == kept
