"""Static checks: each fires where it should, and not beside it."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.definition.phase_edges import edges

from tests.orchestration.definitions import BODY, errors, faults, sound, text, where

PLAN = "artifacts: {plan: {paths: [PLAN.md], kind: master-plan}, doc: {paths: [doc.json], kind: json}}\n"


def said(extra: str, body: str = BODY) -> list[str]:
    """What the checks say, without places; not every body of `phases` asks its question."""
    lines = [line.split(" ", 2)[0] + " " + line.split(" ", 2)[2] for line in faults(text(extra, body))]
    return [line for line in lines if line != "warning no rule asks question 'help'"]


def guard(expression: str) -> str:
    """A rule with a guard that leads nowhere new, and the artifacts it may use."""
    quoted = expression.replace('"', '\\"')
    return PLAN + f'otherwise: [{{when: "{quoted}", to: one}}]\n'


# ---- null, has, size --------------------------------------------------------------------------


@pytest.mark.parametrize("expression", ["state.x == null", "null != state.x.y", "[state.x == null, true][1]"])
def test_a_comparison_with_null_is_an_error(expression: str):
    assert said(guard(expression)) == [
        "error null is absent before guards see it: use has(x), or x == [] and the like"
    ]


@pytest.mark.parametrize("expression", ["state.x == 0.0", "state.x == ''", "has(state.x)"])
def test_other_constants_are_no_null(expression: str):
    assert said(guard(expression)) == []


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("has(valid.doc)", "valid.doc"),
        ("!has( plan.done)", "plan.done"),
        ("state.x == 1 || has(answers.help)", "answers.help"),
    ],
)
def test_has_of_a_name_that_is_always_there_is_an_error(expression: str, name: str):
    definition = text(guard(expression))
    assert errors(definition) == [
        f"small.yaml:{where(definition, name)}: has({name}) is always true; use {name}"
    ]


@pytest.mark.parametrize(
    "expression", ["has(doc.ok)", "has(state.valid.doc)", "valid.doc", "has({'a': 1}.b)"]
)
def test_has_of_data_is_right(expression: str):
    assert said(guard(expression)) == []


@pytest.mark.parametrize(
    "expression",
    [
        "size(state.l.filter(x, x > 1)) == 0",
        "state.l.filter(x, x > 1).size() > 0",
        "0 != size(state.l.map(x, x))",
    ],
)
def test_counting_a_filter_to_compare_it_with_nothing_is_a_warning(expression: str):
    (found,) = said(guard(expression))
    assert found.startswith("warning counting a filter looks at every item twice: write x.exists(..)")


@pytest.mark.parametrize(
    "expression",
    [
        "size(state.l) == 0",
        "state.l.filter(x, x > 1).size() > 2",
        "state.l.filter(x, x > 1) == []",
        "state.x == 0",
    ],
)
def test_other_sizes_are_right(expression: str):
    assert said(guard(expression)) == []


# ---- patterns and fields ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        "count({'phase': 'one'}) > 0",
        "newest({'phase': 'one', 'stage': '1'}).seq > 0",
        "records_since({'kind': 'start'}, {'phase': 'one'}) == []",
        "unreported({}, {'phase': 'one'}) == []",
    ],
)
def test_a_pattern_of_a_phase_that_is_no_result_is_a_warning(expression: str):
    assert said(guard(expression)) == [
        "warning also matches starts and answers: a pattern that means a result says 'kind': 'report'"
    ]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("count({'fase': 'one'}) > 0", "a record has no field 'fase'; did you mean 'phase'"),
        ("tasks({'stagee': '1'}) == []", "a task has no field 'stagee'; did you mean 'stage'?"),
        ("tasks(state.x == 1 ? {'a': '1'} : {'id': '1'}) == []", "a task has no field 'a'"),
        ("unreported({'x': 1}, {}) == []", "a task has no field 'x'"),
        ("unreported_since({}, {'xy': 1}, {}) == []", "a task has no field 'xy'"),
        ("unreported({}, {'optoin': 1}) == []", "a record has no field 'optoin'; did you mean 'option'"),
        ("stage_ids({'open': true}) == []", "a stage has no field 'open'; known: id, title"),
        ("count({'tasks': 'x'}) > 0", "'tasks' is a list, and a pattern compares single values: use"),
        ("tasks({'files': 'x'}) == []", "'files' is a list, and a pattern compares single values: use"),
        ("report.outcom == 'x'", "a record has no field 'outcom'; did you mean 'outcome'?"),
        ("newest({'kind': 'start'}).fase == ''", "a record has no field 'fase'; did you mean 'phase'"),
        ("records({}).newest().fase == ''", "a record has no field 'fase'"),
        ("records({})[0].fase == ''", "a record has no field 'fase'"),
        ("records({}).exists(r, r.fase == '')", "a record has no field 'fase'"),
        ("records({}).filter(r, r.seq > 1).keep(2).exists(r, r.fase == '')", "a record has no field 'fase'"),
        (
            "(state.x == 1 ? tasks({}) : unreported({}, {})).exists(t, t.name == '')",
            "a task has no field 'name'",
        ),
        ("open_stage([], []).name == ''", "a stage has no field 'name'"),
        ("last.fase == ''", "a record has no field 'fase'"),
        (
            "has(report.outcome)",
            "a record has every field: has(..outcome) is always true, compare it with '' or []",
        ),
        ("has(last.outcome) && last.outcome == 'ok'", "a record has every field"),
    ],
)
def test_a_field_that_nothing_has_is_an_error(expression: str, message: str):
    values = "values: {last: \"newest({'kind': 'report'})\"}\n"
    found = said(values + guard(expression))
    assert len(found) == 1, found
    assert found[0].startswith("error " + message)


@pytest.mark.parametrize(
    "expression",
    [
        "count({'phase': 'one', 'kind': 'report'}) + count({'phase': 'one', 'outcome': 'ok'}) > 0",
        "newest({'kind': ['start', 'report']}).outcome == 'ok'",
        "state.records.exists(r, r.anything == 1)",
        "records({}).map(r, {'a': r.seq}).exists(x, x.a == 1)",
        "tasks({'done': true}).exists(t, t.requires_ux_dx_review)",
        "has(open_stage([], []).id)",
        "[state].newest().anything == 1",
        "(state.x == 1 ? state.r : report).anything == 1",
        "records({}).map(report, report.seq) == [] && state.report.x == 1",
        "report.at.anything == 1",
        "state.l.filter(x, x.a).exists(x, x.b)",
    ],
)
def test_fields_that_are_there_or_cannot_be_told_are_right(expression: str):
    assert said(guard(expression)) == []


# ---- rules ------------------------------------------------------------------------------------


def test_a_rule_behind_one_that_always_fits_is_an_error():
    definition = text("otherwise: [{to: two}, {when: 'state.x == 1', to: one}]\n")
    said = "otherwise[1] is never tried: otherwise[0] has no `when` and always fits"
    assert faults(definition) == [f"error {where(definition, '{when:', 2)} {said}"]


def test_a_rule_that_only_warns_hides_none():
    assert said("before: [{warn: note-this}, {when: 'state.x == 1', to: two}]\n") == []


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("{when: 'state.x == 1', to: tow}", "error unknown phase 'tow'; did you mean 'two'?"),
        ("{when: 'state.x == 1', act: do-thing}", "error unknown action 'do-thing'; did you mean 'do-that'?"),
        ("{when: 'state.x == 1', warn: Not_A_Code}", "error 'Not_A_Code' is no code: small letters and"),
    ],
)
def test_a_rule_that_leads_to_nothing_known_is_an_error(rule: str, message: str):
    found = said(f"actions: {{do-that: {{}}}}\notherwise: [{rule}]\n")
    assert [line.startswith(message) for line in found] == [True]


def test_computed_and_starred_targets_are_right():
    assert (
        said(
            """\
            actions: {do-*: {}, go: {}}
            action_aliases: {went: go}
            otherwise:
              - {when: "state.x == 1", act: do-this}
              - {when: "state.x == 2", act: "do-{state.x}"}
              - {when: "state.x == 3", act: went, warn: artifact-stale}
              - {when: "state.x == 4", to: "{state.to}", warn: my-own-code2}
              - {when: "state.x == 5", to: next}
            """
        )
        == []
    )


# ---- ways forward -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        "state.r != 'fail'",
        "!(state.r == 'fail')",
        "!(state.r in ['fail', 'error'])",
        "state.r != 'fail' && state.s != 'bad'",
        "state.r != 'fail' || !(state.s in ['x'])",
    ],
)
def test_a_way_forward_or_a_criterion_that_only_denies_is_an_error(expression: str):
    body = BODY.replace("state.ok == true", expression)
    assert said("", body) == [
        "error this way forward only denies a word, so anything unheard of opens it: write what must hold"
    ]
    gate = f'gates: {{g: {{after: one, criteria: [{{text: t, when: "{expression}"}}]}}}}\n'
    assert said(gate) == [
        "error this criterion only denies a word, so anything unheard of meets it: write what must hold"
    ]


@pytest.mark.parametrize(
    "expression",
    [
        "state.r == 'ok'",
        "state.r != 'fail' && state.s == 'ok'",
        "state.r != ''",
        "state.r != state.s",
        "!(state.r in state.l)",
        "!(state.r in [])",
        "!state.bad",
        "state.n != 3",
        "state.l != []",
    ],
)
def test_a_guard_that_says_what_must_hold_is_right(expression: str):
    assert said("", BODY.replace("state.ok == true", expression)) == []


def test_a_way_back_may_deny():
    body = BODY.replace("two: {terminal: complete}", "two: {rules: [{when: \"state.r != 'x'\", to: one}]}")
    assert said("", body) == []


@pytest.mark.parametrize("outcome", ["stop: complete", "to: next"])
def test_to_be_complete_and_to_go_on_are_ways_forward(outcome: str):
    body = BODY.replace('when: "state.ok == true", to: two', f"when: \"state.r != 'x'\", {outcome}")
    assert any("only denies a word" in line for line in said("", body))


# ---- what tells the phase ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("early", "extra"),
    [
        ("phase", ""),
        ("report.outcome", ""),
        ("late", "values: {late: other, other: report.outcome}\n"),
        ("string(limits.l.count)", "limits: {l: {count: int(report.seq), max: 3}}\n"),
        ("answers.help", ""),
    ],
)
def test_what_tells_the_phase_cannot_use_the_phase(early: str, extra: str):
    body = BODY.replace("phase: state.phase", f"phase: {early}").replace(
        "ask: Help?,", "ask: Help?, scope: phase,"
    )
    found = [line for line in said(extra, body) if "known only once the phase is" in line]
    name = "phase" if early in ("phase", "answers.help") else "report"
    assert found == [f"error uses {name!r}, which is known only once the phase is"]


def test_ways_to_the_phase_are_looked_through_too():
    body = BODY.replace(
        "phase: state.phase", "phase: [{when: phase == 'one', is: two}, {is: '{report.next}'}, {is: one}]"
    )
    assert [line.split(",")[0] for line in said("", body)] == ["error uses 'phase'", "error uses 'report'"]
    body = BODY.replace(
        "phase: state.phase", "phase: [{when: state.x == 1, is: '{state.y}', because: '{phase}'}]"
    )
    assert said("", body) == []


# ---- questions, gates, reports, effects -------------------------------------------------------


def test_an_option_that_nobody_reads_is_an_error_at_the_option():
    definition = text().replace("{go: go on}", "{go: go on, stop: no more}")
    said = "option 'stop' of help is read by no guard and has no effect 'answer.help.stop'"
    assert faults(definition) == [f"error {where(definition, 'stop:')} {said}"]


@pytest.mark.parametrize(
    "extra",
    [
        "otherwise: [{when: \"answers.help == 'stop'\", to: two}]\n",
        "values: {x: \"count({'question': 'help', 'option': 'stop'})\"}\n",
        "values: {x: \"answers.help in ['go', 'stop']\"}\n",
    ],
)
def test_an_option_that_a_guard_reads_is_right(extra: str):
    body = BODY.replace("{go: go on}", "{go: go on, stop: no more}")
    assert said(extra, body) == []


def test_one_effect_may_be_of_every_option():
    body = BODY.replace("{go: go on}", "{go: a, b: b}").replace("answer.help.go", "answer.help")
    assert said("", body) == []


def test_a_word_in_another_guard_does_not_read_an_option():
    body = BODY.replace("{go: go on}", "{go: go on, stop: no more}")
    assert len(said("values: {x: \"state.x == 'stop'\"}\n", body)) == 1


def test_a_gate_that_names_nothing_known_is_an_error():
    criteria = "criteria: [{text: t, when: state.x == 1}]"
    gate = f"gates: {{g: {{after: one, {criteria}, allowed: [%s], forbidden: {{%s: no}}}}}}\n"
    assert said(gate % ("tow", "onne")) == [
        "error gate g: unknown phase or action 'onne'; did you mean 'one'?",
        "error gate g: unknown phase or action 'tow'; did you mean 'two'?",
    ]
    assert said(gate % ("two, '{state.x}'", "'*'")) == []
    assert said("actions: {do-*: {}}\n" + gate % ("do-it", "complete")) == []


def test_a_report_may_only_mean_an_outcome_of_its_phase():
    reports = "reports: {files: [r/*.md], read: {one: {heading: {Done: %s}, words: {Impact: {high: %s}}}}}\n"
    assert said(reports % ("ok", "error")) == []
    assert said(reports % ("ok", "erorr")) == [
        "error 'erorr' is no outcome of phase one; did you mean 'error'?"
    ]
    assert said(reports % ("''", "ok")) == []


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("answer.halp", "effect 'answer.halp' is of no question or option"),
        ("answer.help.gone", "effect 'answer.help.gone' is of no question or option"),
        ("oky", "effect 'oky' is of no event, phase or action"),
        ("tree.ok", "effect 'tree.ok' is of no event, phase or action"),
    ],
)
def test_an_effect_of_nothing_is_an_error(event: str, message: str):
    body = BODY.replace("effects: {", f"effects: {{{event}: {{x: '1'}}, ")
    assert said("", body) == [f"error {message}"]


@pytest.mark.parametrize("event", ["start", "ok", "one.error", "do-this.ok", "stop", "always", "answer.help"])
def test_an_effect_of_a_known_event_is_right(event: str):
    body = BODY.replace("effects: {", f"effects: {{{event}: {{x: '1'}}, ")
    assert said("actions: {do-*: {}}\n", body) == []


def test_new_members_are_of_a_list_that_is_read_from_files():
    body = BODY.replace("effects: {", "effects: {ok: {include: kids, create: '[]'}, ")
    told = "error effect 'ok': 'kids' is no list that `include` of the state reads from files"
    assert said("", body) == [told]
    included = text("", body).replace(
        "state.json}\nphase", 'state.json, include: {LIST: {at: "/p/{id}"}}}\nphase'
    )
    assert faults(included.replace("LIST", "kids")) == []
    assert [fault.endswith("did you mean 'kid'?") for fault in faults(included.replace("LIST", "kid"))] == [
        True
    ]


def test_there_is_one_plan_at_most_and_tasks_need_one():
    second = "artifacts: {a: {paths: [A.md], kind: master-plan}, b: {paths: [B.md], kind: master-plan}}\n"
    assert said(second) == ["error a workflow has one plan at most, this has a, b"]
    body = BODY.replace("one:\n", "one:\n    tasks: tasks({})\n")
    assert said("", body) == ["error phase one hands out tasks, but no artifact is a plan"]
    assert said(PLAN, body) == []


# ---- phases as a whole ------------------------------------------------------------------------


def phases(*lines: str) -> str:
    """A body with these phases, and a question `help` that is read."""
    head, tail = BODY.split("phases:\n")[0], BODY[BODY.index("questions:") :]
    return head + "phases:\n" + "".join(f"  {line}\n" for line in lines) + tail


def test_a_phase_that_no_rule_leads_to_is_a_warning():
    three = phases(
        "one: {rules: [{when: state.ok == true, to: two}]}",
        "two: {terminal: complete}",
        "three: {terminal: failed}",
    )
    assert said("", three) == ["warning no rule leads to phase 'three'"]
    assert said("", three.replace("three: {", "three: {follow_up: true, ")) == []
    assert said("", three.replace("one: {", "one: {leads_to: [three], ")) == []
    assert said("", three.replace("to: two", "to: '{state.next}'")) == []
    assert said("actions: {go: {}}\n", three) == []


def test_a_phase_that_evidence_names_needs_no_rule():
    three = phases("one: {}", "two: {}", "three: {terminal: failed}")
    named = three.replace("phase: state.phase", "phase: [{when: state.x == 1, is: three}, {is: two}]")
    assert said("", named) == []
    assert said("", named.replace("is: three", "is: one")) == ["warning no rule leads to phase 'three'"]
    assert said("", named.replace("is: three", "is: '{state.x}'")) == []


def test_a_phase_without_a_way_out_is_an_error():
    stuck = phases("one: {rules: [{when: state.ok == true, to: two}]}", "two: {}")
    assert said("", stuck) == ["error phase 'two' has no way out and is not terminal"]
    for way in ("terminal: complete", "rules: [{ask: help}]", "rules: [{stop: failed}]"):
        assert said("", stuck.replace("two: {}", f"two: {{{way}}}")) == []
    assert said("otherwise: [{when: state.back == true, wait: job}]\n", stuck) == []


LOOP = (
    "one: {rules: [{when: state.ok == true, to: two}]}",
    "two: {rules: [{when: state.bad == true, to: one}, {when: state.ok == true, to: three}]}",
    "three: {terminal: complete}",
)
ENDLESS = ["warning two leads back to one without a limit, a person or a question on the way"]


def test_a_way_back_that_nothing_bounds_is_a_warning():
    assert said("", phases(*LOOP)) == ENDLESS


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("one: {", "one: {agent: person, "),
        ("two: {rules: [", "two: {rules: [{when: state.x == 1, wait: person}, "),
        ("two: {rules: [", "two: {rules: [{when: state.x == 1, ask: help}, "),
        ("two: {rules: [", "two: {rules: [{when: limits.l.reached, stop: failed}, "),
        ("two: {rules: [", "two: {rules: [{when: tired, stop: failed}, "),
    ],
)
def test_a_way_back_with_a_limit_a_person_or_a_question_is_right(old: str, new: str):
    extra = (
        "limits: {l: {count: state.n, max: 3}}\nvalues: {tired: limits.l.reached || state.tired == true}\n"
    )
    assert said(extra, phases(*LOOP).replace(old, new)) == []


def test_a_limit_elsewhere_bounds_no_loop():
    extra = "limits: {l: {count: state.n, max: 3}}\nnotes: {n: {text: '{limits.l.count}'}}\n"
    assert said(extra, phases(*LOOP)) == ENDLESS


def test_a_phase_that_always_leads_to_itself_is_a_warning():
    self = phases("one: {rules: [{when: state.ok == true, to: two}, {to: one}]}", "two: {terminal: complete}")
    assert said("", self) == [
        "warning one leads to itself whatever happens, without a limit, a person or a question"
    ]
    assert said("", self.replace("{to: one}", "{to: one, ask: help}")) == []
    assert said("", self.replace("{to: one}", "{when: state.x == 1, to: one}")) == []


def test_the_edges_of_a_workflow_follow_its_rules():
    workflow = sound(
        "before: [{when: state.any == true, to: '{state.to}'}]\n",
        phases(
            "one: {rules: [{when: state.a == 1, to: next}]}",
            "aside: {detour: true, rules: [{when: state.a == 1, to: one}]}",
            "two: {skip: state.skip == true}",
            "three: {terminal: complete}",
        ),
    )
    assert edges(workflow)["one"] == {"one", "aside", "two", "three"}
    workflow = sound(
        "",
        phases(
            "one: {rules: [{when: state.a == 1, to: next}]}",
            "two: {skip: 'true', rules: [{when: state.a == 1, to: next}]}",
            "three: {skip: 'true', terminal: complete}",
        ),
    )
    assert edges(workflow) == {"one": {"two", "three"}, "two": {"three"}, "three": set()}


def test_a_finding_in_a_template_stands_at_its_expression():
    definition = text('notes: {n: {text: "{state.x} is {state.x == null} and {report.seqq}"}}\n' + PLAN)
    assert [line.split(" ")[1] for line in faults(definition)] == [
        where(definition, "== null"),
        where(definition, ".seqq"),
    ]


# ---- markers and rules that fall through ------------------------------------------------------


@pytest.mark.parametrize("rule", ["to: two", "stop: complete"])
def test_a_way_forward_without_a_guard_behind_a_guarded_rule_is_warned_about(rule: str):
    guarded = '{when: "state.ok == false", ask: help}, {when: "state.ok == true", to: two}'
    body = BODY.replace(guarded, f"{{when: state.x == 1, to: two}}, {{{rule}}}")
    assert said("", body.replace("questions:", "otherwise: [{ask: help}]\nquestions:")) == [
        (
            "warning phases.one.rules[1] leads forward also when the guards before it could not be told: "
            "give it a `when`"
        ),
    ]


def test_a_last_rule_without_a_guard_may_stay_or_go_back():
    body = BODY.replace('{when: "state.ok == false", ask: help}', "{to: one, ask: help}")
    assert not [line for line in said("", body) if "leads forward" in line]


def test_a_marker_that_looks_at_more_than_the_state_is_an_error():
    marked = text().replace("{file: state.json}}", "{file: state.json, where: \"phase == 'one'\"}}", 1)
    assert faults(marked) == ["error 2:58 a marker knows `state` only, not 'phase'"]
    assert (
        faults(text().replace("{file: state.json}}", '{file: state.json, where: "state.ok == true"}}', 1))
        == []
    )


def test_a_marker_with_tests_beside_any_is_an_error():
    marked = text().replace("{file: state.json}}", "{any: [{file: state.json}], has: [x]}}", 1)
    assert any("has its tests in there, not 'has' beside it" in line for line in errors(marked))


@pytest.mark.parametrize("test", ["has: [phase]", "where: 'state.ok == true'"])
def test_a_marker_that_looks_into_a_file_that_is_no_json_is_an_error(test: str):
    marked = text().replace("{file: state.json}}", f"{{file: PLAN.md, {test}}}}}", 1)
    assert any("look into JSON" in line for line in errors(marked))


# ---- what a report brings, and who decides ----------------------------------------------------

FORM = "reports: {files: [AT], read: {one: {heading: Done}}}\n"
BRINGS = BODY.replace("  one:\n", "  one:\n    brings: {report: true}\n")


def test_a_text_that_a_report_brings_has_a_form_of_its_phase():
    without = FORM.replace("AT", "reports/*.md").replace("one:", "two:")
    assert said(without, BRINGS) == ["error one brings a report, but `reports.read` has no form of it"]
    assert said(FORM.replace("AT", "reports/*.md"), BRINGS) == []


def test_an_action_brings_no_text():
    actions = "actions: {mend: {brings: {report: true}}}\n"
    assert said(actions) == [
        "error mend brings a report, but `reports.read` has no form of it: only a phase has one"
    ]
    assert said(actions.replace("report: true", "named: true")) == []


@pytest.mark.parametrize("files", ["reports/all.md", "reports/**/*.md", "*/report.md"])
def test_a_text_that_a_report_brings_gets_a_name_among_the_reports(files: str):
    [line] = said(FORM.replace("AT", f"'{files}'"), BRINGS)
    assert "the first of `reports.files` needs one * in its last part" in line


@pytest.mark.parametrize("key", ["named", "changed", "holds"])
def test_expressions_of_what_a_report_brings_see_its_data(key: str):
    guard = "has(report.data.ok) && report.text != '' && has(report.stateUpdates.x)"
    wanted = {"named": guard, "changed": f"({guard}) ? newest({{'kind': 'start'}}) : report"}.get(key, guard)
    asked = f'[{{text: it is, when: "{wanted}"}}]' if key == "holds" else f'"{wanted}"'
    assert said("", BODY.replace("  one:\n", f"  one:\n    brings: {{{key}: {asked}}}\n")) == []
    assert said(guard_of_a_rule := PLAN + 'otherwise: [{when: "has(report.data.ok)", to: one}]\n') != [], (
        guard_of_a_rule
    )


def test_a_decision_in_a_file_is_asked_about():
    own = "artifacts: {yes: {paths: [yes.json], kind: json, optional: true, decided_by: person}}\n"
    [line] = said(own)
    assert line == (
        "warning nobody is asked about yes: no question `decides` it, so only a commit makes it count"
    )
    asked = BODY.replace("help: {ask", "help: {decides: [yes], ask")
    assert said(own, asked) == []
    assert said(own.replace(", decided_by: person", ""), asked) == [
        "error question help decides yes, which is no decision: it has no `decided_by`"
    ]
