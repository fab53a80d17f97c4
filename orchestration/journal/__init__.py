"""Records, the hash chain, claims, and the report files that count like records."""
