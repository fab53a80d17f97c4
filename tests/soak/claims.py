"""Claims of a haul on a plan of their own: taken by many at once, given back, lost, outlived, and those of
clients that are killed. A task is never two clients' own, and never again nobody's before it may be.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from phasekeeper.orchestration.journal.journal import read_claims
from phasekeeper.orchestration.journal.lines import CLAIMS

from tests.roots import put
from tests.soak.clients import Assistant, CommandLine, Launcher

TASKS = 8
AT_ONCE = 3
"""Assistants, and as many command lines, that ask for a task at the same time."""
TTL_S = 3600
EARLIER, LATER = ("faketime", "-f", "-2h"), ("faketime", "-f", "+2h")
PLAN = """\
# Feature - Master Plan

**Status**: [~] In Progress

## Phase 1: Foundation

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 0 | f-0 | `0-a.md` | what was done before | impl | [x] |
"""


class Held(NamedTuple):
    """A claim that was acknowledged; an assistant keeps the token to itself."""

    task: str
    actor: str
    token: str = ""


class Claims:
    """One plan of a root, and who has which of its tasks. `complaints` is what is wrong; empty is right."""

    def __init__(self, launcher: Launcher, root: Path, number: int) -> None:
        self._launcher, self._root = launcher, root
        self.run = f".orchestrator/tasks/claims-{number}"
        self.complaints: list[str] = []
        self._held: dict[str, Held] = {}
        self._ids = [f"f-{each}" for each in range(1, TASKS + 1)]
        for each, name in enumerate(("f-0", *self._ids)):
            put(root / self.run / f"{each}-a.md", f"# {each}. a\n\n## Meta\n\n- **ID**: {name}\n")
        rows = "".join(
            f"| {each} | {name} | `{each}-a.md` | do | impl | [ ] |\n"
            for each, name in enumerate(self._ids, 1)
        )
        progress = f"\n**Progress**: 1/{TASKS + 1} tasks complete ({100 // (TASKS + 1)}%)\n"
        put(root / self.run / "MASTER_PLAN.md", PLAN + rows + progress)

    def exercise(self) -> None:
        """All of it, one after the other."""
        self._race()
        first, second, *_ = [each for each in self._held.values() if each.token]
        self._give_back(first)
        self._lose(second)
        self._outlive()

    # ---- what is done

    def _race(self) -> None:
        """Many ask at once. Then all the assistants are killed, whose claims stand."""
        with ExitStack() as assistants, ThreadPoolExecutor(2 * AT_ONCE) as threads:
            made = [
                assistants.enter_context(
                    closing(Assistant(self._launcher, self._root, ("--standalone",) if alone else ()))
                )
                for alone in range(AT_ONCE)
            ]
            for each in made:
                each.connect()
            asked = [threads.submit(self._ask, each, f"assistant-{n}") for n, each in enumerate(made)]
            # These name the tasks that an assistant is given first.
            asked += [threads.submit(self._claim, self._ids[n % 2], f"script-{n}") for n in range(AT_ONCE)]
            asked += [threads.submit(self._claim, self._ids[-1 - n], f"late-{n}") for n in range(2)]
            claims = [each for future in asked if (each := future.result())]
            for each in made:
                each.process.kill()
        for each in claims:
            if each.task in self._held:
                self._complain(f"{each.task} was given to {self._held[each.task].actor} and {each.actor}")
            self._held[each.task] = each
        named = {each.actor for each in claims}
        if lacking := [f"assistant-{n}" for n in range(AT_ONCE) if f"assistant-{n}" not in named]:
            self._complain(f"no task was given to {lacking}, though there are {TASKS}")
        self._compare("after many asked at once")
        for each in claims[::3]:
            self._refused(
                self._claim(each.task, "thief"), f"{each.task} of {each.actor} was taken by another"
            )

    def _give_back(self, held: Held) -> None:
        """Nobody gives back what is another's; what is given back is free."""
        if self._release(held.task, "0" * 32):
            self._complain(f"{held.task} was given back by a token that is none")
        self._compare("after a token that is none")
        if not self._release(held.task, held.token):
            self._complain(f"{held.task} could not be given back by {held.actor}")
        del self._held[held.task]
        self._compare("after one was given back")
        self._take(held.task, "next")

    def _lose(self, held: Held) -> None:
        """Who lost the token can neither report nor claim again; with it the report is taken."""
        put(self._root / f"src/{held.task}.py", "DONE = 1\n")
        words = ("report", self.run, "4a", "complete", "--task", held.task, "--as", held.actor)
        words += ("--summary", f"Changed src/{held.task}.py, and ran it")
        if CommandLine(self._launcher, self._root).run(*words)[0] != 1:
            self._complain(f"{held.task} was reported without the token of {held.actor}")
        self._refused(self._claim(held.task, held.actor), f"{held.task} was claimed again without its token")
        if CommandLine(self._launcher, self._root).run(*words, "--token", held.token)[0] not in (0, 3):
            self._complain(f"{held.task} could not be reported by {held.actor}, who has it")

    def _outlive(self) -> None:
        """A claim that ended is another's to take; those of the killed end like any."""
        free = next(name for name in self._ids if name not in self._held)
        old = self._claim(free, "old", EARLIER)
        if old is None:
            self._complain(f"{free} was free and could not be claimed two hours ago")
            return
        self._take(free, "new")
        self._refused(self._claim(free, "old", EARLIER, old.token), f"{free} was claimed again at its end")
        left = [each for each in self._held.values() if each.actor.startswith("assistant")]
        for each in left:
            self._take(each.task, "heir", LATER)

    # ---- commands

    def _ask(self, assistant: Assistant, who: str) -> Held | None:
        said = assistant.call("next_step", run=self.run, claim=True, agent=who)
        claim = said.get("result", {}).get("structuredContent", {}).get("claim")
        return Held(claim["task"], who) if claim else None

    def _claim(self, task: str, who: str, tracer: tuple[str, ...] = (), token: str = "") -> Held | None:
        words = ("claim", self.run, task, "--as", who, "--ttl", str(TTL_S), "--json")
        words += ("--token", token) if token else ()
        code, said = CommandLine(self._launcher, self._root, tracer=tracer).run(*words)
        return Held(task, who, json.loads(said)["token"]) if code == 0 else None

    def _take(self, task: str, who: str, tracer: tuple[str, ...] = ()) -> None:
        """Claim what is free."""
        made = self._claim(task, who, tracer)
        if made is None:
            self._complain(f"{task} is free and could not be claimed by {who}")
            return
        self._held[task] = made

    def _release(self, task: str, token: str) -> bool:
        words = ("release", self.run, task, "--token", token)
        return CommandLine(self._launcher, self._root).run(*words)[0] == 0

    # ---- what must hold

    def _refused(self, made: Held | None, said: str) -> None:
        if made is not None:
            self._complain(said)

    def _compare(self, when: str) -> None:
        """The log of claims has those that were acknowledged, each once."""
        now = datetime.now(UTC).isoformat()
        raw = (self._root / self.run / CLAIMS).read_bytes()
        live = sorted((each.task, each.actor) for each in read_claims(raw, now))
        known = sorted((each.task, each.actor) for each in self._held.values())
        if live != known:
            self._complain(f"{when} {live} are claimed, and {known} were acknowledged")

    def _complain(self, said: str) -> None:
        self.complaints.append(f"claims of {self.run}: {said}")
