"""The names that a definition's expressions may use, with their types (format, section b)."""

from __future__ import annotations

from ..plans.dialects import DIALECTS

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
    names = {"phase": "string", "report": "map", "next_step": "string"}
    for name in raw.get("artifacts", {}):
        names |= {f"valid.{name}": "bool", f"exists.{name}": "bool"}
    for name, entry in raw.get("parameters", {}).items():
        names[f"parameters.{name}"] = _type_of(entry["default"])
    for name in raw.get("limits", {}):
        limit = f"limits.{name}"
        names |= {f"{limit}.count": "int", f"{limit}.max": "int", f"{limit}.reached": "bool"}
    names |= {f"answers.{name}": "string" for name in raw.get("questions", {})}
    return names


def _type_of(default: object) -> str:
    kinds: list[tuple[type, str]] = [(bool, "bool"), (int, "int"), (float, "double")]
    return next((kind for python, kind in kinds if isinstance(default, python)), "string")
