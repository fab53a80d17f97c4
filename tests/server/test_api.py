"""What `import phasekeeper` gives to programs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import phasekeeper
import pytest

from tests.roots import TASKS, put, task

OWN = """\
extend: {under}
workflow: {name}
runs: {{at: [{name}/*], marker: {{file: state.json, has: [phase]}}}}
"""


def test_the_example_of_the_package_runs(monkeypatch, capsys):
    monkeypatch.chdir(Path(__file__).parents[2])
    code = "\n".join(re.findall(r"^    (.+)$", phasekeeper.__doc__ or "", re.M))
    exec(compile(code, "example", "exec"), {})

    assert "('planning', 'plan_review'," in capsys.readouterr().out


def test_a_workflow_is_loaded_by_its_name_or_from_a_file(root):
    assert phasekeeper.load_workflow("phase-loop").name == "phase-loop"
    file = put(root / "mine.yaml", OWN.format(under="artifact-pipeline", name="mine"))
    assert phasekeeper.load_workflow(file).name == "mine"
    assert phasekeeper.load_workflow(str(file)).name == "mine"


def test_a_file_may_extend_its_neighbours_in_the_root(root):
    folder = root / ".phasekeeper/workflows"
    put(folder / "one.yaml", OWN.format(under="artifact-pipeline", name="one"))
    two = put(folder / "two.yaml", OWN.format(under="one", name="two"))
    assert phasekeeper.steps(phasekeeper.load_workflow(two))[0] == "planning"


def test_what_cannot_be_loaded_says_why(root):
    with pytest.raises(phasekeeper.UnknownWorkflow, match="did you mean"):
        phasekeeper.load_workflow("phase-lop")
    with pytest.raises(phasekeeper.UsageError, match=r"gone\.yaml' cannot be read"):
        phasekeeper.load_workflow(root / "gone.yaml")
    with pytest.raises(phasekeeper.InvalidWorkflow) as caught:
        phasekeeper.load_workflow(put(root / "bad.yaml", "workflow: bad\nphase: state.phase\nphasez: {}\n"))
    assert any("phasez" in found.message for found in caught.value.findings)


def test_a_run_is_read_with_the_root_and_workflow_it_has(root):
    snapshot = phasekeeper.read_run(task(root, "T1"))
    assert (snapshot.root, snapshot.run, snapshot.workflow.name) == (
        str(root),
        f"{TASKS}/T1",
        "artifact-pipeline",
    )

    evaluation = phasekeeper.evaluate(snapshot)
    assert evaluation.suggestion.suggested_next == "codegen"
    assert phasekeeper.evaluate(snapshot.workflow, snapshot) == evaluation
    assert not phasekeeper.is_complete(evaluation)


def test_a_folder_can_be_read_as_a_run_of_a_given_workflow(root):
    workflow = phasekeeper.load_workflow("artifact-pipeline")
    folder = put(root / "somewhere/state.json", {"phase": "planning"}).parent
    evaluation = phasekeeper.evaluate(phasekeeper.read_run(folder, workflow))
    assert (evaluation.run, evaluation.current_phase) == ("somewhere", "planning")


def test_a_folder_that_is_no_run_says_why(root):
    (root / TASKS / "T1").mkdir(parents=True)
    with pytest.raises(phasekeeper.UsageError, match=r"is no run \(.*: it has no state\.json\)"):
        phasekeeper.read_run(root / TASKS / "T1")
    with pytest.raises(phasekeeper.UsageError, match="does not exist"):
        phasekeeper.read_run(root / "gone")


def test_a_workflow_alone_cannot_be_evaluated():
    with pytest.raises(TypeError, match="a workflow and a snapshot"):
        phasekeeper.evaluate(phasekeeper.load_workflow("phase-loop"))  # pyright: ignore


def test_a_finished_run_is_complete(root):
    folder = task(root, "T1", phase="done", actors={"accept": {"status": "committed"}})
    names = phasekeeper.steps(phasekeeper.read_run(folder).workflow)
    assert names.index("planning") < names.index("test") < names.index("done")

    put(folder / "code/diff.patch", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n")
    put(folder / "code/files/f", "b")
    put(folder / "review/code-review.json", {"ok": True, "decision": "approve", "blocking_issues": []})
    results = [{"step": "unit", "status": "passed"}]
    put(folder / "eval/eval-report.json", {"status": "completed", "overall_pass": True, "results": results})
    put(folder / "accept/decision.json", {"verdict": "accepted"})
    assert not phasekeeper.is_complete(phasekeeper.evaluate(phasekeeper.read_run(folder)))
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-q", "-m", "accept")):
        subprocess.run(["git", *words], cwd=root, check=True)
    assert phasekeeper.is_complete(phasekeeper.evaluate(phasekeeper.read_run(folder)))


def test_only_what_is_promised_is_there():
    assert set(phasekeeper.__all__) <= set(dir(phasekeeper))
    assert all(getattr(phasekeeper, name).__doc__ for name in phasekeeper.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'anything'"):
        _ = phasekeeper.anything  # pyright: ignore
