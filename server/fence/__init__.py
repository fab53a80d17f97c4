"""Hooks of coding assistants, answered from the files: guarded runs, and the sessions that work on them."""
