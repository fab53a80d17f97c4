"""Workspaces that ask for too much: each bomb is a function that writes one into an empty root.

They are what a cloned repository could hold. None is larger on the disk than it has to be: what is refused by
its size is sparse.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from phasekeeper.orchestration.vfs.files import digest_of

Bomb = Callable[[Path], None]
BOMBS: dict[str, Bomb] = {}

PLAN = ".orchestrator/tasks/f/MASTER_PLAN.md"
PLAN_RUN = ".orchestrator/tasks/f"
PIPELINE = ".ai-tools-chain/tasks/T1"
HEADER = "| Order | Task ID | File | Description | Type | Status |\n|---|---|---|---|---|---|\n"
FULL = 8 * 2**20 - 2**10
"""Bytes of a file that is just read."""
EXPENSIVE = "a.x.filter(p, p != 'b0').size() < 1"


def bomb(build: Bomb) -> Bomb:
    BOMBS[build.__name__.replace("_", "-")] = build
    return build


def write(root: Path, path: str, text: str) -> None:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text.encode("utf-8", "surrogatepass"))


def sparse(root: Path, path: str, size: int) -> None:
    write(root, path, "")
    os.truncate(root / path, size)


def definition(
    root: Path,
    rules: Iterable[str],
    *,
    data: object = None,
    runs: int = 1,
    artifacts: str = "",
    more: str = "",
    name: str = "bomb",
    where: str = "",
) -> None:
    """A workflow whose one phase has these rules, and runs of it with `data` in their `a.json`."""
    lines = "\n".join(f"      - {rule}" for rule in rules)
    marker = "marker: {file: a.json, has: [x]" + (f", where: {json.dumps(where)}" if where else "") + "}"
    text = f"""\
