"""Readers of JSON and YAML texts, and the places they find."""

from __future__ import annotations

import json
import math
import re
import sys
from itertools import pairwise
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from phasekeeper.orchestration.findings import Span
from phasekeeper.orchestration.formats import json_text as documents
from phasekeeper.orchestration.formats import yaml_text
from phasekeeper.orchestration.formats.json_text import (
    ParsedText,
    clean,
    fold_dotted,
    lay_under,
    locate_json,
    read_json,
)
from phasekeeper.orchestration.formats.yaml_text import (
    Broken,
    Node,
    locate_yaml,
    place,
    read_yaml,
    read_yaml_data,
    typed_value,
)

Path = tuple[str | int, ...]

SPACES = " \t\r\n\x85\u2028\u2029"
words = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | words
    | st.sampled_from(["a.b", "é", "日本", "\U0001f600", 'x"y', "\\", "\r\n", "{[", ":,"])
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)
gaps = st.sampled_from(["", "", " ", "\n", "\r\n", "\t", "  \r\n ", "\r"])


@st.composite
def layouts(draw: st.DrawFn) -> tuple[Any, str]:
    """A JSON value, and a text of it in some layout."""
    value = draw(values)

    def write(item: Any) -> str:
        before, after = draw(gaps), draw(gaps)
        if isinstance(item, dict):
            members = [
                f"{draw(gaps)}{json.dumps(k, ensure_ascii=draw(st.booleans()))}{draw(gaps)}:{write(v)}"
                for k, v in item.items()
            ]
            text = "{" + ",".join(members) + draw(gaps) + "}"
        elif isinstance(item, list):
            text = "[" + ",".join(map(write, item)) + draw(gaps) + "]"
        else:
            text = json.dumps(item, ensure_ascii=draw(st.booleans()))
        return before + text + after

    return value, write(value)


