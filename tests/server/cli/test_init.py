"""`init`: shown first, asked on a terminal, nothing that stands in a file is lost, and done once."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from phasekeeper.orchestration.definition.root_config import Guard, read_config
from phasekeeper.orchestration.vfs.glob import fits
from phasekeeper.orchestration.vfs.overlay import MemoryFiles
from phasekeeper.server.cli import catalog
from phasekeeper.server.cli.commands import init
from phasekeeper.server.cli.commands.init import ATTRIBUTES, IGNORED
from phasekeeper.server.fence.assistant_rules import (
    CODEX,
    DECISIONS,
    FENCES,
    claude_rules,
    cursor_rules,
    decision_files,
    gemini_policies,
)
from phasekeeper.server.store.additive_edits import PlannedFile, write_planned
from phasekeeper.server.store.folder import StoreError
from phasekeeper.server.workspace.definitions import DefinitionLibrary

from tests.roots import EXAMPLES, TASKS, needs, put, task

LIBRARY = DefinitionLibrary.of(MemoryFiles({}))
SHIPPED = [LIBRARY.workflow(name) for name in LIBRARY.built_in]
DECIDED = decision_files(SHIPPED)
DENIED, CURSOR, GEMINI = claude_rules(DECIDED), cursor_rules(DECIDED), gemini_policies(DECIDED)
FILES = (".phasekeeper/config.yaml", ".gitattributes", ".gitignore", ".claude/settings.json")


@pytest.fixture
def here(root, monkeypatch):
    monkeypatch.chdir(root)
    return root


def denied(root: Path) -> list[str]:
    return json.loads((root / ".claude/settings.json").read_bytes().decode("utf-8-sig"))["permissions"][
        "deny"
    ]


def test_without_a_terminal_it_shows_what_it_would_write_and_writes_nothing(here, run):
    code, out, err = run("init")
    assert code == 1
    assert err == "phasekeeper: nothing was written; `phasekeeper init --yes` writes it without asking\n"
    assert all(f"{path} (new)\n" in out for path in FILES)
    assert all(f"  + {line}\n" in out for line in (*ATTRIBUTES, *IGNORED, *DENIED))
    assert [path.name for path in here.iterdir()] == [".git"]


def test_it_says_first_which_workflows_and_conventions_are_here(here, run):
    assert "no runs are here yet; `phasekeeper start WORKFLOW NAME` begins one\n" in run("init")[1]
    for convention in ("spec-kit", "openspec", "task-master"):
        shutil.copytree(EXAMPLES / "conventions" / convention, here, dirs_exist_ok=True)
    task(here, "T1")
    task(here, "T2")
    first = run("init")[1].splitlines()[0]
    assert first == "found: 6 runs: 2 artifact-pipeline, 2 task-master, 1 openspec, 1 spec-kit"


def test_yes_writes_it_and_a_second_time_there_is_nothing_to_do(here, run):
    assert run("init", "--yes")[0] == 0
    before = {path: (here / path).read_bytes() for path in FILES}
    code, out, err = run("init", "--yes")
    assert (code, err) == (0, "") and out.endswith("nothing is left to do\n")
    assert {path: (here / path).read_bytes() for path in FILES} == before
    assert denied(here) == list(DENIED)
    assert not list(here.rglob("*.tmp"))


OWN = """\
workflow: own
runs: {at: [own/*], marker: {file: s.json}}
phase: "'a'"
artifacts:
  verdict: {paths: [sign/off.json], kind: json, decided_by: person}
phases:
  a:
    rules:
      - {when: "answers.signed == 'drop'", stop: exited}
      - {when: "answers.signed == 'none'", ask: signed}
questions:
  signed: {ask: "Sign?", decides: [verdict], options: {drop: "drop it: nothing is signed"}}
"""


def test_files_that_hold_a_decision_are_fenced_those_of_own_workflows_too(here, run):
    assert DECIDED == ("accept/decision.json",)
    put(here / ".phasekeeper/workflows/own.yaml", OWN)
    (here / ".gemini").mkdir()
    run("init", "--yes")
    assert {"Edit(**/accept/decision.json)", "Write(**/sign/off.json)"} <= set(denied(here))
    rules = tomllib.loads((here / ".gemini/policies/phasekeeper.toml").read_text())["rule"]
    for path in ("/r/own/1/sign/off.json", "t/accept/decision.json"):
        assert re.search(rules[2]["argsPattern"], json.dumps({"file_path": path}, separators=(",", ":")))
    assert not re.search(rules[2]["argsPattern"], '{"file_path":"accept/decision.json.md"}')


def written_by_hand() -> Iterator[str]:
    """The files that workflows have assistants write, in one run of each place."""
    for workflow in SHIPPED:
        made = [a for a in workflow.artifacts.values() if not a.decided_by and a.listed is None]
        names = [path for artifact in made for path in artifact.paths]
        names += workflow.reports.files + ((workflow.state.file,) if workflow.state else ())
        names += ["01-task.md"] if workflow.plan else []
        for at in workflow.runs.at:
            yield from (f"{at}/{name}".replace("**", "a/b.py").replace("*", "x") for name in names)


def test_no_file_that_a_workflow_has_assistants_write_is_denied():
    files = list(written_by_hand())
    assert len(files) > 30 and ".phasekeeper/sessions/x/session.json" in files
    rules = [
        rule.split("(", 1)[1].removesuffix(")")
        for rule in (*DENIED, *CURSOR)
        if not rule.startswith(("Bash", "Shell"))
    ]
    patterns = [re.compile(rule["argsPattern"]) for rule in tomllib.loads(GEMINI)["rule"][1:]]
    for file in files:
        assert not [rule for rule in rules if fits(rule, file)]
        said = json.dumps({"file_path": f"/work/{file}"}, separators=(",", ":"))
        assert not any(pattern.search(said) for pattern in patterns)


def test_the_configuration_names_every_parameter_and_changes_none(here, run):
    run("init", "--yes")
    text = (here / FILES[0]).read_text()
    assert "#     fix_iterations: 3   # at least 1\n" in text
    assert '#     pause_on: "S0"   # one of S0, S1, S2\n' in text
    config = read_config(text)
    assert (dict(config.parameters), config.findings) == ({}, ())
    assert run("check")[0] == 0


def test_its_comments_are_a_configuration_once_they_are_none(here, run):
    run("init", "--yes")
    head, below = (here / FILES[0]).read_text().split("\nparameters:\n")
    assert head.startswith("# ")
    config = read_config("parameters:\n" + below.replace("#", " ", 1).replace("\n#", "\n "))
    assert config.findings == ()
    assert config.of("master-plan")["fix_iterations"] == 3
    assert config.of("phase-loop")["pause_on"] == "S0"


def test_git_merges_journals_by_union_and_ignores_claims_and_locks(here, run):
    (here / ".git").rmdir()
    subprocess.run([needs("git"), "init", "-q"], check=True)
    run("init", "--yes")

    def asked(*words: str) -> str:
        done = subprocess.run([needs("git"), *words], capture_output=True, text=True, check=False)
        return done.stdout

    for folder in ("", "a/b/"):
        journal = f"{folder}.phasekeeper/journal.jsonl"
        assert asked("check-attr", "merge", journal) == f"{journal}: merge: union\n"
        assert asked("check-ignore", journal) == ""
        for name in ("claims.jsonl", "lock", "lock.holder"):
            assert asked("check-ignore", f"{folder}.phasekeeper/{name}") != ""
    assert asked("check-ignore", f"a/.state.json.phasekeeper-{'0' * 8}-1-0.tmp") != ""


def test_lines_are_added_below_others_in_their_own_line_ends(here, run):
    (here / ".gitignore").write_bytes(b"\xef\xbb\xbf*.pyc\r\nbuild")
    (here / ".gitattributes").write_bytes(f"*.png binary\n{ATTRIBUTES[0]}\n".encode())
    _, out, _ = run("init", "--yes")
    lines = b"".join(line.encode() + b"\r\n" for line in IGNORED)
    assert (here / ".gitignore").read_bytes() == b"\xef\xbb\xbf*.pyc\r\nbuild\r\n" + lines
    assert ".gitignore (added to)" in out and ".gitattributes" not in out


def test_rules_that_are_missing_are_added_and_no_other_byte_changes(here, run):
    text = '\ufeff{\r\n\t"model": "x",  "permissions" : {\r\n\t\t"allow": ["Bash(ls)"],\r\n'
    text += f'\t\t"deny": ["Read(.env)",\r\n\t\t\t"{DENIED[0]}"]\r\n'
    text += '\t},\r\n\t"hooks": {"a":1.50}\r\n}\r\n'
    put(here / ".claude/settings.json", "")
    (here / ".claude/settings.json").write_bytes(text.encode())
    (here / ".claude/settings.json").chmod(0o600)
    run("init", "--yes")
    after = (here / ".claude/settings.json").read_bytes().decode()
    head, tail = text.split(f'"{DENIED[0]}"')
    assert after.startswith(head + f'"{DENIED[0]}"') and after.endswith(tail)
    assert denied(here) == ["Read(.env)", *DENIED]
    assert (here / ".claude/settings.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "\n", "{}", '{"permissions": {}}'])
def test_settings_without_rules_get_them(here, run, text):
    put(here / ".claude/settings.json", text)
    assert run("init", "--yes")[0] == 0
    assert denied(here) == list(DENIED)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"permissions": []}', '{"permissions": {"deny": "x"}}', "// note\n{}", "[" * 9000]
)
def test_settings_that_cannot_be_added_to_are_left_alone_and_told(here, run, text):
    put(here / ".claude/settings.json", text)
    code, _, err = run("init", "--yes")
    assert code == 1
    assert ".claude/settings.json is left alone: " in err and "Bash(phasekeeper answer:*)" in err
    assert (here / ".claude/settings.json").read_text() == text
    assert (here / ".gitignore").exists()
    code, _, err = run("init", "--yes")
    assert code == 1 and "left alone" in err


