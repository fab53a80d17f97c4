"""Fields that are made when somebody looks at them, and let go again."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from phasekeeper.orchestration.result.deferred_fields import DeferredFields


@dataclass(frozen=True, slots=True)
class Shelf(DeferredFields):
    name: str
    books: tuple[str, ...]

    @property
    def has_books(self) -> bool:
        known = self.known_property("has_books")
        return bool(self.books) if known is None else known


def test_a_field_is_made_once_when_somebody_looks_at_it_and_once_more_when_it_was_let_go():
    made: list[str] = []

    def make(name: str) -> tuple[str, ...]:
        made.append(name)
        return ("Emma",)

    shelf = Shelf.with_deferred({"name": "novels"}, ("books",), make)
    assert (shelf.name, made) == ("novels", [])
    assert shelf == Shelf("novels", ("Emma",)) and shelf.books == ("Emma",)
    assert made == ["books"]
    shelf.let_go()
    shelf.let_go()
    assert shelf.books == ("Emma",) and made == ["books", "books"]


def test_fields_of_a_whole_value_are_let_go_once_it_is_said_how_they_are_made():
    shelf = Shelf("novels", ("Emma",))
    shelf.let_go()
    shelf.defer(("books",), lambda name: ("Emma", "Persuasion"))
    assert shelf == Shelf("novels", ("Emma", "Persuasion"))


def test_what_is_no_field_is_not_made():
    shelf = Shelf.with_deferred({"name": "novels"}, ("books",), lambda name: ())
    with pytest.raises(AttributeError, match="Shelf has no pages"):
        _ = shelf.pages  # pyright: ignore[reportAttributeAccessIssue]


def test_a_property_that_is_given_beside_deferred_fields_has_none_of_them_made():
    def make(name: str) -> tuple[str, ...]:
        pytest.fail(f"{name} was made")

    assert Shelf("novels", ("Emma",)).has_books
    assert Shelf.with_deferred({"name": "novels"}, ("books",), make, {"has_books": True}).has_books
    shelf = Shelf("none", ())
    shelf.defer(("books",), make, {"has_books": False})
    assert not shelf.has_books
    shelf.defer(("books",), lambda name: ("Emma",))
    assert shelf.has_books
