"""How lines reach people: colours and wrapping on a terminal, plain lines in a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, NamedTuple

from ...orchestration.sanitize import plain
from .caller import stderr, stdout, terminal_environment

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


class Part(NamedTuple):
    """A piece of a line and its style, a name of `STYLES` or ""."""

    text: str
    style: str = ""


Line = Sequence[Part]

PATH_LIMIT = 4096
"""Characters of a printed path; a shortened one could not be opened."""
_NAME_LIMIT = 60

VERBATIM = "verbatim"
"""Style of lines that people copy: they are never broken to a screen's width."""
COMMAND = "command"
"""Style of commands, which people copy too."""

STYLES = {
    "": "",
    VERBATIM: "",
    COMMAND: "bold",
    "run": "bold",
    "phase": "cyan",
    "good": "green",
    "bad": "bold red",
    "warn": "yellow",
    "wait": "bold magenta",
    "dim": "dim",
}
_UNBROKEN = (VERBATIM, COMMAND)
# A line that goes on below is indented by this much more than it began.
_HANGING = 4
_LEAST_WIDTH = 20


def name(text: str) -> str:
    """An id of a definition or a file, short enough for the middle of a sentence."""
    return plain(text, _NAME_LIMIT)


def path(text: str) -> str:
    """A path, safe to print."""
    return plain(text, PATH_LIMIT)


def list_names(names: Sequence[str], most: int = 8) -> str:
    """The first names, and how many more there are."""
    return ", ".join(name(each) for each in names[:most]) + more(len(names) - most)


def more(count: int, what: str = "") -> str:
    """What stands behind the first entries of a list; "" when nothing was left out."""
    return f" and {count} more{what}" if count > 0 else ""


def count_noun(count: int, noun: str) -> str:
    """ "1 run", "2 runs"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def waits(count: int, what: str) -> str:
    """ "1 waits for a job", "2 wait for a job"."""
    return f"{count} wait{'s' if count == 1 else ''} for a {what}"


def is_terminal(stream: IO[str]) -> bool:
    return stream.isatty()


def print_lines(lines: Iterable[Line], *, cut: bool = False) -> None:
    """Print lines on stdout; on a terminal in colours, broken between words to its width, or `cut` to it."""
    stream = stdout()
    if not is_terminal(stream):
        stream.writelines(bare("".join(part.text for part in line)) + "\n" for line in lines)
        return
    screen = console(stream)
    for line in lines:
        texts = [styled_text(line)] if cut else wrapped_lines(line, screen)
        for text in texts:
            if cut:
                text.truncate(screen.width, overflow="ellipsis")
            screen.print(text, soft_wrap=True)


def bare(line: str) -> str:
    """A line for a pipe. In the log of a build a line that begins with `::` or holds `##[` is a command."""
    text = line.rstrip().replace("##[", "#\\x23[")
    words = text.lstrip()
    return text if not words.startswith("::") else f"{text[: len(text) - len(words)]}\\x3a{words[1:]}"


def print_errors(lines: Iterable[str]) -> None:
    """Print lines on stderr, beside the answer. Where stderr takes nothing, nobody can be told."""
    with suppress(OSError):
        stderr().writelines(f"{bare(line)}\n" for line in lines)


def console(stream: IO[str]) -> Console:
    """A terminal to print on. It takes no text for markup, and NO_COLOR and TERM=dumb are respected."""
    from rich.console import Console

    environment = terminal_environment()
    return Console(file=stream, highlight=False, markup=False, emoji=False, _environ=environment)


def styled_text(line: Line) -> Text:
    """The line in its colours."""
    from rich.text import Text

    return Text.assemble(*((part.text, STYLES[part.style]) for part in line))


def wrapped_lines(line: Line, screen: Console) -> list[Text]:
    """The line broken to the screen's width; what goes on stands further to the right."""
    text = styled_text(line)
    if text.cell_len <= screen.width or any(part.style in _UNBROKEN for part in line):
        return [text]
    indent = len(text.plain) - len(text.plain.lstrip(" "))
    width = max(screen.width - indent - _HANGING, _LEAST_WIDTH)
    pieces = text[indent:].wrap(screen, width)
    for place, piece in enumerate(pieces):
        piece.rstrip()
        piece.pad_left(indent + (_HANGING if place else 0))
    return list(pieces)
