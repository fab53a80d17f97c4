"""Quick fixes: finding → edits."""
