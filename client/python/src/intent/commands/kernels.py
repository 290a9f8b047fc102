"""Kernels and what is bound to them, as command lines name them: FILE:KERNEL, NAME=VALUE."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

from ..annotations import Enum
from ..frontend import signature
from ..kernel import Kernel
from ..options import CpuTarget, CudaTarget, InterpreterTarget
from .usage import UsageError

WHERE = "FILE.py:KERNEL or MODULE:KERNEL; the kernel's name may be left out if there is only one"


def load(where: str) -> Kernel:
    """The kernel that FILE:KERNEL or MODULE:KERNEL names. The file is run, as an import would."""
    source, _, name = where.rpartition(":") if ":" in where else (where, "", "")
    module = _module(source)
    found = {key: value for key, value in vars(module).items() if isinstance(value, Kernel)}
    if name:
        if name not in found:
            raise UsageError(f"{source} has no kernel {name!r}; it has: {', '.join(found) or 'none'}")
        return found[name]
    own = {id(value): value for value in found.values()}
    if len(own) != 1:
        names = ", ".join(found) or "none"
        raise UsageError(f"{source} has {len(own)} kernels; name one as {source}:KERNEL: {names}")
    return next(iter(own.values()))


def _module(source: str):
    if not source.endswith(".py"):
        try:
            sys.path.insert(0, "")
            return importlib.import_module(source)
        except ModuleNotFoundError as error:
            raise UsageError(f"{error}; a kernel is named by {WHERE}") from None
        finally:
            sys.path.remove("")
    path = Path(source).resolve()
    if not path.is_file():
        raise UsageError(f"there is no file {source}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{source} is no file of Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.parent))  # what the file imports may lie beside it
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def bindings(kernel: Kernel, given: list[str]) -> dict:
    """Values of constexpr parameters from NAME=VALUE, read by the parameters' types."""
    parameters = {p.name: p for p in signature.read(kernel) if p.kind == "constexpr"}
    bound: dict = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--constexpr takes NAME=VALUE, not {text!r}")
        if name not in parameters:
            raise UsageError(
                f"{name!r} is no constexpr parameter; there are: {', '.join(parameters) or 'none'}"
            )
        bound[name] = _value(name, parameters[name].type, value)
    return bound


def _value(name: str, kind: type, text: str):
    choices: dict = {"true": True, "false": False} if kind is bool else {}
    if issubclass(kind, Enum):
        choices = dict(kind.__members__)
    try:
        if choices:
            return choices[text.lower() if kind is bool else text]
        return int(text, 0) if kind is int else float(text)
    except (KeyError, ValueError):
        what = f"one of {', '.join(choices)}" if choices else f"of type {kind.__name__}"
        raise UsageError(f"{name} is {what}, not {text!r}") from None


def target(name: str):
    """The target of a name: "interp", with "+check" and "+laws" too, "cuda" (this machine's GPU), an
    architecture such as "sm_90a" or "cuda:sm_90a", otherwise a CPU."""
    base, *modes = name.split("+")
    if base == "interp" and set(modes) <= {"check", "laws"}:
        return InterpreterTarget(check="check" in modes, laws="laws" in modes)
    if name == "cuda":
        return CudaTarget()
    name = name.removeprefix("cuda:")
    return CudaTarget(name) if name.startswith("sm_") else CpuTarget(name)