workflow: {name}
runs: {{at: [bombs/*], {marker}}}
artifacts:
  a: {{paths: [a.json], kind: json}}
{artifacts}
{more}
phase: "'do'"
phases:
  do:
    rules:
{lines or "      - {when: 'false', to: end, because: never}"}
  end: {{terminal: complete}}
"""
    write(root, f".phasekeeper/workflows/{name}.yaml", text)
    text = json.dumps({"x": ["a"] * 10_000} if data is None else data)
    for number in range(runs):
        write(root, f"bombs/{number}/a.json", text)


def rule(when: str, because: str = "it is so") -> str:
    return f"{{when: {json.dumps(when)}, to: end, because: {json.dumps(because)}}}"


def plan(rows: str, before: str = "") -> str:
    return (
        f"# Feature - Master Plan\n\n{before}**Objective**: all of it\n\n## Phase 1: One\n\n{HEADER}{rows}\n"
    )


def row(number: int) -> str:
    return f"| {number} | f-{number} | `{number}-a.md` | do | impl | [ ] |\n"


# ---- expressions ------------------------------------------------------------------------------


@bomb
def one_filter(root: Path) -> None:
    definition(root, [rule(EXPENSIVE)])


@bomb
def filters_over_100000(root: Path) -> None:
    definition(root, [rule(EXPENSIVE)] * 24, data={"x": ["a"] * 100_000})


@bomb
def every_rule_uses_its_budget(root: Path) -> None:
    each = "a.x.map(p, a.x.map(q, a.x + a.x)).size() < 0"
    data = {"x": [f"a{n}" for n in range(5_000)]}
    rules = [rule(f"a.x.filter(p, p in a.x).size() == -{n} || {each}") for n in range(200)]
    definition(root, rules, data=data)


@bomb
def every_run_uses_its_budget(root: Path) -> None:
    data = {"x": [f"a{n}" for n in range(1_000)]}
    rules = [rule(f"a.x.filter(p, p in a.x).size() == -{n}") for n in range(200)]
    definition(root, rules, data=data, runs=40)


@bomb
def ten_thousand_rules(root: Path) -> None:
    definition(root, ["{when: 'a.x == []', to: end, because: b}"] * 10_000)


@bomb
def long_texts_are_searched(root: Path) -> None:
    rules = [rule(f"a.x.contains('b{n}')") for n in range(200)]
    definition(root, rules, data={"x": "a" * 999_999})


@bomb
def a_list_that_doubles(root: Path) -> None:
    values = "\n".join(f"  v{n}: '[v{n - 1}, v{n - 1}]'" for n in range(1, 60))
    more = f"values:\n  v0: a.x\n{values}\nnotes: {{n: {{text: 'so: {{v59}}'}}}}"
    rules = [
        rule("v59.minus(v58).size() == 1"),
        rule("v59.joined(' ') == ''"),
        rule("v59 == v58"),
        rule("v59.by('') == []"),
        rule("v59.where({'a': v58}) == []"),
        rule("v59[0][0] == []", "{v59}"),
        rule("v59 != []", "so {v59} and {v58}"),
    ]
    definition(root, rules, more=more)


@bomb
def templates_that_repeat_a_text(root: Path) -> None:
    definition(root, [rule("true", "{a.x}" * 480)], data={"x": "a" * (FULL - 20)})


@bomb
def values_that_need_each_other(root: Path) -> None:
    values = "\n".join(f"  v{n}: v{n - 1} + 1" for n in range(1, 490))
    definition(root, [rule("v489 == -1")], more=f"values:\n  v0: a.x.size()\n{values}")


@bomb
def lists_that_multiply(root: Path) -> None:
    sources = [
        "a.x.map(p, a.x).joined(' ') == ''", "a.x.map(p, a.x).minus(a.x) == []", "a.x.map(p, a.x).by('') == []",
        "a.x.map(p, {'b': a.x}).where({'b': 'c'}) == []", "a.x.as_keys({'b': a.x}) == {}",
        "a.x.map(p, {'n': a.x, 'm': a.x}).circles('n', 'm') == []",
    ]  # fmt: skip
    values = "\n".join(f'  w{n}: "{source.rpartition(" == ")[0]}"' for n, source in enumerate(sources))
    definition(root, [rule(each, "{w5} {w0}") for each in sources], more=f"values:\n{values}")


@bomb
def deep_expressions(root: Path) -> None:
    sources = [
        "(" * 900 + "true" + ")" * 900,
        "!" * 1_900 + "true",
        "-" * 1_900 + "1 == 1",
        "1" + "+1" * 990 + " == 1",
        "true ? " * 200 + "true" + ": true" * 200,
        "[" * 900 + "]" * 900 + " == []",
        "a" + ".x" * 990 + " == 1",
        "a" + "[0]" * 600 + " == 1",
        "a.x" + ".map(p, p)" * 190 + " == []",
        "size(" * 300 + "a.x" + ")" * 300 + " == 1",
        "{'a':" * 300 + "1" + "}" * 300 + " == 1",
    ]
    for number, source in enumerate(sources):
        definition(root, [rule(source)], name=f"bomb{number}")


@bomb
def slow_patterns(root: Path) -> None:
    patterns = ["(a+)+$", "(a*)*b", "(.*a){12}$", "([a-z]{1,40}){8}Q$", "(a|aa)+$"]
    rules = [rule(f"a.x.matches('{pattern}') && {n} < 0") for pattern in patterns for n in range(40)]
    definition(root, rules, data={"x": "a" * 900_000 + "c"})


@bomb
def a_data_driven_pattern(root: Path) -> None:
    patterns = [f"((a|b|c{n}){{1,30}})*z$" for n in range(5_000)]
    definition(root, [rule("a.x.exists(p, 'aaaa'.matches(p))")], data={"x": patterns}, runs=3)


@bomb
def a_marker_that_uses_its_budget(root: Path) -> None:
    # Each of 300 definitions asks each of 30 folders.
    source = "state.x.filter(p, p in state.x).size() < 0"
    data = {"x": [f"a{n}" for n in range(1_000)]}
    for number in range(300):
        definition(
            root, [], name=f"bomb{number}", where=source, more="state: {file: a.json}", data=data, runs=0
        )
    definition(root, [], name="last", data=data, runs=30)


# ---- texts of definitions and states ----------------------------------------------------------


@bomb
def deep_json(root: Path) -> None:
    write(root, f"{PIPELINE}/state.json", '{"phase": ' + "[" * 1_000_000)
    write(root, ".ai-tools-chain/tasks/T2/state.json", '{"phase": "planning", "a": ' + '{"a":' * 900_000)
    write(root, ".ai-tools-chain/tasks/T3/state.json", "[" * 500_000 + "]" * 500_000)


@bomb
def deep_yaml(root: Path) -> None:
    write(root, ".phasekeeper/workflows/flow.yaml", "workflow: flow\nruns: " + "[" * 100_000)
    write(root, ".phasekeeper/workflows/maps.yaml", "workflow: maps\nruns: " + "{a: " * 50_000)
    block = "".join(f"{' ' * n}a:\n" for n in range(700))
    write(root, ".phasekeeper/workflows/block.yaml", block)
    write(root, ".phasekeeper/workflows/lists.yaml", "a: \n" + "- " * 100_000)
    write(root, ".phasekeeper/workflows/anchors.yaml", "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else 'x'] * 9)}]\n" for n in range(30)
    ))  # fmt: skip
    write(root, ".phasekeeper/config.yaml", "parameters: " + "{a: " * 50_000)
    write(root, f"{PIPELINE}/state.json", '{"phase": "planning"}')


@bomb
def wide_json(root: Path) -> None:
    write(root, f"{PIPELINE}/state.json", '{"phase": "planning", "a": [' + "0," * (FULL // 2 - 30) + "0]}")
    write(root, ".ai-tools-chain/tasks/T2/state.json", '{"phase": "planning", ' + ",".join(
        f'"k{n}": {{}}' for n in range(FULL // 16)
    ) + "}")  # fmt: skip
    write(root, ".ai-tools-chain/tasks/T3/state.json", '{"phase": "planning", ' + ",".join(
        ['"a": 1'] * (FULL // 8)
    ) + "}")  # fmt: skip
    write(root, ".ai-tools-chain/tasks/T4/state.json", '{"phase": "planning", ' + ",".join(
        f'"{".".join("a" * 40)}{n}": 1' for n in range(FULL // 100)
    ) + "}")  # fmt: skip
    write(
        root, ".ai-tools-chain/tasks/T5/state.json", '{"phase": "planning", "a": ' + " " * (FULL - 50) + "1}"
    )
    write(
        root, ".ai-tools-chain/tasks/T6/state.json", '{"phase": "planning", "a": "' + "\\u00e9" * (FULL // 7)
    )


@bomb
def broken_json(root: Path) -> None:
    """Everything in it is wrong, so each character may be looked at again."""
    for number, part in enumerate(
        ['"', "'", "{", "}", "\\", "//", "/*", "[1 ", '{"a":', "NaN,", "\n", ",", "é"]
    ):
        text = '{"phase": "planning", "a": ' + part * (FULL // len(part.encode()) - 40)
        write(root, f".ai-tools-chain/tasks/T{number}/state.json", text)


@bomb
def huge_numbers(root: Path) -> None:
    digits = "9" * 4_000_000
    write(root, f"{PIPELINE}/state.json", f'{{"phase": "planning", "a": {digits}}}')
    write(root, ".ai-tools-chain/tasks/T2/state.json", f'{{"phase": {digits}, "a": 1e{digits}}}')
    write(root, ".ai-tools-chain/tasks/T3/state.json", f'{{"phase": "planning", "a": 0.{digits}}}')
    write(root, ".phasekeeper/config.yaml", f"parameters: {{artifact-pipeline: {{x: {'9' * 200_000}}}}}")
    write(root, PLAN, plan(f"| {digits[:1000]} | f-{digits[:100_000]} | `1-a.md` | do | impl | [ ] |\n" * 50))
    write(
        root,
        "tasks/g/MASTER_PLAN.md",
        plan("", f"**Progress**: {digits}/{digits[:-1]} tasks complete ({digits[:9]}%)\n"),
    )
    definition(root, [rule("a.x * a.x > 0")], data={"x": 2**200})


@bomb
def odd_characters(root: Path) -> None:
    zalgo = "a" + "\u0301\u0489" * 300_000
    bidi = "\u202e\u2066" * 300_000
    write(root, PLAN, plan(f"| 1 | f-1 | `1-{zalgo[:1000]}.md` | {zalgo} | impl | [{bidi}] |\n"))
    write(
        root, f"{PIPELINE}/state.json", json.dumps({"phase": zalgo, "title": bidi, "a": "\ud800" * 100_000})
    )
    write(
        root,
        ".ai-tools-chain/tasks/T2/state.json",
        '{"phase": "planning", "\u0000": "' + "\0" * 1_000_000 + '"}',
    )
    write(root, ".ai-tools-chain/tasks/T3/state.json", "\ud800" * 10)
    write(root, "tasks/g/MASTER_PLAN.md", plan(row(1), "\u2028" * 2_000_000))


@bomb
def definitions_that_extend_each_other(root: Path) -> None:
    for number in range(300):
        text = (
            f"workflow: e{number}\nextend: e{number + 1}\nruns: {{at: [bombs/*], marker: {{file: a.json}}}}\n"
        )
        write(root, f".phasekeeper/workflows/e{number}.yaml", text)
    write(root, ".phasekeeper/workflows/circle.yaml", "workflow: circle\nextend: circle2\n")
    write(root, ".phasekeeper/workflows/circle2.yaml", "workflow: circle2\nextend: circle\n")
    write(root, "bombs/0/a.json", '{"x": 1}')


@bomb
def many_large_definitions(root: Path) -> None:
    guards = [f"a.x.exists(p, p == 'b{n}') && a.x.size() > {n} && (true || false)" for n in range(400)]
    for number in range(150):
        definition(root, map(rule, guards), name=f"bomb{number}", data={"x": ["a"]}, runs=0)
    definition(root, map(rule, guards), name="last", data={"x": ["a"]})


@bomb
def a_large_configuration(root: Path) -> None:
    pattern = "*a" * 12 + "b"
    lines = "\n".join(f"  '{pattern}{n}': artifact-pipeline" for n in range(4_000))
    write(root, ".phasekeeper/config.yaml", f"workflows:\n{lines}\n")
    for number in range(200):
        write(root, f".ai-tools-chain/tasks/{'a' * 150}{number}/state.json", '{"phase": "planning"}')


@bomb
def globs_of_projects(root: Path) -> None:
    write(
        root,
        ".phasekeeper/config.yaml",
        f"projects: ['{'**/*a/' * 9}', '**/a', {', '.join([repr('**')] * 500)}, 'p*']",
    )
    for number in range(3_000):
        (root / f"p{number}/aa/a").mkdir(parents=True)


@bomb
def include_everything(root: Path) -> None:
    more = "include: {all: {at: '/**/*.json'}}"
    definition(root, [], data={"x": ["a"] * 50_000}, runs=60, more="state:\n  file: a.json\n  " + more)


# ---- Markdown -----------------------------------------------------------------------------------


@bomb
def a_table_of_a_million_cells(root: Path) -> None:
    write(root, PLAN, plan("| 1 | f-1 " * 166_000 + "|\n"))
    write(root, "tasks/a/MASTER_PLAN.md", plan("|a|b|c|d|e|f|g|h|i|j\n" * 100_000))
    header = "| Task ID | File | Status " + "|a" * 300_000 + "|\n" + "|-" * 300_003 + "|\n"
    write(
        root,
        "tasks/b/MASTER_PLAN.md",
        f"# F\n\n## Phase 1: One\n\n{header}{'|x' * 300_000}|\n" + "|y|\n" * 50,
    )
    write(root, "tasks/c/MASTER_PLAN.md", f"# F\n\n## Phase 1: One\n\n{header}" + "|y\n" * 400_000)


@bomb
def a_million_tasks(root: Path) -> None:
    write(root, PLAN, plan("".join(map(row, range(1_000_000)))))
    write(
        root,
        "tasks/g/MASTER_PLAN.md",
        plan("".join(f"|{n}|f-{n}|`{n}-a.md`|d|i|[ ]|\n" for n in range(220_000))),
    )


@bomb
def plans_just_within_bounds(root: Path) -> None:
    rows = {"odd": "|{}|f-{}|`{}-a.md`|d|i|[odd]|\n", "same": "|1|f-1|`1-a.md`|d|i|[ ]|\n", "bare": "|{}|\n"}
    for name, text in rows.items():
        write(
            root, f"tasks/{name}/MASTER_PLAN.md", plan("".join(text.format(n, n, n) for n in range(24_000)))
        )
    stages = "".join(f"## Phase {n}: S\n\n{HEADER}{row(n)}\n" for n in range(3_500))
    write(root, PLAN, f"# F - Master Plan\n\n**Objective**: all\n\n{stages}")


@bomb
def tasks_of_the_same_name(root: Path) -> None:
    write(root, PLAN, plan(row(1) * 150_000))


@bomb
def tasks_with_unknown_marks(root: Path) -> None:
    write(root, PLAN, plan("".join(f"|{n}|f-{n}|`{n}-a.md`|d|i|[odd]|\n" for n in range(200_000))))


@bomb
def stages_without_end(root: Path) -> None:
    stages = "".join(f"## Phase {n}: S\n\n{HEADER}{row(n)}\n" for n in range(50_000))
    write(root, PLAN, f"# F - Master Plan\n\n**Objective**: all\n\n{stages}")


@bomb
def tasks_that_all_need_each_other(root: Path) -> None:
    write(root, PLAN, plan("".join(map(row, range(450)))))
    needs = ", ".join(f"f-{n}" for n in range(450))
    for number in range(450):
        text = f"# {number}. t\n\n## Meta\n\n- **ID**: f-{number}\n- **Depends On**: [{needs}]\n"
        write(root, f"{PLAN_RUN}/{number}-a.md", text)


@bomb
def dependencies_that_nobody_has(root: Path) -> None:
    write(root, PLAN, plan("".join(map(row, range(450)))))
    for number in range(450):
        needs = ", ".join(f"g-{number}-{n}" for n in range(600))
        text = f"# {number}. t\n\n## Meta\n\n- **ID**: f-{number}\n- **Depends On**: [{needs}]\n"
        write(root, f"{PLAN_RUN}/{number}-a.md", text)


@bomb
def large_task_files(root: Path) -> None:
    write(root, PLAN, plan("".join(map(row, range(100)))))
    for number in range(40):
        text = f"# {number}. t\n\n## Meta\n\n- **ID**: f-{number}\n\n## Files to Change\n\n| File | Action |\n|---|---|\n"
        write(root, f"{PLAN_RUN}/{number}-a.md", text + "".join(f"| `a{n}` | x |\n" for n in range(24_000)))


@bomb
def runs_of_large_files(root: Path) -> None:
    for number in range(24):
        text = json.dumps({"phase": "planning", "a": f"{number}" + "x" * (FULL - 60)})
        write(root, f".ai-tools-chain/tasks/T{number}/state.json", text)


@bomb
def runs_of_many_values(root: Path) -> None:
    for number in range(20):
        text = json.dumps({"phase": "planning", "a": [number, *range(240_000)]})
        write(root, f".ai-tools-chain/tasks/T{number}/state.json", text)


@bomb
def a_run_of_large_artifacts(root: Path) -> None:
    definition(root, [rule("b.x == 'c'")], artifacts="  b: {paths: ['b/*.json'], kind: json}")
    text = json.dumps({"x": "b" * (FULL - 20)})
    for number in range(40):
        write(root, f"bombs/0/b/{number}.json", text)


@bomb
def markdown_that_nests(root: Path) -> None:
    parts = ["> ", "- ", "* ", "1. ", "[", "](", "![", "*", "**a", "_", "`", "``` ", "~~", "<", "<!--", "&amp;",
             "[a](", "| ", "\\", "<a href='", "#", "[^1]", "[ ]", "- [ ] ", "**Status**: ", "\t", "a\n===\n", "\n"]  # fmt: skip
    for number, part in enumerate(parts):
        text = f"# F - Master Plan\n\n## Phase 1: One\n\n{HEADER}{row(1)}\n" + part * (400_000 // len(part))
        write(root, f"tasks/{number}/MASTER_PLAN.md", text)


@bomb
def long_lines(root: Path) -> None:
    """Lines of the greatest length that is read, where our own patterns look into them."""
    spaces, stars = " " * 2_000_000, "*" * 2_000_000
    fields = [
        f"**Status**:{spaces}x\n", f"**Progress**:{spaces}1/2 tasks\n", f"**Status{spaces}**: x\n", f"{stars}Status{stars}: x\n",
        f"##{spaces}Phase 1:{spaces}x{spaces}\n", f"## Phase {'1' * 2_000_000}\n", f"[{spaces}] x\n", f"- [x]{spaces}a{spaces}\n",
        f"**Progress**: {'1' * 1_000_000}/{'2' * 1_000_000}\n", "`" * 2_000_000 + "\n", "~" * 2_000_000 + "\n", f"<!--{spaces}",
        f"| 1 | f-1 | `{spaces}` | {spaces} | impl | [{spaces}] |\n", "[x" * 1_000_000 + "\n", "(`" * 1_000_000 + "\n",
    ]  # fmt: skip
    for number, text in enumerate(fields):
        write(root, f"tasks/{number}/MASTER_PLAN.md", plan(row(1), text) + text)
        write(
            root,
            f"tasks/{number}/1-a.md",
            f"# 1. a\n\n## Meta\n\n- **ID**: f-1\n- **Depends On**: [{text.strip()}]\n{text}",
        )
    sparse(root, "tasks/large/MASTER_PLAN.md", 100 * 2**20)
    write(root, PLAN, plan(row(1)) + "x" * (FULL - 1_000))


# ---- reports and journals -----------------------------------------------------------------------


def _with_plan(root: Path, count: int = 40) -> None:
    write(root, PLAN, plan("".join(map(row, range(count)))))
    for number in range(count):
        write(root, f"{PLAN_RUN}/{number}-a.md", f"# {number}. t\n\n## Meta\n\n- **ID**: f-{number}\n")


@bomb
def ten_thousand_reports(root: Path) -> None:
    _with_plan(root)
    for number in range(10_000):
        text = f"## Task Complete: f-{number % 40}\n\n**Summary**: done it all, and looked at {number}\n"
        write(root, f"{PLAN_RUN}/reports/{number}-4a.md", text)


@bomb
def thousands_of_failures(root: Path) -> None:
    _with_plan(root)
    for number in range(2_000):
        text = f"# Gate\n\n**PHASE GATE STATUS**: FAIL\n\n## Failure Analysis\n\n- f-{number % 40} is broken in {number}\n"
        write(root, f"{PLAN_RUN}/reports/{number}-4b.md", text)
        os.utime(root / f"{PLAN_RUN}/reports/{number}-4b.md", (number * 10, number * 10))


@bomb
def reports_whose_guards_use_their_budget(root: Path) -> None:
    """Each report is judged by a decision of its own, and each of them costs nearly what one may."""
    reads = "reports:\n  files: [reports/*.md]\n  read:\n    do: {heading: Done, outcome: [Status]}"
    rules = [rule(f"a.x.filter(p, p != 'b{n}').size() < 0") for n in range(14)]
    definition(root, rules, data={"x": [f"a{n}" for n in range(9_900)]}, more=reads)
    for number in range(63):
        path = f"bombs/0/reports/{number}-do.md"
        write(root, path, f"# Done {number}\n\n**Status**: ok\n\nLooked at all of it.\n")
        os.utime(root / path, (number * 10, number * 10))


@bomb
def reports_of_one_moment(root: Path) -> None:
    """Each that is taken has to be chosen among all that are left."""
    count = 3_000
    _with_plan(root, count)
    write(root, PLAN, plan("".join(map(row, range(count)))).replace("[ ]", "[x]", 1))
    write(root, ".phasekeeper/config.yaml", "parameters: {master-plan: {adoption: auto}}\n")
    for number in range(1, count):
        path = f"{PLAN_RUN}/reports/{number}-4a.md"
        write(root, f"src/{number}.py", "")
        write(
            root,
            path,
            f"# Task Complete\n\n**Task File**: {number}-a.md\n**Status**: Complete\n\nsrc/{number}.py\n",
        )
        os.utime(root / path, (10, 10))


@bomb
def long_reports(root: Path) -> None:
    _with_plan(root)
    spaces = " " * 1_000_000
    for number, text in enumerate([
        f"**PHASE GATE STATUS**:{spaces}PASS\n", f"**PHASE GATE STATUS**{spaces}: PASS\n", f"## Task Complete:{spaces}f-1\n",
        f"##{spaces}Failure Analysis\n" * 5, "## Failure Analysis\n\n" + "- f-1: x\n" * 400_000,
        "**PHASE GATE STATUS**: PASS\n" * 200_000, "\n" * FULL, "## " * 2_000_000, "f-1 " * 2_000_000,
    ]):  # fmt: skip
        write(root, f"{PLAN_RUN}/reports/{number}-4b.md", text)
    sparse(root, f"{PLAN_RUN}/reports/99-4b.md", 100 * 2**20)


@bomb
def a_journal_of_200_megabytes(root: Path) -> None:
    _with_plan(root, 1)
    sparse(root, f"{PLAN_RUN}/.phasekeeper/journal.jsonl", 200 * 2**20)
    sparse(root, f"{PLAN_RUN}/.phasekeeper/claims.jsonl", 200 * 2**20)


def _journal(records: Iterable[Mapping[str, object]]) -> str:
    lines, before = [], ""
    for number, each in enumerate(records, 1):
        line = json.dumps({"seq": number, "prev": before, "at": "2026-01-01T00:00:00Z", "actor": "a", **each})
        before = digest_of(line)
        lines.append(line)
    return "".join(f"{line}\n" for line in lines)


@bomb
def a_long_journal(root: Path) -> None:
    _with_plan(root)
    records = [
        {"kind": "report", "phase": "4b", "outcome": "fail", "stage": "1", "tasks": ["f-1"]}
        for _ in range(20_000)
    ]
    write(root, f"{PLAN_RUN}/.phasekeeper/journal.jsonl", _journal(records))


@bomb
def a_journal_of_broken_lines(root: Path) -> None:
    _with_plan(root, 1)
    write(root, f"{PLAN_RUN}/.phasekeeper/journal.jsonl", "{}\n" * (FULL // 3))
    write(root, f"{PLAN_RUN}/.phasekeeper/claims.jsonl", "{}\n" * (FULL // 3))
    write(root, "tasks/g/MASTER_PLAN.md", plan(row(1)))
    write(root, "tasks/g/.phasekeeper/journal.jsonl", "\n" * FULL)
    write(root, "tasks/h/MASTER_PLAN.md", plan(row(1)))
    write(root, "tasks/h/.phasekeeper/journal.jsonl", '{"seq": 1, "kind": "start", "a": ' + "[" * 4_000_000)


@bomb
def decisions_without_proof(root: Path) -> None:
    _with_plan(root)
    records = [{"kind": "answer", "question": f"q{n}", "option": "a", "mac": "0" * 64} for n in range(30_000)]
    write(root, f"{PLAN_RUN}/.phasekeeper/journal.jsonl", _journal(records))


# ---- reports of tools -----------------------------------------------------------------------------


def _reports(root: Path, files: Mapping[str, str | bytes]) -> None:
    """A run that reads these files, each as the kind that its name begins with."""
    kinds = {name: name.partition(".")[0].partition("-")[0] for name in files}
    artifacts = "".join(
        f"  r{number}: {{paths: [{name}], kind: {kind}}}\n"
        for number, (name, kind) in enumerate(kinds.items())
    )
    definition(root, [rule("r0.total == 1")], artifacts=artifacts.rstrip("\n"))
    for name, text in files.items():
        (root / "bombs/0" / name).write_bytes(text if isinstance(text, bytes) else text.encode())


@bomb
def entities_of_entities(root: Path) -> None:
    more = "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 30))
    text = f"<!DOCTYPE t [<!ENTITY a0 'ha'>{more}]><testsuite>&a29;</testsuite>"
    outside = "<!DOCTYPE t [<!ENTITY a SYSTEM 'file:///dev/zero'>]><testsuite>&a;</testsuite>"
    _reports(root, {"junit-a.xml": text, "junit-b.xml": outside, "coverage.xml": text})


@bomb
def deep_xml(root: Path) -> None:
    _reports(root, {"junit-a.xml": "<testsuite>" * (FULL // 11), "coverage.xml": "<a>" * (FULL // 3)})


@bomb
def reports_of_millions(root: Path) -> None:
    cases = "<testsuite>" + "<testcase/>" * (FULL // 11 - 4) + "</testsuite>"
    results = '{"version": "2.1.0", "runs": [{"results": [' + "{}," * (FULL // 3 - 30) + "{}]}]}"
    _reports(root, {"junit-a.xml": cases, "coverage.lcov": "SF:a\n" * (FULL // 5), "sarif-a.sarif": results})


@bomb
def failures_at_many_places(root: Path) -> None:
    trace = "".join(f"{'d/' * 40}f{n}.py:{n}: in a\n" for n in range(1, 50))
    case = f"<testcase name='a'><failure>{trace}</failure></testcase>"
    _reports(root, {f"junit-{n}.xml": f"<testsuite>{case * 1_500}</testsuite>" for n in range(3)})


@bomb
def a_report_of_200_megabytes(root: Path) -> None:
    _reports(root, {"junit-a.xml": ""})
    sparse(root, "bombs/0/junit-a.xml", 200 * 2**20)


# ---- folders --------------------------------------------------------------------------------------


@bomb
def a_hundred_thousand_files(root: Path) -> None:
    _with_plan(root)
    for folder, ending in ((PLAN_RUN, "-x.md"), (f"{PLAN_RUN}/reports", ".md")):
        (root / folder).mkdir(exist_ok=True)
        place = os.open(root / folder, os.O_RDONLY)
        for number in range(50_000):
            os.close(os.open(f"{number}{ending}", os.O_CREAT | os.O_WRONLY, dir_fd=place))
        os.close(place)


@bomb
def folders_a_thousand_deep(root: Path) -> None:
    write(root, ".phasekeeper/config.yaml", "projects: ['**']")
    artifacts = "  b: {paths: ['**/b.json', '/**/*/c.json'], kind: json}"
    definition(root, [], artifacts=artifacts)
    here = os.open(root / "bombs/0", os.O_RDONLY)
    for _ in range(1_000):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


@bomb
def circles_of_links(root: Path) -> None:
    write(root, ".phasekeeper/config.yaml", "projects: ['**']")
    definition(root, [], artifacts="  b: {paths: ['**/b.json', '/**/*/c.json'], kind: json}")
    run = root / "bombs/0"
    for name in "bcdef":
        (run / name).symlink_to("..")
        (run / f"{name}.json").symlink_to(f"{name}.json")
    (run / "x").symlink_to("y")
    (run / "y").symlink_to("x")
    for number in range(300):
        (run / f"l{number}").symlink_to(f"l{number + 1}/.")
    (root / "bombs/self").symlink_to("self")
    (root / "tasks").symlink_to(".")


@bomb
def links_that_multiply(root: Path) -> None:
    """Each folder links twice to the next one: 2 to the 24th ways."""
    definition(
        root, [], artifacts="  b: {paths: ['*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/b.json'], kind: json}"
    )
    for number in range(24):
        folder = root / f"bombs/0/{number}"
        folder.mkdir()
        for name in "ab":
            (folder / name).symlink_to(f"../{number + 1}")


@bomb
def ten_thousand_children(root: Path) -> None:
    for number in range(10_000):
        child = {
            "id": f"s{number}",
            "phase": "x",
            "parent": "s0",
            "children": [f"s{n}" for n in range(number, number + 3)],
        }
        write(root, f".phasekeeper/sessions/s{number}/session.json", json.dumps(child))


@bomb
def things_that_are_no_files(root: Path) -> None:
    (root / PIPELINE).mkdir(parents=True)
    os.mkfifo(root / PIPELINE / "state.json")
    (root / ".phasekeeper").mkdir()
    os.mkfifo(root / ".phasekeeper/config.yaml")
    (root / ".phasekeeper/workflows").symlink_to("/dev")
    (root / ".orchestrator/tasks/f").mkdir(parents=True)
    (root / PLAN).symlink_to("/dev/zero")


# What `check` says of each, as a pattern: a finding, or that its runs can be judged.
FINDINGS = {
    "reports-of-one-moment": "budget-exceeded",
    "one-filter": "1 run",
    "filters-over-100000": "budget-exceeded",
    "every-rule-uses-its-budget": "budget-exceeded",
    "every-run-uses-its-budget": "budget-exceeded",
    "ten-thousand-rules": "workflow-invalid: longer than",
    "long-texts-are-searched": "budget-exceeded",
    "a-list-that-doubles": "budget-exceeded",
    "templates-that-repeat-a-text": "budget-exceeded",
    "values-that-need-each-other": "1 run",
    "lists-that-multiply": "budget-exceeded",
    "deep-expressions": "nested too deep",
    "slow-patterns": "budget-exceeded",
    "a-data-driven-pattern": "3 runs",
    "a-marker-that-uses-its-budget": "at most 100 definitions",
    "deep-json": "nested more than",
    "deep-yaml": "nested more than",
    "wide-json": r"may hold [0-9]+ values",
    "broken-json": "not valid JSON",
    "huge-numbers": "too many digits",
    "odd-characters": "half a surrogate pair",
    "definitions-that-extend-each-other": "more than 8 in a row",
    "many-large-definitions": "512 KB together",
    "a-large-configuration": "200 runs",
    "globs-of-projects": "at most 1000 projects",
    "include-everything": "at most 1000 can be judged",
    "a-table-of-a-million-cells": "its header 6",
    "a-million-tasks": "at most 8 MB are read",
    "plans-just-within-bounds": r"and [0-9]+ more such findings",
    "tasks-of-the-same-name": "of Markdown at most",
    "tasks-with-unknown-marks": "of Markdown at most",
    "stages-without-end": "of Markdown at most",
    "tasks-that-all-need-each-other": "plan-cycle",
    "dependencies-that-nobody-has": r"and [0-9]+ more such findings",
    "large-task-files": "1000 are read, and no more",
    "runs-of-large-files": "24 runs",
    "runs-of-many-values": "at most 1000 can be judged",
    "a-run-of-large-artifacts": "1 run",
    "markdown-that-nests": "artifact-unreadable",
    "long-lines": "of Markdown at most",
    "ten-thousand-reports": r"and 9[0-9]+ more such findings",
    "thousands-of-failures": r"and 1[0-9]+ more such findings",
    "reports-whose-guards-use-their-budget": "to judge its 63 report files takes more than [0-9]+ steps",
    "long-reports": "of Markdown at most",
    "a-journal-of-200-megabytes": "the file is 200 MB",
    "a-long-journal": "1 run",
    "a-journal-of-broken-lines": "lines; at most 50000 are read",
    "decisions-without-proof": r"and [0-9]+ more such findings",
    "entities-of-entities": "declares entities or types",
    "deep-xml": "nested more than 200",
    "reports-of-millions": "more than 400000 elements",
    "failures-at-many-places": r"and [0-9]+ more such findings",
    "a-report-of-200-megabytes": "the file is 200 MB",
    "a-hundred-thousand-files": r"and [0-9]+ more such findings",
    "folders-a-thousand-deep": "1 run",
    "circles-of-links": "1 run",
    "links-that-multiply": "more than 50000 folders",
    "ten-thousand-children": "run",
    "things-that-are-no-files": "not a regular file",
}
