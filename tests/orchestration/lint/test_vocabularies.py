"""Guards that contradict themselves, and words, phases and questions that cannot be there."""

from __future__ import annotations

import pytest

from tests.orchestration.definitions import HEAD, faults, text, where

EXTRA = """\
parameters:
  {mode: {default: fast, one_of: [fast, slow]}, level: {default: 2, one_of: [1, 2]}, free: {default: x}}
artifacts:
  plan: {paths: [PLAN.md], kind: master-plan}
  doc:
    paths: [doc.json]
    kind: json
    require: {verdict: [accept, rework], "ok | sum.ok": bool, n: number, x: any}
actions: {mend: {}}
action_aliases: {repair: mend}
values:
  p: state.ok == true
  q: p && state.n == 1
  never: p && !p
  many: (state.a || state.b) && (state.c || state.d) && (state.e || state.f) && (state.g || state.h)
  mark: "p ? 'pass' : 'fail'"
  last: "newest({'kind': 'report', 'phase': 'one'})"
  same: last.outcome
"""


def said(expression: str) -> list[str]:
    """What the checks say of a guard, without places; a fault that the values above have is left out."""
    quoted = expression.replace('"', '\\"')
    extra = EXTRA + f'otherwise: [{{when: "{quoted}", ask: help}}]\n'
    found = [line.split(" ", 2) for line in faults(text(extra))]
    return [f"{kind} {message}" for kind, at, message in found if at != where(text(extra), "&& !p")]


# ---- contradictions ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        "state.a == 'x' && state.a == 'y'",
        "'x' == state.a && state.n == 1 && state.a != 'x'",
        "p && !p",
        "!p && q",
        "q && state.n == 2",
        "state.a == 'x' && (state.a == 'y' || state.a == 'z')",
        "state.a in ['x', 'y'] && state.a == 'z'",
        "state.a == 'x' && !(state.a in ['x', 'y'])",
        "state.n > 5 && state.n < 3",
        "state.n > 5 && !(state.n >= 5)",
        "state.n >= 5 && 5 > state.n",
        "state.n == 2 && state.n > 2",
        "state.n == 'x' && state.n > 2",
        "state.n == true && state.n == 1",
        "state.l == [] && state.l != []",
        "(p ? state.a == 'x' : state.a == 'y') && state.a == 'z'",
        "state.l.exists(x, x.a == 1 && x.a == 2)",
        "state.a == 'x' && (state.b == 1 && state.b == 2) && p",
        "(state.b || p) && false",
    ],
)
def test_a_guard_that_cannot_be_true_is_a_warning(expression: str):
    (found,) = said(expression)
    assert found.startswith("warning this can never be true")


@pytest.mark.parametrize("expression", ["state.a != 'x' || state.a != 'y'", "p || !p", "!q || p"])
def test_a_guard_that_cannot_be_false_is_a_warning(expression: str):
    (found,) = said(expression)
    assert found.startswith("warning this can never be false")


@pytest.mark.parametrize(
    "expression",
    [
        "state.a == 'x' && state.b == 'y'",
        "state.a != 'x' && state.a != 'y'",
        "state.a == 'x' || state.a == 'y'",
        "state.a in ['x', 'y'] && state.a != 'y'",
        "state.a in ['x', state.b] && state.a == 'z'",
        "state.a == 'x' && (state.a == 'x' || state.a == 'z')",
        "state.n > 3 && state.n < 5 && state.n != 4 && state.n in [4, 4.5]",
        "state.n >= 5 && state.n <= 5",
        "state.l == [] && state.k != []",
        "state.l.exists(x, x.a == 1) && state.l.exists(x, x.a == 2)",
        "state.l.exists(p, p && state.n == 1) && !p",
        "many && many && (state.a != 'x')",
        "many && many && !many",
        "never && p",
        "state.a[0] == 'x' && state.a[1] == 'y'",
        "(p ? true : false) && p",
    ],
)
def test_a_guard_that_may_be_either_is_right(expression: str):
    assert said(expression) == []


