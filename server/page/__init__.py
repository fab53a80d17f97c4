"""The page of a run: read from disk for whoever shows it, and served to a browser of this machine."""
