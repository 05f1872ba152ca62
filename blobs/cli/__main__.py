"""`python -m blobs.cli` is the script `blobs`."""

import sys

from blobs.cli import main

if __name__ == "__main__":
    sys.exit(main())
