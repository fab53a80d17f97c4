"""The totals of a root, kept up to date by what differs."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from phasekeeper.orchestration.result.values import Evaluation
from phasekeeper.server.live.live_root import LiveRoot
from phasekeeper.tools.assistant.totals import RunningTotals

from tests.roots import loop, run_to_end, task


def evaluated(root) -> list[Evaluation]:
    """A run that goes on, and one that awaits a person."""
    task(root, "T1")
    loop(root, gates={}, workQueue=[], status="awaiting_approval")
    live = LiveRoot(root)
    run_to_end(live.scan_in_parts())
    return list(live.runs.values())


def test_totals_are_those_of_a_first_look_whatever_came_before(root):
    kinds = evaluated(root)
    assert len(kinds) == 2

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(
            st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.sampled_from(kinds), st.integers(0, 3)))
        )
    )
    def check(rounds) -> None:
        running = RunningTotals()
        for chosen in rounds:
            runs = {name: replace(kind, revision=str(number)) for name, (kind, number) in chosen.items()}
            assert running.of(runs) == RunningTotals().of(runs) == running.of(runs)

    check()


def test_the_revision_differs_when_a_run_does_and_not_by_their_order(root):
    one, other = evaluated(root)
    runs = {"a": one, "b": other}
    assert RunningTotals().of(runs) == RunningTotals().of({"b": other, "a": one})
    for differing in ({"a": one}, {"a": other, "b": one}, {**runs, "b": replace(other, revision="next")}):
        assert RunningTotals().of(differing).revision != RunningTotals().of(runs).revision
    assert len(RunningTotals().of({}).revision) == 16
