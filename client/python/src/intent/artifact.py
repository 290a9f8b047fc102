"""What a compile gives: something to call, and what was made."""

from __future__ import annotations

from typing import Any

from . import cuda, local, marshal
from .errors import CompileError, ServiceError
from .report import Report
from .run_errors import run_error

INLINE_BYTES = 1 << 20  # in all, either way; more goes as a stream of chunks
CHUNK_BYTES = 1 << 20
KEY_PAYLOADS = ("object", "cubin", "ptx")


class _Made:
    """What a service made for a request; never changed, so that threads see all of one compile."""

    def __init__(self, reply, payloads=None, stored=False):
        from intent_proto.compile.v1 import compile_pb2

        self.reply = reply  # an intent.compile.v1.Artifact
        self.stored = stored  # in a file, and not made for this process
        self.manifest = compile_pb2.Manifest.FromString(reply.manifest)
        self.on_cuda = any(p.name == cuda.PAYLOAD for p in reply.payloads)
        inline = {p.name: p.data for p in reply.payloads if len(p.data) == p.size}
        self.payloads: dict[str, bytes] = inline if payloads is None else payloads  # grows by what is fetched


class Generated:
    """IR and generated source of a kernel for a target."""

    def __init__(self, kernel, trace, compiler, request, made=None, execute="auto"):
        self._kernel = kernel
        self._execute_where = execute  # of CompileOptions
        self._here: Any = None  # a LocalKernel, once it is loaded; False: it cannot be
        self._not_here = ""  # why not
        self._usually: Any = (
            None  # what a call without `execute` takes, once that is known; False: the service
        )
        self._cuda_kernels: dict[int, Any] = {}  # what runs in this process, by device
        self._trace = trace
        self._given = compiler  # an intent.Compiler, or what `resolve` makes one of at the first use
        self._request = request
        self._made: Any = made
        self._required: bytes | None = None  # the id that a further compile must give
        self._ordinals: list[int] | None = None  # see _own

    @property
    def _compiler(self):
        from . import client

        if not isinstance(self._given, client.Compiler):
            self._given = client.resolve(self._given)
        return self._given

    def at(self, compiler):
        """The same, with the service that makes it: an intent.Compiler, an address or None."""
        from . import client

        self._given = client.resolve(compiler)
        self._ask_for_code()
        return self

    def _ask_for_code(self):
        """Adds to the request what execution will need next."""

    def compiled(self):
        """Compiles; called once more when the service has forgotten the artifact."""
        return self._take(self._compiler.compile(self._request))

    def _take(self, response):
        """Becomes what a CompileResponse holds."""
        from .compiling import diagnostics_of

        if response.WhichOneof("outcome") != "artifact":
            raise CompileError(diagnostics_of(self._trace, response.diagnostics))
        reply = response.artifact
        if self._required is not None and reply.id != self._required:
            raise ServiceError(
                f"{self._compiler.address}: this service makes another artifact of the kernel than the one that was saved",
                status="FAILED_PRECONDITION",
                advice="its compiler is of another version: compile the kernel again, or take what it makes with "
                "intent.load(path, exact=False)",
            )
        kept = self._made.payloads if self._made and self._made.reply.id == reply.id else None
        if kept is None:
            self._cuda_kernels = {}
        self._made = _Made(reply, kept)
        return self

    def save(self, path) -> None:
        """Write the artifact to a file that `intent.load` reads: what was made, and how to make it again."""
        from . import container

        container.save(self, path)

    # What was made.

    @property
    def id(self) -> bytes:
        """Names the artifact to its daemon."""
        return self._made.reply.id

    @property
    def manifest(self):
        """The artifact's intent.compile.v1.Manifest."""
        return self._made.manifest

    @property
    def target(self) -> str:
        """The resolved target."""
        return self.manifest.target

    @property
    def payload_names(self) -> list[str]:
        return [p.name for p in self._made.reply.payloads]

    @property
    def payload_sizes(self) -> dict[str, int]:
        """Bytes of each payload."""
        return {p.name: p.size for p in self._made.reply.payloads}

    def payload(self, name: str) -> bytes:
        """A payload of the artifact, fetched at its first use."""
        made = self._made
        if name not in made.payloads:
            if name not in self.payload_names:
                have = ", ".join(self.payload_names) or "none"
                raise KeyError(f"the artifact has no payload {name!r}; it has: {have}")
            made.payloads[name] = self._again(lambda: self._compiler.payload(self.id, name))
        return made.payloads[name]

    def _again(self, call):
        """Makes a call that names the artifact; compiles once more if the service has forgotten it."""
        try:
            return call()
        except ServiceError as error:
            if error.status != "NOT_FOUND":
                raise
        self.compiled()
        return call()

    @property
    def kir(self) -> str:
        """The specialised canonical KIR, as text."""
        from . import _core

        data = self.payload("kir")
        try:
            return _core.print_module(data)
        except ValueError:
            return data.decode(errors="replace")

    @property
    def source(self) -> str:
        """The generated source: CUDA C++, LLVM IR or the tile program, the nearest to the machine that was kept.

        Artifacts keep it when compiled with `CompileOptions(keep_source=True)` or `intent.generate`. CUDA C++
        is shown with the lines of yours that it comes from.
        """
        from . import listing

        for name in ("cuda", "llvm", "tile"):
            if name in self.payload_names:
                text = self.payload(name).decode(errors="replace")
                return listing.annotated(text, self._trace, self._own) if name == "cuda" else text
        return self.kir

    @property
    def cubin(self) -> bytes:
        """The machine code of a CUDA artifact: an ELF image for its architecture."""
        return self.payload("cubin")

    @property
    def ptx(self) -> str:
        """The PTX of a CUDA artifact that was compiled with `CompileOptions(keep_ptx=True)`."""
        return self.payload("ptx").decode()

    @property
    def report(self) -> Report:
        """What the compiler decided, and why not otherwise; print it. See docs/report.md."""
        return Report(
            self.manifest.report,
            lambda ordinal: self._trace.place(None if ordinal is None else self._own(ordinal)),
        )

    def _own(self, ordinal: int) -> int:
        """The traced module's ordinal of an operation that the artifact names: artifacts are shared
        between equivalent modules and count in the canonical one."""
        ordinals = self._own_ordinals()
        return ordinals[ordinal] if ordinal < len(ordinals) else ordinal

    def _own_ordinals(self) -> list[int]:
        if self._ordinals is None:
            from . import _core

            bindings = [_binding(b) for b in self._request.bindings]
            self._ordinals = _core.ordinals(self._trace.program, bindings)
        return self._ordinals

    @property
    def timings(self) -> dict[str, float]:
        """Seconds by stage of the compile that made the artifact; also when it came from a cache."""
        totals: dict[str, float] = {}
        for time in self._made.reply.times:
            totals[time.stage] = totals.get(time.stage, 0.0) + time.nanoseconds / 1e9
        return totals

    @property
    def cache(self) -> dict:
        """{"hit": bool, "where": "compiled", "memory", "disk", "remote" or "joined", "canonical": bool}."""
        info = self._made.reply.cache
        where = info.Where.Name(info.where).removeprefix("WHERE_").lower()
        return {"hit": where in ("memory", "disk", "remote"), "where": where, "canonical": info.canonical}

    def __repr__(self) -> str:
        return f"<intent.{type(self).__name__} {self._kernel.name} for {self.target}>"

    def _repr_html_(self) -> str:
        from . import display

        return display.artifact(self, self._kernel.name)