def places(value: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    return [(path, value), *(found for step, item in members for found in places(item, (*path, step)))]


def cut(text: str, span: Span | None) -> str:
    """The text of a span, found in a second way: by splitting at line feeds."""
    assert span is not None
    lines = text.split("\n")[span.line : span.end_line + 1]
    lines[-1] = lines[-1][: span.end_column]
    lines[0] = lines[0][span.column :]
    return "\n".join(lines)


def only_problem(document: ParsedText) -> tuple[str, str, str]:
    assert not document.readable
    assert document.data is None
    (problem,) = document.problems
    assert problem.span is not None
    return problem.code, problem.message, str(tuple(problem.span))


# --- JSON -------------------------------------------------------------------------------------------


@given(layouts())
def test_json_reads_as_the_standard_parser_reads_it(case: tuple[Any, str]) -> None:
    value, text = case
    assert read_json(text) == ParsedText(value, (), True)
    assert read_json(text).data == json.loads(text)


@given(layouts())
def test_every_place_of_a_json_text_is_found_in_any_layout(case: tuple[Any, str]) -> None:
    value, text = case
    for path, item in places(value):
        assert json.loads(cut(text, locate_json(text, path))) == item
        key = locate_json(text, path, key=True)
        if path and isinstance(path[-1], str):
            assert json.loads(cut(text, key)) == path[-1]
        else:
            assert key is None


@given(st.text() | st.text('{}[]",:\\ud8900truefalsnl-.\n '))
@example("\ud800")
@example('{"a": "\\')
def test_no_text_makes_a_reader_raise(text: str) -> None:
    for reader in (read_json, read_yaml_data):
        document = reader(text)
        assert document.readable or document.data is None
        assert document.readable or document.problems or not text.strip() or reader is read_yaml_data
    for path in ((), ("a",), (0,), ("a", 0)):
        for key in (False, True):
            locate_json(text, path, key)
            locate_yaml(text, path, key)


@example("?")
@given(st.text("ab: -\n\t'\"|>!&*#[]{},?@%\\\r\u2028\ufeff", max_size=40))
@settings(max_examples=200)
def test_a_definition_is_a_tree_or_broken_and_its_spans_lie_in_the_text(text: str) -> None:
    try:
        nodes = [read_yaml(text)]
    except Broken as broken:
        assert broken.problems
        spans = [problem.span for problem in broken.problems]
    else:
        for node in nodes:
            below = node.value if isinstance(node.value, list) else []
            nodes += node.value.values() if isinstance(node.value, dict) else below
        spans = [node.span for node in nodes]
    for span in spans:
        assert span is not None
        assert span[:2] <= span[2:]
        assert span.end_line <= text.count("\n")
        assert span.end_column <= len(text.split("\n")[span.end_line])


STATE = json.dumps(
    {"phase": "código", "tasks": [{"id": "t-1", "ok": True, "n": -1.5e3}], "by": None}, indent=1
)


@pytest.mark.parametrize("length", range(len(STATE)))
def test_a_state_that_is_cut_off_anywhere_is_unreadable_at_its_end(length: int) -> None:
    text = STATE[:length]
    document = read_json(text)
    assert not document.readable
    assert bool(document.problems) == bool(text.strip())
    assert locate_json(text, ("tasks", 0, "id")) is None


@pytest.mark.parametrize("text", ["", " ", "\r\n\t"])
def test_an_empty_text_is_unreadable_without_a_problem(text: str) -> None:
    assert read_json(text) == read_yaml_data(text) == ParsedText(None, (), False)
    assert locate_json(text, ()) is None
    assert locate_yaml(text, ()) is None


HALF = "{} is half a surrogate pair; it is no character"
HALF_HERE = "half a surrogate pair stands here; it is no character"
DIGITS = "9" * 5000


@pytest.mark.parametrize(
    ("text", "message", "span"),
    [
        ('{"a" 1}', "not valid JSON: a colon is expected here, after the key", (0, 5, 0, 6)),
        ("[1\r\n 2]", "not valid JSON: a comma or a closing bracket is expected here", (1, 1, 1, 2)),
        ('["é", nope]', "not valid JSON: a value is expected here", (0, 6, 0, 10)),
        ("{1: 2}", "not valid JSON: a key in double quotes is expected here", (0, 1, 0, 2)),
        ('{"a": [1,\n', "not valid JSON: the text ends in the middle of a value", (1, 0, 1, 0)),
        ("{} {}", "not valid JSON: something follows after the end of the value", (0, 3, 0, 4)),
        ('["abc', "not valid JSON: the text that starts here has no closing quote", (0, 1, 0, 5)),
        ('["\\x"]', "not valid JSON: a backslash and what follows it make no escape", (0, 2, 0, 3)),
        ('[\n"NaN", NaN]', "not valid JSON: NaN is no JSON number", (1, 7, 1, 10)),
        ("[-Infinity]", "not valid JSON: -Infinity is no JSON number", (0, 1, 0, 10)),
        (f'["{DIGITS}", 0.{DIGITS},\n{DIGITS}]', "a number has too many digits to be read", (1, 0, 1, 5000)),
        ('{"\\\\ud800": "\\uD83D\\uDE00 \\udc00"}', HALF.format("\\udc00"), (0, 26, 0, 32)),
        ('{"a": "\ud800"}', HALF_HERE, (0, 7, 0, 8)),
        ('{\n<<<<<<< HEAD\n"a": 1\n', "a merge conflict was left in the file", (1, 0, 1, 7)),
    ],
)  # fmt: skip
def test_what_is_no_json_is_told_at_its_place(text: str, message: str, span: tuple[int, ...]) -> None:
    assert only_problem(read_json(text)) == ("artifact-unreadable", message, str(span))


def test_a_parser_message_without_a_sentence_of_ours_is_still_told() -> None:
    assert only_problem(read_json("\ufeff1"))[1].startswith("not valid JSON: unexpected UTF-8 BOM")


def test_a_pair_of_surrogate_escapes_is_one_character() -> None:
    assert read_json('"\\ud83d\\ude00 \\\\ud800"').data == "\U0001f600 \\ud800"


def test_the_last_of_equal_keys_counts_and_each_later_one_is_told() -> None:
    text = '{"a": {"c": 4}, "b": {"e": [{"x": 1, "\\u0078": 1}]},\r\n "a": {"c": 4}, "a": {"c": 4}}'
    document = read_json(text)
    assert document.readable
    assert document.data == {"a": {"c": 4}, "b": {"e": [{"x": 1}]}}
    assert [problem.code for problem in document.problems] == ["duplicate-key"] * 3
    assert [cut(text, problem.span) for problem in document.problems] == ['"\\u0078"', '"a"', '"a"']
    assert document.problems[2].span == Span(1, 16, 1, 19)
    assert document.problems[1].message == 'the key "a" stands twice; only this last one counts'
    assert locate_json(text, ("a", "c")) == Span(1, 27, 1, 28)
    assert locate_json(text, ("a",), key=True) == Span(1, 16, 1, 19)
    assert locate_json(text, ("b", "e", 0, "x")) == Span(0, 47, 0, 48)


@pytest.mark.parametrize("other", ["false", "1", "null", '"true"', "[]", '{"ok": true}'])
def test_a_key_with_different_values_is_a_contradiction_at_each_place(other: str) -> None:
    text = f'{{"n": 0, "n": 0, "ok": true, "x": [{{"ok": true}}], "ok": {other}, "ok": true}}'
    document = read_json(text)
    assert document.readable
    codes = [problem.code for problem in document.problems]
    assert codes == ["artifact-contradictory"] * 3 + ["duplicate-key"]
    assert [cut(text, problem.span) for problem in document.problems] == ['"ok"', '"ok"', '"ok"', '"n"']
    lines = f"n: 0\nn: 0\nok: true\nx: [{{ok: true}}]\nok: {other}\n"
    codes = [problem.code for problem in read_yaml_data(lines).problems]
    assert codes == ["duplicate-key", *["artifact-contradictory"] * 2]


def test_a_contradiction_is_told_behind_any_number_of_equal_keys() -> None:
    text = "{" + '"a": 1, ' * 1000 + '"ok": true, "ok": false}'
    codes = [problem.code for problem in read_json(text).problems]
    assert codes[:3] == ["artifact-contradictory", "artifact-contradictory", "duplicate-key"]
    assert len(codes) == 100


def test_an_earlier_object_under_a_repeated_key_is_not_there() -> None:
    assert locate_json('{"a": {"b": 1}, "a": 2}', ("a", "b")) is None


def test_at_most_a_hundred_mistakes_of_one_file_are_told() -> None:
    assert len(read_json("{" + '"a":1,' * 500 + '"a":1}').problems) == 100
    assert len(read_yaml_data("a: 1\n" * 500).problems) == 100


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[1]", (1,)),
        ("[1]", (-1,)),
        ("[1]", ("0",)),
        ('{"a": 1}', ("b",)),
        ('{"a": 1}', (0,)),
        ('{"a": 1}', ("a", "b")),
        ('{"a": 1} x', ("a",)),
        ('{"a": NaN}', ("a",)),
        ("[" * 100_000, (0,)),
    ],
)
def test_a_path_that_is_not_there_has_no_place(text: str, path: Path) -> None:
    assert locate_json(text, path) is None
    assert locate_json(text, path, key=True) is None


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("depth", [201, 100_000])
def test_json_is_read_to_two_hundred_levels_and_no_deeper(opening: str, depth: int) -> None:
    closing = "]" if opening == "[" else "}"
    assert read_json(opening * 200 + "1" + closing * 200).readable
    code, message, span = only_problem(read_json(opening * depth + "1" + closing * depth))
    assert (code, message) == ("artifact-unreadable", "nested more than 200 levels deep")
    assert span == str((0, 200 * len(opening), 0, 200 * len(opening) + 1))
    assert only_problem(read_json(opening * 100_000))[1] == message


