"""Which folders are runs: content decides, the journal decides between workflows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from phasekeeper.orchestration.definition.compiler import compile_definition
from phasekeeper.orchestration.definition.model import Workflow
from phasekeeper.orchestration.definition.reader import Source, load_definition
from phasekeeper.orchestration.definition.root_config import Config, read_config
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.orchestration.snapshot.discovery import (
    DefinitionSet,
    DiscoverableWorkflow,
    PassedFolder,
    candidates,
    discover,
    finished_work,
    has_runs,
)
from phasekeeper.orchestration.vfs.files import RecordingFiles, digest_of
from phasekeeper.orchestration.vfs.overlay import MemoryFiles
from phasekeeper.server.workspace.definitions import DefinitionLibrary

TABLE = "| Task ID | File | Status |\n|---|---|---|\n| a-01 | `01-a.md` | [ ] |\n"


def definition(
    marker: str, name: str = "mine", at: str = "tasks/*", built_in: bool = False, more: str = ""
) -> DiscoverableWorkflow:
    def load() -> Workflow:
        return parse_workflow(
            f"workflow: {name}\nruns: {{at: [{at}], marker: {marker}}}\nstate: {{file: state.json}}\n"
            f"phase: state.phase\nphases: {{one: {{terminal: complete}}}}\n{more}"
        )

    return DiscoverableWorkflow(name, (at,), built_in, load)


def found(
    files: Mapping[str, str | bytes], *definitions: DiscoverableWorkflow, config: Config | None = None
) -> list[str]:
    """ "RUN WORKFLOW" of every run."""
    matches = discover(DefinitionSet(definitions), MemoryFiles(files), config or Config()).matches
    return [f"{match.run} {match.workflow.name}" for match in matches]


def passed(files: Mapping[str, str | bytes], *definitions: DiscoverableWorkflow) -> list[PassedFolder]:
    return discover(DefinitionSet(definitions), MemoryFiles(files), Config()).passed


def built_ins() -> list[DiscoverableWorkflow]:
    return list(DefinitionLibrary.of(MemoryFiles({})).definitions())


def journal(*workflows: str) -> str:
    lines: list[str] = []
    for name in workflows:
        record = {
            "seq": len(lines) + 1,
            "kind": "start",
            "workflow": name,
            "prev": digest_of(lines[-1]) if lines else "",
        }
        lines.append(json.dumps(record))
    return "".join(f"{line}\n" for line in lines)


# ---- tests of one file ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marker", "content", "because"),
    [
        ("{file: state.json}", "anything", ""),
        ("{file: state.json, has: [phase]}", '{"phase": "x"}', ""),
        ("{file: state.json, has: [phase]}", '{"phase": null}', ""),
        ("{file: state.json, has: [a.b]}", '{"a": {"b": 1}}', ""),
        ("{file: state.json, has: [phase, a.b]}", '{"a": {"c": 1}}', "state.json lacks phase, a.b"),
        ("{file: state.json, has: [phase.x]}", '{"phase": "x"}', "state.json lacks phase.x"),
        ("{file: state.json, has: [phase]}", '{"phase": ', ""),
        ("{file: state.json, has: [phase]}", "", ""),
        ("{file: state.json, has: [phase]}", "[1]", ""),
        ("{file: state.json, has: [phase]}", b"\xff\xfe", ""),
        ("{file: state.json, text: magic}", "some magic words", ""),
        ("{file: state.json, text: magic}", "some words", "state.json does not hold 'magic'"),
        ("{file: other.json}", "", "it has no other.json"),
        ("{file: ../../../x}", "", "it has no ../../../x"),
        ("{file: state.json, where: \"state.kind == 'a'\"}", '{"kind": "a"}', ""),
        (
            "{file: state.json, where: \"state.kind == 'a'\"}",
            '{"kind": "b"}',
            "state.json is of another kind",
        ),
        ("{file: state.json, where: \"state.kind == 'a'\"}", "{}", "state.json is of another kind"),
        ("{file: state.json, where: \"state.kind == 'a'\"}", "{", ""),
        ("{any: [{file: other.json}, {file: state.json, has: [b]}]}", '{"b": 1}', ""),
        (
            "{any: [{file: o.json}, {file: state.json, has: [b]}]}",
            "{}",
            "it has no o.json; state.json lacks b",
        ),
        ("{any: [{file: o.json}, {file: o.json, text: x}]}", "{}", "it has no o.json"),
        ("{journal: mine}", "{}", "its journal names no mine"),
    ],
)
def test_a_folder_is_a_run_when_its_file_says_so(marker: str, content: str | bytes, because: str):
    artifact = "artifacts: {x: {paths: [x.json], kind: json}}\n"
    one = definition(marker, more=artifact)
    files = {"tasks/a/state.json": content}
    assert found(files, one) == ([] if because else ["tasks/a mine"])
    assert [entry.because for entry in passed(files, one)] == ([because] if because else [])


def test_defaults_and_dotted_keys_count_where_the_run_is_found():
    more = "aliases: {x: one}\n"
    one = definition("{file: state.json, has: [diagnosis.a], where: state.kind == 'a'}", more=more)
    load = one.load

    def with_state() -> Workflow:
        text = (
            load()
            .keys["workflow"]
            .source.text.replace(
                "{file: state.json}\nphase",
                "{file: state.json, defaults: {kind: a}, dotted_keys: fold}\nphase",
            )
        )
        return parse_workflow(text)

    assert found({"tasks/a/state.json": '{"diagnosis.a": 1}'}, one._replace(load=with_state)) == [
        "tasks/a mine"
    ]
    assert found({"tasks/a/state.json": '{"diagnosis.a": 1, "kind": "a"}'}, one) == []


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        (TABLE, True),
        ("|Status|x|  task id |File|\n|-|:-:|-|-:|\n|[ ]|y|a-01|`a.md`|\n", True),
        ("| **Task ID** | `File` | Status ✅ |\n|---|---|---|\n| a | b | [ ] |\n", True),
        ("Status | File | Task ID\n--- | --- | ---\n[ ] | a.md | a-01\n", True),
        (f"```\n{TABLE}```\n", False),
        (f"<!--\n{TABLE}-->\n", False),
        ("| Task | File | Status |\n|---|---|---|\n| a | b | [ ] |\n", False),
        ("Task ID, File, Status\n", False),
        ("", False),
    ],
)
@pytest.mark.parametrize("plan", ["", "artifacts: {plan: {paths: [PLAN.md], kind: master-plan}}\n"])
def test_a_table_with_these_columns_makes_a_run_in_any_order_but_not_inside_a_fence(
    text: str, fits: bool, plan: str
):
    one = definition("{file: PLAN.md, table: [Task ID, File, Status]}", more=plan)
    assert bool(found({"tasks/a/PLAN.md": text}, one)) is fits


def test_a_plan_may_be_told_from_others_by_a_column_of_its_own():
    plan = "artifacts: {plan: {paths: [PLAN.md], kind: master-plan}}\n"
    one = definition("{file: PLAN.md, table: [Task ID, Risk]}", more=plan)
    assert found({"tasks/a/PLAN.md": TABLE}, one) == []
    assert found({"tasks/a/PLAN.md": TABLE.replace("Status |\n", "Status | Risk |\n")}, one) == [
        "tasks/a mine"
    ]
    assert [entry.because for entry in passed({"tasks/a/PLAN.md": TABLE}, one)] == [
        "PLAN.md has no table with Task ID, Risk"
    ]


def test_a_marker_may_ask_for_a_file_and_a_journal():
    one = definition("{file: state.json, journal: mine}")
    files = {"tasks/a/state.json": "{}"}
    assert found(files, one) == []
    files["tasks/a/.phasekeeper/journal.jsonl"] = journal("mine")
    assert found(files, one) == ["tasks/a mine"]
    assert found({"tasks/a/.phasekeeper/journal.jsonl": journal("mine")}, one) == []


def test_only_folders_that_fit_the_globs_are_looked_at_and_runs_come_in_natural_order():
    files = {
        "tasks/t10/state.json": "{}",
        "tasks/t9/state.json": "{}",
        "tasks/state.json": "{}",
        "tasks/.hidden/state.json": "{}",
        "other/a/state.json": "{}",
    }
    one = definition("{file: state.json}")
    assert found(files, one) == ["tasks/t9 mine", "tasks/t10 mine"]
    assert passed(files, one) == []


def test_the_root_itself_holds_no_run_without_a_folder():
    assert found({"state.json": "{}"}, definition("{file: state.json}")) == []


# ---- whose run it is --------------------------------------------------------------------------

MINE, YOURS = definition("{file: state.json}"), definition("{file: state.json}", "yours")
BUILT_IN = definition("{file: state.json}", "zz-built-in", built_in=True)
FILES = {"tasks/a/state.json": "{}"}


def test_a_built_in_workflow_goes_before_a_users():
    assert found(FILES, MINE, BUILT_IN) == ["tasks/a zz-built-in"]


def test_the_start_record_of_the_journal_decides():
    for names in (("mine",), ("yours", "mine")):
        files = {**FILES, "tasks/a/.phasekeeper/journal.jsonl": journal(*names)}
        assert found(files, MINE, YOURS, BUILT_IN) == [f"tasks/a {names[0]}"]
    files["tasks/a/.phasekeeper/journal.jsonl"] = journal("gone")
    assert found(files, MINE, BUILT_IN) == ["tasks/a zz-built-in"]


def test_the_journal_goes_before_the_configuration_and_that_before_a_built_in():
    config = read_config("workflows: {other/*: yours, tasks/*: mine}\n")
    assert found(FILES, MINE, YOURS, BUILT_IN, config=config) == ["tasks/a mine"]
    files = {**FILES, "tasks/a/.phasekeeper/journal.jsonl": journal("yours")}
    assert found(files, MINE, YOURS, BUILT_IN, config=config) == ["tasks/a yours"]
    assert found(FILES, YOURS, BUILT_IN, config=config) == ["tasks/a zz-built-in"]


def test_two_definitions_of_users_that_claim_one_folder_are_told():
    (match,) = discover(DefinitionSet([YOURS, MINE]), MemoryFiles(FILES), Config()).matches
    assert (match.workflow.name, match.rivals) == ("mine", ("yours",))
    (told,) = match.findings()
    assert (told.code, told.path) == ("workflow-ambiguous", "tasks/a")
    assert told.message == (
        "mine, yours all claim this folder; assign one in .phasekeeper/config.yaml under workflows"
    )
    config = read_config("workflows: {tasks/a: yours}\n")
    (match,) = discover(DefinitionSet([YOURS, MINE]), MemoryFiles(FILES), config).matches
    assert (match.workflow.name, match.findings()) == ("yours", ())


# ---- the built-in ones ------------------------------------------------------------------------


SESSION = '{"type": "A.ContextComponentsDesignSessions", "interactions": []}'
TUNING = '{"target_skill": {}, "diagnosis": {}, "completed_actions": []}'


@pytest.mark.parametrize(
    ("path", "content", "name"),
    [
        (".phasekeeper/sessions/s/session.json", SESSION, "component-design"),
        (".claude/state/loop.state.json", '{"version": 1, "workQueue": [], "gates": {}}', "phase-loop"),
        (".ai-tools-chain/tasks/t/state.json", '{"phase": "planning"}', "artifact-pipeline"),
        (".workflow/.scratchpad/skill-tuning-1/state.json", TUNING, "skill-tuning"),
        (".orchestrator/tasks/t/MASTER_PLAN.md", TABLE, "master-plan"),
        ("tasks/t/MASTER_PLAN.md", TABLE, "master-plan"),
    ],
)
def test_a_run_of_each_built_in_workflow_is_found(path: str, content: str, name: str):
    assert found({path: content}, *built_ins()) == [f"{path.rsplit('/', 1)[0]} {name}"]


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (".phasekeeper/sessions/s/session.json", '{"type": "ComponentCodingSessions", "interactions": []}'),
        (".orchestrator/state.json", '{"phase": "plan", "current_phase": "PLAN", "status": "active"}'),
        (".claude/state/loop.state.json", '{"phase": "plan"}'),
        (".ai-tools-chain/tasks/t/state.json", '{"status": "planning"}'),
        (".workflow/.scratchpad/skill-tuning-1/state.json", '{"phase": "x"}'),
        (
            ".workflow/.scratchpad/other-1/state.json",
            '{"target_skill": 1, "diagnosis": 1, "completed_actions": 1}',
        ),
        ("tasks/t/MASTER_PLAN.md", "# A plan\n\n- [ ] do it\n"),
        ("tasks/t/PLAN.md", TABLE),
    ],
)
def test_a_file_that_only_looks_alike_is_claimed_by_nobody(path: str, content: str):
    assert found({path: content}, *built_ins()) == []


def test_the_plan_that_was_parsed_to_find_a_run_is_kept():
    parsed: dict = {}
    discover(DefinitionSet(built_ins()), MemoryFiles({"tasks/t/MASTER_PLAN.md": TABLE}), Config(), parsed)
    assert ("master-plan", digest_of(TABLE)) in parsed


CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus" / "seeds" / "misc"

if CORPUS.is_dir():

    @pytest.mark.corpus
    @pytest.mark.parametrize("path", sorted(CORPUS.glob("*.json")), ids=lambda path: path.name)
    def test_state_files_of_other_tools_are_claimed_by_nobody(path: Path):
        text = path.read_text(encoding="utf-8")
        places = (
            ".orchestrator/state.json",
            ".orchestrator/tasks/t/state.json",
            ".claude/state/loop.state.json",
            ".workflow/.scratchpad/skill-tuning-1/state.json",
            ".phasekeeper/sessions/s/session.json",
        )
        assert found(dict.fromkeys(places, text), *built_ins()) == []


def test_a_marker_that_no_check_has_seen_knows_the_state_only() -> None:
    text = (
        "workflow: mine\nruns: {at: [tasks/*], marker: {file: state.json, where: valid.x}}\n"
        "state: {file: state.json}\nphase: state.phase\nphases: {one: {terminal: complete}}\n"
        "artifacts: {x: {paths: [x.json], kind: json}}\n"
    )
    unchecked = compile_definition(*load_definition(Source("mine.yaml", text), lambda _name: None))
    definition = DiscoverableWorkflow("mine", ("tasks/*",), False, lambda: unchecked)
    assert found({"tasks/a/state.json": "{}", "tasks/a/x.json": "{}"}, definition) == []


BROKEN = definition("{file: state.json, has: [phase]}", "broken", more="rulez: 1\n")


def test_a_broken_definition_is_told_and_hides_no_run_of_another():
    seen = discover(DefinitionSet([BROKEN, MINE]), MemoryFiles(FILES), Config())
    assert [match.workflow.name for match in seen.matches] == ["mine"]
    assert [entry.because for entry in seen.passed] == ["its definition is broken"]
    assert "rulez" in seen.broken["broken"][0].message
    assert seen.findings == ()


def test_a_folder_that_only_a_broken_definition_claims_is_told_to_be_judged_by_nothing():
    (told,) = discover(DefinitionSet([BROKEN]), MemoryFiles(FILES), Config()).findings
    assert (told.code, told.path) == ("definition-invalid", "tasks/a")
    assert told.message.startswith("the workflow 'broken' cannot be used, so nothing is said of this folder")


def test_a_definition_without_a_place_for_runs_is_told_too():
    seen = discover(DefinitionSet([BROKEN._replace(at=())]), MemoryFiles(FILES), Config())
    assert (seen.matches, list(seen.broken)) == ([], ["broken"])


@pytest.mark.parametrize("by", ["journal", "configuration"])
def test_the_run_of_a_broken_definition_is_judged_by_no_other(by):
    config = read_config("workflows: {tasks/*: broken}" if by == "configuration" else "")
    files = FILES | ({"tasks/a/.phasekeeper/journal.jsonl": journal("broken")} if by == "journal" else {})
    seen = discover(DefinitionSet([BROKEN, MINE]), MemoryFiles(files), config)
    assert seen.matches == []
    assert [(told.code, told.path) for told in seen.findings] == [("definition-invalid", "tasks/a")]


def test_one_folder_is_claimed_by_the_definitions_that_claim_it_among_all():
    known = DefinitionSet([*built_ins(), definition("{file: state.json}", "deep", at="own/**")])
    files = MemoryFiles({f"{path}/state.json": "{}" for path in ("tasks/a", "tasks/a/b", "own/x/y", "own")})
    everywhere = candidates(known, files)
    assert everywhere == {"tasks/a": ["master-plan"], "own/x": ["deep"], "own/x/y": ["deep"]}
    for folder in ("tasks", "tasks/a", "tasks/a/b", "own", "own/x", "own/x/y", "nowhere"):
        inside = {run: names for run, names in everywhere.items() if f"{run}/".startswith(f"{folder}/")}
        assert candidates(known, files, folder) == inside
    assert known.may_have_runs("tasks")
    assert not known.may_have_runs("tasks/a")
    assert known.may_have_runs("own/x/y")


@pytest.mark.parametrize("name", ["a", "b", ".a", "[a]", "", "x", "state.json"])
def test_folders_of_one_name_are_those_among_all_that_have_it(name):
    places = ("tasks/a", "tasks/.a", "tasks/[a]", "own/x/a", "own/a", "own/.h/a", "flat/b")
    known = DefinitionSet(
        [
            *built_ins(),
            definition("{file: state.json}", "deep", at="own/**"),
            definition("{file: state.json}", "one", at="flat/b"),
        ]
    )
    files = MemoryFiles({f"{path}/state.json": "{}" for path in places})
    named = {run: names for run, names in candidates(known, files).items() if run.rpartition("/")[2] == name}
    assert candidates(known, files, name=name) == named


def test_a_look_at_some_folders_tells_of_a_broken_definition_and_reads_no_other_folder():
    other = definition("{file: state.json}", "other", at="other/*")
    files = RecordingFiles(MemoryFiles({**FILES, "other/b/state.json": "{}"}))
    known = DefinitionSet([BROKEN, other])
    seen = discover(known, files, Config(), claims={"other/b": ["other"]})
    assert [match.run for match in seen.matches] == ["other/b"]
    assert list(seen.broken) == ["broken"]
    assert not any(path.startswith("tasks/a") for path in files.used)


@pytest.mark.parametrize(
    ("definitions", "files", "expected"),
    [
        ([MINE], FILES, True),
        ([MINE], {}, False),
        ([MINE], {"tasks/a/other.json": "{}"}, False),
        ([BROKEN, MINE], FILES, True),
        ([BROKEN], {}, False),
        ([BROKEN._replace(at=())], {}, True),
    ],
)
def test_a_root_has_runs_or_a_broken_definition_that_may_have_some(definitions, files, expected):
    assert has_runs(DefinitionSet(definitions), MemoryFiles(files), Config(), {}) is expected


def test_a_construct_outside_the_guard_language_keeps_only_its_own_definition_from_being_used():
    outside = "values: {late: \"duration('1h') > duration('2h')\"}\n"
    other = definition("{file: state.json}", "other", at="other/*")
    known = DefinitionSet([definition("{file: state.json}", "mine", more=outside), other])
    seen = discover(known, MemoryFiles({**FILES, "other/b/state.json": "{}"}), Config())
    assert [(match.run, match.workflow.name) for match in seen.matches] == [("other/b", "other")]
    assert [(told.code, told.path) for told in seen.findings] == [("definition-invalid", "tasks/a")]
    (first, *_) = seen.broken["mine"]
    assert first.message == "duration: CEL has it, the guard language has not"
    assert first.span and first.span.column == len('values: {late: "')


def test_finished_work_is_counted_and_where_it_lies_is_no_run() -> None:
    texts = {
        "work/a/run.json": "{}",
        "work/old/run.json": "{}",
        "work/old/one/run.json": "{}",
        "work/old/x": "",
    }
    listed = DiscoverableWorkflow("mine", ("work/*",), False, lambda: None, ("work/old/*",))  # type: ignore[arg-type,return-value]
    known = DefinitionSet([listed])
    assert candidates(known, MemoryFiles(texts)) == {"work/a": ["mine"]}
    assert finished_work(known, MemoryFiles(texts)) == {"mine": 1}
    assert finished_work(known, MemoryFiles({"work/a/run.json": "{}"})) == {}
