"""Coverage thresholds that tools are told by their own configuration, or on their command line.

coverage.py (`fail_under`, `--fail-under`, pytest-cov's `--cov-fail-under`), jest (`coverageThreshold`),
vitest (`thresholds`), c8 and nyc (`lines`, `branches`, `functions`, `statements`), as their documentation
names them. What cannot be read sets no threshold: a file that was broken is seen as one whose threshold is
gone.
"""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..vfs.files import name_in

FILES = (
    "pyproject.toml", ".coveragerc", "setup.cfg", "tox.ini", "package.json", "jest.config.json",
    ".c8rc", ".c8rc.json", ".nycrc", ".nycrc.json",
    "jest.config.js", "jest.config.cjs", "jest.config.mjs", "jest.config.ts",
    *(f"{tool}.config.{ending}" for tool in ("vitest", "vite") for ending in ("js", "mjs", "ts", "mts")),
)  # fmt: skip
"""The files of a root in which these tools look for their configuration."""
_KINDS = ("lines", "branches", "functions", "statements")
_OPTION = re.compile(
    r"--(?:(?:cov-)?(fail-under)|(lines|branches|functions|statements))[= \t]+(\d{1,9}(?:\.\d{1,9})?)"
)
# In a configuration that is a program, which nobody runs to read it.
_KEY = re.compile(r"""\b(lines|branches|functions|statements)["']?\s*:\s*(-?\d{1,9}(?:\.\d{1,9})?)""")
_MOST_TEXT = 1 << 20
"""Characters of one file; a longer one sets no threshold."""


class Threshold(NamedTuple):
    """The least part, in percent, of what `name` says; `place` is the file, or `run`, that sets it."""

    name: str
    least: float
    place: str


def tool_thresholds(run: Sequence[str], texts: Mapping[str, str]) -> tuple[Threshold, ...]:
    """The thresholds in a command and in some files, by their names; of several of a name the least.

    Which one a tool follows is the tool's to say: the least can be no more than that.
    """
    found = [*_in_options("run", " ".join(run))]
    for path, text in texts.items():
        if len(text) <= _MOST_TEXT:
            found += _in_file(path, text)
    least: dict[str, Threshold] = {}
    for each in found:
        if each.name not in least or each.least < least[each.name].least:
            least[each.name] = each
    return tuple(least[name] for name in sorted(least))


def _in_file(path: str, text: str) -> Iterator[Threshold]:
    name = name_in(path)
    try:
        if name.endswith(".toml"):
            data: Any = tomllib.loads(text)
            yield from _number(path, "fail-under", _dig(data, "tool", "coverage", "report", "fail_under"))
            options = _dig(data, "tool", "pytest", "ini_options", "addopts")
            words = options if isinstance(options, list) else [options]
            yield from _in_options(path, " ".join(each for each in words if isinstance(each, str)))
        elif name in (".coveragerc", "setup.cfg", "tox.ini"):
            yield from _in_ini(path, text)
        elif name.endswith(".json") or name in (".c8rc", ".nycrc"):
            yield from _in_json(path, name, json.loads(text))
        elif ".config." in name and name in FILES:
            keys = _KEY.finditer(text) if "hreshold" in text else ()
            yield from (Threshold(found[1], float(found[2]), path) for found in keys)
        else:
            yield from _in_options(path, text)
    except (ValueError, RecursionError, configparser.Error):
        return


def _in_ini(path: str, text: str) -> Iterator[Threshold]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    for section in ("report", "coverage:report"):
        yield from _number(path, "fail-under", parser.get(section, "fail_under", fallback=None))
    for section in ("pytest", "tool:pytest"):
        yield from _in_options(path, parser.get(section, "addopts", fallback=""))


def _in_json(path: str, name: str, data: Any) -> Iterator[Threshold]:
    is_package = name == "package.json"
    jest = _dig(data, "jest") if is_package else data
    tools = [_dig(data, "c8"), _dig(data, "nyc")] if is_package else [data]
    for kind in _KINDS:
        yield from _number(path, kind, _dig(jest, "coverageThreshold", "global", kind))
        for tool in tools:
            yield from _number(path, kind, _dig(tool, kind))
    scripts = _dig(data, "scripts") if is_package else None
    for script in scripts.values() if isinstance(scripts, dict) else ():
        if isinstance(script, str):
            yield from _in_options(path, script)


def _in_options(place: str, text: str) -> Iterator[Threshold]:
    for found in _OPTION.finditer(text):
        yield Threshold(found[1] or found[2], float(found[3]), place)


def _number(place: str, name: str, value: object) -> Iterator[Threshold]:
    try:
        least = float(value) if isinstance(value, str | int | float) and type(value) is not bool else None
    except (ValueError, OverflowError):
        return
    # A number below 0 is jest's for so many that may be missing: the closer to 0, the stricter.
    if least is not None and -1e9 < least < 1e9:
        yield Threshold(name, least, place)


def _dig(data: Any, *names: str) -> Any:
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None
    return data
