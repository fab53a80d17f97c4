"""What machines tell each other, as values: claims on tasks and their messages."""
