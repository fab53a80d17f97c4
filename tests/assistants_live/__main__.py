"""`python -m tests.assistants_live [claude] [codex] [gemini]`: install, check, drive to the end, report.

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
from collections.abc import Sequence

from tests.assistants_live.assistants import ASSISTANTS, Assistant
from tests.assistants_live.driven import drive
from tests.assistants_live.programs import install

_INSIDE = "PHASEKEEPER_DRIVE_INSIDE"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.assistants_live", description=__doc__)
    parser.add_argument(
        "assistants", nargs="*", metavar="ASSISTANT", help=", ".join(a.name for a in ASSISTANTS)
    )
    parser.add_argument("--run", help="another run of examples/ than the assistant's usual one")
    parser.add_argument("--keep", action="store_true", help="leave the folders of what was driven")
    given = parser.parse_args()
    unknown = set(given.assistants) - {each.name for each in ASSISTANTS}
    if unknown:
        parser.error(
            f"there is no {', '.join(sorted(unknown))}; there are {', '.join(a.name for a in ASSISTANTS)}"
        )
    chosen = [each for each in ASSISTANTS if not given.assistants or each.name in given.assistants]
    if os.environ.get(_INSIDE):
        return _driven([(each, given.run or each.run) for each in chosen], given.keep)
    if failed := install(each.program for each in chosen):
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


def _driven(chosen: Sequence[tuple[Assistant, str]], keep: bool) -> int:
    failed: list[str] = []
    for assistant, run in chosen:
        print(f"\n{assistant.title} {assistant.program.version}", flush=True)
        try:
            for line in drive(assistant, run, keep):
                print(f"  {line}", flush=True)
        except Exception:
            traceback.print_exc()
            failed.append(assistant.title)
    print(f"\nfailed: {', '.join(failed)}" if failed else "\nall were driven to their end")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
