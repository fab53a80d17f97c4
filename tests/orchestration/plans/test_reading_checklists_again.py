"""A checklist that is read after another one is what its text says, and costs the marks that differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.plans.checklist import reader
from phasekeeper.orchestration.plans.dialects import DIALECTS
from phasekeeper.orchestration.plans.model import Plan

TEXTS = {
    "spec-kit": """# Tasks: Shop

## Phase 1: Setup

- [ ] T001 Make src/a.py
- [x] T002 [P] [US1] Do it, depends on T001
- [X] T003 [P] Do src/b.py
  with a note
- [ ] T003 again
* [ ] ~~T004 dropped~~

## Phase 2: Rest

1. [ ] T005 Do it, depends on T007
- [ ] without an id
- [ ] without an id
- ☐ T006 a symbol
| T009 | a row | [x] |
- [ ]* T007 optional
""",
    "kiro": "# Plan\n\n- [x] 1. Whole\n  - [ ] 1.1 Part (P)\n  - [-] 1.2 Part\n"
    "    _Depends: 2_\n- [ ]* 2. More\n",
    "openspec": "## 1. One\n\n- [x] 1.1 Do\n- [ ] 1.2 Do\n- [ ] 2.1 Elsewhere\n\n## 2. Two\n\n- [ ] 2.2 Do\n",
    "plan-file": "# Plan (done)\n\n- [ ] do\n- [>] wait\n- [/] go on\n- [ ] do\n",
    "agent-os": "- [ ] 1. Whole\n  - [x] 1.1 Part\n  - [ ] 1.2 Part\n"
    "    ⚠️ Blocking issue: no key\n- [ ] 2. More\n",
    "spec-workflow": "# Plan\n\n- [x] 1. Whole\n  - [-] 1.1 Part\n- [ ] 2 More\n",
}  # fmt: skip
MARKS = [
    "[ ]",
    "[x]",
    "[X]",
    "[-]",
    "[~]",
    "[>]",
    "[!]",
    "[?]",
    "[%]",
    "[]",
    "[done]",
    "[`]",
    "[P]",
    "☐",
    "☑",
    "✅",
]
PIECES = [
    "\n", "\n\n## 3. More\n\n", "- [ ] T010 new\n", "  more words\n", "```\n", "<!-- ", "~~", "*", "`", "(",
    "|", " ", "1.1 ", "T001 ", "depends on T002", "<<<<<<< ours\n", "---\n", "# ", "\r",
]  # fmt: skip
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("mark"), st.integers(0, 20), st.sampled_from(MARKS)),
        st.tuples(st.just("insert"), st.integers(0, 600), st.sampled_from(PIECES)),
        st.tuples(st.just("remove"), st.integers(0, 600), st.just("")),
        st.tuples(st.just("back"), st.just(0), st.just("")),
    ),
    min_size=1,
    max_size=10,
)


def edited(text: str, kind: str, number: int, piece: str, whole: str) -> str:
    if kind == "back":
        return whole
    if kind == "mark":
        places = [at for at in range(len(text)) if text.startswith(("[ ]", "[x]", "[X]", "[-]"), at)]
        at = places[number % len(places)] if places else 0
        return text[:at] + piece + text[at + 3 :]
    at = number % (len(text) + 1)
    return text[:at] + piece + text[at + (2 if kind == "remove" else 0) :]


def all_of(plan: Plan | None) -> object:
    return plan and (plan, dict(plan.by_id), [*map(plan.span, plan.tasks)], dict(plan.details))


@given(st.sampled_from([*TEXTS]), EDITS)
def test_a_checklist_read_after_any_other_text_is_the_checklist_read_alone(name: str, edits) -> None:
    dialect, text = DIALECTS[name], TEXTS[name]
    before = dialect.read(text)
    for kind, number, piece in edits:
        text = edited(text, kind, number, piece, TEXTS[name])
        again = dialect.read_after(text, before)
        assert all_of(again) == all_of(dialect.read(text))
        before = again or before


@pytest.mark.parametrize("name", [*TEXTS])
def test_a_mark_costs_its_row_and_no_reading_of_the_list(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dialect, text = DIALECTS[name], TEXTS[name]
    marked = text.replace("[ ]", "[x]", 1)
    before, alone, made = dialect.read(text), dialect.read(marked), list[str]()
    task = reader._task
    monkeypatch.setattr(reader, "read_rows", None)
    monkeypatch.setattr(reader, "_task", lambda row, above: made.append(row.id) or task(row, above))
    assert all_of(dialect.read_after(marked, before)) == all_of(alone)
    assert len(made) == 1


@given(st.lists(st.sampled_from([line for text in TEXTS.values() for line in text.split("\n")]), max_size=4))
def test_a_text_is_no_plan_file_exactly_if_it_has_no_task(lines: list[str]) -> None:
    dialect, text = DIALECTS["plan-file"], "\n".join(lines)
    assert dialect.units
    assert dialect.units(text) == (None if dialect.read(text) else ())