def test_an_empty_list_is_a_level_and_so_is_one_that_another_value_of_its_key_replaces() -> None:
    assert read_json("[" * 200 + "]" * 200).readable
    assert not read_json("[" * 201 + "]" * 201).readable
    assert not read_json('{"a": ' + "[" * 200 + "]" * 200 + ', "a": 1}').readable


def test_many_brackets_side_by_side_are_not_deep() -> None:
    assert read_json("[" + "[]," * 5000 + '"[[[["]').readable


def test_a_text_too_deep_for_what_is_left_of_the_stack_is_unreadable_too() -> None:
    def descend(levels: int) -> ParsedText:
        return descend(levels - 1) if levels else read_json("[" * 150 + "]" * 150)

    depth = 0
    frame = sys._getframe()
    while frame:
        depth, frame = depth + 1, frame.f_back
    for left in (60, 120, 300):
        document = descend(sys.getrecursionlimit() - depth - left)
        messages = [problem.message for problem in document.problems]
        assert messages == ([] if document.readable else ["nested too deep to be read"])
    assert document.readable


# --- Data -------------------------------------------------------------------------------------------


def test_null_is_absent_and_numbers_fit_after_cleaning() -> None:
    data = {
        "a": None,
        "b": [None, {"c": None, "d": False}],
        "e": 2**63,
        "f": -(2**63),
        "g": 10**400,
        "h": "x",
    }
    biggest = sys.float_info.max
    expected = {"b": [{"d": False}], "e": float(2**63), "f": -(2**63), "g": biggest, "h": "x"}
    assert clean(data) == expected
    assert isinstance(clean(2**63), float)
    assert isinstance(clean(2**63 - 1), int)
    assert clean(True) is True
    assert clean([-math.inf, 0.5, -(10**400)]) == [-biggest, 0.5, -biggest]
    assert "a" in data


