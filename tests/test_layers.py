"""Folders import each other in one direction, in no circle; the engine imports nothing that reaches out."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import takewhile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOPS = ("orchestration", "tools", "server")

DIRECTIONS: dict[str, str] = {
    "orchestration": "",
    "orchestration/expressions": "",
    "orchestration/formats": "",
    "orchestration/markdown": "",
    "orchestration/vfs": "",
    "orchestration/journal": "formats markdown vfs",
    "orchestration/plans": "journal",
    "orchestration/evidence": "formats vfs",
    "orchestration/definition": "expressions formats markdown vfs journal plans evidence",
    "orchestration/result": "journal plans",
    "orchestration/snapshot": "expressions formats markdown vfs journal plans evidence definition",
    "orchestration/decision": "expressions vfs journal plans evidence definition result snapshot",
    "orchestration/evaluation": "expressions vfs journal plans evidence definition result snapshot decision",
    "orchestration/lint": "expressions formats journal plans definition",
    "orchestration/plans/bmad": "formats markdown vfs plans plans/checklist plans/records",
    "orchestration/plans/checklist": "markdown vfs plans",
    "orchestration/plans/master_plan": "markdown vfs plans",
    "orchestration/plans/records": "formats markdown vfs plans",
    "orchestration/fleet": "vfs journal definition result snapshot evaluation updates",
    "orchestration/updates": (
        "expressions formats vfs journal plans definition result snapshot decision evaluation"
    ),
    "orchestration/rendering": (
        "expressions journal plans definition result snapshot decision evaluation updates"
    ),
    "tools": "ENGINE",
    "tools/assistant": "ENGINE",
    "tools/fence": "ENGINE",
    "tools/fixes": "ENGINE",
    "server": "ENGINE",
    "server/connector": "",
    "server/disk": "ENGINE",
    "server/store": "ENGINE disk",
    "server/fleet": "ENGINE disk",
    "server/checks": "ENGINE connector disk store",
    "server/workspace": "ENGINE disk store fleet checks",
    "server/cache": "ENGINE disk",
    "server/watch": "ENGINE disk",
    "server/live": "ENGINE disk checks cache watch workspace",
    "server/fence": "ENGINE TOOLS connector disk store workspace",
    "server/page": "ENGINE TOOLS workspace live",
    "server/hub": "ENGINE connector disk fleet cache workspace live",
    "server/terminal": "ENGINE TOOLS hub",
    "server/cli": "ENGINE TOOLS connector disk store workspace live hub terminal",
    "server/cli/commands": "ENGINE TOOLS connector disk fence store fleet checks workspace hub terminal cli",
    "server/lsp/definitions": "ENGINE workspace",
    "server/lsp/view": "ENGINE disk workspace live",
    "server/lsp/features": "ENGINE TOOLS workspace lsp/definitions lsp/view",
    "server/lsp/session": "ENGINE disk workspace live lsp/view",
    "server/lsp/requests": (
        "ENGINE TOOLS disk fleet checks page workspace live lsp/view lsp/features lsp/session"
    ),
    "server/lsp": "live lsp/view lsp/features lsp/session lsp/requests",
    "server/mcp": "ENGINE TOOLS disk fleet checks fence workspace live",
}
"""Folder → what its modules may import beside the leaf modules of their own top folder.

Names are of folders in that top folder; `ENGINE` is all of `orchestration/`, `TOOLS` all of `tools/`.
ARCHITECTURE.md prints this table.
"""

STORE_USERS = frozenset(
    f"server/{path}.py"
    for path in (
        "checks/evidence_store",
        "checks/present",
        "checks/verification",
        "workspace/apply",
        "workspace/fleet_claims",
        "workspace/repair",
        "workspace/run_reader",
        "cli/output",
        "fence/assistant_rules",
        "fence/installation",
        "fence/trial",
        "cli/commands/install",
        "cli/commands/init",
        "cli/commands/repair",
        "cli/commands/verify",
    )
)
"""The modules that may import `server/store/`: every other surface writes through these of `workspace/`.

