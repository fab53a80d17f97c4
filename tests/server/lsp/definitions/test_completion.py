"""What an editor completes in a workflow definition, by where the cursor is, each with what it means."""

from __future__ import annotations

import pytest
from lsprotocol import types as lsp
from phasekeeper.orchestration.definition.artifact_kinds import KINDS, KINDS_AND_DIALECTS
from phasekeeper.orchestration.definition.model import STRUCTS
from phasekeeper.orchestration.definition.root_config import KEYS
from phasekeeper.orchestration.definition.root_config import STRUCTS as CONFIG_STRUCTS
from phasekeeper.orchestration.evidence.checks import KEYS as CHECK_KEYS
from phasekeeper.orchestration.evidence.checks import REPORTS
from phasekeeper.orchestration.expressions.functions import FALLBACKS, FUNCTIONS, METHODS, OWN_FUNCTIONS
from phasekeeper.orchestration.expressions.tokens import MACROS
from phasekeeper.orchestration.findings import Span
from phasekeeper.orchestration.journal.journal import FIELDS
from phasekeeper.orchestration.journal.journal import KINDS as RECORD_KINDS
from phasekeeper.orchestration.lint.expressions import STAGE_FIELDS, TASK_FIELDS
from phasekeeper.orchestration.plans.dialects import DIALECTS
from phasekeeper.orchestration.plans.model import STATUS_MEANING
from phasekeeper.orchestration.snapshot.artifacts import _TYPES
from phasekeeper.server.lsp.definitions import reference_docs as words
from phasekeeper.server.lsp.definitions.key_completion import _MEANING, in_configuration, in_definition
from phasekeeper.server.lsp.definitions.partial_yaml import CONFIGURATION, key_about
from phasekeeper.server.workspace.definitions import built_in_sources

TEXT = """\
workflow: article
runs: {at: [articles/*], marker: {file: article.json, has: [phase]}}
state: {file: article.json}
phase: state.phase
parameters: {rounds: {default: 3}}
artifacts:
  text: {paths: [text.md], kind: markdown}
  plan: {paths: [PLAN.md], kind: master-plan}
values:
  stage: open_stage([], [])
  check: "newest({'kind': 'report', 'phase': 'review'})"
limits:
  tries: {count: "count({'kind': 'report'})", max: parameters.rounds}
phases:
  draft:
    title: Write the text
    produces: [text]
    outcomes: [ok, stuck]
    rules:
      - {when: valid.text, to: review, because: written}
  review: {title: "Read it, then judge", rules: [{when: state.ok == true, to: published}]}
  published: {terminal: complete}
actions:
  polish: {title: Polish it}
questions:
  fine: {kind: approval, ask: Fine?, options: {yes: print it, no: "write again"}}
  stuck:
    ask: How to go on?
    options:
      retry: try again
      leave: give it up
"""
RULES, STATE = "    rules:\n", "state: {file: article.json}\n"


def completions_after(line: str, below: str = RULES) -> list[lsp.CompletionItem]:
    """What is offered at the end of a line that stands below another."""
    at = TEXT.index(below) + len(below)
    source = f"{TEXT[:at]}{line}\n{TEXT[at:]}"
    return list(in_definition(source, source[:at].count("\n"), len(line)))


