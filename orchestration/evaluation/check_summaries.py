"""The checks that an expression rests on: those whose results it reads, itself or through what it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..decision.check_facts import ConsultedChecks
from ..decision.facts import RunFacts
from ..evidence.check_state import changed_text
from ..expressions.language import Expression
from ..result.values import CheckSummary, InputChange
from ..states import CheckResult


class CheckCollector:
    """The checks of one evaluation, as its facts see them; each is described once."""

    def __init__(self, facts: RunFacts):
        self.facts = facts
        self._described: dict[str, CheckSummary | None] = {}

    def of(self, *expressions: Expression | None) -> tuple[CheckSummary, ...]:
        """The checks that some expressions read, each once.

        To be asked once they were evaluated: which check a computed name leads to is known then.
        """
        if not self.facts.asks_checks:
            return ()
        names = dict.fromkeys(name for each in expressions if each for name in self._names(each))
        return tuple(found for name in names if (found := self._describe(name)))

    def _names(self, expression: Expression) -> Iterator[str]:
        facts, workflow = self.facts, self.facts.workflow
        paths = sorted(workflow.paths_behind(expression))
        for path in paths:
            head, *rest = path
            if head == "checks":
                yield from rest[:1] or self._looked_up(paths)
            artifact = rest[0] if head in ("valid", "exists") and rest else head
            declared = workflow.artifacts.get(artifact)
            if declared is not None and declared.checks is not None:
                wanted = facts.context.value(declared.checks).value
                yield from map(str, wanted if isinstance(wanted, list) else ())

    def _looked_up(self, paths: list[tuple[str, ...]]) -> Iterator[str]:
        """The checks behind computed names: those of parameters beside them, else all that were looked up."""
        parameters = self.facts.workflow.parameters
        beside = [path[1] for path in paths if path[0] == "parameters" and len(path) > 1]
        named = [each for each in beside if each in parameters and parameters[each].names]
        for each in named:
            yield from map(str, self.facts.parameter(each).value)
        checks = self.facts.context.fact("checks").value
        if not named and isinstance(checks, ConsultedChecks):
            yield from checks.names

    def _describe(self, name: str) -> CheckSummary | None:
        if name not in self._described:
            self._described[name] = self._summary(name)
        return self._described[name]

    def _summary(self, name: str) -> CheckSummary | None:
        """A check as guards see it; None for one that nobody declared."""
        facts = self.facts
        checks = facts.context.fact("checks").value
        seen = checks.get(name) if isinstance(checks, dict) else None
        if seen is None:
            return None
        place, kept = facts.place(("checks", name)), facts.kept_checks.get(name)
        result, reason = CheckResult(seen["result"]), str(seen["reason"])
        if kept is not None:
            return CheckSummary(name, result, reason, str(kept["at"]) or None, (), *place)
        state = facts.snapshot.reader.read_check(name)
        measured_at = state.measured_at if state else ""
        changed = tuple(map(InputChange, state.changed)) if state else ()
        return CheckSummary(name, result, reason, measured_at or None, changed, *place)


def with_changes(check: CheckSummary, changed: Sequence[InputChange]) -> CheckSummary:
    """A check with other places of its changed inputs, which its reason then names."""
    before, after = (changed_text([each.place for each in some]) for some in (check.changed, changed))
    # What changed while the check ran is said otherwise.
    reason = after if check.reason == before else check.reason
    return replace(check, changed=tuple(changed), reason=reason)
