"""Seed 000: a session has its components designed and reviewed in child sessions, then it is finalized.

The session's file and those of its children are their authors' word, and the model takes them as they stand;
but a child that was begun is one until its document is there, and a file that is empty is none. What a report
says of its children counts only as far as their own files say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from phasekeeper.orchestration.result.values import Evaluation

from tests.verdicts.exploration import Model
from tests.verdicts.models.json_state import JOURNAL, setting, state_of
from tests.verdicts.runs import Run, built_in

FILE = "session.json"
SESSIONS = ".phasekeeper/sessions"
AT = f"{SESSIONS}/S"
STEPS = ("Initialize", "SpawnComponentDesignSessions", "SpawnReviewSession", "Finalize")
DESIGNS = {"a": "docs/a.md", "b": "docs/b.md"}
REVIEW, DOCUMENT = "S-review", "docs/review/S_components_review.md"
COMPONENT, REVIEWING = "ComponentDesignSessions", "ComponentDesignReviewSessions"
_WORDS = ("ok", "warning", "error")
_Interaction = Mapping[str, Any]


@dataclass
class Truth:
    """The children that were begun, by the type they were begun with, and what a person waived.

    Without records nothing but the files says what was begun, until there is one again.
    """

    begun: dict[str, str] = field(default_factory=dict)
    is_recorded: bool = True
    waived: frozenset[str] = frozenset()
    files: Mapping[str, str] = field(default_factory=dict)
    session: Mapping[str, Any] = field(default_factory=dict)
    recorded: Sequence[Mapping[str, Any]] = ()

    def observe(self, move: str, run: Run) -> None:
        self.files, self.session = dict(run.files), state_of(run, FILE)
        match move:
            case "edit: no journal":
                self.is_recorded = False
            case "person: moves on to Finalize":
                self.waived, self.is_recorded = frozenset((COMPONENT, REVIEWING)), True
            case _ if move.startswith(("honest: ", "report: ")):
                self.is_recorded = True
                self.begun = dict(self._listed()) | self.begun | self._components()
                # A waiver ends with the next work on what it was about.
                if "SpawnComponent" in move or "components" in move:
                    self.waived = frozenset()
                elif "SpawnReview" in move or "review" in move:
                    self.waived -= {REVIEWING}
            case _:
                self.is_recorded |= move.startswith("person: ")
        if not move.startswith(("edit: ", "child ")):
            # The run was recorded as it stood then; what happens to its children records nothing of it.
            self.recorded = _with_gone(self.session["interactions"], self.recorded)
        if not self.is_recorded:
            self.begun, self.recorded = {}, ()
            self.begun = dict(self._listed()) | self._components()

    def _listed(self) -> Iterable[tuple[str, str]]:
        """The children that the session names, with their types; those of other types are none."""
        for name in self.session.get("child_sessions", ()):
            default = REVIEWING if name in self._announced(STEPS[2]) else COMPONENT
            kind = _child(self.files, name).get("type", self.begun.get(name, default))
            if kind in (COMPONENT, REVIEWING):
                yield name, kind

    def _components(self) -> dict[str, str]:
        """The children that were announced as components alone, whatever type their files have."""
        announced = self._announced(STEPS[1]) - self._announced(STEPS[2])
        return dict.fromkeys(announced, COMPONENT)

    def _announced(self, step: str) -> set[str]:
        """The children that the session's interactions of a step say were begun."""
        known = (*self.session.get("interactions", ()), *self.recorded)
        steps = (each["command"] for each in known if "command" in each)
        lists = (
            each.get("metadata", {}).get("child_session_ids", ()) for each in steps if each["module"] == step
        )
        return {name for names in lists for name in names}

    def _lacking(self, kind: str) -> str:
        """What is missing of the children of a type; "" where all is done."""
        children = {name for name, each in {**dict(self._listed()), **self.begun}.items() if each == kind}
        for name in sorted(children):
            child = _child(self.files, name)
            document = child.get("state", {}).get("artifact_path", "")
            if name not in self.session.get("child_sessions", ()):
                return f"{name} is no child any more"
            if child.get("status") != "complete":
                return f"{name} is {child.get('status', 'gone')}"
            if not self.files.get(document, "").strip():
                return f"the document of {name} is missing"
        return "" if children else f"there is no child of type {kind}"

    def broken(self, evaluation: Evaluation) -> Iterable[str]:
        gates = {gate.id: gate.status for gate in evaluation.gates}
        components, review = self._lacking(COMPONENT), self._lacking(REVIEWING)
        if gates.get("components-designed") == "passed" and components:
            yield f"gate components-designed passed although {components}"
        if gates.get("review-done") == "passed" and review:
            yield f"gate review-done passed although {review}"
        if evaluation.status == "complete":
            owed = [components] * (COMPONENT not in self.waived) + [review] * (REVIEWING not in self.waived)
            if any(owed):
                yield f"complete although {''.join(owed)}"
            if not self._is_finalized():
                yield "complete without a Finalize that was ok"

    def _is_finalized(self) -> bool:
        """True if the newest step is a Finalize that was ok, in the file or as the last record knew it.

        What an edit took away since has still been done, where it stood.
        """
        return any(map(_ends_in_finalize, (self.session.get("interactions", ()), self.recorded)))


