"""`explain`: what an error means."""

from __future__ import annotations

from .. import explain
from .usage import UsageError


def add(parsers):
    """Adds the command to the command line."""
    parser = parsers.add_parser(
        "explain",
        help="what an error code means, with a wrong and a right example",
        description="Explains codes (E0201) of a CompileError or statuses (out_of_bounds) of a RunError. Without one, "
        "lists them all.",
    )
    parser.add_argument("codes", nargs="*", metavar="CODE", help="such as E0201 or out_of_bounds")
    return parser


def run(arguments) -> int:
    """Prints pages, or the list of them."""
    if not arguments.codes:
        for page in explain.pages():
            print(f"{page.code:16} {page.summary}")
        return 0
    try:
        pages = [explain.page(code) for code in arguments.codes]
    except LookupError as error:
        raise UsageError(f"{error.args[0]}; `python -m intent explain` lists all") from None
    print("\n\n".join(page.text.rstrip() for page in pages))
    return 0
