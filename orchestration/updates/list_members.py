"""New members of a list of the state whose elements are files (`state.include`): child sessions of seed 000.

A member that is there is found again, so a repetition changes nothing: its file stays as it is, and its id
is listed once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..formats.json_edits import create
from ..formats.json_text import read_json
from ..snapshot.snapshot import Snapshot
from ..snapshot.state_file import included_path
from ..vfs.files import File
from .commands import CommandRefused


class NewMembers(NamedTuple):
    """The files to make (path to text), and the whole list as it has to be then."""

    files: Mapping[str, str]
    listed: list[Any]


def new_members(snapshot: Snapshot, name: str, members: Any) -> NewMembers:
    """What `members`, objects with an `id` each, add to the list `name` of the state.

    Raises CommandRefused for what can be no member, and for a file that belongs to another member.
    """
    includes = snapshot.workflow.state.include if snapshot.workflow.state else {}
    listed = snapshot.state.raw.get(name) or [] if snapshot.state and snapshot.state.valid else None
    if name not in includes or not isinstance(listed, list):
        raise CommandRefused(f"{name} is no list of the state whose members are files")
    if not isinstance(members, list) or not all(isinstance(member, dict) for member in members):
        raise CommandRefused(f"new members of {name} must be a list of objects")
    files: dict[str, str] = {}
    new: list[str] = []
    known = {_id(item) for item in listed}
    for member in members:
        path = included_path(includes[name], snapshot.run, _id(member))
        if path is None:
            said = f"{_id(member)!r} is no id of a member of {name}: it has to be usable in a path"
            raise CommandRefused(said)
        there = snapshot.reader.files.read(path)
        if not there.exists:
            files.setdefault(path, create(member))
        elif _of_another(there, member):
            raise CommandRefused(f"{path} exists already and belongs to another")
        if _id(member) not in known:
            known.add(_id(member))
            new.append(_id(member))
    return NewMembers(files, [*listed, *new])


def _id(item: Any) -> str:
    return str(item.get("id", "") if isinstance(item, dict) else item)


def _of_another(there: File, member: Mapping[str, Any]) -> bool:
    """Whether a file says that it is, or belongs to, another: its `id` or an id it refers to differs."""
    data = read_json(there.text or "").data
    return isinstance(data, dict) and any(
        str(data[key]) != str(value)
        for key, value in member.items()
        if (key == "id" or key.endswith("_id")) and data.get(key) is not None
    )
