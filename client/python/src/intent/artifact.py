"""Compiled kernels: what is called, in this process or by the service, and arguments bound ahead."""

from __future__ import annotations

from typing import Any

from . import cuda, local, marshal, remote
from .arguments import complete, results
from .errors import ServiceError
from .generated import Generated
from .run_errors import run_error

KEY_PAYLOADS = ("object", "cubin", "ptx")

_ADVICE_HERE = {
    "ABORTED": "the context of this process on the GPU is lost, for every library in it: start the process again",
    "RESOURCE_EXHAUSTED": "free memory of the device",
}


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

        self._raise(execute_pb2.RunError.FromString(wire))

    # Execution by the service.

    def _execute(self, call: marshal.Call):
        try:
            self._again(lambda: remote.execute(self._compiler, self.id, call, self._check))
        except ServiceError as error:
            if error.status == "ABORTED":  # the kernel's doing
                raise error.about(self._where()) from None
            raise

    def _check(self, response):
        """Raises the RunError of an ExecuteResponse that holds one, in terms of the author's lines."""
        if response.WhichOneof("outcome") == "error":
            self._raise(response.error)

    def _raise(self, error):
        for field, value in error.ListFields():
            if field.name.endswith("ordinal"):
                setattr(error, field.name, self._own(value))

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
