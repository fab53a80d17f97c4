"""Checks run when they are trusted and needed; what came of them counts for the bytes they ran on."""

from __future__ import annotations

import base64
import json
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from phasekeeper.orchestration.evidence.attestation import PREDICATE, STATEMENT
from phasekeeper.orchestration.states import CheckResult
from phasekeeper.server.checks.evidence_store import attestation_path, log_path, manifest_path
from phasekeeper.server.checks.present import PresentChecks, is_running, running_path
from phasekeeper.server.checks.runner import HEAD_BYTES, TAIL_BYTES
from phasekeeper.server.checks.verification import Listener, is_in_head, overlap
from phasekeeper.server.store.folder import StoreError

from tests.roots import needs, put
from tests.server.checks.conftest import PLACES, CheckedRoot

JUNIT = '<testsuite><testcase classname="a" name="one"/>{}</testsuite>'
FAILURE = '<testcase classname="a" name="two"><failure message="no">src/app.py:1</failure></testcase>'
WRITE = "import pathlib; p = pathlib.Path('build/j.xml'); p.parent.mkdir(exist_ok=True)\np.write_text({!r})\n"
REPORT = ", reports: {junit: build/j.xml}"


# ---- trust --------------------------------------------------------------------------------------


def test_nothing_runs_that_no_person_allowed(checked: CheckedRoot) -> None:
    checked.declare("checks: {c: {run: [sh, -c, touch ran]}}\n")
    [outcome] = checked.verify()
    assert (outcome.state.result, outcome.ran) == (CheckResult.UNTRUSTED, False)
    assert not (checked.path / "ran").exists()
    assert not (checked.path / ".phasekeeper/evidence").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda root: root.declare("checks: {c: {run: [sh, do.sh, more]}}\n"),
        lambda root: root.declare("checks: {c: {run: [sh, do.sh], timeout_s: 5}}\n"),
        lambda root: put(root.path / "do.sh", "touch other\n"),
        lambda root: (root.path / "do.sh").unlink(),
    ],
)
def test_a_change_of_what_is_run_asks_again_and_coming_back_does_not(
    checked: CheckedRoot, change: Callable[[CheckedRoot], object]
) -> None:
    put(checked.path / "do.sh", "true\n")
    checked.declare("checks: {c: {run: [sh, do.sh]}}\n")
    checked.trust()
    [outcome] = checked.verify()
    assert outcome.state.result == CheckResult.PASSED
    change(checked)
    assert checked.state().result == CheckResult.UNTRUSTED
    put(checked.path / "do.sh", "true\n")
    checked.declare("checks: {c: {run: [sh, do.sh]}}\n")
    assert checked.state().result == CheckResult.PASSED


def test_trust_does_not_move_to_another_repository_and_is_not_taken_from_a_file_without_the_key(
    checked: CheckedRoot, tmp_path: Path
) -> None:
    checked.declare("checks: {c: {run: ['true']}}\n")
    checked.trust()
    (tmp_path / "other").mkdir()
    other = CheckedRoot(tmp_path / "other")
    other.declare("checks: {c: {run: ['true']}}\n")
    assert other.state().result == CheckResult.UNTRUSTED
    store = PresentChecks(checked.path).trust
    text = store.path.read_text()
    store.path.write_text(text.replace("Ada", "Eve"))
    assert checked.state().result == CheckResult.UNTRUSTED
    store.path.write_text(text)
    assert checked.state().result == CheckResult.MISSING


def test_a_person_is_shown_what_runs_and_later_only_what_changed(checked: CheckedRoot) -> None:
    put(checked.path / "do.sh", "one\ntwo\n")
    checked.declare("checks: {c: {run: [sh, do.sh]}}\n")
    first = [*PresentChecks(checked.path).trust.difference(checked.look().definition)]
    assert first[0] == 'runs: ["sh", "do.sh"]'
    assert first[-1].startswith("do.sh: 3 lines, sha256 ")
    checked.trust()
    put(checked.path / "do.sh", "one\nthree\n")
    then = [*PresentChecks(checked.path).trust.difference(checked.look().definition)]
    assert then[0].startswith("c changed since Ada allowed it at 2026-01-01")
    assert {"-two", "+three"} <= set(then)
    assert "-one" not in then