def _with_gone(now: Sequence[_Interaction], before: Sequence[_Interaction]) -> list[_Interaction]:
    """The interactions of now, with those of before that are gone, each ahead of what followed it.

    They are told apart by their ids: whatever an edit makes of one, it is still the step that was recorded.
    An edit that gives a recorded step a status that nobody knows changes nothing of what was recorded.
    """
    every, following = _named(now), len(now)
    for name, each in reversed(_named(before)):
        names = [known for known, _ in every]
        if name in names:
            following = names.index(name)
            if every[following][1].get("result", {}).get("status") not in _WORDS:
                every[following] = (name, each)
        else:
            every.insert(following, (name, each))
    return [each for _, each in every]


def _named(interactions: Sequence[_Interaction]) -> list[tuple[tuple[str, int], _Interaction]]:
    """Each with its id, and of several with one id its number, the newest first."""
    ids = [str(each.get("id")) for each in interactions]
    return [((own, ids[:place].count(own)), interactions[place]) for place, own in enumerate(ids)]


def _ends_in_finalize(interactions: Sequence[Mapping[str, Any]]) -> bool:
    last = next((each for each in interactions if each.get("result")), {})
    is_finalize = last.get("command", {}).get("module") == "Finalize"
    return is_finalize and last["result"].get("status") == "ok"


def _child(files: Mapping[str, str], name: str) -> dict[str, Any]:
    return state_of(Run(built_in("component-design"), f"{SESSIONS}/{name}", dict(files)), FILE)


def _components(run: Run) -> None:
    """Begin the components that are not begun, write their designs, and report the step once more."""
    _spawn(run)
    for name in DESIGNS:
        _end(run, name)
    if run.evaluation.current_phase == "SpawnComponentDesignSessions":
        run.report("SpawnComponentDesignSessions", "ok", data={}, message=f"designed at {run.now}")


def _spawn(run: Run) -> None:
    told = [{"id": name, "artifact_path": path} for name, path in DESIGNS.items()]
    run.report("SpawnComponentDesignSessions", "ok", data={"components": told})


def _review(run: Run) -> None:
    run.report("SpawnReviewSession", "ok", data={})
    _end(run, REVIEW)
    if run.evaluation.current_phase == "SpawnReviewSession":
        run.report("SpawnReviewSession", "ok", data={}, message=f"reviewed at {run.now}")


def _end(run: Run, name: str, status: str = "complete", text: str | None = "# Design\n") -> None:
    """End a child session that is there, with its document."""
    child = _child(run.files, name)
    if not child:
        return
    if text is not None:
        run.write(f"/{child['state']['artifact_path']}", text)
    run.write(f"/{SESSIONS}/{name}/{FILE}", {**child, "status": status})


def _remake(run: Run, name: str, **fields: Any) -> None:
    child = _child(run.files, name)
    if child:
        run.write(f"/{SESSIONS}/{name}/{FILE}", {**child, **fields})


def _finalize(run: Run) -> None:
    run.report("Finalize", "ok", data={"pr_url": "https://github.com/x/y/pull/1"})


