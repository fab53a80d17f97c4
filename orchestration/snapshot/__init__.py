"""Snapshots of runs: their files at one moment; and which folders are runs."""
