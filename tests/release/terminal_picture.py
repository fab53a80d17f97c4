"""`python -m tests.release.terminal_picture`: README's picture of a terminal, as the program fills one.

Each command runs on a terminal of its own, in a copy of the examples; its colours become those of an SVG.
`make pictures` does so, and a test compares the words with what the program prints today.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from html import escape, unescape
from pathlib import Path
from typing import NamedTuple

from rich.color_triplet import ColorTriplet
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from .build import ROOT

PICTURE = ROOT / "vscode-extension/images/terminal.svg"
COMMANDS = (
    "phasekeeper status --waiting",
    "phasekeeper report late-fees test ok --summary 'all tests pass'",
    "phasekeeper next late-fees",
)
COLUMNS = 112
_CELL, _LINE, _EDGE, _BAR = 8.43, 19, 18, 34
"""Pixels: a character and a line at a size of 14, around the text, and above it."""
_THEME = TerminalTheme(
    (31, 36, 48),
    (217, 221, 229),
    [
        (31, 36, 48),
        (240, 113, 120),
        (145, 204, 132),
        (235, 203, 139),
        (122, 162, 247),
        (198, 160, 246),
        (125, 207, 210),
        (217, 221, 229),
    ],
)
_PROMPT = "#91cc84"


class Run(NamedTuple):
    """A styled piece of a line; `column` is where it begins."""

    column: int
    text: str
    style: Style


def screen() -> list[Text]:
    """The lines of the picture: each command behind a prompt, what it printed, an empty line between."""
    lines: list[Text] = []
    with tempfile.TemporaryDirectory(prefix="phasekeeper-picture-") as name:
        folder = Path(name, "library")
        shutil.copytree(
            ROOT / "examples", folder, ignore=shutil.ignore_patterns("conventions", "__pycache__")
        )
        (folder / ".git").mkdir()
        for command in COMMANDS:
            lines += [Text()] if lines else []
            lines.append(Text.assemble(("$ ", f"bold {_PROMPT}"), (command, "bold")))
            printed = _on_a_terminal(
                command.replace("phasekeeper", f"{sys.executable} -m phasekeeper", 1), folder
            )
            lines += Text.from_ansi(printed.rstrip()).split("\n", allow_blank=True)
    return lines


def _on_a_terminal(command: str, folder: Path) -> str:
    """What a command writes to a terminal of `COLUMNS`, with its colours."""
    mine, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    home = str(folder.parent)
    names = ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME")
    without = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "COLORTERM")
    env = {name: value for name, value in os.environ.items() if name not in without}
    env |= {**dict.fromkeys(names, home), "TERM": "xterm-256color", "PHASEKEEPER_PAGER": "cat"}
    with subprocess.Popen(command, shell=True, stdin=its, stdout=its, stderr=its, cwd=folder, env=env):
        os.close(its)
        written = b""
        while part := _read(mine):
            written += part
    os.close(mine)
    return written.decode().replace("\r\n", "\n")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:
        # So Linux says that the last writer of a terminal closed it.
        return b""


def svg(lines: list[Text]) -> str:
    """A window with the lines, as an SVG that needs nothing from elsewhere."""
    console = Console(width=COLUMNS + 1, color_system="truecolor", force_terminal=True)
    rows: list[str] = []
    for number, line in enumerate(lines):
        runs = _runs(console, line)
        y = _BAR + _EDGE + number * _LINE
        rows += [_element(run, y) for run in runs if run.text.strip()]
    width = round(COLUMNS * _CELL + 2 * _EDGE)
    height = _BAR + _EDGE + len(lines) * _LINE
    dots = "".join(
        f'<circle cx="{20 + 18 * place}" cy="17" r="5.5" fill="{fill}"/>'
        for place, fill in enumerate(("#f07178", "#ebcb8b", "#91cc84"))
    )
    body = "\n".join(rows)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="Phasekeeper in a terminal">\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="{_hex(_THEME.background_color)}"/>\n{dots}\n'
        f"<g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" "
        f'font-size="14" xml:space="preserve">\n{body}\n</g>\n</svg>\n'
    )


def _runs(console: Console, line: Text) -> list[Run]:
    runs: list[Run] = []
    column = 0
    for text, style, _ in Segment.simplify(line.render(console)):
        if text != "\n":
            runs.append(Run(column, text, style or Style()))
            column += len(text)
    return runs


def _element(run: Run, y: int) -> str:
    """A piece of text at its column and as wide as its characters, whatever font there is."""
    color = run.style.color
    fill = color.get_truecolor(_THEME) if color and not color.is_default else _THEME.foreground_color
    text = run.text.rstrip()
    start = len(text) - len(text.lstrip())
    more = ' font-weight="bold"' if run.style.bold else ""
    more += ' fill-opacity="0.62"' if run.style.dim else ""
    x, wide = _EDGE + (run.column + start) * _CELL, len(text.lstrip()) * _CELL
    return (
        f'<text x="{x:.1f}" y="{y}" textLength="{wide:.1f}" lengthAdjust="spacingAndGlyphs" '
        f'fill="{_hex(fill)}"{more}>{escape(text.lstrip(), quote=False)}</text>'
    )


def _hex(color: ColorTriplet) -> str:
    return f"#{color.red:02x}{color.green:02x}{color.blue:02x}"


def words_of(picture: str) -> list[str]:
    """The words of a picture in order, without its colours and places."""
    texts: list[str] = re.findall(r"<text[^>]*>([^<]*)</text>", picture)
    return [word for text in texts for word in unescape(text).split()]


if __name__ == "__main__":
    PICTURE.write_text(svg(screen()), encoding="utf-8")
    print(f"{PICTURE.relative_to(ROOT)} shows {len(COMMANDS)} commands as they are today")