def _interaction(step: str, status: str, **command: Any) -> dict[str, Any]:
    return {"id": f"forged-{step}", "command": {"module": step, **command}, "result": {"status": status}}


def _forged(step: str, status: str, **command: Any) -> Callable[[Run], object]:
    return setting(FILE, interactions=lambda known: [_interaction(step, status, **command), *known])


def _report(step: str, outcome: str, data: Mapping[str, Any]) -> Callable[[Run], object]:
    return lambda run: run.report(step, outcome, data=data, message=f"{outcome} at {run.now}")


def _start() -> Run:
    session = {"id": "S", "type": "ContextComponentsDesignSessions", "status": "active", "state": {}}
    return Run(built_in("component-design"), AT).write(
        FILE, {**session, "interactions": [], "child_sessions": []}
    )


LIE: Mapping[str, Any] = {
    "stateUpdates": {"status": "complete", "child_sessions": []},
    "status": "complete",
    "components": [],
    "review": {"id": "a", "artifact_path": "docs/a.md"},
}

_MOVES: dict[str, Callable[[Run], object]] = {
    "honest: Initialize": _report("Initialize", "ok", {}),
    "honest: begins components": _spawn,
    "honest: components": _components,
    "honest: review": _review,
    "honest: finalizes": _finalize,
    **{
        f"report: {step} {outcome}": _report(step, outcome, {})
        for step in STEPS
        for outcome in ("ok", "warning", "error")
    },
    **{f"report: {step} ok, a lie": _report(step, "ok", LIE) for step in STEPS},
    "report: Finalize ok, to nowhere": _report(
        "Finalize", "ok", {"pr_url": "pull request 1", "commit": "0000000"}
    ),
    "child a: ends": lambda run: _end(run, "a"),
    "child b: ends": lambda run: _end(run, "b"),
    "child a: ends without its document": lambda run: _end(run, "a", text=None),
    "child a: ends with an empty document": lambda run: _end(run, "a", text=" \n"),
    "child b: fails": lambda run: _end(run, "b", "failed"),
    "child b: ends in a word that nobody knows": lambda run: _end(run, "b", "completed"),
    "child S-review: ends": lambda run: _end(run, REVIEW),
    "edit: complete": setting(FILE, status="complete"),
    "edit: active": setting(FILE, status="active"),
    "edit: no child b": setting(FILE, child_sessions=lambda known: [each for each in known if each != "b"]),
    "edit: no children": setting(FILE, child_sessions=[]),
    "edit: no interactions": setting(FILE, interactions=[]),
    "edit: the newest interaction only": setting(FILE, interactions=lambda known: known[:1]),
    "edit: component b is of another kind": lambda run: _remake(run, "b", type="ContextSpecSessions"),
    "edit: component b is a review": lambda run: _remake(run, "b", type=REVIEWING),
    "edit: component b has another document": lambda run: _remake(
        run, "b", state={"artifact_path": "docs/a.md"}
    ),
    "edit: no session of b": lambda run: run.files.pop(f"{SESSIONS}/b/{FILE}", None),
    "edit: no designs": lambda run: [run.files.pop(path, None) for path in DESIGNS.values()],
    "edit: no review": lambda run: run.files.pop(DOCUMENT, None),
    **{f"edit: {step} was ok": _forged(step, "ok") for step in STEPS},
    "edit: only a was announced": _forged(STEPS[1], "ok", metadata={"child_session_ids": ["a"]}),
    "edit: Finalize was a success": _forged("Finalize", "success"),
    "edit: no journal": lambda run: run.remove(JOURNAL),
    "edit: as it began": lambda run: run.write(FILE, _start().files[f"{AT}/{FILE}"]),
    "person: retries components": lambda run: run.answer(_asked(run, "components"), "retry"),
    "person: retries the session": lambda run: run.answer(_asked(run, "session_failed"), "retry"),
    "person: moves on to Finalize": lambda run: run.override("Finalize"),
}


def _asked(run: Run, name: str) -> str:
    return next((q.id for q in run.evaluation.questions if q.id.startswith(name)), name)


MODEL = Model("component-design", _start, Truth, _MOVES)