def test_dotted_keys_are_folded_into_their_paths() -> None:
    data = {"a.b": 1, "a": {"b": 0, "c": {"d": 2}}, "e.f.g": 3, "e": 5, "a.c.x": 4, "n.": 6, ".": 7}
    before = json.dumps(data)
    folded, dotted = fold_dotted(data)
    assert folded == {"a": {"b": 1, "c": {"d": 2, "x": 4}}, "e": {"f": {"g": 3}}, "n.": 6, ".": 7}
    assert dotted == ("a.b", "e.f.g", "a.c.x")
    assert json.dumps(data) == before


def test_a_folded_object_of_the_caller_is_copied_before_it_is_changed() -> None:
    data = {"a.b": {"c": 1}, "a.b.d": 2}
    assert fold_dotted(data)[0] == {"a": {"b": {"c": 1, "d": 2}}}
    assert data["a.b"] == {"c": 1}


def test_a_key_of_endless_dots_is_no_path() -> None:
    name = ".".join("a" * 60)
    assert fold_dotted({name: 1}) == ({name: 1}, ())


def test_defaults_lie_under_the_data_at_every_depth() -> None:
    data = {"a": {"b": 1, "x": "own"}, "n": 3}
    defaults = {"a": {"b": 2, "c": {"d": 4}}, "n": {"deep": 1}, "new": []}
    before = json.dumps([data, defaults])
    merged = lay_under(data, defaults)
    assert merged == {"a": {"b": 1, "x": "own", "c": {"d": 4}}, "n": 3, "new": []}
    assert json.dumps([data, defaults]) == before


# --- YAML -------------------------------------------------------------------------------------------


def broken(text: str) -> list[tuple[str, str]]:
    """The problems of a broken definition: message and the text at its span."""
    with pytest.raises(Broken) as caught:
        read_yaml(text)
    assert {problem.code for problem in caught.value.problems} == {"workflow-invalid"}
    return [(problem.message, cut(text, problem.span)) for problem in caught.value.problems]


def below(node: Node, *path: str | int) -> Node:
    for step in path:
        node = node.value[step]  # type: ignore[index]
    return node


def test_every_scalar_of_a_definition_is_text_with_its_place() -> None:
    text = "on: no\n'1': [0b, \"x\", '日本', ]\r\n\U0001f600: {a: 007}\n"
    text += "last:\n  - >-\n    one\n    two\n\n# end\n"
    root = read_yaml(text)
    assert list(root.value) == ["on", "1", "\U0001f600", "last"]
    assert below(root, "on").value == "no"
    items = [below(root, "1", i) for i in range(3)]
    assert [(item.value, item.style) for item in items] == [("0b", ""), ("x", '"'), ("日本", "'")]
    assert cut(text, below(root, "1").span) == "[0b, \"x\", '日本', ]"
    assert cut(text, below(root, "1", 2).span) == "'日本'"
    assert cut(text, root.keys["1"]) == "'1'"
    assert below(root, "\U0001f600", "a").span == Span(2, 7, 2, 10)
    assert cut(text, below(root, "\U0001f600").keys["a"]) == "a"
    assert cut(text, below(root, "last", 0).span) == ">-\n    one\n    two"
    assert cut(text, below(root, "last").span) == "- >-\n    one\n    two"
    assert cut(text, root.span) == text[: text.index("\n\n#")]
    assert text[below(root, "last", 0).start] == ">"
    assert [node.kind for node in (root, below(root, "last"), below(root, "on"))] == ["map", "list", "scalar"]


def test_line_ends_that_only_yaml_knows_do_not_move_a_place() -> None:
    text = "\ufeffa: x\u2028b: y\rc: [z]\n"
    root = read_yaml(text)
    assert below(root, "c", 0).span == Span(0, 15, 0, 16)
    assert cut(text, root.keys["a"]) == "a"
    assert cut(text, below(root, "b").span) == "y"


