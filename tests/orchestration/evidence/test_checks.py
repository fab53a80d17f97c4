"""Checks in a configuration: what is declared is read whole, what is wrong is told at its place."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.definition.root_config import PATH, read_config
from phasekeeper.orchestration.evidence.checks import KEYS, MOST_CHECKS, REPORTS, Check
from phasekeeper.orchestration.findings import Span

TEXT = """\
checks:
  tests:
    run: [make, test]
    inputs: [src/**, tests/**, pyproject.toml]
    definition: [Makefile]
    reports: {junit: build/junit.xml, coverage: build/coverage.xml}
    timeout_s: 60
  lint: {run: [ruff, check], reports: {sarif: build/ruff.sarif}}
"""


def test_checks_are_read_with_their_defaults_and_places():
    config = read_config(TEXT)
    assert config.findings == ()
    assert config.checks == {
        "tests": Check(
            "tests",
            ("make", "test"),
            ("src/**", "tests/**", "pyproject.toml"),
            ("Makefile",),
            {"junit": "build/junit.xml", "coverage": "build/coverage.xml"},
            60,
        ),
        "lint": Check("lint", ("ruff", "check"), (), (), {"sarif": "build/ruff.sarif"}, 900),
    }
    tests = config.checks["tests"]
    assert tests.span == Span(1, 2, 1, 7)
    assert tests.places["timeout_s"] == Span(6, 15, 6, 17)
    assert set(tests.places) == set(KEYS)
    assert {"junit", "coverage", "sarif"} == set(REPORTS)


@pytest.mark.parametrize("text", ["", "checks:\n", "checks: ~\n", "parameters: {}\n"])
def test_a_root_need_not_declare_any(text: str):
    assert read_config(text).checks == {}
    assert read_config(text).findings == ()


@pytest.mark.parametrize(
    ("check", "place", "message"),
    [
        ("{}", (1, 2), "t needs run: the program and its arguments"),
        ("make", (1, 5), "t must be a map with run"),
        ("{run: make test}", (1, 11), "run must be a list of words: the program, then each of its arguments"),
        ("{run: []}", (1, 11), "run must hold 1 to 200 entries"),
        ("{run: ['']}", (1, 12), "the program that is run has no name"),
        ("{run: [make, [a]]}", (1, 18), "each of run must be a text"),
        ("{run: [a], inputs: []}", (1, 24), "inputs must hold 1 to 200 entries"),
        ("{run: [a], inputs: src}", (1, 24), "inputs must be a list"),
        ("{run: [a], inputs: ['']}", (1, 25), "each of inputs must be a text"),
        ("{run: [a], inputs: [../b]}", (1, 25), "'../b' is no path below the root, written with /"),
        ("{run: [a], inputs: [/b]}", (1, 25), "'/b' is no path below the root"),
        ("{run: [a], inputs: ['b\\c']}", (1, 25), "'b\\\\c' is no path below the root"),
        ("{run: [a], definition: ['*.py']}", (1, 29), "'*.py' is a pattern; here a file is named"),
        ("{run: [a], reports: [b]}", (1, 25), "reports must be a map from kinds to files"),
        (
            "{run: [a], reports: {junitt: b}}",
            (1, 26),
            "no report is of the kind 'junitt'; did you mean 'junit'?",
        ),
        ("{run: [a], reports: {junit: [b]}}", (1, 33), "the junit report must be a file's path"),
        ("{run: [a], reports: {junit: ../b}}", (1, 33), "'../b' is no path below the root"),
        ("{run: [a], reports: {junit: a/.phasekeeper/b}}", (1, 33), "reports do not lie in .phasekeeper"),
        ("{run: [a], reports: {junit: b, sarif: b}}", (1, 25), "one file cannot be reports of two kinds"),
        ("{run: [a], timeout_s: 0}", (1, 27), "timeout_s must be a whole number of seconds, 1 to 86400"),
        ("{run: [a], timeout_s: true}", (1, 27), "timeout_s must be a whole number"),
        ("{run: [a], timeout_s: [1]}", (1, 27), "timeout_s must be a whole number"),
        ("{run: [a], reprots: {}}", (1, 16), "unknown key 'reprots' in a check; did you mean 'reports'?"),
    ],
)
def test_a_check_with_a_mistake_is_told_at_its_place_and_left_out(
    check: str, place: tuple[int, int], message: str
):
    config = read_config(f"checks:\n  t: {check}\n  good: {{run: [make]}}\n")
    found = config.findings[0]
    assert found.span
    assert (found.code, found.path, found.span[:2]) == ("check-invalid", PATH, place)
    assert found.message.startswith(message)
    assert [*config.checks] == ["good"]


@pytest.mark.parametrize("name", ["Tests", "a b", "../a", "a.b", "1a", "a" * 65])
def test_a_name_is_one_that_a_file_can_have(name: str):
    config = read_config(f"checks:\n  {name}: {{run: [make]}}\n")
    assert [found.span and found.span[:2] for found in config.findings] == [(1, 2)]
    assert config.checks == {}


def test_no_two_checks_write_one_report():
    text = "checks:\n  a: {run: [x], reports: {junit: out.xml}}\n  b: {run: [y], reports: {junit: out.xml}}\n"
    config = read_config(text)
    assert [*config.checks] == ["a"]
    [found] = config.findings
    assert found.message.startswith("b writes out.xml, as a does")
    assert found.span and found.span[:2] == (2, 25)


def test_what_is_no_map_or_too_much_is_refused_whole():
    [found] = read_config("checks: [a]\n").findings
    assert found.message == "checks must be a map from names to checks"
    many = "".join(f"  c{number}: {{run: [make]}}\n" for number in range(MOST_CHECKS + 1))
    config = read_config(f"checks:\n{many}")
    assert config.checks == {}
    assert config.findings[0].message == "there are 51 checks, at most 50 are read"


@pytest.mark.parametrize(
    ("run", "definition", "files"),
    [
        (["make", "test"], [], ["make", "test", "GNUmakefile", "makefile", "Makefile"]),
        (["/usr/bin/npm", "test"], [], ["test", "package.json"]),
        (["./scripts/check.sh", "-v"], [], ["scripts/check.sh", "-v"]),
        (["sh", "-c", "a/../b | c"], ["a.sh"], ["sh", "-c", "a.sh"]),
        (["make"], ["build.mk"], ["make", "build.mk"]),
    ],
)
def test_a_person_trusts_the_files_that_say_what_is_run(
    run: list[str], definition: list[str], files: list[str]
):
    assert list(Check("c", tuple(run), definition=tuple(definition)).definition_files) == files


def test_a_digest_names_what_is_run_and_not_where_it_is_declared():
    one = read_config(TEXT).checks["tests"]
    moved = read_config(f"# moved\n{TEXT}").checks["tests"]
    assert one.digest([("Makefile", "1")]) == moved.digest([("Makefile", "1")])
    others = [
        one.digest([("Makefile", "2")]),
        one.digest([]),
        Check("tests", ("make", "tests")).digest([]),
        Check("tests", ("make", "test")).digest([]),
        Check("tests", ("make", "test"), timeout_s=1).digest([]),
        Check("other", ("make", "test")).digest([]),
    ]
    assert len({one.digest([("Makefile", "1")]), *others}) == 7


def test_a_report_that_a_word_names_says_nothing_of_what_is_run() -> None:
    run = ("pytest", "--junitxml", "build/junit.xml", "tests/run.py")
    check = Check("c", run, reports={"junit": "./build/junit.xml"})
    assert list(check.definition_files) == ["pytest", "--junitxml", "tests/run.py"]
