"""Editing support for half-typed workflow YAML."""
