"""The transaction: lock, compare, journal, atomic replace, recovery, repair."""
