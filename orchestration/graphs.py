"""Circles in a graph: groups of things each of which can be reached from each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def find_cycles(edges: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The groups of names that lead back to themselves, in the order of `edges`, members too.

    Edges to names that are no keys are left out. Linear and without recursion (Tarjan): a plan may have
    10,000 tasks in one chain.
    """
    order = {name: position for position, name in enumerate(edges)}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on: set[str] = set()
    cycles: list[list[str]] = []
    for root in edges:
        work = [(root, 0)] if root not in index else []
        while work:
            node, position = work.pop()
            if position == 0:
                index[node] = low[node] = len(index)
                stack.append(node)
                on.add(node)
            following = [step for step in edges[node] if step in edges]
            if position > 0:
                low[node] = min(low[node], low[following[position - 1]])
            while position < len(following) and following[position] in index:
                if following[position] in on:
                    low[node] = min(low[node], index[following[position]])
                position += 1
            if position < len(following):
                work += [(node, position + 1), (following[position], 0)]
            elif low[node] == index[node]:
                group = [stack.pop()]
                while group[-1] != node:
                    group.append(stack.pop())
                on.difference_update(group)
                if len(group) > 1 or node in edges[node]:
                    cycles.append(sorted(group, key=order.__getitem__))
    return sorted(cycles, key=lambda group: order[group[0]])


def reachable(edges: Mapping[str, Iterable[str]], start: Iterable[str]) -> set[str]:
    """The names that can be reached from some, themselves included. Every one is a key of `edges`."""
    seen = set(start)
    waiting = list(seen)
    while waiting:
        more = set(edges[waiting.pop()]) - seen
        seen |= more
        waiting += more
    return seen
