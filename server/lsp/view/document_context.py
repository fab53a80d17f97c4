"""What the functions that answer an editor look at: a document, its place, the run it belongs to."""

from __future__ import annotations

from typing import NamedTuple

from ....orchestration.definition.model import Workflow
from ....orchestration.plans.model import Plan
from ....orchestration.result.values import Evaluation
from ....orchestration.vfs.files import join
from .documents import Document
from .root_view import View


class Scene(NamedTuple):
    """One document of a root. `path` is relative to the root; `evaluation` and `workflow` are those of the
    run that the document belongs to, None where it belongs to none."""

    document: Document
    view: View
    path: str
    evaluation: Evaluation | None = None
    workflow: Workflow | None = None

    @property
    def text(self) -> str:
        return self.document.text.source

    @property
    def is_state(self) -> bool:
        """Whether the document is its run's own state file."""
        state = self.workflow.state if self.workflow else None
        run = self.evaluation.run if self.evaluation else ""
        return state is not None and join(run, state.file) == self.path

    @property
    def is_plan(self) -> bool:
        plan = self.evaluation.plan if self.evaluation else None
        return plan is not None and plan.path == self.path

    def plan(self) -> Plan | None:
        """The plan as this text has it, where the document is its run's plan."""
        dialect = self.workflow.dialect if self.workflow else None
        return dialect.read(self.text) if dialect and self.is_plan else None

    def board(self) -> Plan | None:
        """The run's plan as it was last judged, from whichever document of the run it is asked."""
        plan = self.evaluation.plan if self.evaluation else None
        return plan.plan if plan else None