def test_what_a_definition_must_not_hold_is_refused_at_its_place_all_at_once() -> None:
    text = "a: &x 1\nb: *x\nc: !!str &y d\ne: !<tag:z> [!, !t 1]\n<<: {}\n? [k]\n: 1\n*x : 3\na: 2\n--- b"
    assert broken(text) == [
        ("anchors are not allowed; remove &x", "&x"),
        ("aliases are not allowed; write the value out instead of *x", "*x"),
        ("anchors are not allowed; remove &y", "&y"),
        ("tags are not allowed; how a value is read depends on its key alone", "!!str"),
        ("tags are not allowed; how a value is read depends on its key alone", "!<tag:z>"),
        ("tags are not allowed; how a value is read depends on its key alone", "!"),
        ("tags are not allowed; how a value is read depends on its key alone", "!t"),
        ("merge keys are not allowed; write the keys out", "<<"),
        ("a key must be plain text, not a list or a map", "[k]"),
        ("aliases are not allowed; write the value out instead of *x", "*x"),
        ('the key "a" already stands in line 1', "a"),
        ("a second document begins here; a file holds one", "---"),
    ]


@pytest.mark.parametrize(
    ("text", "message", "at"),
    [
        ("", "the file is empty", ""),
        ("# only a remark\n", "the file is empty", ""),
        ("a: é: c", "not valid YAML: a colon too many", ":"),
        ("a: @x", "not valid YAML: a text cannot begin with this character", "@"),
        ("a: 1\nword\nb: 2\n", "not valid YAML: this is neither a key with a colon", "word"),
        ("a: 1\nb: 'x\ny", "not valid YAML: the quoted text that starts here has no closing quote", "'x"),
        ("a: 'x' y", "not valid YAML: a key is expected here", "y"),
        ("a: [1", "not valid YAML: did not find expected ',' or ']'", "["),
        ("a: |\n\tx", "not valid YAML: found a tab character", "\t"),
        ("a: 1\n<<<<<<< HEAD\nb: 1\n", "a merge conflict was left in the file", "<<<<<<<"),
        ("a: é\x01", "a control character stands here", "\x01"),
        ("a: \ud800", "half a surrogate pair stands here; it is no character", "\ud800"),
        ("[" * 51, "nested more than 50 levels deep", ""),
        ("[" * 100_000, "not valid YAML: nested too deep", "["),
        ("- " * 100_000, "nested more than 50 levels deep", ""),
        ("a" * (256 * 1024 + 1), "longer than 256 KB", ""),
    ],
)
def test_a_broken_definition_says_what_and_where(text: str, message: str, at: str) -> None:
    ((told, place_told),) = broken(text)
    assert told.startswith(message)
    assert place_told == at


def test_a_definition_is_read_to_fifty_levels() -> None:
    assert read_yaml("[" * 50 + "]" * 50).kind == "list"


def test_a_definition_with_endless_mistakes_is_refused_early() -> None:
    assert len(broken("- *x\n" * 40_000)) == 100


def test_mistakes_before_a_syntax_error_are_told_with_it() -> None:
    assert [at for _, at in broken("a: &x 1\nb: }")] == ["&x", "}"]


def test_broken_reads_as_its_problems_and_carries_the_given_code() -> None:
    with pytest.raises(Broken, match="anchors are not allowed") as caught:
        read_yaml("&x a", code="parameter-invalid")
    assert caught.value.problems[0].code == "parameter-invalid"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None), ("~", None), ("null", None), ("NULL", None), ("nUll", "nUll"),
        ("true", True), ("TRUE", True), ("False", False), ("yes", "yes"), ("on", "on"),
        ("12", 12), ("-007", -7), ("+3", 3), ("0o17", 15), ("0x1F", 31), ("1_000", "1_000"), ("1:30", "1:30"),
        ("1.5", 1.5), (".5", 0.5), ("-1e3", -1000.0), ("1.", 1.0), (".", "."), ("1e999", "1e999"),
        (".inf", ".inf"), (".nan", ".nan"), ("2020-01-01", "2020-01-01"), ("9" * 5000, "9" * 5000),
        ("'1'", "1"), ('"null"', "null"), ("|\n  5", "5"), ("٣", "٣"),
    ],
)  # fmt: skip
def test_plain_scalars_are_typed_by_the_core_schema(text: str, value: object) -> None:
    read = typed_value(below(read_yaml(f"k: {text}"), "k"))
    assert read == value
    assert type(read) is type(value)


