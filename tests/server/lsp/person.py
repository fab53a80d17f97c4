"""What a person does in an editor: picks an action, answers a dialog, reads what is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from phasekeeper.server.lsp.view.positions import UTF16, EncodedText

from tests.roots import put
from tests.server.lsp.client import Client


async def actions_for(client: Client, uri: str, code: str) -> list[dict[str, Any]]:
    """The actions for the first finding of a code in a document."""
    found = await client.until(lambda: [d for d in client.diagnostics.get(uri, []) if d["code"] == code])
    params = {"textDocument": {"uri": uri}, "range": found[0]["range"], "context": {"diagnostics": found[:1]}}
    actions = await client.request("textDocument/codeAction", params)
    return [action for action in actions if any(d["code"] == code for d in action["diagnostics"])]


async def execute(client: Client, action: dict[str, Any]) -> None:
    """Carry out an action's command as an editor does."""
    command = action["command"]
    await client.request(
        "workspace/executeCommand", {"command": command["command"], "arguments": command["arguments"]}
    )


def messages(client: Client) -> list[str]:
    return [note["params"]["message"] for note in client.notes if note["method"] == "window/showMessage"]


def apply_edit(edit: dict[str, Any]) -> None:
    """Make an editor's edit on disk."""
    for change in edit["documentChanges"]:
        path = Path((change.get("textDocument") or change)["uri"].removeprefix("file://"))
        if change.get("kind") == "create":
            put(path, "")
        elif change.get("kind") == "delete":
            path.unlink()
        else:
            text = EncodedText(path.read_text(), UTF16)
            for each in sorted(change["edits"], key=lambda e: -e["range"]["start"]["line"]):
                start, end = (
                    text.offset_of(lsp.Position(**each["range"][side])) for side in ("start", "end")
                )
                text = EncodedText(text.source[:start] + each["newText"] + text.source[end:], UTF16)
            path.write_text(text.source)


def pick(client: Client, *words: str) -> list[dict[str, Any]]:
    """Have each dialog answered with the choice that begins with the next of the words; the dialogs shown."""
    shown: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> Any:
        if request["method"] != "window/showMessageRequest":
            return None
        word = words[len(shown)]
        shown.append(request["params"])
        return next(each for each in request["params"]["actions"] if each["title"].startswith(word))

    client.answer = answer
    return shown