class Artifact(Generated):
    """A compiled kernel. Calling it runs it where it was compiled; safe to use from many threads."""

    @property
    def object_code(self) -> bytes:
        """The machine code: an ELF object or a cubin."""
        for name in KEY_PAYLOADS:
            if name in self.payload_names:
                return self.payload(name)
        raise KeyError(f"an artifact for {self.target} holds no machine code")

    def save_shared_object(self, path) -> None:
        """Write the machine code as an ELF shared object, for C programs; see `c_header` and docs/c.md."""
        from pathlib import Path

        Path(path).write_bytes(self._shared_object())

    def c_header(self) -> str:
        """A C header for the shared object: a structure of typed arguments, and the function to call."""
        from . import _core

        symbols = [""] * self.manifest.symbol_count
        for made, parameter in zip(self.manifest.parameters, self.parameters):
            for axis, extent in zip(made.view.axes, parameter.shape):
                if axis.WhichOneof("extent") == "symbol" and isinstance(extent, str):
                    symbols[axis.symbol] = extent
        return _core.c_header(
            self._made.reply.manifest,
            self._shared_object(),
            self._kernel.name,
            [p.name for p in self.parameters],
            symbols,
        )

    def _shared_object(self) -> bytes:
        if local.PAYLOAD not in self.payload_names:
            raise KeyError(f"an artifact for {self.target} holds no shared object")
        return self.payload(local.PAYLOAD)

    @property
    def parameters(self) -> tuple:
        """The runtime parameters in the order of the signature."""
        return tuple(p for p in self._trace.parameters if p.kind != "constexpr")

    def __call__(self, *args, execute: str | None = None) -> None:
        """Run with every runtime argument, Out arrays included. `execute` is that of CompileOptions.

        A CUDA artifact runs on tensors of a GPU where they are: the call returns when the launch is in
        their stream (docs/cuda-running.md).
        """
        if self._made.on_cuda and self._on_gpu(args, execute):
            cuda.Launcher(self, args).launch()
            return
        here = self._here_or_remote(execute)
        if here is None:
            self._execute(marshal.lay_out(self.parameters, args))
            return
        outcome = here.call(args)
        if outcome is NotImplemented:
            outcome = local.bind(self, here, list(args)).launch()
        if outcome is not None:
            self._fail_as(outcome)

    def run(self, *args, execute: str | None = None):
        """Run with every runtime argument but the Out views; gives None, the one, or a tuple of them.

        `execute` is that of CompileOptions. With tensors of a GPU the results are tensors of the same library.
        """
        if self._made.on_cuda and self._on_gpu(args, execute):
            full = cuda.complete(self, args)
            cuda.Launcher(self, full).launch()
            return results(self.parameters, full)
        here = self._here_or_remote(execute)
        if here is not None:
            made = here.run(args)
            if type(made) is bytes:
                self._fail_as(made)
            if made is not NotImplemented:
                return made
        full = complete(self.parameters, args)
        if here is None:
            self._execute(marshal.lay_out(self.parameters, full))
        else:
            outcome = local.bind(self, here, full).launch()
            if outcome is not None:
                self._fail_as(outcome)
        return results(self.parameters, full)

    async def run_async(self, *args, execute: str | None = None):
        """`run`, awaited: the event loop goes on meanwhile."""
        from . import asynchronous

        return await asynchronous.call(self.run, *args, execute=execute)

    def prepare(self, *args, outputs=(), execute: str | None = None) -> Prepared:
        """Check and bind arguments without running; `outputs` are the Out arrays, made when left out.

        `execute` is that of CompileOptions.
        """
        if self._made.on_cuda and self._on_gpu((*args, *outputs), execute):
            full = cuda.complete(self, args, outputs)
            return Prepared(self, full, launcher=cuda.Launcher(self, full))
        here = self._here_or_remote(execute)
        return Prepared(self, complete(self.parameters, args, outputs), here)

    def synchronize(self) -> None:
        """Wait for launches of this artifact on GPUs of this process, and raise the error of one that had one.

        Every other call has ended, and raised its error, when it returns.
        """
        for kernel in list(self._cuda_kernels.values()):
            self._outcome(kernel.synchronize())

    @property
    def executes(self) -> str:
        """Where a call runs: "local", in this process, or "remote: " and why not here."""
        if self._here_or_remote(None) is not None:
            return "local"
        return f"remote: {self._not_here or 'as was asked for'}"

    # Execution in this process.

    def _here_or_remote(self, execute):
        """What runs a call in this process; None: the service does."""
        if execute is None and self._usually is not None:
            return self._usually or None
        where = local.choice(execute, self._execute_where)
        if where != "remote" and self._here is None:
            kernel, self._not_here = local.load(self)
            self._here = kernel or False
        if where == "local" and self._here is False:
            raise ServiceError(
                self._not_here, status="FAILED_PRECONDITION", advice="leave execute='local' away"
            )
        here = False if where == "remote" else self._here
        if execute is None:
            self._usually = here
        return here or None

    def _on_gpu(self, args, execute) -> bool:
        """Whether a call of a CUDA artifact is a launch of this process's own."""
        if not cuda.any_on_device(args):
            return False
        if execute == "remote":
            raise TypeError(
                "the service runs on arrays of the host, and these are on a GPU: leave execute away"
            )
        return True

    def _outcome(self, outcome):
        """What native code gave, unless that is an error, which is raised: a RunError's bytes or a status."""
        if type(outcome) is bytes:
            self._fail_as(outcome)
        if type(outcome) is tuple:
            status, message = outcome
            raise ServiceError(
                f"{self._where()}: {message}", status=status, advice=_ADVICE_HERE.get(status, "")
            )
        return outcome

    def _where(self) -> str:
        """The kernel's name and place."""
        kernel = self._kernel
        try:
            return f"{kernel.name} ({kernel.file}:{kernel.tree().lineno})"
        except Exception:  # of an artifact without source
            return kernel.name

    def _ask_for_code(self):
        wanted = local.choice(None, self._execute_where) != "remote"
        if wanted and self._compiler.address.startswith("unix:"):
            if local.PAYLOAD not in self._request.inline_payloads:
                self._request.inline_payloads.append(local.PAYLOAD)

    def _fail_as(self, wire: bytes):
        """Raises the RunError of a serialised intent.execute.v1.RunError."""
        from intent_proto.execute.v1 import execute_pb2

        self._check(
            self._in_own_terms(execute_pb2.ExecuteResponse(error=execute_pb2.RunError.FromString(wire)))
        )

    # Execution by the service.

    def _execute(self, call: marshal.Call):
        try:
            self._again(lambda: self._execute_once(call))
        except ServiceError as error:
            if error.status == "ABORTED":  # the kernel's doing
                raise error.about(self._where()) from None
            raise

    def _execute_once(self, call):
        from intent_proto.execute.v1 import execute_pb2

        from .client import client_info

        sent = sum(a.size for a in call.allocations if a.reads)
        returned = sum(a.size for a in call.allocations if a.writes)
        inline = sent <= INLINE_BYTES and returned <= INLINE_BYTES
        request = execute_pb2.ExecuteRequest(client=client_info(), artifact_id=self.id)
        for position, allocation in enumerate(call.allocations):
            entry = request.allocations.add(id=position, size=allocation.size, returned=allocation.writes)
            if not allocation.reads or not allocation.size:
                entry.zero.SetInParent()
            elif inline:
                entry.data = allocation.content()
            else:
                entry.streamed.SetInParent()
        for argument in call.arguments:
            entry = request.arguments.add()
            if isinstance(argument, marshal.ViewArgument):
                entry.view.allocation = argument.allocation
                entry.view.offset = argument.offset
                entry.view.extents.extend(argument.extents)
                entry.view.strides.extend(argument.strides)
            else:
                entry.scalar_bits = argument
        if inline:
            response = self._compiler.execute(request)
            self._check(self._in_own_terms(response))
            results = {a.id: a.data for a in response.completed.allocations}
            if any(len(results.get(i, b"")) != a.size for i, a in enumerate(call.allocations) if a.writes):
                raise _cut_short()
        else:
            results = self._stream(call, request)
        marshal.copy_back(call, results)

    def _stream(self, call, request) -> dict:
        """Runs with chunked contents; gives the returned contents by allocation."""
        from intent_proto.execute.v1 import execute_pb2

        def parts():
            yield execute_pb2.ExecuteStreamRequest(call=request)
            for position, allocation in enumerate(call.allocations):
                if not allocation.reads or not allocation.size:
                    continue
                for offset in range(0, allocation.size, CHUNK_BYTES):
                    data = allocation.content(offset, offset + CHUNK_BYTES)
                    chunk = execute_pb2.Chunk(allocation=position, offset=offset, data=data)
                    yield execute_pb2.ExecuteStreamRequest(chunk=chunk)

        return self._compiler.execute_stream(parts, lambda replies: self._contents(call, replies))

    def _contents(self, call, replies) -> dict:
        """The contents by allocation that a stream of replies brings."""
        results: dict[int, bytearray] = {}
        missing: dict[int, int] = {}
        for part in replies:
            if part.WhichOneof("part") == "response":
                self._check(self._in_own_terms(part.response))
                for allocation in part.response.completed.allocations:
                    results[allocation.id] = bytearray(call.allocations[allocation.id].size)
                    missing[allocation.id] = allocation.size
            else:
                chunk = part.chunk
                if chunk.offset + len(chunk.data) > len(results.get(chunk.allocation, b"")):
                    raise _cut_short()
                results[chunk.allocation][chunk.offset : chunk.offset + len(chunk.data)] = chunk.data
                missing[chunk.allocation] -= len(chunk.data)
        if any(missing.values()) or any(
            a.writes and i not in results for i, a in enumerate(call.allocations)
        ):
            raise _cut_short()
        return results

    def _in_own_terms(self, response):
        if response.WhichOneof("outcome") == "error":
            for field, value in response.error.ListFields():
                if field.name.endswith("ordinal"):
                    setattr(response.error, field.name, self._own(value))
        return response

    def _check(self, response):
        """Raises the RunError of a response that holds one."""
        if response.WhichOneof("outcome") != "error":
            return
        error = response.error

        def known(name):
            return getattr(error, name) if error.HasField(name) else None

        raise run_error(
            self._trace,
            self._kernel,
            status=error.Kind.Name(error.kind).removeprefix("KIND_").lower(),
            code=error.code,
            ordinal=known("ordinal"),
            parameter=known("parameter"),
            axis=known("axis"),
            value=error.value,
            limit=error.limit,
            message=error.message,
            other=known("other_ordinal"),
        )


