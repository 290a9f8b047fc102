"""Running a kernel in this process, without any service, by the reference interpreter."""

from __future__ import annotations

from . import _core as core
from . import marshal
from .arguments import complete, results
from .compiling import lower
from .errors import CompileError
from .kernel import bound
from .run_errors import run_error


def interpret(kernel, *args, constexprs=None, check=False, laws=False):
    """Run a kernel like `intent.compile(kernel, ...).run(*args)`, here and without a service.

    Slow and exact; arrays are read and written where they lie. `check` and `laws` are those of
    InterpreterTarget.
    """
    kernel, bindings = bound(kernel, constexprs)
    trace = lower(kernel, constexprs=bindings)
    parameters = tuple(p for p in trace.parameters if p.kind != "constexpr")
    full = complete(parameters, args)
    call = marshal.lay_out(parameters, full)
    kind, what = core.interpret(
        trace.program, _bindings(trace, bindings), _arguments(parameters, call), check or laws, laws
    )
    if kind == "diagnostics":
        raise CompileError([trace.diagnostic(code, message, ordinal) for code, ordinal, message in what])
    if kind == "error":
        status, code, ordinal, parameter, axis, message, other = what
        raise run_error(
            trace,
            kernel,
            status=status,
            code=code,
            ordinal=ordinal,
            parameter=parameter,
            axis=axis,
            value=0,
            limit=0,
            message=message,
            other=other,
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
    arguments: list[tuple] = []
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
