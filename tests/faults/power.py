"""A disk that loses power: what a commit asked of the system, and every state it may leave behind.

The rules (those of the ALICE study): what was done to a file after its last flush is there up to any
point, the last write up to any byte or as zeros; each name that was made, moved or removed in a folder
after that folder's last flush is there or not, in any combination. Only a flush orders anything.
"""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

Tree = Mapping[str, bytes | None]
"""Path from the top -> bytes of a file, None for a folder."""
IGNORED = ("lock", "lock.holder", ".lock.holder.new")
"""Never flushed and never relied on."""


class Call(NamedTuple):
    """One change: kind is make, write, cut, flush, move, remove or folder. `number` is the file's own,
    `path` its name at that moment; `other` is the new name."""

    kind: str
    number: int
    path: str
    data: bytes = b""
    other: str = ""
    size: int = 0


@dataclass
class Recorder:
    """Notes what is asked of the system below `top`, by file and not only by name."""

    top: Path
    calls: list[Call] = field(default_factory=list)

    def path(self, name: Any, dir_fd: int | None = None) -> str:
        base = Path(f"/proc/self/fd/{dir_fd}").readlink() if dir_fd is not None else Path()
        return self.below(base / os.fspath(name))

    def opened(self, descriptor: int) -> str:
        return self.below(Path(f"/proc/self/fd/{descriptor}").readlink())

    def below(self, path: Path) -> str:
        """The path from the top, "" for what lies elsewhere."""
        return path.relative_to(self.top).as_posix() if path.is_relative_to(self.top) else ""

    def note(self, kind: str, number: int, path: str, **more: Any) -> None:
        if path and path.rpartition("/")[2] not in IGNORED:
            self.calls.append(Call(kind, number, path, **more))

    @contextmanager
    def recording(self) -> Iterator[None]:
        with ExitStack() as stack:
            for name in ("open", "write", "fsync", "ftruncate", "replace", "unlink", "mkdir"):
                real = getattr(os, name)
                stack.enter_context(mock.patch.object(os, name, self._around(name, real)))
            yield

    def _around(self, name: str, real: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            return getattr(self, f"_{name}")(real, *arguments, **options)

        return call

    def _open(self, real: Any, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        below = dir_fd is not None and flags & os.O_CREAT
        is_new = below and not os.access(path, os.F_OK, dir_fd=dir_fd)
        descriptor = real(path, flags, mode, dir_fd=dir_fd)
        if is_new:
            self.note("make", os.fstat(descriptor).st_ino, self.path(path, dir_fd))
        return descriptor

    def _write(self, real: Any, descriptor: int, data: Any) -> int:
        done = real(descriptor, data)
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode):
            self.note("write", status.st_ino, self.opened(descriptor), data=bytes(data[:done]))
        return done

    def _fsync(self, real: Any, descriptor: int) -> None:
        real(descriptor)
        self.note("flush", os.fstat(descriptor).st_ino, self.opened(descriptor))

    def _ftruncate(self, real: Any, descriptor: int, size: int) -> None:
        real(descriptor, size)
        self.note("cut", os.fstat(descriptor).st_ino, self.opened(descriptor), size=size)

    def _replace(self, real: Any, source: Any, target: Any, *, src_dir_fd: Any, dst_dir_fd: Any) -> None:
        number = os.stat(source, dir_fd=src_dir_fd).st_ino
        real(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        self.note("move", number, self.path(source, src_dir_fd), other=self.path(target, dst_dir_fd))

    def _unlink(self, real: Any, path: Any, *, dir_fd: int | None = None) -> None:
        real(path, dir_fd=dir_fd)
        self.note("remove", 0, self.path(path, dir_fd))

    def _mkdir(self, real: Any, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        real(path, mode, dir_fd=dir_fd)
        if dir_fd is not None:
            self.note("folder", 0, self.path(path, dir_fd))


def states(before: Tree, numbers: Mapping[str, int], calls: list[Call]) -> Iterator[dict[str, bytes | None]]:
    """Every tree that may be on the disk when the power fails after `calls`, each once.

    `numbers` are the file numbers of the files in `before`.
    """
    named = [call for call in calls if call.kind in ("make", "move", "remove", "folder")]
    loose = [call for call in named if not _is_flushed(call, calls)]
    contents = [list(_contents(number, before, numbers, calls)) for number in _files(numbers, calls)]
    seen: set[frozenset[tuple[str, bytes | None]]] = set()
    for kept in itertools.product((True, False), repeat=len(loose)):
        lost = {id(call) for call, keep in zip(loose, kept, strict=True) if not keep}
        names = _names(before, numbers, [call for call in named if id(call) not in lost])
        for choice in itertools.product(*contents):
            data = dict(choice)
            tree = {path: None if number is None else data[number] for path, number in names.items()}
            key = frozenset(tree.items())
            if key not in seen:
                seen.add(key)
                yield tree


def _files(numbers: Mapping[str, int], calls: list[Call]) -> list[int]:
    return sorted(
        {*numbers.values(), *(call.number for call in calls if call.kind in ("make", "write", "cut"))}
    )


def _is_flushed(call: Call, calls: list[Call]) -> bool:
    folder = call.path.rpartition("/")[0]
    at = next(n for n, each in enumerate(calls) if each is call)
    return any(each.kind == "flush" and each.path == (folder or ".") for each in calls[at + 1 :])


def _names(before: Tree, numbers: Mapping[str, int], calls: list[Call]) -> dict[str, int | None]:
    names: dict[str, int | None] = {path: numbers.get(path) for path in before}
    for call in calls:
        if call.kind in ("make", "folder"):
            names[call.path] = call.number if call.kind == "make" else None
        elif call.kind == "remove":
            names.pop(call.path, None)
        elif call.path in names:
            names[call.other] = names.pop(call.path)
    # What lies in a folder whose own name was lost is lost with it.
    return {path: number for path, number in names.items() if all(above in names for above in _above(path))}


def _above(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]


def _contents(
    number: int, before: Tree, numbers: Mapping[str, int], calls: list[Call]
) -> Iterator[tuple[int, bytes]]:
    """What a file may hold: all that was flushed, and any beginning of what was done to it since."""
    start = next((before[path] or b"" for path, each in numbers.items() if each == number), b"")
    mine = [call for call in calls if call.number == number and call.kind in ("write", "cut", "flush")]
    flushed = max((n for n, call in enumerate(mine) if call.kind == "flush"), default=-1)
    data = _done(start, mine[: flushed + 1])
    found = {data: None}
    for call in mine[flushed + 1 :]:
        if call.kind == "write":
            found.update(dict.fromkeys(_torn(data, call.data)))
        data = _done(data, [call])
        found[data] = None
    yield from ((number, each) for each in found)


def _done(data: bytes, calls: list[Call]) -> bytes:
    # The store only appends.
    for call in calls:
        data = data + call.data if call.kind == "write" else data[: call.size] if call.kind == "cut" else data
    return data


def _torn(data: bytes, more: bytes) -> Iterator[bytes]:
    middle = more.find(b"\n") + 1
    for size in sorted({0, 1, len(more) // 2, middle, middle + 1, len(more) - 1, len(more)}):
        yield data + more[:size]
        yield data + more[:size] + b"\0" * (len(more) - size)
