"""JSON, YAML, patches: text ↔ data with positions, edits that keep bytes."""
