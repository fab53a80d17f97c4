"""The commands by which a person decides. Each is confirmed on a terminal, and nothing gets round that.

The commands of this module are denied to assistants (`fence/assistant_rules`).
"""

from __future__ import annotations

from argparse import Namespace

from ....orchestration.evaluation.trace import EvaluationTrace
from ....orchestration.states import QuestionKind
from ....orchestration.updates.commands import Command, CommandRefused, answerable, offered_questions
from ...disk.git import actor
from ...terminal.lines import print_lines
from ...terminal.run_views import question_lines
from ...version import PROGRAM
from ...workspace import apply
from ...workspace.decision_proof import terminal_signer
from ...workspace.roots import UsageError
from ..confirm import NotConfirmed, ask, confirm, require_terminal
from ..output import report_failure
from ..selection import SelectedRun, means_run, select_runs
from .write import print_result

_NONE_FINISHED = (
    "no such plan is finished: --complete closes one that nobody approved or validated here and whose tasks "
    "are all marked done; what `phasekeeper check` reports of it is to be mended first"
)


def answer(options: Namespace) -> int:
    """`answer` and `resolve`: choose an option of an open question."""
    if options.fleet:
        from .fleet import answer as answer_elsewhere  # late: few machines are in a fleet

        return answer_elsewhere(options)
    if options.on:
        raise UsageError("--on is for questions of other machines: --fleet")
    run = select_runs(options).runs[0]
    if options.question is None or options.option is None:
        return _decide(options, run, _ask_choice(options, run))
    return _decide(options, run, _choice(options.question, options.option))


def _ask_choice(options: Namespace, run: SelectedRun) -> Command:
    """The choice of a person at the terminal, who is shown the open questions and asked what was left out.

    The reason is asked for too, and put into the options.
    """
    trace = run.look()
    questions = {question.id: question for question in answerable(trace)}
    if options.question is not None:
        # By its name one may be answered, too, that nobody is asked.
        named = (*offered_questions(trace), *questions.values())
        questions = {each.id: each for each in named if each.id == options.question}
    if not questions:
        offered = "".join(f"; unasked, {each.id} may be answered" for each in offered_questions(trace))
        raise UsageError(
            f"nothing of that kind is asked in {run.name or '.'}{offered}; `phasekeeper questions` lists all"
        )
    require_terminal()
    evaluation = run.evaluate_from_root()
    print_lines(question_lines(evaluation, [*questions.values()], hints=False))
    first = next(iter(questions))
    id_ = ask("Question", list(questions)) if len(questions) > 1 else first
    choices = [option.id for option in questions[id_].options]
    option = ask("Option" if choices else "Answer", choices)
    options.reason = options.reason or ask("Why", ())
    return _choice(id_, option)


def approve(options: Namespace) -> int:
    """`approve`: the first option of a question, of the only open approval when none is named."""
    run = select_runs(options).runs[0]
    open_now = answerable(run.look())
    approvals = [question for question in open_now if question.kind == QuestionKind.APPROVAL]
    named = [question for question in open_now if question.id == options.question]
    asked = named if options.question else approvals
    if not asked:
        names = ", ".join(question.id for question in open_now) or "none is open"
        raise UsageError(f"there is no such approval to give; open questions: {names}")
    if len(asked) > 1:
        raise UsageError(f"name the question to approve: {', '.join(question.id for question in asked)}")
    if not asked[0].options:
        raise UsageError(f"{asked[0].id} has no options: `phasekeeper answer` takes the answer in words")
    return _decide(options, run, _choice(asked[0].id, asked[0].options[0].id))


def adopt(options: Namespace) -> int:
    """`adopt`: plans that were under way before anyone approved them count from now on.

    With --complete those among them that are finished are closed.
    """
    selection = select_runs(options)
    if bool(options.run) == options.all:
        raise UsageError("name a run, or --all")
    wanted = _choice("completion", "complete") if options.complete else _choice("adoption", "adopt")
    runs = [run for run in selection.runs if wanted.question in _adoptable(run.look())]
    if not runs:
        raise UsageError(_NONE_FINISHED if options.complete else "no run waits to be adopted")
    codes = []
    for run in runs:
        try:
            codes.append(_decide(options, run, wanted))
        except (CommandRefused, apply.StoreError, NotConfirmed) as error:
            codes.append(report_failure(error))
    return max(codes)


def _adoptable(trace: EvaluationTrace) -> set[str]:
    """The ids of the questions that may be answered, asked or not."""
    return {question.id for question in (*trace.evaluation.questions, *offered_questions(trace))}


def override(options: Namespace) -> int:
    """`override`: go against a suggestion or a shut gate, with a reason."""
    if options.fleet:
        from .fleet import override as override_elsewhere  # late: few machines are in a fleet

        return override_elsewhere(options)
    if options.on:
        raise UsageError("--on is for runs on other machines: --fleet")
    return _decide(options, select_runs(options).runs[0], Command(kind="override", step=options.to))


def _choice(question: str, option: str) -> Command:
    return Command(kind="answer", question=question, option=option)


def _decide(options: Namespace, run: SelectedRun, wanted: Command) -> int:
    """Check all that can be refused, have a person confirm, then sign and record."""
    reason = (options.reason or "").strip()
    if not reason:
        raise UsageError('a decision needs a reason: --reason "..."')
    who = actor(run.workspace.root)
    sign_with = terminal_signer(run.workspace.root, who, options.key or "")
    given = run.workspace, run.match.run, wanted._replace(why=reason)
    decision = apply.prepare_decision(*given, sign_with=sign_with)
    confirm(decision.text, options.run or run.name, is_name=lambda typed: means_run(options, run, typed))
    done = apply.record_decision(run.workspace, decision, who, "terminal", PROGRAM)
    chosen = wanted.kind == "answer"
    text = f"answered: {wanted.question} {wanted.option}" if chosen else f"overridden: now in {wanted.step}"
    return print_result(options, done, text)
