"""Where a run lies: in a folder, or inside a file that may hold several; then it is named FILE#UNIT."""

from __future__ import annotations

import re
from typing import NamedTuple

from .files import digest_of, join, name_in, parent

SEPARATOR = "#"
OWN_FILE = "#"
"""The path that a definition writes for the file that its run lies in."""
NAME = "{name}"
"""What stands in a path of a definition for the last name of the run's folder."""
NUMBER = "{number}"
"""What stands there for the number that this name begins with: 003, or the date and time 20260821-101530."""
_NUMBER = re.compile(r"\d+(?:-\d{6}(?=-))?(?=-)")
LONGEST_UNIT = 100
"""A longer name of a unit is cut; it is part of a folder's name."""
_UNSAFE = re.compile(r"[^\w.-]|\.$")


class RunPlace(NamedTuple):
    """The place of a run. Its paths are from `folder`; `file` and `unit` are those of a run in a file."""

    folder: str
    file: str = ""
    unit: str = ""

    @property
    def itself(self) -> str:
        """The path of the run's file or folder."""
        return self.file or self.folder

    def join(self, path: str) -> str | None:
        """`path` as the definition writes it; None when it leaves the root."""
        if NAME in path:
            # A name may have signs in it that mean something in a pattern.
            path = path.replace(NAME, re.sub(r"([*?\[])", r"[\1]", name_in(self.folder)))
        if NUMBER in path and (number := _NUMBER.match(name_in(self.folder))):
            path = path.replace(NUMBER, number[0])
        return self.file if path == OWN_FILE and self.file else join(self.folder, path)

    def name(self, path: str) -> str:
        """A path from the root as a definition writes it."""
        inside = f"{self.folder}/" if self.folder else ""
        return path.removeprefix(inside) if path.startswith(inside) else f"/{path}"


def unit_place(run: str) -> RunPlace:
    """The place of a run that is named FILE#UNIT."""
    file, _, unit = run.rpartition(SEPARATOR)
    return RunPlace(parent(file), file, unit)


def unit_run(file: str, unit: str) -> str:
    """The name of the run that is a unit of a file."""
    return f"{file}{SEPARATOR}{unit}"


def whole_file(file: str) -> str:
    """The unit of a file that is one as a whole: its name without the ending."""
    return unit_name(name_in(file).rpartition(".")[0] or name_in(file))


def unit_name(raw: str) -> str:
    """A name inside a file as the end of a run's name, so that it can be part of a folder's: any character
    but letters, digits, `-`, `_` and `.` is written %XX; what is too long ends in a digest.
    """
    name = _UNSAFE.sub(_escape, raw)
    return name if len(name) <= LONGEST_UNIT else f"{name[:LONGEST_UNIT]}~{digest_of(raw)}"


def _escape(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))
