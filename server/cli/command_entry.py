"""The form of a command and of its arguments in the catalogue of commands."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, NamedTuple


class Argument(NamedTuple):
    """What `ArgumentParser.add_argument` takes."""

    names: tuple[str, ...]
    options: Mapping[str, Any]


class CommandEntry(NamedTuple):
    """One command. `name` has two words where it is one of a group.

    `run` is "module:function"; the module is one of `commands/` unless it has a full name. The function
    takes the parsed options and returns the exit code, or a `PreparedWrite` that does once it is carried out.
    `more` stands below the arguments in `--help`.
    """

    name: str
    about: str
    run: str
    arguments: tuple[Argument, ...] = ()
    more: str = ""


def command(name: str, about: str, run: str, *arguments: Argument, more: str = "") -> CommandEntry:
    """An entry of the table."""
    return CommandEntry(name, about, run, arguments, more)


def arg(*names: str, **options: Any) -> Argument:
    """An argument, as `ArgumentParser.add_argument` takes it."""
    return Argument(names, options)


def word(name: str, about: str, **options: Any) -> Argument:
    """A positional argument, shown in capital letters."""
    return arg(name, metavar=name.upper(), help=about, **options)


def option(name: str, metavar: str, about: str, **options: Any) -> Argument:
    """An option with a value."""
    return arg(name, metavar=metavar, help=about, **options)


def several(name: str, metavar: str, about: str, **options: Any) -> Argument:
    """An option with one value or more; given again, it adds to them."""
    return option(name, metavar, about, action="extend", nargs="+", **options)


def flag(name: str, about: str) -> Argument:
    """An option that is there or not."""
    return arg(name, action="store_true", help=about)


def port(text: str) -> int:
    port = int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else -1
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port, which is a number from 0 to 65535")
    return port
