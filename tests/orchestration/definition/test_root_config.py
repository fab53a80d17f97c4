"""A root's configuration: what is right counts, what is wrong is told at its place."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.definition.root_config import PATH, Config, config_in, read_config
from phasekeeper.orchestration.findings import Problem, Span
from phasekeeper.orchestration.vfs.files import File


def test_an_empty_configuration_says_nothing():
    assert read_config("") == read_config(" \n") == Config()
    assert read_config("# parameters:\n\n  # master-plan: {rounds: 2}\n") == Config()
    assert read_config("parameters:\nworkflows: ~\n") == Config()
    assert Config().of("anything") == {}


def test_parameters_have_types_and_places():
    config = read_config(
        "parameters:\n  master-plan:\n    rounds: 2\n    adoption: auto\n    odd: [1]\n    map: {a: 1}\n"
    )
    assert config.findings == ()
    assert config.of("master-plan") == {"rounds": 2, "adoption": "auto", "odd": [1], "map": None}
    assert config.places["master-plan", "rounds"] == Span(2, 12, 2, 13)


def test_folders_are_assigned_and_projects_are_listed():
    config = read_config("workflows: {tasks/*: mine}\nprojects: [packages/*, apps/one]\n")
    assert config.workflows == {"tasks/*": "mine"}
    assert config.projects == ("packages/*", "apps/one")


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("paramters: {}", (0, 0), "unknown key 'paramters'; did you mean 'parameters'?"),
        ("parameters: [a]", (0, 12), "parameters must be a map"),
        ("parameters: {w: 3}", (0, 16), "parameters of w must be a map"),
        ("- a", (0, 0), "the configuration must be a map"),
        ("workflows: {a: [b]}", (0, 15), "workflows: a must be a name"),
        ("workflows: {a: }", (0, 15), "workflows: a must be a name"),
        ("projects: a", (0, 10), "projects must be a list of folders"),
        ("projects: [a, [b]]", (0, 14), "a project must be a folder's path"),
        ("projects: ['']", (0, 11), "a project must be a folder's path"),
        ("a: b: c", (0, 4), "not valid YAML: "),
        ("x: &a 1", (0, 3), "anchors are not allowed; remove &a"),
    ],
)
def test_what_is_wrong_is_told_at_its_place_and_left_out(text: str, place: tuple[int, int], message: str):
    config = read_config(text)
    found = config.findings[0]
    assert found.span
    assert (found.code, found.path, found.span[:2]) == ("parameter-invalid", PATH, place)
    assert found.message.startswith(message)
    assert config.workflows == {}


def test_the_rest_of_a_configuration_with_a_mistake_counts():
    config = read_config("projects: [a, [b], c]\nparameters: {w: {n: 1}}\nmore: 1\n")
    assert (config.projects, config.of("w")) == (("a", "c"), {"n": 1})
    assert len(config.findings) == 2


def test_a_configuration_that_cannot_be_read_sets_nothing_and_is_told():
    problem = Problem("artifact-unreadable", "the link leads out of the root")
    config = config_in(File(PATH, problem=problem))
    assert (config.parameters, config.workflows, config.projects) == ({}, {}, ())
    [found] = config.findings
    assert (found.code, found.path, found.message) == ("parameter-invalid", PATH, problem.message)
    assert config_in(File(PATH)) == Config()
