"""XML is read as a stream of elements; what could expand, fetch or grow without bound is refused."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from phasekeeper.orchestration.findings import Problem, Span
from phasekeeper.orchestration.formats.xml_text import MAX_DEPTH, MAX_ELEMENTS, read_elements


class Notes:
    """What a reader is told, in order."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.places: list[tuple[int, int]] = []

    def start(self, name: str, attributes: Mapping[str, str], at: Span) -> None:
        self.told.append((name, dict(attributes)))
        self.places.append((at.line, at.column))

    def text(self, text: str) -> None:
        self.told.append(text)

    def end(self, name: str) -> None:
        self.told.append(f"/{name}")


def read(text: str) -> tuple[Notes, Problem | None]:
    notes = Notes()
    return notes, read_elements(text, notes)


def test_elements_texts_and_ends_are_told_in_their_order() -> None:
    notes, problem = read(
        "<?xml version='1.0' encoding='latin-1'?>\n<a x='1 &lt; 2'>é<![CDATA[<b>]]>&amp;<c/></a>\n"
    )
    assert problem is None
    assert notes.told == [("a", {"x": "1 < 2"}), "é<b>&", ("c", {}), "/c", "/a"]


def test_prefixes_are_dropped_whether_they_are_declared_or_not() -> None:
    notes, problem = read("<x:a><y:b/></x:a>")
    assert problem is None
    assert notes.told == [("a", {}), ("b", {}), "/b", "/a"]


def test_places_are_lines_and_code_points_from_zero() -> None:
    notes, _ = read("<a>\r\n\n  é日😀<b/></a>")
    assert notes.places == [(0, 0), (2, 5)]


@pytest.mark.parametrize(
    "character",
    ["\x00", "\x1b", "\x0b", "\ufffe", "\uffff", "\ud800", "&#0;", "&#x1b;", "&#xd800;", "&#9999999;"],
)
def test_what_is_no_character_is_replaced(character: str) -> None:
    notes, problem = read(f"<a>x{character}y</a>")
    assert problem is None
    assert notes.told[1] == "x\ufffdy"


def test_references_to_characters_are_kept() -> None:
    notes, problem = read("<a>&#10;&#x9;&#xe9;&#128512;</a>")
    assert problem is None
    assert notes.told[1] == "\n\té😀"


@pytest.mark.parametrize(
    ("text", "said", "place"),
    [
        ("", "not valid XML: no element found", (0, 0)),
        ("no XML", "not valid XML: syntax error", (0, 0)),
        ("<a>\n<b></a>", "not valid XML: mismatched tag", (1, 5)),
        ("<a>\n", "not valid XML: no element found", (1, 0)),
        ("<a/><b/>", "not valid XML: junk after document element", (0, 4)),
        ("<a>&lol;</a>", "not valid XML: undefined entity", (0, 3)),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "declares entities or types of its own", None),
        ("<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>", "declares entities", None),
        (
            "<!DOCTYPE a SYSTEM 'file:///etc/passwd' [<!ENTITY % b SYSTEM 'x'>%b;]><a/>",
            "declares entities",
            None,
        ),
        ("<a>" * (MAX_DEPTH + 1), "nested more than 200 levels", (0, 600)),
        (f"<!--{'x' * 2_000_000}--><a/>", "no element stands in its first 1048576 bytes", None),
        (f"<a>{'<b/>' * MAX_ELEMENTS}</a>", "more than 400000 elements", None),
    ],
)
def test_what_is_refused_is_a_problem_at_its_place(
    text: str, said: str, place: tuple[int, int] | None
) -> None:
    _, problem = read(text)
    assert problem is not None
    assert said in problem.message
    assert problem.code == "artifact-unreadable"
    assert problem.span is not None
    assert place is None or problem.span[:2] == place


@pytest.mark.parametrize(
    "name", ["SYSTEM 'file:///etc/passwd'", "PUBLIC '-//X' 'http://localhost:1/x.dtd'", ""]
)
def test_a_dtd_elsewhere_is_a_name_and_is_not_opened(name: str) -> None:
    notes, problem = read(f"<!DOCTYPE a {name}><a/>")
    assert problem is None
    assert notes.told == [("a", {}), "/a"]


def test_an_entity_that_only_an_external_dtd_could_have_stands_for_nothing() -> None:
    notes, problem = read("<!DOCTYPE a SYSTEM 'x.dtd'><a>1&lol;2</a>")
    assert problem is None
    assert [text for text in notes.told if text in ("1", "2", "12")] in (["12"], ["1", "2"])
