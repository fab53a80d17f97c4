"""A person or assistant that knows nothing but what `next` prints: it copies the command and the forms.

It reads the text alone, as somebody at a terminal does: the files to write with their forms, what the report
needs, and the blocks for `--report` and `--data`.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.assistants_live.reading import Need, filled_in_json, worked_over
from tests.cli_walkthroughs.driver import Drive
from tests.verdicts.runs import filled_data, filled_in

MOST_STEPS = 120
WORK = "src/work.py"
ADDRESS = "https://example.org/owner/name/pull/1"

_FILE = re.compile(r"  (produce|revise): (.+?)(?: \(schema .*?\))?(?:, like (?:this:|(.*)))?$")
_REPORT = re.compile(r"  report: phasekeeper (report .*?)(?:  \(or .*\))?$")
_NEED = re.compile(r"    \S+ needs that (.*?)( \(so it is\)| \(not so yet\))?$")
_DATA = re.compile(r"    the FILE of --data .* is JSON as this, with what is true:(?: (.*))?$")
_TEXT = "    the FILE of --report (- for standard input) is this, filled in:"


class Page(NamedTuple):
    """What `next` says: the words of the report's command, the files to write with their forms (None: work it
    over), what the report needs, and the forms of its text and data ("" for none)."""

    report: tuple[str, ...]
    files: tuple[tuple[str, str | None], ...]
    needs: tuple[Need, ...]
    text: str
    data: str
    tasks: tuple[str, ...]


def read_page(out: str) -> Page:
    """Read the next step of one run."""
    lines = out.splitlines()
    report: tuple[str, ...] = ()
    files: list[tuple[str, str | None]] = []
    needs: list[Need] = []
    text = data = ""
    tasks: tuple[str, ...] = ()
    for number, line in enumerate(lines):
        below = "\n".join(_block(lines, number + 1)) + "\n"
        if found := _FILE.match(line):
            form = found[3] or (below if line.endswith(", like this:") else "made\n")
            files.append((found[2], None if found[1] == "revise" else form))
        elif found := _REPORT.match(line):
            report = tuple(shlex.split(found[1]))
        elif found := _NEED.match(line):
            needs.append(Need(found[1].replace('"', "'"), found[2] == " (so it is)"))
        elif found := _DATA.match(line):
            data = found[1] or below
        elif line == _TEXT:
            text = below
        elif line.startswith("  tasks: "):
            tasks = tuple(line.removeprefix("  tasks: ").split(", "))
    return Page(report, tuple(files), tuple(needs), text, data, tasks)


def _block(lines: list[str], start: int) -> Iterator[str]:
    """The lines to copy that begin behind an empty line, up to the empty line before what is indented."""
    for number in range(start + 1, len(lines)):
        if not lines[number] and (number + 1 == len(lines) or lines[number + 1].startswith("  ")):
            return
        yield lines[number]


def follow(drive: Drive, run: str) -> str:
    """Go on with a run as `next` says until nothing can be reported; what `next` says then."""
    for _ in range(MOST_STEPS):
        result = drive.run("next", "--run", run)
        page = read_page(result.out)
        if not page.report:
            return result.out
        drive.time_passes()
        _follow_page(drive, page)
    raise AssertionError(f"{run} was not finished in {MOST_STEPS} steps")


def _follow_page(drive: Drive, page: Page) -> None:
    for path, form in page.files:
        _write(drive, path, form)
    if any("the next step shows them once" in need.phrase for need in page.needs):
        return
    wanted = dict.fromkeys(name for need in page.needs if not need.is_met for name in need.files)
    data = filled_data(json.loads(page.data)) if page.data else {}
    if any(need.names_files for need in page.needs):
        wanted[WORK] = None
        data["files"] = [WORK]
    if any("pr_url (the https address of a pull request" in need.phrase for need in page.needs):
        data["pr_url"] = ADDRESS
    for path in wanted:
        _write(drive, path, None)
    words = list(page.report)
    for option, content in (("--report", page.text), ("--data", json.dumps(data) if data else "")):
        if not content:
            continue
        text = filled_in(content, words[3], "Looked at all of it.") if option == "--report" else content
        file = drive.root.parent / f"handed-in{option}"
        file.write_text(text, encoding="utf-8")
        if option not in words:
            words += [option, "FILE"]
        words[words.index(option) + 1] = str(file)
    if "--task" in words:
        place = words.index("--task")
        words[place : place + 2] = [word for task in page.tasks for word in ("--task", task)]
    drive.do(*words)


def _write(drive: Drive, path: str, form: str | None) -> None:
    """Write a file as its form has it; one that is there already is worked over."""
    path = path.replace("**", "made.txt").replace("*", "made")
    there = drive.root / Path(path)
    old = there.read_text(encoding="utf-8") if there.exists() else None
    # A list of which nothing has to be named is empty.
    new = filled_in_json(re.sub(r"\[<[^<>]*>\]", "[]", form or "made\n"))
    drive.write(path, new if old is None else f"{worked_over(old)}\n")
