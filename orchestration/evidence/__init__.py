"""Evidence from tools: declared checks, their attestations, and what these are worth at this moment."""
