"""The program of editors and assistants: finds, joins or starts the user's server; stdlib only."""
