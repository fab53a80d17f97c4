"""What an editor is answered about a place: lenses, hovers, completion, definitions, references, outlines."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from phasekeeper.server.lsp.definitions.declared_names import DeclaredNames
from phasekeeper.server.lsp.definitions.expression_completion import in_expression
from phasekeeper.server.lsp.definitions.key_completion import begins_key
from phasekeeper.server.lsp.definitions.partial_yaml import key_about, names_in, path_at
from phasekeeper.server.lsp.features import completion
from phasekeeper.server.lsp.view.documents import DocumentContext
from phasekeeper.server.lsp.view.positions import UTF16, EncodedText
from phasekeeper.server.workspace.definitions import DefinitionLibrary

from tests.roots import EXAMPLES, put, task
from tests.server.lsp.client import Client, run_with
from tests.tools.fixes.test_fixes import ARTICLE, plan

ENDED = {
    "status": "user_exit", "target_skill": {"name": "sum", "path": "sum"}, "iteration_count": 0,
    "error_count": 0, "max_iterations": 5, "max_errors": 3, "quality_gate": "fail", "issues": [],
    "completed_actions": ["action-init"], "diagnosis": {},
}  # fmt: skip
UX = {"textDocument": {"hover": {"contentFormat": ["markdown", "plaintext"]}}}


def at(path: Path, part: str, more: int = 0) -> dict[str, Any]:
    """The document and the place where a part of its text begins."""
    source = path.read_text()
    position = EncodedText(source, UTF16).position_at(source.index(part) + more)
    return {
        "textDocument": {"uri": path.as_uri()},
        "position": {"line": position.line, "character": position.character},
    }


def answer_to(
    root: Path, path: Path, method: str, place: dict[str, Any], text: str | None = None, **options: Any
) -> Any:
    """The answer to one request about a document that is open."""
    found: list[Any] = []

    async def work(client: Client) -> None:
        await client.initialize(root, **options)
        await client.ready(root)
        client.open(path, text)
        found.append(await client.request(method, place))

    run_with(work)
    return found[0]


def labels(completions: dict[str, Any]) -> list[str]:
    return [item["label"] for item in completions["items"]]


# ---- lenses, hovers -----------------------------------------------------------------------------


def test_lenses_say_where_the_run_is_what_is_next_and_how_far_each_stage_is(root):
    path = plan(root) / "MASTER_PLAN.md"
    found = answer_to(root, path, "textDocument/codeLens", {"textDocument": {"uri": path.as_uri()}})
    titles = [(lens["range"]["start"]["line"], lens["command"]["title"]) for lens in found]
    assert titles[0] == (0, "Implement (4a): active, 1 of 2 done")
    assert titles[1][1].startswith("next: do “Implement” (")
    assert titles[-1] == (3, "1 of 2 done; work on 02")


def test_the_lens_of_a_run_that_is_over_says_how_it_ended_and_names_no_next_step(root):
    session = json.loads((EXAMPLES / ".phasekeeper/sessions/lending-loans/session.json").read_text())
    shutil.copytree(EXAMPLES / "docs", root / "docs")
    complete = put(root / ".phasekeeper/sessions/lending-loans/session.json", session)
    ended = put(root / ".workflow/.scratchpad/skill-tuning-1/state.json", ENDED)
    for path, how in (complete, "complete"), (ended, "ended"):
        found = answer_to(root, path, "textDocument/codeLens", {"textDocument": {"uri": path.as_uri()}})
        titles = [each["command"]["title"] for each in found]
        assert titles[0].partition(",")[0] == how
        assert not any(title.startswith("next: ") for title in titles)


def test_what_is_asked_while_the_root_is_first_looked_at_is_answered_after_that(root):
    """Editors that cannot be told to ask again would never show a lens or an outline."""
    path = plan(root) / "MASTER_PLAN.md"

    async def work(client: Client) -> None:
        await client.initialize(root)
        document = {"textDocument": {"uri": client.open(path)}}
        lenses = client.ask("textDocument/codeLens", document)
        assert len(await client.request("textDocument/documentSymbol", document)) == 1
        assert (await lenses)[0]["command"]["title"] == "Implement (4a): active, 1 of 2 done"

    run_with(work)


def test_what_is_asked_of_a_document_in_no_open_folder_is_answered_once_its_root_is_open(root):
    path = plan(root) / "MASTER_PLAN.md"

    async def work(client: Client) -> None:
        await client.initialize()
        document = {"textDocument": {"uri": client.open(path)}}
        assert (await client.request("textDocument/codeLens", document))[0]["range"]["start"]["line"] == 0

    run_with(work)


def test_a_title_that_would_be_markup_or_a_link_is_shown_as_text(root):
    path = (
        plan(root, "3 | shop-03 | `03-x.md` | [click](command:evil) <b>*x*</b> | impl | [ ]")
        / "MASTER_PLAN.md"
    )
    shown = answer_to(root, path, "textDocument/hover", at(path, "shop-03"), capabilities=UX)["contents"]
    assert shown["kind"] == "markdown"
    assert "[click](" not in shown["value"] and "<b>" not in shown["value"]


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("shop-02", "shop-02: Tests"),
        ("[x]", "done"),
        ("Phase 1: Core", "phase 1: Core: 1 of 2 done"),
    ],
)
def test_a_hover_on_a_plan_tells_of_the_task_the_mark_or_the_stage(root, part, said):
    path = plan(root) / "MASTER_PLAN.md"
    shown = answer_to(root, path, "textDocument/hover", at(path, part, 1))["contents"]
    assert shown["kind"] == "plaintext"
    assert shown["value"].splitlines()[0] == said


@pytest.mark.parametrize("said", ["**Progress**: 1/2 tasks", "(1/02)", "now 1 of 2 done"])
def test_a_number_of_a_count_names_no_task(root, said):
    path = plan(root, below=f"{said}\n") / "MASTER_PLAN.md"
    place = at(path, said, said.index("2"))
    assert answer_to(root, path, "textDocument/hover", place) is None
    assert answer_to(root, path, "textDocument/definition", place) == []
    named = at(plan(root, below="See 02-tests.md\n") / "MASTER_PLAN.md", "See 02", 5)
    assert answer_to(root, path, "textDocument/hover", named) is not None


def test_a_hover_on_a_phase_of_a_state_file_tells_what_it_leaves_and_its_gate(root):
    path = task(root, "T1") / "state.json"
    value = answer_to(root, path, "textDocument/hover", at(path, "plan_review"))["contents"]["value"]
    assert value.startswith("plan_review: ")
    assert "review/plan-review.json (valid)" in value
    assert "gate plan-review: passed" in value


def test_a_hover_on_the_phase_of_a_run_that_is_over_says_that_it_ended_there(root):
    path = put(root / ".workflow/.scratchpad/skill-tuning-1/state.json", ENDED)
    value = answer_to(root, path, "textDocument/hover", at(path, "user_exit"))["contents"]["value"]
    assert value.startswith("user_exit: Ended by the user (the run ended here")


def test_a_hover_on_a_key_of_a_definition_says_what_it_means(root):
    path = put(root / ".phasekeeper/workflows/article.yaml", ARTICLE)
    value = answer_to(root, path, "textDocument/hover", at(path, "terminal"))["contents"]["value"]
    assert value == "the run is over"


def test_nothing_is_said_where_there_is_nothing_to_say(root):
    path = put(root / "notes.md", "Some words\n")
    assert answer_to(root, path, "textDocument/hover", at(path, "words")) is None


# ---- completion -----------------------------------------------------------------------------------


def test_a_phase_is_completed_in_the_state_file(root):
    path = task(root, "T1") / "state.json"
    found = answer_to(root, path, "textDocument/completion", at(path, "plan_review"))
    assert {"planning", "plan_review", "codegen", "done"} <= set(labels(found))
    assert found["items"][0]["textEdit"]["newText"] == found["items"][0]["label"]


def test_marks_are_completed_in_the_box_of_a_row(root):
    path = plan(root) / "MASTER_PLAN.md"
    found = answer_to(root, path, "textDocument/completion", at(path, "[ ]", 1))
    assert labels(found) == ["[ ]", "[x]", "[~]", "[-]", "[!]"]


def test_task_ids_are_completed_where_a_task_file_names_what_it_depends_on(root):
    path = plan(root) / "02-tests.md"
    found = answer_to(root, path, "textDocument/completion", at(path, "[]", 1))
    assert labels(found) == ["shop-01", "shop-02"]


def test_verdicts_are_completed_behind_their_field_of_a_report(root):
    path = put(plan(root) / "reports/01.md", "## Phase Quality Gate\n\n**Overall Status**: \n")
    found = answer_to(root, path, "textDocument/completion", at(path, "Status**: ", 10))
    assert {"PASS", "FAIL"} <= set(labels(found))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("      - {when: valid.", ["text"]),
        ("      - {when: ", ["text", "state", "tasks", "valid"]),
        ("      - {to: ", ["draft", "review", "published", "next"]),
        ("      - {w", ["when", "wait", "warn"]),
        ("      - {stop: ", ["complete", "failed"]),
        ("    produces: [", ["text"]),
        ("    t", ["title", "terminal", "tasks"]),
    ],
)
def test_a_definition_is_completed_by_what_may_stand_there(root, line, expected):
    path = put(root / ".phasekeeper/workflows/article.yaml", ARTICLE)
    lines = ARTICLE.splitlines()
    number = lines.index("    rules:") + (1 if line.startswith("      ") else 0)
    text = "\n".join([*lines[:number], line, *lines[number:]])
    place = {"textDocument": {"uri": path.as_uri()}, "position": {"line": number, "character": len(line)}}
    found = labels(answer_to(root, path, "textDocument/completion", place, text))
    assert set(expected) <= set(found)


# ---- places ---------------------------------------------------------------------------------------


def ends(found: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(each["uri"].rsplit("/", 1)[-1], each["range"]["start"]["line"]) for each in found]


def test_from_a_row_one_goes_to_the_task_s_file_and_from_a_name_to_its_row(root):
    folder = plan(root)
    path = folder / "MASTER_PLAN.md"
    assert ends(answer_to(root, path, "textDocument/definition", at(path, "shop-02"))) == [("02-tests.md", 0)]
    path = put(
        folder / "02-tests.md", "# 02. Tests\n\n## Meta\n\n- **ID**: shop-02\n- **Depends On**: [shop-01]\n"
    )
    assert ends(answer_to(root, path, "textDocument/definition", at(path, "shop-01"))) == [
        ("MASTER_PLAN.md", 7)
    ]


def test_from_a_phase_one_goes_to_its_entry_in_the_definition(root):
    path = task(root, "T1") / "state.json"
    [(name, line)] = ends(answer_to(root, path, "textDocument/definition", at(path, "plan_review")))
    assert name == "artifact-pipeline.yaml" and line > 0


def test_from_a_name_in_a_definition_one_goes_to_where_it_is_given(root):
    path = put(root / ".phasekeeper/workflows/article.yaml", ARTICLE)
    assert ends(answer_to(root, path, "textDocument/definition", at(path, "to: review", 4))) == [
        ("article.yaml", 11)
    ]


def test_references_of_a_task_are_in_the_plan_the_task_files_and_the_reports(root):
    folder = plan(root)
    put(folder / "02-tests.md", "# 02. Tests\n\n## Meta\n\n- **ID**: shop-02\n- **Depends On**: [shop-01]\n")
    put(
        folder / "reports/01.md",
        "## Task Complete (Delegated Mode)\n\n**Task File**: 01-cart.md\n**Status**: Complete\n",
    )
    path = folder / "MASTER_PLAN.md"
    place = at(path, "shop-01") | {"context": {"includeDeclaration": True}}
    found = ends(answer_to(root, path, "textDocument/references", place))
    assert {("MASTER_PLAN.md", 7), ("01-cart.md", 4), ("02-tests.md", 5), ("01.md", 2)} <= set(found)


def test_references_in_a_definition_are_all_places_of_the_name(root):
    path = put(root / ".phasekeeper/workflows/article.yaml", ARTICLE)
    place = at(path, "to: review", 4) | {"context": {"includeDeclaration": True}}
    assert ends(answer_to(root, path, "textDocument/references", place)) == [
        ("article.yaml", 10),
        ("article.yaml", 11),
    ]


def test_the_outline_of_a_plan_is_its_stages_with_their_tasks(root):
    path = plan(root) / "MASTER_PLAN.md"
    [stage] = answer_to(root, path, "textDocument/documentSymbol", {"textDocument": {"uri": path.as_uri()}})
    assert stage["name"] == "1. Core" and stage["detail"] == "1 of 2 done"
    assert [child["name"] for child in stage["children"]] == ["shop-01 The cart", "shop-02 Tests"]


def test_the_outline_of_a_definition_is_what_it_names(root):
    path = put(root / ".phasekeeper/workflows/article.yaml", ARTICLE)
    found = answer_to(root, path, "textDocument/documentSymbol", {"textDocument": {"uri": path.as_uri()}})
    named = {each["name"]: [child["name"] for child in each["children"]] for each in found}
    assert named == {"artifacts": ["text"], "phases": ["draft", "review", "published"]}


def test_the_outline_of_a_state_file_is_the_phase_that_the_run_is_in(root):
    path = task(root, "T1") / "state.json"
    [symbol] = answer_to(root, path, "textDocument/documentSymbol", {"textDocument": {"uri": path.as_uri()}})
    assert symbol["name"] == "plan_review"


# A pattern that looks at such a line again and again would not come to an end.
LONG = 200_000


@pytest.mark.parametrize(
    "text",
    ["a" * LONG + "!", "-" * LONG + "!", " " * LONG, "*" * LONG + " " * LONG, "a." * LONG + "!"],
    ids=["word", "dashes", "spaces", "stars", "dots"],
)
def test_places_in_very_long_lines_are_told_at_once(text):
    assert completion._begun_word(text) == ""
    assert list(completion._verdicts(DefinitionLibrary().workflow("master-plan"), text)) == []
    list(in_expression(DeclaredNames([text]), text))
    begins_key(text)
    for lines in ([text], ["x: {" + text], ["a" + text + "x"]):
        list(names_in(lines))
        path_at(lines, 0, len(lines[0]))
        key_about(lines, 0, len(lines[0]))


@pytest.mark.parametrize(
    "text", ['"a":' + " " * LONG + ",", '\\"' * LONG, '"' + "a" * LONG], ids=["spaces", "escaped", "open"]
)
def test_values_in_very_long_lines_of_json_are_told_at_once(text):
    context = cast("DocumentContext", SimpleNamespace(workflow=None, plan=lambda: None))
    assert list(completion._in_json(context, text)) == []


# ---- definitions in the middle of a change --------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("phases:\n  a:\n    ", ("phases", "a")),
        ("phases:\n  a:\n    rules:\n      - {when: x, to: ", ("phases", "a", "rules", "-", "to")),
        ("phases:\n  a:\n    rules:\n      - when: x\n        to: ", ("phases", "a", "rules", "-", "to")),
        ("phases: {a: {title: x, agent: ", ("phases", "a", "agent")),
        (
            "gates:\n  g:\n    criteria:\n      - {text: 'a, b: {c}', when: ",
            ("gates", "g", "criteria", "-", "when"),
        ),
        ("phases:\n  a:\n# comment: here\n    title: ", ("phases", "a", "title")),
        ("", ()),
        ("]}{[ : - ", ()),
    ],
)
def test_where_a_place_is_can_be_told_from_its_indentation(text, path):
    lines = text.split("\n")
    found = path_at(lines, len(lines) - 1, len(lines[-1]))
    assert found == path or not path


def test_names_are_found_in_maps_of_one_line_too():
    lines = [
        "parameters: {rounds: {default: 3}, size: {default: 1}}",
        "phases:",
        '  "1a": {title: x}',
        "  b:",
        "before:",
        "  - when: a rule has no name",
        "    ask: b",
    ]
    found = [(*name.path, name.line) for name in names_in(lines)]
    assert found == [
        ("parameters", "rounds", 0),
        ("parameters", "size", 0),
        ("phases", "1a", 2),
        ("phases", "b", 3),
    ]


def test_a_key_that_no_definition_has_means_nothing():
    assert key_about(["phases:", "  a:", "    nonsense: x"], 2, 6) is None
    assert key_about(["phases:"], 7, 0) is None
