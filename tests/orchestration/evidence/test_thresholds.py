"""Coverage thresholds in the configuration of tools, and on their command lines."""

from __future__ import annotations

import json

import pytest
from phasekeeper.orchestration.evidence.thresholds import tool_thresholds


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("pyproject.toml", "[tool.coverage.report]\nfail_under = 80\n", {"fail-under": 80}),
        (
            "pyproject.toml",
            '[tool.pytest.ini_options]\naddopts = ["--cov", "--cov-fail-under=85.5"]\n',
            {"fail-under": 85.5},
        ),
        (
            "pyproject.toml",
            '[tool.pytest.ini_options]\naddopts = "--cov-fail-under 70"\n',
            {"fail-under": 70},
        ),
        (".coveragerc", "[report]\nfail_under = 90\n", {"fail-under": 90}),
        ("setup.cfg", "[coverage:report]\nfail_under: 91\n", {"fail-under": 91}),
        ("tox.ini", "[pytest]\naddopts = --cov-fail-under=60\n", {"fail-under": 60}),
        (
            "package.json",
            json.dumps({"jest": {"coverageThreshold": {"global": {"lines": 80, "branches": 70}}}}),
            {"branches": 70, "lines": 80},
        ),
        ("package.json", json.dumps({"c8": {"lines": 75}, "nyc": {"lines": 60}}), {"lines": 60}),
        (
            "package.json",
            json.dumps({"scripts": {"test": "c8 --check-coverage --lines 88 node --test"}}),
            {"lines": 88},
        ),
        (".c8rc.json", '{"functions": 50}', {"functions": 50}),
        (".nycrc", '{"statements": 40}', {"statements": 40}),
        ("jest.config.json", '{"coverageThreshold": {"global": {"lines": -10}}}', {"lines": -10}),
        (
            "jest.config.ts",
            "export default { coverageThreshold: { global: { 'lines': 80, branches : 70.5 } } };",
            {"branches": 70.5, "lines": 80},
        ),
        (
            "vitest.config.ts",
            "export default defineConfig({test: {coverage: {thresholds: {lines: 65}}}})",
            {"lines": 65},
        ),
        ("Makefile", "test:\n\tcoverage report --fail-under=66\n", {"fail-under": 66}),
        ("scripts/test.sh", "pytest --cov-fail-under=77\n", {"fail-under": 77}),
    ],
)
def test_a_threshold_is_read_where_its_tool_reads_it(
    path: str, text: str, expected: dict[str, float]
) -> None:
    found = tool_thresholds(["make"], {path: text})
    assert {each.name: each.least for each in found} == expected
    assert {each.place for each in found} == {path}


def test_options_of_the_command_count_and_of_several_the_least() -> None:
    run = ["pytest", "--cov", "--cov-fail-under=60"]
    files = {"pyproject.toml": "[tool.coverage.report]\nfail_under = 80\n"}
    assert tool_thresholds(run, files) == (("fail-under", 60, "run"),)
    assert tool_thresholds(["pytest"], files) == (("fail-under", 80, "pyproject.toml"),)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pyproject.toml", "[tool.coverage.report\nfail_under = 80\n"),
        ("pyproject.toml", "tool = 3\n"),
        ("pyproject.toml", "[tool.coverage.report]\nfail_under = true\n"),
        ("pyproject.toml", '[tool.coverage.report]\nfail_under = "many"\n'),
        ("pyproject.toml", "[tool.coverage.report]\nfail_under = nan\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = 3\n"),
        ("pyproject.toml", "a = " + "[" * 5000),
        (".coveragerc", "fail_under = 80\n"),
        (".coveragerc", "[report]\nfail_under = %(no)s\n"),
        ("package.json", "[" * 100_000),
        ("package.json", '{"jest": [], "c8": 3, "scripts": ["--lines 80"]}'),
        ("package.json", '{"scripts": {"test": 80}}'),
        (".c8rc.json", '{"lines": 1' + "0" * 400 + "}"),
        (".c8rc", "lines: 80"),
        ("vite.config.ts", "export default { lines: 80 }"),
        ("vite.config.ts", "thresholds: { lines: limit }"),
        ("Makefile", "--fail-under=80" + " " * (1 << 20)),
    ],
)
def test_what_cannot_be_read_sets_no_threshold(path: str, text: str) -> None:
    assert tool_thresholds(["make"], {path: text}) == ()