def _binding(binding) -> tuple:
    """(parameter, enum type, kind, integer, float), as the core takes it, of a request's binding."""
    kind = binding.WhichOneof("value").removesuffix("_value")
    value = getattr(binding, f"{kind}_value")
    if kind == "enum":
        return binding.parameter, value.enum_type, kind, value.value, 0.0
    integer, number = (0, value) if kind == "float" else (int(value), 0.0)
    return binding.parameter, 0, kind, integer, number


def _cut_short() -> ServiceError:
    return ServiceError(
        "the service's reply does not hold what the call returns", status="DATA_LOSS", advice="call again"
    )


_ADVICE_HERE = {
    "ABORTED": "the context of this process on the GPU is lost, for every library in it: start the process again",
    "RESOURCE_EXHAUSTED": "free memory of the device",
}


class Prepared:
    """Bound arguments of an artifact; launched as often as wanted."""

    def __init__(self, artifact: Artifact, arguments: list, here=None, launcher=None):
        self._artifact = artifact
        self._arguments = arguments
        self._launcher = launcher  # on a GPU of this process
        self._here = None if here is None else local.bind(artifact, here, arguments)
        elsewhere = here is None and launcher is None
        self._call: Any = marshal.lay_out(artifact.parameters, arguments) if elsewhere else None

    def launch(self) -> None:
        """Run once with the arrays' present contents; on a GPU in the stream that is current now."""
        if self._launcher is not None:
            self._launcher.launch()
            return
        if self._here is None:
            self._artifact._execute(self._call)
            return
        error = self._here.launch()
        if error is not None:
            self._artifact._fail_as(error)

    async def launch_async(self) -> None:
        """`launch`, awaited: the event loop goes on meanwhile."""
        from . import asynchronous

        await asynchronous.call(self.launch)

    def result(self):
        """The Out arrays: None, the one, or a tuple in declaration order."""
        return results(self._artifact.parameters, self._arguments)


def complete(parameters, args, outputs=()) -> list:
    """Every runtime argument, with arrays for the Out views that `args` leaves out."""
    is_out = [p.kind == "view" and p.access == "Out" for p in parameters]
    marshal.check_counts(parameters, args, outputs)
    supply = iter(args)
    full = [None if out else next(supply) for out in is_out]
    arrays = [
        marshal.as_array(p, value) if p.kind == "view" and not out else None
        for p, value, out in zip(parameters, full, is_out)
    ]
    symbols = marshal.bind_shapes(parameters, arrays)
    full = [value if array is None else array for value, array in zip(full, arrays)]
    given = iter(outputs)
    for position, out in enumerate(is_out):
        if out:
            full[position] = next(given) if outputs else marshal.output_array(parameters[position], symbols)
    return full


def results(parameters, arguments):
    """The Out arrays: None, the one, or a tuple in declaration order."""
    outs = [a for p, a in zip(parameters, arguments) if p.kind == "view" and p.access == "Out"]
    return None if not outs else outs[0] if len(outs) == 1 else tuple(outs)
