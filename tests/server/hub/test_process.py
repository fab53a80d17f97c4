"""A server's own process: its log, and the memory it returns."""

from __future__ import annotations

import logging
import os
import subprocess
import sys

import pytest
from phasekeeper.server.hub import process


def test_what_a_message_names_looks_like_no_other_entry(tmp_path, monkeypatch):
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(process, "log_path", lambda: tmp_path / "server.log")
    process.log_to_file(redirect_output=False)
    logging.getLogger("phasekeeper").warning("%s is gone", "/work\n2026-01-01 ERROR forged: \x1b[31mred")
    root.handlers[0].close()
    lines = (tmp_path / "server.log").read_text().splitlines()
    assert len(lines) == 1
    assert lines[0].endswith("WARNING phasekeeper: /work 2026-01-01 ERROR forged: \\x1b[31mred is gone")


# Blocks that glibc would keep once it has seen the first of them go, below one that stays.
KEPT = """
from pathlib import Path
from phasekeeper.server.hub.process import return_large_blocks

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1])

give = {give}
assert not give or return_large_blocks()
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
