"""The value of a parameter: what is set, unless that is looser than what was and nobody accepted it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from ..definition.artifact_kinds import KINDS
from ..definition.inputs import Parameter
from ..definition.model import Workflow
from ..definition.root_config import PATH as CONFIGURATION
from ..definition.root_config import Config, read_config
from ..definition.state_changes import SHORT, Ratchet, ratchet_of
from ..expressions.context import Context, UnknownFact
from ..findings import NO_DATA, Finding, Problem, Span, finding
from ..journal.baseline import RatchetBaseline
from ..journal.journal import Record
from ..result.phrases import value_summary
from ..snapshot.read_log import ArtifactState, RunReader
from ..vfs.places import RunPlace

LOOSENED = "definition-changed"
"""The code of a parameter of which the value before holds."""
_Place = tuple[str | None, Span | None]


class ParameterSources(Protocol):
    """The part of a snapshot that tells the values of parameters."""

    @cached_property
    def place(self) -> RunPlace: ...
    @property
    def workflow(self) -> Workflow: ...
    @property
    def config(self) -> Config: ...
    @property
    def artifacts(self) -> Mapping[str, ArtifactState]: ...
    @property
    def records(self) -> tuple[Record, ...]: ...
    @property
    def reader(self) -> RunReader: ...
    @cached_property
    def baseline(self) -> RatchetBaseline: ...
    @cached_property
    def definition_accepted(self) -> bool: ...


class ParameterValue(NamedTuple):
    """`value` is what counts, `asked` what is set; they differ where a person may accept what is set."""

    value: Any
    asked: Any
    finding: Finding | None = None


def parameter_value(
    parameter: Parameter,
    snapshot: ParameterSources,
    context: Context,
    place_of: Callable[[Sequence[str]], _Place],
) -> ParameterValue:
    """The value that the configuration sets, else a file of the project, else the default."""
    default, config = parameter.default, snapshot.config
    configured = config.of(snapshot.workflow.name)
    value, code, data, place = default, "", NO_DATA, (snapshot.place.itself, None)
    if parameter.id in configured:
        value, code = _check(parameter, configured[parameter.id])
        place = CONFIGURATION, config.places.get((snapshot.workflow.name, parameter.id))
        data = {"default": default}
    elif parameter.source is not None:
        outcome, reads = context.value(parameter.source), parameter.source.reads
        place = place_of(reads[0].path) if reads else place
        value, code = (default, "") if outcome.error is not None else _check(parameter, outcome.value)
        code = code and "parameter-out-of-bounds"
    path, span = place[0] or snapshot.place.itself, place[1]
    if code:
        problem = Problem(code, f"{parameter.id}: {value}; {default} is used", span, data=data)
        return ParameterValue(default, default, finding(problem, path))
    before = _value_before(parameter, value, snapshot)
    if before == value:
        return ParameterValue(value, value)
    verb = "raised" if _ratchet(parameter, snapshot.workflow) == SHORT["limit"] else "set"
    message = f"{parameter.id} was {verb} to {value}; {before} holds until a person accepts or commits it"
    return ParameterValue(before, value, finding(Problem(LOOSENED, message, span), path))


def _ratchet(parameter: Parameter, workflow: Workflow) -> Ratchet | None:
    """Which way the parameter loosens; what sets how often something may happen at most is a limit."""
    if parameter.ratchet is not None:
        return ratchet_of(parameter.ratchet)
    if parameter.names:
        return SHORT["members"]
    return SHORT["limit"] if parameter.id in workflow.limiting else None


def _loosens(ratchet: Ratchet, before: Any, value: Any) -> bool:
    """True if a value is looser than the one before; of names, if one of them is gone."""
    if isinstance(before, list):
        return not isinstance(value, list) or any(name not in value for name in before)
    return ratchet.loosens(before, value)


def _value_before(parameter: Parameter, value: Any, snapshot: ParameterSources) -> Any:
    """The value, or the one before where it was loosened and neither a person nor HEAD says so.

    The value before is that of the records, else the default; a looser one in HEAD goes before both. Of
    names it is what HEAD has, where the configuration is committed: nothing there asks for less.
    """
    ratchet, baseline = _ratchet(parameter, snapshot.workflow), snapshot.baseline
    before = baseline.parameters.get(parameter.id, parameter.default)
    if parameter.names and (names := _head_names(parameter, snapshot)) is not None:
        before = names
    if ratchet is None or not _loosens(ratchet, before, value):
        return value
    is_configured = bool(parameter.names) or parameter.id in snapshot.config.of(snapshot.workflow.name)
    # A run of before: what other files said when it began is not known.
    is_unknown = not is_configured and bool(snapshot.records) and baseline.head is None
    if is_unknown or (is_configured and snapshot.definition_accepted):
        return value
    committed = None if parameter.names else _head_value(parameter, snapshot)
    before = committed if committed is not None and _loosens(ratchet, before, committed) else before
    return before if _loosens(ratchet, before, value) else value


def _head_names(parameter: Parameter, snapshot: ParameterSources) -> list[str] | None:
    """The names that the configuration in the commit HEAD gives, [] where it gives none; None without one."""
    committed = snapshot.reader.read_committed(CONFIGURATION)
    if committed is None:
        return None
    value = _head_value(parameter, snapshot)
    return parameter.default if value is None else value


def _head_value(parameter: Parameter, snapshot: ParameterSources) -> Any:
    """The value that the commit HEAD sets; None where it sets none that the parameter may have."""
    workflow = snapshot.workflow
    text = (snapshot.reader.read_committed(CONFIGURATION) or b"").decode("utf-8", "replace")
    configured = read_config(text).of(workflow.name)
    if parameter.id in configured:
        value, code = _check(parameter, configured[parameter.id])
        return None if code else value
    source = parameter.source
    name = source.reads[0].path[0] if source and source.reads else ""
    artifact = snapshot.artifacts.get(name)
    read = KINDS[artifact.kind].read if artifact and artifact.kind in KINDS else None
    committed = snapshot.reader.read_committed(artifact.path) if artifact and read else None
    if source is None or read is None or committed is None:
        return None
    data: Any = read(committed.decode("utf-8", "replace")).data
    outcome = Context(workflow.language, {name: data}, _nothing_else).value(source)
    value, code = (None, "") if outcome.error is not None else _check(parameter, outcome.value)
    return None if code else value


def _nothing_else(name: str) -> object:
    raise UnknownFact(f"{name} is not looked at in the commit HEAD")


_TYPE_NAMES = {
    bool: "truth value", int: "whole number", float: "number", str: "text", list: "list of names",
}  # fmt: skip


def _check(parameter: Parameter, value: object) -> tuple[Any, str]:
    """(value, "") if the parameter may have it, else (why not, code of the finding)."""
    if isinstance(parameter.default, float) and type(value) is int:
        value = float(value)
    is_names = not parameter.names or (isinstance(value, list) and all(isinstance(n, str) for n in value))
    if type(value) is not type(parameter.default) or not is_names:
        return f"{value!r} is no {_TYPE_NAMES[type(parameter.default)]}", "parameter-invalid"
    if parameter.one_of and value not in parameter.one_of:
        return f"{value!r} is none of {', '.join(map(str, parameter.one_of))}", "parameter-out-of-bounds"
    if parameter.min is not None and value < parameter.min:  # pyright: ignore[reportOperatorIssue]
        return f"{value} is less than {parameter.min}", "parameter-out-of-bounds"
    if parameter.max is not None and value > parameter.max:  # pyright: ignore[reportOperatorIssue]
        return f"{value} is greater than {parameter.max}", "parameter-out-of-bounds"
    return value, ""


def whole_number(value: object) -> int:
    """A counter's value. Raises UnknownFact for anything that is no whole number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise UnknownFact(f"{value_summary(value)!r} is no whole number")