def labels(line: str, below: str = RULES) -> list[str]:
    return [each.label for each in completions_after(line, below)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # keys and words
        ("      - {when: x, st", list(STRUCTS["rule"])),
        ("      - {stop: ", ["complete", "failed", "exited", "blocked", "invalid"]),
        ("      - {wait: ", ["person", "job"]),
        # names
        ("      - {to: ", ["draft", "review", "published", "next"]),
        ("      - {act: ", ["polish"]),
        ("      - {ask: ", ["fine", "stuck"]),
        # facts
        ("      - {when: answers.", ["fine", "stuck"]),
        ("      - {when: parameters.", ["rounds"]),
        ("      - {when: limits.", ["tries"]),
        ("      - {when: limits.tries.", ["count", "max", "reached"]),
        ("      - {when: valid.", ["text", "plan"]),
        # what is compared
        ("""      - {when: "answers.fine == '""", ["yes", "no", "none", "stale"]),
        ("      - {when: answers.stuck != ", ["retry", "leave", "none", "stale"]),
        ("""      - {when: "answers.stuck in ['retry', '""", ["retry", "leave", "none", "stale"]),
        ("""      - {when: "phase == '""", ["draft", "review", "published"]),
        ("""      - {when: "check.outcome == '""", ["ok", "error", "stuck"]),
        ("""      - {when: "state.colour == '""", []),
        # patterns
        ("""      - {when: "count({'""", list(words.RECORD)),
        ("""      - {when: "count({'kind': '""", list(words.KINDS)),
        (
            """      - {when: "count({'kind': 'report', 'phase': '""",
            ["draft", "review", "published", "polish"],
        ),
        ("""      - {when: "count({'phase': ['draft', '""", ["draft", "review", "published", "polish"]),
        ("""      - {when: "count({'question': '""", ["fine", "stuck"]),
        ("""      - {when: "count({'option': '""", ["yes", "no", "retry", "leave"]),
        ("""      - {when: "count({'outcome': '""", ["ok", "error", "stuck"]),
        ("""      - {when: "count({'why': '""", []),
        ("""      - {when: "count_since({'kind': 'answer'}, {'""", list(words.RECORD)),
        ("""      - {when: "tasks({'""", list(TASK_FIELDS)),
        ("""      - {when: "tasks({'status': '""", list(STATUS_MEANING)),
        ("""      - {when: "tasks({'done': """, ["true", "false"]),
        ("""      - {when: "unreported_since({'kind': 'report'}, {'""", list(TASK_FIELDS)),
        ("""      - {when: "unreported({'done': true}, {'""", list(words.RECORD)),
        ("""      - {when: "stage_ids({'""", list(STAGE_FIELDS)),
        # inside of a text that is compared with nothing known there is nothing to say
        ("""      - {when: "text.title.startsWith('""", []),
    ],
)
def test_what_is_offered_is_what_may_stand_there(line: str, expected: list[str]) -> None:
    assert labels(line) == expected


@pytest.mark.parametrize(
    ("line", "below", "expected"),
    [
        ("    t", "  draft:\n", list(STRUCTS["phase"])),
        ("extend: ", "workflow: article\n", list(built_in_sources())),
        ("    agent: ", "  draft:\n", ["person"]),
        ("    detour: ", "  draft:\n", ["true", "false"]),
        ("  third: {kind: ", "artifacts:\n", list(STRUCTS["artifact"]["kind"].shape.words)),
        ("  third: {kind: json, require: {ok: ", "artifacts:\n", list(words.TYPES)),
        ("effects: {", STATE, ["draft", "review", "published", "polish", *words.EVENTS]),
        ("effects: {x: ", STATE, []),
        ("aliases: {old: ", STATE, ["draft", "review", "published"]),
        ("title: ", "workflow: article\n", []),
    ],
)
def test_names_and_words_are_those_that_the_key_takes(line: str, below: str, expected: list[str]) -> None:
    assert labels(line, below) == expected


@pytest.mark.parametrize(
    ("chain", "first"),
    [
        ("report.", list(words.RECORD)),
        ("check.", list(words.RECORD)),
        ("stage.", list(STAGE_FIELDS)),
        ("plan.", list(words.PLAN)),
        ("text.", ["text", "fields", "headings", "placeholders"]),
        ("state.", []),
    ],
)
def test_behind_a_dot_stand_the_parts_that_are_known_then_methods(chain: str, first: list[str]) -> None:
    assert labels(f"      - {{when: {chain}") == [*first, *METHODS, *MACROS, *FALLBACKS]


def test_an_expression_may_begin_with_every_name_fact_and_function() -> None:
    found = labels("      - {because: 'so {")
    assert found == labels("      - {when: ")
    assert {"text", "plan", "stage", "check", *words.NAMES, *words.FACTS, "has", "size"} <= set(found)
    assert set(OWN_FUNCTIONS) < set(found) and "newest" in found
    assert labels("      - {because: \"{count({'kind': 'report'}) + ") == found
    assert labels("      - {because: \"{count({'kind': 'report'}) + ") == found
    assert labels("      - {because: so") == []


@pytest.mark.parametrize(
    "line",
    ["      - {", "      - {to: ", "      - {stop: ", "      - {when: ", "      - {when: report.", "    ",
     """      - {when: "count({'""", """      - {when: "answers.fine == '"""],
)  # fmt: skip
def test_each_completion_says_what_it_is_or_means(line: str) -> None:
    # "true" and "false" speak for themselves, and so do names without a title.
    bare = [each.label for each in completions_after(line) if not (each.detail or each.documentation)]
    assert set(bare) <= {"false"}