def test_what_the_commit_head_holds_may_stand_in_for_a_person(checked: CheckedRoot) -> None:
    put(checked.path / "do.sh", "true\n")
    checked.declare("checks: {c: {run: [sh, do.sh]}}\n")
    contents = {"do.sh": b"true\n"}
    definition = checked.look().definition
    assert is_in_head(definition, checked.checks, contents.get)
    assert not is_in_head(definition, {}, contents.get)
    assert not is_in_head(definition, checked.checks, {"do.sh": b"false\n"}.get)
    assert not is_in_head(definition, checked.checks, {}.get)
    verification = checked.verification()
    verification.is_committed = lambda each: is_in_head(each, checked.checks, contents.get)
    [outcome] = verification.verify(["c"])
    assert (outcome.state.result, checked.last().trust) == (CheckResult.PASSED, "head")
    put(checked.path / "do.sh", "true #\n")
    assert checked.state().result == CheckResult.UNTRUSTED


# ---- results ------------------------------------------------------------------------------------


def test_a_result_is_an_in_toto_statement_in_a_signed_envelope(checked: CheckedRoot) -> None:
    checked.script(WRITE.format(JUNIT.format(FAILURE)) + "raise SystemExit(1)", more=REPORT)
    [outcome] = checked.verify()
    assert (outcome.state.result, outcome.state.reason) == (CheckResult.FAILED, "1 of 2 tests failed: a.two")
    envelope = json.loads((checked.path / attestation_path("c")).read_text())
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    statement = json.loads(base64.b64decode(envelope["payload"]))
    assert (statement["_type"], statement["predicateType"]) == (STATEMENT, PREDICATE)
    predicate = statement["predicate"]
    assert (predicate["result"], predicate["failedTests"]) == ("FAILED", ["a.two"])
    assert predicate["passedTests"] == ["a.one"]
    assert predicate["configuration"][0]["uri"] == "build/j.xml"
    own = predicate["phasekeeper"]
    assert (own["exit_code"], own["totals"]["failed"], own["totals"]["total"]) == (1, 1, 2)
    assert own["findings"][0]["path"] == "src/app.py"
    assert statement["subject"][0]["digest"]["sha256"] == checked.look().state.subject


def test_the_manifest_beside_a_result_is_one_that_sha256sum_checks(checked: CheckedRoot) -> None:
    checked.script("")
    checked.verify()
    words = [needs("sha256sum"), "--check", "--strict", "--quiet", manifest_path("c")]
    subprocess.run(words, cwd=checked.path, check=True)
    assert b"src/app.py" in (checked.path / manifest_path("c")).read_bytes()


def test_a_fresh_result_is_not_made_again_until_it_is_asked_for(checked: CheckedRoot) -> None:
    put(checked.path / "build/count", "")
    checked.script("open('build/count', 'a').write('x')")
    ran = [checked.verify()[0].ran, checked.verify()[0].ran, checked.verify(again=True)[0].ran]
    assert (ran, (checked.path / "build/count").read_text()) == ([True, False, True], "xx")


def test_a_saved_input_makes_a_result_stale_and_undoing_it_makes_it_fresh(checked: CheckedRoot) -> None:
    checked.script("")
    checked.verify()
    put(checked.path / "src/app.py", "ONE = 2\n")
    put(checked.path / "src/new.py", "\n")
    state = checked.state()
    assert (state.result, state.reason) == (
        CheckResult.STALE,
        "src/app.py, src/new.py changed since it ran",
    )
    assert "failed" not in state.data()
    put(checked.path / "src/app.py", "ONE = 1\n")
    (checked.path / "src/new.py").unlink()
    assert checked.state().result == CheckResult.PASSED


def test_what_phasekeeper_and_runs_keep_and_what_git_ignores_is_no_input(checked: CheckedRoot) -> None:
    checked.script("", more=REPORT.replace("build/j.xml", "j.xml"))
    put(checked.path / "j.xml", "<testsuite/>")
    before = checked.look().paths
    for path in (
        ".phasekeeper/workflows/x.yaml",
        "pkg/.phasekeeper/config.yaml",
        ".orchestrator/tasks/shop/MASTER_PLAN.md",
        ".orchestrator/tasks/shop/reports/1.md",
        "tasks/shop/01-cart.md",
        ".claude/state/loop.state.json",
        "build/out.o",
    ):
        put(checked.path / path, "x")
    assert checked.look().paths == before == (".gitignore", "checks/c.py", "src/app.py")
    put(checked.path / "tasks/shop/worker.py", "x")
    assert "tasks/shop/worker.py" in checked.look().paths


