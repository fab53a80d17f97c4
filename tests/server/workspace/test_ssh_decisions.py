"""Decisions that people sign with their SSH keys: whoever has the commit verifies them, by HEAD alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from phasekeeper.orchestration.journal.signatures import read_signature, strip_armor
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.orchestration.updates.commands import Command
from phasekeeper.orchestration.vfs.files import digest_of
from phasekeeper.server.disk import git as git_runner
from phasekeeper.server.disk import ssh_keygen, ssh_signers
from phasekeeper.server.live.live_root import LiveRoot
from phasekeeper.server.lru_cache import LruCache
from phasekeeper.server.workspace.apply import prepare_decision, record_decision
from phasekeeper.server.workspace.decision_proof import terminal_signer
from phasekeeper.server.workspace.head_files import HeadFiles
from phasekeeper.server.workspace.roots import UsageError
from phasekeeper.server.workspace.workspace import Workspace

from tests.roots import loop, needs, put, run_to_end, ssh_keys

LOOP = ".claude/state"
JOURNAL = f"{LOOP}/.phasekeeper/journal.jsonl"
CONFIG, SIGNERS = ".phasekeeper/config.yaml", ".phasekeeper/allowed_signers"
QUESTION = "severe:1:WQ-1"
ANN = "Ann <ann@example.org>"
ON = "decide: {ssh: true}\n"


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run([needs("git"), *who, *words], cwd=folder, check=True, capture_output=True)


def commit(root: Path) -> None:
    git(root, "add", "-A", "--", ".", f":(exclude){JOURNAL}")
    git(root, "commit", "-q", "--allow-empty", "-m", "x")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ssh_keys(tmp_path_factory.mktemp("keys"), "ann", "bob")


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Has this process be on a machine of its own: another state folder, another memory."""

    def be(name: str) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state" / name))
        monkeypatch.setattr(ssh_signers, "_refusals", ssh_signers.LruCache(100))

    be("first")
    return be


def public(keys: Path, name: str) -> str:
    return (keys / f"{name}.pub").read_text("ascii").strip()


def repository(path: Path, keys: Path, config: str = ON, top: Path | None = None) -> Path:
    """A repository with a loop that awaits a person, in whose HEAD ann is a signer; `top` is its toplevel."""
    loop(path, workQueue=[{"id": "WQ-1", "priority": "S0", "title": "broken", "status": "pending"}])
    put(path / CONFIG, config)
    put(path / SIGNERS, f"# who decides\nann@example.org {public(keys, 'ann')}\n")
    git(top or path, "init", "-q")
    commit(path)
    return path


@pytest.fixture
def root(tmp_path: Path, keys: Path) -> Path:
    return repository(tmp_path / "a", keys)


def look(root: Path) -> Evaluation:
    workspace = Workspace(root)
    match = workspace.match(LOOP)
    assert match
    return workspace.evaluate(match)


def is_open(root: Path) -> bool:
    return [question.id for question in look(root).questions] == [QUESTION]


def reasons(root: Path) -> list[str]:
    return [found.message for found in look(root).findings if found.code == "decision-unverified"]


def decide(root: Path, keys: Path, name: str = "ann", actor: str = ANN) -> None:
    command = Command(kind="answer", question=QUESTION, option="resolve", why="looked at it")
    sign_with = terminal_signer(root, actor, str(keys / name))
    decision = prepare_decision(Workspace(root), LOOP, command, sign_with=sign_with)
    record_decision(Workspace(root), decision, actor, "terminal")


def record(root: Path) -> dict[str, Any]:
    return json.loads((root / JOURNAL).read_text().splitlines()[-1])


def rewrite(root: Path, **changes: Any) -> None:
    """Change the last record of the journal."""
    *before, _ = (root / JOURNAL).read_text().splitlines()
    put(root / JOURNAL, "".join(f"{line}\n" for line in (*before, json.dumps(record(root) | changes))))


def test_a_clone_on_another_machine_verifies_a_decision_that_nobody_committed(
    root: Path, keys: Path, tmp_path: Path, machine: Callable[[str], None]
) -> None:
    decide(root, keys)
    assert not is_open(root) and not reasons(root)
    made = record(root)
    assert "mac" not in made and read_signature(made["signature"]) and made["actor"] == ANN
    git(tmp_path, "clone", "-q", str(root), "b")
    machine("second")
    assert is_open(tmp_path / "b")
    put(tmp_path / "b" / JOURNAL, (root / JOURNAL).read_text())
    assert not is_open(tmp_path / "b") and not reasons(tmp_path / "b")
    assert not (tmp_path / "state" / "second").exists()


