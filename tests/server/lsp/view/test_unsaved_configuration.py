"""A configuration is checked as the editor holds it, while that is not what the file says."""

from __future__ import annotations

from pathlib import Path

from phasekeeper.orchestration.definition.root_config import PATH
from phasekeeper.server.lsp.view.unsaved_evaluator import _lint

from tests.roots import put


def test_an_unsaved_configuration_is_checked_and_a_saved_one_is_left_to_the_board(tmp_path: Path) -> None:
    put(tmp_path / PATH, "checks: {t: {run: [make]}}\n")
    wrong = "checks: {t: {run: make}}\nworkflows: {a/*: nobody}\n"
    found = _lint(tmp_path, {PATH: wrong})[PATH]
    assert sorted(each.code for each in found) == ["check-invalid", "parameter-invalid"]
    assert _lint(tmp_path, {PATH: "checks: {t: {run: [make]}}\n"}) == {}
    assert _lint(tmp_path, {PATH: "checks: {t: {run: [tox]}}\n"}) == {PATH: ()}
