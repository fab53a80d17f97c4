"""The lines of a journal or a claims log: the one parser that the engine, the store and the proof of
decisions read them with, so that no two of them disagree about what counts.

A line is one JSON object, kept whole as it was written: its digest is what the next line refers to.
"""

from __future__ import annotations

FOLDER = ".phasekeeper"
"""Where a run's own files lie, from the run; a root's configuration and definitions lie there too."""
JOURNAL_NAME, CLAIMS_NAME = "journal.jsonl", "claims.jsonl"
JOURNAL = f"{FOLDER}/{JOURNAL_NAME}"
CLAIMS = f"{FOLDER}/{CLAIMS_NAME}"
