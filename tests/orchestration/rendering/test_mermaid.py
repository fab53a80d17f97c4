"""Workflows and runs as Mermaid diagrams."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.rendering.mermaid import _without_values, mermaid_diagram, phase_arrows
from phasekeeper.server.workspace.definitions import built_in_sources

from tests.orchestration.definitions import sound
from tests.orchestration.lint.test_checks import phases


def lines(workflow, evaluation=None) -> list[str]:
    return [line.strip() for line in mermaid_diagram(workflow, evaluation).splitlines()]


def arrows(workflow) -> list[str]:
    return [line for line in lines(workflow) if "-->" in line]


def test_phases_are_states_and_rules_are_arrows_with_their_reasons():
    workflow = sound(
        "otherwise: [{when: state.on == true, to: next}]\n",
        phases(
            "1a: {title: First, rules: [{when: state.ok == true, to: two-b, because: 'all {state.n} done'}]}",
            "aside: {detour: true, rules: [{when: state.ok == true, to: two-b}, {stop: failed}]}",
            "two-b: {leads_to: [1a], rules: [{when: state.bad == true, ask: help}, "
            "{when: state.ok == true, stop: complete}]}",
            "last: {terminal: complete}",
        ),
    )
    said = lines(workflow)
    assert said[:2] == ["stateDiagram-v2", "direction LR"]
    assert 'state "1a First" as p_1a' in said
    assert 'state "two-b" as p_two_b' in said
    assert arrows(workflow) == [
        "[*] --> p_1a",
        "p_1a --> p_two_b: all #40;state n#41; done",
        "p_aside --> p_two_b",
        "p_two_b --> p_1a",
        "p_two_b --> p_last",
        "p_two_b --> [*]",
        "p_last --> [*]",
    ]
    assert said[-1] == "class p_aside detour"


def test_a_reason_reads_without_its_values() -> None:
    reasons = {
        "a person lets stage {stage.id} be tried again": "a person lets the stage be tried again",
        "{limits.rounds.count} times": "(limits rounds count) times",
        "lost: {gone.map(g, g.id)}": "lost: (…)",
    }
    assert {reason: _without_values(reason) for reason in reasons} == reasons


def test_a_computed_target_has_no_arrow_of_its_own():
    workflow = sound(
        "",
        phases(
            "one: {rules: [{when: state.ok == true, to: '{state.to}'}, {ask: help}]}",
            "two: {terminal: complete}",
        ),
    )
    assert arrows(workflow) == ["[*] --> p_one", "p_two --> [*]"]


def test_a_run_shows_where_it_stands_and_which_gates_are_shut():
    workflow = sound()
    evaluation = SimpleNamespace(
        phases=[
            SimpleNamespace(id="one", state="done"),
            SimpleNamespace(id="two", state="current"),
            SimpleNamespace(id="x", state="ahead"),
        ],
        gates=[SimpleNamespace(after="one", shut=True), SimpleNamespace(after="two", shut=False)],
    )
    assert lines(workflow, evaluation)[-3:] == ["class p_one done", "class p_two current", "class p_one shut"]


@pytest.mark.parametrize("name", built_in_sources())
def test_every_state_of_a_built_in_graph_is_declared_once(name: str):
    source = built_in_sources()[name]
    workflow = parse_workflow(source.text, source.path)
    said = mermaid_diagram(workflow)
    declared = re.findall(r'state ".*" as (\w+)', said)
    assert len(declared) == len(set(declared)) == len(workflow.phases)
    assert set(re.findall(r"p_\w+", said)) == set(declared)


def test_no_arrow_says_the_bare_name_of_a_value_and_words_stand_apart() -> None:
    for name, source in built_in_sources().items():
        workflow = parse_workflow(source.text, name)
        for _, _, why in phase_arrows(workflow):
            assert not re.fullmatch(r"\([^()]*\)", why) and not re.search(r"\w\(", why), (name, why)
