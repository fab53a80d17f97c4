"""The guard language: parse, check, evaluate, query records and tasks."""
