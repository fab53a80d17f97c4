"""Definitions as texts: what is wrong is told at its character, all of it at once."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from phasekeeper.orchestration.definition.compiler import compile_definition
from phasekeeper.orchestration.definition.reader import InvalidWorkflow, Source, folders_of, load_definition
from phasekeeper.orchestration.lint import checks as lint
from phasekeeper.orchestration.lint.checks import parse_workflow
from phasekeeper.server.workspace.definitions import built_in_sources

from tests.orchestration.definitions import BODY, HEAD, errors, sound, text, where

MISSING = "unknown name 'stat'; did you mean 'state'?"


def test_the_small_definition_is_sound():
    workflow = sound()
    assert workflow.name == workflow.title == "small"
    assert list(workflow.phases) == ["one", "two"]
    assert workflow.phases["one"].outcomes == ("ok", "error")
    assert workflow.phases["two"].terminal == "complete"
    assert workflow.plan is None
    assert lint.check(workflow) == []


@pytest.mark.parametrize("name", built_in_sources())
def test_a_built_in_definition_has_neither_an_error_nor_a_warning(name: str):
    source = built_in_sources()[name]
    assert lint.check(parse_workflow(source.text, source.path)) == []


@pytest.mark.parametrize("name", built_in_sources())
def test_a_trusted_definition_is_the_same_as_a_checked_one(name: str):
    source = built_in_sources()[name]
    checked = compile_definition(*load_definition(source))
    trusted = compile_definition(*load_definition(source), trusted=True)
    assert checked.values == trusted.values
    assert {n: v.type for n, v in checked.values.items()} == {n: v.type for n, v in trusted.values.items()}
    assert list(checked.all_rules()) == list(trusted.all_rules())


# ---- places -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "part"),
    [
        ("flag: state.x == stat.y", "stat.y"),
        ("flag: 'state.x == ''a'' && stat.y'", "stat.y"),
        ('flag: "state.x == \\"a\\" && stat.y"', "stat.y"),
        ("flag: >-\n    state.x == 1\n    || stat.y == 2", "stat.y"),
        ("flag: |\n    state.x == 1\n\n    || stat.y == 2", "stat.y"),
        ("flag: state.x == 1\n    || stat.y == 2", "stat.y"),
        ("{flag: true, other: stat.y == 2}", "stat.y"),
        ("flag: state.x == '🙂' + stat.y", "stat.y"),
        ("flag:   stat.y", "stat.y"),
    ],
)
def test_an_error_in_an_expression_stands_at_its_character_however_it_is_written(written: str, part: str):
    definition = text() + "values:\n  " + written + "\n"
    (said,) = errors(definition)
    assert said.startswith(f"small.yaml:{where(definition, part)}: unknown name 'stat.y'")


def test_an_error_in_a_template_stands_at_its_character():
    definition = text('notes:\n  n: {text: "{state.a} and {stat.b} of {stat.c}"}\n')
    said = "unknown name 'stat.{}'"
    first, second = errors(definition)
    assert first.startswith(f"small.yaml:{where(definition, 'stat.b')}: {said.format('b')}")
    assert second.startswith(f"small.yaml:{where(definition, 'stat.c')}: {said.format('c')}")


@pytest.mark.parametrize("quote", ['"', "'", ""])
def test_an_error_in_a_key_that_is_a_template_stands_at_its_character(quote: str):
    key = f"{quote}actors.{{stat.b}}.x{quote}"
    definition = HEAD + BODY.replace("effects: {", f"effects:\n  ok: {{{key}: step}}\n").replace(
        'answer.help.go: {ok: "true"}}', '  answer.help.go: {ok: "true"}'
    )
    if not quote:
        definition = definition.replace("{" + key + ": step}", f"\n    {key}: step")
    assert [line.split(": ")[0] for line in errors(definition)] == [
        f"small.yaml:{where(definition, 'stat.b')}"
    ]


def test_an_explicit_key_of_several_lines_has_a_place():
    definition = text(
        """\
        gates:
          g:
            after: one
            criteria: [{text: t, when: "true"}]
            forbidden:
              ? |
                {stat.b}
              : no
        """
    )
    assert [line.split(": ")[0] for line in errors(definition)] == [
        f"small.yaml:{where(definition, 'stat.b')}"
    ]


def test_several_errors_are_told_at_once_in_the_order_of_the_file():
    definition = text(
        """\
        values: {a: stat.x, b: "1 +", c: a == 1}
        limits: {l: {count: "'x'", max: 3}}
        gates: {g: {after: onne, criteria: [{text: t, when: reday, artifact: plan}]}}
        """
    )
    places = [line.split(": ")[0] for line in errors(definition)]
    assert places == [
        f"small.yaml:{where(definition, part)}" for part in ("stat.x", '+"', "'x'", "onne", "reday", "plan}")
    ]


def test_unknown_keys_and_words_are_told_with_what_was_meant():
    definition = text(
        """\
        gate: {}
        progress: {done: 1, totl: 2, total: 2}
        notes: {n: {text: t, when: "true", becuase: x}}
        """
    ).replace("terminal: complete", "terminal: complet")
    known = "unknown key 'becuase' in a note; known: title, when, text"
    word = "'complet' is not known here; did you mean 'complete'?"
    unknown = "unknown key 'gate' in a definition; did you mean 'gates' or 'state'?"
    assert errors(definition) == [
        f"small.yaml:{where(definition, 'complet}')}: {word}",
        f"small.yaml:{where(definition, 'gate:')}: {unknown}",
        f"small.yaml:{where(definition, 'totl')}: unknown key 'totl' in a progress; did you mean 'total'?",
        f"small.yaml:{where(definition, 'becuase')}: {known}",
    ]


def test_missing_keys_are_told_with_what_they_are_for():
    assert errors("workflow: x\n") == [
        "small.yaml:1:1: a definition needs 'phase': which phase the run is in",
        "small.yaml:1:1: a definition needs 'phases': the phases, in order",
        "small.yaml:1:1: a definition needs 'runs': which folders are runs",
    ]


def test_what_must_hold_at_least_one_may_not_be_empty():
    definition = HEAD.replace("[tasks/*]", "[]") + "phase: []\nphases: {}\n"
    assert errors(definition) == [
        f"small.yaml:{where(definition, '[]')}: at must hold at least one",
        f"small.yaml:{where(definition, '[]', 1)}: phase must hold at least one",
        f"small.yaml:{where(definition, '{}')}: phases must hold at least one",
    ]


@pytest.mark.parametrize("whole", ["", "- a", "text", "{", "a: b: c", "\tx: 1", "x: !y z"])
def test_a_text_that_is_no_definition_is_refused_with_a_place(whole: str):
    assert errors(whole)[0].startswith("small.yaml:1:")


def test_values_of_the_wrong_kind_are_told():
    definition = text(
        """\
        title: [a]
        aliases: [a]
        parameters: {p: {default: {a: 1}}, q: 3}
        before: {a: b}
        """
    ).replace("terminal: complete", "terminal: [x], detour: maybe, produces: one")
    said = [line.split(": ", 1)[1] for line in errors(definition)]
    assert said == [
        "expected a word, found a list",
        "expected true or false",
        "expected a list, found a scalar",
        "expected text, found a list",
        "expected a map, found a list",
        "expected a parameter (a map), found a scalar",
        "expected a list, found a map",
    ]


# ---- guards that YAML reads otherwise ---------------------------------------------------------


@pytest.mark.parametrize(
    "guard",
    [
        "!state.ok",
        "*state",
        "&state",
        "{state.ok}",
        "[1] == state.l",
        "'a' == state.b",
        '"a" == state.b',
        "state.a ? b: c",
        "@state",
        "`state`",
        "%state",
        "state.a == 'x #1'",
        "state.a in ['x', # y",
    ],
)
def test_a_guard_that_yaml_takes_for_something_else_is_told_to_be_quoted(guard: str):
    definition = HEAD + BODY.replace('"state.ok == true"', guard)
    block = text(f"values:\n  x: {guard}\n")
    for one in (definition, block):
        said = errors(one)
        assert "quote" in said[0], said


def test_a_comment_behind_a_sound_guard_is_a_comment():
    assert sound("values:\n  x: state.a == 'x' # why\n").values["x"].source == "state.a == 'x'"


# ---- extend -----------------------------------------------------------------------------------

BASE = Source(
    "base.yaml", text("parameters: {most: {default: 3}, words: {default: a}}\n").replace("small", "base")
)


def _lines(told: InvalidWorkflow) -> list[tuple[str, int]]:
    return [(found.path, found.span.line) for found in told.findings if found.span]


def extended(own: str, **bases: Source):
    known = {"base": BASE, **bases}
    return lambda: parse_workflow(own, "own.yaml", known.get)


def test_an_extension_merges_maps_replaces_lists_and_removes_nulls():
    own = """\