`cli/output` knows its errors; `init`, its rules and `repair` write what is no record of a run."""

ENGINE_FLOORS, FOLDER_FLOORS, MODULE_FLOORS = 10, 20, 25
"""The longest chains of imports: between folders of the engine, of the product, between modules."""

PURE = frozenset(
    """
    __future__ abc ast base64 binascii bisect collections contextlib contextvars copy dataclasses
    datetime difflib enum fnmatch functools graphlib hashlib hmac importlib itertools json keyword math
    operator posixpath re string struct textwrap types typing unicodedata jsonschema_rs pyromark re2 yaml
    """.split()  # noqa: SIM905 - thirty strings of a list would be read by nobody
)
"""What the engine may import (design, section 3): parsers, and modules that see no disk, clock or process."""

CLOCK = ("now", "utcnow", "today")
"""Dates are computed with, but never asked for."""

MORE = {
    "orchestration/formats/json_text.py": frozenset({"sys"}),
    "orchestration/formats/xml_text.py": frozenset({"xml"}),
    "orchestration/vfs/xml_encoding.py": frozenset({"codecs"}),
    "orchestration/evidence/sarif.py": frozenset({"urllib"}),
    "orchestration/evidence/thresholds.py": frozenset({"configparser", "tomllib"}),
}
"""`sys` for the largest number that JSON readers take; of `xml` and `urllib` the modules
that fetch nothing."""


# ---- the import graph ---------------------------------------------------------------------------


@cache
def _modules() -> dict[str, Path]:
    """Dotted name below the repository → file, without what becomes the package `phasekeeper` itself."""
    files = (path for top in TOPS for path in sorted((ROOT / top).rglob("*.py")))
    named = ((path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."), path) for path in files)
    return {name.removesuffix(".__init__"): path for name, path in named if "server.package" not in name}


def _imports(path: str, text: str) -> Iterator[tuple[str, bool]]:
    """(dotted name that a file imports, whether it is in this repository), local imports included."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, False) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or "", False
        elif isinstance(node, ast.ImportFrom):
            above = [*Path(path).parts[: -node.level], *(node.module or "").split(".")]
            yield from ((".".join([*filter(None, above), alias.name]), True) for alias in node.names)


@cache
def _graph() -> dict[str, frozenset[str]]:
    """Module → modules of the repository that it imports."""
    modules = _modules()

    def targets(name: str) -> Iterator[str]:
        path = modules[name]
        for imported, is_ours in _imports(
            path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        ):
            owner = imported if imported in modules else imported.rpartition(".")[0]
            if is_ours and owner in modules and owner != name:
                yield owner

    return {name: frozenset(targets(name)) for name in modules}


def _folder(module: str) -> str:
    return _modules()[module].parent.relative_to(ROOT).as_posix()


@cache
def _folder_graph() -> dict[str, frozenset[str]]:
    """Folder → other folders that its modules import."""
    edges: dict[str, set[str]] = {}
    for module, imported in _graph().items():
        edges.setdefault(_folder(module), set()).update(map(_folder, imported))
    return {folder: frozenset(others - {folder}) for folder, others in edges.items()}


def _circle(graph: Mapping[str, frozenset[str]]) -> list[str]:
    """A circle of the graph, or nothing."""
    searched: set[str] = set()

    def search(node: str, path: list[str]) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in searched:
            return []
        circle = next(filter(None, (search(after, [*path, node]) for after in sorted(graph[node]))), [])
        searched.add(node)
        return circle

    return next(filter(None, (search(node, []) for node in graph)), [])


def _floors(graph: Mapping[str, frozenset[str]]) -> int:
    """The number of nodes on the longest way through a graph without a circle."""
    heights: dict[str, int] = {}

    def height(node: str) -> int:
        if node not in heights:
            heights[node] = 1 + max((height(after) for after in graph[node]), default=0)
        return heights[node]

    return max(map(height, graph))


def _allowed(folder: str) -> frozenset[str]:
    """The folders that the table lets a folder import, its own among them."""
    groups = {"ENGINE": "orchestration", "TOOLS": "tools"}
    own_top = folder.split("/")[0]
    allowed = {folder, own_top}
    for name in DIRECTIONS[folder].split():
        top = groups.get(name)
        whole = {row for row in DIRECTIONS if row.split("/")[0] == top}
        allowed |= whole if top else {f"{own_top}/{name}"}
    return frozenset(allowed)


# ---- rules about one file -------------------------------------------------------------------------


def violations(path: str, text: str) -> list[str]:
    """What a file of the repository may not import, as `path imports name`."""
    folder = path.rpartition("/")[0]
    is_engine = folder.split("/")[0] == "orchestration"
    wrong: list[str | None] = []
    for imported, is_ours in _imports(path, text):
        if is_ours:
            home = next(row for row in _prefixes(imported) if row in DIRECTIONS)
            writes = home == "server/store" and folder != home and path not in STORE_USERS
            wrong.append(home if home not in _allowed(folder) or writes else None)
        else:
            name = imported.split(".")[0]
            is_impure = is_engine and name not in PURE | MORE.get(path, frozenset())
            wrong.append(name if name == "phasekeeper" or is_impure else None)
    clock = [f"{path} asks the clock"] if is_engine and _asks_clock(text) else []
    return [*(f"{path} imports {name}" for name in dict.fromkeys(filter(None, wrong))), *clock]


def _prefixes(dotted: str) -> Iterator[str]:
    """`a.b.c` → `a/b/c`, `a/b`, `a`."""
    parts = dotted.split(".")
    return ("/".join(parts[:count]) for count in range(len(parts), 0, -1))


