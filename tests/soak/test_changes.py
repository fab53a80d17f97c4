"""Roots through thousands of changes and a spoilt cache; `make soak` makes a million."""

from __future__ import annotations

import pytest

from tests.soak import changes
from tests.soak.changes import play_changes


@pytest.mark.parametrize("first", (0, 2))
def test_a_root_stands_after_any_changes_as_at_first_sight(first: int) -> None:
    assert play_changes(2 * changes.CHANGES_A_ROOT, 1, first) > 10


def test_a_difference_is_told_with_the_root_that_makes_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def differ(root: object) -> None:
        raise AssertionError("not the same")

    monkeypatch.setattr(changes.CachedRoot, "assert_as_at_first_sight", differ)
    with pytest.raises(AssertionError) as fault:
        play_changes(5, 7, 3)
    assert fault.value.__notes__ == ["in root 3 of seed 7: --first 3 --seed 7 makes it again"]