def test_patterns_choose_among_what_git_knows_and_a_plain_path_names_any_file(checked: CheckedRoot) -> None:
    put(checked.path / "build/made.json", "1")
    checked.declare("checks: {c: {run: ['true'], inputs: [build/**, build/made.json, src/*.py]}}\n")
    assert checked.look().paths == ("build/made.json", "src/app.py")


def test_a_result_by_hand_or_of_another_check_does_not_count(checked: CheckedRoot) -> None:
    checked.script("")
    checked.verify()
    path = checked.path / attestation_path("c")
    good = path.read_text()
    envelope = json.loads(good)
    payload = base64.b64decode(envelope["payload"]).replace(b'"exit_code": 0', b'"exit_code": 1')
    envelope["payload"] = base64.b64encode(payload).decode()
    for text, why in (
        (json.dumps(envelope), "is not signed with the key of this repository"),
        ("{}", "is no signed envelope"),
        ("PASS", "is no signed envelope"),
        (json.dumps(json.loads(good) | {"payloadType": "text/plain"}), "holds no in-toto statement"),
    ):
        path.write_text(text)
        state = checked.state()
        assert (state.result, state.reason) == (CheckResult.MISSING, f"{attestation_path('c')} {why}")
    (checked.path / attestation_path("d")).write_text(good)
    checked.declare("checks: {d: {run: ['true']}}\n")
    checked.trust()
    assert checked.state("d").reason == f"{attestation_path('d')} is about another check, :c"


