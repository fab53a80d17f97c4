"""`python -m tests.assistants_live [claude] [codex] [gemini] [copilot]`: install, drive to the end, report.

Then the fences of each are tried by a model that skips the gates; `--fences` tries them alone.

Everything after the installation runs in a network namespace that holds a loopback device alone, and in a
namespace of processes that ends with it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import traceback
from collections.abc import Iterable, Iterator
from time import perf_counter

from tests.assistants_live.assistants import ASSISTANTS
from tests.assistants_live.driven import drive
from tests.assistants_live.fences import FENCED, drive_fences
from tests.assistants_live.programs import install

_INSIDE = "PHASEKEEPER_DRIVE_INSIDE"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.assistants_live", description=__doc__)
    parser.add_argument(
        "assistants", nargs="*", metavar="ASSISTANT", help=", ".join(each.client for each in FENCED)
    )
    parser.add_argument("--fences", action="store_true", help="the fences alone")
    parser.add_argument("--times", type=int, default=1, metavar="N", help="try the fences so often")
    parser.add_argument("--run", help="another run of examples/ than the assistant's usual one")
    parser.add_argument("--keep", action="store_true", help="leave the folders of what was driven")
    given = parser.parse_args()
    known = [str(each.client) for each in FENCED]
    if unknown := set(given.assistants) - set(known):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    names = given.assistants or known
    drives: list[tuple[str, Iterator[str]]] = []
    if not given.fences:
        drives += [
            (f"{each.title} {each.program.version}", drive(each, given.run or each.run, given.keep))
            for each in ASSISTANTS
            if each.name in names
        ]
    fenced = [each for each in FENCED if each.client in names]
    drives += [
        (f"{each.title} {each.program.version}, its fence", drive_fences(each, given.keep))
        for _ in range(given.times)
        for each in fenced
    ]
    if os.environ.get(_INSIDE):
        return _driven(drives)
    if failed := install(each.program for each in fenced):
        print("\n".join(["not installed:", *failed]), file=sys.stderr)
        return 1
    return _go_inside()


def _go_inside() -> int:
    """Run this once more where no other machine can be reached."""
    if not (unshare := shutil.which("unshare")) or not shutil.which("ip"):
        print(
            "needs Linux with unshare and ip: nothing is driven where it could reach a network",
            file=sys.stderr,
        )
        return 1
    spaces = ("--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
    words = [sys.executable, "-m", "tests.assistants_live", *sys.argv[1:]]
    shell = ("sh", "-c", 'ip link set lo up && exec "$@"', "sh")
    sys.stdout.flush()
    return subprocess.call([unshare, *spaces, *shell, *words], env={**os.environ, _INSIDE: "1"})


def _driven(drives: Iterable[tuple[str, Iterator[str]]]) -> int:
    failed: list[str] = []
    for title, lines in drives:
        begin = perf_counter()
        print(f"\n{title}", flush=True)
        try:
            for line in lines:
                print(f"  {line}", flush=True)
        except Exception:
            traceback.print_exc()
            failed.append(title)
        print(f"  {perf_counter() - begin:.0f} s, load average {os.getloadavg()[0]:.1f}", flush=True)
    print(f"\nfailed: {', '.join(failed)}" if failed else "\nall were driven to their end")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
