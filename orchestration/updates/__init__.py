"""A command (report, answer, override, redo, start, raise) → records and edits, as values."""
