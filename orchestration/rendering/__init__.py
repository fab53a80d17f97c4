"""Other forms of the answer: explanation, Mermaid, escalation Markdown, lifecycle events, schemas."""
