"""Real coding assistants that really call our tools, without an account: `make drive`.

Claude Code, Codex, Gemini and Copilot, set up as the README says, talk to a scripted model on this machine,
in a network of their own that leads nowhere. pytest collects none of it.
"""
