"""The registry of plan dialects: one line each. Nothing else in the product names one."""

from __future__ import annotations

from collections import UserDict
from collections.abc import MutableMapping
from importlib import import_module
from typing import Any

from .model import Dialect


class _LazyRegistry(UserDict[str, Any]):
    """Dialects by word, each a value or the name of the module whose `DIALECT` it is.

    A module is imported when its dialect is first asked for: the words alone, which is all that the grammar
    of definitions needs, stand on no parser of plans.
    """

    def __getitem__(self, word: str) -> Dialect:
        if isinstance(self.data[word], str):
            self.data[word] = import_module(self.data[word], __package__).DIALECT
        return self.data[word]


DIALECTS: MutableMapping[str, Dialect] = _LazyRegistry(
    {
        "master-plan": ".master_plan.dialect",
        "spec-kit": ".checklist.spec_kit",
        "openspec": ".checklist.openspec",
        "kiro": ".checklist.kiro",
        "plan-file": ".checklist.plan_file",
        "agent-os": ".checklist.agent_os",
        "spec-workflow": ".checklist.spec_workflow",
        "task-master": ".records.task_master",
        "beads": ".records.beads",
        "backlog": ".records.backlog",
        "bmad": ".bmad.dialect",
    }
)
"""Dialects by the word that `kind:` of an artifact uses."""
