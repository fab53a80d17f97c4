"""Files as values: paths, globs, overlays, recording of what was read."""
