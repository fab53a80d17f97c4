"""The definitions that a root knows."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.definition.reader import InvalidWorkflow, folders_of, load_definition
from phasekeeper.orchestration.lint.checks import check
from phasekeeper.orchestration.vfs.overlay import MemoryFiles
from phasekeeper.server.workspace.definitions import (
    FOLDER,
    DefinitionLibrary,
    UnknownWorkflow,
    built_in_sources,
)

BUILT_IN = [
    "agent-os",
    "artifact-pipeline",
    "backlog",
    "beads",
    "bmad",
    "component-design",
    "component-session",
    "kiro",
    "master-plan",
    "openspec",
    "phase-loop",
    "plan-file",
    "skill-tuning",
    "spec-kit",
    "spec-workflow",
    "task-master",
]
OWN = "workflow: {}\nextend: phase-loop\nruns: {{at: [loops/*]}}\n"


def library(**own: str | bytes) -> DefinitionLibrary:
    texts = {f"{FOLDER}/{name.replace('_', '-')}.yaml": text for name, text in own.items()}
    return DefinitionLibrary.of(MemoryFiles(texts))


def test_a_root_without_definitions_has_the_built_in_ones():
    known = library()
    assert known.names == list(known.built_in) == BUILT_IN
    assert all(known.workflow(name).name == name for name in BUILT_IN)
    assert known.shadowing() == []


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_option_of_a_built_in_question_says_what_it_is_and_what_it_brings(name: str):
    for question in library().workflow(name).questions.values():
        for option, text in question.options.items():
            what, _, brings = text.partition(": ")
            assert what and brings, (question.id, option)


def test_a_workflow_is_compiled_once():
    known = library(mine=OWN.format("mine"))
    assert known.workflow("mine") is known.workflow("mine")
    assert known.workflow("phase-loop") is library().workflow("phase-loop")


def test_a_users_definition_may_extend_a_built_in_one_or_another_of_its_own():
    second = "workflow: second\nextend: mine\ntitle: The second\n"
    known = library(mine=OWN.format("mine"), second=second)
    assert known.names == sorted([*BUILT_IN, "mine", "second"])
    workflow = known.workflow("second")
    assert (workflow.title, workflow.runs.at) == ("The second", ("loops/*",))
    assert list(workflow.phases) == list(known.workflow("phase-loop").phases)
    assert check(workflow) == []


def test_an_unknown_workflow_is_told_with_what_was_meant():
    with pytest.raises(
        UnknownWorkflow, match="no workflow is called 'master-plna'; did you mean 'master-plan'"
    ):
        library().workflow("master-plna")
    assert library().source("nobody") is None


def test_a_definition_must_have_the_name_of_its_file():
    with pytest.raises(InvalidWorkflow) as told:
        library(mine=OWN.format("other")).workflow("mine")
    (found,) = told.value.findings
    assert found.span
    assert (found.path, found.span[:2]) == (f"{FOLDER}/mine.yaml", (0, 10))
    assert found.message == "the file's name asks for the workflow 'mine', it holds 'other'"


def test_a_definition_with_the_name_of_a_built_in_one_is_told_and_not_used():
    known = library(phase_loop=OWN.format("phase-loop"))
    (found,) = known.shadowing()
    assert found.path == f"{FOLDER}/phase-loop.yaml"
    assert found.message.startswith("'phase-loop' is the name of a built-in workflow")
    assert known.workflow("phase-loop").runs.at == (".claude/state",)
    assert [definition.built_in for definition in known.definitions()] == [True] * len(BUILT_IN)


def test_a_definition_that_cannot_be_read_is_told():
    known = library(mine=b"\xff", good=OWN.format("good"))
    assert known.names == sorted([*BUILT_IN, "good"])
    assert [(found.path, found.message) for found in known.shadowing()] == [
        (f"{FOLDER}/mine.yaml", "not UTF-8: byte 0xff in line 1")
    ]


def test_a_definition_may_have_the_short_ending_of_yaml():
    known = DefinitionLibrary.of(
        MemoryFiles({f"{FOLDER}/mine.yml": "workflow: mine\nphases: {one: {terminal: complete}}\n"})
    )
    assert known.own["mine"].path == f"{FOLDER}/mine.yml"


def test_a_folder_with_the_name_of_a_definition_is_none_and_is_told():
    known = DefinitionLibrary.of(MemoryFiles({f"{FOLDER}/odd.yaml/x": "a"}))
    assert known.names == BUILT_IN
    assert [(each.code, each.path) for each in known.shadowing()] == [
        ("workflow-invalid", f"{FOLDER}/odd.yaml")
    ]


def test_definitions_are_compiled_when_a_folder_asks_for_them():
    known = library(mine="workflow: mine\nruns: {at: [a/*, b]}\nphase: 1\n")
    mine = next(definition for definition in known.definitions() if definition.name == "mine")
    assert (mine.at, mine.built_in) == (("a/*", "b"), False)
    with pytest.raises(InvalidWorkflow, match=r"mine.yaml:1:1: a definition needs 'phases'"):
        mine.load()


def test_a_definition_that_is_no_yaml_has_no_place_for_runs_and_says_why_when_it_is_loaded():
    mine = next(each for each in library(mine="a: b: c").definitions() if each.name == "mine")
    assert mine.at == ()
    with pytest.raises(InvalidWorkflow, match=rf"{FOLDER}/mine.yaml:1:5: not valid YAML"):
        mine.load()


def test_what_keeps_a_definition_from_being_used_is_told_without_raising():
    known = library(mine="a: b: c")
    assert [found.path for found in known.faults("mine")] == [f"{FOLDER}/mine.yaml"]
    assert known.faults("phase-loop") == ()


def test_the_folders_of_built_in_workflows_are_those_of_their_whole_text():
    found = {definition.name: definition.at for definition in library().definitions()}
    for name, source in built_in_sources().items():
        assert found[name] == folders_of(load_definition(source)[0])
        assert found[name]
