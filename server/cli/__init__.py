"""Entry point, argument parser, one command catalogue, run selection, confirmation."""
