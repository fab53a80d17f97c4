"""What comes with an installation: each package with its licence and size, and a bill of materials."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from .build import run

BINDING = re.compile(r"\b(A?GPL|SSPL|EUPL|OSL|CPAL)|affero|general public", re.I)
"""Licences that would bind who uses the program; weaker ones, on changes of their own files, are listed."""
_READ = """
import importlib.metadata as m, json
def of(d):
    words = [d.metadata.get("License-Expression") or ""]
    classifiers = d.metadata.get_all("Classifier") or ()
    words += [c.rpartition(" :: ")[2] for c in classifiers if c.startswith("License ::")]
    words += [(d.metadata.get("License") or "").strip().partition("\\n")[0][:80]]
    # Where the metadata say nothing the text of the licence does, in its first line.
    own = [f for f in d.files or () if "licen" in f.name.lower() and ".dist-info" in str(f)]
    words += [f.read_text().strip().partition("\\n")[0][:80] for f in own]
    said = next((w for w in words if w and w != "OSI Approved"), "")
    # What Python compiles is its cache, and none of the package's.
    kept = [f.locate() for f in d.files or () if "__pycache__" not in f.parts]
    size = sum(path.stat().st_size for path in kept if path.is_file())
    return [d.metadata["Name"], d.version, said, size]
print(json.dumps([of(d) for d in m.distributions()]))
"""
_NOT_OURS = ("pip", "setuptools", "wheel")


class Package(NamedTuple):
    """An installed package; `licence` is what its metadata says, `size` is in bytes."""

    name: str
    version: str
    licence: str
    size: int


def packages(python: Path) -> list[Package]:
    """The packages of an environment in the order of their names."""
    rows = [Package(*row) for row in json.loads(run([python, "-c", _READ], python.parent))]
    return sorted(each for each in rows if each.name.lower() not in _NOT_OURS)


def faults(listed: list[Package]) -> list[str]:
    """What nobody should ship: a package without a licence, or with one that binds users."""
    unknown = [f"{each.name} {each.version} says no licence" for each in listed if not each.licence]
    return unknown + [f"{each.name}: {each.licence}" for each in listed if BINDING.search(each.licence)]


def write_licences(listed: list[Package], path: Path) -> None:
    """A table in Markdown, beside the artifacts."""
    rows = [f"| {p.name} | {p.version} | {p.licence} | {p.size / 1e6:.1f} MB |" for p in listed]
    lines = ["# Licences", "", "| package | version | licence | installed |", "|---|---|---|---|", *rows, ""]
    path.write_text("\n".join(lines), encoding="utf-8")


def write_bill_of_materials(tools: Path, python: Path, path: Path) -> None:
    """A CycloneDX document of an environment. It is the same for the same packages: no time, no serial."""
    words = [
        tools / "cyclonedx-py",
        "environment",
        "--output-reproducible",
        "--of",
        "JSON",
        "-o",
        path,
        python,
    ]
    run(words, path.parent)
