"""The version of this package, known without looking it up; a test compares it with pyproject.toml."""

VERSION = "0.1.0"
