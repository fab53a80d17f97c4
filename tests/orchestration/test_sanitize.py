import re
import unicodedata
from collections import UserDict

import pyromark
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from phasekeeper.orchestration.sanitize import (
    github_message,
    github_property,
    markdown,
    mermaid,
    plain,
    value_text,
)

# Text as attackers write it: any code point, lone surrogates too, and a good deal of markup.
MARKUP = st.sampled_from([*"\\`*_[](){}#+-.!|<>&@:~$^='\"/ \n\r\t\x1b\u202e\u200b", "www.", "http://"])
TEXT = st.lists(
    st.one_of(MARKUP, st.characters(), st.characters(codec=None, categories=["Cs"])), max_size=60
).map("".join)
LIMIT = st.integers(1, 80)
SURFACES = (plain, markdown, github_message, github_property, mermaid)


def is_harmless(text: str) -> bool:
    return all(
        c.isprintable() and unicodedata.category(c) not in ("Cf", "Cc", "Cs", "Zl", "Zp") for c in text
    )


@given(text=TEXT, limit=LIMIT)
@example(text="\u202eabc\u2066\u200f\u061c\ufeff\U000e0041\x9b31m\x7f\u2028\u2029\x85", limit=80)
def test_no_surface_lets_a_character_through_that_is_not_seen(text, limit):
    for surface in SURFACES:
        assert is_harmless(surface(text, limit)), surface
    assert is_harmless(value_text({text: [text]}, limit))
    assert is_harmless(value_text(text, limit))


@given(text=TEXT, limit=LIMIT)
def test_what_is_printed_has_a_bounded_length(text, limit):
    assert len(plain(text, limit)) <= limit
    assert len(value_text(text, limit)) <= limit
    assert len(markdown(text, limit)) <= 9 * limit
    assert len(mermaid(text, limit)) <= 5 * limit
    assert len(github_property(text, limit)) <= 4 * limit + 9


@given(text=TEXT, limit=LIMIT)
def test_printing_twice_changes_nothing(text, limit):
    assert plain(plain(text, limit), limit) == plain(text, limit)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain text", "plain text"),
        ("grün ✅ ⚠️ 計画", "grün ✅ ⚠️ 計画"),
        ("a\nb\r\nc\rd\te", "a b c d e"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x07\x00\x7f\x85\x9b", "\\x07\\x00\\x7f\\x85\\x9b"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\u200bb\ufeff\u00ad", "a\\u200bb\\ufeff\\xad"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("\U000e0041\U000e0100", "\\U000e0041\\U000e0100"),
        ("\ud800", "\\ud800"),
        ("\u3164\u2800\u034f", "\\u3164\\u2800\\u034f"),
        ("a\u00a0b\u3000c", "a b c"),
        ("\ue000", "\\ue000"),
        ("[bold red]x[/]", "[bold red]x[/]"),
        ("C:\\new", "C:\\new"),
        ("", ""),
    ],
)
def test_text_is_printed_on_one_line_with_escapes_that_can_be_seen(text, expected):
    assert plain(text) == expected


def test_long_text_is_cut_at_the_limit():
    assert plain("x" * 201) == "x" * 199 + "…"
    assert plain("x" * 200) == "x" * 200
    assert plain("\r\n" * 5, 5) == " " * 5
    assert plain("\r\n" * 6, 5) == " " * 4 + "…"
    assert plain("\x1b" * 10, 8) == "\\x1b\\x1…"
    assert plain("xy", 1) == "…"


def test_megabytes_of_text_cost_no_more_than_their_beginning():
    assert plain("\x1b" * 8_000_000, 10) == "\\x1b\\x1b\\…"


def plain_paragraph(source: str) -> str | None:
    """The text of a document that is one paragraph of nothing but text, or None when it is more."""
    events = list(pyromark.Markdown(options=ALL_OPTIONS).events(source))
    if not events:
        return ""
    if events[0] != {"Start": "Paragraph"} or events[-1] != {"End": "Paragraph"}:
        return None
    texts = [event.get("Text") if isinstance(event, dict) else None for event in events[1:-1]]
    return None if None in texts else "".join(map(str, texts))


ALL_OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_HEADING_ATTRIBUTES
    | pyromark.Options.ENABLE_YAML_STYLE_METADATA_BLOCKS
    | pyromark.Options.ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS
    | pyromark.Options.ENABLE_MATH
    | pyromark.Options.ENABLE_GFM
    | pyromark.Options.ENABLE_DEFINITION_LIST
    | pyromark.Options.ENABLE_SUPERSCRIPT
    | pyromark.Options.ENABLE_SUBSCRIPT
    | pyromark.Options.ENABLE_WIKILINKS
)


