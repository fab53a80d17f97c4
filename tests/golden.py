"""Golden cases: scenarios as files, and the one function that checks them.

A case file is a sentence of why, then sections. `-- PATH --` is a file of the root. `-- expect --` holds
expectations, one `KEY = VALUE` a line. A file that tells several stories about the same files has
`-- case NAME --` sections instead: expectations, and lines that change the files first:

    patch PATH: {JSON merge patch}      file PATH: text (\\n is a line end)      remove PATH
    journal RUN: {record}               mtime PATH: seconds                     claim RUN: TASK by WHO
    head PATH: text that the commit HEAD has there, nothing without one; else HEAD has all as it is
    damage PATH (a byte that is no UTF-8 stands in the middle of it)

`#` begins a comment. Keys are dotted paths into the evaluation's JSON, or one of the short forms in
`SHORT`. `pytest --update-cases` writes the values that were found into the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phasekeeper.orchestration.definition.root_config import read_config
from phasekeeper.orchestration.evaluation.evaluate import evaluate_traced
from phasekeeper.orchestration.evaluation.trace import EvaluationTrace, check_action
from phasekeeper.orchestration.journal.journal import Claim, Proofs
from phasekeeper.orchestration.result.values import as_json
from phasekeeper.orchestration.snapshot.discovery import DefinitionSet, discover
from phasekeeper.orchestration.snapshot.run_files import read_run
from phasekeeper.orchestration.vfs.files import digest_of
from phasekeeper.orchestration.vfs.overlay import MemoryFiles
from phasekeeper.server.workspace.definitions import DefinitionLibrary

CASES = Path(__file__).parent / "cases"
_SECTION = re.compile(r"^-- (.+) --$", re.M)
_CHANGE = re.compile(r"^(patch|file|remove|damage|journal|mtime|claim|head) (\S+?):?(?: (.*))?$")


@dataclass
class Case:
    """One story: the files of a root, and what is expected of its run."""

    path: Path
    name: str
    files: dict[str, str]
    mtimes: dict[str, int] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    head: dict[str, str | None] = field(default_factory=dict)
    expected: list[tuple[str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.path.relative_to(CASES).with_suffix('')}:{self.name}"


def cases_in(path: Path) -> list[Case]:
    """The cases of one file, in order."""
    _, *parts = _SECTION.split(path.read_text(encoding="utf-8"))
    sections = list(zip(parts[::2], (body.removeprefix("\n") for body in parts[1::2]), strict=True))
    shared = {name: body for name, body in sections if not _is_story(name)}
    return [
        _case(path, name.removeprefix("case "), body, shared) for name, body in sections if _is_story(name)
    ]


def _is_story(name: str) -> bool:
    return name == "expect" or name.startswith("case ")


def _case(path: Path, name: str, body: str, shared: dict[str, str]) -> Case:
    case = Case(path, name, {})
    for section, text in shared.items():
        file, _, mtime = section.partition(" @ ")
        case.files[file] = text
        if mtime:
            case.mtimes[file] = int(float(mtime) * 1e9)
    for line in body.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        change = _CHANGE.match(line)
        if change:
            _apply(case, *change.groups())
        else:
            key, equals, value = line.partition(" = ")
            assert equals, f"{path.name}: {line!r} is neither a change nor KEY = VALUE"
            case.expected.append((key.strip(), value.strip()))
    return case


def _apply(case: Case, verb: str, path: str, rest: str | None) -> None:
    rest = rest or ""
    if verb == "patch":
        case.files[path] = json.dumps(
            _merged(json.loads(case.files.get(path) or "{}"), json.loads(rest)), indent=2
        )
    elif verb == "file":
        case.files[path] = rest.replace("\\n", "\n").replace("\\r", "\r")
    elif verb == "remove":
        del case.files[path]
    elif verb == "damage":
        text = case.files[path]
        case.files[path] = f"{text[: len(text) // 2]}\udcff{text[len(text) // 2 :]}"
    elif verb == "mtime":
        case.mtimes[path] = int(float(rest) * 1e9)
    elif verb == "head":
        case.head[path] = rest.replace("\\n", "\n") if rest else None
    elif verb == "journal":
        append_record(case.files, path, json.loads(rest))
    else:
        task, _, who = rest.partition(" by ")
        case.claims.append(Claim(task, who, "2099-01-01T00:00:00Z", len(case.claims) + 1))


def append_record(files: dict[str, str], run: str, record: dict[str, Any]) -> None:
    """Append a record to a run's journal, chained to the line before."""
    path = f"{run}/.phasekeeper/journal.jsonl"
    lines = files.get(path, "").splitlines()
    chained = {"seq": len(lines) + 1, **record, "prev": digest_of(lines[-1]) if lines else ""}
    files[path] = "".join(f"{line}\n" for line in [*lines, json.dumps(chained)])


def _merged(data: Any, patch: Any) -> Any:
    """RFC 7386, but a null stays a null: states have them."""
    if not isinstance(patch, dict) or not isinstance(data, dict):
        return patch
    out = dict(data)
    for key, value in patch.items():
        if value == "<removed>":
            out.pop(key, None)
        else:
            out[key] = _merged(out.get(key), value)
    return out


