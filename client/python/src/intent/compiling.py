"""From a kernel to an artifact: tracing, bindings, the compile request, diagnostics."""

from __future__ import annotations

from .errors import CompileError, Diagnostic
from .kernel import Kernel


def lower(kernel: Kernel, *, constexprs=None):
    """Trace a kernel without compiling it: a `frontend.Trace`, whose `program.text` is its KIR."""
    from . import frontend

    if not isinstance(kernel, Kernel):
        raise TypeError(f"an @intent.kernel is needed, not {type(kernel).__name__}")
    return frontend.trace(kernel, dict(constexprs or {}))


__all__ = ["CompileError", "Diagnostic", "lower"]
