"""What clients were answered, and whether a run's journal fits it: nothing lost, doubled or out of order.

An attempt is acknowledged, refused, or unknown: the client or the server was killed before the answer came.
What is acknowledged stands once, what is refused nowhere, what is unknown once or not at all.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from phasekeeper.orchestration.journal.journal import Record, read_journal
from phasekeeper.server.store.recovery import pending_writes


class Answer(StrEnum):
    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(eq=False)
class Attempt:
    """A write that was asked for. Times are monotonic; what was never answered may happen at any later one.

    A redo has no message of its own in the journal: those of a run are counted.
    """

    root: Path
    run: str
    message: str
    is_redo: bool = False
    began: float = field(default_factory=time.monotonic)
    ended: float = float("inf")
    answer: Answer = Answer.UNKNOWN
    said: str = ""


class History:
    """All attempts of a soak, and how often each answer was given; used by the threads of all clients."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._attempts: defaultdict[Path, list[Attempt]] = defaultdict(list)
        self.answers: Counter[Answer] = Counter()

    def begin(self, root: Path, run: str, message: str, is_redo: bool = False) -> Attempt:
        attempt = Attempt(root, run, message, is_redo)
        with self._lock:
            self._attempts[root].append(attempt)
        return attempt

    def end(self, attempt: Attempt, answer: Answer, said: str = "") -> None:
        if answer is not Answer.UNKNOWN:
            attempt.ended = time.monotonic()
        with self._lock:
            attempt.answer, attempt.said = answer, said
            self.answers[answer] += 1

    def attempts(self, root: Path, run: str) -> list[Attempt]:
        with self._lock:
            return [each for each in self._attempts[root] if each.run == run]

    def forget(self, root: Path) -> None:
        """Drop what was asked of a root that is gone."""
        with self._lock:
            self._attempts.pop(root, None)


@dataclass
class Verdict:
    """How a journal differs from what was answered; `lost`, `doubled` and `uninvited` count records."""

    lost: int = 0
    doubled: int = 0
    uninvited: int = 0
    faults: list[str] = field(default_factory=list)


def judge(root: Path, run: str, attempts: Sequence[Attempt], effect: str, is_merged: bool = False) -> Verdict:
    """Compare a run that nobody writes to with the attempts on it; `effect` is the file to which
    each report adds its message as a line. In one that `is_merged` branches stand one behind the other."""
    verdict = Verdict()
    journal = read_journal((root / run / ".phasekeeper/journal.jsonl").read_bytes())
    verdict.faults += [f"the journal has {problem.code}: {problem.message}" for problem in journal.problems]
    reports = [str(each["message"]) for each in journal.records if each["kind"] == "report"]
    stands, known = Counter(reports), {each.message: each for each in attempts if not each.is_redo}
    verdict.doubled = sum(count - 1 for count in stands.values())
    for message, attempt in known.items():
        verdict.lost += attempt.answer is Answer.ACKNOWLEDGED and message not in stands
        verdict.uninvited += attempt.answer is Answer.REFUSED and message in stands
    verdict.uninvited += len(stands.keys() - known.keys())
    _count_redos(verdict, journal.records, attempts)
    lines = (root / run / effect).read_text().splitlines()
    if is_merged:
        lines, reports = sorted(lines), sorted(reports)
    else:
        verdict.faults += _disorder([known[each] for each in reports if each in known])
        numbers = [each["seq"] for each in journal.records]
        if numbers != list(range(1, len(numbers) + 1)):
            verdict.faults.append(f"the records are numbered {numbers}")
    if lines != reports:
        verdict.faults.append(f"{effect} has not the reports of the journal")
    if (left := pending_writes(root, run)) != ({}, (), ()):
        verdict.faults.append(f"left behind: {left}")
    return verdict


def newest_record(root: Path, run: str) -> Record:
    """The last record of a run's journal."""
    return read_journal((root / run / ".phasekeeper/journal.jsonl").read_bytes()).records[-1]


def _count_redos(verdict: Verdict, records: Iterable[Record], attempts: Sequence[Attempt]) -> None:
    stands = sum(each["kind"] == "transition" for each in records)
    answers = Counter(each.answer for each in attempts if each.is_redo)
    least = answers[Answer.ACKNOWLEDGED]
    verdict.lost += max(0, least - stands)
    verdict.uninvited += max(0, stands - least - answers[Answer.UNKNOWN])


def _disorder(attempts: Iterable[Attempt]) -> Iterator[str]:
    """Records that stand behind others that were asked for only after theirs had been acknowledged."""
    latest: Attempt | None = None
    for attempt in attempts:
        if latest is not None and attempt.ended < latest.began:
            yield f"{attempt.message} had been acknowledged before {latest.message}, which precedes it, began"
        if latest is None or attempt.began > latest.began:
            latest = attempt
