"""`explain`: what an error means."""

from __future__ import annotations

from .. import explain
from .usage import UsageError


def add(parsers):
    """Adds the command to the command line."""
    parser = parsers.add_parser(
        "explain",
        help="what an error code means, with a wrong and a right example",
        description="Explains a code (E0201) of a CompileError or a status (out_of_bounds) of a RunError. Without one, "
        "lists them all.",
    )
    parser.add_argument("code", nargs="?", help="such as E0201 or out_of_bounds")
    return parser


def run(arguments) -> int:
    """Prints a page, or the list of them."""
    if arguments.code is None:
        for page in explain.pages():
            print(f"{page.code:16} {page.summary}")
        return 0
    try:
        print(explain.page(arguments.code).text.rstrip())
    except LookupError as error:
        raise UsageError(f"{error.args[0]}; `python -m intent explain` lists all") from None
    return 0
