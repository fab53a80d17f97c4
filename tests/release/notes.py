"""`python -m tests.release.notes TAG`: the section of a release in CHANGELOG.md, where both agree."""

from __future__ import annotations

import re
import sys

from phasekeeper.server.version import VERSION

from .build import ROOT


def notes(changelog: str, tag: str, version: str = VERSION) -> str:
    """The lines of a version's section. Raises SystemExit, with what to do, where it is not ready."""
    if tag != f"v{version}":
        raise SystemExit(
            f"the tag is {tag}, and server/version.py says {version}: change one, then `make version`"
        )
    for section in re.split(r"(?m)^## ", changelog)[1:]:
        title, _, lines = section.partition("\n")
        if title.split()[0] == version and lines.strip():
            return lines.strip() + "\n"
    raise SystemExit(f"CHANGELOG.md has no section {version}: call its section Unreleased so")


if __name__ == "__main__":
    print(notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), sys.argv[1]), end="")