def test_a_contradiction_is_told_at_its_sign_and_with_its_subject():
    definition = text("otherwise: [{when: \"state.a == 'x' && state.a == 'y'\", ask: help}]\n")
    told = "warning {} this can never be true: what it asks of state.a excludes itself"
    assert faults(definition) == [told.format(where(definition, "&&"))]


# ---- words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("parameters.mode == 'fsat'", "parameters.mode is never 'fsat'; did you mean 'fast'?"),
        ("parameters.level == 3", "parameters.level is never 3; known: 1, 2"),
        ("'gone' != answers.help", "answers.help is never 'gone'; did you mean 'none' or 'go'?"),
        ("answers.help in ['go', 'went']", "answers.help is never 'went'"),
        ("phase == 'tow'", "phase is never 'tow'; did you mean 'two'?"),
        ("'tow' in [phase, phase]", "it is never 'tow'; did you mean 'two'?"),
        ("doc.verdict == 'acept'", "doc.verdict is never 'acept'; did you mean 'accept'?"),
        ("doc.ok == 'true'", "doc.ok is never string but bool, so it is never 'true'"),
        ("doc.sum.ok == 1", "doc.sum.ok is never int but bool, so it is never 1"),
        ("doc.n == '1'", "doc.n is never string but int or double, so it is never '1'"),
        ("state.round == '1'", "state.round is never string but int or double"),
        ("state.sub.word == 2", "state.sub.word is never int but string"),
        ("mark == 'passed'", "mark is never 'passed'; did you mean 'pass'?"),
        ("(p ? mark : parameters.mode) == 'x'", "it is never 'x'; known: pass, fail, fast, slow"),
        ("last.outcome == 'okay'", "the outcome of such a record is never 'okay'; did you mean 'ok'?"),
        ("same == 'okay'", "same is never 'okay'; did you mean 'ok'?"),
        ("records({}).exists(r, r.kind == 'raport')", "the kind of a record is never 'raport'"),
        ("tasks({}).exists(t, t.status == 'dnoe')", "a task's status is never 'dnoe'; did you mean 'done'?"),
        ("newest({'kind': 'start'}).next == 'tow'", "the phase that a record leads to is never 'tow'"),
        (
            "count({'kind': 'report', 'phase': 'nope'}) > 0",
            "the phase of a record is never 'nope'; known: one",
        ),
        ("count({'kind': 'report', 'phase': ['one', 'tow']}) > 0", "the phase of a record is never 'tow'"),
        ("count({'kind': 'report', 'phase': p ? 'one' : 'tow'}) > 0", "the phase of a record is never 'tow'"),
        ("count({'kind': 'raport'}) > 0", "the kind of a record is never 'raport'; did you mean 'report'?"),
        (
            "count({'kind': 'report', 'outcome': 'passed'}) > 0",
            "the outcome of such a record is never 'passed'",
        ),
        ("count({'kind': 'answer', 'question': 'hlep'}) > 0", "the question of a record is never 'hlep'"),
        (
            "count({'kind': 'answer', 'question': 'help', 'option': 'og'}) > 0",
            "the option of such a record is",
        ),
        ("count({'kind': 'answer', 'option': 'og'}) > 0", "the option of such a record is never 'og'"),
        ("tasks({'status': 'dnoe'}) == []", "a task's status is never 'dnoe'; did you mean 'done'?"),
    ],
)
def test_a_word_that_cannot_be_there_is_a_warning(expression: str, message: str):
    (found,) = said_of_state(expression)
    assert found.startswith("warning " + message)


STATE = "state: {file: state.json, defaults: {round: 1, sub: {word: x}, list: []}}\n"


def said_of_state(expression: str) -> list[str]:
    """What the checks say of a guard where the state has defaults."""
    quoted = expression.replace('"', '\\"')
    extra = EXTRA.replace("  never: p && !p\n", "") + f'otherwise: [{{when: "{quoted}", ask: help}}]\n'
    found = faults(text(extra).replace("state: {file: state.json}\n", STATE))
    return [line.split(" ", 2)[0] + " " + line.split(" ", 2)[2] for line in found]


