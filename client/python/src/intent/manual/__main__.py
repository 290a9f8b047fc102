"""`python -m intent.manual`: see the package."""

import sys

from . import main

if __name__ == "__main__":
    sys.exit(main())