simple = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.from_regex(r"[a-z][a-z é:#'\"-]{0,8}", fullmatch=True)
    | st.sampled_from(["1", "null", "true", "", "- x", "a: b", "a\nb", "<<", "\U0001f600"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.from_regex(r"[a-z]{1,3}", fullmatch=True), inner, max_size=4)
    ),
    max_leaves=12,
)


def without_aliases(value: object, **options: Any) -> str:
    dumper = type("Plain", (yaml.SafeDumper,), {"ignore_aliases": lambda self, data: True})
    return yaml.dump(value, Dumper=dumper, allow_unicode=True, sort_keys=False, **options)


@given(simple, st.sampled_from([None, True, False]), st.sampled_from([20, 1000]))
def test_yaml_data_reads_back_what_was_written(value: Any, flow: bool | None, width: int) -> None:
    text = without_aliases(value, default_flow_style=flow, width=width)
    assert read_yaml_data(text) == ParsedText(value, (), True)
    assert typed_value(read_yaml(text)) == value
    for path, item in places(value):
        span = locate_yaml(text, path)
        assert span is not None
        if item not in (None, "") and not isinstance(item, (dict, list)):
            assert yaml.safe_load(cut(text, span)) == item or "\n" in cut(text, span)
        key = locate_yaml(text, path, key=True)
        assert (cut(text, key) if key else None) in (
            None,
            path[-1] if path else None,
            f"'{path and path[-1]}'",
        )


def test_yaml_data_keeps_the_last_of_equal_keys_and_tells() -> None:
    text = "a: {x: 3}\nb: [1, 2]\na: {x: 3, x: 3}\n"
    document = read_yaml_data(text)
    assert document.data == {"a": {"x": 3}, "b": [1, 2]}
    assert document.readable
    assert [problem.code for problem in document.problems] == ["duplicate-key"] * 2
    assert [problem.span and problem.span.line for problem in document.problems] == [2, 2]
    assert locate_yaml(text, ("a", "x")) == Span(2, 13, 2, 14)
    assert locate_yaml(text, ("a", "x"), key=True) == Span(2, 10, 2, 11)
    assert locate_yaml(text, ("b", 1)) == Span(1, 7, 1, 8)


@pytest.mark.parametrize("path", [("c",), (0,), ("b", 2), ("b", "x"), ("b", 0, 0), ("c", "d")])
def test_a_path_that_a_yaml_text_lacks_has_no_place(path: Path) -> None:
    assert locate_yaml("b: [1, 2]\n", path) is None
    assert locate_yaml("b: [1, 2]\n", path, key=True) is None


def test_what_has_no_key_has_no_place_of_a_key() -> None:
    assert locate_yaml("b: [1, 2]\n", (), key=True) is None
    assert locate_yaml("b: [1, 2]\n", ("b", 0), key=True) is None


def test_a_yaml_bomb_is_refused_before_it_expands() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 20)]
    text = "\n".join(lines)
    document = read_yaml_data(text)
    assert not document.readable
    assert {problem.code for problem in document.problems} == {"artifact-unreadable"}
    assert locate_yaml(text, ("a0",)) is None


# --- Places of characters ---------------------------------------------------------------------------


LINE = st.from_regex(r"[a-z0-9é日\U0001f600(){}'\"\\.,:#!=&|>-]{1,6}( {1,2}[a-z0-9é(){}'\"\\.,#!=&|>-]{1,4}){0,3}", fullmatch=True)  # fmt: skip  # noqa: E501


