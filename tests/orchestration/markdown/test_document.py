"""Markdown with positions: what counts as said, and where it stands."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.findings import Span
from phasekeeper.orchestration.markdown import block_outline as skeleton
from phasekeeper.orchestration.markdown import document as markdown
from phasekeeper.orchestration.markdown.inline_text import (
    name_of,
    split_remark,
    strip_markup,
    without_comments,
    word_of,
)
from phasekeeper.orchestration.markdown.tables import tables

# Pieces that open, close and cross the blocks of Markdown in all the ways we could think of.
PIECES = st.sampled_from(
    [
        *(
            "# ",
            "## A\n",
            "```",
            "~~~~",
            "```py\n",
            "\n",
            "\r\n",
            "\r",
            "- ",
            "1. ",
            "> ",
            "| ",
            "|--|--|\n",
            "|",
        ),
        *(
            "<!--",
            "-->",
            "<div>",
            "<pre>",
            "**",
            "__",
            "`",
            ": ",
            "[ ]",
            "[x]",
            "\\",
            "---\n",
            "===\n",
            "\t",
            "    ",
        ),
        *("a", "K", "🚀", "任務", "e\u0301", "\0", "\ufeff", "\u2028", "\ud800"),
        *("<<<<<<< a\n", "=======\n", ">>>>>>> b\n"),
    ]
)
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join))


def slice_of(document: markdown.MarkdownDocument, span: Span) -> str:
    assert span.line == span.end_line
    return document.lines[span.line][span.column : span.end_column]


def boxes(text: str, rescue: bool = False) -> list[tuple[str, str]]:
    """(mark with its blanks, words behind the box) of every box."""
    document = markdown.read(text, rescue=rescue)
    return [
        (slice_of(document, box)[1:-1], document.lines[box.line][box.end_column :].strip())
        for box in markdown.checkboxes(document)
    ]


def rows(text: str) -> list[list[list[str]]]:
    found = tables(markdown.read(text))
    return [[[cell.text for cell in row.cells()] for row in table.rows] for table in found]


def keys(text: str) -> list[tuple[str, str]]:
    return [(field.key, field.value) for field in markdown.fields(markdown.read(text))]


# --- headings


def test_a_heading_has_its_text_its_place_and_the_lines_of_its_body() -> None:
    document = markdown.read("# One\ntext\n## Two ##\n### Three\nx\n## C#\n# \n####### seven\n")
    found = [(h.level, h.text, h.start, h.end) for h in document.headings]
    assert found == [(1, "One", 1, 6), (2, "Two", 3, 5), (3, "Three", 4, 5), (2, "C#", 6, 6), (1, "", 7, 9)]
    assert [slice_of(document, h.span) for h in document.headings] == ["One", "Two", "Three", "C#", ""]


def test_an_underlined_heading_counts_and_so_does_one_in_a_list() -> None:
    document = markdown.read("Title 任務\n=====\n\n- # In a list\n")
    assert [(h.level, h.text) for h in document.headings] == [(1, "Title 任務"), (1, "In a list")]


def test_a_rule_straight_below_a_table_or_fields_makes_no_heading_of_them() -> None:
    text = "| A | B |\n|---|---|\n| 1 | 2 |\n---\n\n**Key**: value\n---\n\none\ntwo\n---\n"
    assert markdown.read(text).headings == ()
    assert rows(text) == [[["1", "2"]]]
    assert keys(text) == [("Key", "value")]


# --- what is quoted


@pytest.mark.parametrize(
    "quoted",
    [
        "```md\n{}\n```",
        "~~~~\n{}\n```\n~~~~",
        "- item\n\n  ```\n  {}\n  ```",
        "<!--\n{}\n-->",
        "<pre>\n\n{}\n</pre>",
        "> {}",
        "> - {}",
        "---\nkey: 1\n{}\n---",
    ],
)
@pytest.mark.parametrize("line", ["# Heading", "- [ ] task", "**Key**: value"])
def test_what_stands_in_fences_comments_quotes_or_front_matter_is_not_said(quoted: str, line: str) -> None:
    document = markdown.read(quoted.format(line))
    assert document.headings == ()
    assert list(markdown.checkboxes(document)) == []
    assert list(markdown.fields(document)) == []
    assert document.unclosed is None


def test_a_table_in_a_fence_or_a_quote_is_none_but_one_after_it_is() -> None:
    table = "| A |\n|---|\n| 1 |\n"
    assert rows(f"```\n{table}```\n\n> | A |\n> |---|\n> | 2 |\n\n{table}") == [[["1"]]]


def test_a_field_in_the_middle_of_a_comment_or_code_span_of_a_paragraph_is_not_said() -> None:
    assert keys("text <!-- hidden\n**Key**: value\n--> text\n") == []
    assert keys("text `code\n**Key**: value\n` text\n") == []
    assert keys("text `code`\n**Key**: value\n") == [("Key", "value")]


def test_a_line_that_runs_on_under_a_quote_is_no_field_but_may_be_a_row() -> None:
    text = "> note\n**Key**: value\n| A |\n|---|\n| 1 |\n"
    assert keys(text) == []
    assert rows(text) == [[["1"]]]


def test_work_under_an_html_tag_is_still_work() -> None:
    assert boxes("<details>\n- [ ] task\n</details>\n") == [(" ", "task")]
    assert rows("<details>\n| A |\n|---|\n| 1 |\n</details>\n") == [[["1"]]]


def test_a_rule_at_the_start_is_no_front_matter_unless_a_key_follows_and_it_ends() -> None:
    for text in ("---\n# Plan\n---\n", "---\nkey: 1\n| a |\n---\n# Plan\n", "---\nkey: 1\n\n# Plan\n", "---"):
        expected = ["Plan"] if "Plan" in text else []
        assert [heading.text for heading in markdown.read(text).headings] == expected


def test_front_matter_may_end_in_dots() -> None:
    document = markdown.read("---\nkey: 1\n...\n# Plan\n")
    assert [heading.text for heading in document.headings] == ["Plan"]
    fields = markdown.fields(document, {"key"}, front=True)
    assert [(field.key, field.value) for field in fields] == [("key", "1")]
    assert list(markdown.fields(document, {"key"})) == []


# --- fences


def test_a_fence_has_its_words_and_its_lines() -> None:
    document = markdown.read("```text one\na\nb\n```\n- x\n  ~~~\n  c\n  ~~~\n")
    assert [(f.info, f.start, f.end) for f in document.fences] == [("text one", 1, 3), ("", 6, 7)]


def test_an_unclosed_fence_hides_what_follows_unless_it_is_rescued() -> None:
    text = "- [x] a\n```py\n- [ ] b\n```js\n- [ ] c\n"
    assert boxes(text) == [("x", "a")]
    assert boxes(text, rescue=True) == [("x", "a"), (" ", "b"), (" ", "c")]
    assert markdown.read(text, rescue=True).unclosed == Span(1, 0, 1, 3)


@pytest.mark.parametrize("opening", ["<!-- begun", "<pre>", "<SCRIPT>", "<?php", "- ~~~~~"])
def test_every_block_without_end_can_be_passed_over(opening: str) -> None:
    text = f"{opening}\n\n# Heading\n"
    assert [heading.text for heading in markdown.read(text, rescue=True).headings] == ["Heading"]
    assert markdown.read(text, rescue=True).unclosed is not None or opening.startswith("- ")


def test_a_fence_that_ends_with_its_list_item_hides_nothing() -> None:
    document = markdown.read("- ```\n  a\n\n# Heading\n")
    assert document.unclosed is None
    assert [heading.text for heading in document.headings] == ["Heading"]


def test_a_last_line_with_words_behind_its_marks_closes_no_fence() -> None:
    assert markdown.read("```\na\n``` b").unclosed == Span(0, 0, 0, 3)
    assert markdown.read("```").unclosed == Span(0, 0, 0, 3)


def test_a_text_that_opens_ever_shorter_fences_is_passed_over_eight_times_at_most() -> None:
    text = "".join("`" * length + "a\n" for length in range(20, 3, -1)) + "- [ ] task\n"
    assert boxes(text, rescue=True) == []
    assert markdown.read(text, rescue=True).unclosed == Span(0, 0, 0, 20)


# --- merges


def test_both_sides_of_an_unresolved_merge_are_read() -> None:
    text = "| A |\n|---|\n<<<<<<< ours\n| 1 |\n=======\n| 2 |\n>>>>>>> theirs\n| 3 |\n"
    assert rows(text) == [[["1"], ["2"], ["3"]]]
    assert markdown.read(text).conflict == Span(2, 0, 2, 12)
    assert markdown.read("<<<<<<< alone\n").conflict is None


# --- tables


def test_tables_are_found_whatever_their_spacing() -> None:
    expected = [[["1", "b c"]]]
    assert rows("|A|B|\n|-|-|\n|1|b c|") == expected
    assert rows("  |  A | B\t|  \n | :--- |:-: |\n|   1|b c    |") == expected
    assert rows("A | B\n--- | ---\n1 | b c\n") == expected
    assert rows("text\n| A | B |\n|---|---|\n| 1 | b c |\ntext") == expected
    assert rows("- item\n\n      | A | B |\n      |---|---|\n      | 1 | b c |\n") == expected


def test_no_row_is_lost_to_a_wrong_delimiter_an_empty_line_or_a_line_of_text() -> None:
    text = "| A | B |\n|---|\n| 1 | x |\n\n| 2 | y |\nnote\n| 3 | z |\n|---|---|\n| A | B |\n4 | w |\n"
    assert rows(text) == [[["1", "x"], ["2", "y"], ["3", "z"], ["4", "w"]]]


@pytest.mark.parametrize(
    "line", ["- item | x", "# Heading | x", "**Key**: value | x", "\ntext | x", "```\n|x|\n```"]
)
def test_a_list_a_heading_a_field_or_a_new_paragraph_is_no_row(line: str) -> None:
    assert rows(f"| A |\n|---|\n| 1 |\n{line}\n") == [[["1"]]]


def test_two_tables_with_an_empty_line_between_are_two() -> None:
    text = "| A |\n|---|\n| 1 |\n\n| B |\n|---|\n| 2 |\n"
    assert rows(text) == [[["1"]], [["2"]]]
    assert [table.header[0].text for table in tables(markdown.read(text))] == ["A", "B"]


def test_a_table_without_rows_or_with_a_delimiter_like_a_list_is_a_table() -> None:
    assert rows("| A |\n|---|") == [[]]
    assert rows("A | B\n- | -\n1 | 2\n") == [[["1", "2"]]]
    assert rows("|---|\n|---|\n") == [[]]
    assert rows("text\n|---|\n") == []


def test_a_cell_has_its_text_and_place_also_when_it_is_empty() -> None:
    document = markdown.read("| A | B | C |\n|---|---|---|\n| 🚀 任務 |  | a\\|b |\n||x|\n")
    (table,) = tables(document)
    cells = table.rows[0].cells()
    assert [cell.text for cell in cells] == ["🚀 任務", "", "a|b"]
    assert [slice_of(document, cell.span) for cell in cells] == ["🚀 任務", "", "a\\|b"]
    assert cells[1].span == Span(2, 9, 2, 9)
    assert [cell.text for cell in table.rows[1].cells()] == ["", "x"]
    assert table.span == Span(0, 2, 3, 4)
    assert table.rows[1].span == Span(3, 0, 3, 4)


def test_a_bar_in_a_code_span_is_text_when_the_row_would_have_too_many_cells() -> None:
    header = "| A | B |\n|---|---|\n"
    assert rows(header + "| `a|b` | ``c|`d`` |\n") == [[["`a|b`", "``c|`d``"]]]
    assert rows(header + "| `a | b` |\n") == [[["`a", "b`"]]]
    assert rows(header + "| a | b | c` |\n") == [[["a", "b", "c`"]]]
    assert rows(header + "| `a` ` | b | c |\n") == [[["`a` `", "b", "c"]]]


def test_a_lone_bar_is_a_row_with_one_empty_cell() -> None:
    assert rows("| A |\n|---|\n|\n") == [[[""]]]


# --- fields


@pytest.mark.parametrize(
    "line",
    ["**Key**: value", "**Key:** value", "- **Key**: value", "  1. __Key__ :  value ", "**Key**:value"],
)
def test_a_field_is_read_in_all_its_spellings(line: str) -> None:
    document = markdown.read(f"# T\n{line}\n")
    (field,) = markdown.fields(document)
    assert (field.key, field.value) == ("Key", "value")
    assert (field.key, slice_of(document, field.value_span)) == ("Key", "value")


def test_a_field_may_be_empty_but_its_key_may_not() -> None:
    assert keys("**Key**:\n") == [("Key", "")]
    assert keys("** **: value\n\ntext **Key**: value\n") == []


def test_a_key_that_is_asked_for_is_read_without_emphasis() -> None:
    document = markdown.read("- Key: value\n\nOther: x\n\n✅ **KEY**: two\n\nno colon\n")
    found = list(markdown.fields(document, {"key"}))
    assert [(field.key, field.value) for field in found] == [("Key", "value"), ("✅ **KEY**", "two")]


# --- checkboxes


def test_all_five_list_markers_and_any_depth_carry_boxes() -> None:
    text = "- [x] a\n* [X] b\n+ [ ] c\n1. [~] d\n2) [-] e\n"
    text += "  - [!] f\n\t- [ ] g\n        - [ ] h\n- - [?] i\n-[ ] j\n"
    assert "".join(mark for mark, _ in boxes(text)) == "xX ~-!  ? "
    assert "".join(text for _, text in boxes(text)) == "abcdefghij"


def test_a_label_is_no_box() -> None:
    text = "- [P] tasks = any order\n- [US1] b\n- [A](link)\n- [a][b]\n- [link](x)\n"
    text += "- text [ ]\n[ ] c\n- [x]] d\n1986 [ ] e\n"
    assert boxes(text) == [("x", "] d")]


def test_a_box_may_be_empty_or_hold_an_unknown_mark_and_blanks() -> None:
    assert boxes("- [x ] a\n- [] b\n- [✅\ufe0f] c\n- [o] d\n") == [
        ("x ", "a"),
        ("", "b"),
        ("✅\ufe0f", "c"),
        ("o", "d"),
    ]


def test_the_place_of_a_box_is_its_brackets_in_code_points() -> None:
    document = markdown.read("- text\n  - [ ] 🚀 T002 任務\n")
    (box,) = markdown.checkboxes(document)
    assert (slice_of(document, box), box.column) == ("[ ]", 4)
    assert document.lines[1].index("T002") == 10


# --- words


def test_plain_takes_off_every_mark_but_what_is_code_or_part_of_a_word() -> None:
    assert strip_markup("**a_b** __c__ `x*y_` 2 * 3 ~~d~~ [t](u) <!-- q -->") == "a_b c x*y_ 2 * 3 d t"
    assert strip_markup(r"\[x\] \* \a") == r"[x] * \a"
    assert strip_markup(" `odd *x* ") == "odd x"
    assert strip_markup(" words ") == "words"
    assert strip_markup("![i](p) _") == "i"


def test_a_comment_without_end_stays() -> None:
    assert without_comments("a<!-- b -->c<!-- d") == "ac<!-- d"


def test_names_are_compared_without_emphasis_emoji_and_case() -> None:
    assert name_of("✅ **PHASE  Gate** Status") == "phase gate status"


@pytest.mark.parametrize(
    ("value", "word", "remark"),
    [
        ("**PASS**", "pass", ""),
        ("✅ PASS.", "pass", ""),
        ("`PASS` (12 tests)", "pass", "(12 tests)"),
        ("PASS - all of them", "pass", "- all of them"),
        ("PASS — all", "pass", "— all"),
        ("non-blocking", "non_blocking", ""),
        ("NOT PASS", "not_pass", ""),
        ("PASS | FAIL", "pass_|_fail", ""),
        ("", "", ""),
    ],
)
def test_a_value_is_one_word_and_a_remark(value: str, word: str, remark: str) -> None:
    said, rest = split_remark(value)
    assert (word_of(said), rest) == (word, remark)


# --- any text


@given(TEXTS, st.booleans())
def test_any_text_is_read_and_every_span_holds_what_it_should(text: str, rescue: bool) -> None:
    document = markdown.read(text, rescue=rescue)
    assert len(document.kinds) == len(document.lines)
    for heading in document.headings:
        assert slice_of(document, heading.span) == heading.text
        assert heading.span.line < heading.start <= heading.end <= len(document.lines)
    for fence in document.fences:
        assert 0 < fence.start <= fence.end <= len(document.lines)
    for field in markdown.fields(document, {"k"}, front=True):
        assert slice_of(document, field.value_span) == field.value
    for box in markdown.checkboxes(document):
        assert slice_of(document, box)[0] + slice_of(document, box)[-1] == "[]"
    for table in tables(document):
        for cell in (*table.header, *(cell for row in table.rows for cell in row.cells())):
            assert slice_of(document, cell.span).replace("\\|", "|") == cell.text
    assert isinstance(strip_markup(text) + name_of(text) + word_of(split_remark(text)[0]), str)


# --- shortcuts
#
# A flat text is read without a parser, and lines of words are read as one. Neither may be seen.

NEVER = re.compile(r"(?!)")
FLAT_LINES = st.sampled_from(
    [
        *("# A", "## `B` ##", "#C", "# ", "words", "more `code` > words < 3", "`code", "``", "a\\`", "a\\b"),
        *(
            "- item",
            "- [ ] `box`",
            "* **K**: v",
            "1. one",
            "12) `a`",
            "- 1. a",
            "-     a",
            "  - a",
            "    - a",
        ),
        *(
            "| a | `b` |",
            "|---|---|",
            "---|---",
            "a -> b",
            "List<T>",
            "`List<T>`",
            "<b>",
            "**a",
            "_ a",
            "10 x",
        ),
        *(
            "```",
            "```py",
            "````",
            "  ```",
            "~~~",
            "---",
            "===",
            "--",
            "> a",
            "",
            " ",
            "\t",
            "[a]: `b`",
            "x",
            "  x",
        ),
        *("1. ", "-", "***", "<!--", "-->", "<<<<<<< a", ">>>>>>> b", "key: v", "\x0c", "\xa0a", "任務"),
    ]
)


@given(st.lists(FLAT_LINES, max_size=14).map("\n".join), st.booleans())
def test_a_flat_text_is_read_as_the_parser_reads_it(text: str, rescue: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(skeleton, "_FLAT", NEVER)
        parsed = markdown.read(text, rescue=rescue)
    assert markdown.read(text, rescue=rescue) == parsed


@given(st.lists(FLAT_LINES, max_size=14).map("\n".join))
def test_code_spans_that_end_in_their_line_change_nothing(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(skeleton, "_FLAT", NEVER)
        read = markdown.read(text)
        patch.setattr(skeleton, "_CODE_WORDS", NEVER)
        assert markdown.read(text) == read


@given(st.lists(FLAT_LINES, max_size=10), st.lists(FLAT_LINES, max_size=10))
def test_a_line_of_words_is_part_of_what_the_line_of_words_above_it_is(
    above: list[str], below: list[str]
) -> None:
    one = markdown.read("\n".join(["<", *above, "words", *below]))
    two = markdown.read("\n".join(["<", *above, "words", "words", *below]))
    at = len(above) + 1
    if one.kinds[at] != markdown.HEADING:
        assert two.kinds == one.kinds[:at] + one.kinds[at : at + 1] + one.kinds[at:]
        assert [heading.text for heading in two.headings] == [heading.text for heading in one.headings]


def test_a_merge_is_seen_in_a_fence_too() -> None:
    document = markdown.read("# A\n```\n<<<<<<< a\n=======\n>>>>>>> b\n```\n")
    assert document.conflict == Span(2, 0, 2, 9)


def test_the_kinds_of_a_flat_text_are_those_of_its_lines() -> None:
    document = markdown.read("# A\nwords\n```py\n# no\n```\n- item\n\n---\n## B\n")
    assert skeleton.is_flat(list(document.lines))
    heading, code, text = markdown.HEADING, markdown.CODE, markdown.TEXT
    assert list(document.kinds) == [heading, text, code, code, code, text, text, text, heading, text]
    assert document.fences == (markdown.Fence("py", 3, 4),)


@given(
    st.lists(
        st.sampled_from(["# A", "- [ ] a", "| A |", "|---|", "```", "**K**: v", "<!--", "-->", "> q", ""])
    )
)
def test_crlf_cr_lf_and_a_byte_order_mark_give_the_same_document(lines: list[str]) -> None:
    read = [markdown.read(end.join(lines)) for end in ("\n", "\r\n", "\r")]
    assert read[0] == read[1] == read[2] == markdown.read("\ufeff" + "\n".join(lines))


HOSTILE = {
    "wide table": "|a" * 500 + "\n" + "|-" * 500 + "\n" + ("|x" * 500 + "\n") * 400,
    "backticks": "`" * 100_000,
    "runs of backticks": "| A |\n|---|\n| " + "|".join("`" * length for length in range(1, 400)),
    "quotes": ">" * 20_000 + " a\n",
    "lists": "".join("  " * depth + "- a\n" for depth in range(400)),
    "bullets": "- " * 20_000 + "a\n",
    "fences": "```a\n" * 20_000,
    "fences in items": "- ```\n" * 20_000,
    "comments": "<!-- a\n" * 20_000,
    "brackets": "[" * 100_000 + "](" * 20_000,
    "emphasis": "**" + "_" * 100_000 + "* " * 20_000,
    "code spans": "`a`" * 50_000 + "<\n" + "\\`a`" * 50_000,
    "open code": "a\n" * 20_000 + "```\n" + "a\n" * 20_000,
    "blanks": "| A |\n|---|\n" + "\n" * 20_000 + " " * 100_000 + "|",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_texts_are_read_to_the_end(text: str) -> None:
    document = markdown.read(text, rescue=True)
    assert sum(len(row.cells()) for table in tables(document) for row in table.rows[:5]) >= 0
    assert len(list(markdown.fields(document, {"k"}))) == 0
    assert isinstance(strip_markup(text), str)
