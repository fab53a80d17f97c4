"""What is said of real repositories, judged by hand: each file was read at the line, and it is so, or not.

`judged_findings.tsv` has a row for each finding. One that is new has to be judged and added; one that is gone
has to be taken out, or is a mistake that is no longer seen.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.test_conventions import FOLDERS, READ_IN_PLACE

pytestmark = pytest.mark.corpus

TABLE = Path(__file__).with_name("judged_findings.tsv")
LEAST_JUDGED = 200
MOST_FALSE = 1 / 200


def judged() -> list[dict[str, str]]:
    with TABLE.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text, delimiter="\t"))


def test_all_that_is_said_of_real_repositories_was_judged(
    corpus: Path, status: Callable[[Path], list[dict[str, Any]]]
) -> None:
    said = Counter[tuple[str, str, str]]()
    for folder in FOLDERS:
        below = folder.relative_to(corpus / "conventions").as_posix()
        for run in (each for each in status(folder) if each["workflow"] in READ_IN_PLACE):
            for found in run["findings"]:
                said[f"{below}/{found['path']}", str(found.get("line") or 1), found["code"]] += 1
    assert said == Counter((row["file"], row["line"], row["code"]) for row in judged())


def test_at_most_one_of_200_is_false() -> None:
    verdicts = Counter(row["verdict"] for row in judged())
    assert set(verdicts) <= {"true", "false"}
    assert verdicts.total() >= LEAST_JUDGED
    assert verdicts["false"] <= verdicts.total() * MOST_FALSE
