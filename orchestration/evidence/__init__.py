"""What tools measured: their own reports as values."""
