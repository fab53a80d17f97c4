"""The MCP tool set: registry, arguments, operations, size-limited answers."""
