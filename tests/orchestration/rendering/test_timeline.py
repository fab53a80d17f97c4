"""A timeline of records: what each says, which are attempts, and what an attempt changed."""

from __future__ import annotations

from typing import Any

import pytest
from phasekeeper.orchestration.findings import Span
from phasekeeper.orchestration.journal.journal import record
from phasekeeper.orchestration.journal.report_files import PendingReport, read_report
from phasekeeper.orchestration.journal.report_forms import ReportForm
from phasekeeper.orchestration.rendering.timeline import (
    MOST_CHANGES,
    MOST_DIFFERENCES,
    MOST_ENTRIES,
    compared_paths,
    difference,
    timeline,
)
from phasekeeper.orchestration.snapshot.snapshot import RecordOrigin

LATER = "2026-03-03T10:00:00+00:00"


def report(phase: str = "4b", outcome: str = "fail", **fields: Any) -> dict[str, object]:
    return record(kind="report", phase=phase, outcome=outcome, **fields)


def entries(*records: dict[str, object], **options: Any) -> list[dict[str, Any]]:
    """The entries of a timeline in the order of the records."""
    return timeline(records, {}, options.pop("texts", {}), **options)["entries"][::-1]


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        (record(kind="start", workflow="master-plan"), "Started as master-plan"),
        (record(kind="start"), "Started as a run"),
        (record(kind="start", phase="4a"), "4a started"),
        (report(), "4b reported: fail"),
        (record(kind="transition", phase="4b", next="4a"), "4a is to be done again"),
        (record(kind="transition", phase="4b", outcome="skipped"), "4b skipped"),
        (record(kind="question", message="Which one?"), "Asked a person: Which one?"),
        (record(kind="answer", question="plan", option="reject"), "Answered plan: reject"),
        (
            record(
                kind="answer",
                question="plan",
                option="approve",
                options=[{"id": "approve", "text": "implement it: its tasks are handed out"}, "torn"],
            ),
            "Answered plan: approve (implement it)",
        ),
        (record(kind="override", next="4c"), "Moved on to 4c against what the files said"),
        (record(kind="claim", task="03"), "03 claimed"),
        (record(kind="release", task="03"), "03 given back"),
        (record(kind="violation", phase="4a"), "Gate violated in 4a"),
        (record(kind="refused", phase="4b", outcome="pass"), "4b reported pass, refused"),
        (record(kind="verified", check="tests", outcome="passed"), "Check tests: passed"),
        (record(kind="relink"), "Journal linked together again"),
        (record(kind="later-kind", phase="4b"), "later-kind 4b"),
    ],
)
def test_every_kind_of_record_says_what_it_is(entry: dict[str, object], sentence: str) -> None:
    assert entries(entry)[0]["sentence"] == sentence


def test_a_decision_says_who_made_it_by_which_way_and_why() -> None:
    decided = record(
        kind="answer", question="plan", option="approve", asked="Approve the plan?", why="it is small",
        actor="Ada", channel="terminal", at="2026-03-02T10:00:00Z",
    )  # fmt: skip
    (entry,) = entries(decided)
    assert (entry["decided"], entry["failed"], entry["who"], entry["channel"]) == (
        True,
        False,
        "Ada",
        "terminal",
    )
    assert (entry["asked"], entry["why"], entry["at"]) == ("Approve the plan?", "it is small", decided["at"])


def test_failures_and_refusals_stand_out() -> None:
    shown = entries(report(), report(outcome="pass"), record(kind="violation"), record(kind="refused"))
    assert [entry["failed"] for entry in shown] == [True, False, True, True]


def test_the_newest_stands_first_and_what_is_left_out_is_counted() -> None:
    records = [report(stage=str(number)) for number in range(MOST_ENTRIES + 3)]
    shown = timeline(records, {}, {})
    assert shown["earlier"] == 3
    assert [entry["stage"] for entry in shown["entries"][::-1]] == [each["stage"] for each in records[3:]]


def test_attempts_are_reports_of_one_phase_in_one_stage_whatever_failed_in_each() -> None:
    shown = entries(
        report(stage="1", tasks=["03", "04"]),
        report(phase="F2", outcome="complete", stage="1"),
        report(stage="1", task="04", tasks=["04"]),
        report(stage="2"),
        report(stage="1", outcome="pass"),
    )
    assert [entry["attempt"] for entry in shown] == [1, 1, 2, 1, 3]
    assert (shown[2]["since"]["attempt"], shown[2]["since"]["tasks"]) == (1, ["03", "04"])
    assert shown[4]["since"]["outcome"] == "fail"


