import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.server.disk import decision_keys
from phasekeeper.server.disk import git as git_runner
from phasekeeper.server.disk.decision_keys import DecisionKey, key_path, load_key
from phasekeeper.server.disk.git import actor
from phasekeeper.server.workspace import decision_proof as decide
from phasekeeper.server.workspace.decision_proof import head_lines, journal_place, prove_lines, sign

KEY = bytes(range(32))
JOURNAL = "tasks/T1/.phasekeeper/journal.jsonl"
ANSWER = {"seq": 2, "kind": "answer", "prev": "0f0f", "question": "go", "option": "yes", "why": "grün"}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


def verified_lines(*given: Any) -> frozenset[int]:
    return prove_lines(*given).proven


def line(record: Mapping[str, object]) -> str:
    return json.dumps(record, ensure_ascii=False)


def signed(record: Mapping[str, object], where: str = JOURNAL, key: bytes = KEY) -> str:
    return line({**record, "mac": sign(record, key, where)})


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def write(root: Path, *lines: str, journal: str = JOURNAL) -> None:
    (root / journal).parent.mkdir(parents=True, exist_ok=True)
    (root / journal).write_text("".join(each + "\n" for each in lines), encoding="utf-8", newline="\n")


def commit(root: Path, *lines: str, journal: str = JOURNAL) -> None:
    if not (root / ".git").exists():
        git(root, "init", "-q")
    write(root, *lines, journal=journal)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "x")


@pytest.fixture
def root(tmp_path):
    return tmp_path.resolve()


@pytest.fixture
def key_file(tmp_path, monkeypatch):
    path = tmp_path / "state" / "decision.key"
    path.parent.mkdir(mode=0o700)
    path.touch(mode=0o600)
    path.write_bytes(KEY)
    monkeypatch.setattr(decision_keys, "key_path", lambda: path)
    return path


@pytest.fixture
def no_git(monkeypatch):
    """Any call of git fails the test."""

    def called(*_arguments):
        raise AssertionError("git was asked")

    monkeypatch.setattr(git_runner, "answer", called)


def test_the_key_lies_in_the_users_state_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = key_path()
    assert path.parts[-2:] == ("phasekeeper", "decision.key")
    if sys.platform == "linux":
        assert path == tmp_path / "phasekeeper" / "decision.key"


def test_a_private_key_is_loaded(key_file):
    assert load_key() == DecisionKey(KEY)


def test_a_missing_key_is_told(key_file):
    key_file.unlink()
    assert load_key() == DecisionKey(None, f"there is no key at {key_file}")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601])
def test_a_key_open_to_others_is_refused(key_file, mode):
    key_file.chmod(mode)
    assert load_key().secret is None
    assert "chmod 600" in str(load_key().reason)


@pytest.mark.parametrize("content", [b"", b"x" * 31, b"x" * 2000])
def test_a_key_of_the_wrong_size_is_refused(key_file, content):
    key_file.write_bytes(content)
    assert load_key() == DecisionKey(None, f"the key at {key_file} has the wrong size")


def test_a_key_of_another_user_is_refused(key_file, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: key_file.stat().st_uid + 1)
    assert "another user" in str(load_key().reason)


def test_a_key_that_is_a_link_a_folder_or_a_pipe_is_refused(key_file):
    key_file.rename(key_file.with_name("real"))
    key_file.symlink_to("real")
    assert load_key().secret is None
    key_file.unlink()
    key_file.mkdir(mode=0o700)
    assert load_key().secret is None
    key_file.rmdir()
    os.mkfifo(key_file, 0o600)
    assert load_key() == DecisionKey(None, f"the key at {key_file} is not a regular file")


def test_where_there_are_no_modes_only_the_kind_of_file_is_checked(key_file, monkeypatch):
    status = key_file.stat()
    monkeypatch.setattr(decision_keys.os, "name", "nt")
    assert decision_keys._distrust_reason(status) is None


def test_a_signed_decision_counts_without_git(root, no_git):
    lines = [line({"kind": "start"}), signed(ANSWER), signed(ANSWER | {"kind": "override", "seq": 3})]
    assert verified_lines(root, JOURNAL, lines, KEY) == {1, 2}


def test_the_order_of_keys_and_the_line_end_do_not_matter(root, no_git):
    record = ANSWER | {"mac": sign(ANSWER, KEY, JOURNAL)}
    text = json.dumps(dict(reversed(record.items())), indent=None) + "\r\n"
    assert verified_lines(root, JOURNAL, [text], KEY) == {0}


@pytest.mark.parametrize(
    "change",
    [{"option": "no"}, {"prev": "1e1e"}, {"seq": 3}, {"why": ""}, {"more": 1}, {"mac": ""}, {"mac": 5}],
)
def test_a_changed_decision_does_not_count(root, change):
    record = ANSWER | {"mac": sign(ANSWER, KEY, JOURNAL)} | change
    assert verified_lines(root, JOURNAL, [line(record)], KEY) == frozenset()


