"""The plan model, its schedule, and the registry of dialects."""