def test_keys_say_what_they_hold_and_whether_they_are_needed() -> None:
    told = {
        each.label: (each.detail, each.documentation)
        for each in completions_after("  third: {", "artifacts:\n")
    }
    assert told["kind"] == (
        "how it is read",
        f"one of {', '.join((*KINDS, *DIALECTS))}; it is needed",
    )
    assert told["of"][1] == "a list, each a name"
    rules = {each.label: each.documentation for each in completions_after("    r", "  draft:\n")}
    assert rules["rules"] == "a list, each a rule"
    assert rules["agent"] == "a text, or a list of such"
    top = {each.label: each.documentation for each in completions_after("", STATE)}
    assert top["phase"] == "an expression, or a list, each a phase rule; it is needed"


def test_what_is_inserted_fits_where_it_stands() -> None:
    inserts = {each.label: each.insert_text for each in completions_after("""      - {when: "count({""")}
    assert inserts["kind"] == "'kind': "
    assert completions_after("      - {when: answers.fine == ")[0].insert_text == "'yes'"
    assert {each.label: each.insert_text for each in completions_after("      - {when: ")}[
        "valid"
    ] == "valid."


def test_a_title_and_the_words_of_an_option_are_shown_beside_it() -> None:
    assert completions_after("      - {to: ")[0].documentation == "Write the text"
    assert completions_after("      - {to: ")[1].documentation == "Read it, then judge"
    assert completions_after("""      - {when: "answers.fine == '""")[1].documentation == "write again"
    assert completions_after("""      - {when: "answers.stuck == '""")[0].documentation == "try again"


def test_the_words_are_those_of_the_engine() -> None:
    assert all(function.about for function in (*FUNCTIONS.values(), *METHODS.values()))
    assert set(words.RECORD) == set(FIELDS)
    assert set(words.KINDS) == set(RECORD_KINDS)
    assert set(words.TYPES) == {*_TYPES, "any"}
    keys = [key for keys in (*STRUCTS.values(), *CONFIG_STRUCTS.values()) for key in keys.values()]
    used = {word for key in keys for word in key.shape.words if key.shape.kind == "word"}
    assert set(_MEANING) | set(KINDS_AND_DIALECTS) == used


@pytest.mark.parametrize("part", ["'", "{", "(", "count({", "a == ", "options: {", "''", "'\\", ", ", "]"])
def test_very_long_lines_are_told_at_once(part: str) -> None:
    line = f"      - {{when: {part * 100_000}"
    completions_after(line)
    source = TEXT.replace("title: Write the text", line)
    list(in_definition(source, 3, len("phase: state.phase")))


# ---- the configuration ------------------------------------------------------------------------

CONFIG = "parameters:\n  master-plan: {rounds: 2}\nchecks:\n  tests:\n    run: [make, test]\n"


def configuration_labels(text: str) -> list[str]:
    lines = text.split("\n")
    return [each.label for each in in_configuration(text, len(lines) - 1, len(lines[-1]))]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("", list(KEYS)),
        (CONFIG, list(KEYS)),
        (f"{CONFIG}    ", list(CHECK_KEYS)),
        (f"{CONFIG}    reports: {{", list(REPORTS)),
        ("checks: {lint: {", list(CHECK_KEYS)),
        ("checks:\n  t: {reports: {junit: ", []),
        ("checks:\n  ", []),
        ("parameters:\n  ", [*built_in_sources()]),
        ("workflows:\n  docs/plans/*: ", [*built_in_sources()]),
        ("workflows:\n  ", []),
        ("parameters:\n  master-plan:\n    ", []),
    ],
)
def test_keys_kinds_and_workflows_are_offered_in_a_configuration(text: str, labels: list[str]) -> None:
    assert configuration_labels(text) == labels


def test_a_key_of_a_configuration_is_explained() -> None:
    lines = f"{CONFIG}    timeout_s: 9".split("\n")
    found = key_about(lines, 5, 6, CONFIGURATION)
    assert found == (Span(5, 4, 5, 13), CHECK_KEYS["timeout_s"])
    assert key_about(lines, 3, 3, CONFIGURATION) is None
