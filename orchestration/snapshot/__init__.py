"""What a run's files say at one moment, and which folders are runs."""
