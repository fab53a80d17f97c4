"""Values → lines on a terminal."""
