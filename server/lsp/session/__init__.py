"""One editor's connection: transport, roots, synchronisation, publishing."""
