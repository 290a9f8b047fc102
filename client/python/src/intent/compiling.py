"""From a kernel to an artifact: tracing, bindings, the compile request, diagnostics."""

from __future__ import annotations

from . import asynchronous, frontend
from .artifact import Artifact
from .errors import CompileError, Diagnostic
from .frontend.signature import check_binding
from .frontend.tracer import unbound
from .generated import Generated
from .kernel import Kernel, Specialized, bound
from .options import CompileOptions, CpuTarget, ResourceBudget


def lower(kernel: Kernel | Specialized, *, constexprs=None) -> frontend.Trace:
    """Trace a kernel without compiling it: the result's `program.text` is its KIR."""
    kernel, bindings = bound(kernel, constexprs)
    return frontend.trace(kernel, bindings)


def compile(
    kernel: Kernel | Specialized, *, compiler=None, target=None, constexprs=None, options=None
) -> Artifact:
    """Compile a kernel; the artifact is called with the kernel's runtime arguments.

    `compiler` is an intent.Compiler or an address; without one, INTENT_COMPILER, else a daemon of
    the user's own that is started on demand. `target` is a CpuTarget (the default), CudaTarget or
    InterpreterTarget. `constexprs` binds constexpr parameters by name.

    Raises CompileError for mistakes in the kernel and ServiceError where the service fails.
    """
    artifact = prepare(Artifact, kernel, target, constexprs, options)
    return artifact.at(compiler).compiled()


async def compile_async(
    kernel: Kernel | Specialized, *, compiler=None, target=None, constexprs=None, options=None
) -> Artifact:
    """`compile`, awaited: the event loop goes on meanwhile.

    A task that is cancelled stops waiting; the compile itself ends in the background.
    """
    return await asynchronous.call(
        compile, kernel, compiler=compiler, target=target, constexprs=constexprs, options=options
    )


def generate(
    kernel: Kernel | Specialized, *, compiler=None, target=None, constexprs=None, options=None
) -> Generated:
    """Compile a kernel for its IR and generated source only; nothing is loaded or run."""
    generated = prepare(Generated, kernel, target, constexprs, options, keep_source=True)
    return generated.at(compiler).compiled()


def prepare(kind, kernel, target, constexprs, options, keep_source=False):
    """A `kind` (Artifact or Generated) that has its request but is not compiled yet. Raises CompileError."""
    kernel, bindings = bound(kernel, constexprs)
    trace = frontend.trace(kernel, bindings)
    target = CpuTarget() if target is None else target
    options = CompileOptions() if options is None else options
    request = make_request(kernel, trace, bindings, target, options, keep_source)
    return kind(kernel, trace, None, request, execute=options.execute)


def make_request(kernel, trace, bindings, target, options, keep_source=False):
    """The serialisable request of a compile."""
    from intent_proto.compile.v1 import compile_pb2

    from .client import client_info

    if not hasattr(target, "name"):
        raise TypeError(f"target is an intent.CpuTarget, CudaTarget or InterpreterTarget, not {target!r}")
    if not isinstance(options, CompileOptions):
        raise TypeError(f"options is an intent.CompileOptions, not {options!r}")
    numerics = f"NUMERICS_{options.numerics.upper()}"
    request = compile_pb2.CompileRequest(
        client=client_info(),
        module=trace.module,
        source_map=trace.source_map,
        target=target.name,
        options=compile_pb2.CompileOptions(
            numerics=getattr(compile_pb2, numerics),
            online_reduction=options.online_reduction,
            bounds=getattr(compile_pb2, f"BOUNDS_{options.bounds.upper()}"),
            opt_level=options.opt_level,
            disabled_passes=sorted(set(options.disabled_passes)),
            keep_source=options.keep_source or keep_source,
            keep_ptx=options.keep_ptx,
        ),
    )
    for name, bound_ in vars(options.resource_budget or ResourceBudget()).items():
        if bound_ is not None:
            setattr(request.options.resource_budget, name, bound_)
    _bind(kernel, trace, bindings, request)
    return request


def _bind(kernel, trace, bindings, request):
    """Adds the bindings of constexpr parameters to a request."""
    parameters = {p.name: p for p in trace.parameters if p.kind == "constexpr"}
    problems = []
    for name, value in bindings.items():
        parameter = parameters.get(name)
        if parameter is None:
            known = ", ".join(parameters) or "none"
            problems.append(_problem(kernel, None, f"{name!r} is no constexpr parameter; there are: {known}"))
            continue
        problem = check_binding(name, parameter.type, value)
        if problem:
            problems.append(_problem(kernel, parameter, problem))
            continue
        binding = request.bindings.add(parameter=parameter.position)
        if parameter.enum_position >= 0:
            binding.enum_value.enum_type = parameter.enum_position
            binding.enum_value.value = value.value
        elif parameter.type is bool:
            binding.bool_value = value
        elif parameter.type is int:
            binding.int_value = value
        else:
            binding.float_value = float(value)
    problems += [
        unbound(kernel, p) for name, p in parameters.items() if name not in bindings and p.default is None
    ]
    if problems:
        raise CompileError(problems)


def _problem(kernel, parameter, message) -> Diagnostic:
    line = parameter.line if parameter else kernel.tree().lineno
    column = parameter.column if parameter else kernel.tree().col_offset + 1
    return Diagnostic("E0703", message, kernel.file, line, column, source_line=kernel.source_line(line))


def diagnostics_of(trace, reply) -> list[Diagnostic]:
    """A service's diagnostics with the author's files and lines."""

    def ordinal(message):
        return message.ordinal if message.HasField("ordinal") else None

    return [
        trace.diagnostic(
            d.code,
            d.message,
            ordinal(d),
            [(note.text, ordinal(note)) for note in d.notes],
            "warning" if d.severity else "error",
        )
        for d in reply.diagnostics
    ]
