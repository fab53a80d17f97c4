"""Hooks in each client's own settings: put in beside others' once, and taken out without a trace."""

from __future__ import annotations

import json
from typing import Any

import pytest
from phasekeeper.tools.fence.client_settings import SETTINGS, is_ours, with_hooks, without_hooks
from phasekeeper.tools.fence.hook_input import HookClient, HookKind, kind_of

CLIENTS = pytest.mark.parametrize("client", list(HookClient))
OTHER = {"type": "command", "command": "mine"}
CALLS = {"PreToolUse", "BeforeTool", "preToolUse"}


def hooks(text: str) -> dict[str, list[Any]]:
    return json.loads(text)["hooks"]


@CLIENTS
@pytest.mark.parametrize("closed", [False, True])
def test_each_client_asks_before_a_call_at_the_start_and_at_the_end(client: HookClient, closed: bool) -> None:
    events = hooks(with_hooks("", client, closed))
    kinds = {kind_of(event) for event in events}
    assert kinds >= {HookKind.TOOL, HookKind.STOP, HookKind.START}
    assert all(is_ours(entry) for entries in events.values() for entry in entries)
    [call] = [json.dumps(entries) for event, entries in events.items() if event in CALLS]
    [closing] = [json.dumps(hooks(with_hooks("", client, True))[event]) for event in events if event in CALLS]
    assert (call == closing) == closed


@CLIENTS
def test_hooks_of_others_stay_and_ours_are_put_in_once(client: HookClient) -> None:
    event = next(event for event in hooks(with_hooks("", client, False)) if event in CALLS)
    other = OTHER if client in ("copilot", "cursor", "vscode") else {"matcher": "Bash", "hooks": [OTHER]}
    before = json.dumps({"model": "x", "hooks": {event: [other], "Else": [other]}}, indent=2)
    once = with_hooks(before, client, False)
    assert with_hooks(once, client, False) == once
    assert hooks(once)[event][0] == other
    assert (json.loads(once)["model"], hooks(once)["Else"]) == ("x", [other])
    changed = with_hooks(once, client, True)
    assert len(hooks(changed)[event]) == len(hooks(once)[event]) == 2
    left = json.loads(without_hooks(changed, client))
    assert (left["model"], left["hooks"][event], left["hooks"]["Else"]) == ("x", [other], [other])
    assert not any(is_ours(entry) for entries in left["hooks"].values() for entry in entries)


@CLIENTS
def test_of_a_file_with_nothing_else_nothing_is_left(client: HookClient) -> None:
    assert without_hooks(with_hooks("", client, True), client) == ""
    assert without_hooks("", client) == ""
    untouched = '{"model": "x"}\n'
    assert without_hooks(untouched, client) == untouched


@CLIENTS
@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": []}', '{"hooks": {"Stop": 3}}'])
def test_settings_that_cannot_be_read_are_left_alone(client: HookClient, text: str) -> None:
    for change in (lambda: with_hooks(text, client, False), lambda: without_hooks(text, client)):
        with pytest.raises(ValueError, match=r"."):
            change()


def test_each_client_has_a_file_of_its_own_but_for_two_that_read_the_same() -> None:
    paths = {client: settings.path for client, settings in SETTINGS.items()}
    assert paths[HookClient.VSCODE] == paths[HookClient.COPILOT]
    assert len(set(paths.values())) == len(HookClient) - 1
