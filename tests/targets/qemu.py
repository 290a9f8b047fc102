"""AArch64 shared objects on this machine: run by qemu-aarch64 (run_kernel.c)."""

from __future__ import annotations

import platform
import shutil
import struct
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NATIVE = platform.machine() == "aarch64"
COMPILER = "cc" if NATIVE else "aarch64-linux-gnu-gcc"
SYSTEM = Path("/usr/aarch64-linux-gnu")  # Debian's cross libraries
EMULATOR = [] if NATIVE else ["qemu-aarch64", "-L", SYSTEM]
SECONDS = 120  # of one call

STATUS = ("ok", "out_of_bounds", "bad_shape", "negative_extent", "no_memory", "cancelled", "bad_step")


def missing() -> list[str]:
    """The programs that are needed and not there."""
    return [name for name in (COMPILER, *EMULATOR[:1]) if shutil.which(name) is None]


def _check(command, text=""):
    result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=SECONDS)
    assert result.returncode == 0, f"{' '.join(map(str, command))}: {result.returncode}\n{result.stderr}"


def build_runner(folder: Path) -> Path:
    """The program that calls kernels."""
    runner = folder / "run_kernel"
    source = Path(__file__).with_name("run_kernel.c")
    command = [COMPILER, "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-I", ROOT, "-o", runner, source]
    _check([*command, "-Wl,--no-as-needed", "-lm"])  # kernels import from libm, and name no library
    return runner


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def run(runner: Path, library: Path, call, item_sizes) -> dict[int, bytes]:
    """Runs a laid out call (intent.marshal.Call); gives the contents of the allocations afterwards.

    item_sizes: of each view's elements, in bytes. Raises RuntimeError with the status of a call that failed.
    """
    views = [a for a in call.arguments if not isinstance(a, int)]
    scalars = [a for a in call.arguments if isinstance(a, int)]
    parts = [struct.pack("<3q", len(call.allocations), len(views), len(scalars))]
    for allocation in call.allocations:
        content = allocation.content() if allocation.reads else bytes(allocation.size)
        parts += [struct.pack("<q", allocation.size), _padded(content)]
    for view, size in zip(views, item_sizes, strict=True):
        rank = len(view.extents)
        words = (view.allocation, view.offset * size, size, rank, *view.extents, *view.strides)
        parts.append(struct.pack(f"<{len(words)}q", *words))
    parts.append(struct.pack(f"<{len(scalars)}Q", *scalars))
    request, result = library.with_suffix(".call"), library.with_suffix(".result")
    request.write_bytes(b"".join(parts))
    _check([*EMULATOR, runner], f"{library}\n{request}\n{result}\n")
    data = result.read_bytes()
    status, ordinal, parameter, axis, value, limit = struct.unpack_from("<6q", data)
    if status != 0:
        where = f"operation {ordinal}, parameter {parameter}, axis {axis}"
        raise RuntimeError(f"{STATUS[status]} at {where}: {value} against {limit}")
    at, contents = 48, {}
    for position, allocation in enumerate(call.allocations):
        contents[position] = data[at : at + allocation.size]
        at += (allocation.size + 7) // 8 * 8
    for path in (request, result):
        path.unlink()
    return contents
