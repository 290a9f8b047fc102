"""Running CUDA artifacts in this process, on tensors of torch, CuPy and others, where they lie.

The cubin is loaded into the device's primary context, which those libraries use too, and launched on the stream
that the arrays' library has current. Nothing is copied and nothing waits: as with any launch, what a kernel
reports shows later, at the artifact's next call or at `artifact.synchronize()`.

A library is not imported here, but found where the caller has imported it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import dlpack, marshal
from .errors import ServiceError
from .numbers import Misfit, accepts, carrier_dtype, numpy_dtype, scalar_bits

PAYLOAD = "cubin"
LEGACY_STREAM = 1  # the handle that null stands for; CUDA's array interface and DLPack do not know null


@dataclass
class DeviceArray:
    """Memory of a device as a view argument; it has the attributes that marshal.bind_shapes reads."""

    address: int
    shape: tuple
    strides: tuple  # in elements
    owner: Any  # keeps the memory
    library: str  # "torch", "cupy" or "": who says which stream is current
    stream: int | None = None  # of library "": the one that the memory's contents are ready on; None: ready

    @property
    def ndim(self) -> int:
        return len(self.shape)


def on_device(value) -> bool:
    """Whether a value is an array in the memory of a CUDA device."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return value.is_cuda
    if isinstance(value, (np.ndarray, np.generic, int, float)):
        return False
    if hasattr(value, "__cuda_array_interface__"):
        return True
    return hasattr(value, "__dlpack_device__") and int(value.__dlpack_device__()[0]) in dlpack.CUDA_DEVICES


def any_on_device(values) -> bool:
    return any(on_device(value) for value in values)


# Reading arrays.


def read(parameter, value) -> DeviceArray:
    """The memory of a view argument. Raises TypeError or ValueError naming the parameter."""
    name, kind = parameter.name, type(value).__name__
    if not on_device(value):
        raise TypeError(
            f"{name} is not on the GPU, as other arguments are: this {kind} is the host's; move it there first"
        )
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and isinstance(value, torch.Tensor):
        return _torch_tensor(torch, parameter, value)
    if hasattr(value, "__cuda_array_interface__"):
        library = "cupy" if cupy is not None and isinstance(value, cupy.ndarray) else ""
        return _by_array_interface(parameter, value, library)
    return _by_dlpack(parameter, value)


def _torch_tensor(torch, parameter, tensor) -> DeviceArray:
    name = parameter.name
    given = str(tensor.dtype).removeprefix("torch.")
    if given not in _torch_names(parameter.dtype):
        raise TypeError(f"{name} is {parameter.dtype}, its tensor {tensor.dtype}; convert it with .to()")
    if tensor.layout != torch.strided:
        raise TypeError(f"{name} takes a dense tensor, not one of layout {tensor.layout}")
    if tensor.is_conj() or tensor.is_neg():
        raise TypeError(f"{name}: the tensor's elements are not those in memory; call resolve_neg() first")
    if parameter.access != "In" and tensor.requires_grad:
        raise ValueError(f"{name} is written to, but its tensor requires gradients; pass detach() of it")
    return DeviceArray(tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), tensor, "torch")


