"""The sight of one editor: documents, encoded positions, roots with unsaved text, diagnostics."""
