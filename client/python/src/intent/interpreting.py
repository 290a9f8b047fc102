"""Running a kernel in this process, without any service, by the reference interpreter."""

from __future__ import annotations

from . import _core as core
from . import marshal
from .artifact import complete, results
from .compiling import lower
from .errors import CompileError, RunError
from .kernel import bound


def interpret(kernel, *args, constexprs=None):
    """Run a kernel like `intent.compile(kernel, ...).run(*args)`, here and without a service.

    Slow and exact; arrays are read and written where they lie.
    """
    kernel, bindings = bound(kernel, constexprs)
    trace = lower(kernel, constexprs=bindings)
    parameters = tuple(p for p in trace.parameters if p.kind != "constexpr")
    full = complete(parameters, args)
    call = marshal.lay_out(parameters, full)
    kind, what = core.interpret(trace.program, _bindings(trace, bindings), _arguments(parameters, call))
    if kind == "diagnostics":
        raise CompileError([trace.diagnostic(code, message, ordinal) for code, ordinal, message in what])
    if kind == "error":
        error, ordinal, parameter, axis, message = what
        file, line, *_ = trace.place(ordinal)
        name = parameters[parameter].name if 0 <= parameter < len(parameters) else None
        where = f"{file}:{line}: " if line else ""
        raise RunError(
            f"{where}{message}" + (f" ({name}, axis {axis})" if name and axis >= 0 else ""),
            status=error,
            parameter=name,
            axis=axis if axis >= 0 else None,
            file=file or None,
            line=line or None,
        )
    return results(parameters, full)


def _bindings(trace, bindings) -> list:
    bound = []
    for p in trace.parameters:
        if p.kind != "constexpr" or p.name not in bindings:
            continue
        value = bindings[p.name]
        if p.enum_position >= 0:
            bound.append((p.position, p.enum_position, "enum", value.value, 0.0))
        elif p.type is float:
            bound.append((p.position, 0, "float", 0, float(value)))
        else:
            bound.append((p.position, 0, p.type.__name__, int(value), 0.0))
    return bound


def _arguments(parameters, call) -> list:
    arguments = []
    for parameter, argument in zip(parameters, call.arguments):
        if not isinstance(argument, marshal.ViewArgument):
            arguments.append((parameter.dtype, argument))
            continue
        allocation = call.allocations[argument.allocation]
        arguments.append(
            (
                parameter.dtype,
                allocation.base,
                allocation.size,
                argument.offset,
                list(argument.extents),
                list(argument.strides),
            )
        )
    return arguments
