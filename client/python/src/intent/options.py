"""What a compile may be asked for: a target and options."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class CpuTarget:
    """A CPU: "native" (that of the daemon's host), or a level such as "x86-64-v3" or "aarch64"."""

    cpu: str = "native"

    @property
    def name(self) -> str:
        return self.cpu


@dataclass(frozen=True)
class InterpreterTarget:
    """The reference interpreter: exact and slow.

    check: report what the language calls invalid or leaves to the author, with the author's line: races,
    reads of unwritten elements, invalid arithmetic input and more (docs/checked-mode.md).
    laws: also sample the laws that structured operations rely on, such as a combine's associativity;
    implies check.
    """

    check: bool = False
    laws: bool = False

    @property
    def name(self) -> str:
        return "interp" + ("+check" if self.check or self.laws else "") + ("+laws" if self.laws else "")


@dataclass(frozen=True)
class CudaTarget:
    """An NVIDIA GPU architecture such as "sm_90a", or "native": that of this process's first GPU."""

    arch: str = "native"

    @property
    def name(self) -> str:
        if self.arch != "native":
            return self.arch
        from . import cuda

        return cuda.native_target()


@dataclass(frozen=True)
class ResourceBudget:
    """What a CUDA kernel may take at most; a kernel that takes more does not compile (E1003).

    registers: of a thread.
    local_bytes: of a thread: stack frame and spilled registers.
    shared_bytes: of a block, static.
    """

    registers: int | None = None
    local_bytes: int | None = None
    shared_bytes: int | None = None

    def __post_init__(self):
        for name, value in vars(self).items():
            if value is not None and (type(value) is not int or not 0 <= value < 1 << 32):
                raise ValueError(f"{name} is None or a number of at most 32 bits, not {value!r}")


@dataclass(frozen=True)
class CompileOptions:
    """How a kernel is compiled.

    numerics: "source", or "relaxed_normalization", which licenses the online-softmax rewrite.
    online_reduction: False forbids that rewrite without changing anything else.
    bounds: "guard" ends a call whose access is out of bounds; "trust" promises there is none.
    opt_level: 0 plain lowering, 1 quick code generation, 2 everything.
    keep_source: also keep the tile program and the generated source: LLVM IR or CUDA C++.
    keep_ptx: also keep the PTX of a CUDA kernel, which drivers compile for GPUs to come.
    resource_budget: what a CUDA kernel may take at most.
    execute: where the artifact runs. "auto": a CPU artifact from a daemon of the user's own in this process, on the
    arrays' memory; everything else, and with "remote" everything, in the service. "local": in this process, or the
    call raises ServiceError. Not part of what is compiled. "auto" follows the variable INTENT_EXECUTE, if it is set.
    """

    numerics: str = "source"
    online_reduction: bool = True
    bounds: str = "guard"
    opt_level: int = 2
    disabled_passes: tuple[str, ...] = field(default_factory=tuple)
    keep_source: bool = False
    keep_ptx: bool = False
    resource_budget: ResourceBudget | None = None
    execute: str = "auto"

    def __post_init__(self):
        if self.numerics not in ("source", "relaxed_normalization"):
            raise ValueError(f"numerics is 'source' or 'relaxed_normalization', not {self.numerics!r}")
        if self.bounds not in ("guard", "trust"):
            raise ValueError(f"bounds is 'guard' or 'trust', not {self.bounds!r}")
        if self.opt_level not in (0, 1, 2):
            raise ValueError(f"opt_level is 0, 1 or 2, not {self.opt_level!r}")
        if self.execute not in ("auto", "local", "remote"):
            raise ValueError(f"execute is 'auto', 'local' or 'remote', not {self.execute!r}")
        object.__setattr__(self, "disabled_passes", tuple(self.disabled_passes))
