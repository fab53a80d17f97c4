"""Options of the command line that take several values add up when they are given again."""

from __future__ import annotations

import argparse

import pytest
from phasekeeper.server.cli.catalog import COMMANDS
from phasekeeper.server.cli.command_entry import Argument

SEVERAL = [
    pytest.param(argument, id=f"{command.name} {argument.names[0]}")
    for command in COMMANDS
    for argument in command.arguments
    if argument.names[0].startswith("-")
    and (
        argument.options.get("nargs") in ("+", "*") or argument.options.get("action") in ("append", "extend")
    )
]


@pytest.mark.parametrize("argument", SEVERAL)
def test_an_option_of_several_values_adds_up(argument: Argument) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(*argument.names, **{**argument.options, "dest": "values"})
    option, word = argument.names[0], next(iter(argument.options.get("choices", "a")))
    assert len(parser.parse_args([option, word]).values) == 1
    assert parser.parse_args([option, word, option, word]).values == [word, word]


def test_reports_name_several_tasks_failures_and_manual_criteria() -> None:
    named = {param.id for param in SEVERAL}
    assert named >= {"report --task", "report --failed", "report --manual"}
