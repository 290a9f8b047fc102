"""The command line `python -m intent`. A command is a module with `add(parsers)`, which says how it is
called, and `run(arguments)`, which gives the exit status: 0, 1 after an error, 2 for a wrong command line."""

from __future__ import annotations

import argparse
import os
import sys

from .. import __version__
from ..errors import CompileError, IntentError
from . import compile, describe, doctor, explain, paint
from .usage import UsageError

COMMANDS = (describe, compile, explain, doctor)

_EPILOG = """examples:
  python -m intent describe softmax.py:softmax
  python -m intent compile softmax.py --target x86-64-v3 --emit object -o softmax.o
  python -m intent compile power.py:power --constexpr n=3 --emit kir
  python -m intent explain E0201
  python -m intent doctor
"""


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    result = argparse.ArgumentParser(
        prog="python -m intent",
        description="Kernels in Python, compiled by a service.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("--version", action="version", version=f"intent {__version__}")
    parsers = result.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(parsers).set_defaults(run=command.run)
    return result


def main(arguments: list[str] | None = None) -> int:
    """Runs a command line; gives its exit status."""
    parsed = parser().parse_args(arguments)
    try:
        return parsed.run(parsed)
    except BrokenPipeError:  # of `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except CompileError as error:
        print(paint.diagnostics(str(error), sys.stderr), file=sys.stderr)
        print(error.advice, file=sys.stderr)
        return 1
    except (IntentError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
