"""The reference of the workflow format names all there is and nothing else, and its examples work."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.definition import model as workflow
from phasekeeper.orchestration.definition import reader as definition
from phasekeeper.orchestration.definition.artifact_kinds import KINDS
from phasekeeper.orchestration.definition.compiler import compile_definition
from phasekeeper.orchestration.definition.model import STRUCTS
from phasekeeper.orchestration.definition.reader import load_definition
from phasekeeper.orchestration.definition.root_config import KEYS, read_config
from phasekeeper.orchestration.definition.shapes import Shape
from phasekeeper.orchestration.evaluation.evaluate import evaluate
from phasekeeper.orchestration.expressions.functions import OWN_FUNCTIONS, OWN_METHODS
from phasekeeper.orchestration.findings import CODES
from phasekeeper.orchestration.journal.journal import FIELDS
from phasekeeper.orchestration.journal.journal import KINDS as RECORD_KINDS
from phasekeeper.orchestration.lint import checks as lint
from phasekeeper.orchestration.lint.expressions import STAGE_FIELDS, TASK_FIELDS
from phasekeeper.orchestration.plans.dialects import DIALECTS
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.orchestration.snapshot.discovery import DefinitionSet, DiscoverableWorkflow, discover
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.vfs.overlay import MemoryFiles
from phasekeeper.server.workspace.definitions import DefinitionLibrary

README = Path(workflow.__file__).parents[1] / "workflows" / "README.md"
TEXT = README.read_text(encoding="utf-8")
SECOND = 1_000_000_000


def rows(*titles: str) -> list[list[str]]:
    """The cells of all rows of the tables whose first titles are these."""
    found: list[list[str]] = []
    inside = False
    for line in TEXT.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] if line.startswith("| ") else []
        if cells[: len(titles)] == list(titles):
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and cells:
            found.append(cells)
    assert found, titles
    return found


def names(cell: str) -> list[str]:
    """What stands in backticks."""
    return re.findall(r"`([^`]+)`", cell)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, flags=re.M | re.S)


def section(title: str) -> str:
    """The text below a heading, up to the next heading."""
    return TEXT.split(f" {title}\n", 1)[1].split("\n#", 1)[0]


# ---- what it names ----------------------------------------------------------------------------


def test_every_key_of_a_definition_is_told_and_no_other() -> None:
    told = [(row[0], name) for row in rows("in", "key") for name in names(row[1])]
    # A marker test is a marker without `any`, and is told as one.
    there = [(struct, key) for struct, keys in STRUCTS.items() if struct != "marker test" for key in keys]
    assert sorted(told) == sorted(there)


def test_the_keys_that_are_needed_are_told_so() -> None:
    told = {(row[0], *names(row[1])): row[3] == "needed" for row in rows("in", "key")}
    there = {
        (struct, key): told[struct, key]
        for struct, keys in STRUCTS.items()
        if struct != "marker test"
        for key, entry in keys.items()
        if told[struct, key] != entry.required
    }
    assert there == {}


def words_of(shape: Shape) -> Collection[str]:
    return shape.words if shape.kind == "word" else ()


def test_the_words_of_a_key_are_all_told() -> None:
    lines = {(row[0], *names(row[1])): " ".join(row[2:]) for row in rows("in", "key")}
    for struct, keys in STRUCTS.items():
        for key, entry in keys.items() if struct != "marker test" else ():
            if (struct, key) != ("artifact", "kind"):
                assert [word for word in words_of(entry.shape) if word not in lines[struct, key]] == []


def test_every_function_is_told_and_no_other() -> None:
    told = {re.search(r"(\w+)\(", name)[1] for row in rows("function") for name in names(row[0])}  # type: ignore[index]
    assert told == {*OWN_FUNCTIONS, *OWN_METHODS}


def test_every_field_of_records_tasks_and_stages_is_told_and_no_other() -> None:
    for title, fields in (
        ("field of a record", FIELDS),
        ("field of a task", TASK_FIELDS),
        ("field of a stage", STAGE_FIELDS),
    ):
        told = [name for row in rows(title) for name in names(row[0])]
        assert sorted(told) == sorted(fields)


def test_every_kind_of_record_and_of_artifact_is_told() -> None:
    (kinds,) = (row[1] for row in rows("field of a record") if row[0] == "`kind`")
    assert re.findall(r"\w+", kinds.replace(" or ", " ")) == list(RECORD_KINDS)
    paragraph = TEXT.split("Kinds: ", 1)[1].split("\n\n", 1)[0]
    assert {*KINDS, *DIALECTS} == {*STRUCTS["artifact"]["kind"].shape.words} <= set(names(paragraph))


def test_every_name_of_expressions_is_told_and_no_other(article: workflow.Workflow) -> None:
    told = {name.split(".")[0] for row in rows("name") for name in names(row[0])}
    there = {name.split(".")[0] for name in (*article.language.facts, *article.effects_language.variables)}
    placeholders = {"ARTIFACT", "PLAN", "VALUE"}
    assert told == (there - {*article.artifacts, *article.values}) | placeholders


def test_every_finding_code_is_told_with_its_severity_and_no_other() -> None:
    told = {names(row[0])[0]: row[1] for row in rows("code")}
    assert told == {code: severity.value for code, (severity, _) in CODES.items()}
    assert all(row[2] and row[3] for row in rows("code"))


def test_every_event_of_effects_is_told() -> None:
    assert set(lint.EVENTS) <= {name.split(".")[0] for name in names(section("Effects"))}


def test_every_key_of_the_configuration_is_told_and_its_example_is_right() -> None:
    (text,) = (block for block in blocks("yaml") if block.startswith("parameters:"))
    config = read_config(text)
    assert config.findings == ()
    assert [key for key in KEYS if f"\n{key}:" not in f"\n{text}"] == []
    assert config.of("article") == {"rounds": 5}


# ---- its examples -----------------------------------------------------------------------------


def example(name: str) -> str:
    (text,) = (block for block in blocks("yaml") if block.startswith(f"workflow: {name}\n"))
    return text


def extended(name: str) -> definition.Source | None:
    return DefinitionLibrary().source(name)


@pytest.fixture
def article() -> workflow.Workflow:
    return lint.parse_workflow(example("article"), "article.yaml")


def judged(
    found: workflow.Workflow, texts: Mapping[str, str], times: Mapping[str, int] | None = None
) -> Evaluation:
    """The one run of a root, evaluated."""
    files = MemoryFiles(texts, times or {})
    known = DiscoverableWorkflow(found.name, found.runs.at, False, lambda: found)
    (match,) = discover(DefinitionSet([known]), files, read_config("")).matches
    return evaluate(found, read_run(found, files, match.run))


def article_of(state: dict[str, Any], review: str = "", text: str = "# Tides\n") -> dict[str, str]:
    texts = {"articles/tides/article.json": json.dumps(state)}
    texts |= {"articles/tides/text.md": text} if text else {}
    return texts | ({"articles/tides/review.json": json.dumps({"verdict": review})} if review else {})


Step = tuple[str, str | None, str]


def next_step(evaluation: Evaluation) -> Step:
    suggestion = evaluation.suggestion
    return suggestion.kind, suggestion.suggested_next, suggestion.reason


@pytest.mark.parametrize("name", ["article", "audit", "our-pipeline"])
def test_an_example_has_nothing_that_a_check_finds(name: str) -> None:
    found = compile_definition(*load_definition(definition.Source("x.yaml", example(name)), extended))
    assert lint.check(found) == []


def test_the_examples_are_all_definitions_that_are_tested() -> None:
    started = re.findall(r"^workflow: (.*)$", "\n".join(blocks("yaml")), flags=re.M)
    assert started == ["article", "audit", "our-pipeline"]


WRITTEN = "# Tides\n"
UNWRITTEN = "draft has not delivered text (missing); roll back to it"
UNREVIEWED = "review is missing (articles/tides/review.json)"
UNACCEPTED = "published is recorded, but gate accepted of review is failed"


@pytest.mark.parametrize(
    ("state", "review", "text", "step"),
    [
        ({"phase": "draft"}, "", "", ("stay", "draft", "text is missing (articles/tides/text.md)")),
        ({"phase": "draft"}, "", WRITTEN, ("advance", "review", "the text is written")),
        ({"phase": "draft"}, "rework", WRITTEN, ("stay", "draft", "Write the text is to be done")),
        ({"phase": "review"}, "accept", WRITTEN, ("advance", "published", "the review accepts the text")),
        ({"phase": "review"}, "rework", WRITTEN, ("regress", "draft", "sent back in round 1 of 3")),
        ({"phase": "review", "round": 3}, "rework", WRITTEN, ("escalate", None, "sent back 3 times")),
        ({"phase": "review"}, "", WRITTEN, ("stay", "review", UNREVIEWED)),
        ({"phase": "review"}, "accept", "", ("regress", "draft", UNWRITTEN)),
        ({"phase": "published"}, "accept", WRITTEN, ("stop", None, "the run is complete")),
        ({"phase": "published"}, "rework", WRITTEN, ("regress", "review", UNACCEPTED)),
    ],
)
def test_the_article_goes_where_its_definition_says(
    article: workflow.Workflow,
    state: dict[str, Any],
    review: str,
    text: str,
    step: Step,
) -> None:
    assert next_step(judged(article, article_of(state, review, text))) == step


def test_the_text_says_of_the_article_what_the_engine_says(article: workflow.Workflow) -> None:
    state, verdict = re.findall(r"`(\{\"[^`]*\})`", section("A whole example").replace("\n", " "))[:2]
    step = next_step(judged(article, article_of(json.loads(state), json.loads(verdict)["verdict"])))
    told = " ".join(section("A whole example").split())
    assert f"go back to {step[1]}, {step[2]}." in told


def test_a_review_of_an_older_text_has_to_be_made_again(article: workflow.Workflow) -> None:
    texts = article_of({"phase": "review", "round": 2}, "rework")
    times = {"articles/tides/review.json": 100 * SECOND, "articles/tides/text.md": 200 * SECOND}
    evaluation = judged(article, texts, times)
    assert next_step(evaluation) == ("stay", "review", "review is stale (articles/tides/review.json)")
    draft = judged(article, article_of({"phase": "draft", "round": 2}, "rework"), times)
    assert next_step(draft) == ("advance", "review", "the text is written")


@pytest.mark.parametrize(
    ("reports", "status", "phase"),
    [
        ({}, "active", "collect"),
        ({"1": "# Evidence collected\n\nTwenty logs.\n"}, "active", "judge"),
        ({"1": "# Evidence collected\n", "2": "# Judgement\n\n**Result**: PASS\n"}, "complete", "judge"),
        ({"1": "# Evidence collected\n", "2": "# Judgement\n\nResult: fail (two gaps)\n"}, "failed", "judge"),
        ({"1": "# Evidence collected\n", "2": "# Judgement\n\n**Result**: PASS | FAIL\n"}, "active", "judge"),
        ({"1": "# Judgement\n\n**Result**: PASS\n"}, "active", "collect"),
    ],
)
def test_the_audit_goes_by_its_reports(reports: dict[str, str], status: str, phase: str) -> None:
    found = lint.parse_workflow(example("audit"), "audit.yaml")
    texts = {"audits/a/AUDIT.md": "x"} | {
        f"audits/a/reports/{name}.md": text for name, text in reports.items()
    }
    times = {f"audits/a/reports/{name}.md": int(name) * 60 * SECOND for name in reports}
    evaluation = judged(found, texts, times)
    assert (evaluation.status, evaluation.current_phase) == (status, phase)


def test_the_extended_pipeline_has_its_own_place_and_coder_and_lacks_the_gate() -> None:
    found = lint.parse_workflow(example("our-pipeline"), "our-pipeline.yaml", extended)
    original = DefinitionLibrary().workflow("artifact-pipeline")
    assert found.runs.at == ("work/*",)
    assert found.phases["codegen"].agents == ("our-coder",)
    assert original.gates.keys() - found.gates.keys() == {"scope"}
    assert [rule.where for rule in found.phases["codegen"].rules] == [
        rule.where for rule in original.phases["codegen"].rules
    ]


def expressions() -> Iterator[str]:
    for block in blocks("cel"):
        yield from block.splitlines()


@pytest.mark.parametrize("expression", list(expressions()))
def test_an_expression_of_the_text_compiles(article: workflow.Workflow, expression: str) -> None:
    assert article.language.compile(expression).type in ("bool", "string")
