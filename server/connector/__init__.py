"""What editors and assistants start: finds, greets, joins or starts the user's server; stdlib only."""
