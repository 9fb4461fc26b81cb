"""`python -m kerascompact` is the console script `kerascompact`."""

import sys

from kerascompact.cli import main

if __name__ == "__main__":
    sys.exit(main())
