"""The packages import each other in one direction, and the engine imports nothing that reaches out."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = ("orchestration", "tools", "server")
# What the engine may import (design, section 3): parsers, and modules that see no disk, clock or process.
PURE = frozenset(
    """
    __future__ abc ast bisect collections contextlib contextvars copy dataclasses datetime difflib enum
    fnmatch functools hashlib heapq itertools json keyword math operator posixpath re string struct textwrap
    types typing unicodedata jsonschema_rs pyromark re2 yaml
    """.split()  # noqa: SIM905 - thirty strings of a list would be read by nobody
)
# Dates are computed with, but never asked for.
CLOCK = ("now", "utcnow", "today")
# `sys` for the largest number that JSON readers take, `importlib` for the first use of a dialect.
MORE = {
    "orchestration/formats/json_text.py": frozenset({"sys"}),
    "orchestration/plans/dialects.py": frozenset({"importlib"}),
}


def violations(path: str, text: str) -> list[str]:
    """What a file of the repository may not import, as `path imports name`."""
    layer = path.split("/", 1)[0]
    allowed = PURE | MORE.get(path, frozenset())
    wrong = []
    for name, relative in _imports(path, text):
        if relative:
            bad = name in LAYERS and LAYERS.index(name) > LAYERS.index(layer)
        else:
            bad = name == "phasekeeper" or (layer == "orchestration" and name not in allowed)
        wrong += [f"{path} imports {name}"] if bad else []
    return wrong + ([f"{path} asks the clock"] if layer == "orchestration" and _asks_clock(text) else [])


def _asks_clock(text: str) -> bool:
    calls = (node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    dated = [call for call in calls if isinstance(call, ast.Attribute) and call.attr in CLOCK]
    return any(
        isinstance(call.value, (ast.Name, ast.Attribute)) and "date" in ast.unparse(call.value)
        for call in dated
    )


def _imports(path: str, text: str) -> list[tuple[str, bool]]:
    """(first name of what is imported, whether it is in this repository), local imports included."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [(alias.name.split(".")[0], False) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.append(((node.module or "").split(".")[0], False))
        elif isinstance(node, ast.ImportFrom):
            above = Path(path).parts[: -node.level]
            whole = [*above, *(node.module or "").split(".")] if node.module else list(above)
            found += [(whole[0], True)] if whole else [(alias.name, True) for alias in node.names]
    return found


FILES = sorted(p.relative_to(ROOT).as_posix() for layer in LAYERS for p in (ROOT / layer).rglob("*.py"))


@pytest.mark.parametrize("path", [path for path in FILES if not path.startswith("server/package/")])
def test_a_file_imports_only_from_its_own_layer_and_below(path: str) -> None:
    assert violations(path, (ROOT / path).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("path", "line", "name"),
    [
        ("orchestration/expressions/context.py", "import pathlib", "pathlib"),
        ("orchestration/expressions/context.py", "from os import path", "os"),
        ("orchestration/plans/any.py", "def late():\n    import time", "time"),
        ("orchestration/plans/any.py", "from ...tools import runs", "tools"),
        ("orchestration/plans/any.py", "from ..artifacts import x\nfrom ... import server", "server"),
        (
            "orchestration/decision/facts.py",
            "from phasekeeper.server.disk import disk_files as files",
            "phasekeeper",
        ),
        ("orchestration/decision/facts.py", "import pydantic", "pydantic"),
        ("tools/check.py", "from ..server.files import DiskFiles", "server"),
        ("server/cli/main.py", "from phasekeeper.tools import check as checks", "phasekeeper"),
    ],
)
def test_a_planted_violation_is_seen(path: str, line: str, name: str) -> None:
    assert violations(path, line) == [f"{path} imports {name}"]


def test_asking_for_the_time_is_seen() -> None:
    text = "import datetime\nat = datetime.datetime.now()"
    assert violations("orchestration/decision/pending_reports.py", text) == [
        "orchestration/decision/pending_reports.py asks the clock"
    ]
    assert violations("server/cli/main.py", text) == []


def test_what_is_allowed_is_no_violation() -> None:
    text = "import re\nfrom . import markdown\nfrom ..orchestration.findings import Finding\n"
    assert violations("orchestration/expressions/context.py", text) == []
    assert violations("server/cli/main.py", text + "import os\nfrom ..tools import checks") == []


def test_the_pure_modules_exist() -> None:
    third = {"jsonschema_rs", "pyromark", "re2", "yaml"}
    assert third | sys.stdlib_module_names >= PURE
