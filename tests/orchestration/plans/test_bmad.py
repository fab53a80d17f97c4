"""Stories of BMAD as one plan: numbers, words, trackers as people write them, and what is written back."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.plans.bmad.quality_gate import read_gate
from phasekeeper.orchestration.plans.bmad.sprint_status import read_sprint_status
from phasekeeper.orchestration.plans.bmad.story_file import read_story
from phasekeeper.orchestration.plans.bmad.story_key import story_number, words_of
from phasekeeper.orchestration.plans.bmad.story_status import StoryStatus, status_of
from phasekeeper.orchestration.plans.dialects import DIALECTS
from phasekeeper.orchestration.plans.model import MarkStatus, Plan

PARTS = DIALECTS["bmad"].parts
TRACKER = "sprint-status.yaml"


def combined(texts: Mapping[str, str | None]) -> Plan | None:
    assert PARTS
    return PARTS.combine({name: None if t is None else PARTS.read(name, t) for name, t in texts.items()})


def plan_of(texts: Mapping[str, str | None]) -> Plan:
    plan = combined(texts)
    assert plan
    return plan


def tracker(*lines: str) -> str:
    return "development_status:\n" + "".join(f"  {line}\n" for line in lines)


def codes(plan: Plan, name: str) -> list[str]:
    return [problem.code for problem in plan.problems_of_files.get(name, ())]


def ticked(texts: Mapping[str, str], *names: str) -> Mapping[str, str]:
    assert PARTS
    return PARTS.edit("tick_tasks", texts, [[*names]])


@pytest.mark.parametrize(
    ("name", "number", "words"),
    [
        ("1-2-user-login", "1.2", "user login"),
        ("1.2.login.story", "1.2", "login story"),
        ("story-1.5", "1.5", ""),
        ("E1-07-grid", "1.7", "grid"),
        ("1.12A.truth", "1.12a", "truth"),
        ("2-6b-split", "2.6b", "split"),
        ("5.5-1-between", "5.5.1", "between"),
        ("6.2-p1-adapter", "6.2.p1", "adapter"),
        ("r-0-blueprint", "r.0", "blueprint"),
        ("2.4.1.scoring", "2.4.1", "scoring"),
        ("README", None, "README"),
        ("epic-1-retrospective", None, "epic 1 retrospective"),
        ("7", None, ""),
    ],
)
def test_a_story_has_one_number_however_it_is_written(name: str, number: str | None, words: str) -> None:
    found = story_number(name)
    assert (found.text if found else None, words_of(name)) == (number, words)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("**Done**", "done"),
        ("✅ COMPLETE (v6.1.0) - All 11 Tasks Complete", "done"),
        ("- done", "done"),
        ("✅", "done"),
        ("Done - except the tests", "unknown"),
        ("completed, not verified", "unknown"),
        ("In Review (merge pending)", "review"),
        ("Ready for Review", "review"),
        ("InProgress", "in-progress"),
        ("In_Progress", "in-progress"),
        ("backlog (DEFERRED - later)", "backlog"),
        ("Deferred", "blocked"),
        ("skipped", "dropped"),
        ("☐ PASS ☐ FAIL", "unknown"),
        ("moved-to-12.8", "unknown"),
        ("", "unknown"),
    ],
)
def test_a_status_is_what_its_words_mean(text: str, status: str) -> None:
    assert status_of(text).value == status


def test_a_tracker_is_read_as_people_write_it() -> None:
    text = (
        "\ufeffproject: 'Shop' # ours\r\ndevelopment_status: # all of it\r\n"
        '  "1-1-a": "done" # yes\r\n# === 2 ===\r\n'
        "  1-2-b:\r\n    note: x\r\n    status: review\r\n  1-3-c:\r\n  1-4-d:\r\n"
        "other: 1\r\n  1-9-z: done\r\n"
    )
    found = read_sprint_status(text)
    assert found.project == "Shop"
    assert [(each.key, each.raw) for each in found.entries] == [
        ("1-1-a", "done"), ("1-2-b", "review"), ("1-3-c", ""), ("1-4-d", ""),
    ]  # fmt: skip
    assert [problem.code for problem in found.faults] == [
        "artifact-unreadable", "marker-unknown", "marker-unknown",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["development_status: {1-1-a: done}\n", "project: x\n", "a"])
def test_a_tracker_whose_stories_nobody_can_tell_is_not_complete(text: str) -> None:
    plan = plan_of({TRACKER: text, "stories/1-1-a.md": "# A\nStatus: done\n"})
    assert "artifact-unreadable" in codes(plan, TRACKER)
    assert plan.by_id[TRACKER].status is MarkStatus.UNKNOWN


@pytest.mark.parametrize("name", [TRACKER, "stories/1-1-a.md"])
def test_what_cannot_be_read_is_not_done(name: str) -> None:
    texts: dict[str, str | None] = {
        TRACKER: tracker("1-1-a: done"),
        "stories/1-1-a.md": "# A\nStatus: done\n",
    }
    assert all(task.done for task in plan_of(texts).tasks)
    assert not all(task.done for task in plan_of(texts | {name: None}).tasks)
    assert not all(task.done for task in plan_of({"stories/1-1-a.md": None}).tasks)


def test_there_is_no_plan_without_a_story() -> None:
    assert combined({TRACKER: "development_status: {}\n"}) is None
    assert combined({"stories/README.md": "# Read me\n", "archive/1-1-a.md": "# A\nStatus: done\n"}) is None


def test_what_a_retrospective_decided_is_listed_and_holds_nothing_up() -> None:
    items = (
        "action_items:\n  - epic: 1\n    action: Review errors\n    status: open\n  - x\n  - {action: b}\n"
    )
    plan = plan_of({TRACKER: tracker("epic-1: done", "1-1-a: done") + items})
    actions = [task for task in plan.tasks if task.type == "action"]
    assert [(each.title, each.stage, each.optional, each.done) for each in actions] == [
        ("b", "", True, False), ("Review errors", "1", True, False),
    ]  # fmt: skip
    assert plan.stages[-1].title == "Epic 1 (done)"


def test_an_epic_says_what_its_stories_say() -> None:
    plan = plan_of(
        {
            TRACKER: tracker(
                "epic-1: done", "1-1-a: backlog", "1-2-b: backlog", "1-3-c: backlog", "1-4-d: backlog",
                "epic-2: backlog", "2-1-a: review", "epic-3: merged", "3-1-a: done", "epic-4:",
            )
        }
    )  # fmt: skip
    found = [(each.code, each.message) for each in plan.problems_of_files[TRACKER]]
    assert found == [
        ("status-drift", "epic-1 is done, but 1-1-a, 1-2-b, 1-3-c and 1 more is not"),
        ("status-drift", "epic-2 is in the backlog, but 2-1-a is review"),
        ("marker-unknown", "epic-3: 'merged' is none of BMAD's statuses"),
    ]
    assert not plan.by_id["epic-4"].done


def test_words_that_its_script_counts_nowhere_count_here() -> None:
    names = [f"1-{n}-x" for n in range(8)]
    plan = plan_of({TRACKER: tracker(*(f"z.{name}: completed" for name in names), "2-1-a: drafted")})
    assert {task.id: task.done for task in plan.tasks} == {
        "2-1-a": False, **{f"z.{name}": True for name in names},
    }  # fmt: skip
    message = plan.problems_of_files[TRACKER][0].message
    assert message.endswith("z.1-4-x and 3 more; all of them count here")


def test_a_file_is_of_a_story_by_its_name_or_its_number() -> None:
    plan = plan_of(
        {
            TRACKER: tracker(
                "1-1-pay-by-card: review", "1-2-b: done", "1-3-c: done", "2-1-x: done", "2-1-y: done"
            ),
            "archive/1-1-pay-by-card.md": "# Old\nStatus: review\n- [x] old\n",
            "stories/spec-1-1-pay-by-card.md": "---\nstatus: 'in-review'\n---\n# Pay\n## Tasks\n- [ ] a\n",
            "stories/1-1-checklist.md": "- [ ] by hand\n",
            "stories/story-1.2.md": "# B\n**Status:** Done\n",
            "stories/STORY-1.3-NOTES.md": "# N\nStatus: review\n- [ ] later\n",
            "stories/2.1.story.md": "# two may be meant\nStatus: draft\n",
            "stories/9-9-none.md": "# no status, so it is about something\n- [ ] x\n",
            "archive/8-8-old.md": "# Over\nStatus: draft\n",
        }
    )
    stories = {task.id: task.file for task in plan.tasks if task.type == "story"}
    assert stories == {
        "1-1-pay-by-card": "stories/spec-1-1-pay-by-card.md",
        "1-2-b": "stories/story-1.2.md", "1-3-c": TRACKER,
        "2-1-x": TRACKER, "2-1-y": TRACKER, "2.1": "stories/2.1.story.md",
    }  # fmt: skip
    assert {task.id: task.optional for task in plan.tasks if task.type == "box"} == {
        "1-1-pay-by-card:a": False,
        "1-1-pay-by-card:1-1-pay-by-card:old": True,
        "1-1-pay-by-card:1-1-checklist:by-hand": True,
        "1-3-c:STORY-1.3-NOTES:later": True,
    }
    assert codes(plan, "stories/2.1.story.md") == ["task-unlisted"]


def test_of_a_story_that_was_dropped_nothing_is_left() -> None:
    plan = plan_of({TRACKER: tracker("1-1-a: skipped"), "1-1-a.md": "# A\n## Tasks\n- [ ] b\n- [x] c\n"})
    assert all(task.done for task in plan.tasks)


def test_what_a_file_says_twice_and_no_status_are_told() -> None:
    plan = plan_of(
        {
            "stories/1.1.a.md": "# A\nStatus: review\n## Tasks\n- [ ] a\n## Status\n- done\n## Status\n\n",
            "stories/1.2.b.md": "# B\n## Tasks\n- [ ] a\n",
            "stories/1.3.c.md": "# C\nStatus: merged\n",
            "stories/1.4.d.md": "# D\nStatus: done\n## Status\nCompleted\n",
        }
    )
    assert [codes(plan, f"stories/1.{name}.md") for name in ("1.a", "2.b", "3.c", "4.d")] == [
        ["status-drift"], ["task-unreadable"], ["marker-unknown"], [],
    ]  # fmt: skip


def test_a_story_that_was_begun_has_a_file_where_others_have_one() -> None:
    texts: dict[str, str | None] = {
        TRACKER: tracker("1-1-a: review", "1-2-b: review"),
        "1-1-a.md": "# A\nStatus: review\n",
    }
    assert codes(plan_of(texts), TRACKER) == ["task-unreadable"]
    assert codes(plan_of({TRACKER: tracker("1-2-b: review")}), TRACKER) == []


def test_the_words_of_a_status_in_the_tracker_that_nobody_knows_have_no_drift() -> None:
    texts: dict[str, str | None] = {TRACKER: tracker("1-1-a: merged"), "1-1-a.md": "# A\nStatus: review\n"}
    assert codes(plan_of(texts), "1-1-a.md") == []


def test_words_of_the_template_count_where_a_story_is_told_and_not_in_a_fence() -> None:
    text = "# A\nStatus: done\n## Story\nAs a {{role}}\n```\n{{role}}\n```\n## Dev Notes\n{{role}}\n"
    assert [(word, span.line) for word, span in read_story(text).placeholders] == [("{{role}}", 3)]
    assert codes(plan_of({"stories/1.1.a.md": text}), "stories/1.1.a.md") == ["placeholder-left"]


def test_boxes_in_notes_are_optional_and_parts_are_by_indentation() -> None:
    story = read_story(
        "# Story 1.1: A\n## Tasks / Subtasks\n- [x] one\n  - [ ] part\n  - [ ] other\n- [~] two\n"
        "- [x] three\n"
        "  - [ ] last\n## Dev Notes\n- [ ] note\n"
    )
    assert [(box.id, box.whole, box.is_required) for box in story.boxes] == [
        ("one", "", True), ("part", "one", True), ("other", "one", True), ("two", "", True),
        ("three", "", True), ("last", "three", True), ("note", "", False),
    ]  # fmt: skip
    assert [problem.code for problem in story.problems] == ["status-drift", "status-drift"]
    assert all(box.is_required for box in read_story("- [ ] all\n## Notes\n- [ ] is work\n").boxes)


@pytest.mark.parametrize(
    ("text", "number", "why"),
    [
        ("story: 1.10\ngate: PASS\n", "1.2", ""),
        ('story: "3.4"\ngate: CONCERNS\n', "3.4", ""),
        ("gate: FAIL\n", "1.2", "says FAIL"),
        ("gate: WAIVED\nwaiver: {active: true}\n", "1.2", ""),
        ("gate: WAIVED\nwaiver: yes\n", "1.2", "says WAIVED, and no waiver is active"),
        ("gate: [x]\n", "1.2", "says nothing"),
        ("", "1.2", "cannot be read"),
        ("- a\n", "1.2", "says nothing"),
    ],
)
def test_a_verdict_passes_only_by_a_word_that_is_known(text: str, number: str, why: str) -> None:
    gate = read_gate("qa/gates/1.2-login.yml", text)
    assert (gate.number.text if gate.number else "", gate.why) == (number, why)


def test_of_two_verdicts_the_newer_counts_and_one_that_cannot_be_read_is_as_new_as_any() -> None:
    texts: dict[str, str | None] = {
        "stories/1.1.a.md": "# A\nStatus: done\n",
        "qa/gates/1.1-a.yml": "gate: PASS\nupdated: '2026-02-02'\n",
        "qa/gates/1.1-b.yml": "gate: FAIL\nupdated: '2026-01-01'\n",
        "qa/gates/none.yml": "gate: FAIL\n",
    }
    assert all(task.done for task in plan_of(texts).tasks)
    assert codes(plan_of(texts), "qa/gates/1.1-b.yml") == ["duplicate-location"]
    damaged = plan_of({**texts, "qa/gates/1.1-b.yml": None})
    assert not damaged.by_id["1.1.a:qa-gate"].done


# ---- edits

STORY = "# A\r\nStatus: ready-for-dev\r\n## Tasks\r\n- [ ] one\r\n  - [ ] a\r\n  - [ ] b\r\n- ☐ two\r\n"


def test_the_first_box_puts_its_story_and_epic_in_progress_and_the_last_part_its_whole() -> None:
    texts = {TRACKER: tracker("epic-1: backlog", '1-1-a: "ready-for-dev" # go'), "1-1-a.md": STORY}
    after = {**texts, **ticked(texts, "1-1-a:a")}
    assert after == {
        TRACKER: tracker("epic-1: in-progress", '1-1-a: "in-progress" # go'),
        "1-1-a.md": STORY.replace("ready-for-dev", "in-progress").replace("[ ] a", "[x] a"),
    }
    whole = ticked(after, "1-1-a:b", "1-1-a:two")
    assert whole == {
        "1-1-a.md": after["1-1-a.md"].replace("[ ]", "[x]").replace("☐", "☑"),
    }
    assert ticked(texts, "1-1-a:a", "1-1-a:b")["1-1-a.md"].count("[x]") == 3


@pytest.mark.parametrize(
    ("before", "review", "done"),
    [
        ("Status: in-progress", "Status: review", "Status: done"),
        ("## Status\n\n**InProgress**", "## Status\n\n**Ready for Review**", "## Status\n\n**Done**"),
        ("**Status:** Approved", "**Status:** Ready for Review", "**Status:** Done"),
    ],
)
def test_a_story_goes_to_review_and_then_to_done_in_the_words_that_stand_there(
    before: str, review: str, done: str
) -> None:
    texts = {"stories/1.1.a.md": f"# A\n{before}\n"}
    first = ticked(texts, "1.1")
    assert first == {"stories/1.1.a.md": f"# A\n{review}\n"}
    second = ticked(first, "1.1.a")
    assert second == {"stories/1.1.a.md": f"# A\n{done}\n"}
    assert ticked(second, "1.1.a") == {}


def test_a_spec_s_front_matter_has_words_of_its_own() -> None:
    texts = {
        "stories/spec-1-1-a.md": "---\nstatus: in-progress # now\n---\n# A\n- [x] a\n",
        TRACKER: tracker("1-1-a: in-progress"),
    }
    after = ticked(texts, "1-1-a")
    assert after["stories/spec-1-1-a.md"].startswith("---\nstatus: in-review # now\n")
    assert after[TRACKER] == tracker("1-1-a: review")


def test_what_the_tracker_alone_calls_done_is_done_in_the_file_too() -> None:
    texts = {TRACKER: tracker("1-1-a: done"), "1-1-a.md": "# A\nStatus: review\n"}
    assert ticked(texts, "1-1-a") == {"1-1-a.md": "# A\nStatus: done\n"}


def test_a_retrospective_and_an_action_are_done_in_the_tracker() -> None:
    items = "action_items:\n  - action: b\n    status: open\n  - action: c\n"
    text = tracker("epic-1-retrospective: optional", "1-1-a:") + items
    after = ticked({TRACKER: text}, "epic-1-retrospective", "action-1", "1-1-a")[TRACKER]
    assert after == tracker("epic-1-retrospective: done", "1-1-a: review") + items.replace("open", "done")


def test_a_status_is_set_by_its_word() -> None:
    assert PARTS
    texts = {TRACKER: tracker("1-1-a: done", "epic-1: done")}
    assert PARTS.edit("set_status", texts, ["1-1-a", "backlog"]) == {
        TRACKER: tracker("1-1-a: backlog", "epic-1: done")
    }
    after = PARTS.edit("set_status", texts, ["epic-1", "in-progress"])
    assert after == {TRACKER: tracker("1-1-a: done", "epic-1: in-progress")}
    with pytest.raises(ValueError, match="`merged` is none of draft, backlog"):
        PARTS.edit("set_status", texts, ["1-1-a", "merged"])
    with pytest.raises(ValueError, match="no edit 'check_tasks'"):
        PARTS.edit("check_tasks", texts, ["1"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("1.9", "there is no 1.9; there are 1.1.a, 1.2.b"),
        ("1.2", "stories/1.2.b.md has no status to write"),
        ("1.1.a:qa-gate", "the verdict of a reviewer, who writes it"),
    ],
)
def test_what_is_not_there_or_another_s_is_not_written(name: str, message: str) -> None:
    texts = {
        "stories/1.1.a.md": "# A\nStatus: done\n", "stories/1.2.b.md": "# B\n- [ ] c\n",
        "qa/gates/1.1-a.yml": "gate: FAIL\n",
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        ticked(texts, name)


def test_a_box_of_a_story_without_a_status_in_its_file_is_ticked_where_the_tracker_has_one() -> None:
    texts = {TRACKER: tracker("1-1-a: review"), "1-1-a.md": "- [ ] b\n"}
    after = ticked(texts, "1-1-a:b")
    assert after == {"1-1-a.md": "- [x] b\n"}
    assert ticked({**texts, **after}, "1-1-a:b") == {}


@given(st.text(alphabet="-# 1.a:xX[]\n\"'ds✅\t{}", max_size=60))
def test_no_text_stops_a_reader(text: str) -> None:
    for name in (TRACKER, "stories/1-1-a.md", "qa/gates/1.1-a.yml"):
        combined({name: text})
        combined({name: text, "stories/1-2-b.md": "Status: done\n", TRACKER: tracker(text, "1-2-b: done")})


def test_boxes_ticked_before_their_story_was_begun_are_told() -> None:
    text = "# A\nStatus: Approved\n## Tasks\n- [x] one\n  - [ ] part\n"
    plan = plan_of({"stories/1.1.a.md": text})
    assert codes(plan, "stories/1.1.a.md") == ["status-drift", "status-drift"]
    opened = plan_of({"stories/1.1.a.md": text.replace("[x]", "[ ]")})
    assert opened.details["1.1.a:one"].depends_on == ("1.1.a:part",)


def test_each_status_has_a_mark() -> None:
    assert {status: status.mark for status in StoryStatus}[StoryStatus.DONE] is MarkStatus.DONE
    assert not DIALECTS["bmad"].read("anything")