@pytest.mark.parametrize("mac", ["\ud800", "ü" * 64, "0" * 64, None, ["x"]])
def test_a_false_signature_of_any_kind_does_not_count(root, mac):
    assert verified_lines(root, JOURNAL, [json.dumps(ANSWER | {"mac": mac})], KEY) == frozenset()


def test_a_decision_copied_to_another_run_does_not_count(root):
    other = "tasks/T2/.phasekeeper/journal.jsonl"
    assert verified_lines(root, other, [signed(ANSWER)], KEY) == frozenset()


def test_another_key_does_not_count(root):
    assert verified_lines(root, JOURNAL, [signed(ANSWER, key=b"y" * 32)], KEY) == frozenset()


def test_a_second_copy_of_a_decision_does_not_count(root, no_git):
    assert verified_lines(root, JOURNAL, [signed(ANSWER), signed(ANSWER) + "\n"], KEY) == {0}


def test_only_decisions_are_looked_at(root, no_git):
    lines = [signed({"kind": "report"}), "", "no json", "[]", "5", '{"kind": ["answer"]}', "[" * 200_000]
    assert verified_lines(root, JOURNAL, lines, KEY) == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "report", "kind": "answer", "mac": "x"}',
        '{"kind": "answer", "mac": "x", "n": NaN}',
        '{"kind": "answer", "mac": "x", "n": 1e999}',
        '{"kind": "answer", "mac": "x", "n": ' + "9" * 5000 + "}",
        '{"kind": "answer", "mac": "x", "n": ' + "[" * 500 + "]" * 500 + "}",
    ],
)
def test_a_line_that_readers_could_take_differently_does_not_count(root, text):
    assert verified_lines(root, JOURNAL, [text], KEY) == frozenset()


def test_a_record_nested_too_deeply_to_sign_does_not_count(root, monkeypatch):
    def too_deep(*_arguments):
        raise RecursionError

    monkeypatch.setattr(decide, "sign", too_deep)
    assert verified_lines(root, JOURNAL, [line(ANSWER | {"mac": "x"})], KEY) == frozenset()


def test_a_value_that_is_no_json_cannot_be_signed():
    with pytest.raises(ValueError, match="JSON"):
        sign({"n": float("nan")}, KEY, JOURNAL)


@given(record=st.dictionaries(st.text(), VALUES, max_size=4))
def test_a_signature_survives_being_written_and_read(record):
    mac = sign(record, KEY, JOURNAL)
    assert sign(json.loads(json.dumps(record | {"mac": mac})), KEY, JOURNAL) == mac


def test_a_decision_stays_valid_whichever_folder_of_a_repository_is_watched(root, no_git):
    (root / ".git").mkdir()
    (root / "packages" / "a").mkdir(parents=True)
    where = journal_place(root, "packages/a/" + JOURNAL)
    assert where == journal_place(root / "packages" / "a", JOURNAL) == "packages/a/" + JOURNAL
    assert verified_lines(root / "packages" / "a", JOURNAL, [signed(ANSWER, where)], KEY) == {0}


def test_without_a_repository_the_place_is_counted_from_the_root(root):
    assert journal_place(root, JOURNAL) == JOURNAL


def test_a_line_in_the_commit_head_counts_without_a_key(root):
    commit(root, line({"kind": "start"}), line(ANSWER))
    lines = [line({"kind": "start"}), line(ANSWER), line(ANSWER | {"seq": 3})]
    write(root, *lines)
    assert verified_lines(root, JOURNAL, lines, None) == {1}


def test_signed_and_committed_decisions_count_together(root):
    commit(root, line(ANSWER))
    assert verified_lines(root, JOURNAL, [line(ANSWER), signed(ANSWER | {"seq": 3})], KEY) == {0, 1}


def test_what_is_staged_but_not_committed_does_not_count(root):
    commit(root, line({"kind": "start"}))
    write(root, line(ANSWER))
    git(root, "add", "-A")
    assert verified_lines(root, JOURNAL, [line(ANSWER)], None) == frozenset()


def test_a_root_below_the_toplevel_finds_its_committed_lines(root):
    commit(root, line(ANSWER), journal="packages/a/" + JOURNAL)
    assert verified_lines(root / "packages" / "a", JOURNAL, [line(ANSWER)], None) == {0}


def test_line_ends_changed_by_a_checkout_do_not_matter(root):
    commit(root, line(ANSWER))
    assert verified_lines(root, JOURNAL, [line(ANSWER) + "\r"], None) == {0}


@pytest.mark.parametrize("name", ["a b", "ü", "*", ":(top)x", "-x", "'\"", "a\nb", "[1]", "HEAD:x"])
def test_a_path_with_odd_characters_is_found_in_head(root, name):
    journal = f"{name}/journal.jsonl"
    commit(root, line(ANSWER), journal=journal)
    assert verified_lines(root, journal, [line(ANSWER)], None) == {0}


@pytest.mark.parametrize("path", ["../journal.jsonl", "/etc/passwd", "a\0b", "", "none.jsonl"])
def test_a_path_that_is_not_in_the_repository_has_no_committed_lines(root, path):
    commit(root, line(ANSWER))
    assert head_lines(root, path) == frozenset()


