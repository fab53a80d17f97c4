"""Our own requests and executeCommand."""
