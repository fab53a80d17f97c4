"""The engine: the state of a run, computed from a workflow and a snapshot of files by pure functions."""
