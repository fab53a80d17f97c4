"""Decisions that people make on another machine than the one whose files they are about.

The machine that asks tells, with how its run stands, what each open question is and what it is about. An
answer travels as a proposal to the one clone that asked, signed with the SSH key of its person over what its
record will be verified by. That clone's own server judges it, writes the record, and tells what became of it.
An override travels alike, with what it waives in place of a question. Messages are read as hostile: what has
not the form is passed over, and one that has it proves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Any, NamedTuple

from ..journal.signatures import MAX_SIGNATURE, one_line
from .messages import MAX_ITEMS, MAX_TEXT, Value, format_message, key_token, parse_message, text_of

LIFETIME_S = 7 * 24 * 3600
"""So long the fleet keeps an answer, and what became of it; an older one counts for nothing."""
_ANSWERS, _RESULTS = "answers", "results"
_TEXTS = (
    "project", "run", "member", "clone", "question", "option", "asked", "subject", "after", "why", "actor",
    "decided", "kind",
)  # fmt: skip


class AnswerState(StrEnum):
    """What became of an answer that was sent."""

    RECORDED = "recorded"
    REFUSED = "refused"


class DecisionKind(StrEnum):
    """What a proposal is; the kind of its record."""

    ANSWER = "answer"
    OVERRIDE = "override"


class OpenQuestion(NamedTuple):
    """A question as another machine is told it. `options` are "ID TEXT", all in one line; `subject` is the
    digest of what it is about (`signatures.subject_of`), "" where only who has the files can answer."""

    id: str
    asked: str
    options: tuple[str, ...]
    subject: str

    @property
    def words(self) -> str:
        """A digest of the question and its options as they are read."""
        text = json.dumps([self.asked, self.options])
        return sha256(text.encode()).hexdigest()[:32]

    @property
    def option_ids(self) -> tuple[str, ...]:
        return tuple(option.partition(" ")[0] for option in self.options)


class AnswerProposal(NamedTuple):
    """An answer to a question of a clone: `member` and `clone` are the one that asked, `after` is the digest
    of the last line of its journal then, `decided` the time (ISO 8601, UTC) by the person's machine.

    An override has the phase it leads to as `option`, what it waives as `subject`
    (`signatures.subject_of_override`), and neither a question nor options.
    """

    project: str
    run: str
    member: str
    clone: str
    question: str
    option: str
    asked: str
    options: tuple[str, ...]
    subject: str
    after: str
    why: str
    actor: str
    decided: str
    signature: str = ""
    kind: DecisionKind = DecisionKind.ANSWER

    @property
    def signed_content(self) -> Mapping[str, object]:
        """What the signature covers, as `signatures.covered_elsewhere` gives it of the record."""
        if self.kind is DecisionKind.OVERRIDE:
            names = ("option", "subject", "after", "why", "actor", "decided")
            return {name: getattr(self, name) for name in names}
        names = ("question", "option", "asked", "subject", "after", "why", "actor", "decided")
        return {name: getattr(self, name) for name in names} | {"options": list(self.options)}

    @property
    def id(self) -> str:
        """The name of the proposal in the bucket: a digest of all of it."""
        return key_token(*(str(each) for each in self))


class AnswerResult(NamedTuple):
    """What became of a proposal of an author's: the state, and the reason of a refusal."""

    author: str
    id: str
    run: str
    question: str
    state: AnswerState
    why: str
    at: str


# ---- messages ---------------------------------------------------------------------------------


def answers_of(member: str) -> str:
    """The part of the bucket in which a member's answers are; it writes nowhere else but to its results."""
    return f"{member}.{_ANSWERS}"


def answer_key(author: str, proposal: AnswerProposal) -> str:
    return f"{answers_of(author)}.{proposal.id}"


def result_key(member: str, author: str, id_: str) -> str:
    """The key of what a member's server tells of a proposal of an author's. Another one who sends the same
    gets a result of their own."""
    return f"{member}.{_RESULTS}.{author}.{id_}"


