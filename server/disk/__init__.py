"""Reading a hostile file tree: safe open, frozen view, incremental cache."""
