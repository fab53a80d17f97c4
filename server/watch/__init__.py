"""Watching folders: observers of the system, a canary that tells when one is deaf."""
