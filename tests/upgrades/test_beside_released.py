"""A released version and this one at the same files: upgrades with a server that runs, and the way back."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.server.version import VERSION

from tests.roots import EXAMPLES
from tests.server.servers import Home, answer, homes, initialize
from tests.upgrades.released_program import RELEASES, Program, ThisProgram, install_release

LATE_FEES = ".ai-tools-chain/tasks/late-fees"
LISTS = ".orchestrator/tasks/reading-lists"
LOOP = ".claude/state"


@pytest.fixture(scope="module", params=RELEASES)
def released(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return install_release(request.param, tmp_path_factory.mktemp("released"))


@pytest.fixture
def home() -> Iterator[Home]:
    with homes() as made:
        yield made


@pytest.fixture
def old(released: str, home: Home) -> Program:
    """The released version in a root with open runs of all five workflows."""
    root = home.path / "library"
    shutil.copytree(EXAMPLES, root, ignore=shutil.ignore_patterns("conventions", "__pycache__", "*.py"))
    (root / ".git").mkdir()
    (home.path / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n", encoding="utf-8")
    return Program(released, home, root)


@pytest.fixture
def new(old: Program, monkeypatch: pytest.MonkeyPatch) -> Program:
    for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, old.home.env[name])
    monkeypatch.chdir(old.root)
    return ThisProgram(sys.executable, old.home, old.root)


def runs(program: Program, *words: str) -> dict[str, dict[str, Any]]:
    """Run -> its evaluation; child sessions, which 0.1.0 does not know as runs, are left out."""
    found = json.loads(program.do("status", "--json", *words))["runs"]
    return {run["run"]: run for run in found if run["workflow"] != "component-session"}


def standing(evaluations: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What an upgrade has to keep: phases, what a person is asked, who works on what, what is done."""
    names = ("currentPhase", "status", "progress", "overridden", "claims")
    kept = {run: {name: each[name] for name in names} for run, each in evaluations.items()}
    for run, each in evaluations.items():
        kept[run]["questions"] = [question["id"] for question in each["questions"]]
    return kept


def records(program: Program, run: str) -> list[dict[str, Any]]:
    lines = (program.root / run / ".phasekeeper/journal.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def editor(program: Program) -> Any:
    """An editor's connection that is served."""
    process = program.start("lsp")
    process.stdin.write(initialize(program.root))
    process.stdin.flush()
    assert "capabilities" in answer(process.stdout, 1)["result"]
    return process


def doctor(program: Program) -> dict[str, Any]:
    return json.loads(program.run("doctor", "--json")[1])


def test_an_upgrade_under_a_server_that_runs_keeps_every_run(old: Program, new: Program) -> None:
    editor(old)
    old.do("report", LATE_FEES, "codegen", "ok")
    old.do("claim", LISTS, "reading-lists-03", "--as", "codex")
    old.decide("answer", LOOP, "severe:3:WQ-002", "resolve", "--reason", "it is known")
    before = runs(old)
    assert before[LOOP]["questions"] == []

    # Decisions of 0.1.0 name no repository; each counts again once a person has confirmed it.
    assert [each["id"] for each in runs(new)[LOOP]["questions"]] == ["severe:3:WQ-002"]
    assert "signed by an earlier version" in new.decide("repair", LOOP)
    assert standing(runs(new)) == standing(before) == standing(runs(old))
    newer = editor(new)
    assert standing(runs(new)) == standing(runs(new, "--cold")) == standing(before)
    found = doctor(new)
    [beside] = found["otherServers"]["running"]
    assert (found["server"]["version"], beside["version"]) == (VERSION, "0.1.0")
    assert [client["kind"] for client in beside["clients"]] == ["lsp"]
    assert "for 1 program" in found["wrong"][0]["what"] and "--stop" in found["wrong"][0]["mend"]

    assert new.do("serve", "--stop").count(" ended\n") == 2
    assert newer.wait() == 1
    assert doctor(new)["otherServers"]["running"] == []
    assert standing(runs(new)) == standing(before)


def test_what_this_version_writes_the_released_one_reads(old: Program, new: Program) -> None:
    new.do("report", LATE_FEES, "codegen", "error", "--summary", "no time")
    token = new.do("claim", LISTS, "reading-lists-03", "--as", "codex").rsplit("token ", 1)[1].split()[0]
    newest = runs(new)
    kept = standing(newest)
    assert standing(runs(old)) == kept
    code, said = old.run("claim", LISTS, "reading-lists-03", "--as", "gemini")
    assert code == 1 and "reading-lists-03 is claimed by codex until" in said

    # It goes on where this one was, and this one after it.
    old.do("report", LATE_FEES, "codegen", "error", "--summary", "none either")
    new.do("report", LATE_FEES, "codegen", "error", "--summary", "still none")
    said = [record.get("message") for record in records(new, LATE_FEES)]
    assert said == ["no time", "none either", "still none"]
    for program in (old, new):
        assert "journal-invalid" not in json.dumps(runs(program)[LATE_FEES]["findings"])
    new.do("release", LISTS, "reading-lists-03", "--token", token)
    assert runs(old)[LISTS]["claims"] == []


def test_the_released_version_asks_again_what_a_person_decided_with_this_one(
    old: Program, new: Program
) -> None:
    new.decide("answer", LOOP, "severe:3:WQ-002", "resolve", "--reason", "it is known")
    assert runs(new)[LOOP]["questions"] == []

    run = runs(old)[LOOP]
    assert [question["id"] for question in run["questions"]] == ["severe:3:WQ-002"]
    [told] = [found for found in run["findings"] if found["code"] == "decision-unverified"]
    assert told["message"] == "no proof that a person made this decision; it does not count"
    # The key is one for both, and what this version signed stands.
    old.decide("answer", LOOP, "severe:3:WQ-002", "resolve", "--reason", "it is known")
    assert runs(old)[LOOP]["questions"] == [] == runs(new)[LOOP]["questions"]


def test_an_older_command_line_has_its_answers_beside_this_versions_server(
    old: Program, new: Program
) -> None:
    editor(new)
    old.do("report", LATE_FEES, "codegen", "error", "--summary", "no time")
    assert "no time" in new.do("history", LATE_FEES)
    editor(old)
    assert standing(runs(old)) == standing(runs(new)) == standing(runs(new, "--cold"))


def test_one_task_is_one_agents_whatever_version_it_has(old: Program, new: Program) -> None:
    # 0.1.0 takes one agent by its name, who may claim again what is its own.
    racing = [
        each.start("claim", LISTS, "reading-lists-03", "--as", f"agent-{number}")
        for number, each in enumerate((old, new, old, new))
    ]
    ends = [process.communicate() and process.returncode for process in racing]
    assert sorted(ends) == [0, 1, 1, 1]
    assert len(runs(new)[LISTS]["claims"]) == 1
    assert standing(runs(old)) == standing(runs(new))


def test_there_is_a_program_of_every_version_that_has_roots_here() -> None:
    folders = {path.name for path in Path(__file__).parent.glob("released_*") if path.is_dir()}
    assert folders == {f"released_{version.replace('.', '_')}" for version in RELEASES}
