"""SARIF 2.1.0 (OASIS), the results of linters and scanners: what of them counts, at which level, and where.

Section numbers are the standard's. A result counts if its kind is `fail` and its level not `none`, unless it
is suppressed (3.27.23), or unchanged or gone since a baseline (3.27.24). A run without `results` has not
looked (3.14.23), and neither has one that says that it failed (3.20.14): then the report says nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from ..findings import Problem, Severity, SourcePlace, SourceProblem, Span, line_span
from .tool_report import (
    MOST_ISSUES,
    MOST_NAME,
    TOP,
    IssueCounts,
    ToolReport,
    first_line,
    invalid,
    json_document,
)

KIND = "sarif"
VERSION = "2.1.0"
_LEVELS = ("error", "warning", "note")
_OTHER_KINDS = ("notApplicable", "pass", "review", "open", "informational")
_MOST_BASES = 8
"""Bases of bases that are followed."""
_Object = Mapping[str, Any]


def read_sarif(text: str) -> ToolReport:
    """The report in a text; of its issues the first 500 are told."""
    document = json_document(text)
    if not document.readable:
        return ToolReport(KIND, problems=document.problems)
    log = _object(document.data)
    if log.get("version") != VERSION:
        return invalid(KIND, f'SARIF of version {VERSION} has `version`: "{VERSION}"')
    runs = [_object(run) for run in _list(log.get("runs"))]
    if why := _why_unusable(runs):
        return invalid(KIND, why)
    counts: Counter[str] = Counter()
    issues: list[SourceProblem] = []
    for run in runs:
        reader = _RunReader(run)
        for result in map(_object, run["results"]):
            level = reader.level(result)
            counts[level] += 1
            if level in _LEVELS and len(issues) < MOST_ISSUES:
                issues.append(reader.issue(result, level))
    named = IssueCounts(*(counts[name] for name in IssueCounts._fields))
    data = {**named._asdict(), "total": named.error + named.warning + named.note}
    return ToolReport(KIND, named, data, tuple(issues))


def _why_unusable(runs: list[_Object]) -> str:
    """Why nothing can be told from the runs; "" if something can."""
    if not runs:
        return "the report holds no run, so nothing was looked at"
    for run in runs:
        if not isinstance(run.get("results"), list):
            return "a run has no list of `results`: the tool did not look, or keeps them elsewhere"
        for invocation in map(_object, _list(run.get("invocations"))):
            if invocation.get("executionSuccessful") is False:
                return f"{_tool_name(run)} says that it failed (`executionSuccessful`: false)"
    return ""


def _tool_name(run: _Object) -> str:
    name = _object(_object(run.get("tool")).get("driver")).get("name")
    return name[:MOST_NAME] if isinstance(name, str) and name else "the tool"


class _RunReader:
    """What results of one run refer to: rules by id and index, changed levels, bases of paths, files."""

    def __init__(self, run: _Object) -> None:
        tool = _object(run.get("tool"))
        components = [tool.get("driver"), *_list(tool.get("extensions"))]
        self._rules = [list(map(_object, _list(_object(each).get("rules")))) for each in components]
        self._by_id = {_text(rule.get("id")): rule for rules in reversed(self._rules) for rule in rules}
        self._levels = dict(_overrides(run))
        self._bases = _object(run.get("originalUriBaseIds"))
        self._files = _list(run.get("artifacts"))
        # Columns in UTF-16 mean nothing without the line's text: then the whole line is meant.
        self._has_columns = run.get("columnKind") in (None, "unicodeCodePoints")
        self._tool = _tool_name(run)

    def level(self, result: _Object) -> str:
        """error, warning or note of what counts; suppressed, unchanged or none of what does not."""
        if result.get("kind") in _OTHER_KINDS:
            return "none"
        level = result.get("level")
        if level is None:
            level = self._rule_level(result)
        if level == "none" or result.get("baselineState") == "absent":
            return "none"
        if _is_suppressed(result):
            return "suppressed"
        if result.get("baselineState") == "unchanged":
            return "unchanged"
        # A word that the standard does not have is no reason to let it go.
        return level if level in _LEVELS else "error"

    def issue(self, result: _Object, level: str) -> SourceProblem:
        name = self._rule_id(result)
        said = _object(result.get("message"))
        text = _text(said.get("text")) or self._rule_text(result, said)
        message = f"{self._tool}: {' '.join(filter(None, (name, first_line(text)))) or 'an issue'} ({level})"
        severity = Severity.INFO if level == "note" else Severity.WARNING
        locations = _list(result.get("locations"))
        places = self._places(_object(locations[0])) if locations else ()
        data = {"rule": name, "level": level}
        return SourceProblem(Problem("issue-reported", message, TOP, severity, data), places)

    def _rule(self, result: _Object) -> _Object:
        """The rule of a result (3.27.7, 3.52): by component and index, else by id and the ids above it."""
        reference = _object(result.get("rule"))
        component = _object(reference.get("toolComponent")).get("index")
        index = reference.get("index", result.get("ruleIndex"))
        rules = _at(self._rules, component + 1 if type(component) is int else 0)
        rule = _at(rules, index) if isinstance(rules, list) else None
        name = self._rule_id(result)
        while rule is None and name:
            rule = self._by_id.get(name)
            name = name.rpartition("/")[0]
        return _object(rule)

    def _rule_id(self, result: _Object) -> str:
        name = result.get("ruleId") or _object(result.get("rule")).get("id")
        return _text(name)[:MOST_NAME]

    def _rule_level(self, result: _Object) -> str:
        """The level where the result has none (3.27.10): the invocation's, the rule's, or warning."""
        rule = self._rule(result)
        name = _text(rule.get("id")) or self._rule_id(result)
        if name in self._levels:
            return self._levels[name]
        return _text(_object(rule.get("defaultConfiguration")).get("level")) or "warning"

    def _rule_text(self, result: _Object, message: _Object) -> str:
        """The text of a message that is told by its id (3.11.7), its placeholders as they are."""
        texts = _object(self._rule(result).get("messageStrings"))
        return _text(_object(texts.get(_text(message.get("id")))).get("text"))

    def _places(self, location: _Object) -> tuple[SourcePlace, ...]:
        physical = _object(location.get("physicalLocation"))
        artifact = _object(physical.get("artifactLocation"))
        if "uri" not in artifact:
            artifact = _object(_object(_at(self._files, artifact.get("index"))).get("location"))
        path = _path(_text(artifact.get("uri")))
        if not path:
            return ()
        region = _object(physical.get("region"))
        span = _span(region, self._has_columns)
        # Where the run was made elsewhere, its folders are others, and the path below them may be ours.
        base = (
            "" if path.startswith("/") or path[1:2] == ":" else self._base(_text(artifact.get("uriBaseId")))
        )
        return tuple(SourcePlace(each, span) for each in dict.fromkeys((base + path, path)))

    def _base(self, name: str) -> str:
        """The folder that a base stands for (3.14.14), "" where the report does not say."""
        path = ""
        for _ in range(_MOST_BASES):
            base = _object(self._bases.get(name))
            folder = _path(_text(base.get("uri")))
            path = (folder if not folder or folder.endswith("/") else f"{folder}/") + path
            name = _text(base.get("uriBaseId"))
            if path.startswith("/") or not name:
                break
        return path


def _overrides(run: _Object) -> list[tuple[str, str]]:
    """(rule, level) as invocations changed it (3.20.5)."""
    changed = (
        _object(each)
        for invocation in map(_object, _list(run.get("invocations")))
        for each in _list(invocation.get("ruleConfigurationOverrides"))
    )
    pairs = (
        (
            _text(_object(each.get("descriptor")).get("id")),
            _text(_object(each.get("configuration")).get("level")),
        )
        for each in changed
    )
    return [(name, level) for name, level in pairs if name and level]


def _is_suppressed(result: _Object) -> bool:
    """True if somebody let it pass, and nobody is still looking or has said no (3.27.23, 3.35.3)."""
    suppressions = [_object(each) for each in _list(result.get("suppressions"))]
    return bool(suppressions) and all(each.get("status", "accepted") == "accepted" for each in suppressions)


def _path(uri: str) -> str:
    """The path of a file's URI, or of a reference; "" of other schemes."""
    scheme, _, rest = uri.partition(":")
    if scheme.lower() == "file":
        path = rest.removeprefix("//")
        path = path if path.startswith("/") else f"/{path.partition('/')[2]}"
        # file:///C:/folder
        return unquote(path[1:] if path[2:3] == ":" else path)
    return "" if "://" in uri else unquote(uri)


def _span(region: _Object, has_columns: bool) -> Span | None:
    line, column, last, end = (
        value if type(value := region.get(name)) is int else 0
        for name in ("startLine", "startColumn", "endLine", "endColumn")
    )
    if not has_columns:
        return line_span(line)
    return line_span(line, column, end if last in (0, line) else 0)


def _at(values: list[Any], index: object) -> Any:
    return values[index] if type(index) is int and 0 <= index < len(values) else None


def _object(value: object) -> _Object:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
