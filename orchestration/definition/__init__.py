"""Workflow definitions: grammar, reader, compiler, model, root configuration."""
