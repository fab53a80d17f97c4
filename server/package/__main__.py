"""`python -m phasekeeper`."""

import sys

from .server.cli.main import main  # pyright: ignore[reportMissingImports]

if __name__ == "__main__":
    sys.exit(main())
