"""Commands on a disk that is full, on one that is read-only, and without the right to write; then again
without the fault. Runs as root of a namespace of its own, so that it may mount.

Arguments: a folder, and full, readonly or rights. Prints two lines of JSON, with the fault and without it:
a list of [words, result, whether any file changed].
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.faults import commands, victim
from tests.faults.commands import T1, Result, do, tree

COMMANDS = (
    (("report", "T1", "planning", "ok", "--summary", "x" * 5000), ""),
    (("redo", "T1", "planning"), ""),
    (("override", "T1", "--to", "codegen", "--reason", "in haste"), T1),
    (("claim", "M1", "f-02", "--as", "ada"), ""),
    (("start", "artifact-pipeline", "T2"), ""),
    (("init", "--yes"), ""),
)
NOBODY = 65534


def all_of_them(root: Path) -> list[tuple[tuple[str, ...], Result, bool]]:
    with chdir(root):
        return [(words, *_done(root, words, typed)) for words, typed in COMMANDS]


def _done(root: Path, words: tuple[str, ...], typed: str) -> tuple[Result, bool]:
    before = tree(root)
    result = do(*words, typed=typed)
    return result, tree(root) != before


@contextmanager
def full(root: Path) -> Iterator[Callable[[], str]]:
    filler = root / "filler"
    with filler.open("wb", buffering=0) as file:
        size = 1 << 16
        while size:
            try:
                file.write(b"x" * size)
            except OSError:
                size //= 2
    yield lambda: json.dumps(all_of_them(root))
    filler.unlink()


@contextmanager
def readonly(root: Path) -> Iterator[Callable[[], str]]:
    subprocess.run(["mount", "-o", "remount,ro", str(root)], check=True)
    yield lambda: json.dumps(all_of_them(root))
    subprocess.run(["mount", "-o", "remount,rw", str(root)], check=True)


@contextmanager
def rights(root: Path) -> Iterator[Callable[[], str]]:
    """The files are those of somebody else, who lets others read."""
    state = root.parent / "other"
    state.mkdir()
    state.chmod(0o777)

    def as_nobody() -> str:
        os.environ["XDG_STATE_HOME"] = str(state)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        return json.dumps(all_of_them(root))

    yield lambda: json.loads(victim.in_child(as_nobody)[1])


def main() -> None:
    place, fault = Path(sys.argv[1]), sys.argv[2]
    root = place / "root"
    root.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k,mode=755", "none", str(root)], check=True)
    (root / ".git").mkdir()
    with commands.quiet(place / "state"):
        with chdir(root):
            commands.asked(root)
            commands.put(root / T1 / "state.json", {"phase": "planning", "actors": {}})
            commands.plan(root)
        with {"full": full, "readonly": readonly, "rights": rights}[fault](root) as run:
            struck = run()
        print(struck)
        print(json.dumps(all_of_them(root)))


if __name__ == "__main__":
    main()
