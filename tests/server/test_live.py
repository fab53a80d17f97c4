"""A root kept current: what changes is told, what does not is not."""

from __future__ import annotations

from pathlib import Path

from phasekeeper.server.live import Live

from ..roots import TASKS, put, task

T1 = f"{TASKS}/T1"


def scanned(root: Path) -> Live:
    live = Live(root)
    live.scan()
    return live


def test_the_first_look_tells_all_runs_and_counts_them(root):
    task(root, "T1")
    task(root, "T2")
    heard: list[tuple[int, int]] = []
    change = Live(root).scan(lambda done, total: heard.append((done, total)))

    assert list(change.changed) == [T1, f"{TASKS}/T2"]
    assert heard[-1] == (2, 2)


def test_a_touch_of_what_did_not_change_tells_nothing(root):
    folder = task(root, "T1")
    live = scanned(root)
    assert live.touch([folder / "state.json"]) is None
    assert live.rescan() is None


def test_only_what_differs_is_told(root):
    task(root, "T1")
    task(root, "T2")
    live = scanned(root)
    path = put(root / T1 / "review/plan-review.json", {"ok": False})
    change = live.touch([path])

    assert change
    assert list(change.changed) == [T1]
    assert change.version == live.version == 2
    assert live.runs[T1].suggestion.kind == "regress"


def test_a_run_that_goes_takes_its_findings_with_it(root):
    folder = task(root, "T1")
    path = put(folder / "review/plan-review.json", "no json")
    live = scanned(root)
    assert f"{T1}/review/plan-review.json" in live.findings
    for file in sorted(folder.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    folder.rmdir()
    change = live.touch([path, folder])

    assert change
    assert change.removed == (T1,)
    assert change.findings[f"{T1}/review/plan-review.json"] == ()
    assert live.findings == {}
