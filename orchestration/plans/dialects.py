"""The registry of plan dialects: one line each. Nothing else in the product names one."""

from __future__ import annotations

from .master_plan.dialect import MASTER_PLAN
from .model import Dialect

DIALECTS: dict[str, Dialect] = {"master-plan": MASTER_PLAN}
"""Dialects by the word that `kind:` of an artifact uses."""
