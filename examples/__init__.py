"""Five small runs that come with the package; `phasekeeper demo` copies them, without this file."""
