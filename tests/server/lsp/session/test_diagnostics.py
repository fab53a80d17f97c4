"""What an editor is told of its files, and when."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.server.live import worker
from phasekeeper.server.live.cached_live_root import CachedLiveRoot
from phasekeeper.server.lsp.session import connection, folders, publisher

from tests.roots import TASKS, put, task
from tests.server.lsp.client import BOUND_S, CAPABILITIES, Client, client_of, engine_of, run_with
from tests.tools.fixes.test_fixes import ARTICLE, plan


def with_encodings(*encodings: str) -> dict:
    return {**CAPABILITIES, "general": {"positionEncodings": list(encodings)}}


def test_a_shut_gate_is_told_at_the_line_that_shut_it(root):
    review = task(root, "T1", ok=False) / "review/plan-review.json"

    async def work(client: Client) -> None:
        await client.initialize(root)
        found = await client.until(lambda: client.diagnostics.get(review.as_uri()))
        assert [d["code"] for d in found] == ["gate-failed"]
        assert found[0]["range"] == {
            "start": {"line": 0, "character": 7},
            "end": {"line": 0, "character": 12},
        }
        assert found[0]["source"] == "phasekeeper"
        review.write_text('{"ok": true}')
        await client.until(lambda: client.diagnostics[review.as_uri()] == [])

    run_with(work)


TESTED = """\
workflow: tested
runs: {at: [work/*], marker: {file: go.json}}
artifacts:
  results: {paths: [/build/junit.xml], kind: junit}
phase: [{is: work}]
phases:
  work: {rules: [{when: results.failed == 0, to: done}]}
  done: {terminal: complete}
"""
PRICE_FAILED = """\
<testsuite>
  <testcase name="price"><failure>tests/test_shop.py:2: AssertionError</failure></testcase>
</testsuite>
"""


def test_a_failing_test_is_told_at_its_own_line_until_the_next_report(root):
    put(root / ".phasekeeper/workflows/tested.yaml", TESTED)
    put(root / "work/a/go.json", {})
    put(root / ".gitignore", "build/\n")
    report = put(root / "build/junit.xml", PRICE_FAILED)
    source = put(root / "tests/test_shop.py", "def test_price():\n    assert '😀' == price()\n")

    async def work(client: Client) -> None:
        await client.initialize(root)
        (found,) = await client.until(lambda: client.diagnostics.get(source.as_uri()))
        assert (found["code"], found["message"]) == (
            "test-failed",
            "price failed: tests/test_shop.py:2: AssertionError",
        )
        assert found["range"] == {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}}
        source.rename(root / "tests/moved.py")
        (found,) = await client.until(lambda: client.diagnostics.get(report.as_uri()))
        assert found["range"]["start"] == {"line": 1, "character": 2}
        assert client.diagnostics[source.as_uri()] == []
        (root / "tests/moved.py").rename(source)
        await client.until(lambda: client.diagnostics.get(source.as_uri()))
        report.write_text("<testsuite>\n  <testcase name='price'/>\n</testsuite>\n")
        await client.until(lambda: client.diagnostics[source.as_uri()] == [])
        assert client.diagnostics[report.as_uri()] == []

    run_with(work)


def test_a_file_that_is_away_for_a_moment_keeps_its_diagnostics(root, monkeypatch):
    review = task(root, "T1", ok=False) / "review/plan-review.json"
    monkeypatch.setattr(worker, "CachedLiveRoot", partial(CachedLiveRoot, now_ms=lambda: 0.0))

    async def serve() -> None:
        async with engine_of() as engine, client_of(engine) as client:
            await client.initialize(root)
            await client.until(lambda: client.diagnostics.get(review.as_uri()))
            client.notes.clear()
            for number in range(30):
                review.unlink()
                await engine.refresh(root, [review], grace=True)
                review.write_text('{"ok": false}' if number < 29 else '{"ok": true}')
                await client.request("phasekeeper/run", {"root": str(root), "run": f"{TASKS}/T1"})
            await client.until(lambda: client.diagnostics[review.as_uri()] == [])
            about = [note["params"] for note in client.notes if "diagnostics" in note["params"]]
            assert [note["diagnostics"] for note in about if note["uri"] == review.as_uri()] == [[]]

    asyncio.run(asyncio.wait_for(serve(), BOUND_S))


def test_a_change_is_told_in_the_text_that_was_judged(root, monkeypatch):
    """What the file says by the time that it is told may be something else, and reading it takes time."""
    review = task(root, "T1") / "review/plan-review.json"

    async def work(client: Client) -> None:
        await client.initialize(root)
        await client.ready(root)
        monkeypatch.setattr(publisher, "_read", lambda keys, encoding: {})
        text = f"{WIDE}false}}"
        review.write_text(text, encoding="utf-8")
        found = await client.until(lambda: client.diagnostics.get(review.as_uri()))
        assert found[0]["range"]["start"] == {"line": 0, "character": len(WIDE) + 1}

    run_with(work)


WIDE = '{"n": "é任務😀", "ok": '


@pytest.mark.parametrize(
    ("encodings", "chosen", "units"),
    [
        (["utf-8", "utf-16"], "utf-8", len(WIDE.encode())),
        (["utf-16"], "utf-16", len(WIDE) + 1),
        (["utf-32"], "utf-32", len(WIDE)),
        ([], "utf-16", len(WIDE) + 1),
    ],
)
def test_ranges_are_told_in_the_encoding_that_was_agreed_on(root, encodings, chosen, units):
    review = task(root, "T1") / "review/plan-review.json"
    review.write_text(f"\r\n{WIDE}false}}\r\n", encoding="utf-8", newline="")

    async def work(client: Client) -> None:
        said = await client.initialize(root, capabilities=with_encodings(*encodings))
        assert said["capabilities"]["positionEncoding"] == chosen
        found = await client.until(lambda: client.diagnostics.get(review.as_uri()))
        assert found[0]["range"]["start"] == {"line": 1, "character": units}

    run_with(work)


def test_what_is_typed_is_judged_at_once_and_forgotten_when_the_file_is_closed(root):
    review = task(root, "T1", ok=False) / "review/plan-review.json"

    async def work() -> None:
        async with engine_of() as engine, client_of(engine) as client, client_of(engine) as other:
            for each in (client, other):
                await each.initialize(root)
            uri = review.as_uri()
            await client.until(lambda: client.codes(uri))
            await other.until(lambda: other.codes(uri))
            client.open(review)
            client.type(uri, 2, '{"ok": true}')
            await client.until(lambda: client.diagnostics[uri] == [])
            told = [n["params"] for n in client.notes if n["method"] == "textDocument/publishDiagnostics"]
            assert told[-1]["version"] == 2
            lens = await client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
            assert any("go on to “Write the code”" in each["command"]["title"] for each in lens)
            # Nobody else sees what is not saved.
            assert other.codes(uri) == ["gate-failed"]
            client.note("textDocument/didClose", {"textDocument": {"uri": uri}})
            await client.until(lambda: client.codes(uri) == ["gate-failed"])

    asyncio.run(work())


def test_changes_by_range_are_made_where_the_editor_means(root):
    review = task(root, "T1") / "review/plan-review.json"
    review.write_text('{"n": "😀\u2028é", "ok": true}')

    async def work(client: Client) -> None:
        await client.initialize(root)
        await client.ready(root)
        uri = client.open(review)
        start = len('{"n": "') + 2 + 2 + len('", "ok": ')
        client.type(
            uri, 2, "false",
            {"start": {"line": 0, "character": start}, "end": {"line": 0, "character": start + 4}},
        )  # fmt: skip
        found = await client.until(lambda: client.diagnostics.get(uri))
        assert found[0]["range"]["start"]["character"] == start

    run_with(work)


def test_a_saved_file_is_judged_from_disk_again(root):
    review = task(root, "T1") / "review/plan-review.json"

    async def work(client: Client) -> None:
        await client.initialize(root)
        await client.ready(root)
        uri = client.open(review)
        client.type(uri, 2, '{"ok": false}')
        await client.until(lambda: client.codes(uri) == ["gate-failed"])
        review.write_text('{"ok": false}')
        client.note("textDocument/didSave", {"textDocument": {"uri": uri}})
        board = await client.until(
            lambda: [
                n
                for n in client.notes
                if n["method"] == "phasekeeper/changed"
                and any(g["status"] == "failed" for run in n["params"]["changed"] for g in run["gates"])
            ]
        )
        assert board[-1]["params"]["changed"][0]["revision"].endswith("+unsaved") is False

    run_with(work)


def test_lists_are_emptied_when_files_are_deleted_or_renamed(root):
    first = task(root, "T1", ok=False)
    second = task(root, "T2", ok=False)

    async def work(client: Client) -> None:
        await client.initialize(root)
        for folder in (first, second):
            await client.until(lambda folder=folder: client.codes(folder / "review/plan-review.json"))
        shutil.rmtree(first)
        await client.until(lambda: client.diagnostics[(first / "review/plan-review.json").as_uri()] == [])
        moved = second.with_name("T3")
        second.rename(moved)
        await client.until(lambda: client.codes(moved / "review/plan-review.json") == ["gate-failed"])
        await client.until(lambda: client.diagnostics[(second / "review/plan-review.json").as_uri()] == [])

    run_with(work)


def test_what_is_said_of_a_missing_file_stands_in_the_file_of_its_run(root):
    folder = plan(root, "3 | shop-03 | `03-pay.md` | Paying | impl | [ ]")

    async def work(client: Client) -> None:
        await client.initialize(root)
        found = await client.until(lambda: client.diagnostics.get((folder / "MASTER_PLAN.md").as_uri()))
        missing = [d for d in found if d["code"] == "artifact-missing"]
        assert "03-pay.md" in missing[0]["message"]
        assert all(
            Path(uri.removeprefix("file://")).exists() for uri, list_ in client.diagnostics.items() if list_
        )

    run_with(work)


def test_a_folder_that_is_opened_through_a_link_is_told_by_the_name_the_editor_knows(root):
    real = root / "real"
    (real / ".git").mkdir(parents=True)
    task(real, "T1", ok=False)
    link = root / "link"
    link.symlink_to(real)

    async def work(client: Client) -> None:
        await client.initialize(link)
        await client.until(
            lambda: client.codes(link / TASKS / "T1/review/plan-review.json") == ["gate-failed"]
        )
        assert not client.codes(real / TASKS / "T1/review/plan-review.json")

    run_with(work)


def test_folders_that_come_and_go_are_told_and_taken_back(root):
    one, two = root / "one", root / "two"
    for each in (one, two):
        (each / ".git").mkdir(parents=True)
        task(each, "T", ok=False)
    reviews = [each / TASKS / "T/review/plan-review.json" for each in (one, two)]

    def folder(path: Path) -> dict[str, str]:
        return {"uri": path.as_uri(), "name": path.name}

    async def work(client: Client) -> None:
        await client.initialize(one)
        await client.until(lambda: client.codes(reviews[0]))
        event = {"added": [folder(two)], "removed": [folder(one)]}
        client.note("workspace/didChangeWorkspaceFolders", {"event": event})
        await client.until(lambda: client.codes(reviews[1]) and client.diagnostics[reviews[0].as_uri()] == [])
        board = await client.ready(two)
        assert [entry["root"] for entry in board["roots"]] == [str(two)]

    run_with(work)


@pytest.mark.parametrize("at_once", [True, False])
def test_a_folder_that_is_closed_and_opened_again_at_once_is_open(root, at_once):
    review = task(root, "T1", ok=False) / "review/plan-review.json"
    folder = [{"uri": root.as_uri(), "name": "root"}]
    both = [{"removed": folder, "added": folder}]
    one_by_one = [{"removed": folder, "added": []}, {"removed": [], "added": folder}]

    async def work(client: Client) -> None:
        await client.initialize(root)
        await client.until(lambda: client.codes(review))
        for event in both if at_once else one_by_one:
            client.note("workspace/didChangeWorkspaceFolders", {"event": event})
        client.note("workspace/didChangeWorkspaceFolders", {"event": {"removed": [], "added": []}})
        assert [entry["root"] for entry in (await client.ready(root))["roots"]] == [str(root)]
        (root / TASKS / "T1/state.json").write_text("{")
        await client.until(lambda: client.codes(root / TASKS / "T1/state.json"))

    run_with(work)


def test_a_folder_that_is_closed_and_opened_again_while_it_is_opened_is_held_once(root, monkeypatch):
    """What was opened twice and closed once would stay for good."""
    task(root, "T1", ok=False)
    begun: list[asyncio.Event] = []

    open_roots = connection.Connection._open_roots

    async def slowly(self: connection.Connection, path: Path) -> Any:
        may = asyncio.Event()
        begun.append(may)
        roots = await open_roots(self, path)
        await may.wait()
        return roots

    async def work() -> None:
        async with engine_of() as engine:
            async with client_of(engine) as client:
                await client.initialize(root)
                folder = [{"uri": root.as_uri(), "name": "root"}]
                for event in ({"removed": folder, "added": []}, {"removed": [], "added": folder}):
                    client.note("workspace/didChangeWorkspaceFolders", {"event": event})
                while len(begun) < 2:
                    await asyncio.sleep(0)
                for may in begun:
                    may.set()
                await client.ready(root)
                assert await users(engine, root) == 1
            assert await users(engine, root) == 0

    monkeypatch.setattr(connection.Connection, "_open_roots", slowly)
    asyncio.run(asyncio.wait_for(work(), 4 * BOUND_S))


async def users(engine: Any, root: Path) -> int:
    """How often a root is open, once all is done that was asked for."""
    return await engine._on_thread(lambda: engine._worker.open_root(root).users)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere names are text alone")
def test_a_name_that_is_no_text_is_told_like_any_other(root):
    """Python has the byte 0xff of a name as a character that UTF-8 does not know."""
    review = task(root, os.fsdecode(b"T\xff"), ok=False) / "review/plan-review.json"

    async def work(client: Client) -> None:
        await client.initialize(root)
        await client.until(lambda: client.codes(f"{(root / TASKS).as_uri()}/T%FF/review/{review.name}"))

    run_with(work)


def test_a_file_that_cannot_be_told_of_keeps_no_other_from_it(root, monkeypatch, caplog):
    for name in ("T1", "T2"):
        task(root, name, ok=False)
    send = publisher.Publisher._send_changed

    def failing(self: Any, key: tuple[Path, str], *more: Any) -> None:
        if key[1].startswith(f"{TASKS}/T1/"):
            raise ValueError("no words for it")
        send(self, key, *more)

    async def work(client: Client) -> None:
        monkeypatch.setattr(publisher.Publisher, "_send_changed", failing)
        await client.initialize(root)
        await client.until(lambda: client.codes(root / TASKS / "T2/review/plan-review.json"))
        (root / TASKS / "T2/state.json").write_text("{")
        await client.until(lambda: client.codes(root / TASKS / "T2/state.json"))
        assert "no words for it" in caplog.text

    run_with(work)


def test_a_file_outside_all_folders_brings_its_own_root(root):
    review = task(root, "T1", ok=False) / "review/plan-review.json"

    async def work(client: Client) -> None:
        await client.initialize()
        client.open(review)
        await client.until(lambda: client.codes(review) == ["gate-failed"])

    run_with(work)


def test_the_root_of_files_outside_all_folders_goes_with_the_last_of_them(root):
    """Nobody would ever close it; opened and closed again and again, each would stay."""
    reviews = [task(root, name, ok=False) / "review/plan-review.json" for name in ("T1", "T2", "T3")]

    async def work(client: Client) -> None:
        await client.initialize()
        for _ in range(2):
            for review in reviews[:2]:
                client.open(review)
            await client.until(lambda: all(map(client.codes, reviews)))
            client.close_document(reviews[0])
            assert [entry["root"] for entry in (await client.ready(root))["roots"]] == [str(root)]
            client.close_document(reviews[1])
            await client.until(lambda: not any(map(client.codes, reviews)))
            await client.until_closed()
        client.open(reviews[2])
        client.close_document(reviews[2])
        client.open(reviews[0])
        await client.until(lambda: all(map(client.codes, reviews)))
        client.close_document(reviews[0])
        await client.until(lambda: not any(map(client.codes, reviews)))

    run_with(work)


def test_a_definition_is_checked_as_it_is_typed(root):
    path = put(root / ".phasekeeper/workflows/article.yaml", ARTICLE)

    async def work(client: Client) -> None:
        await client.initialize(root)
        await client.ready(root)
        uri = client.open(path)
        client.type(uri, 2, ARTICLE.replace("to: review", "to: reviw"))
        found = await client.until(lambda: client.diagnostics.get(uri))
        assert {d["code"] for d in found} == {"workflow-invalid"}
        assert any("did you mean 'review'?" in d["message"] for d in found)
        client.type(uri, 3, ARTICLE)
        await client.until(lambda: client.diagnostics[uri] == [])

    run_with(work)


def test_a_definition_somewhere_else_is_checked_too(root):
    path = put(root / "drafts/mine.yaml", ARTICLE.replace("valid.text", "valid.txt"))

    async def work(client: Client) -> None:
        await client.initialize(root)
        await client.ready(root)
        uri = client.open(path)
        found = await client.until(lambda: client.diagnostics.get(uri))
        assert found[0]["code"] == "workflow-invalid"

    run_with(work)


def test_related_places_say_where_the_failures_stand_that_led_to_a_question(root):
    folder = plan(root)
    (folder / "reports").mkdir()
    for number, text in enumerate(_failures(), 1):
        path = put(folder / f"reports/{number:02}.md", text)
        # A minute between any two: what is saved at one moment has no order.
        at = 1_700_000_000 + 60 * number
        os.utime(path, (at, at))

    async def work(client: Client) -> None:
        await client.initialize(root)
        found = await client.until(
            lambda: [
                d for found in client.diagnostics.values() for d in found if d["code"] == "person-awaited"
            ]
        )
        places = [place["location"]["uri"].rsplit("/", 1)[-1] for place in found[0]["relatedInformation"]]
        assert {"02.md", "05.md", "08.md"} <= set(places)

    run_with(work)


def test_no_place_is_told_in_a_file_that_is_not_there(root):
    folder = reviewed(root, "T1", ok=False)
    review, meeting = folder / "review/code-review.json", folder / "review.meeting.json"

    async def work(client: Client) -> None:
        await client.initialize(root)
        found = await client.until(lambda: client.diagnostics.get(review.as_uri()))
        assert [d["code"] for d in found] == ["gate-failed"]
        assert meeting.as_uri() not in related_in(client, review)
        put(meeting, {"decision": "request_changes"})
        await client.until(lambda: meeting.as_uri() in related_in(client, review))
        meeting.unlink()
        await client.until(lambda: meeting.as_uri() not in related_in(client, review))

    run_with(work)


NOTED = """\
workflow: noted
runs: {at: [work/*], marker: {file: go.json, has: [phase]}}
state: {file: go.json}
artifacts:
  note: {paths: [note.json], kind: json}
phase: state.phase
phases:
  work: {rules: [{when: valid.note, to: done}]}
  done: {terminal: complete}
gates:
  note:
    after: work
    judged: "true"
    criteria: [{text: a note is there, when: "valid.note && state.phase == 'work'"}]
"""


def test_what_is_shut_for_want_of_a_file_is_told_in_one_that_is_there(root):
    put(root / ".phasekeeper/workflows/noted.yaml", NOTED)
    state = put(root / "work/a/go.json", {"phase": "work"})

    async def work(client: Client) -> None:
        await client.initialize(root)
        (found,) = await client.until(lambda: client.diagnostics.get(state.as_uri()))
        assert found["code"] == "gate-failed"
        assert "not met: a note is there (valid.note = false)" in found["message"]
        assert set(client.diagnostics) == {state.as_uri()}

    run_with(work)


def reviewed(root: Path, name: str, ok: bool) -> Path:
    """A task of the artifact pipeline whose code was reviewed."""
    folder = task(root, name, phase="review")
    put(folder / "code/diff.patch", "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-OLD = 1\n+NEW = 1\n")
    put(folder / "code/files/x.py", "NEW = 1\n")
    put(folder / "review/code-review.json", {"ok": ok})
    return folder


def related_in(client: Client, path: Path) -> list[str]:
    """The URIs of the places to which the diagnostics of a file lead."""
    found = client.diagnostics.get(path.as_uri(), [])
    return [place["location"]["uri"] for each in found for place in each.get("relatedInformation", [])]


def questions_in(client: Client) -> list[dict]:
    return [d for each in client.diagnostics.values() for d in each if d["code"] == "person-awaited"]


def _failures() -> list[str]:
    """Work on the open task, then three failed checks with an analysis and a fix between them."""

    def done(task: str, number: int) -> str:
        said = f"**Task File**: {task}\n**Status**: Complete\n**Iteration**: {number}\n"
        return f"## Task Complete (Delegated Mode)\n\n{said}"

    def check(number: int) -> str:
        said = f"**Phase**: 1\n**Iteration**: {number} of 3\n**Overall Status**: FAIL\n"
        return f"## Phase Quality Gate: FAIL\n\n{said}\n### Fix Scope\n\nOnly tasks [02] require fixes.\n"

    def analysis(number: int) -> str:
        return f"## Failure Analysis\n\n**Phase**: 1\n**Failed Gate**: 4b\n**Iteration**: {number} of 3\n"

    found = [done("02-tests.md", 0), check(1)]
    for number in (1, 2):
        found += [analysis(number), done("02-tests.md", number), check(number + 1)]
    return found


def test_a_long_first_look_is_shown_as_progress(root, monkeypatch):
    monkeypatch.setattr(folders, "FEWEST_RUNS", 3)
    for number in range(5):
        task(root, f"T{number}")

    async def work(client: Client) -> None:
        await client.initialize(root)
        await client.ready(root)
        kinds = await client.until(lambda: _kinds(client) if "end" in _kinds(client) else None)
        assert kinds[0] == "begin" and kinds[-1] == "end"
        assert client.asked[0]["method"] == "window/workDoneProgress/create"

    run_with(work)


def _kinds(client: Client) -> list[str]:
    return [n["params"]["value"]["kind"] for n in client.notes if n["method"] == "$/progress"]


def test_no_more_is_told_of_a_file_than_anybody_reads(root, monkeypatch):
    from phasekeeper.server.lsp.view import annotations

    monkeypatch.setattr(annotations, "MOST", 3)
    rows = [f"{n} | shop-{n:02} | `{n:02}-x.md` | X | impl | [?]" for n in range(3, 20)]
    folder = plan(root, *rows)

    async def work(client: Client) -> None:
        await client.initialize(root)
        found = await client.until(lambda: client.diagnostics.get((folder / "MASTER_PLAN.md").as_uri()))
        assert len(found) == 3

    run_with(work)


def test_a_document_that_is_no_file_is_let_be(root):
    async def work(client: Client) -> None:
        await client.initialize(root)
        item = {"uri": "untitled:Untitled-1", "languageId": "markdown", "version": 1, "text": "# x"}
        client.note("textDocument/didOpen", {"textDocument": item})
        uri = {"uri": item["uri"]}
        assert (
            await client.request(
                "textDocument/hover", {"textDocument": uri, "position": {"line": 0, "character": 0}}
            )
            is None
        )

    run_with(work)
