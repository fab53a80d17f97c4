"""Several processes report on one run at once, and are killed at random; new ones take their places.

Arguments: a root, how many write at once, how many are killed, how many reports each of the last ones makes.
Prints the JSON of what was acknowledged, in no order.
"""

from __future__ import annotations

import json
import os
import random
import selectors
import signal
import sys
import traceback
from itertools import count
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.server.store.commit import StoreError
from phasekeeper.server.workspace.apply import apply_command
from phasekeeper.server.workspace.workspace import Workspace

RUN = "work/one"
DEFINITION = """\
workflow: counted
runs: {at: [work/*], marker: {file: RUN.md}}
phase: [{is: do}]
phases:
  do: {outcomes: [ok], rules: [{when: "report.outcome == 'never'", to: over}]}
  over: {terminal: complete}
effects:
  do.ok: {file: log.txt, append: report.message}
"""


class Writer(NamedTuple):
    """A process that reports; `into` is where what it acknowledged is read."""

    process: int
    into: int


def prepare(root: Path) -> None:
    """A run whose reports each add a line to a text."""
    for path, text in ((".phasekeeper/workflows/counted.yaml", DEFINITION), (f"{RUN}/RUN.md", "# One\n")):
        (root / path).parent.mkdir(parents=True)
        (root / path).write_text(text)
    (root / ".phasekeeper/config.yaml").write_text("workflows: {'work/*': counted}\n")
    (root / ".git").mkdir()


def write(root: Path, name: str, most: int, out: int) -> None:
    """Report again and again, and say each time what was acknowledged."""
    for number in range(most):
        message = f"{name}-{number}"
        wanted = Command("report", "do", "ok", message=message, actor=name)
        # On a busy machine the lock is not had in time now and then; that is said, and nothing is recorded.
        while not reported(root, wanted):
            pass
        os.write(out, f"{message}\n".encode())


def reported(root: Path, wanted: Command) -> bool:
    try:
        apply_command(Workspace(root), RUN, wanted)
    except StoreError as error:
        if "is being written by" not in str(error):
            raise
        return False
    return True


def begun(root: Path, name: str, most: int) -> Writer:
    into, out = os.pipe()
    process = os.fork()
    if process:
        os.close(out)
        return Writer(process, into)
    try:
        write(root, name, most, out)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def main() -> None:
    root, at_once, killed, last = Path(sys.argv[1]), *map(int, sys.argv[2:])
    chance, names = random.Random(killed), count()
    acknowledged: list[str] = []
    # Everything is imported and compiled before the first writer is made.
    write(root, "warm", 1, 1)
    with selectors.DefaultSelector() as running:

        def begin(most: int) -> None:
            # One that will be killed never ends by itself, and is killed after some reports of its own.
            writer = begun(root, f"w{next(names)}", most or 10**6)
            running.register(
                writer.into, selectors.EVENT_READ, (writer, chance.randint(1, 6) if not most else 0)
            )

        for _ in range(at_once):
            begin(0)
        left, lives = killed, {}
        while running.get_map():
            for key, _ in running.select():
                writer, lives_for = key.data
                said = os.read(writer.into, 4096).decode()
                acknowledged += said.split()
                lives[writer] = lives.get(writer, 0) + said.count("\n")
                if not said:
                    running.unregister(writer.into)
                    status = os.waitpid(writer.process, 0)[1]
                    assert os.waitstatus_to_exitcode(status) == (-signal.SIGKILL if lives_for else 0)
                    begin(0) if left > at_once else begin(last) if left > 0 else None
                    left -= 1
                elif lives_for and lives[writer] >= lives_for:
                    os.kill(writer.process, signal.SIGKILL)
    print(json.dumps(acknowledged))


if __name__ == "__main__":
    main()
