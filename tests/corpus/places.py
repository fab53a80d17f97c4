"""Where real public files lie, and how the roots they were taken from are put together again."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).resolve()
_FOUND = [_HERE.parents[above] / "shared" / "corpus" for above in (2, 3)]
CORPUS = next((folder for folder in _FOUND if folder.is_dir()), None)

# Files that stand inside of another document, and the place where such a file is kept.
_EXTRACTED = {
    "BLUEPRINT.md (example block)": ".claude/state/loop.state.json",
    "state-schema.md (Initial State Template block)": ".workflow/.scratchpad/skill-tuning-1/state.json",
    "state/defaults/loop.default.json": ".claude/state/loop.state.json",
}


class Kept(NamedTuple):
    """A file of the corpus: the repository and path it is from, and its revision where several are kept."""

    file: Path
    repository: str
    path: str
    revision: str


def kept(corpus: Path) -> Iterator[Kept]:
    """The files of `seeds`, by its index."""
    seeds = corpus / "seeds"
    by_name = {file.name: file for file in seeds.glob("*/*")}
    for line in (seeds / "INDEX.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) >= 5 and cells[0] in by_name:
            revision = re.search(r"@([0-9a-f]{8})\.", cells[0])
            yield Kept(by_name[cells[0]], cells[1], cells[2], revision[1] if revision else "")


def _place(entry: Kept) -> str:
    return next((place for end, place in _EXTRACTED.items() if entry.path.endswith(end)), entry.path)


def put_back(corpus: Path, repository: str, root: Path, revision: str = "") -> Path:
    """A repository's files at their own paths below `root`, of one revision where several are kept."""
    for entry in kept(corpus):
        if entry.repository == repository and entry.revision in ("", revision):
            place = root / _place(entry)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(entry.file, place)
    (root / ".git").mkdir(exist_ok=True)
    return root


EXAMPLES_TABLES = Path(__file__).parents[2] / "examples/conventions/README.md"


def table_rows(first: str) -> set[tuple[str, ...]]:
    """The rows of the table of differences whose first column has that title; cells without back ticks."""
    rows: set[tuple[str, ...]] = set()
    is_inside = False
    for line in EXAMPLES_TABLES.read_text("utf-8").splitlines():
        cells = tuple(cell.strip().strip("`") for cell in line.strip("|").split("|"))
        is_inside = line.startswith("|") and (is_inside or cells[0] == first)
        if is_inside and cells[0] != first and set(cells[0]) != {"-"}:
            rows.add(cells)
    return rows
