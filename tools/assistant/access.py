"""The access that operations of assistants need to roots and runs, and the run that a call means."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from ...orchestration.evaluation.trace import EvaluationTrace
from ...orchestration.journal.journal import Claim, Record
from ...orchestration.result.held_tasks import HeldTask
from ...orchestration.result.values import Evaluation
from ...orchestration.sanitize import plain
from ...orchestration.updates.commands import Command
from ..run_names import NoSuchRun, find_run, name_in_root
from .answer_memory import AnswerMemory
from .totals import RootTotals

if TYPE_CHECKING:
    # One machine alone has nothing to do with it.
    from ...orchestration.fleet.shared_board import SharedBoard

T = TypeVar("T")
Outcome = Mapping[str, Any]
"""What came of a check: `name`, `result`, `reason`, whether it `ran`, the path of its `log`, its `tail`."""


class ToolRefused(Exception):  # noqa: N818 - said to assistants as it is
    """A call that is not possible; the text says why and what to do instead."""


class RootRuns(NamedTuple):
    """A root and its runs by the names that a caller may use, those of its projects among them."""

    root: str
    runs: Mapping[str, Evaluation]
    totals: RootTotals
    note: str = ""


class ActResult(NamedTuple):
    """A run after a command, and the records that were written for it."""

    run: Evaluation
    records: Sequence[Record]


class Access(Protocol):
    """All that an operation may look at and do. Every method raises ToolRefused for what cannot be."""

    @property
    def memory(self) -> AnswerMemory:
        """What earlier answers said of runs."""
        ...

    async def place(self, root: str, run: str | None = None) -> RootRuns:
        """The runs of the root that is named, else of the caller's.

        They are as their files are now; if a run is named as `select_run` takes it, that one surely is.
        """
        ...

    async def fleet(self, place: RootRuns) -> SharedBoard:
        """The runs of the root's project on every machine of its fleet."""
        ...

    async def held_tasks(self, run: Evaluation) -> Collection[HeldTask]:
        """The next tasks of a run that others have on their machines, as far as the fleet can be asked."""
        ...

    async def ask(self, run: Evaluation, question: Callable[[EvaluationTrace], T]) -> T:
        """The answer to a question about how the run's evaluation comes about."""
        ...

    async def run_checks(self, run: Evaluation, checks: Sequence[str]) -> Sequence[Outcome] | None:
        """Run those of the checks that are not fresh; what came of each, None where they still run."""
        ...

    async def with_changed_lines(self, run: Evaluation) -> Evaluation:
        """The run, its checks saying at which lines their inputs changed."""
        ...

    async def text(self, run: Evaluation, path: str) -> str:
        """The text of a file of the root; "" where it cannot be read."""
        ...

    async def workflows(self, place: RootRuns) -> Sequence[str]:
        """The names of the workflows of a root of which a run can be started."""
        ...

    async def start(self, place: RootRuns, workflow: str, name: str, title: str, who: str) -> Evaluation:
        """Start a run of that name; how it stands."""
        ...

    async def act(self, run: Evaluation, act: Command, token: int | str | None) -> ActResult:
        """Carry an act out, under the claim of that number or token; how the run stands then.

        Raises AlreadyDone for a report that is not needed.
        """
        ...

    async def again(self, run: Evaluation) -> Evaluation:
        """The run as its files have it now."""
        ...

    async def claim(
        self, run: Evaluation, who: str, seconds: float, token: str
    ) -> tuple[Evaluation, Claim | None, str]:
        """The task that is `who`'s from now on: the one held already, else the first that is free.

        The text is the claim's token where the caller has to keep it, "" where the connection does; `token`
        is one that the caller kept.
        """
        ...

    def is_known(self, place: RootRuns, run: str | None, revision: str) -> bool:
        """Test that a revision is that of a run, or of all runs without one, or was given out as such."""
        ...

    async def wait(self, place: RootRuns, run: str, since: str, seconds: float) -> RootRuns: ...

    def who(self, named: str) -> str:
        """The name of the caller in records, unique to a connection unless it names itself."""
        ...


def select_run(place: RootRuns, wanted: str) -> Evaluation:
    """The run that is meant, the only one without a name. Raises ToolRefused, which lists them, otherwise."""
    return place.runs[name_of(place, wanted)]


def name_of(place: RootRuns, wanted: str) -> str:
    names, given = place.runs.keys(), wanted
    wanted = name_in_root(wanted, place.root)
    note = f"; {place.note}" if place.note else ""
    if not names:
        where = plain(place.root, 300)
        raise ToolRefused(plain(f"there is no run in {where}{note}; status says how one is started", 1_900))
    if not wanted and len(names) == 1:
        return next(iter(names))
    if not wanted:
        few = ", ".join(plain(name, 200) or "." for name in islice(names, 10))
        more = f" and {len(names) - 10} more" if len(names) > 10 else ""
        raise ToolRefused(f"say which run is meant; the runs are {few}{more}"[:1_900])
    if wanted in (".", "./") and "" in place.runs:
        return ""
    try:
        return find_run(names, wanted)
    except NoSuchRun as error:
        shown = {plain(name, 300): name for name in names}
        if wanted in shown:
            return shown[wanted]
        if given != wanted and (around := [name for name in names if name and wanted.startswith(f"{name}/")]):
            # The path of a file of it.
            return max(around, key=len)
        raise ToolRefused(plain(f"{error}{note}", 1_900)) from None
