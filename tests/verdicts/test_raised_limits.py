"""A limit that was raised counts once a person says so; until then the question that it ends stays open."""

from __future__ import annotations

import pytest

from tests.verdicts.runs import CONFIG, Run, plan_run

RAISED = "parameters: {{master-plan: {{adoption: auto, fix_iterations: {n}}}}}\n"


def thrice_failed() -> Run:
    """A plan whose phase gate failed as often as it may, so that a person is asked."""
    run = plan_run("x ")
    run.report("4a", "complete", "02")
    for _ in range(3):
        run.report("4b", "fail", "02")
        if run.evaluation.status != "waiting_human":
            run.report("F1", "ok").write("02-t.md", f"# 02. T\n\n{run.now}\n").report("F2", "complete", "02")
    return run


def asked(run: Run) -> list[str]:
    return [question.id.partition(":")[0] for question in run.evaluation.questions]


def test_a_raised_limit_takes_no_question_away() -> None:
    run = thrice_failed()
    assert asked(run) == ["fix_iterations"]
    run.write(f"/{CONFIG}", RAISED.format(n=99))
    assert asked(run) == ["fix_iterations", "definition"]
    assert run.messages("definition-changed") == [
        f"{CONFIG}:1: fix_iterations was raised to 99; 3 holds until a person accepts or commits it"
    ]
    run.answer("definition", "accept")
    assert asked(run) == []
    run.write(f"/{CONFIG}", RAISED.format(n=100))
    assert asked(run) == ["definition"]
    assert run.messages("definition-changed")[-1].endswith(
        "raised to 100; 99 holds until a person accepts or commits it"
    )


@pytest.mark.parametrize(
    ("committed", "holds"), [(99, []), (4, ["definition"]), (0, ["fix_iterations", "definition"])]
)
def test_a_raised_limit_counts_as_far_as_head_has_it(committed: int, holds: list[str]) -> None:
    run = thrice_failed().write(f"/{CONFIG}", RAISED.format(n=committed)).commit()
    assert asked(run.write(f"/{CONFIG}", RAISED.format(n=99))) == holds


def test_a_limit_may_be_lowered_by_anybody() -> None:
    run = plan_run("x ").write(f"/{CONFIG}", RAISED.format(n=1))
    assert "definition-changed" not in run.codes()
    run.commit().write(f"/{CONFIG}", RAISED.format(n=5))
    assert "definition-changed" in run.codes()
