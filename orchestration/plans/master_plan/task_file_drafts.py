"""The task files of a stage that is appended to a MASTER_PLAN.md: what is known is filled in (seed 004).

The headings are those of the seed's template (reference: workflows, seed 004), so that whoever writes the
task finds a place for everything; what nobody said stays as a line to be written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .new_stage import NewTask

_OPEN = "To be written."


class _Known(NamedTuple):
    """What a report says of a task, each text in one line."""

    depends_on: tuple[str, ...]
    files: tuple[str, ...]
    acceptance: tuple[str, ...]
    review: bool
    priority: str
    effort: str


def task_texts(
    feature: str, tasks: Sequence[NewTask], given: Sequence[Mapping[str, object]]
) -> dict[str, str]:
    """file -> text of each new task. `given` are the reported ones, which come first and in that order.

    Read are `depends_on`, `files`, `acceptance` (lists of text), `requires_ux_dx_review`, `priority` and
    `effort`. A test task that nobody described depends on all the others.
    """
    others = tuple(task.id for task in tasks if not task.is_test)
    known = [_known(each, ()) for each in given] + [_known({}, others)] * (len(tasks) - len(given))
    return {
        task.file: "\n".join(_lines(feature, task, one)) + "\n"
        for task, one in zip(tasks, known, strict=True)
    }


def _known(task: Mapping[str, object], depends_on: tuple[str, ...]) -> _Known:
    return _Known(
        depends_on=_texts(task.get("depends_on")) or depends_on,
        files=_texts(task.get("files")),
        acceptance=_texts(task.get("acceptance")),
        review=bool(task.get("requires_ux_dx_review", False)),
        priority=_text(task.get("priority")) or "P1",
        effort=_text(task.get("effort")) or "S",
    )


def _text(value: object) -> str:
    return " ".join(str(value if value is not None else "").split())


def _texts(value: object) -> tuple[str, ...]:
    return tuple(text for text in map(_text, value) if text) if isinstance(value, list) else ()


def _lines(feature: str, task: NewTask, known: _Known) -> Iterator[str]:
    yield from (f"# {task.number}. {task.title}", "", "## Meta", "")
    yield f"- **ID**: {task.id}"
    yield f"- **Feature**: {feature}"
    yield f"- **Phase**: {task.stage}"
    yield f"- **Priority**: {known.priority}"
    yield f"- **Depends On**: [{', '.join(known.depends_on)}]"
    yield f"- **Effort**: {known.effort}"
    yield f"- **Requires UX/DX Review**: {'true' if known.review else 'false'}"
    yield from ("", "## Objective", "", task.description)
    yield from ("", "## Implementation Steps", "", _OPEN)
    yield from ("", "## Files to Change", "")
    if known.files:
        yield from ("| File | Action | Changes |", "|---|---|---|")
        yield from (f"| `{file.replace('|', '')}` | Modify | {_OPEN} |" for file in known.files)
    else:
        yield _OPEN
    yield from ("", "## Tests", "", _OPEN)
    yield from ("", "## Acceptance Criteria", "")
    yield from (f"- [ ] {text}" for text in known.acceptance or (f"{task.title}: done and tested",))
