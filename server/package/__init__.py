"""Phasekeeper."""
