"""`python -m phasekeeper`."""

import sys

from phasekeeper.server.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
