"""intent-manual: the language, its names and its errors, for programs that ask.

A Model Context Protocol server over standard input and output, with the tools search, api and read:
`python -m intent.manual`, or the script intent-manual. It needs the package `mcp` (`pip install
'intent[manual]'`), reads what was installed with this package, and asks no daemon and no network.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Serves until the client closes standard input."""
    try:
        from .server import make
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        print("intent-manual needs the package mcp: pip install 'intent[manual]'", file=sys.stderr)
        return 1
    make().run("stdio")
    return 0