def test_a_root_without_git_needs_inputs_and_has_those_that_fit(checked: CheckedRoot, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    put(plain / "src/app.py", "x")
    put(plain / "src/__pycache__/app.pyc", "x")
    checked.path = plain
    checked.declare("checks: {c: {run: ['true']}, d: {run: ['true'], inputs: [src/**]}}\n")
    checked.trust()
    [c, d] = checked.verify()
    assert (c.state.result, d.state.result) == (CheckResult.STALE, CheckResult.PASSED)
    assert c.state.reason == "no git says which files there are; name its inputs"
    assert checked.look("d").paths == ("src/app.py",)


# ---- side by side -------------------------------------------------------------------------------


def test_checks_that_share_no_input_run_side_by_side_and_others_one_after_the_other(
    checked: CheckedRoot,
) -> None:
    put(checked.path / "docs/a.md", "x")
    # Each waits for the other: one after the other they would not end before their time limit.
    meet = "touch build/$0; while [ ! -e build/$1 ]; do sleep 0.01; done"
    checked.declare(
        "checks:\n"
        f"  one: {{run: [sh, -c, '{meet}', a, b], inputs: [src/**], timeout_s: 60}}\n"
        f"  two: {{run: [sh, -c, '{meet}', b, a], inputs: [docs/**], timeout_s: 60}}\n"
        "  all: {run: ['true']}\n"
    )
    (checked.path / "build").mkdir()
    checked.trust()
    one, two, whole = (checked.look(name) for name in ("one", "two", "all"))
    assert not overlap(one, two)
    assert overlap(one, whole)
    assert overlap(whole, two)
    assert [each.state.result for each in checked.verify()] == ["passed"] * 3


def test_while_a_check_runs_it_says_so_unless_its_last_result_is_fresh(checked: CheckedRoot) -> None:
    checked.script("")
    seen: list[str] = []
    verification = checked.verification()
    verification.listener = Listener(begins=lambda name: seen.append(checked.state(name).result.value))
    verification.verify(["c"])
    verification.verify(["c"], again=True)
    assert seen == ["running", "passed"]
    assert not is_running(checked.path, "c")
    put(checked.path / running_path("c"), "nonsense")
    assert not is_running(checked.path, "c")


# ---- what goes wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "more", "why"),
    [
        ("raise SystemExit(3)", "", "it ended with exit code 3"),
        ("", REPORT, "it wrote no junit report at build/j.xml"),
        (WRITE.format("no xml"), REPORT, "its junit report build/j.xml says nothing: not valid XML"),
        (
            WRITE.format(JUNIT.format(FAILURE)),
            REPORT,
            "1 of 2 tests failed, although it ended with exit code 0",
        ),
        (
            WRITE.format("<testsuite/>"),
            REPORT,
            "its junit report build/j.xml says nothing: the report names not",
        ),
        ("import os; os.kill(os.getpid(), 9)", "", "it was ended by signal 9"),
        ("import os; os.killpg(0, 9)", "", "it was ended by signal 9"),
        ("import os; os.kill(os.getppid(), 9)", "", "it was killed together with the process that ran it"),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
            ", timeout_s: 1",
            "it took longer than 1 s and was ended",
        ),
        ("import time; time.sleep(600)", ", timeout_s: 1", "it took longer than 1 s and was ended"),
        (
            "import os; os.mkdir('build/j.xml')",
            REPORT,
            "its junit report build/j.xml is not read: it is a folder, not a file",
        ),
        (
            "import shutil; shutil.rmtree('build')",
            REPORT,
            "it wrote no junit report at build/j.xml",
        ),
        (
            "import os; os.symlink('/etc/passwd', 'build/j.xml')",
            REPORT,
            "its junit report build/j.xml is not read: the link leads out of the root",
        ),
        (
            "import os; os.mkfifo('build/j.xml')",
            REPORT,
            "its junit report build/j.xml is not read: it is not a regular file",
        ),
        (
            "f = open('build/j.xml', 'wb'); f.truncate(200 << 20)",
            REPORT,
            "its junit report build/j.xml is not read: it is 200 MB, at most 32 MB are read",
        ),
        ("while True: pass", ", timeout_s: 1", "it took longer than 1 s and was ended"),
        (
            "import signal; signal.signal(15, signal.SIG_IGN)\nwhile True: pass",
            ", timeout_s: 1",
            "it took longer than 1 s and was ended",
        ),
    ],
)
def test_what_goes_wrong_is_a_failed_result_that_says_so(
    checked: CheckedRoot, code: str, more: str, why: str
) -> None:
    checked.script(code, more=more)
    [outcome] = checked.verify()
    assert outcome.ran
    assert outcome.state.result == CheckResult.FAILED
    assert outcome.state.reason.startswith(why)
    assert checked.state().reason == outcome.state.reason


def test_a_program_that_is_missing_is_a_failed_result(checked: CheckedRoot) -> None:
    checked.declare("checks: {c: {run: [no-such-program]}, d: {run: [./src/app.py]}}\n")
    checked.trust()
    [c, d] = checked.verify()
    assert (c.state.result, d.state.result) == (CheckResult.FAILED, CheckResult.FAILED)
    assert c.state.reason == "no-such-program cannot be started: no such file or directory"
    assert d.state.reason == "./src/app.py cannot be started: permission denied"


CHILDREN = """\
import subprocess, sys
code = "import os, time; {}; open('build/pids', 'a').write(f'{os.getpid()}\\\\n'); time.sleep(600)"
for each in ('pass', 'os.setsid()'):
    subprocess.Popen([sys.executable, '-c', code.replace('{}', each)])
while len(open('build/pids').read().split()) < 2: pass
"""


@pytest.mark.parametrize(
    ("end", "more", "why"),
    [
        ("", "", "running behind it, which was ended"),
        ("raise SystemExit(1)", "", "it ended with exit code 1 and left "),
        ("while True: pass", ", timeout_s: 2", "it took longer than 2 s and was ended"),
    ],
)
def test_no_child_of_a_check_is_left_running(
    checked: CheckedRoot, is_alive: Callable[[int], bool], end: str, more: str, why: str
) -> None:
    put(checked.path / "build/pids", "")
    checked.script(CHILDREN + end, more=more)
    [outcome] = checked.verify()
    assert outcome.state.result == CheckResult.FAILED
    assert why in outcome.state.reason
    pids = [int(line) for line in (checked.path / "build/pids").read_text().split()]
    assert len(pids) == 2
    assert [pid for pid in pids if is_alive(pid)] == []


