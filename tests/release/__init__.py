"""A release as it would be published: built twice, checked, installed, listed. `make release` runs it."""