def test_a_decision_needs_no_key_of_the_state_folder(root: Path, keys: Path, tmp_path: Path) -> None:
    put(tmp_path / "state", "in the way")
    decide(root, keys)
    assert not is_open(root)


def test_only_what_head_says_switches_it_on_and_names_signers(root: Path, keys: Path) -> None:
    decide(root, keys)
    put(root / SIGNERS, f"ann@example.org {public(keys, 'bob')}\n")
    put(root / CONFIG, "decide: {ssh: false}\n")
    assert not is_open(root)
    commit(root)
    assert is_open(root) and "has no `decide: {ssh: true}`" in reasons(root)[0]
    put(root / CONFIG, ON)
    git(root, "checkout", "-q", "HEAD~1", "--", SIGNERS)
    assert is_open(root)
    with pytest.raises(UsageError, match="--key is for repositories whose commit HEAD"):
        decide(root, keys)
    commit(root)
    assert not is_open(root)


def test_a_signer_of_the_working_copy_signs_nothing(root: Path, keys: Path) -> None:
    put(root / SIGNERS, f"ann@example.org {public(keys, 'bob')}\n")
    before = (root / JOURNAL).exists()
    with pytest.raises(UsageError, match="the key is not among those of its signer"):
        decide(root, keys, "bob")
    assert (root / JOURNAL).exists() == before and is_open(root)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"option": "defer"}, "the record is not what was signed"),
        ({"why": "no"}, "the record is not what was signed"),
        ({"actor": "Bob <bob@example.org>"}, "the record is not what was signed"),
        ({"actor": "-fconfig"}, "the record is not what was signed"),
        ({"actor": "a\x00b"}, "it names nobody who could have signed"),
        ({"at": "2026-01-01T00:00:00.000+00:00"}, "the record is not what was signed"),
        ({"at": "yesterday"}, "it cannot be read"),
        ({"signature": "AAAA"}, "it cannot be read"),
        ({"signature": "U1NIU0lH" + "A" * 20_000}, "it cannot be read"),
    ],
)
def test_a_changed_record_does_not_count(root: Path, keys: Path, changes: dict[str, str], why: str) -> None:
    decide(root, keys)
    rewrite(root, **changes)
    assert is_open(root)
    (said,) = reasons(root)
    assert why in said and "`phasekeeper questions`" in said


def test_a_signature_for_another_purpose_does_not_count(root: Path, keys: Path) -> None:
    decide(root, keys)
    words = [needs("ssh-keygen"), "-Y", "sign", "-n", "git", "-f", str(keys / "ann")]
    signed = subprocess.run(words, input=b"x", check=True, capture_output=True).stdout.decode()
    rewrite(root, signature=strip_armor(signed))
    assert is_open(root) and "made for another purpose" in reasons(root)[0]


@pytest.mark.parametrize(
    ("signers", "why"),
    [
        ('ann@example.org valid-before="20200101" {ann}', "not valid at the time of the record"),
        ('ann@example.org valid-after="20900101" {ann}', "not valid at the time of the record"),
        ('ann@example.org namespaces="git" {ann}', "not allowed to sign for phasekeeper"),
        ("ann@example.org {bob}", "the key is not among those of its signer"),
        ("bob@example.org {ann}", "the key is not among those of its signer"),
        ("ann@example.org ssh-ed25519 AAAA", "the key is not among those of its signer"),
        ("", "has no .phasekeeper/allowed_signers"),
        ("#" * (1 << 18), "has more than 262144 bytes"),
    ],
)
def test_a_signer_who_is_gone_or_may_not_does_not_count(
    root: Path, keys: Path, signers: str, why: str
) -> None:
    decide(root, keys)
    put(root / SIGNERS, signers.format(ann=public(keys, "ann"), bob=public(keys, "bob")) + "\n")
    commit(root)
    assert is_open(root) and why in reasons(root)[0] and "commit" in reasons(root)[0]


def test_a_key_that_expired_later_goes_on_proving_what_it_signed(root: Path, keys: Path) -> None:
    decide(root, keys)
    put(root / SIGNERS, f'ann@example.org valid-before="20900101" {public(keys, "ann")}\n')
    commit(root)
    assert not is_open(root)


def test_the_signature_of_another_repository_does_not_count(root: Path, keys: Path, tmp_path: Path) -> None:
    decide(root, keys)
    # Two that begin with equal commits, of one second, would be one.
    other = repository(tmp_path / "b", keys, config=f"# another\n{ON}")
    put(other / JOURNAL, (root / JOURNAL).read_text())
    assert is_open(other) and "the record is not what was signed" in reasons(other)[0]
    project = f"{ON}fleet: {{project: library}}\n"
    named = repository(tmp_path / "c", keys, config=project)
    put(named / JOURNAL, (root / JOURNAL).read_text())
    assert is_open(named)
    (named / JOURNAL).unlink()
    decide(named, keys)
    same = repository(tmp_path / "d", keys, config=f"# a copy\n{project}")
    put(same / JOURNAL, (named / JOURNAL).read_text())
    assert not is_open(same)


