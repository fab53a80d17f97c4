"""A process that runs for days gives back what it does not need."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Blocks that glibc would keep once it has seen the first of them go, below one that stays.
KEPT = """
from pathlib import Path
from phasekeeper.server.hub.malloc import give_back_large

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1])

give = {give}
assert not give or give_back_large()
bytearray(24 << 20)
before = resident()
blocks = [bytearray(b"x" * (1 << 20) * 4) for _ in range(8)]
last = b"x" * (1 << 20)
del blocks
print((resident() - before) * {page} >> 20)
"""


def kept_mib(give: bool) -> int:
    script = KEPT.format(give=give, page=os.sysconf("SC_PAGE_SIZE"))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(
    sys.platform != "linux" or not os.confstr("CS_GNU_LIBC_VERSION"), reason="only glibc keeps large blocks"
)
def test_large_blocks_go_back_to_the_system():
    assert kept_mib(give=True) < 8 < kept_mib(give=False)
