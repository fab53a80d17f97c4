"""README's picture of a terminal shows what the program prints."""

from __future__ import annotations

from xml.etree import ElementTree

from .terminal_picture import PICTURE, screen, svg, words_of


def test_the_picture_has_the_words_that_the_program_prints_today() -> None:
    picture = PICTURE.read_text(encoding="utf-8")
    assert words_of(picture) == words_of(svg(screen())), "run `python -m tests.release.terminal_picture`"
    assert "may not be reported now" in " ".join(words_of(picture))


def test_the_picture_is_one_drawing_that_needs_nothing_from_elsewhere() -> None:
    picture = PICTURE.read_text(encoding="utf-8")
    assert ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"
    assert "href" not in picture and "url(" not in picture and "<script" not in picture
