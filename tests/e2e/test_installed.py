"""The installed program in roots as people have them."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import zipfile
from pathlib import Path

from tests.e2e.conftest import ROOT, Run
from tests.roots import EXAMPLES, TASKS, loop, needs, plan, put, task

LISTS = ".orchestrator/tasks/lists"


# ---- the package ------------------------------------------------------------------------------


def test_the_wheel_holds_what_is_needed_and_nothing_else(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if "/licenses/" not in name}
    there = [p for p in EXAMPLES.rglob("*") if p.is_file() and p.suffix != ".pyc"]
    examples = {p.relative_to(EXAMPLES).as_posix() for p in there}
    definitions = {p.name for p in (ROOT / "orchestration/workflows").glob("*.yaml")}

    assert {n.removeprefix("phasekeeper/examples/") for n in names if "/examples/" in n} == examples
    assert {n.rsplit("/", 1)[-1] for n in names if n.endswith(".yaml") and "/workflows/" in n} == definitions
    assert "phasekeeper/py.typed" in names
    assert not [name for name in names if "test" in Path(name).parts or name.endswith(".pyc")]
    assert {name.split("/")[0].split("-")[0] for name in names} == {"phasekeeper"}


def test_the_licence_comes_along(wheel):
    [text] = [n for n in zipfile.ZipFile(wheel).namelist() if n.endswith("licenses/LICENSE")]
    assert b"Apache License" in zipfile.ZipFile(wheel).read(text)


def test_the_program_runs_isolated_and_not_from_the_checkout(environment, root):
    code = "import phasekeeper.server.cli.main as c; print(c.__file__)"
    assert Path(isolated(environment, "-c", code, cwd=ROOT).stdout.strip()).is_relative_to(environment.parent)
    version = isolated(environment, "-m", "phasekeeper", "--version", cwd=root)
    assert version.stdout.startswith("phasekeeper ")


def isolated(environment: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([environment / "python", "-I", *words], capture_output=True, text=True, cwd=cwd)


def test_importing_the_package_imports_no_engine(environment, root):
    code = (
        "import sys, phasekeeper as p;"
        "print([m for m in sys.modules if m.startswith(('phasekeeper.', 'yaml', 'cel'))]);"
        "print(p.steps(p.load_workflow('component-design'))[0], 'evaluate' in dir(p))"
    )
    done = isolated(environment, "-c", code, cwd=root)
    assert done.stdout.splitlines() == ["[]", "Initialize True"], done.stderr


def test_the_demo_works_from_the_wheel(run: Run, root: Path):
    done = run("demo")
    assert (done.returncode, done.stderr) == (0, "")
    assert "7 runs" in done.stdout
    assert run("check", "phasekeeper-demo").returncode == 3
    assert run("check", "phasekeeper-demo", "--allow", "waiting").returncode == 0


# ---- roots ------------------------------------------------------------------------------------


def git(*words: object, cwd: Path) -> None:
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(
        [needs("git"), *map(str, words)],
        cwd=cwd,
        check=True,
        capture_output=True,
        env=env,
    )


def test_a_worktree_is_its_own_root(run: Run, tmp_path: Path):
    main = tmp_path / "main"
    main.mkdir()
    git("init", "-q", cwd=main)
    task(main, "T1")
    git("add", "-A", cwd=main)
    git("commit", "-q", "-m", "one", cwd=main)
    git("worktree", "add", "-q", main / "trees/two", cwd=main)
    task(main / "trees/two", "T1", ok=False)
    task(main / "trees/two", "T2")

    inside = json.loads(run("status", "--json", cwd=main / "trees/two/.ai-tools-chain").stdout)
    assert inside["root"] == str(main / "trees/two")
    assert [e["suggestion"]["kind"] for e in inside["runs"]] == ["regress", "advance"]
    assert [e["run"] for e in json.loads(run("status", "--json", cwd=main).stdout)["runs"]] == [f"{TASKS}/T1"]


def test_a_subfolder_and_a_path_inside_a_run_find_the_root(run: Run, root: Path):
    task(root, "T1")
    task(root, "T2", ok=False)
    (root / "src/deep").mkdir(parents=True)

    assert len(json.loads(run("status", "--json", cwd=root / "src/deep").stdout)["runs"]) == 2
    one = json.loads(run("next", "--json", root / TASKS / "T2/state.json", cwd="/").stdout)
    assert (one["root"], one["run"], one["suggestion"]["kind"]) == (str(root), f"{TASKS}/T2", "regress")


def test_projects_are_judged_with_their_own_configuration_and_the_worst_counts(run: Run, root: Path):
    put(root / ".phasekeeper/config.yaml", "projects: [packages/*]\n")
    plan(root / "packages/a", "lists", 2, done=1)
    plan(root / "packages/b", "lists", 2, done=1)
    (root / "packages/b/.phasekeeper/config.yaml").unlink()

    shown = run("status").stdout
    assert f"packages/a/{LISTS}  active" in shown
    assert f"packages/b/{LISTS}  waits for a person" in shown
    assert run("next").returncode == 3
    assert run("next", "--run", "a/.orchestrator/tasks/lists").returncode == 0


def test_a_workflow_that_extends_another_is_used_where_its_runs_are(run: Run, root: Path):
    put(
        root / ".phasekeeper/workflows/hotfix.yaml",
        "extend: artifact-pipeline\nworkflow: hotfix\n"
        "runs: {at: [hotfixes/*], marker: {file: state.json, has: [phase]}}\n"
        "phases: {plan_review: {rules: [{when: plan_ok, to: codegen, because: quick}]}}\n",
    )
    folder = root / "hotfixes/H1"
    put(folder / "state.json", {"phase": "plan_review"})
    put(folder / "planning/planning.ai.json", {"id": "H1"})
    put(folder / "review/plan-review.json", {"ok": True})

    answer = json.loads(run("next", "--json", "--run", "H1").stdout)
    assert answer["workflow"] == "hotfix"
    assert (answer["suggestion"]["suggestedNext"], answer["suggestion"]["reason"]) == ("codegen", "quick")
    assert "hotfixes/*" in run("workflow", "list").stdout


def test_parameters_of_the_configuration_count_and_are_shown(run: Run, root: Path):
    loop(root, workQueue=[{"id": "A", "priority": "S1", "title": "t", "status": "pending"}])
    assert run("next").returncode == 0
    put(root / ".phasekeeper/config.yaml", "parameters: {phase-loop: {pause_on: S1}}\n")

    assert run("next").returncode == 3
    [one] = json.loads(run("status", "--json").stdout)["runs"]
    assert one["parameters"] == {"pause_on": "S1"}


def test_a_plan_of_ten_thousand_tasks_is_answered(run: Run, root: Path):
    plan(root, "lists", 10_000, done=9_997)
    answer = json.loads(run("next", "--json", "--run", "lists").stdout)

    assert answer["progress"] == {"done": 9_997, "total": 10_000}
    assert answer["suggestion"]["suggestedNext"] == "4a"
    assert answer["suggestion"]["tasks"] == ["lists-9998", "lists-9999", "lists-10000"]
    assert "lists-9998" in run("next", "--run", "lists").stdout


# ---- streams ----------------------------------------------------------------------------------


def test_a_reader_that_went_away_is_no_noise(run: Run, root: Path):
    task(root, "T1")
    reading, writing = os.pipe()
    os.close(reading)
    done = run("status", capture_output=False, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, "")


def test_an_old_encoding_is_no_crash(run: Run, root: Path):
    task(root, "T1", title="日本 → é")
    old = {**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    for words in (["status"], ["next"], ["check"], ["check", "--format", "github"], ["explain"]):
        done = run(*words, env=old, encoding="latin-1")
        assert (done.returncode, done.stderr) == (0, "")


def on_a_terminal(program: Path, words: list[str], columns: int, cwd: Path) -> str:
    """What a program writes to a terminal of some columns."""
    mine, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    names = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")
    env = {k: v for k, v in os.environ.items() if k not in names} | {"TERM": "xterm-256color"}
    with subprocess.Popen([program, *words], stdin=its, stdout=its, stderr=its, cwd=cwd, env=env):
        os.close(its)
        written = b""
        while chunk := _read(mine):
            written += chunk
    os.close(mine)
    return written.decode("utf-8")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:
        # Linux says so when the last writer of a terminal closed it.
        return b""


def test_a_real_terminal_gets_colours_within_its_width(environment: Path, root: Path):
    task(root, "T1")
    task(root, "T2\x1b[31m", ok=False, title="\x1b]0;x\x07 " + "long " * 60)
    for columns in (80, 140):
        text = on_a_terminal(environment / "phasekeeper", ["status"], columns, root)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
        assert "\x1b[" in text
        assert all(c.isprintable() or c in "\r\n" for c in plain)
        assert max(map(len, plain.splitlines())) <= columns
        assert "T2\\x1b[31m" in plain.replace("\r\n", "")


def test_sarif_is_whole(run: Run, root: Path):
    task(root, "T1", phase="nowhere")
    log = json.loads(run("check", "--format", "sarif").stdout)
    [one] = log["runs"]

    assert (log["version"], log["$schema"].rsplit("/", 1)[-1]) == ("2.1.0", "sarif-2.1.0.json")
    driver = one["tool"]["driver"]
    assert set(driver) == {"name", "version", "rules"}
    assert all(
        set(rule) == {"id", "shortDescription"} and rule["shortDescription"]["text"]
        for rule in driver["rules"]
    )
    for result in one["results"]:
        assert result["level"] in ("none", "note", "warning", "error")
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        [place] = result["locations"]
        artifact = place["physicalLocation"]["artifactLocation"]
        assert re.fullmatch(r"[\w.~%/-]+", artifact["uri"])
        assert one["originalUriBaseIds"][artifact["uriBaseId"]]["uri"].endswith("/")
        assert all(number >= 1 for number in place["physicalLocation"].get("region", {}).values())


def test_the_readme_of_the_examples_names_every_run(run: Run):
    runs = json.loads(run("status", "--json", EXAMPLES).stdout)["runs"]
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"`{e['run']}` ({e['workflow']})" in text for e in runs)
    assert sys.version_info >= (3, 11)
