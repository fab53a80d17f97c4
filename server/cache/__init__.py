"""Evaluations kept on disk across starts of the server: what did not change since is not judged again."""
