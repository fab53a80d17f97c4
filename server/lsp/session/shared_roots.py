"""The roots that connections of one engine share (`view/shared_root.py`), as long as one shows them."""

from __future__ import annotations

from pathlib import Path
from weakref import WeakKeyDictionary, WeakValueDictionary

from ...live.engine import Engine
from ..view.shared_root import SharedRoot

_SHARED: WeakKeyDictionary[Engine, WeakValueDictionary[Path, SharedRoot]] = WeakKeyDictionary()


def shared_root(engine: Engine, root: Path) -> SharedRoot:
    """The one of all connections that show the root now; it goes with the last of their views.

    Raises UsageError for a root that is not open.
    """
    board, roots = engine.board(root), _SHARED.setdefault(engine, WeakValueDictionary())
    shared = roots.get(root)
    # One that somebody still holds who is told of nothing more has another board.
    if shared is None or shared.board.runs is not board.runs or shared.board.findings is not board.findings:
        roots[root] = shared = SharedRoot(root, board)
    return shared
