"""The log of a server that nobody looks at."""

from __future__ import annotations

import logging

from phasekeeper.server.hub import log_file


def test_what_a_message_names_looks_like_no_other_entry(tmp_path, monkeypatch):
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(log_file, "path", lambda: tmp_path / "server.log")
    log_file.to_file(streams=False)
    logging.getLogger("phasekeeper").warning("%s is gone", "/work\n2026-01-01 ERROR forged: \x1b[31mred")
    root.handlers[0].close()
    lines = (tmp_path / "server.log").read_text().splitlines()
    assert len(lines) == 1
    assert lines[0].endswith("WARNING phasekeeper: /work 2026-01-01 ERROR forged: \\x1b[31mred is gone")