def test_a_report_of_another_task_is_no_further_attempt_where_a_phase_hands_out_tasks() -> None:
    shown = entries(
        report(phase="4a", task="01"),
        report(phase="4a", task="02"),
        report(phase="4a", tasks=["01", "02"]),
        report(phase="4a", task="02"),
        report(phase="4a"),
        by_task={"4a"},
    )
    assert [entry["attempt"] for entry in shown] == [1, 1, 2, 3, 1]


def test_what_is_no_report_is_no_attempt() -> None:
    assert entries(record(kind="claim", task="01"))[0]["attempt"] == 0


def test_an_attempt_names_the_files_that_are_other_ones_than_before() -> None:
    def files(**digests: str) -> list[dict[str, str]]:
        return [{"path": path, "digest": digest} for path, digest in digests.items()]

    before, after = report(files=files(a="1", b="1", c="1")), report(files=files(a="1", b="2", d="1"))
    since = entries(before, after)[1]["since"]
    named = [(change["path"], change["how"]) for change in since["changes"]]
    assert named == [("b", "changed"), ("c", "gone"), ("d", "new")]
    # Where one of them holds no digests nothing can be said.
    assert entries(before, report())[1]["since"]["changes"] == []
    many = report(files=files(**{f"f{number}": "1" for number in range(MOST_CHANGES + 5)}))
    since = entries(report(files=files(f0="1")), many)[1]["since"]
    assert (len(since["changes"]), since["moreChanges"]) == (MOST_CHANGES, 4)


def test_the_texts_of_two_attempts_are_compared_where_each_has_a_report_of_its_own() -> None:
    one, two = report(path="r/1.md"), report(path="r/2.md")
    texts = {"r/1.md": "# Gate\nFAIL 03\n", "r/2.md": "# Gate\nFAIL 04\n"}
    assert set(compared_paths([one, two], ())) == set(texts)
    since = entries(one, two, texts=texts)[1]["since"]
    assert since["lines"] == ["@@ -1,2 +1,2 @@", " # Gate", "-FAIL 03", "+FAIL 04"]
    assert entries(one, two, texts={"r/2.md": ""})[1]["since"]["lines"] is None
    # One file that is written anew each time has only its last text.
    assert compared_paths([one, report(path="r/1.md")], ()) == ()
    assert entries(one, report(path="r/1.md"), texts=texts)[1]["since"]["lines"] is None


def test_only_the_newest_attempts_are_compared() -> None:
    records = [report(path=f"r/{number}.md") for number in range(MOST_DIFFERENCES + 10)]
    assert len(compared_paths(records, ())) == MOST_DIFFERENCES + 1
    texts = {str(each["path"]): str(each["path"]) for each in records}
    shown = entries(*records, texts=texts)
    assert [entry["since"] is not None and entry["since"]["lines"] is not None for entry in shown] == [
        *[False] * 10,
        *[True] * MOST_DIFFERENCES,
    ]


def test_a_difference_of_long_texts_is_cut_and_says_so() -> None:
    small = difference("a\nb\n", "a\nc\n")
    assert (small.more, small.partial) == (0, False)
    large = difference("\n".join(f"a{n}" for n in range(1000)), "\n".join(f"b{n}" for n in range(1000)))
    assert (len(large.lines), large.more > 0, large.partial) == (120, True, True)


def test_a_place_is_that_of_the_record_and_one_based() -> None:
    entry = report()
    origin = RecordOrigin("t/.phasekeeper/journal.jsonl", Span(2, 0, 2, 1))
    shown = timeline([entry], {id(entry): origin}, {})["entries"][0]
    assert (shown["path"], shown["line"]) == (origin.path, 3)
    nowhere = timeline([entry], {id(entry): origin._replace(span=None)}, {})["entries"][0]
    assert (nowhere["path"], nowhere["line"]) == (origin.path, None)


@pytest.mark.parametrize(
    ("written", "at"), [(1_772_445_600 * 10**9, "2026-03-02T10:00:00+00:00"), (10**40, None)]
)
def test_a_report_that_was_written_as_a_file_has_the_time_of_that(written: int, at: str | None) -> None:
    form = ReportForm("4b", {"Gate": ""}, ("Status",))
    read, _ = read_report("## Gate\n\n**Status**: FAIL\n", [form])
    assert read is not None
    moment = PendingReport("r/1.md", written, read).written
    pending, recorded = report(path="r/1.md", written=moment), report(path="r/2.md", written=moment, at=LATER)
    first, second = entries(pending, recorded)
    assert (first["at"], first["recorded"]) == (at, moment == "")
    assert (second["at"], second["recorded"]) == (at or LATER, True)