def author_of(key: str) -> str:
    """Who put a proposal into the bucket, "" for the key of something else. The server of the fleet lets a
    member write under its own name alone."""
    author, _, rest = key.partition(".")
    return author if rest.startswith(f"{_ANSWERS}.") else ""


def format_proposal(proposal: AnswerProposal) -> bytes:
    """The message of a proposal. Raises ValueError for one that the other machine would not read."""
    parts = [proposal.signature[at : at + MAX_TEXT] for at in range(0, len(proposal.signature), MAX_TEXT)]
    values: dict[str, Value] = {name: str(getattr(proposal, name)) for name in _TEXTS}
    raw = format_message({**values, "options": proposal.options, "signature": tuple(parts)})
    if parse_proposal(answer_key("m", proposal), raw) != proposal:
        raise ValueError(f"the question, its options or the reason are too long: {MAX_TEXT} characters each")
    return raw


def parse_proposal(key: str, raw: bytes) -> AnswerProposal | None:
    """The proposal in a value; None for what is none, or stands under a key that is not its own."""
    values = parse_message(raw)
    if values is None:
        return None
    texts: dict[str, Any] = {name: text_of(values, name) for name in _TEXTS}
    if texts["kind"] not in tuple(DecisionKind):
        return None
    texts["kind"] = DecisionKind(texts["kind"])
    signature = "".join(_list_of(values, "signature"))
    proposal = AnswerProposal(**texts, options=_list_of(values, "options"), signature=signature)
    is_signed = 0 < len(signature) <= MAX_SIGNATURE
    return proposal if is_signed and key == answer_key(author_of(key), proposal) else None


def format_result(result: AnswerResult) -> bytes:
    return format_message({**result._asdict(), "why": one_line(result.why)[:MAX_TEXT]})


def parse_result(key: str, raw: bytes) -> AnswerResult | None:
    """What became of a proposal; None for what does not say it, or is of another one."""
    values = parse_message(raw)
    if values is None:
        return None
    texts = {name: text_of(values, name) for name in AnswerResult._fields}
    if texts["state"] not in tuple(AnswerState):
        return None
    result = AnswerResult(**{**texts, "state": AnswerState(texts["state"])})
    return result if key == result_key(key.partition(".")[0], result.author, result.id) else None


def _list_of(values: Mapping[str, Value], name: str) -> tuple[str, ...]:
    value = values.get(name, ())
    return value if isinstance(value, tuple) else ()


# ---- options in a message of a run --------------------------------------------------------------


def listed_options(questions: Sequence[OpenQuestion], *, shares_texts: bool) -> tuple[str, ...]:
    """The options of some questions as one list of "NUMBER ID TEXT", without texts where none are shared."""
    listed = [
        f"{number} {option if shares_texts else option.partition(' ')[0]}"
        for number, question in enumerate(questions)
        for option in question.options
    ]
    return tuple(listed[:MAX_ITEMS])


def options_listed(listed: Sequence[str], number: int) -> tuple[str, ...]:
    """The options of the question with that number in such a list."""
    found = (each.partition(" ") for each in listed)
    return tuple(option for which, _, option in found if which == str(number))


# ---- whether an answer fits ---------------------------------------------------------------------


def misfit(proposal: AnswerProposal, questions: Sequence[OpenQuestion]) -> str:
    """Why a proposal answers none of the questions that are open in its run; "" where it answers one."""
    question = next((each for each in questions if each.id == proposal.question), None)
    if question is None:
        return f"{proposal.question} is not open any more"
    if not question.subject:
        return f"{proposal.question} is answered where its files are"
    if (proposal.asked, proposal.options) != (question.asked, question.options):
        return f"{proposal.question} is asked in other words by now; look at it again"
    if proposal.subject != question.subject:
        return f"what {proposal.question} is about was changed meanwhile; look at it again"
    if question.options and proposal.option not in question.option_ids:
        return f"{proposal.question} has no option {proposal.option!r}"
    return "" if proposal.option.strip() and proposal.why.strip() else "it lacks an option or a reason"
