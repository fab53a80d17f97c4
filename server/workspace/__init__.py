"""One root on disk: definitions, runs, git, proof of decisions, applying commands."""
