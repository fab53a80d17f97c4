"""Source lines that a failure's text names: stack traces of Python, JavaScript, Java, PHP, .NET, Go and Rust.

Only what looks like a path with a line is taken; whether there is such a file, who knows the root decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice

from ..findings import SourcePlace, line_span

_MOST = 40
"""Places of one text that are looked at."""
_LETTER = r"[\w./\\@+~%-]"
# Each begins where such a word begins, so that a long one is looked at once.
_PYTHON = re.compile(r'File "([^"\n]{1,400})", line ([0-9]{1,7})')
_PYTEST = re.compile(rf"^({_LETTER}{{1,400}}\.\w{{1,10}}):([0-9]{{1,7}}): ", re.M)
_JAVA = re.compile(r"\bat ([\w.$]{1,300})\.[\w$<>]{1,100}\(\w{1,100}\.(java|kt|scala|groovy):([0-9]{1,7})\)")
_NAMED = r"[^()\n:]{1,300}(?<= )[^()\n:]{1,300}\.\w{1,10}"
_OTHER = re.compile(
    rf"\((?:file://)?(?P<spaced>{_NAMED}):(?P<row>[0-9]{{1,7}}):(?P<cell>[0-9]{{1,7}})\)"
    rf"|(?<!{_LETTER})(?P<path>(?:[A-Za-z]:)?{_LETTER}{{1,400}}\.\w{{1,10}})"
    r"(?::line (?P<net>[0-9]{1,7})|:(?P<line>[0-9]{1,7})(?::(?P<column>[0-9]{1,7}))?|\((?P<php>[0-9]{1,7})\))"
)
_LANGUAGES = {"java": "java", "kt": "kotlin", "scala": "scala", "groovy": "groovy"}


def places_in(text: str) -> list[SourcePlace]:
    """The places that a failure's text names, where it happened first, then who called."""
    python = [*_matches(_PYTHON, text), *_matches(_PYTEST, text)]
    if python:
        # Both have the innermost call last.
        return python[: -_MOST - 1 : -1]
    return list(islice(chain(_java(text), _others(text)), _MOST))


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[SourcePlace]:
    for match in pattern.finditer(text):
        yield SourcePlace(match[1], line_span(int(match[2])))


def _java(text: str) -> Iterator[SourcePlace]:
    """A class without its folder: Maven's and Gradle's folders are tried."""
    for match in _JAVA.finditer(text):
        name, language = match[1].split("$")[0].replace(".", "/"), _LANGUAGES[match[2]]
        for folder in ("test", "main"):
            yield SourcePlace(f"src/{folder}/{language}/{name}.{match[2]}", line_span(int(match[3])))


def _others(text: str) -> Iterator[SourcePlace]:
    for match in _OTHER.finditer(text):
        if match["spaced"]:
            yield SourcePlace(match["spaced"], line_span(int(match["row"]), int(match["cell"])))
        else:
            line = match["line"] or match["net"] or match["php"]
            yield SourcePlace(match["path"], line_span(int(line), int(match["column"] or 1)))
