"""Intent: kernels in Python, compiled by a service.

    import intent
    import intent.language as I

    @intent.kernel
    def double(x: I.In[I.f32, ("N",)], out: I.Out[I.f32, ("N",)]):
        out[:] = x[:] * 2.0

    artifact = intent.compile(double)
    result = artifact.run(array)

Importing the package starts nothing; the compile service is found or started by the first compile.
"""

from typing import TYPE_CHECKING

from .errors import (
    CompileError,
    CompileErrors,
    Diagnostic,
    IntentError,
    IntentWarning,
    LoadError,
    Note,
    RunError,
    ServiceError,
)
from .kernel import fn, kernel
from .options import CompileOptions, CpuTarget, CudaTarget, InterpreterTarget, ResourceBudget

__version__ = "0.1.0"

# Names whose modules are loaded at their first use: they need gRPC or the compiler's core.
_LATER = {
    "Artifact": "artifact",
    "Compiler": "client",
    "Generated": "generated",
    "compile": "compiling",
    "compile_async": "compiling",
    "compile_many": "many",
    "generate": "compiling",
    "interpret": "interpreting",
    "load": "container",
    "lower": "compiling",
}

if TYPE_CHECKING:
    from .artifact import Artifact
    from .client import Compiler
    from .compiling import compile, compile_async, generate, lower
    from .container import load
    from .generated import Generated
    from .interpreting import interpret
    from .many import compile_many
else:

    def __getattr__(name):
        if name in _LATER:
            import importlib

            value = getattr(importlib.import_module(f".{_LATER[name]}", __name__), name)
            globals()[name] = value
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return [*globals(), *_LATER]


__all__ = [
    "Artifact",
    "CompileError",
    "CompileErrors",
    "CompileOptions",
    "Compiler",
    "CpuTarget",
    "CudaTarget",
    "Diagnostic",
    "Generated",
    "IntentError",
    "IntentWarning",
    "InterpreterTarget",
    "LoadError",
    "Note",
    "ResourceBudget",
    "RunError",
    "ServiceError",
    "compile",
    "compile_async",
    "compile_many",
    "fn",
    "generate",
    "interpret",
    "kernel",
    "load",
    "lower",
]
