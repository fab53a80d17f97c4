"""What is said of each file of a root: findings of runs, the root's own, and those of unsaved text."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from typing import Any, cast

from lsprotocol import types as lsp
from phasekeeper.orchestration.findings import Evidence, Finding, Severity, Span
from phasekeeper.server.live.boards import RootBoard, RootChange
from phasekeeper.server.live.engine import Engine
from phasekeeper.server.live.live_root import LiveRoot
from phasekeeper.server.lsp.session import connection as connections
from phasekeeper.server.lsp.session.connection import Connection
from phasekeeper.server.lsp.session.folders import OpenFolders
from phasekeeper.server.lsp.session.transport import DroppingWriter
from phasekeeper.server.lsp.view.annotations import Annotation, diagnostics_of
from phasekeeper.server.lsp.view.documents import path_of
from phasekeeper.server.lsp.view.positions import EncodedText
from phasekeeper.server.lsp.view.root_view import RootView
from phasekeeper.server.lsp.view.shared_root import SharedRoot
from phasekeeper.server.lsp.view.unsaved_evaluator import UnsavedEvaluator

from tests.roots import put, run_to_end, task
from tests.tools.fixes.test_fixes import plan


def view_of(root) -> RootView:
    live = LiveRoot(root)
    run_to_end(live.scan_in_parts())
    view = RootView(SharedRoot(root, RootBoard(root, live.version, live.runs, live.findings)))
    while view.shared.annotate_some():
        pass
    return view


def codes(view: RootView, path: str) -> list[str]:
    return [annotation.finding.code for annotation in view.at(path)]


def test_each_finding_is_said_once_whether_it_is_a_run_s_or_the_root_s_own(root):
    plan(root, first="[?]")
    put(root / ".phasekeeper/config.yaml", "parameters: {master-plan: {adoption: auto}}\nnonsense: 1\n")
    view = view_of(root)
    assert codes(view, ".phasekeeper/config.yaml") == ["parameter-invalid"]
    assert codes(view, ".orchestrator/tasks/shop/MASTER_PLAN.md").count("marker-unknown") == 1


def test_what_unsaved_text_comes_to_takes_the_place_of_what_the_disk_says(root):
    plan(root, first="[?]")
    path, run = ".orchestrator/tasks/shop/MASTER_PLAN.md", ".orchestrator/tasks/shop"
    live = LiveRoot(root)
    run_to_end(live.scan_in_parts())
    view = view_of(root)
    text = (root / path).read_text().replace("[?]", "[x]")
    assert path in view.set_unsaved(live.evaluate_unsaved({path: text}), {})
    assert "marker-unknown" not in codes(view, path)
    assert not view.is_shared(path) and set(view.unsaved) == {run}
    assert path in view.set_unsaved({}, {})
    assert view.is_shared(path)
    assert "marker-unknown" in codes(view, path)


def test_a_run_that_is_gone_says_nothing_any_more(root):
    task(root, "T1", ok=False)
    view = view_of(root)
    [run] = view.board.runs
    path = f"{run}/review/plan-review.json"
    assert codes(view, path) == ["gate-failed"]
    change = RootChange(root, 2, {}, (run,), {})
    assert path in view.shared.apply(change, RootBoard(root, 2, {}, {}))
    assert codes(view, path) == [] and view.paths == set()


def test_a_file_belongs_to_the_innermost_run_else_to_one_that_reads_it(root):
    task(root, "T1")
    view = view_of(root)
    [run] = view.board.runs
    for path in (f"{run}/state.json", f"{run}/code/files/deep/x.py"):
        found = view.run_at(path)
        assert found is not None and found.run == run
    assert view.run_at("README.md") is None


def diagnostic_of(finding: Finding, *related: Evidence) -> lsp.Diagnostic:
    text = EncodedText("one\ntwo\n")
    return diagnostics_of(
        [Annotation(finding, "run", related)], text, lambda path: (f"file:///{path}", text)
    )[0]


def test_what_a_person_overrode_is_a_hint_that_says_so():
    found = diagnostic_of(
        Finding("artifact-missing", "x", "it is missing", Span(1, 0, 1, 3), overridden=True)
    )
    assert found.severity == lsp.DiagnosticSeverity.Hint
    assert found.tags == [lsp.DiagnosticTag.Unnecessary]
    assert found.message == "it is missing (overridden by a person)"


def test_severities_and_tags_are_those_of_the_protocol():
    base = Finding("x-code", "x", "said", Span(0, 0, 0, 1))
    severities = [diagnostic_of(replace(base, severity=severity)).severity for severity in Severity]
    assert severities == [1, 2, 3, 4]
    assert diagnostic_of(replace(base, code="artifact-stale")).tags == [lsp.DiagnosticTag.Deprecated]
    assert diagnostic_of(replace(base, code="report-out-of-turn")).tags == [lsp.DiagnosticTag.Unnecessary]
    assert diagnostic_of(base).tags is None


def test_text_of_files_is_shown_without_what_could_deceive():
    found = diagnostic_of(
        Finding("x", "x", "a\u202eb\x1b[31mc\nd" + "e" * 900, None),
        Evidence("v", "\u202e", "y", Span(1, 0, 1, 1)),
    )
    assert "\u202e" not in found.message and "\x1b" not in found.message and len(found.message) <= 600
    assert found.related_information is not None
    assert found.related_information[0].message == 'v = "\\u202e"'
    assert found.related_information[0].location.uri == "file:///y"


def test_the_editor_s_side_imports_nothing_of_the_assistants_side():
    names = "[name for name in sys.modules if name[:3] == 'mcp']"
    program = f"import sys, phasekeeper.server.lsp.server; print({names})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_uri_is_spelled_as_the_editor_spells_its_folder():
    folders = OpenFolders()
    assert folders.add("file:///c%3A/My%20Work/") is not None
    assert folders.add("file:///c%3A/My%20Work/") is None
    [folder] = [path for path in (path_of("file:///c%3A/My%20Work/"),) if path]
    assert folders.uri_of(folder / "a b/ü.md") == "file:///c%3A/My%20Work/a%20b/%C3%BC.md"
    assert folders.uri_of(folder) == "file:///c%3A/My%20Work/"
    assert folders.add("untitled:x") is None
    assert folders.add_loose(folder / "x/y.md") is None


def test_a_connection_that_ends_while_a_root_is_opened_leaves_it_closed(root):
    async def work() -> None:
        closed = asyncio.Event()
        begun = asyncio.Event()

        class Slow:
            async def open(self, path, progress):
                begun.set()
                await asyncio.sleep(0)
                return (path,)

            async def evaluate_unsaved(self, path, texts):
                return {}

            def close(self, path):
                assert path == root
                closed.set()

        writer = DroppingWriter(cast("asyncio.StreamWriter", Silent()))
        connection = Connection(cast("Engine", Slow()), writer)
        opening = asyncio.ensure_future(connection._open_roots(root))
        await begun.wait()
        opening.cancel()
        await asyncio.wait_for(closed.wait(), 30)
        await connection.close()

    asyncio.run(work())


def test_what_is_being_shown_to_an_editor_that_goes_is_closed_again(root, monkeypatch):
    async def work():
        engine = Engine(asyncio.get_running_loop())
        begun, closed = asyncio.Event(), asyncio.Event()

        async def annotating(_: object) -> None:
            begun.set()
            await asyncio.Event().wait()

        def close(_: object) -> None:
            closed.set()

        monkeypatch.setattr(connections, "annotate_all", annotating)
        monkeypatch.setattr(engine, "close", close)
        connection = Connection(engine, DroppingWriter(cast("asyncio.StreamWriter", Silent())))
        assert connection._folders.add(root.as_uri()) == root
        shown = connection.spawn(connection._open(root.as_uri()))
        await asyncio.wait_for(begun.wait(), 30)
        await connection.close()
        assert shown.cancelled()
        await asyncio.wait_for(closed.wait(), 30)
        await engine.stop()

    asyncio.run(work())


class Silent:
    """A writer to an editor that is told nothing."""

    def is_closing(self) -> bool:
        return True


def test_what_is_saved_while_an_evaluation_ends_is_evaluated_too(tmp_path):
    view = view_of(tmp_path)
    looks = []

    def documents_of(_):
        looks.append("look")
        return ()

    async def editing():
        tasks: list[asyncio.Task[None]] = []

        async def followed(work) -> None:
            await work
            if not tasks[1:]:
                # The task is not over for the loop yet: nobody has been called back.
                evaluator.evaluate(view)

        def spawn(work):
            tasks.append(asyncio.create_task(followed(work)))
            return tasks[-1]

        evaluator = UnsavedEvaluator(cast("Any", None), spawn, documents_of, lambda *_: None)
        evaluator.evaluate(view)
        await tasks[0]
        await asyncio.gather(*tasks)
        return len(tasks)

    assert asyncio.run(editing()) == 2
    assert len(looks) == 4
