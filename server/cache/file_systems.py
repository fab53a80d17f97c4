"""Whether the times of a file system can be trusted to tell one state of a file from another.

Those of a network are kept by another machine, and seen late; others count in steps of seconds.
"""

from __future__ import annotations

import sys
from pathlib import Path

LOCAL = frozenset(
    "apfs bcachefs btrfs ext2 ext3 ext4 f2fs jfs overlay ramfs reiserfs tmpfs ubifs xfs zfs".split()  # noqa: SIM905
)
"""The types of file systems on Linux whose times are trusted; one that is not known is not."""
_MOUNTS = Path("/proc/self/mountinfo")


def is_trusted(root: str, mounts: str | None = None) -> bool:
    """True if the root, and all that is mounted below it, has times that can be trusted.

    Systems that do not say are taken for trusted: a coarse clock is seen by its times.
    """
    if mounts is None:
        if not sys.platform.startswith("linux"):
            return True
        try:
            mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return False
    around, kind_around = "", ""
    for line in mounts.splitlines():
        place, kind = _mount(line)
        if f"{place}/".startswith(f"{root.rstrip('/')}/") and place != root and kind not in LOCAL:
            return False
        # The last of several mounts at one place hides the others.
        if f"{root}/".startswith(f"{place.rstrip('/')}/") and len(place) >= len(around):
            around, kind_around = place, kind
    return kind_around in LOCAL


def _mount(line: str) -> tuple[str, str]:
    """(the place, the type) of a mount; the optional fields between them end in a dash."""
    before, _, after = line.partition(" - ")
    fields, kind = before.split(" "), after.split(" ")[0]
    place = fields[4] if len(fields) > 4 else ""
    if "\\" in place:
        # Blanks in names stand there as octal numbers.
        place = place.encode("utf-8", "surrogateescape").decode("unicode_escape", "replace")
    return place, kind
