"""What several front ends say and offer about an evaluation: checks, quick fixes, assistants' tools."""
