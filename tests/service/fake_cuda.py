"""Artifacts for the fake CUDA driver (tests/support/fake_cuda), whose kernels have names."""

import os
import subprocess
from pathlib import Path

import pytest
from google.protobuf import text_format

from harness import BUILD, chain_text, compile_pb2, encode

LIBRARY = BUILD / "fake_cuda" / "libcuda.so.1"
TARGET = "sm_90a"
# In the order of indices.
UUIDS = [
    "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf",
    "GPU-b0b1b2b3-b4b5-b6b7-b8b9-babbbcbdbebf",
]


def environment(**more):
    """That of a daemon whose workers find the fake driver."""
    paths = [str(LIBRARY.parent), os.environ.get("LD_LIBRARY_PATH", "")]
    return {"LD_LIBRARY_PATH": ":".join(filter(None, paths)), **more}


def constant(value):
    return f"{{ instructions {{ opcode: OPCODE_CONSTANT value: {value} }} }}"


def manifest(kernel, dtype="f32", views=2, blocks=4, rest=""):
    """Of a kernel of the fake on vectors of one length; the last one is written."""
    text = f"target: '{TARGET}' symbol_count: 1 "
    for position in range(views):
        access = "ACCESS_OUT" if position == views - 1 else "ACCESS_IN"
        text += f"parameters {{ view {{ dtype: '{dtype}' access: {access} axes {{ symbol: 0 }} }} }} "
    one = constant(1)
    text += f"variants {{ entry_symbol: '{kernel}' grid {constant(blocks)} grid {one} grid {one} "
    text += f"block {constant(64)} block {one} block {one} {rest} }}"
    return text_format.Parse(text, compile_pb2.Manifest())


def put(daemon, module, made):
    """Makes the daemon's compile of a serialised module for TARGET give an artifact with this manifest."""
    folder = Path(daemon.folder)
    files = {"module": module, "manifest": made.SerializeToString(), "cubin": b"fake cubin\0"}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    cuda = daemon.capabilities().cuda
    if not cuda.fingerprint:
        pytest.skip(f"SKIPPED: without NVRTC no artifact for CUDA has a key: {cuda.missing}")
    fingerprint = cuda.fingerprint
    command = [BUILD / "tests" / "put_artifact", daemon.cache, folder / "module", TARGET, fingerprint]
    subprocess.run([*command, folder / "manifest", folder / "cubin"], check=True)


def artifact(daemon, kernel, **how):
    """The artifact of a kernel of the fake, as a compile of the daemon's gives it."""
    made = manifest(kernel, **how)
    # Any module will do, as long as each manifest has one of its own.
    number = artifact.numbers.setdefault(made.SerializeToString(deterministic=True), len(artifact.numbers))
    module = encode(daemon.folder, chain_text(number), f"fake{number}")
    put(daemon, module, made)
    return daemon.compile(module, target=TARGET).artifact


artifact.numbers = {}