@pytest.mark.parametrize(
    "expression",
    [
        "parameters.mode == 'fast' || parameters.level in [1] || parameters.free == 'any'",
        "answers.help in ['go', 'none', 'stale']",
        "phase == 'one' || state.phase == 'tow'",
        "doc.verdict == 'accept' || doc.other == 'x' || doc.n == 1.5 || doc.x == 'any' || doc.ok == true",
        "state.round == 2 || state.sub.other == 1 || state.list == 1 || state.sub.word == 'any'",
        "mark in ['pass', 'fail'] || last.outcome in ['', 'ok', 'skipped'] || last.message == 'any'",
        "(p ? state.x : 'y') == 'z' || 'z' in [state.x, 'y'] || (p ? state.round : 5) == 7",
        "count({'kind': 'report', 'phase': ['one', 'mend', 'repair'], 'outcome': ['ok', 'error']}) > 0",
        "count({'kind': 'transition', 'outcome': 'anything'}) > 0",
        "count({'phase': state.x, 'kind': state.y}) > 0",
        "count({'kind': 'answer', 'question': state.x, 'option': 'go'}) > 0",
        "count({'kind': 'answer', 'question': ['help', state.x], 'option': 'go'}) > 0",
        "count(p ? {'phase': 'tow', 'kind': 'report'} : {}) > 0",
        "tasks({'status': 'done', 'stage': 'any'}) == []",
    ],
)
def test_a_word_that_may_be_there_is_right(expression: str):
    assert said_of_state(expression) == []


def test_a_report_in_a_rule_has_the_outcomes_of_its_phase():
    body = """\
        phase: state.phase
        phases:
          one:
            outcomes: [pass, fail]
            rules: [{when: "report.outcome == 'pass'", to: two}, {when: "report.outcome == 'ok'", to: two}]
          two: {terminal: complete}
        otherwise: [{when: "report.outcome == 'ok'", ask: help}]
        questions: {help: {ask: Help?}}
        """
    definition = text(body, body="")
    told = "warning {} the outcome of such a record is never 'ok'; known: pass, fail, skipped"
    assert faults(definition) == [told.format(where(definition, "'ok'"))]


def test_words_of_actions_with_a_star_and_of_free_answers_are_not_known():
    body = """\
        phase: state.phase
        phases:
          one: {rules: [{when: "seen && answers.help == 'any'", to: two}, {when: state.x, ask: help}]}
          two: {terminal: complete}
        actions: {do-*: {}}
        values: {seen: "count({'kind': 'report', 'phase': 'do-this', 'outcome': 'ok'}) > 0"}
        questions: {help: {ask: Help?}}
        effects: {do-this.ok: {x: "step == 'do-that' && count({'kind': 'answer', 'option': 'free'}) > 0"}}
        """
    assert faults(text(body, body="")) == []


# ---- phases that do not exist -----------------------------------------------------------------


def phases(phase: str, extra: str = "", state: str = "{file: state.json}") -> str:
    """A definition whose phase is told so."""
    body = f"""\
phase: {phase}
aliases: {{eins: one, "*_done": "*"}}
phases:
  one:
    rules: [{{when: "state.ok == true", to: two}}, {{when: "state.ok == false", ask: help}}]
  two: {{terminal: complete}}
questions:
  help: {{ask: Help?}}
"""
    return HEAD.replace("state: {file: state.json}", f"state: {state}") + body + extra


NEW = 'new:\n  folder: tasks/x\n  files:\n    state.json: |\n      {"phase": "%s"}\n'


