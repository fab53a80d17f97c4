"""Fences: what a tool of a coding assistant would do, and the answer to its hook, per client."""