@st.composite
def written_scalars(draw: st.DrawFn) -> str:
    """A YAML text whose key `k` holds a scalar in one of the five styles, often over many lines."""
    lines = draw(st.lists(LINE | st.just(""), min_size=1, max_size=5))
    style = draw(st.sampled_from(["", "'", '"', "|", ">"]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    before = draw(st.sampled_from(["", "é: \U0001f600" + end, "x: |" + end + "  'k" + end]))
    if style in ("|", ">") and style:
        header = style + draw(st.sampled_from(["", "-", "+", "2", "-2", " # why", "- # k"]))
        deeper = [draw(st.sampled_from(["", "", " ", "  "])) if line else "" for line in lines]
        body = end.join(f"  {more}{line}" if line else "" for more, line in zip(deeper, lines, strict=True))
        return f"{before}k: {header}{end}{body}{end}z: 1"
    gap = end + draw(st.sampled_from(["  ", "    ", " \t"]))
    if style == '"':
        quoted = [line.replace("\\", "\\\\").replace('"', '\\"') for line in lines]
        escapes = st.sampled_from(["", "\\x41", "\\u00e9", "\\U0001F600", "\\n", "\\t", "\\x20", "\\u2028", "\\_", "\\ ", "\\/", "\\L", "\\" + gap])  # fmt: skip  # noqa: E501
        return f'{before}k: "{gap.join(draw(escapes) + line + draw(escapes) for line in quoted)}"{end}z: 1'
    if style == "'":
        return f"{before}k: '{gap.join(line.replace(chr(39), chr(39) * 2) for line in lines)}'{end}z: 1"
    return f"{before}k: {gap.join(['a', *lines])}{end}z: 1"


SIMPLE_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\/": "/", "\\_": "\xa0", "''": "'"}


def unescaped(source: str) -> str:
    if source in SIMPLE_ESCAPES:
        return SIMPLE_ESCAPES[source]
    return chr(int(source[2:], 16)) if re.fullmatch(r"\\[xuU][0-9a-fA-F]+", source) else source


@given(written_scalars(), st.booleans())
@settings(max_examples=300)
def test_every_character_of_a_scalar_is_found_in_the_file(text: str, mark: bool) -> None:
    text = "\ufeff" * mark + text
    try:
        node = below(read_yaml(text), "k")
    except Broken:
        return  # not every random line is a plain scalar
    value = str(node.value)
    found = [place(text, node, offset) for offset in range(len(value))]
    for character, span in zip(value, found, strict=True):
        assert node.span[:2] <= span[:2]
        assert span[:2] <= span[2:]
        if character not in SPACES:
            assert unescaped(cut(text, span)) == character
            assert span[2:] <= node.span[2:]
    solid = [span for character, span in zip(value, found, strict=True) if character not in SPACES]
    assert all(one[2:] <= other[:2] for one, other in pairwise(solid))
    assert all(one[:2] <= other[:2] for one, other in pairwise(found))


def test_a_place_may_span_lines_and_the_end_is_a_place_too() -> None:
    text = "k: >-\r\n  size(a)  ==\r\n  'é' \r\nz: 1"
    node = below(read_yaml(text), "k")
    value = str(node.value)
    assert value == "size(a)  == 'é' "
    assert cut(text, place(text, node, value.index("=="), 6)) == "==\r\n  'é'"
    assert cut(text, place(text, node, 8)) == " "
    assert place(text, node, 8) == Span(1, 10, 1, 11)
    assert place(text, node, len(value)) == place(text, node, 999) == Span(2, 5, 2, 5)
    assert place(text, node, -5, 0) == Span(1, 2, 1, 2)
    assert place(text, read_yaml(text), 3) == read_yaml(text).span


def test_the_end_of_a_scalar_and_its_inner_spaces_are_exact_in_quotes() -> None:
    text = "k: 'it''s  x '"
    node = below(read_yaml(text), "k")
    assert cut(text, place(text, node, 2)) == "''"
    assert place(text, node, 4) == Span(0, 9, 0, 10)
    assert place(text, node, 5) == Span(0, 10, 0, 11)
    assert place(text, node, 7) == Span(0, 12, 0, 13)
    empty = 'k: ""'
    assert place(empty, below(read_yaml(empty), "k"), 0) == Span(0, 4, 0, 4)
    assert place("k: v", below(read_yaml("k: v"), "k"), 1) == Span(0, 4, 0, 4)


def test_the_bounds_are_what_the_documentation_says() -> None:
    assert (documents.MAX_JSON_DEPTH, yaml_text.MAX_YAML_DEPTH) == (200, 50)
    assert (yaml_text.MAX_YAML_LENGTH, documents.MAX_PROBLEMS) == (262_144, 100)


def test_places_are_looked_up_for_the_keys_that_are_told_only(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up = 0
    span_between = documents.span_between

    def counted(text: str, start: int, end: int) -> Span:
        nonlocal looked_up
        looked_up += 1
        return span_between(text, start, end)

    monkeypatch.setattr(documents, "span_between", counted)
    for end in ("", ', "ok": 1, "ok": 2'):
        text = "{" + ", ".join('"a": 1' for _ in range(5000)) + end + "}"
        assert len(read_json(text).problems) == 100
    assert looked_up <= 202
