"""Running checks for a server: in a process of its own, whose events are read line by line.

The process is `phasekeeper verify --json-lines`. It runs only what a person allowed, and ends with all that
it runs as soon as its standard input does: when it is cancelled, and also when the server dies.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...orchestration.sanitize import plain
from ..connector.connector import interpreter

_LINE_BYTES = 1 << 20
_MOST_STDERR = 8_192
_END_S = 15.0
"""A process that takes longer to end what it runs is killed; the supervisors of its checks see that."""

Event = Mapping[str, Any]
"""`begins: CHECK`; `prints: CHECK` with `lines`; `ends: CHECK` with the `outcome`, as of `verify --json`."""
Outcome = Mapping[str, Any]
_Key = tuple[Path, tuple[str, ...], bool]


class CheckRunError(Exception):
    """Why checks could not be run, as a sentence."""


async def run_checks(
    root: Path, checks: Sequence[str], hear: Callable[[Event], None], *, again: bool = False
) -> list[Outcome]:
    """Run those of the checks that are not fresh, or all `again`; what came of each, in their order.

    Cancelled, it ends all that runs before it raises. Raises CheckRunError.
    """
    words = ["-m", "phasekeeper", "verify", "--json-lines", "--root", str(root), *checks]
    words += ["--again"] if again else []
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *interpreter(), *words, cwd=root, stdin=pipe, stdout=pipe, stderr=pipe, limit=_LINE_BYTES
        )
    except OSError as error:
        raise CheckRunError(f"no check can be run: {(error.strerror or 'unknown error').lower()}") from None
    outcomes: dict[str, Outcome] = {}
    errors = asyncio.ensure_future(_read_errors(process))
    try:
        assert process.stdout
        async for line in process.stdout:
            event = _event(line)
            if "ends" in event:
                outcomes[str(event["ends"])] = event.get("outcome", {})
            if event:
                hear(event)
        said = await errors
    finally:
        await asyncio.shield(_end(process, errors))
    missing = [name for name in checks if name not in outcomes]
    if missing:
        raise CheckRunError(
            said or f"nothing is known of {', '.join(missing)}: the process that ran it ended"
        )
    return [outcomes[name] for name in checks]


def _event(line: bytes) -> Event:
    with suppress(ValueError, RecursionError):
        event = json.loads(line)
        if isinstance(event, dict):
            return event
    return {}


async def _read_errors(process: asyncio.subprocess.Process) -> str:
    """The last line that the process says of an error."""
    assert process.stderr
    last = b""
    while chunk := await process.stderr.read(_MOST_STDERR):
        last = (last + chunk)[-_MOST_STDERR:]
    lines = last.decode("utf-8", "replace").strip().splitlines()
    return plain(lines[-1].removeprefix("phasekeeper: "), 600) if lines else ""


async def _end(process: asyncio.subprocess.Process, errors: asyncio.Future[str]) -> None:
    """Close the standard input of the process, which ends it with all that it runs, and wait for that."""
    assert process.stdin
    process.stdin.close()
    try:
        await asyncio.wait_for(_drain(process), _END_S)
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    await errors
    # Else it is closed some rounds of the loop later, when there may be no loop any more.
    process._transport.close()  # pyright: ignore[reportAttributeAccessIssue]


async def _drain(process: asyncio.subprocess.Process) -> None:
    assert process.stdout
    # What it still prints would otherwise stop it.
    with suppress(ValueError):
        while await process.stdout.read(_LINE_BYTES):
            pass
    await process.wait()


def event_words(event: Event) -> str:
    """An event in a line; "" for one that nobody need be told."""
    if "begins" in event:
        return f"{event['begins']}: running"
    if lines := event.get("lines"):
        return f"{event['prints']}: {plain(str(lines[-1]), 200)}"
    if "ends" in event:
        outcome = event["outcome"]
        return f"{event['ends']}: {outcome['result']}, {plain(str(outcome['reason']), 200)}"
    return ""


class CheckRuns:
    """The runs of checks under way in a server: each once, whoever waits for it."""

    def __init__(self) -> None:
        self._running: dict[_Key, _Running] = {}

    async def run(
        self,
        root: Path,
        checks: Sequence[str],
        hear: Callable[[Event], None],
        *,
        again: bool = False,
        limit_s: float | None = None,
    ) -> list[Outcome] | None:
        """What came of each check, or None where they still run after `limit_s`; then they go on.

        Cancelled, it ends the run unless others wait for it. Raises CheckRunError.
        """
        key = (root, tuple(checks), again)
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = _Running(root, checks, again)
            running.task.add_done_callback(lambda task: self._forget(key, task))
        running.listeners.append(hear)
        try:
            await asyncio.wait({running.task}, timeout=limit_s)
        except asyncio.CancelledError:
            if len(running.listeners) == 1:
                running.task.cancel()
            raise
        finally:
            running.listeners.remove(hear)
        return running.task.result() if running.task.done() else None

    def _forget(self, key: _Key, task: asyncio.Task[list[Outcome]]) -> None:
        self._running.pop(key, None)
        if not task.cancelled():
            # Maybe nobody waits for it any more.
            task.exception()

    async def close(self) -> None:
        """End all that runs."""
        tasks = [running.task for running in self._running.values()]
        for task in tasks:
            # One that is being ended already is waited for.
            if not task.cancelling():
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Running:
    """One run, and who hears of it."""

    def __init__(self, root: Path, checks: Sequence[str], again: bool) -> None:
        self.listeners: list[Callable[[Event], None]] = []
        self.task = asyncio.ensure_future(run_checks(root, checks, self._tell, again=again))

    def _tell(self, event: Event) -> None:
        for listener in list(self.listeners):
            listener(event)
