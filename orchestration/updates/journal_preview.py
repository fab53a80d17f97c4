"""A journal as it would be with more records at its end; nothing is written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from ..findings import Edit
from ..journal.journal import EMPTY_RECORD, Journal, Record, Verify
from ..journal.lines import parse_lines
from ..vfs.files import digest_of


class JournalPreview:
    """A journal with more records at its end, stamped as the writer will stamp them under its lock.

    Only the `mac` of a decision is left out: it needs a key.
    """

    def __init__(self, journal: Journal, text: str, now: datetime):
        lines = text.removesuffix("\n").split("\n") if text else []
        at = {code: [p.span.line for p in journal.problems if p.code == code and p.span] for code in _CODES}
        torn = min(at["journal-torn"], default=len(lines))
        self.kept = "".join(f"{line}\n" for line in lines[:torn])
        self.head = journal.head
        whole = (line for line in parse_lines(text) if line.number < torn)
        self.seq = max((line.integer("seq") for line in whole), default=0) + 1
        self.at = now.astimezone(UTC).isoformat(timespec="milliseconds")
        self.unproven = frozenset(lines[line].removesuffix("\r") for line in at["decision-unverified"])

    def text(self, records: Sequence[Record], edits: Sequence[Edit]) -> str:
        """The journal's text with the records, the last of which names the files written."""
        files = [{"path": e.path, "digest": digest_of(e.text), "was": e.digest or ""} for e in edits]
        out, prev = self.kept, self.head
        for number, given in enumerate(records):
            said = {name: value for name, value in given.items() if value != EMPTY_RECORD[name]}
            is_last = number == len(records) - 1
            seen = said.get("files")
            named = [*(seen if isinstance(seen, list) else []), *(files if is_last else [])]
            more = {"files": named} if named else {}
            entry = {"seq": self.seq + number, "at": self.at, **said, **more, "prev": prev}
            line = json.dumps(entry)
            out, prev = f"{out}{line}\n", digest_of(line)
        return out

    @property
    def verify(self) -> Verify:
        """What was proven stays so, and the records added are a person's as far as they need to be."""
        return lambda lines: frozenset(i for i, line in enumerate(lines) if line not in self.unproven)


_CODES = ("journal-torn", "decision-unverified")
