"""Files as they would be, with some texts changed and records added to a journal; nothing is written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ..findings import Edit, Problem
from ..formats.json_text import read_json
from ..journal.journal import EMPTY_RECORD, Journal, Record, Verify
from ..vfs.files import Entry, File, Files, decode, digest_of, name_in, parent

# Newer than all there is: what is written last was made last.
_NEWEST_NS = 2**62


@dataclass(frozen=True)
class Overlay:
    """Files with some texts changed."""

    below: Files
    texts: Mapping[str, str]

    @property
    def unlisted(self) -> Mapping[str, Problem]:
        return self.below.unlisted

    def read(self, path: str) -> File:
        text = self.texts.get(path)
        if text is None:
            return self.below.read(path)
        return decode(path, text.encode("utf-8"), _NEWEST_NS)

    def list(self, folder: str) -> Mapping[str, Entry]:
        names = dict(self.below.list(folder))
        prefix = f"{folder}/" if folder else ""
        for path, text in self.texts.items():
            if path.startswith(prefix):
                name, _, deeper = path[len(prefix) :].partition("/")
                made = Entry(name, "file", len(text.encode("utf-8")), _NEWEST_NS)
                names[name] = names.get(name, Entry(name, "folder")) if deeper else made
        return names

    def entry(self, path: str) -> Entry | None:
        return self.list(parent(path)).get(name_in(path))


class Extension:
    """A journal with more records at its end, stamped as the writer will stamp them under its lock.

    Only the `mac` of a decision is left out: it needs a key.
    """

    def __init__(self, journal: Journal, text: str, now: datetime):
        lines = text.split("\n")
        at = {code: [p.span.line for p in journal.problems if p.code == code and p.span] for code in _CODES}
        torn = min(at["journal-torn"], default=len(lines))
        self.kept = "".join(f"{line}\n" for line in lines[:torn]) if torn < len(lines) else _ended(text)
        self.head = journal.head
        self.seq = max(map(_seq, lines[:torn]), default=0) + 1
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


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _seq(line: str) -> int:
    data = read_json(line).data
    seq = data.get("seq") if isinstance(data, dict) else 0
    return seq if type(seq) is int else 0
