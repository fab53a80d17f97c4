"""The gate on figures: what fails it, what does not, and that it measures what it says."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from contextlib import nullcontext

import pytest

from tests.bench import figures
from tests.bench.figures import Figure, compare, is_worse, ratio_of


@pytest.fixture(autouse=True)
def floor(monkeypatch):
    monkeypatch.setattr(figures, "FLOORS", {"json": lambda: 2.0})


def figure(measured: Iterable[float]) -> Figure:
    found = iter(measured)
    return Figure("a save", "json", lambda: next(found))


def test_a_ratio_is_of_the_least_ones():
    assert ratio_of(figure([9.0, 4.0, 8.0]), rounds=3) == 2.0


def test_more_than_a_fifth_worse_fails_and_a_new_figure_does_not():
    assert [is_worse(ratio, 1.0) for ratio in (0.5, 1.2, 1.21)] == [False, False, True]
    assert not is_worse(100.0, None)


def test_one_that_was_disturbed_is_measured_again_and_one_that_stays_worse_is_not_forgiven(capsys):
    disturbed = itertools.chain([9.0] * 9, itertools.repeat(2.0))
    assert compare([figure(disturbed)], {"a save": 1.0}) == {"a save": 1.0}
    assert "WORSE" not in capsys.readouterr().out
    assert compare([figure(itertools.repeat(2.6))], {"a save": 1.0}) == {"a save": 1.3}
    assert "WORSE" in capsys.readouterr().out


def test_the_committed_figures_are_ratios_by_name():
    known = json.loads(figures.FILE.read_text())
    assert known
    assert all(isinstance(name, str) and 0 < ratio < 1000 for name, ratio in known.items())


def test_the_gate_fails_on_a_figure_that_got_worse_or_is_measured_no_more(tmp_path, monkeypatch, capsys):
    file = tmp_path / "figures.json"
    monkeypatch.setattr(figures, "FILE", file)
    monkeypatch.setattr(figures, "_of_engine", lambda _: iter([figure(itertools.repeat(2.0))]))
    monkeypatch.setattr(figures, "_of_memory", lambda: iter([]))
    monkeypatch.setattr(figures, "_of_server", lambda _: nullcontext([]))
    assert figures.check(write=True) == 0 and json.loads(file.read_text()) == {"a save": 1.0}
    assert figures.check() == 0
    file.write_text('{"a save": 0.8}')
    assert figures.check() == 1
    file.write_text('{"a save": 1.0, "a look": 1.0}')
    assert figures.check() == 1
    assert "not measured any more: a look" in capsys.readouterr().out
