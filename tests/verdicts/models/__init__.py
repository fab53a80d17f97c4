"""Independent statements of the seeds' rules, a module a workflow, for the exploration of histories."""

from __future__ import annotations

from tests.verdicts.exploration import Model
from tests.verdicts.models import artifact_pipeline, component_design, master_plan, phase_loop, skill_tuning

MODELS: dict[str, Model] = {
    each.MODEL.name: each.MODEL
    for each in (artifact_pipeline, component_design, master_plan, phase_loop, skill_tuning)
}
