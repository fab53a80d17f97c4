"""What one editor sees: documents, encoded positions, roots with unsaved text, diagnostics."""
