"""What a release looks at before it is one."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from phasekeeper.server.version import VERSION

from .build import digest, normalize, unexpected
from .inventory import Package, faults
from .notes import notes

CHANGELOG = f"# Changelog\n\n## {VERSION}\n\n- New.\n\n## 0.1.0\n\n- Old.\n"


def test_the_notes_of_a_release_are_its_section() -> None:
    assert notes(CHANGELOG, f"v{VERSION}") == "- New.\n"


@pytest.mark.parametrize(
    ("changelog", "tag", "said"),
    [
        (CHANGELOG, "v0.0.1", "the tag is v0.0.1"),
        (CHANGELOG.replace(VERSION, "Unreleased", 1), f"v{VERSION}", "call its section Unreleased so"),
        (CHANGELOG.replace("- New.", ""), f"v{VERSION}", "has no section"),
    ],
)
def test_a_release_that_is_not_prepared_is_stopped(changelog: str, tag: str, said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        notes(changelog, tag)


@pytest.mark.parametrize(
    ("licence", "is_fault"),
    [
        ("MIT", False),
        ("MPL-2.0", False),
        ("Apache-2.0 OR BSD-3-Clause", False),
        ("", True),
        ("GPL-3.0-only", True),
        ("LGPL-3.0", False),
        ("AGPL-3.0", True),
        ("GNU Affero General Public License v3", True),
    ],
)
def test_a_licence_that_is_missing_or_binds_users_stops_a_release(licence: str, is_fault: bool) -> None:
    assert bool(faults([Package("a", "1", licence, 1)])) == is_fault


def _archive(path: Path, mtime: int, names: tuple[str, ...]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.uname = 1, mtime, f"user{mtime}"
            archive.addfile(member, io.BytesIO(b"x"))
    return path


def test_archives_of_the_same_files_are_the_same_after_all(tmp_path: Path) -> None:
    first = _archive(tmp_path / "a.tar.gz", 1, ("p/a", "p/b"))
    second = _archive(tmp_path / "b.tar.gz", 2, ("p/b", "p/a"))
    assert digest(first) != digest(second)
    for path in (first, second):
        normalize(path, 7)
    assert digest(first) == digest(second)
    with tarfile.open(first) as archive:
        assert [(member.name, member.mtime) for member in archive] == [("p/a", 7), ("p/b", 7)]


def test_what_nobody_means_to_ship_is_seen(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.vsix", "w") as archive:
        for name in (
            "extension/package.json",
            "extension/media/a.svg",
            "extension/src/a.ts",
            "extension/.env",
        ):
            archive.writestr(name, "")
    assert unexpected(tmp_path / "a.vsix") == ["extension/src/a.ts", "extension/.env"]