def test_a_signature_holds_for_the_journal_in_its_place(root: Path, keys: Path, tmp_path: Path) -> None:
    project = f"{ON}fleet: {{project: library}}\n"
    named = repository(tmp_path / "b", keys, config=project)
    decide(named, keys)
    nested = repository(tmp_path / "c" / "packages" / "x", keys, config=project, top=tmp_path / "c")
    put(nested / JOURNAL, (named / JOURNAL).read_text())
    assert is_open(nested) and "the record is not what was signed" in reasons(nested)[0]
    (nested / JOURNAL).unlink()
    decide(nested, keys)
    assert not is_open(nested)


def test_a_shallow_clone_verifies_by_the_projects_name_alone(root: Path, keys: Path, tmp_path: Path) -> None:
    put(root / CONFIG, f"{ON}# more\n")
    commit(root)
    decide(root, keys)
    git(tmp_path, "clone", "-q", "--depth", "1", root.as_uri(), "b")
    put(tmp_path / "b" / JOURNAL, (root / JOURNAL).read_text())
    assert is_open(tmp_path / "b") and "`git fetch --unshallow`" in reasons(tmp_path / "b")[0]
    (root / JOURNAL).unlink()
    put(root / CONFIG, f"{ON}fleet: {{project: library}}\n")
    commit(root)
    decide(root, keys)
    git(tmp_path, "clone", "-q", "--depth", "1", root.as_uri(), "c")
    put(tmp_path / "c" / JOURNAL, (root / JOURNAL).read_text())
    assert not is_open(tmp_path / "c")


