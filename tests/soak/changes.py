"""Many random changes of roots, told in batches, and time and again a comparison with a first look.

Between them the server ends and begins anew, and its cache on disk is dropped, damaged and aged. A root is
left after `CHANGES_A_ROOT` changes, since in the end nothing is left in it. All that is random comes of the
seed and the root's number, so that one root can be made again by itself.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.server.live.changes import RUNS, Change, random_change
from tests.server.live.followed_root import FAULTS, CachedRoot

CHANGES_A_ROOT = 500
AT_ONCE = (1, 1, 2, 3, 5, 8, 20, 50)
"""So many changes are seen together."""
ASKED = (0, 0, 1, 5)
"""After a batch that was told so many questions are asked."""
SHARE_COMPARED = 0.25
"""Of so many batches, the rest are compared together with those behind them."""


def play_changes(
    number: int, seed: int, first: int = 0, progress: Callable[[int, int], object] = lambda made, root: None
) -> int:
    """Make so many changes, beginning with the root of that number, and compare. Returns the number of
    comparisons. Raises AssertionError, with the root's number, where the answers differ."""
    made, compared, root = 0, 0, first
    while made < number:
        changes = min(CHANGES_A_ROOT, number - made)
        try:
            compared += _play_root(changes, random.Random(f"{seed} {root}"))
        except Exception as fault:
            fault.add_note(f"in root {root} of seed {seed}: --first {root} --seed {seed} makes it again")
            raise
        made, root = made + changes, root + 1
        progress(made, root)
    return compared


def _play_root(number: int, choose: random.Random) -> int:
    """Make so many changes of a root of its own; the number of comparisons."""
    root, made, compared = CachedRoot(), 0, 0
    try:
        while made < number:
            batch = [random_change(choose) for _ in range(choose.choice(AT_ONCE))]
            made += len(batch)
            _show(root, batch, choose)
            _age(root, choose)
            if choose.random() < SHARE_COMPARED or made >= number:
                root.rest()
                root.assert_as_at_first_sight()
                compared += 1
    finally:
        root.close()
    return compared


def _show(root: CachedRoot, batch: list[Change], choose: random.Random) -> None:
    """Make some changes, and have the live root see them in one of the ways in which it comes to see any."""
    way = choose.choices(("tell", "hold", "look", "restart"), (12, 2, 1, 1))[0]
    if way == "restart":
        root.restart(batch, choose.random() < 0.75, choose.random() < 0.5)
        return
    paths = [path for change in batch for path in root.change(change)]
    if way == "look":
        root.look()
    else:
        root.tell(paths, grace=way == "hold")
        for run in choose.sample((None, *RUNS), choose.choice(ASKED)):
            root.ask(run)


def _age(root: CachedRoot, choose: random.Random) -> None:
    """Pack runs, save the cache, or spoil it, now and then."""
    what = choose.choices(("nothing", "pack", "save", "spoil"), (20, 2, 2, 1))[0]
    if what == "pack":
        root.pack(choose.randint(0, 2))
    elif what == "save":
        root.save()
    elif what == "spoil":
        root.spoil(choose.random(), choose.choice(FAULTS))
