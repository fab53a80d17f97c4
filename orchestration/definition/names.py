"""Names in a definition: whether those it gives can be used, and whether those it uses exist."""

from __future__ import annotations

import re
from collections.abc import Collection

from ..expressions.tokens import RESERVED
from ..plans.dialects import DIALECTS
from ..suggestions import did_you_mean, misspelling
from .reader import DefinitionErrors, LocatedText

_GUARD_NAME = re.compile(r"[a-z][a-zA-Z0-9_]*")
_PLAIN_NAME = re.compile(r"[^\s*{}]+")
# What `answers.QUESTION` says when there is no answer, or none that still holds.
UNANSWERED = ("none", "stale")
# The option that signs a decision which lies in a file, as it is.
PROPOSED = "proposed"
# Names of the language that an artifact or a value may not take.
TAKEN = RESERVED.union((
    "next_step", "state", "checks", "valid", "exists", "parameters", "limits", "answers", "phase", "report",
    "step", "now", "tasks", "records", "newest", "count", "all", "filter", "bool", "bytes", "double",
    "duration", "dyn", "int", "list", "map", "optional", "size", "string", "timestamp", "type", "uint",
))  # fmt: skip


def check_names(raw: dict, errors: DefinitionErrors) -> None:
    """Tell names that cannot be used."""
    for group in ("artifacts", "values", "parameters", "limits", "questions"):
        for name in raw.get(group, {}):
            _guard_name(errors, name, TAKEN if group in ("artifacts", "values") else RESERVED)
    for name in raw.get("values", {}):
        if name in raw.get("artifacts", {}):
            errors.add(name, f"{str(name)!r} is an artifact's name already")
    for name in (*raw["phases"], *raw.get("gates", {}), *raw.get("notes", {})):
        _plain_name(errors, name, ("next",) if name in raw["phases"] else ())
    for name in raw.get("actions", {}):
        _plain_name(errors, name, ("next",), name.removesuffix("*"))
        if name in raw["phases"]:
            errors.add(name, f"{str(name)!r} is a phase's name already")
    for entry in raw.get("questions", {}).values():
        for name in entry.get("options", {}):
            _plain_name(errors, name, (*UNANSWERED, PROPOSED))


def _guard_name(errors: DefinitionErrors, name: LocatedText, taken: Collection[str]) -> None:
    if not _GUARD_NAME.fullmatch(name):
        why = "must begin with a small letter, then letters, digits and _"
        errors.add(name, f"{str(name)!r} {why}: guards use it")
    elif name in taken:
        errors.add(name, f"{str(name)!r} is a name of the language")


def _plain_name(
    errors: DefinitionErrors, name: LocatedText, taken: Collection[str], part: str | None = None
) -> None:
    if not _PLAIN_NAME.fullmatch(name if part is None else part):
        errors.add(name, f"{str(name)!r} is no name: it must not be empty nor hold blanks, * or braces")
    elif name in taken:
        errors.add(name, f"{str(name)!r} has a meaning of its own here; choose another name")


def check_name(text: LocatedText, names: Collection[str], what: str, errors: DefinitionErrors) -> str:
    """The text; one that is none of `names` is told."""
    if text not in names:
        said = f"unknown {what} {str(text)!r}{did_you_mean(text, list(names))}"
        errors.add(text, said, data=misspelling(text, list(names)))
    return str(text)


def check_references(raw: dict, errors: DefinitionErrors) -> None:
    """Tell aliases of what the definition does not have, and an `of` that nobody can follow.

    Names under a key that holds nothing else are checked by its shape (`shapes.id_of`).
    """
    for text in raw.get("aliases", {}).values():
        if text != "*":
            check_name(text, raw["phases"], "phase", errors)
    actions = raw.get("actions", {})
    for text in raw.get("action_aliases", {}).values():
        if not any(name.endswith("*") and text.startswith(name[:-1]) for name in actions):
            check_name(text, actions, "action", errors)
    # Files named by data have no time at which they were judged.
    artifacts = raw.get("artifacts", {})
    for name, entry in artifacts.items():
        if entry.get("of") and "listed" in entry:
            errors.add(name, f"{str(name)!r} is listed, so it cannot judge others; give it paths or no of")
        if entry.get("decided_by") and "listed" in entry:
            errors.add(
                name, f"{str(name)!r} is listed, so nobody can sign it; give it paths or no decided_by"
            )
        for text in entry.get("of", ()):
            if "listed" in artifacts.get(text, {}):
                errors.add(text, f"{str(text)!r} is listed; of needs an artifact that has paths")
    files = [name for name, kind in variables(raw).items() if kind == "map"]
    for path in (path for conflict in raw.get("conflicts", ()) for path in conflict):
        name, _, rest = path.partition(".")
        if name not in files or not rest:
            hint, data = did_you_mean(name, files), misspelling(name, files)
            errors.add(path, f"a path begins with state or an artifact that has data{hint}", data=data)


# --- the names that expressions may use, with their types (format, section b)

_PLAN = {"stages": "list", "files": "strings", "done": "int", "total": "int", "status": "string"}


def variables(raw: dict) -> dict[str, str]:
    """Names that are bound to data before an evaluation: the state, artifacts, and what a plan adds up to."""
    names = {"state": "map"}
    for name, entry in raw.get("artifacts", {}).items():
        if entry["kind"] in DIALECTS:
            names |= {f"{name}.{part}": kind for part, kind in _PLAN.items()}
        elif "listed" not in entry:
            names[str(name)] = "map"
    return names


def facts(raw: dict) -> dict[str, str]:
    """Names that are computed when an expression asks for them; values join them once compiled."""
    names = {"phase": "string", "report": "map", "next_step": "string", "checks": "map"}
    for name in raw.get("artifacts", {}):
        names |= {f"valid.{name}": "bool", f"exists.{name}": "bool"}
    for name, entry in raw.get("parameters", {}).items():
        # A bool is an int to Python.
        kinds: list[tuple[type, str]] = [
            (bool, "bool"), (int, "int"), (float, "double"), (list, "strings")
        ]  # fmt: skip
        found = (kind for python, kind in kinds if isinstance(entry["default"], python))
        names[f"parameters.{name}"] = next(found, "string")
    for name in raw.get("limits", {}):
        limit = f"limits.{name}"
        names |= {f"{limit}.count": "int", f"{limit}.max": "int", f"{limit}.reached": "bool"}
    names |= {f"answers.{name}": "string" for name in raw.get("questions", {})}
    return names