def test_settings_in_another_encoding_are_left_alone(here, run):
    put(here / ".claude/settings.json", "")
    (here / ".claude/settings.json").write_bytes(b'{"a": "\xff"}')
    assert run("init", "--yes")[0] == 1
    assert (here / ".claude/settings.json").read_bytes() == b'{"a": "\xff"}'


def test_a_configuration_that_is_there_is_not_touched(here, run):
    put(here / FILES[0], "projects: []\n")
    run("init", "--yes")
    assert (here / FILES[0]).read_text() == "projects: []\n"


def test_nothing_is_written_through_a_link(here, run, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "ignored"
    elsewhere.write_text("x\n")
    (here / ".gitignore").symlink_to(elsewhere)
    code, _, err = run("init", "--yes")
    assert code == 1 and "nothing is written through links" in err
    assert elsewhere.read_text() == "x\n"


def test_a_file_that_changed_after_it_was_shown_is_not_overwritten(here):
    put(here / ".gitignore", "new\n")
    with pytest.raises(StoreError, match="changed meanwhile"):
        write_planned(here, PlannedFile(".gitignore", b"old\n", b"old\nmore\n", ("more",)))
    assert (here / ".gitignore").read_text() == "new\n"


# ---- other assistants -------------------------------------------------------------------------


def test_assistants_whose_folder_is_there_are_fenced_too(here, run):
    for folder in (".codex", ".cursor", ".gemini"):
        (here / folder).mkdir()
    code, out, _ = run("init", "--yes")
    assert code == 0
    assert (here / ".codex/rules/phasekeeper.rules").read_text() == CODEX
    assert json.loads((here / ".cursor/cli.json").read_text()) == {"permissions": {"deny": list(CURSOR)}}
    assert (here / ".gemini/policies/phasekeeper.toml").read_text() == GEMINI
    assert ".codex/rules/phasekeeper.rules (new)" in out
    assert run("init", "--yes")[1].endswith("nothing is left to do\n")


def test_only_the_assistants_that_are_named_are_fenced(here, run):
    assert run("init", "--yes", "--for", "codex")[0] == 0
    assert (here / ".codex/rules/phasekeeper.rules").exists() and not (here / ".claude").exists()


def test_rules_that_somebody_changed_are_left_alone_and_told(here, run):
    put(here / ".gemini/policies/phasekeeper.toml", "# mine\n")
    code, _, err = run("init", "--yes")
    assert code == 1 and ".gemini/policies/phasekeeper.toml is left alone: it holds other rules" in err
    assert (here / ".gemini/policies/phasekeeper.toml").read_text() == "# mine\n"


def test_every_command_of_a_person_is_denied_to_every_assistant():
    said = {"claude": " ".join(DENIED), "codex": CODEX, "cursor": " ".join(CURSOR), "gemini": GEMINI}
    assert said.keys() == FENCES.keys()
    for rules in said.values():
        assert all(command in rules for command in DECISIONS)


def test_the_policies_of_gemini_are_toml_that_fits_what_must_be_denied():
    rules = tomllib.loads(GEMINI)["rule"]
    assert [rule["decision"] for rule in rules] == ["deny", "deny", "deny"]
    assert "python3 -m phasekeeper override" in rules[0]["commandPrefix"]
    pattern = re.compile(rules[1]["argsPattern"])
    for path in (".phasekeeper/config.yaml", "a/b/.phasekeeper/journal.jsonl", "/r/.phasekeeper/workflows/x"):
        assert pattern.search(json.dumps({"file_path": path}, separators=(",", ":")))
    assert not pattern.search('{"file_path":"docs/phasekeeper/x"}')


def test_the_sessions_beside_our_own_files_are_left_to_assistants():
    # A rule that names the folder itself would deny all below it.
    session = '{"file_path":"/r/.phasekeeper/sessions/p1/session.json"}'
    assert not re.search(tomllib.loads(GEMINI)["rule"][1]["argsPattern"], session)
    for rule in (*DENIED, *CURSOR):
        assert rule.startswith(("Bash", "Shell")) or not rule.endswith(
            (".phasekeeper/**)", ".phasekeeper/*)")
        )


# ---- on a terminal ----------------------------------------------------------------------------


@pytest.fixture
def answered(here) -> Iterator[object]:
    pty = pytest.importorskip("pty")
    main_end, terminal = pty.openpty()

    def called(words: str) -> int:
        os.write(main_end, words.encode())
        command = [sys.executable, "-m", "phasekeeper", "init"]
        done = subprocess.run(
            command, stdin=terminal, stdout=terminal, stderr=terminal, check=False, timeout=60
        )
        return done.returncode

    yield called
    os.close(terminal)
    os.close(main_end)


@pytest.mark.parametrize(("words", "code", "there"), [("y\n", 0, True), ("n\n", 1, False), ("\n", 1, False)])
def test_a_person_at_the_terminal_is_asked(here, answered, words, code, there):
    assert answered(words) == code
    assert (here / ".gitignore").exists() is there


def test_every_command_of_a_person_is_denied() -> None:
    personal = [each for each in catalog.COMMANDS if each.run.startswith("decide:")]
    assert (*(each.name for each in personal), "trust") == DECISIONS


# ---- guard --------------------------------------------------------------------------------------


@pytest.fixture
def agreed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A person at the terminal who confirms; what was shown, and the name that was to be typed."""
    shown: list[str] = []
    monkeypatch.setattr(init, "confirm", lambda lines, name: shown.extend((*lines, name)))
    return shown


def guarded(root: Path) -> Guard:
    return read_config((root / ".phasekeeper/config.yaml").read_text()).guard


def test_anybody_turns_a_guard_on_for_every_run_or_one(here, run, agreed):
    task(here, "T1")
    assert run("guard") == (0, "nothing is guarded here; `phasekeeper guard on` guards every run\n", "")
    assert run("guard", "on", "T1")[0] == 0
    assert guarded(here) == Guard((f"{TASKS}/T1",))
    assert run("guard", "on", "T1", "--fail", "closed")[0] == 0
    assert guarded(here) == Guard((f"{TASKS}/T1",), True)
    code, out, _ = run("guard", "on", "--json")
    assert (code, json.loads(out)["runs"], guarded(here).runs) == (0, [f"{TASKS}/T1"], (f"{TASKS}/T1", "**"))
    assert agreed == []


def test_only_a_person_has_less_guarded(here, run):
    task(here, "T1")
    run("guard", "on", "--fail", "closed")
    before = (here / ".phasekeeper/config.yaml").read_bytes()
    for words in (["off"], ["on", "--fail", "open"]):
        code, _, err = run("guard", *words)
        assert (code, "a decision is a person's" in err) == (1, True)
    assert (here / ".phasekeeper/config.yaml").read_bytes() == before


def test_a_person_sees_what_is_no_more_guarded(here, run, agreed):
    for name in ("T1", "T2"):
        task(here, name)
        run("guard", "on", name)
    assert run("guard", "off", "T1")[0] == 0
    held_back = f"Assistants in {here} are no more held back by the gates of"
    assert agreed == [held_back, f"  {TASKS}/T1", here.name]
    assert guarded(here) == Guard((f"{TASKS}/T2",))
    assert run("guard", "off")[0] == 0
    assert guarded(here) == Guard()


def test_a_run_that_is_guarded_with_others_is_narrowed_by_hand(here, run, agreed):
    task(here, "T1")
    run("guard", "on")
    code, _, err = run("guard", "off", "T1")
    assert (code, "is guarded by **, as others are; narrow it in .phasekeeper/config.yaml" in err) == (
        2,
        True,
    )
    assert "say on or off before" in run("guard", "--fail", "open")[2]
    put(here / ".phasekeeper/config.yaml", "guard: {runs: []}\n")
    assert "has errors" in run("guard", "off")[2]


def test_a_guard_that_the_commit_has_still_counts(here, run, agreed):
    git = (needs("git"), "-c", "user.name=A", "-c", "user.email=a@example.org")
    task(here, "T1")
    run("guard", "on")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "guarded"]):
        subprocess.run([*git, *words], cwd=here, check=True)
    run("guard", "off")
    assert "that counts once it is committed" in run("guard")[1]
