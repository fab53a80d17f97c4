"""What answers say of a run, kept until its evaluation is another one: assistants ask the same again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from ...orchestration.result.values import Evaluation

T = TypeVar("T")
_MOST = 128


class AnswerMemory:
    """Values made of one evaluation each, the `_MOST` that were asked for last. Nobody may change one.

    An evaluation counts as the same only as the same object: its revision leaves out what no file says, as
    that a claim has ended.
    """

    def __init__(self) -> None:
        self._values: dict[Hashable, tuple[Evaluation, object, Any]] = {}

    def of(self, evaluation: Evaluation, kind: Hashable, about: object, make: Callable[[], T]) -> T:
        """The value of a kind, made anew if the evaluation or what else it is `about` is another now."""
        key = (evaluation.root, evaluation.run, kind)
        known = self._values.pop(key, None)
        if known is None or known[0] is not evaluation or known[1] != about:
            known = evaluation, about, make()
        self._values[key] = known
        while len(self._values) > _MOST:
            del self._values[next(iter(self._values))]
        return known[2]
