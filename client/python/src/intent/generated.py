"""What was made of a kernel: IR, generated source, machine code, and what the compiler says of them."""

from __future__ import annotations

from typing import Any

from . import cuda
from .errors import CompileError, ServiceError
from .report import Report


class Made:
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
        self._made = Made(reply, kept)
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


def _binding(binding) -> tuple:
    """(parameter, enum type, kind, integer, float), as the core takes it, of a request's binding."""
    kind = binding.WhichOneof("value").removesuffix("_value")
    value = getattr(binding, f"{kind}_value")
    if kind == "enum":
        return binding.parameter, value.enum_type, kind, value.value, 0.0
    integer, number = (0, value) if kind == "float" else (int(value), 0.0)
    return binding.parameter, 0, kind, integer, number
