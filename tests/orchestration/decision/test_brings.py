"""What a report has to come with."""

from __future__ import annotations

from phasekeeper.orchestration.decision.brings import named_commits
from phasekeeper.orchestration.definition.inputs import Brings


def test_only_what_looks_like_a_commit_is_asked_of_the_repository() -> None:
    brings = Brings(data=({"pr": "address", "commit": "commit"}, {"fix.commit": "commit"}))
    hashes = {"pr": "0123456", "commit": "0123456789abcdef", "fix": {"commit": "ABCDEF0"}}
    assert list(named_commits(brings, hashes)) == ["0123456789abcdef", "ABCDEF0"]
    odd = {"commit": "--upload-pack=x", "fix": {"commit": 1234567}}
    assert list(named_commits(brings, odd)) == []
    assert list(named_commits(brings, {"commit": "HEAD", "fix": []})) == []
