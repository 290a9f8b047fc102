"""Cold compiles for CUDA against NVRTC alone on the same source, in one run.

    build/venv/bin/python tests/bench/cuda_compile.py [--build DIR] [--nvrtc PATH] [--arch NAME] [--rounds N]

Starts a daemon of its own with one warm worker. Each round compiles past the cache, and then has nvrtcCompileProgram
make the same text with the same options in this process, where it is warm, too, but reads the device library each
time. "request" is the whole call, "worker" the sum of the compiler's stages. Nothing is asserted.
"""

import argparse
import ctypes
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TIERS = {1: ["--Ofast-compile=mid"], 2: []}
OPTIONS = [
    "--std=c++17",
    "--fmad=false",
    "--prec-div=true",
    "--prec-sqrt=true",
    "--ftz=false",
    "--device-as-default-execution-space",
    "--device-int128",
    "--no-source-include",
    "--ptxas-options=-v",
    "--minimal",
    "--no-cache",
    "--frandom-seed=0",
]

KERNELS = """
@intent.kernel
def scale(x: I.In[I.f32, ("N",)], factor: I.f32, y: I.Out[I.f32, ("N",)]):
    y[:] = x[:] * factor


@intent.kernel
def activation(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    y[:, :] = x[:, :] * I.sigmoid(x[:, :]) + I.tanh(x[:, :])


@intent.kernel
def row_sums(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M",)]):
    y[:] = I.reduce.sum(x[:, :], axis=1)


@intent.kernel
def softmax(x: I.In[I.f32, ("M", "N")], y: I.Out[I.f32, ("M", "N")]):
    m = I.reduce.max(x[:, :], axis=1)
    e = I.exp(x[:, :] - m[:, None])
    s = I.reduce.sum(e, axis=1)
    y[:, :] = e / s[:, None]
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--nvrtc", default="/usr/local/cuda/lib64/libnvrtc.so.13")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--rounds", type=int, default=15)
    return parser.parse_args()


class Nvrtc:
    """nvrtcCompileProgram, alone."""

    def __init__(self, path):
        self._library = ctypes.CDLL(path)
        files = sorted((ROOT / "compiler" / "cuda" / "device").glob("*.cuh"))
        files += sorted((ROOT / "compiler" / "numerics").glob("*.inc"))
        self._names = [f"intent/{file.name}".encode() for file in files]
        self._texts = [file.read_bytes() for file in files]

    def seconds(self, source, options):
        """The time of one compile of `source`."""
        program = ctypes.c_void_p()
        count = len(self._names)
        texts, names = ((ctypes.c_char_p * count)(*part) for part in (self._texts, self._names))
        self._call("nvrtcCreateProgram", ctypes.byref(program), source, b"intent.cu", count, texts, names)
        given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        began = time.perf_counter()
        self._call("nvrtcCompileProgram", program, len(options), given)
        took = time.perf_counter() - began
        self._call("nvrtcDestroyProgram", ctypes.byref(program))
        return took

    def _call(self, name, *args):
        if result := getattr(self._library, name)(*args):
            raise SystemExit(f"{name}: result {result}")


def kernels():
    """The kernels by name, as an author's file has them."""
    import intent
    import intent.language

    text = KERNELS.replace("@intent.kernel\n", "")
    scope = {"I": intent.language}
    exec(text, scope)
    return {
        name: intent.kernel(value, source="def " + part.strip() + "\n")
        for part in text.split("\ndef ")[1:]
        for name, value in [(part.split("(")[0], scope[part.split("(")[0]])]
    }


def measure(compiler, nvrtc, kernel, arch, level, rounds):
    """Medians in ms of request, worker's stages and NVRTC alone, and the median ratios of the first two to it."""
    from intent_proto.compile.v1 import compile_pb2

    import intent
    from intent import compiling
    from intent.generated import Generated

    options = intent.CompileOptions(opt_level=level, keep_source=True)
    made = compiling.prepare(Generated, kernel, intent.CudaTarget(arch), {}, options).at(compiler).compiled()
    source = made.payload("cuda")
    flags = [f"--gpu-architecture={arch}", *OPTIONS, *TIERS[level]]
    options = intent.CompileOptions(opt_level=level)
    request = compiling.prepare(Generated, kernel, intent.CudaTarget(arch), {}, options)._request
    request.cache = compile_pb2.CACHE_POLICY_BYPASS
    rows = []
    for _ in range(rounds):
        began = time.perf_counter()
        reply = compiler.compile(request).artifact
        request_seconds = time.perf_counter() - began
        worker = sum(t.nanoseconds for t in reply.times) / 1e9
        rows.append((request_seconds, worker, nvrtc.seconds(source, flags)))
    middle = [statistics.median(column) * 1e3 for column in zip(*rows)]
    ratios = [statistics.median(row[i] / row[2] for row in rows) for i in (0, 1)]
    return (*middle, *ratios)


def main():
    options = arguments()
    sys.path[:0] = [f"{options.build}/python", f"{options.build}/python_proto"]
    from bench import Daemon

    import intent

    nvrtc = Nvrtc(options.nvrtc)
    with Daemon(options.build, "--cuda-workers", "1", "--nvrtc", options.nvrtc) as daemon:
        compiler = intent.Compiler(daemon.address)
        print(f"{'kernel':14} tier  request   worker    NVRTC ms   request/NVRTC  worker/NVRTC")
        for name, kernel in kernels().items():
            for level in TIERS:
                row = measure(compiler, nvrtc, kernel, options.arch, level, options.rounds)
                print(
                    f"{name:14} {level:4} {row[0]:8.1f} {row[1]:8.1f} {row[2]:8.1f} {row[3]:13.2f} {row[4]:14.2f}"
                )


if __name__ == "__main__":
    main()