def test_a_flood_of_output_is_kept_by_its_beginning_and_its_end(checked: CheckedRoot) -> None:
    checked.script("print('first'); print('x' * (64 << 20)); print('last')")
    [outcome] = checked.verify()
    assert outcome.state.result == CheckResult.PASSED
    log = (checked.path / log_path("c")).read_bytes()
    assert log.startswith(b"first\n")
    assert log.endswith(b"last\n")
    assert b"bytes of output are left out" in log
    assert len(log) < HEAD_BYTES + TAIL_BYTES + 100


def test_a_check_that_changes_its_own_inputs_is_kept_and_never_fresh(checked: CheckedRoot) -> None:
    checked.script("open('src/app.py', 'a').write('TWO = 2\\n'); open('made.txt', 'w').write('x')")
    [outcome] = checked.verify()
    assert checked.last().changed == ("made.txt", "src/app.py")
    assert checked.last().passed
    assert outcome.state.result == CheckResult.STALE
    assert outcome.state.reason == "made.txt, src/app.py changed while it ran"


def test_the_folders_of_reports_are_made_and_none_beyond_a_link(checked: CheckedRoot, tmp_path: Path) -> None:
    checked.script(
        f"open('build/deep/j.xml', 'w').write({JUNIT.format('')!r})",
        more=", reports: {junit: build/deep/j.xml}",
    )
    [outcome] = checked.verify()
    assert outcome.state.result == CheckResult.PASSED
    (tmp_path / "outside").mkdir()
    (checked.path / "out").symlink_to(tmp_path / "outside")
    checked.script("", more=", reports: {junit: out/made/j.xml}")
    [outcome] = checked.verify()
    assert outcome.state.result == CheckResult.FAILED
    assert not list((tmp_path / "outside").iterdir())


def test_a_check_that_takes_the_evidence_away_has_its_result_kept_or_refused(
    checked: CheckedRoot, tmp_path: Path
) -> None:
    checked.script("import shutil; shutil.rmtree('.phasekeeper/evidence')")
    [outcome] = checked.verify()
    assert outcome.state.result == CheckResult.PASSED
    (tmp_path / "outside").mkdir()
    away = "import os, shutil; shutil.rmtree('.phasekeeper/evidence')\n"
    checked.script(f"{away}os.symlink({str(tmp_path / 'outside')!r}, '.phasekeeper/evidence')")
    with pytest.raises(StoreError, match="nothing is written through links"):
        checked.verify()
    assert checked.state().result != CheckResult.PASSED
    assert not list((tmp_path / "outside").iterdir())


def test_a_report_that_this_run_did_not_write_is_not_its_own(checked: CheckedRoot) -> None:
    put(checked.path / "build/j.xml", JUNIT.format(""))
    checked.script("", more=REPORT)
    [outcome] = checked.verify()
    why = "its junit report build/j.xml is older than this run, which did not write it"
    assert (outcome.state.result, outcome.state.reason) == (CheckResult.FAILED, why)


def test_a_check_that_is_stopped_ends_with_all_that_it_runs(
    checked: CheckedRoot, is_alive: Callable[[int], bool]
) -> None:
    (checked.path / "build").mkdir()
    checked.script("import os\nprint(os.getpid(), flush=True)\nwhile True: pass")
    verification, pids = checked.verification(), list[int]()

    def stop(_: str, chunk: bytes) -> None:
        pids.append(int(chunk))
        verification.stop.set()

    verification.listener = Listener(prints=stop)
    [outcome] = verification.verify(["c"])
    assert outcome.state.reason == "it was ended before it was over"
    assert not is_alive(pids[0])


def test_a_supervisor_that_is_killed_leaves_nothing_running(
    checked: CheckedRoot, is_alive: Callable[[int], bool]
) -> None:
    checked.script(
        "import os, signal\nprint(os.getpid(), flush=True)\nos.kill(os.getppid(), 9)\nwhile True: pass"
    )
    pids: list[int] = []
    verification = checked.verification()
    verification.listener = Listener(prints=lambda _, chunk: pids.append(int(chunk)))
    [outcome] = verification.verify(["c"])
    assert outcome.state.reason == "it was killed together with the process that ran it"
    assert not is_alive(pids[0])


