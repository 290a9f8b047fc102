"""`python -m intent`: describe and compile kernels, explain errors, look at the installation."""

import sys

from .commands import main

if __name__ == "__main__":
    sys.exit(main())