def steps_of(case: Case) -> EvaluationTrace:
    """Find the case's one run and look at it; every decision counts as a person's, and all is in HEAD."""
    files = MemoryFiles(case.files, case.mtimes)
    config = read_config(case.files.get(".phasekeeper/config.yaml", ""))
    matches, passed, *_ = discover(DefinitionSet(DefinitionLibrary.of(files).definitions()), files, config)
    assert matches, f"{case}: no run was found; passed over: {passed}"
    wanted = dict(case.expected).get("run")
    match = next((m for m in matches if m.run == wanted), matches[0])
    committed = {**case.files, **case.head}
    snapshot = read_run(
        match.workflow, files, match.run, root="/root", config=config, claims=case.claims,
        verify=lambda lines: Proofs(frozenset(range(len(lines)))),
        committed=lambda path: text.encode() if (text := committed.get(path)) is not None else None,
    )  # fmt: skip
    return evaluate_traced(match.workflow, snapshot)


# ---- what can be expected ---------------------------------------------------------------------


def _by_id(items: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next((item for item in items if item["id"] == name), {})


def _gate(trace: EvaluationTrace, data: dict, name: str) -> str:
    gate = _by_id(data["gates"], name)
    return gate.get("status", "no such gate")


def _limit(trace: EvaluationTrace, data: dict, name: str) -> str:
    limit = _by_id(data["limits"], name)
    return f"{limit.get('count')} of {limit.get('max')}" + (" reached" if limit.get("reached") else "")


def _task(trace: EvaluationTrace, data: dict, name: str) -> str:
    tasks = [task for stage in data["plan"]["stages"] for task in stage["tasks"]]
    task = _by_id(tasks, name)
    by = f" by {', '.join(task['blockedBy'])}" if task.get("blockedBy") else ""
    return task.get("state", "no such task") + by


def _can(trace: EvaluationTrace, data: dict, name: str) -> str:
    permission = check_action(trace, name)
    if permission is None:
        return "unknown"
    return ("yes" if permission.allowed else "no") + f": {permission.because}"


def _finding(trace: EvaluationTrace, data: dict, code: str) -> str:
    found = [f for f in data["findings"] if f["code"] == code]
    return (
        ", ".join(f"{f['path']}:{f['line']}:{f['column']}" if f["line"] else f["path"] for f in found)
        or "none"
    )


def _says(trace: EvaluationTrace, data: dict, code: str) -> str:
    return " | ".join(f["message"] for f in data["findings"] if f["code"] == code) or "none"


def _question(trace: EvaluationTrace, data: dict, name: str) -> str:
    question = _by_id(data["questions"], name)
    return f"{question['kind']}: {question['question']}" if question else "not open"


def _options(trace: EvaluationTrace, data: dict, name: str) -> str:
    return ", ".join(option["id"] for option in _by_id(data["questions"], name).get("options", []))


def _phase(trace: EvaluationTrace, data: dict, name: str) -> str:
    return _by_id(data["phases"], name).get("state", "no such phase")


def _note(trace: EvaluationTrace, data: dict, name: str) -> str:
    return _by_id(data["notes"], name).get("text", "not shown").replace("\n", "\\n")


def _forbidden(trace: EvaluationTrace, data: dict, name: str) -> str:
    said = {entry["action"]: entry["because"] for entry in data["suggestion"]["forbidden"]}
    return said.get(name, "not forbidden")


def _evidence(trace: EvaluationTrace, data: dict, name: str) -> str:
    found = next((e for e in data["suggestion"]["evidence"] if e["expression"] == name), None)
    if found is None:
        return "none"
    at = f" at {found['path']}:{found['line']}:{found['column']}" if found["line"] else ""
    return json.dumps(found["value"]) + at


SHORT: dict[str, Callable[[EvaluationTrace, dict, str], str]] = {
    "gate": _gate,
    "limit": _limit,
    "task": _task,
    "can": _can,
    "finding": _finding,
    "says": _says,
    "question": _question,
    "options": _options,
    "phase": _phase,
    "note": _note,
    "forbidden": _forbidden,
    "evidence": _evidence,
}
_LISTS = {"codes": "findings", "asked": "questions"}


def found(trace: EvaluationTrace, data: dict[str, Any], key: str) -> str:
    """What the evaluation says under a key, as it is written in case files."""
    short, _, name = key.partition(" ")
    if name and short in SHORT:
        return SHORT[short](trace, data, name)
    if key == "codes":
        return ", ".join(sorted({f["code"] for f in data["findings"] if f["severity"] != "hint"})) or "none"
    if key == "asked":
        return ", ".join(question["id"] for question in data["questions"]) or "none"
    if key == "next":
        suggestion = data["suggestion"]
        return " ".join(filter(None, [suggestion["kind"], suggestion["suggestedNext"]]))
    value: Any = data
    for part in key.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def check(case: Case, update: bool = False) -> EvaluationTrace:
    """Compare a case with what the engine says; with `update`, write what it says into the file.

    The steps are what the engine looked at.
    """
    trace = steps_of(case)
    data = as_json(trace.evaluation)
    assert case.expected, f"{case} expects nothing"
    got = [(key, found(trace, data, key)) for key, _ in case.expected]
    if update and got != case.expected:
        _write(case, dict(got))
    else:
        assert got == case.expected
    return trace


def _write(case: Case, values: dict[str, str]) -> None:
    text = case.path.read_text(encoding="utf-8")
    header = "-- expect --" if case.name == "expect" else f"-- case {case.name} --"
    before, body = text.split(header + "\n", 1)
    end = _SECTION.search(body)
    own, after = (body[: end.start()], body[end.start() :]) if end else (body, "")
    for key, value in values.items():
        own = re.sub(rf"^{re.escape(key)} = .*$", lambda m: f"{key} = {value}", own, flags=re.M)  # noqa: B023
    case.path.write_text(before + header + "\n" + own + after, encoding="utf-8")
