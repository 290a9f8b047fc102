"""The shared cases in the client's process: on torch tensors, and on a stream of torch's.

    python tests/gpu/torch_cases.py --cases DIR [--target cuda:sm_90a] [--scope FILE] [--only REGEX] [--shared]

Arguments lie on the device as they do on the host: what shares memory there shares memory here, with the same
strides. Out views begin as garbage, and all memory around a view is compared, too. Torch has no negative
strides; arrays with one go by the CUDA array interface over memory of torch's. --shared skips kernels that use
no shared memory, for racecheck. The lines printed are those of the cases' own runner.
"""

import argparse
import re
import sys
from pathlib import Path

import numpy as np
import torch

POISON = 0xA5


def torch_dtype(dtype):
    """Torch's dtype of the same name, or of its bits where torch has none."""
    name = dtype.name
    same = {"bool": torch.bool, "float8_e4m3fn": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2}
    return same.get(name) or getattr(torch, name)


class Strided:
    """An array of device memory with any strides, in the CUDA array interface."""

    def __init__(self, memory, offset, array):
        self.memory = memory  # kept alive
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (memory.data_ptr() + offset, False),
            "strides": array.strides,
            "version": 3,
            "stream": torch.cuda.current_stream().cuda_stream or 1,
        }


class Mirror:
    """Host memory that arrays lie in, copied to the device and back."""

    def __init__(self, arrays):
        self.spans = []  # (low, high, host bytes, device bytes)
        reach = []
        for array in arrays:
            while isinstance(array.base, np.ndarray):
                array = array.base
            low, high = np.lib.array_utils.byte_bounds(array)
            reach.append((low, high, array))
        for low, high, owner in sorted(reach, key=lambda item: item[:2]):
            if self.spans and low < self.spans[-1][1]:
                if high <= self.spans[-1][1]:
                    continue
                raise ValueError("memory of two owners overlaps")
            host = (
                np.frombuffer(memoryview(owner.reshape(-1).view(np.uint8)), np.uint8) if high > low else None
            )
            self.spans.append((low, high, host, self._device(host)))

    @staticmethod
    def _device(host):
        if host is None:
            return torch.empty(0, dtype=torch.uint8, device="cuda")
        # Alignment as strict as any dtype's: allocations of torch are aligned by 512 bytes.
        return torch.from_numpy(host.copy()).cuda()

    def tensor(self, array):
        """The device's view of a host array."""
        address = array.__array_interface__["data"][0]
        low, _, _, device = next(
            (span for span in self.spans if span[0] <= address < span[1] or not array.size),
            (0, 0, None, None),
        )
        dtype, size = torch_dtype(array.dtype), array.itemsize
        if not array.size:
            return torch.empty(array.shape, dtype=dtype, device="cuda")
        if any(stride < 0 and extent > 1 for stride, extent in zip(array.strides, array.shape)):
            return Strided(device, address - low, array)
        offset = address - low
        memory = device[offset % size :]
        memory = memory[: memory.numel() // size * size].view(dtype)
        strides = [stride // size if extent > 1 else 1 for stride, extent in zip(array.strides, array.shape)]
        return torch.as_strided(memory, array.shape, strides, memory.storage_offset() + offset // size)

    def copy_back(self):
        for _, _, host, device in self.spans:
            if host is not None:
                host[:] = device.cpu().numpy()


class OnTensors:
    """An artifact whose `run` takes and gives NumPy arrays, and runs on tensors."""

    def __init__(self, artifact):
        self.artifact = artifact

    def __getattr__(self, name):
        return getattr(self.artifact, name)

    def run(self, *args):
        from intent.arguments import complete, results

        parameters = self.artifact.parameters
        full = complete(parameters, args)
        for parameter, value in zip(parameters, full):
            if parameter.kind == "view" and parameter.access == "Out" and value.size:
                value.reshape(-1).view(np.uint8)[:] = POISON if value.dtype != bool else 1
        mirror = Mirror([value for p, value in zip(parameters, full) if p.kind == "view"])
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            tensors = [
                mirror.tensor(value) if p.kind == "view" else value for p, value in zip(parameters, full)
            ]
            self.artifact(*tensors)
        stream.synchronize()
        self.artifact.synchronize()  # raises what the kernel reported
        mirror.copy_back()
        return results(parameters, full)


def uses_shared_memory(artifact):
    return any(v.HasField("shared_bytes") or v.resources.shared_bytes for v in artifact.manifest.variants)


class NoSharedMemory(Exception):
    pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", required=True)
    parser.add_argument("--target", default="cuda:sm_90a")
    parser.add_argument("--compiler", help="address of a compile service; without it INTENT_COMPILER")
    parser.add_argument("--scope")
    parser.add_argument("--only", default="")
    parser.add_argument("--shared", action="store_true")
    options = parser.parse_args()
    sys.path.insert(0, options.cases)
    import run

    class Runner(run.Runner):
        def compile(self, *arguments):
            artifact = super().compile(*arguments)
            if options.shared and not uses_shared_memory(artifact):
                raise NoSharedMemory
            return OnTensors(artifact)

    names = Path(options.scope).read_text().split() if options.scope else None
    items = [
        item
        for item in run.collect([options.cases])
        if re.search(options.only, item.name) and (names is None or item.name in names)
    ]
    runner = Runner(options.target, options.compiler)
    count = {"pass": 0, "skip": 0, "FAIL": 0, "ERROR": 0}
    for item in items:
        try:
            outcome = runner(item, item.case())
        except NoSharedMemory:
            outcome = run.Outcome("skip")
        except Exception as error:
            outcome = run.Outcome("ERROR", note=f"{type(error).__name__}: {error}")
        count[outcome.word] += 1
        print(
            f"{outcome.word:5} {item.name}  error {outcome.error}  {' '.join(outcome.note.split())}",
            flush=True,
        )
    print(f"{count['pass']} passed, {count['FAIL'] + count['ERROR']} failed, {count['skip']} skipped")
    return 1 if count["FAIL"] or count["ERROR"] else 0


if __name__ == "__main__":
    sys.exit(main())