def _asks_clock(text: str) -> bool:
    calls = (node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    dated = [call for call in calls if isinstance(call, ast.Attribute) and call.attr in CLOCK]
    return any(
        isinstance(call.value, (ast.Name, ast.Attribute)) and "date" in ast.unparse(call.value)
        for call in dated
    )


FILES = [path.relative_to(ROOT).as_posix() for path in _modules().values()]


@pytest.mark.parametrize("path", FILES)
def test_a_file_imports_only_what_its_folder_may(path: str) -> None:
    assert violations(path, (ROOT / path).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("folder", DIRECTIONS)
def test_an_import_against_the_table_is_seen(folder: str) -> None:
    forbidden = next(row for row in reversed(DIRECTIONS) if row not in _allowed(folder))
    up = "." * (1 + len(folder.split("/")))
    line = f"def late():\n    from {up}{forbidden.replace('/', '.')} import anything"
    assert violations(f"{folder}/any.py", line) == [f"{folder}/any.py imports {forbidden}"]


@pytest.mark.parametrize(
    ("path", "line", "name"),
    [
        ("orchestration/decision/gates.py", "import pathlib", "pathlib"),
        ("orchestration/decision/gates.py", "from os import path", "os"),
        ("orchestration/plans/any.py", "def late():\n    import time", "time"),
        ("orchestration/decision/facts.py", "from phasekeeper.server.disk import disk_files", "phasekeeper"),
        ("orchestration/decision/facts.py", "import pydantic", "pydantic"),
        ("server/workspace/any.py", "from ..store import commit", "server/store"),
    ],
)
def test_a_planted_violation_is_seen(path: str, line: str, name: str) -> None:
    assert violations(path, line) == [f"{path} imports {name}"]


def test_asking_for_the_time_is_seen() -> None:
    text = "import datetime\nat = datetime.datetime.now()"
    assert violations("orchestration/decision/any.py", text) == [
        "orchestration/decision/any.py asks the clock"
    ]
    assert violations("server/cli/any.py", text) == []


def test_what_is_allowed_is_no_violation() -> None:
    text = "import re\nfrom . import gates\nfrom ..findings import Finding\n"
    assert violations("orchestration/decision/any.py", text) == []
    assert violations("server/cli/any.py", "import os\nfrom ...orchestration import findings") == []


def test_the_pure_modules_exist() -> None:
    third = {"jsonschema_rs", "pyromark", "re2", "yaml"}
    assert third | sys.stdlib_module_names >= PURE


# ---- rules about the whole ------------------------------------------------------------------------


def test_the_table_has_every_folder_and_no_other() -> None:
    assert set(DIRECTIONS) == {_folder(module) for module in _modules()}


def test_the_table_allows_nothing_that_nobody_uses() -> None:
    used = _folder_graph()
    for folder, row in DIRECTIONS.items():
        named = {f"{folder.split('/')[0]}/{name}" for name in row.split() if not name.isupper()}
        assert named <= used[folder], folder


def test_no_folders_and_no_modules_import_each_other_in_a_circle() -> None:
    assert _circle(_folder_graph()) == []
    assert _circle(_graph()) == []
    assert _circle({"a": frozenset("b"), "b": frozenset("c"), "c": frozenset("b")}) == ["b", "c", "b"]


def test_chains_of_imports_are_short() -> None:
    folders = _folder_graph()
    engine = {folder: after for folder, after in folders.items() if folder.split("/")[0] == "orchestration"}
    assert _floors(engine) <= ENGINE_FLOORS
    assert _floors(folders) <= FOLDER_FLOORS
    assert _floors(_graph()) <= MODULE_FLOORS
    assert _floors({"a": frozenset("bc"), "b": frozenset("c"), "c": frozenset()}) == 3


def test_no_module_and_no_folder_is_too_large_to_read() -> None:
    folders: dict[Path, int] = {}
    for path in (path for top in TOPS for path in (ROOT / top).rglob("*.py") if path.name != "__init__.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 450, path
        folders[path.parent] = folders.get(path.parent, 0) + 1
    assert {folder: count for folder, count in folders.items() if count > 12} == {}
    assert len((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_one_class_name_is_one_class() -> None:
    classes: dict[str, list[str]] = {}
    for module, path in _modules().items():
        for each in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(each, ast.ClassDef) and not each.name.startswith("_"):
                classes.setdefault(each.name, []).append(module)
    assert {name: modules for name, modules in classes.items() if len(modules) > 1} == {}


def test_every_folder_says_what_it_is_for() -> None:
    for folder in DIRECTIONS:
        assert ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text(encoding="utf-8"))), (
            folder
        )


def test_the_architecture_prints_the_table() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    lines = text.split("<!-- directions -->\n", 1)[1].splitlines()
    rows = takewhile(lambda line: line.startswith("|"), lines)
    cells = [re.sub("[`,]", "", row).strip("|").split("|") for row in rows][2:]
    assert {folder.strip(): allowed.strip() for folder, _, allowed in cells} == DIRECTIONS


def test_every_folder_is_installed() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert [folder for folder in DIRECTIONS if f'"phasekeeper.{folder.replace("/", ".")}",' not in text] == []