_TORCH_NAMES = {
    "bool": "bool",
    "index": "int64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}


def _torch_names(dtype: str) -> tuple:
    """Torch's names of an element type and of what carries its bits."""
    carrier = carrier_dtype(dtype)
    return (_TORCH_NAMES[dtype],) if carrier is None else (_TORCH_NAMES[dtype], carrier.name)


def _by_array_interface(parameter, value, library) -> DeviceArray:
    name = parameter.name
    interface = value.__cuda_array_interface__
    dtype = np.dtype(interface["typestr"])
    if library == "cupy":
        dtype = value.dtype  # narrow floats have no type string of their own
    if interface.get("mask") is not None:
        raise TypeError(f"{name} takes a plain array, not a masked one")
    if not dtype.isnative:
        raise TypeError(f"{name}: the array's byte order is not this machine's")
    if not accepts(parameter.dtype, dtype):
        raise TypeError(f"{name} is {parameter.dtype}, its array {dtype}; convert it with astype")
    address, read_only = interface["data"]
    if read_only and parameter.access != "In":
        raise ValueError(f"{name} is written to, but its array is read-only")
    shape = tuple(interface["shape"])
    strides = _in_elements(name, shape, interface.get("strides"), dtype.itemsize)
    _check_alignment(name, address, shape, dtype.itemsize)
    stream = None if library else interface.get("stream")
    return DeviceArray(address or 0, shape, strides, value, library, stream)


def _by_dlpack(parameter, value) -> DeviceArray:
    """What the exporter has begun is ordered before the legacy stream, on which the launch then is."""
    name = parameter.name
    try:
        tensor = dlpack.tensor(value, LEGACY_STREAM)
    except Exception as error:  # whatever the other library's code raises
        raise TypeError(f"{name} takes an array, not {type(value).__name__}: {error}") from None
    if not accepts(parameter.dtype, numpy_dtype(tensor.dtype)):
        raise TypeError(f"{name} is {parameter.dtype}, its array {tensor.dtype}")
    if tensor.read_only and parameter.access != "In":
        raise ValueError(f"{name} is written to, but its array is read-only")
    strides = tensor.strides
    if strides is None:
        strides = _packed(tensor.shape)
    _check_alignment(name, tensor.address, tensor.shape, numpy_dtype(tensor.dtype).itemsize)
    return DeviceArray(tensor.address, tensor.shape, strides, tensor.owner, "", LEGACY_STREAM)


def _packed(shape) -> tuple:
    strides, stride = [], 1
    for extent in reversed(shape):
        strides.append(stride)
        stride *= max(extent, 1)
    return tuple(reversed(strides))


def _in_elements(name, shape, strides, itemsize) -> tuple:
    if strides is None:
        return _packed(shape)
    for axis, (extent, stride) in enumerate(zip(shape, strides)):
        if extent > 1 and stride % itemsize:
            raise ValueError(
                f"{name}: the stride of axis {axis}, {stride} bytes, is no multiple of the item size"
            )
    return tuple(stride // itemsize for stride in strides)


def _check_alignment(name, address, shape, itemsize):
    if address and address % itemsize and all(shape):
        raise ValueError(f"{name}: the array is not aligned for its elements")


# Streams.


def current_stream(array: DeviceArray, device: int) -> int:
    """The handle of the stream that work on an array goes to now."""
    if array.library == "torch":
        torch = sys.modules["torch"]
        quick = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # a tenth of the public one's time
        handle = quick(device) if quick else torch.cuda.current_stream(device).cuda_stream
        return handle or LEGACY_STREAM
    if array.library == "cupy":
        return sys.modules["cupy"].cuda.get_current_stream(device).ptr or LEGACY_STREAM
    return array.stream or LEGACY_STREAM


class Launcher:
    """Bound arguments; launched as often as wanted."""

    def __init__(self, artifact, arguments):
        self._artifact = artifact
        parameters = artifact.parameters
        if len(arguments) != len(parameters):
            names = ", ".join(p.name for p in parameters)
            raise TypeError(f"{len(arguments)} arguments for {len(parameters)} parameters ({names})")
        arrays = [read(p, v) if p.kind == "view" else None for p, v in zip(parameters, arguments)]
        marshal.bind_shapes(parameters, arrays)
        bound: list[Any] = []
        for parameter, array, value in zip(parameters, arrays, arguments):
            if array is not None:
                bound.append((array.address, array.shape, array.strides))
                continue
            try:
                bound.append(scalar_bits(value, parameter.dtype))
            except Misfit as misfit:
                raise marshal.scalar_error(value)(f"{parameter.name} {misfit}") from None
        self._arrays = [array for array in arrays if array is not None]
        self.device = _device_of(parameters, arrays)
        self._kernel = kernel_on(artifact, self.device)
        self._call = artifact._outcome(self._kernel.bind(bound))
        # One array of each library, and each stream that is not a library's.
        self._sources = list({(a.library, a.stream): a for a in reversed(self._arrays)}.values())[::-1]
        self._only = self._sources[0] if len(self._sources) == 1 else None

    def launch(self) -> None:
        """Puts one launch into the arrays' stream."""
        if self._only is not None:
            outcome = self._call.launch(current_stream(self._only, self.device), ())
        else:
            streams = list(dict.fromkeys(current_stream(array, self.device) for array in self._sources))
            outcome = self._call.launch(streams[0], streams[1:])
        if outcome is not None:
            self._artifact._outcome(outcome)


def _device_of(parameters, arrays) -> int:
    """The device that the arrays are on. Raises ValueError when they are not on one."""
    from . import _core

    where: dict[int, str] = {}
    for parameter, array in zip(parameters, arrays):
        if array is None or not array.address or not all(array.shape):
            continue
        device = _core.cuda_device_of(array.address)
        if isinstance(device, tuple):
            raise ValueError(f"{parameter.name}: {device[1]}")
        where.setdefault(device, parameter.name)
    if len(where) > 1:
        places = ", ".join(f"{name} on device {device}" for device, name in where.items())
        raise ValueError(f"the arrays are not on one device: {places}")
    return next(iter(where), 0)


def kernel_on(artifact, device: int):
    """The artifact's kernel in this process on a device, loaded at its first use."""
    from . import _core

    kernels = artifact._cuda_kernels
    if device not in kernels:
        if not artifact._compiler.is_own():
            raise ServiceError(
                f"the daemon at {artifact._compiler.address} is not one of your own on this host, so its code does "
                "not run in this process",
                status="FAILED_PRECONDITION",
                advice="run on arrays of the host's memory: the service then runs the kernel",
            )
        if artifact._made.stored:
            artifact.compiled()  # a file's code is not to be trusted with this process
        kernels[device] = artifact._outcome(
            _core.load_cuda_kernel(artifact._made.reply.manifest, artifact.payload(PAYLOAD), device)
        )
    return kernels[device]


# Arrays for Out views.


def complete(artifact, args, outputs=()) -> list:
    """Every runtime argument, with arrays for the Out views, of the library and device of the first array."""
    parameters = artifact.parameters
    is_out = [p.kind == "view" and p.access == "Out" for p in parameters]
    marshal.check_counts(parameters, args, outputs)
    supply, given = iter(args), iter(outputs)
    full = [None if out else next(supply) for out in is_out]
    if outputs:
        return [next(given) if out else value for value, out in zip(full, is_out)]
    arrays = [
        read(p, value) if p.kind == "view" and not out else None
        for p, value, out in zip(parameters, full, is_out)
    ]
    symbols = marshal.bind_shapes(parameters, arrays)
    first = next((array for array in arrays if array is not None), None)
    return [
        _new(first, p, marshal.output_shape(p, symbols)) if out else value
        for p, value, out in zip(parameters, full, is_out)
    ]


def _new(like: DeviceArray | None, parameter, shape):
    if like is not None and like.library == "torch":
        torch = sys.modules["torch"]
        return torch.zeros(
            shape, dtype=getattr(torch, _TORCH_NAMES[parameter.dtype]), device=like.owner.device
        )
    if like is not None and like.library == "cupy":
        cupy = sys.modules["cupy"]
        with like.owner.device:
            return cupy.zeros(shape, numpy_dtype(parameter.dtype))
    raise TypeError(
        f"{parameter.name}: no tensor of torch or CuPy is among the arguments, so no library makes its array; give "
        "it, as in artifact(x, y) or prepare(x, outputs=(y,))"
    )


def native_target() -> str:
    """The target name for the first device of this process. Raises ServiceError where there is none."""
    from . import _core

    devices = _core.cuda_devices()
    if isinstance(devices, tuple):
        raise ServiceError(
            devices[1], status=devices[0], advice='name an architecture, as in CudaTarget("sm_90a")'
        )
    _, _, name, architecture, target = devices[0]
    if not target:
        raise ServiceError(
            f"{name} is {architecture}, for which this compiler has no target", status="FAILED_PRECONDITION"
        )
    return target
