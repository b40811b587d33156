"""``python -m sklearn_lec``: find wrong labels from the command line."""

import sys

from sklearn_lec._cli.command import main

if __name__ == "__main__":
    sys.exit(main())
