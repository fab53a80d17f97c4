"""Words with which every surface answers a report: what was recorded, and what of it was left out."""

from __future__ import annotations

from ..orchestration.result.values import Evaluation
from ..orchestration.sanitize import plain

_MOST = 600


def report_words(step: str, outcome: str, after: Evaluation) -> str:
    """The report in words; behind it what it wanted to write into the state and may not."""
    ignored = next((found.message for found in after.findings if found.code == "updates-ignored"), "")
    said = f"{plain(step, 60)} {plain(outcome, 40)}"
    return f"{said}; left out: {plain(ignored, _MOST)}" if ignored else said
