"""What the official conformance suite asks of a server under test, served by our own stack.

The names of tools, prompts and resources are the suite's. They exist in tests alone.
"""