@pytest.mark.parametrize(
    ("definition", "at"),
    [
        (phases("state.phase", NEW % "oen"), "state.json: |"),
        (phases("\"state.?phase.orValue('oen')\""), "'oen'"),
        (phases("state.phase", state="{file: state.json, defaults: {phase: oen}}"), "defaults"),
        (phases('[{when: state.x, is: oen}, {is: one}]'), "{when: state.x"),
        (phases("[{is: \"{state.x == 1 ? 'one' : 'oen'}\"}]"), "'oen'"),
        (phases('[{is: "{early}"}]', "values: {early: \"state.x == 1 ? 'one' : 'oen'\"}\n"), "'oen'"),
        (phases("state.phase", "effects: {ok: {phase: \"'oen'\"}}\n"), "'oen'"),
        (phases("state.phase", "before: [{when: state.x, to: two, set: {phase: \"'oen'\"}}]\n"), "'oen'"),
    ],
)  # fmt: skip
def test_a_first_or_written_phase_that_does_not_exist_is_an_error(definition: str, at: str):
    said = "unknown phase 'oen'; did you mean 'one'?"
    assert faults(definition) == [f"error {where(definition, at)} {said}"]
    assert faults(definition.replace("oen", "one")) == []
    assert faults(definition.replace("oen", "eins")) == []
    assert faults(definition.replace("oen", "one_done")) == []


@pytest.mark.parametrize(
    "definition",
    [
        phases("state.phase", NEW.replace('{"phase": "%s"}', "{no json")),
        phases("state.phase").replace("state: {file: state.json}\n", ""),
        phases("state.phase.split('.').newest()", NEW % "any"),
        phases("state.phase", "new: {folder: tasks/x, files: {other.json: '{}'}}\n"),
        phases("state.phase", "effects: {ok: {other: \"'oen'\"}}\n"),
        phases('[{is: "{state.x}-{state.y}"}, {is: "{step_of}"}]', "values: {step_of: state.z}\n"),
    ],
)
def test_a_phase_that_cannot_be_told_is_right(definition: str):
    assert faults(definition) == []


# ---- circles, questions -----------------------------------------------------------------------

CIRCLE = """\
phase: state.phase
phases:
  write: {rules: [{when: state.written, to: check}]}
  check:
    rules: [{when: "state.good == false", to: write}, {when: "state.good == true", to: accept}]
  accept:
    agent: person
    rules: [{when: "state.yes == false", to: write}, {when: "state.yes == true", to: done}]
  done: {terminal: complete}
"""


def test_a_circle_without_a_person_is_told_though_a_longer_one_has_one():
    definition = HEAD + CIRCLE
    at = where(definition, 'rules: [{when: "state.good')
    said = "check leads back to write without a limit, a person or a question on the way"
    assert faults(definition) == [f"warning {at} {said}"]


def test_a_circle_with_a_limit_before_its_way_back_is_right():
    asked = '[{when: "limits.n.reached", ask: stuck}, {when: "state.good == false", to: write}'
    more = "limits: {n: {count: state.n, max: '3'}}\nquestions: {stuck: {ask: Stuck?}}\n"
    assert faults(HEAD + CIRCLE.replace('[{when: "state.good == false", to: write}', asked) + more) == []


def test_a_question_behind_the_way_back_bounds_it_not():
    asked = '{when: "state.good == true", to: accept}, {when: state.x, ask: stuck}'
    definition = CIRCLE.replace('{when: "state.good == true", to: accept}', asked)
    found = faults(HEAD + definition + "questions: {stuck: {ask: Stuck?}}\n")
    assert [line.split(" ", 2)[2][:26] for line in found] == ["check leads back to write "]


def test_a_question_that_no_rule_asks_is_a_warning():
    definition = text("before: [{when: state.x, ask: again}]\n", body=QUESTIONS)
    assert faults(definition) == [f"warning {where(definition, 'spare')} no rule asks question 'spare'"]


QUESTIONS = """\
phase: state.phase
phases: {one: {rules: [{when: state.y, to: two}]}, two: {terminal: complete}}
questions:
  again: {ask: Again?}
  spare: {ask: Anything?}
"""