@given(text=TEXT)
@example(text="1. x")
@example(text="123456789) x")
@example(text="- x")
@example(text="+++")
@example(text="---")
@example(text="> q <b>&copy;</b>")
@example(text="    code")
@example(text="![i](u) [l](u) [[w]] [^1] `c` *e* _e_ ~~s~~ $m$ <http://a.b> x^2^ a~b~")
@example(text="trailing \\")
def test_markdown_reads_as_just_the_text(text):
    rendered = plain_paragraph(markdown(text))
    assert rendered is not None
    assert rendered.replace("\u200b", "") == plain(text).strip(" ")


@given(text=TEXT)
def test_markdown_stays_one_cell_of_a_table(text):
    events = list(pyromark.Markdown(options=ALL_OPTIONS).events(f"|a|b|\n|-|-|\n|{markdown(text)}|end|\n"))
    assert events.count({"Start": "TableCell"}) == 4
    assert events[-4:] == [{"Text": "end"}, {"End": "TableCell"}, {"End": "TableRow"}, {"End": "Table"}]


@given(text=TEXT)
def test_markdown_after_a_line_of_text_makes_no_heading_or_table_of_it(text):
    events = list(pyromark.Markdown(options=ALL_OPTIONS).events(f"before\n{markdown(text)}\n"))
    assert events[0] == {"Start": "Paragraph"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ask @octocat", "ask @&#8203;octocat"),
        ("fixes #12", "fixes \\#&#8203;12"),
        ("gh-12", "gh-&#8203;12"),
        ("https://x.org", "https:&#8203;//x.org"),
        ("WWW.x.org", "WWW.&#8203;x.org"),
        ("mailto:a@b.org", "mailto:&#8203;a@&#8203;b.org"),
        ("a:b", "a:b"),
        ("plan-review.json", "plan-review.json"),
        (":-", "\\:-"),
    ],
)
def test_mentions_references_and_addresses_turn_into_no_link(text, expected):
    assert markdown(text) == expected


@given(text=TEXT)
@example(text="::stop-commands::x")
@example(text="  ::error::x")
@example(text="a ##[add-path]x")
@example(text="100%0A::error::x")
@example(text="#####[x")
def test_a_github_message_is_one_line_and_starts_no_command(text):
    line = github_message(text)
    assert not line.strip().startswith("::")
    assert "##[" not in line
    assert "\n" not in line and "\r" not in line
    assert re.fullmatch(r"(?:[^%]|%25)*", line)


def test_a_github_message_keeps_its_words():
    assert github_message("50% done: a, b") == "50%25 done: a, b"
    assert github_message("::error::x") == "\\x3a:error::x"


@given(text=TEXT)
def test_a_github_property_cannot_end_itself(text):
    value = github_property(text)
    assert not set(value) & set(":,\r\n")
    assert re.fullmatch(r"(?:[^%]|%25|%3A|%2C)*", value)


@given(text=TEXT)
def test_a_mermaid_label_holds_no_syntax(text):
    bare = re.sub(r"#\d{2,3};", "", mermaid(text))
    assert not set(bare) & set('"#;&<>[](){}|`%\\*')
    assert not re.match(r"\s*(?:\d+[.)]|[-+])\s", bare)


def test_a_mermaid_label_keeps_ordinary_names_readable():
    assert mermaid("plan_review of plan-review.json 1.2") == "plan_review of plan-review.json 1.2"
    assert mermaid('1. "x"') == "1#46; #34;x#34;"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "true"),
        (False, "false"),
        (None, "null"),
        (3, "3"),
        (0, "0"),
        (1.5, "1.5"),
        ("text", '"text"'),
        ('say "x"\n', '"say \\"x\\" "'),
        ([], "[]"),
        ([1, "a", True], '[1, "a", true]'),
        ((1, 2), "[1, 2]"),
        ([1, 2, 3, 4, 5, "and 2 more"], '[1, 2, 3, 4, 5, "and 2 more"]'),
        ([1, 2, 3, 4, 5, 6, 7], "[7 items]"),
        ([[1], [], {"a": 1}], "[[1 item], [], {1 key}]"),
        ({}, "{}"),
        ({"ok": True, "n": None}, '{"ok": true, "n": null}'),
        ({"a": {"b": 1, "c": 2}}, '{"a": {2 keys}}'),
        ({str(n): n for n in range(9)}, "{9 keys}"),
        (UserDict(a=1), '{"a": 1}'),
        (10**100, "integer of 333 bits"),
        (-5, "-5"),
        (b"\x1b", "b'\\x1b'"),
    ],
)
def test_values_are_shown_short_and_like_json(value, expected):
    assert value_text(value) == expected


def test_an_integer_too_long_for_python_to_print_is_described():
    assert value_text(10**5000) == "integer of 16610 bits"


def test_a_long_value_is_cut():
    assert value_text("x" * 100) == '"' + "x" * 78 + "…"


def test_a_value_that_holds_itself_is_shown():
    endless: list[object] = []
    endless.append(endless)
    assert value_text(endless) == "[[1 item]]"
