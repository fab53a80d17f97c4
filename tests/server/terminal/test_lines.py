"""What people see: wrapping and colours on a terminal, plain lines elsewhere, and nothing that acts."""

from __future__ import annotations

import io
import os
import re
import sys

import pytest
from phasekeeper.server.cli.main import main
from phasekeeper.server.terminal import lines as terminal
from phasekeeper.server.terminal.lines import Part, bare, print_lines

from tests.roots import EXAMPLES, TASKS, loop, plan, put, task

ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch):
    """Runs a command on a terminal of some columns: what was written to it."""
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)

    def shown(columns: int, *words: object) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        stream = Screen()
        monkeypatch.setattr(sys, "stdout", stream)
        main([str(word) for word in words])
        return stream.getvalue()

    return shown


def seen(text: str) -> list[str]:
    return [line.rstrip() for line in ANSI.sub("", text).splitlines()]


def test_a_long_line_breaks_between_words_and_goes_on_further_right(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr(sys, "stdout", Screen())
    print_lines(
        [[Part("  gate ", "bad"), Part("one two three four five six seven eight nine")], [Part("  short")]]
    )

    assert seen(sys.stdout.getvalue()) == [  # pyright: ignore[reportAttributeAccessIssue]
        "  gate one two three four",
        "      five six seven eight",
        "      nine",
        "  short",
    ]


def test_a_word_longer_than_the_screen_is_broken_and_lost_nowhere(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr(sys, "stdout", Screen())
    print_lines([[Part("    " + "x" * 100)]])

    lines = seen(sys.stdout.getvalue())  # pyright: ignore[reportAttributeAccessIssue]
    assert "".join(line.strip() for line in lines) == "x" * 100
    assert max(map(len, lines)) <= 30


def test_a_pipe_gets_each_line_whole(capsys):
    print_lines([[Part("  gate ", "bad"), Part("word " * 100)]])
    assert capsys.readouterr().out == "  gate " + "word " * 99 + "word\n"


@pytest.mark.parametrize("columns", [40, 80, 119, 120, 140, 200])
def test_no_line_of_any_command_is_wider_than_the_screen(screen, columns):
    for command in ("status", "next", "gates", "questions", "explain", "check"):
        lines = seen(screen(columns, command, EXAMPLES))
        # A command is whole, so that it can be copied: a terminal breaks it without a line end.
        assert max(len(line) for line in lines if ": phasekeeper " not in line) <= columns
        assert all("--root" in line for line in lines if re.search(r"(report|decide): phasekeeper ", line))


def test_a_wide_screen_shows_a_table_and_a_narrow_one_paragraphs(screen):
    wide, narrow = seen(screen(140, "status", EXAMPLES)), seen(screen(80, "status", EXAMPLES))

    assert wide[0].split() == ["Run", "Stands", "Next"]
    assert any(line.startswith(".claude/state ") and "waits for a person" in line for line in wide)
    assert narrow[0] == f"{TASKS}/late-fees  active"
    assert wide[-1] == narrow[-1] == "7 runs, 4 active, 1 waits for a job, 1 complete, 1 waits for a person"


def test_one_run_is_a_paragraph_on_every_screen(screen, root):
    task(root, "T1")
    assert seen(screen(140, "status", root))[0] == f"{TASKS}/T1  active"


def test_many_runs_are_shown_and_counted(screen, root):
    for number in range(200):
        task(root, f"T{number:03}", ok=bool(number % 2))
    lines = seen(screen(140, "status", root))

    assert lines[-1] == "200 runs, 200 active"
    assert [line.split()[0] for line in lines if line.startswith(TASKS)] == [
        f"{TASKS}/T{n:03}" for n in range(200)
    ]


def test_colours_are_left_out_where_they_are_not_wanted(screen, monkeypatch):
    assert "\x1b[32m" in screen(80, "status", EXAMPLES)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", screen(80, "status", EXAMPLES))
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in screen(80, "status", EXAMPLES)


def test_an_encoding_that_lacks_a_character_is_no_crash(monkeypatch, root):
    task(root, "T1", title="日本 → é")
    stream = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", stream)

    assert main(["status", str(root)]) == 0
    assert "artifact-pipeline: ?? ? é" in stream.buffer.getvalue().decode("latin-1")  # pyright: ignore


# ---- text that others wrote -------------------------------------------------------------------

EVIL = (
    "\x1b[31mred\x1b]0;t\x07\u202e\u2066 ::error::x\n::error file=a::y\r##[error]z "
    "[bold]b[/bold] [l](http://e.vil) <b>"
)
NAME = "t\x1b[2J\u202e[red]\n::error::n"
OWN = f"""\
extend: artifact-pipeline
workflow: own
title: {EVIL!r}
runs: {{at: [own/*], marker: {{file: state.json, has: [phase]}}}}
phases:
  planning:
    title: {EVIL!r}
    agent: {EVIL!r}
    rules: [{{when: "true", ask: sure, warn: own-code, because: {EVIL!r}}}]
questions: {{sure: {{ask: {EVIL!r}, options: {{yes: {EVIL!r}}}}}}}
gates:
  own-gate:
    title: {EVIL!r}
    after: planning
    judged: "true"
    criteria: [{{text: {EVIL!r}, when: "false"}}]
    forbidden: {{test: {EVIL!r}}}
effects: {{answer.sure.yes: {{}}}}
notes: {{n: {{title: {EVIL!r}, when: "true", text: {EVIL!r}}}}}
"""


def yaml(text: str) -> str:
    r"""Python's quoting made YAML's: it knows `\x1b` and the like in double quotes only."""
    return re.sub(r"'((?:[^'\\]|\\.)*)'", lambda m: '"' + m[1].replace('"', '\\"') + '"', text)


@pytest.fixture
def hostile(root):
    """A root in which everything that can hold text holds text that would do something."""
    put(root / ".phasekeeper/workflows/own.yaml", yaml(OWN))
    put(root / "own/T1/state.json", {"phase": "planning", "title": EVIL})
    task(root, NAME, ok=False, title=EVIL, phase="code_review")
    task(root, "unknown", title=EVIL, phase=EVIL)
    loop(root, title=EVIL, workQueue=[{"id": EVIL, "priority": "S0", "status": "pending"}], gates={EVIL: {}})
    folder = plan(root, "lists", 3, done=1)
    text = (folder / "MASTER_PLAN.md").read_text(encoding="utf-8")
    one_line = EVIL.replace("\n", " ").replace("\r", " ")
    (folder / "MASTER_PLAN.md").write_text(
        text.replace("Step 2", one_line).replace("# lists", f"# {one_line}")
    )
    put(folder / "reports/1.md", f"## Phase Quality Gate: {one_line}\n")
    config = f"parameters: {{master-plan: {{adoption: auto, {EVIL!r}: 1}}}}\n{EVIL!r}: 1\n"
    put(root / ".phasekeeper/config.yaml", yaml(config))
    return root


COMMANDS = [
    ["status"],
    ["next"],
    ["gates"],
    ["questions"],
    ["escalations"],
    ["explain"],
    ["check", "--hints"],
    ["check", "--format", "github"],
    ["check", "--format", "sarif"],
    ["check", "--format", "json"],
    ["workflow", "list"],
    ["workflow", "show", "own"],
    ["workflow", "graph", "own"],
    ["can", "own/T1", "test"],
]


def called(words: list[str], root) -> list[str]:
    if words[0] == "workflow":
        return [*words, "--root", str(root)]
    return [*words, str(root)]


def acts(text: str) -> list[str]:
    """What in a text is more than letters and line ends."""
    return [character for character in text if not character.isprintable() and character != "\n"]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_nothing_in_a_hostile_root_acts_in_a_pipe(capsys, hostile, words):
    main(called(words, hostile))
    out, err = capsys.readouterr()

    assert "\\x1b[31mred" in out or words[0] == "can" or words[-1] in ("json", "github") or "graph" in words
    assert acts(out + err) == []
    github = words[-1] == "github"
    commands = [line for line in (out + err).splitlines() if line.lstrip().startswith("::")]
    assert github or not commands
    assert all(
        re.match(r"::(error|warning|notice) file=[^,:]+,title=[\w-]+(,|::)", line) for line in commands
    )
    assert github or words[-1] in ("sarif", "json") or "##[" not in out + err


@pytest.mark.parametrize("columns", [80, 140])
@pytest.mark.parametrize("words", [words for words in COMMANDS if "--format" not in words], ids=" ".join)
def test_nothing_in_a_hostile_root_acts_on_a_terminal(screen, hostile, words, columns):
    text = screen(columns, *called(words, hostile))

    assert text
    assert acts(ANSI.sub("", text)) == []
    assert not {"\x1b[31m", "\x1b[2J"} & {code for code in ANSI.findall(text) if code != "\x1b[1;31m"}


def test_what_looks_like_markup_is_shown_as_it_is(screen, hostile):
    text = " ".join(" ".join(seen(screen(200, "status", hostile))).split())
    assert "[bold]b[/bold]" in text
    assert "[l](http://e.vil)" in text


def test_a_definition_on_a_terminal_is_printed_without_what_acts(screen, hostile):
    (hostile / ".phasekeeper/workflows/own.yaml").write_text(yaml(OWN) + "# \u202e\n", encoding="utf-8")
    text = screen(80, "workflow", "show", "own", "--yaml", "--root", hostile)

    assert acts(text) == []
    assert text.endswith("# \\u202e\n")


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("  ::error::x", "  \\x3a:error::x"),
        ("a ::error::x  ", "a ::error::x"),
        ("a ##[error]x", "a #\\x23[error]x"),
    ],
)
def test_a_printed_line_is_no_command_for_a_build(line, printed):
    assert bare(line) == printed


def test_every_style_has_colours():
    assert set(terminal.STYLES) >= {"", "run", "phase", "good", "bad", "warn", "wait", "dim"}
    assert os.linesep not in "".join(terminal.STYLES.values())
