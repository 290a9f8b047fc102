"""The authoring front end: walks a kernel's syntax tree and calls the core's KernelBuilder.

Dtype and shape rules, literals and most diagnostics are the builder's. What is decided here is
Python's side: names and scopes, helper calls, tuples and records, and how loops and early exits
become structured control. `trace` is the entry.
"""

from .tracer import Trace, trace

__all__ = ["Trace", "trace"]
