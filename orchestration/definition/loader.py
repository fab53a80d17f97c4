"""Reading a definition's text, with the definitions that it extends laid under it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..vfs.files import digest_of
from .reader import Branch, InvalidWorkflow, Reading, Source, merge, read_branch

Extend = Callable[[str], Source | None]


def load_branch(source: Source, extend: Extend = lambda name: None) -> tuple[Branch, str]:
    """The definition's nodes with what it extends laid under, and the digest of all texts.

    Raises InvalidWorkflow for broken YAML, an unknown definition or a circle.
    """
    branch = read_branch(source)
    digests = [digest_of(source.text)]
    seen = {_name_in(branch)}
    while (named := _child(branch, "extend")) is not None:
        under_source = None if named.text in seen else extend(named.text)
        if under_source is None:
            reading = Reading()
            why = "extends itself" if named.text in seen else f"unknown workflow {named.text!r} to extend"
            reading.wrong(named, why)
            raise InvalidWorkflow(reading.findings)
        seen.add(named.text)
        digests.append(digest_of(under_source.text))
        branch = _extended(branch, read_branch(under_source))
    return branch, digests[0] if len(digests) == 1 else digest_of("\n".join(digests))


def _extended(branch: Branch, under: Branch) -> Branch:
    assert isinstance(branch.children, Mapping)
    own = {key: child for key, child in branch.children.items() if key != "extend"}
    return merge(under, branch._replace(children=own))


def _child(branch: Branch, key: str) -> Branch | None:
    return branch.children.get(key) if isinstance(branch.children, Mapping) else None


def _name_in(branch: Branch) -> str:
    named = _child(branch, "workflow")
    return named.text if named else ""


def folders_of(branch: Branch) -> tuple[str, ...]:
    """The `runs.at` globs of a definition that is not compiled yet."""
    runs = _child(branch, "runs")
    at = _child(runs, "at") if runs else None
    return tuple(child.text for child in at.children if isinstance(child, Branch)) if at else ()