def test_two_commands_at_one_time_run_a_check_once(checked: CheckedRoot) -> None:
    (checked.path / "build").mkdir()
    checked.script("open('build/count', 'a').write('x')")
    barrier, outcomes = threading.Barrier(2), []

    def call() -> None:
        barrier.wait()
        outcomes.extend(checked.verify())

    threads = [threading.Thread(target=call) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(each.ran for each in outcomes) == [False, True]
    assert (checked.path / "build/count").read_text() == "x"


# ---- less than before ---------------------------------------------------------------------------


def _tests(count: int, skipped: int = 0) -> str:
    cases = [f'<testcase classname="a" name="t{n}"/>' for n in range(count)]
    cases += [f'<testcase classname="a" name="s{n}"><skipped/></testcase>' for n in range(skipped)]
    return WRITE.format(f"<testsuite>{''.join(cases)}</testsuite>")


def test_fewer_tests_and_more_skipped_ones_are_seen_until_a_person_accepts_them(checked: CheckedRoot) -> None:
    checked.script(_tests(5), more=REPORT)
    checked.verify()
    assert checked.state().shrinkage == ()
    checked.script(_tests(2, skipped=1), more=REPORT)
    for _ in range(2):
        # Running it again does not make what is left the measure.
        [outcome] = checked.verify(again=True)
        less = {each.code: (each.before, each.now) for each in outcome.state.shrinkage}
        assert less == {"tests-removed": (5, 3), "tests-skipped": (0, 1)}
        assert outcome.state.data()["removed"] == 2
    checked.trust(at="2999-01-01T00:00:00.000+00:00")
    assert checked.state().shrinkage == ()
    [outcome] = checked.verify(again=True)
    assert (outcome.state.shrinkage, outcome.state.data()["removed"]) == ((), 0)


def test_inputs_that_shrink_by_a_pattern_are_seen_and_those_that_were_deleted_are_not(
    checked: CheckedRoot,
) -> None:
    put(checked.path / "tests/test_app.py", "x")
    put(checked.path / "src/more.py", "x")
    checked.declare("checks: {c: {run: ['true'], inputs: [src/**, tests/**]}}\n")
    checked.trust()
    checked.verify()
    (checked.path / "src/more.py").unlink()
    [outcome] = checked.verify()
    assert outcome.state.shrinkage == ()
    checked.declare("checks: {c: {run: ['true'], inputs: [src/**]}}\n")
    checked.trust()
    [outcome] = checked.verify()
    [narrowed] = outcome.state.shrinkage
    assert (narrowed.code, narrowed.before, narrowed.now) == ("check-narrowed", 2, 1)
    assert narrowed.added == ("tests/**",)
    assert outcome.state.data()["narrowed"] is True


def test_a_threshold_that_a_tool_is_told_lower_is_seen_until_a_person_accepts_it(
    checked: CheckedRoot,
) -> None:
    threshold = "[tool.coverage.report]\nfail_under = {}\n"
    put(checked.path / "pyproject.toml", threshold.format(80))
    checked.declare("checks: {c: {run: ['true']}}\n")
    checked.trust()
    [outcome] = checked.verify()
    assert (outcome.state.shrinkage, outcome.state.data()["lowered"]) == ((), False)
    for text, now, where in (
        (threshold.format(60), 60, "fail-under of pyproject.toml"),
        ("[tool]\n", 0, "fail-under, which pyproject.toml sets no more"),
    ):
        put(checked.path / "pyproject.toml", text)
        [outcome] = checked.verify()
        [lowered] = outcome.state.shrinkage
        assert (lowered.code, lowered.before, lowered.now) == ("threshold-lowered", 80, now)
        assert lowered.what == f"% is the threshold {where}"
        assert (outcome.state.result, outcome.state.data()["lowered"]) == ("passed", True)
    checked.trust(at="2999-01-01T00:00:00.000+00:00")
    assert checked.state().shrinkage == ()


def test_the_places_of_runs_are_those_of_the_test(checked: CheckedRoot) -> None:
    checked.declare("checks: {c: {run: ['true']}}\n")
    looks = PresentChecks(checked.path)
    assert looks.look(checked.checks, (), "c").paths == looks.look(checked.checks, PLACES, "c").paths
