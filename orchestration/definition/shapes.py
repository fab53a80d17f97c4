"""The words in which `model.py` says what may stand under a key of a definition."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any, NamedTuple


class Shape(NamedTuple):
    """The form of what stands under a key.

    kind: text, id (of one of the things called `name`, if that is set), bool, word (one of `words`), typed
    (any data, or a map), cel (an expression of the type in `words`; one of an effect is so called), template,
    list (of `of`), some (one `of` or a list of them), map (names, or what `other` says, to `of`), struct
    (`name`), or either (`of` where a scalar, `other` elsewhere).
    """

    kind: str
    of: Shape | None = None
    words: Collection[str] = ()
    name: str = ""
    other: Shape | None = None


class Key(NamedTuple):
    """The form and meaning of a key. `field` is the model's name for it, where that is another one."""

    shape: Shape
    about: str
    required: bool = False
    field: str = ""


TEXT, ID, BOOL, TYPED, TEMPLATE = (Shape(kind) for kind in ("text", "id", "bool", "typed", "template"))
TEXTS = Shape("some", TEXT)
# `a|b` among the keys of a map: one of the two.
ALTERNATIVES = Shape("alternatives")
MAPPING = Shape("typed", name="map")
_EMPTY: dict[str, Any] = {
    "bool": False,
    "list": (),
    "some": (),
    "map": (),
    **dict.fromkeys(("cel", "template", "struct", "either", "typed")),
}


def cel(kind: str = "any", name: str = "") -> Shape:
    return Shape("cel", words=(kind,), name=name)


def id_of(thing: str) -> Shape:
    return Shape("id", name=thing)


def word(*words: str) -> Shape:
    return Shape("word", words=words)


def list_of(shape: Shape) -> Shape:
    return Shape("list", shape)


def map_of(shape: Shape, keys: Shape | None = None) -> Shape:
    return Shape("map", shape, other=keys)


def struct(name: str) -> Shape:
    return Shape("struct", name=name)


def key(shape: Shape, about: str, default: Any = None, name: str = "", required: bool = False) -> Any:
    """A field of a class of the model that the key of that name holds, or else `name`.

    Without a default it is what is nearest to nothing: False, "", an empty tuple or mapping, or None.
    """
    metadata = {"name": name, "key": Key(shape, about, required)}
    if shape == MAPPING or (shape.kind == "map" and shape.other is None):
        return dataclasses.field(default_factory=dict, metadata=metadata)
    empty = _EMPTY.get(shape.kind, "") if default is None else default
    return dataclasses.field(default=empty, metadata=metadata)


def keys_of(model: type) -> dict[str, Key]:
    """The keys of a definition's map by name, from the class that it becomes."""
    fields = (each for each in dataclasses.fields(model) if "key" in each.metadata)
    return {
        each.metadata["name"] or each.name: each.metadata["key"]._replace(field=each.name) for each in fields
    }