def test_no_repository_no_commit_and_no_folder_verify_nothing(root):
    write(root, line(ANSWER))
    assert verified_lines(root, JOURNAL, [line(ANSWER)], None) == frozenset()
    git(root, "init", "-q")
    assert verified_lines(root, JOURNAL, [line(ANSWER)], None) == frozenset()
    assert head_lines(root / "gone", JOURNAL) == frozenset()


def test_without_git_nothing_is_verified(root, monkeypatch):
    commit(root, line(ANSWER))
    monkeypatch.setattr(git_runner, "program", lambda root: None)
    assert head_lines(root, JOURNAL) == frozenset()


def test_git_that_does_not_answer_in_time_verifies_nothing(root, monkeypatch):
    commit(root, line(ANSWER))

    def late(*_arguments, timeout, **_named):
        raise subprocess.TimeoutExpired("git", timeout)

    monkeypatch.setattr(subprocess, "run", late)
    assert head_lines(root, JOURNAL) == frozenset()


def test_a_committed_journal_past_the_size_limit_verifies_nothing(root, monkeypatch):
    commit(root, line(ANSWER))
    monkeypatch.setattr(decide, "MAX_BYTES", 10)
    assert head_lines(root, JOURNAL) == frozenset()


def test_variables_of_git_do_not_lead_to_another_repository(root, monkeypatch):
    commit(root, line({"kind": "start"}))
    (root / "forged").mkdir()
    commit(root / "forged", line(ANSWER))
    monkeypatch.setenv("GIT_DIR", str(root / "forged" / ".git"))
    assert verified_lines(root, JOURNAL, [line(ANSWER)], None) == frozenset()


def test_a_replacement_object_does_not_stand_in_for_what_was_committed(root):
    commit(root, line({"kind": "start"}))
    write(root, line(ANSWER))
    forged = subprocess.run(
        ["git", "hash-object", "-w", JOURNAL], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()
    git(root, "replace", f"HEAD:{JOURNAL}", forged)
    assert verified_lines(root, JOURNAL, [line(ANSWER)], None) == frozenset()


def test_a_folder_that_only_looks_like_a_bare_repository_is_not_asked(root):
    commit(root, line(ANSWER), journal="journal.jsonl")
    bare = root / "bare"
    git(root, "clone", "-q", "--bare", ".", "bare")
    assert head_lines(bare, "journal.jsonl") == frozenset()


def test_the_repositorys_configuration_starts_no_program(root):
    commit(root, line(ANSWER))
    trap = root / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {root}/sprung\n")
    trap.chmod(0o755)
    (root / ".gitattributes").write_text("*.jsonl diff=trap filter=trap\n")
    for setting in (
        "core.fsmonitor",
        "core.pager",
        "pager.cat-file",
        "core.sshCommand",
        "diff.trap.textconv",
        "filter.trap.smudge",
        "filter.trap.clean",
        "alias.cat-file",
        "core.editor",
    ):
        git(root, "config", setting, f"!{trap}" if setting.startswith("alias") else str(trap))
    assert verified_lines(root, JOURNAL, [line(ANSWER)], None) == {0}
    assert not (root / "sprung").exists()


def test_git_is_asked_with_no_prompt_no_network_and_no_locks(monkeypatch):
    monkeypatch.setenv("GIT_ASKPASS", "/bin/trap")
    environment = git_runner.environment()
    assert "GIT_ASKPASS" not in environment
    assert environment["GIT_OPTIONAL_LOCKS"] == "0"
    assert environment["GIT_ALLOW_PROTOCOL"] == "none"
    assert environment["PATH"] == os.environ["PATH"]


@pytest.mark.parametrize("asked", [lambda root: git_runner.answer(root, "--version"), actor])
def test_a_git_that_the_workspace_could_have_brought_is_never_run(root, tmp_path, monkeypatch, asked):
    git(root, "init", "-q")
    trap = f"#!/bin/sh\ntouch {tmp_path}/sprung\n"
    (root / "bin").mkdir()
    (tmp_path / "links").mkdir()
    for folder in (root, root / "bin"):
        (folder / "git").write_text(trap)
        (folder / "git").chmod(0o755)
    (tmp_path / "links/git").symlink_to(root / "bin/git")
    (tmp_path / "linked").symlink_to(root / "bin")
    (root / "tasks").mkdir()
    monkeypatch.chdir(root)
    own = [".", "", "bin", str(root), str(root / "bin"), str(tmp_path / "links"), str(tmp_path / "linked")]
    with_git = os.environ["PATH"]
    monkeypatch.setenv("PATH", os.pathsep.join(own))
    asked(root / "tasks")
    assert git_runner.program(root / "tasks") is None
    monkeypatch.setenv("PATH", os.pathsep.join([*own, with_git]))
    assert asked(root / "tasks")
    assert git_runner.program(root / "tasks")
    assert not (tmp_path / "sprung").exists()
