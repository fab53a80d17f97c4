"""Roots kept current in a long-running process; one engine thread, frozen boards."""
