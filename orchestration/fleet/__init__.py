"""What machines tell each other, as values: claims on tasks, summaries of runs, their messages."""
