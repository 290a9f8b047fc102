#!/usr/bin/env python3
"""Builds the harness into a folder that travels: cubins by NVRTC, the program, run.sh.

usage: build.py FOLDER [--arch sm_90a] [NAME...]
"""

import argparse
import ctypes
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
DEVICE = HERE.parents[2] / "compiler/cuda/device"

RUN = """#!/usr/bin/env bash
# Checks and times; arguments: [check|time] [NAME...]
set -euo pipefail
cd "$(dirname "$0")"
if [ -z "${CUBLAS_FOLDER:-}" ]; then
  CUBLAS_FOLDER=$(dirname "$(find /usr/local/cuda*/ /opt /usr/lib -name libcublas.so.13 2>/dev/null | head -1)")
  export CUBLAS_FOLDER
fi
exec ./harness . "$@"
"""


class Nvrtc:
    def __init__(self):
        self.lib = ctypes.CDLL("libnvrtc.so.13")

    def compile(self, text, arch, log_name):
        """The cubin and the milliseconds that it took."""
        lib, program = self.lib, ctypes.c_void_p()
        names = [path.name for path in sorted(DEVICE.glob("*.cuh"))]
        headers = [(DEVICE / name).read_bytes() for name in names]
        names += ["kernel.cuh"]
        headers += [(HERE / "kernel.cuh").read_bytes()]
        count = len(names)
        lib.nvrtcCreateProgram(
            ctypes.byref(program), text.encode(), log_name.encode(), count,
            (ctypes.c_char_p * count)(*headers),
            (ctypes.c_char_p * count)(*[f"intent/{name}".encode() for name in names]))
        options = [b"--fmad=false", b"--ftz=false", b"--std=c++17", b"--device-int128",
                   f"--gpu-architecture={arch}".encode(), b"--ptxas-options=-v"]
        begin = time.process_time()
        failed = lib.nvrtcCompileProgram(program, len(options),
                                         (ctypes.c_char_p * len(options))(*options))
        spent = 1000 * (time.process_time() - begin)
        size = ctypes.c_size_t()
        lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        lib.nvrtcGetProgramLog(program, log)
        if failed:
            sys.exit(f"{log_name}:\n{log.value.decode()}")
        lib.nvrtcGetCUBINSize(program, ctypes.byref(size))
        cubin = ctypes.create_string_buffer(size.value)
        lib.nvrtcGetCUBIN(program, cubin)
        lib.nvrtcDestroyProgram(ctypes.byref(program))
        return cubin.raw, spent, log.value.decode()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    nvrtc = Nvrtc()
    cubin, _, _ = nvrtc.compile((HERE / "check.cu").read_text(), arguments.arch, "check.cu")
    (folder / "check.cubin").write_bytes(cubin)
    types = {"f32": "float", "f64": "double"}
    for line in (HERE / "kernels.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        name, left, right, axes, config = [field.strip() for field in line.split("|")]
        if arguments.names and name not in arguments.names:
            continue
        fast = ["intent::Axis::k" + axis.capitalize() for axis in axes.split()]
        text = (f'#include "intent/kernel.cuh"\nusing namespace intent;\ntypedef {config} Chosen;\n'
                f"HARNESS_KERNEL(Chosen, {types.get(left, left)}, {types.get(right, right)}, "
                f"{fast[0]}, {fast[1]})\n")
        cubin, spent, log = nvrtc.compile(text, arguments.arch, name)
        (folder / f"{name}.cubin").write_bytes(cubin)
        facts = [row.split(":", 1)[-1].strip() for row in log.splitlines()
                 if "registers" in row or "spill" in row]
        print(f"{name:20} {spent:6.0f} ms  {'; '.join(facts)}", flush=True)
    shutil.copy(HERE / "kernels.txt", folder)
    (folder / "run.sh").write_text(RUN)
    (folder / "run.sh").chmod(0o755)
    subprocess.run(["g++", "-std=c++20", "-O2", "-I/usr/local/cuda/include", HERE / "harness.cc", "-o",
                    folder / "harness", "-ldl", "-static-libstdc++", "-static-libgcc"], check=True)


if __name__ == "__main__":
    main()
