"""Lines that look like tasks: each way of writing them that real repositories have, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.markdown.checklist import ChecklistItem, ItemForm, read_checklist

BOX, LOOSE, SYMBOL, CELL = ItemForm.BOX, ItemForm.LOOSE, ItemForm.SYMBOL, ItemForm.CELL


def items(text: str) -> tuple[ChecklistItem, ...]:
    return read_checklist(text).items


def marks(text: str) -> list[str]:
    return [item.mark for item in items(text)]


@pytest.mark.parametrize(
    ("line", "mark", "form", "words"),
    [
        ("- [x] done", "x", BOX, "done"),
        ("- [X] done", "x", BOX, "done"),
        ("- [ x] done", "x", LOOSE, "done"),
        ("- [x ] done", "x", LOOSE, "done"),
        ("- [ ] open", "", BOX, "open"),
        ("- [] open", "", LOOSE, "open"),
        ("- [-] doing", "-", BOX, "doing"),
        ("- [~] partly", "~", BOX, "partly"),
        ("- [/] doing", "/", BOX, "doing"),
        ("- [>] later", ">", BOX, "later"),
        ("- [!] stuck", "!", BOX, "stuck"),
        ("- [?] asked", "?", BOX, "asked"),
        ("- [N/A] void", "n/a", LOOSE, "void"),
        ("- [done] by a word", "done", LOOSE, "by a word"),
        ("- [In Progress] by words", "in-progress", LOOSE, "by words"),
        ("- [✅] in a box", "✅", LOOSE, "in a box"),
        ("- ✅ 1.1 no box", "✅", SYMBOL, "1.1 no box"),
        ("- ☑ done", "☑", SYMBOL, "done"),
        ("- ☑️ done", "☑", SYMBOL, "done"),
        ("☐ open", "☐", SYMBOL, "open"),
        ("- ✔ 2. done", "✔", SYMBOL, "2. done"),
        ("* [x] star", "x", BOX, "star"),
        ("+ [x] plus", "x", BOX, "plus"),
        ("1. [x] ordered", "x", BOX, "ordered"),
        ("1) [x] ordered", "x", BOX, "ordered"),
        ("- 1. [x] both", "x", BOX, "both"),
        ("  - [x] two", "x", BOX, "two"),
        ("\t- [x] tab", "x", BOX, "tab"),
        ("    - [x] four", "x", BOX, "four"),
        ("        - [x] eight", "x", BOX, "eight"),
        ("-[ ] tight", "", LOOSE, "tight"),
        ("- [ ]1.1 close", "", LOOSE, "1.1 close"),
        ("[ ] bare", "", LOOSE, "bare"),
        ("[x] bare", "x", LOOSE, "bare"),
        (r"- \[ ] escaped", "", LOOSE, "escaped"),
        ("- [ ] **T001** bold", "", BOX, "**T001** bold"),
        ("- [ ]**T001** bold", "", LOOSE, "**T001** bold"),
        ("- [ ] ~~1.1 dropped~~", "", BOX, "~~1.1 dropped~~"),
        ("- [ ]", "", BOX, ""),
        ("- [ ][P] labelled", "", LOOSE, "[P] labelled"),
        ("| T001 | Make it | [x] |", "x", CELL, "T001 Make it"),
        ("| 1.2 | Make it | ann | ☐ |", "☐", CELL, "1.2 Make it"),
    ],
)
def test_a_line_that_looks_like_a_task_is_an_item(line: str, mark: str, form: ItemForm, words: str) -> None:
    (item,) = items(line)
    assert (item.mark, item.form, item.text) == (mark, form, words)


@pytest.mark.parametrize(
    "line",
    [
        "- [P] tasks = different files, no dependencies",
        "- [US1] maps a task to its story",
        "- [H1] finding",
        "- [MED] finding",
        "- [text](url)",
        "- [x](url)",
        "- [ref][x]",
        "- [x]: https://a.example",
        "- **[P]**: can run in parallel",
        "- A sentence with [x] in it",
        "✅ A sentence that begins with an emoji",
        "[?] no box and no list",
        "| Task | Text | [x] in words |",
        "| Feature | Status | ✅ |",
        "| T001 | words | open |",
        "# [ ] a heading",
        "> - [ ] quoted",
        "<!-- - [ ] hidden -->",
    ],
)
def test_labels_links_and_quotes_are_none(line: str) -> None:
    assert items(line) == ()


def test_a_star_right_behind_the_box_says_optional() -> None:
    text = "- [ ]* 1.1 Tests\n- [x]* 1.2 More\n- [ ] *a*\n"
    assert [(item.optional, item.text) for item in items(text)] == [
        (True, "1.1 Tests"),
        (True, "1.2 More"),
        (False, "*a*"),
    ]


def test_what_stands_in_fences_and_comments_is_no_item() -> None:
    assert marks("```md\n- [ ] example\n```\n- [x] real\n<!--\n- [ ] hidden\n-->\n- [~] real\n") == ["x", "~"]


@pytest.mark.parametrize("opening", ["```md", "~~~", "<!--", "````"])
def test_a_fence_or_comment_that_never_ends_hides_nothing(opening: str) -> None:
    listed = read_checklist(f"- [x] a\n{opening}\n- [ ] b\n- [ ] c\n")
    assert [item.mark for item in listed.items] == ["x", "", ""]
    assert listed.document.unclosed is not None


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("last", ["", "\n"])
def test_line_ends_and_a_byte_order_mark_change_nothing(end: str, start: str, last: str) -> None:
    text = start + end.join(["# Plan", "", "- [x] 🚀 T001 任務", "  - [ ] b"]) + last
    listed = read_checklist(text)
    assert [(i.line, i.box.column, i.column, i.end, i.text) for i in listed.items] == [
        (2, 2, 6, 15, "🚀 T001 任務"),
        (3, 4, 8, 9, "b"),
    ]


def test_a_nul_is_a_character_like_any_other() -> None:
    assert [(item.mark, item.text) for item in items("- [x] a\0b\n- [\0] c\n")] == [
        ("x", "a\0b"),
        ("\0", "c"),
    ]


def test_the_heading_of_an_item_is_the_last_one_above_it() -> None:
    listed = read_checklist("- [ ] a\n# One\n- [ ] b\n## Two\n- [ ] c\n")
    assert [item.heading for item in listed.items] == [-1, 0, 1]


PIECES = st.lists(
    st.sampled_from(
        [
            "- [ ] ",
            "* [x] ",
            "1. [-] ",
            "- [P] ",
            "[ ] ",
            "- ☑ ",
            "| 1.1 | a | [x] |",
            "```",
            "~~~",
            "<!--",
            "-->",
            "> ",
            "\n",
            "\r\n",
            "\n\n",
            "  ",
            "\t",
            "T001 ",
            "**",
            "~~",
            "[",
            "]",
            "(",
            "\\",
            "\0",
            "\ufeff",
            "# ",
            "---",
            "words ",
            "任務 ",
            "\ufe0f",
            "<<<<<<< a\n",
            "=======\n",
        ]
    ),
    max_size=40,
)


@given(PIECES)
def test_every_item_stands_where_it_says(pieces: list[str]) -> None:
    listed = read_checklist("".join(pieces))
    lines = listed.document.lines
    last = -1
    for item in listed.items:
        assert last < item.line
        last = item.line
        line = lines[item.line]
        box = line[item.box.column : item.box.end_column]
        assert (box[0], box[-1]) == ("[", "]") or len(box) == 1
        if item.form is not CELL:
            assert line[item.column : item.end] == item.text
            assert item.box.end_column <= item.column or not item.text
        assert item.text == item.text.strip()


@given(PIECES, st.integers(0, 200))
def test_what_is_cut_off_loses_no_line_before_the_cut(pieces: list[str], cut: int) -> None:
    text = "".join(piece for piece in pieces if piece not in ("```", "~~~", "<!--", "-->", "> ", "---"))
    head = text[:cut]
    whole = head.rpartition("\n")[0]
    before = {(item.line, item.box) for item in items(whole)}
    assert before <= {(item.line, item.box) for item in items(head)}
