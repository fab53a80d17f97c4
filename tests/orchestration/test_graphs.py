"""Circles in a graph."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.graphs import find_cycles

names = st.sampled_from("abcdef")
graphs = st.dictionaries(names, st.lists(names, max_size=4))


def reached(edges: dict[str, list[str]], start: str) -> set[str]:
    """Every name that a path from `start` leads to."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for step in edges[waiting.pop()]:
            if step in edges and step not in found:
                found.add(step)
                waiting.append(step)
    return found


@given(graphs)
def test_two_names_are_in_one_circle_when_each_leads_to_the_other(edges: dict[str, list[str]]) -> None:
    order = list(edges)
    to = {name: reached(edges, name) for name in edges}
    wanted = {tuple(n for n in order if n in to[name] and name in to[n]) for name in edges}
    assert find_cycles(edges) == sorted(
        (list(group) for group in wanted if group), key=lambda g: order.index(g[0])
    )


def test_a_name_that_leads_to_itself_is_a_circle() -> None:
    assert find_cycles({"a": ["a"], "b": ["a"], "c": ["nowhere"]}) == [["a"]]


def test_a_long_chain_that_closes_is_one_circle() -> None:
    count = 20_000
    chain = {str(n): [str((n + 1) % count)] for n in range(count)}
    assert find_cycles(chain) == [list(chain)]
    chain[str(count - 1)] = []
    assert find_cycles(chain) == []