def test_without_ssh_keygen_nothing_is_verified_and_it_is_said(
    root: Path, keys: Path, machine: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    decide(root, keys)
    machine("second")
    found = git_runner.program
    monkeypatch.setattr(ssh_keygen, "program", lambda *given, name="": found(*given, name="no-such-program"))
    assert is_open(root) and "install OpenSSH" in reasons(root)[0]
    (root / JOURNAL).unlink()
    with pytest.raises(UsageError, match="install OpenSSH"):
        decide(root, keys)
    monkeypatch.undo()


def test_an_ssh_keygen_that_does_not_answer_proves_nothing(
    root: Path, keys: Path, machine: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    decide(root, keys)
    machine("second")
    monkeypatch.setattr(ssh_keygen, "VERIFY_TIMEOUT_S", 0.0)
    assert is_open(root) and "ssh-keygen cannot be asked" in reasons(root)[0]
    monkeypatch.setattr(ssh_keygen, "VERIFY_TIMEOUT_S", 30.0)
    assert not is_open(root)


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The signatures for which a process was started."""
    asked: list[object] = []
    refusal = ssh_keygen.refusal

    def counted(keygen: str, wanted: ssh_keygen.SignatureCheck) -> str:
        asked.append(wanted)
        return refusal(keygen, wanted)

    monkeypatch.setattr(ssh_keygen, "refusal", counted)
    return asked


def test_a_signature_is_verified_once(root: Path, keys: Path, verified: list[object]) -> None:
    decide(root, keys)
    del verified[:]
    put(root / LOOP / "notes.md", "more")
    assert not is_open(root) and not is_open(root) and not verified
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "x")
    ssh_signers._refusals.drop(next(iter(ssh_signers._refusals)))
    # Nor is it where its line is committed.
    assert not is_open(root) and not verified


def test_a_thousand_forged_lines_start_few_processes(root: Path, keys: Path, verified: list[object]) -> None:
    decide(root, keys)
    first, lines = record(root), (root / JOURNAL).read_text().splitlines()
    for n in range(1000):
        changes = {"seq": first["seq"] + n + 1, "question": f"q{n}", "prev": digest_of(lines[-1])}
        lines.append(json.dumps(first | changes))
    put(root / JOURNAL, "".join(f"{line}\n" for line in lines))
    del verified[:]
    evaluation = look(root)
    assert not evaluation.questions and len(verified) == ssh_signers.MAX_REFUSED
    assert any("one of too many that are not committed" in found.message for found in evaluation.findings)


def test_thousands_of_journals_start_no_more_processes_than_their_signers_allow(
    root: Path, keys: Path, verified: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    decide(root, keys)
    first = record(root)
    signers = ssh_signers.ssh_signers(root, HeadFiles(root).read)
    monkeypatch.setattr(ssh_signers, "_refused", LruCache(8))
    monkeypatch.setattr(ssh_signers, "MAX_REFUSED_OF_SIGNERS", 5)
    genuine = ssh_signers.signature_refusals(root, JOURNAL, {"first": first}, signers)
    del verified[:]
    for run in range(4):
        forged: dict[str, Any] = {str(n): first | {"seq": n} for n in range(2, 5)}
        refusals = ssh_signers.signature_refusals(root, f"runs/{run}", forged, signers)
        assert refusals.keys() == forged.keys()
    assert len(verified) == 5
    # What was verified before stays proven.
    assert genuine == ssh_signers.signature_refusals(root, JOURNAL, {"first": first}, signers) == {}


def test_the_key_is_the_one_git_signs_with(root: Path, keys: Path) -> None:
    with pytest.raises(UsageError, match="git config --global"):
        terminal_signer(root, ANN)
    git(root, "config", "gpg.format", "ssh")
    git(root, "config", "user.signingkey", str(keys / "ann.pub"))
    assert ssh_keygen.signing_key(root) == str(keys / "ann.pub")
    git(root, "config", "user.signingkey", f"key::{public(keys, 'ann')} ann's")
    assert ssh_keygen.signing_key(root) == public(keys, "ann")
    with pytest.raises(UsageError, match="is no file"):
        terminal_signer(root, ANN, "-x")


def test_an_agent_signs_where_only_the_public_key_is_known(
    root: Path, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = public(keys, "ann")
    with pytest.raises(ssh_keygen.SigningError, match="did not sign"):
        ssh_keygen.sign(root, key, b"x")
    socket = tmp_path / "agent"
    agent = subprocess.Popen([needs("ssh-agent"), "-D", "-a", str(socket)], stdout=subprocess.PIPE)
    try:
        assert agent.stdout and agent.stdout.readline()
        monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
        subprocess.run([needs("ssh-add"), "-q", str(keys / "ann")], check=True, capture_output=True)
        assert read_signature(ssh_keygen.sign(root, key, b"x"))
    finally:
        agent.kill()
        agent.communicate()


def test_the_program_is_never_taken_from_the_workspace(
    root: Path, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = put(root / "bin" / "ssh-keygen", "#!/bin/sh\nexit 0\n")
    planted.chmod(0o755)
    monkeypatch.setenv("PATH", f"{root / 'bin'}")
    with pytest.raises(ssh_keygen.KeygenUnusable):
        ssh_keygen.require_keygen(root)


def test_a_configuration_that_is_wrong_switches_nothing_on(root: Path) -> None:
    for text in ("decide: {ssh: 1}\n", "decide: yes\n", "decide: {ssh: [true]}\n", "decide: {shh: true}\n"):
        put(root / CONFIG, text)
        commit(root)
        assert not ssh_signers.has_ssh_decisions(HeadFiles(root).read), text
        assert [found.code for found in Workspace(root).config.findings] == ["parameter-invalid"], text


def test_doctor_says_what_keeps_signatures_from_counting(
    root: Path, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def troubles() -> list[str]:
        found = Workspace(root)
        wanted = found.config.has_ssh_decisions
        return [what for what, _ in ssh_signers.ssh_troubles(root, found.head_file, wanted)]

    assert troubles() == []
    put(root / SIGNERS, "")
    assert [said for said in troubles() if "another one than in HEAD" in said]
    commit(root)
    assert [said for said in troubles() if "no SSH signature counts" in said]
    put(root / CONFIG, "")
    commit(root)
    put(root / CONFIG, ON)
    assert [said for said in troubles() if "counts once it is committed" in said]


def test_a_server_hears_of_signers_and_a_save_starts_no_process(
    root: Path, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide(root, keys)
    put(root / CONFIG, f"{ON}# not committed\n")
    live = LiveRoot(root)
    run_to_end(live.scan_in_parts())

    def asked() -> list[str]:
        (evaluation,) = live.runs.values()
        return [question.id for question in evaluation.questions]

    assert asked() == []
    started: list[object] = []
    run = subprocess.run

    def counted(*words: Any, **more: Any) -> Any:
        started.append(words)
        return run(*words, **more)

    monkeypatch.setattr(subprocess, "run", counted)
    (state,) = (root / LOOP).glob("*.json")
    for _ in range(2):
        # git is asked once what HEAD has in the place of a file that differs from it.
        del started[:]
        put(state, f"{state.read_text()}\n")
        assert live.refresh_paths([state])
    assert not started and not asked()
    put(root / SIGNERS, f"ann@example.org {public(keys, 'bob')}\n")
    commit(root)
    assert live.refresh_paths([root / ".git/HEAD"]) and asked() == [QUESTION]
