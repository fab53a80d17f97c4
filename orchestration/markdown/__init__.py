"""Markdown structure with positions, and edits by line."""
