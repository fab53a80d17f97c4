"""Dialects of plans that are lists of checkboxes: one reader and writer, a grammar for each convention."""
