"""What each client does with a hook's outcome, as the table of what was driven has it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from phasekeeper.tools.fence.client_settings import call_hook
from phasekeeper.tools.fence.hook_effect import NOT_THERE, TOO_LATE, HookOutcome, forbidden_call, is_denied
from phasekeeper.tools.fence.hook_input import HookClient, HookKind, read_event
from phasekeeper.tools.fence.hook_output import no_opinion, refusal_output
from phasekeeper.tools.fence.tool_calls import touches_of

CLAUDE, CODEX, GEMINI, COPILOT, CURSOR, VSCODE = HookClient
CLIENTS = pytest.mark.parametrize("client", list(HookClient))


@CLIENTS
@pytest.mark.parametrize("closed", [False, True])
def test_our_own_answers_deny_and_no_opinion_lets_it_run(client: HookClient, closed: bool) -> None:
    event, handler = call_hook(client, closed)
    asked = read_event(client, event, forbidden_call(client, "/r", "/r/x.json"))
    assert (asked.kind, touches_of(asked.tool, asked.given).paths) == (HookKind.TOOL, ("/r/x.json",))
    assert is_denied(client, handler, HookOutcome(0, refusal_output(asked, "R").stdout))
    assert not is_denied(client, handler, HookOutcome(0, no_opinion(asked).stdout))
    assert is_denied(client, handler, HookOutcome(2, "", "why"))


@pytest.mark.parametrize(
    ("client", "more", "denied"),
    [
        # exit 1, not there, too late, and what is no JSON with exit 0
        (CLAUDE, {}, [False, False, False, False]),
        (CLAUDE, {"onFailure": "block"}, [True, True, True, False]),
        (CLAUDE, {"onFailure": "block", "type": "mcp_tool"}, [True, True, True, True]),
        (CODEX, {}, [False, False, False, False]),
        (GEMINI, {}, [False, False, False, False]),
        (COPILOT, {}, [True, True, False, False]),
        (CURSOR, {}, [False, False, False, False]),
        (CURSOR, {"failClosed": True}, [True, True, True, True]),
        (VSCODE, {}, [False, False, False, False]),
    ],
)
def test_a_hook_that_fails_denies_where_the_client_has_a_way(
    client: HookClient, more: dict[str, Any], denied: list[bool]
) -> None:
    outcomes = (HookOutcome(1), NOT_THERE, TOO_LATE, HookOutcome(0, "{bad"))
    assert [is_denied(client, {"type": "command", **more}, outcome) for outcome in outcomes] == denied


def test_gemini_takes_every_code_above_one_with_a_text_for_a_block() -> None:
    outcomes = (HookOutcome(1, "", "why"), HookOutcome(127, "", "not found"), HookOutcome(127))
    assert [is_denied(GEMINI, {}, outcome) for outcome in outcomes] == [False, True, False]


def test_codex_takes_no_block_and_no_denial_without_a_reason() -> None:
    assert not is_denied(CODEX, {}, HookOutcome(2))
    empty = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": ""}
    assert not is_denied(CODEX, {}, HookOutcome(0, json.dumps({"hookSpecificOutput": empty})))