workflow: own
extend: base
runs: {at: [elsewhere/*]}
parameters: {most: {default: 5}, words: null}
phases:
  one: {title: The first}
  three: {terminal: failed, agent: null}
otherwise: [{when: "state.bad == true", to: three}]
"""
    workflow = extended(own)()
    assert workflow.name == "own"
    assert workflow.runs.at == ("elsewhere/*",)
    assert workflow.runs.marker.file == "state.json"
    assert list(workflow.phases) == ["one", "two", "three"]
    assert (workflow.phases["one"].title, len(workflow.phases["one"].rules)) == ("The first", 2)
    assert list(workflow.parameters) == ["most"]
    assert workflow.parameters["most"].default == 5
    assert workflow.digest != parse_workflow(BASE.text).digest


def test_a_definition_names_what_it_extends_and_the_digest_covers_it():
    own = "workflow: own\nextend: base\n"
    other = Source("base.yaml", BASE.text + "# more\n")
    assert extended(own)().digest != extended(own, base=other)().digest


def test_errors_point_into_the_file_that_holds_them():
    base = Source("base.yaml", BASE.text + "values: {bad: stat.x}\nnots: {}\n")
    own = "workflow: own\nextend: base\nvalues: {worse: stat.y}\n"
    with pytest.raises(InvalidWorkflow) as told:
        extended(own, base=base)()
    assert _lines(told.value) == [("base.yaml", base.text.count("\n") - 1)]
    base = base._replace(text=base.text.replace("nots: {}\n", ""))
    with pytest.raises(InvalidWorkflow) as told:
        extended(own, base=base)()
    assert _lines(told.value) == [
        ("base.yaml", base.text.count("\n") - 1),
        ("own.yaml", 2),
    ]


def test_static_checks_point_into_the_file_that_holds_the_rule():
    base = Source("base.yaml", BASE.text.replace("to: two", "to: tow").replace("ask: help", "to: two"))
    with pytest.raises(InvalidWorkflow) as told:
        extended("workflow: own\nextend: base\nphases: {two: {agent: x}}\n", base=base)()
    assert {one.path for one in told.value.findings} == {"base.yaml"}


def test_a_bad_name_from_the_extended_file_is_told_there():
    base = Source("base.yaml", BASE.text + "values:\n  Bad: 'true'\n")
    with pytest.raises(InvalidWorkflow) as told:
        extended("workflow: own\nextend: base\nvalues: {good: 'true'}\n", base=base)()
    assert _lines(told.value) == [("base.yaml", base.text.count("\n") - 1)]


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ("workflow: own\nextend: nobody\n", "own.yaml:2:9: unknown workflow 'nobody' to extend"),
        ("workflow: own\nextend: own\n", "own.yaml:2:9: extends itself"),
        ("workflow: own\nextend: circle\n", "circle.yaml:2:9: extends itself"),
        ("workflow: own\nextend: broken\n", "broken.yaml:1:5: "),
        ("workflow: own\nextend: [a]\n", "own.yaml:2:9: unknown workflow '' to extend"),
    ],
)
def test_an_extension_that_leads_nowhere_or_back_is_refused(own: str, said: str):
    circle = Source("circle.yaml", "workflow: circle\nextend: own\n")
    with pytest.raises(InvalidWorkflow) as told:
        extended(own, circle=circle, broken=Source("broken.yaml", "a: b: c"))()
    assert str(told.value).startswith(said)


def test_a_base_that_is_no_map_gives_nothing():
    with pytest.raises(InvalidWorkflow, match=r"own.yaml:1:1: a definition needs"):
        extended("workflow: own\nextend: list\n", list=Source("list.yaml", "- a"))()


# ---- names ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["1", "0b", "on", "no", "null", "4a", "~", "true", "a-b", "ä"])
def test_a_phase_may_have_any_name_without_blanks(name: str):
    workflow = parse_workflow(text().replace("  two:", f"  {name}:").replace("to: two", f"to: {name}"))
    assert list(workflow.phases) == ["one", name]


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (
            "values: {Big: 'true'}",
            "'Big' must begin with a small letter, then letters, digits and _: guards use it",
        ),
        ("values: {a-b: 'true'}", "'a-b' must begin"),
        ("values: {for: 'true'}", "'for' is a name of the language"),
        ("values: {state: 'true'}", "'state' is a name of the language"),
        ("values: {tasks: 'true'}", "'tasks' is a name of the language"),
        ("parameters: {in: {default: 1}}", "'in' is a name of the language"),
        ("limits: {2x: {count: 1, max: 2}}", "'2x' must begin"),
        ("artifacts: {report: {paths: [a], kind: json}}", "'report' is a name of the language"),
        ("artifacts: {a: {paths: [a], kind: json}}\nvalues: {a: '1'}", "'a' is an artifact's name already"),
        ("gates: {'a b': {after: one, criteria: [{text: t, when: 'true'}]}}", "'a b' is no name"),
        ("actions: {one: {}}", "'one' is a phase's name already"),
        ("actions: {next: {}}", "'next' has a meaning of its own here; choose another name"),
        ("actions: {'a*b*': {}}", "'a*b*' is no name"),
        ("actions: {'*': {}}", "'*' is no name"),
        ("actions: {look: {judges: [onne]}}", "unknown step 'onne'; did you mean 'one'?"),
        ("aliases: {x: onne}", "unknown phase 'onne'; did you mean 'one'?"),
        ("actions: {do-*: {}}\naction_aliases: {x: did-it}", "unknown action 'did-it'"),
    ],
)
def test_names_that_cannot_be_used_are_told(extra: str, said: str):
    found = errors(text(extra + "\n"))
    assert any(line.split(": ", 1)[1].startswith(said) for line in found), found


def test_options_may_not_be_called_like_no_answer():
    found = errors(text().replace("{go: go on}", "{none: a, go: b}"))
    assert found[0].endswith("'none' has a meaning of its own here; choose another name")


def test_a_phase_may_not_be_called_next():
    assert "'next' has a meaning of its own here" in errors(text().replace("  two:", "  next:"))[0]


@pytest.mark.parametrize("name", ["a b", "", "a*", "{x}"])
def test_a_workflow_needs_a_name_that_can_be_typed(name: str):
    assert "is no name" in errors(text().replace("workflow: small", f"workflow: '{name}'"))[0]


# ---- parts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{kind: json}", "an artifact has either paths or listed"),
        ("{kind: json, paths: [a], listed: \"['a']\"}", "an artifact has either paths or listed"),
        ("{kind: json, paths: [a], require: {b: strng}}", "'strng' is no type; did you mean 'string'?"),
        ("{kind: json, paths: [a], of: [b]}", "unknown artifact 'b'; known: a"),
        (
            "{kind: json, paths: [a], of: [c]}, c: {kind: files, listed: \"['x']\"}",
            "'c' is listed; of needs an artifact that has paths",
        ),
        (
            "{kind: files, listed: \"['x']\", of: [a]}",
            "'a' is listed, so it cannot judge others; give it paths or no of",
        ),
        (
            "{kind: files, listed: \"['x']\", decided_by: person}",
            "'a' is listed, so nobody can sign it; give it paths or no decided_by",
        ),
        ("{kind: json, paths: [a], defaults: [1]}", "expected a map, found a list"),
        ("{kind: jsn, paths: [a]}", "'jsn' is not known here; did you mean 'json'?"),
    ],
)
def test_what_is_wrong_with_an_artifact_is_told(entry: str, said: str):
    assert errors(text(f"artifacts: {{a: {entry}}}\n"))[0].endswith(said)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("{because: nothing}", "a rule needs one of to, act, wait, stop, ask or warn"),
        ("{to: two, stop: complete}", "a rule has one outcome, this one has to and stop"),
        ("{act: x, wait: person}", "a rule has one outcome, this one has act and wait"),
        ("{ask: halp}", "unknown question 'halp'; did you mean 'help'?"),
        ("{when: \"'x'\", to: two}", "must be true or false, is text"),
        ("{when: , to: two}", "an expression is expected, this is empty"),
    ],
)
def test_what_is_wrong_with_a_rule_is_told(rule: str, said: str):
    assert errors(text(f"otherwise: [{rule}]\n"))[0].endswith(said)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{default: null}", "the default is a number, a word, true or false"),
        ("{default: 99999999999999999999}", "the default has more digits than a whole number can have here"),
        ("{default: 1, min: a}", "min and max are numbers"),
        ("{default: 1, min: true}", "min and max are numbers"),
        ("{default: a, min: 1}", "min and max are for numbers"),
        ("{default: a, one_of: [b]}", "the default 'a' is none of one_of"),
        ("{default: a, one_of: b}", "one_of is a list of words"),
        ("{default: a, one_of: []}", "one_of is a list of words"),
        ("{default: 1, min: 2}", "the default is outside min and max"),
        ("{default: 3, max: 2.5}", "the default is outside min and max"),
        ("{default: []}", "a list is of names: say `names: checks`"),
        ("{default: a, names: checks}", "the default is a list of names, as []"),
        ("{default: [1], names: checks}", "the default is a list of names, as []"),
        ("{default: [], names: checks, one_of: [a]}", "names have neither min, max nor one_of"),
    ],
)
def test_a_parameter_whose_parts_contradict_each_other_is_told(entry: str, said: str):
    assert errors(text(f"parameters: {{p: {entry}}}\n"))[0].endswith(f"parameter p: {said}")


def test_the_type_of_a_parameter_is_that_of_its_default():
    workflow = sound(
        """\
        parameters:
          a: {default: 1, min: 0, max: 3}
          b: {default: 1.5}
          c: {default: true}
          d: {default: x, one_of: [x, y]}
          e: {default: "1", from: state.e}
        """
    )
    facts = workflow.language.facts
    assert [facts[f"parameters.{name}"] for name in "abcde"] == ["int", "double", "bool", "string", "string"]
    assert workflow.parameters["d"].one_of == ["x", "y"]


def test_every_part_of_a_definition_reaches_the_model():
    workflow = sound(
        """\
        source: a test
        artifacts:
          doc: {paths: [a.json, /b.json], kind: json, require: {ok | is.ok: bool, word: [x, y]}}
          plan: {paths: [PLAN.md], kind: master-plan, tasks: "*.md"}
          named: {listed: plan.files, kind: files}
        reports:
          files: [reports/*.md]
          read:
            one: {heading: [A, B], outcome: Status, where: {Mode: X}, words: {Impact: {high: error}}}
            two: {heading: {Done: ok}}
        report_stage: "'1'"
        skipped_stages: "[]"
        checked_stages: "[]"
        values: {done: plan.done > 0}
        limits: {rounds: {count: plan.done, max: 3}}
        actions: {do-*: {title: Do it, when: done, person: look, agent: me}}
        action_aliases: {did: do-it}
        progress: {done: plan.done, total: plan.total}
        notes: {n: {when: done, text: "{plan.done}"}}
        """,
        BODY.replace(
            "two: {terminal: complete}", "two: {terminal: complete, attested: 'true', agent: [a, b]}"
        ).replace(
            "effects: {",
            'effects: {start: [{a: step}, {file: "x/{step}", create: string(now)}], '
            'ok: {file: t, append: "1"}, ',
        ),
    )
    assert workflow.plan and workflow.plan.id == "plan"
    assert workflow.artifacts["doc"].require == ((("ok", "is.ok"), "bool"), (("word",), ("x", "y")))
    assert workflow.language.variables["plan.total"] == "int"
    assert "named" not in workflow.language.variables
    forms = workflow.reports.read.values()
    assert [dict(form.headings) for form in forms] == [
        {"A": "", "B": ""},
        {"Done": "ok"},
    ]
    assert [write.kind for write in workflow.effects["start"]] == ["set", "create"]
    assert workflow.effects["ok"][0].kind == "append"
    assert workflow.actions["do-*"].agents == ("me",)
    assert workflow.progress and workflow.notes["n"].title == "n"
    assert workflow.order("two") == 1
    assert workflow.keys["questions.help.go"].span.line == 9


def test_a_file_is_written_by_one_verb_and_by_nothing_else():
    for effect in ("{file: a}", "{file: a, create: '1', append: '2'}", "{file: a, create: '1', more: '2'}"):
        found = errors(text().replace("effects: {", f"effects: {{ok: {effect}, "))
        assert found[0].endswith("a file is written by create, append or replace, and by nothing beside it")


def test_what_a_rule_sets_may_use_the_names_of_effects():
    workflow = sound("otherwise: [{when: 'state.x == 1', to: two, set: {at: string(now)}}]\n")
    assert workflow.otherwise[0].set["at"].type == "string"


def test_the_phase_may_be_told_by_a_list_of_ways():
    workflow = sound(
        body=BODY.replace("phase: state.phase", "phase: [{when: 'state.x == 1', is: two}, {is: one}]")
    )
    assert isinstance(workflow.phase, tuple)
    assert [way.where for way in workflow.phase] == ["phase[0]", "phase[1]"]


def test_more_than_five_hundred_expressions_are_refused_before_they_cost_time():
    values = "".join(f"  v{n}: 'true'\n" for n in range(501))
    assert errors(text(f"values:\n{values}"))[0].endswith("this is expression 501, at most 500 are allowed")
    note = "{plan}" * 600
    assert "at most 500 are allowed" in errors(text() + f"notes: {{n: {{text: '{note}'}}}}\n")[0]


def test_a_marker_needs_something_to_look_for():
    found = errors(
        text().replace("marker: {file: state.json}", "marker: {any: [{journal: small}, {text: x}]}")
    )
    assert found[0].endswith("a marker needs a file or a journal")


def test_where_runs_are_is_known_before_a_definition_is_compiled():
    assert folders_of(load_definition(Source("a", text()))[0]) == ("tasks/*",)
    for broken in ("a: 1", "runs: 1", "runs: {at: x}", "runs: {at: {a: b}}", "- a"):
        assert folders_of(load_definition(Source("a", broken))[0]) == ()


# ---- whatever stands in the file --------------------------------------------------------------

CHARACTERS = "{}[]()!&*|>'\":,#-? \n\tabé🙂\\.=0"


def _mutated(source: str, seed: int) -> str:
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 4)):
        lines = source.split("\n")
        at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        match chance.randrange(6):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[other])
            case 2:
                lines[at] = lines[other]
            case 3:
                lines[at] = lines[at].replace(chance.choice(CHARACTERS), chance.choice(CHARACTERS))
            case 4:
                column = chance.randint(0, len(lines[at]))
                lines[at] = lines[at][:column] + chance.choice(CHARACTERS) + lines[at][column:]
            case _:
                column = chance.randint(0, len(lines[at]))
                lines[at] = lines[at][:column]
        source = "\n".join(lines) or "x"
    return source


@pytest.mark.parametrize("name", built_in_sources())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32))
def test_a_broken_definition_is_told_and_nothing_else_is_raised(name: str, seed: int):
    source = _mutated(built_in_sources()[name].text, seed)
    try:
        parse_workflow(source, "mutated.yaml")
    except InvalidWorkflow as told:
        lines = source.split("\n")
        for found in told.findings:
            assert found.path == "mutated.yaml"
            assert found.message
            if found.span:
                assert 0 <= found.span.line <= len(lines)
                assert found.span.column <= len(lines[min(found.span.line, len(lines) - 1)])
