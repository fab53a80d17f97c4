"""The claims on tasks that were made in one editor, with the token that shows each to be its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

_FIELDS = ("root", "run", "task", "who", "token")
_MOST_KEPT = 500


class OwnClaim(NamedTuple):
    who: str
    token: str


class EditorClaims(dict[tuple[Path, str, str], OwnClaim]):
    """(root, run, task) -> who claimed it in this editor, and the token.

    An editor that keeps what a claim is answered with brings it to its next connection.
    """

    def of_run(self, root: Path, run: str) -> list[str]:
        """The tokens of all claims of a run."""
        return [claim.token for key, claim in self.items() if key[:2] == (root, run)]

    def restore(self, kept: Any) -> None:
        """Take over what an editor has kept of earlier answers; what has another form is left out."""
        for each in kept[:_MOST_KEPT] if isinstance(kept, list) else ():
            fields = [each.get(name) for name in _FIELDS] if isinstance(each, dict) else [None]
            if all(isinstance(field, str) for field in fields):
                root, run, task, who, token = map(str, fields)
                self[Path(root), run, task] = OwnClaim(who, token)

    def add(self, root: Path, run: str, task: str, claim: OwnClaim) -> dict[str, str]:
        """The claim in the form in which an editor keeps it."""
        self[root, run, task] = claim
        return dict(zip(_FIELDS, (str(root), run, task, *claim), strict=True))
