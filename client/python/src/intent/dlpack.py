"""Arrays of other libraries through the DLPack protocol, without a copy.

NumPy's own importer refuses the narrow floats and makes everything writable or nothing, by version;
this one knows bf16 and f8 and keeps what the producer says. Structures are those of DLPack 1.0
(dlpack.h of github.com/dmlc/dlpack).
"""

from __future__ import annotations

import ctypes
import math
from typing import NamedTuple

import numpy as np

from .numbers import numpy_dtype

CPU, CUDA_HOST, CUDA, ROCM_HOST = 1, 3, 2, 11
HOST_DEVICES = (CPU, CUDA_HOST, ROCM_HOST)
CUDA_MANAGED = 13
CUDA_DEVICES = (CUDA, CUDA_MANAGED)
_DEVICES = {
    2: "a CUDA GPU",
    4: "OpenCL",
    7: "Vulkan",
    8: "Metal",
    10: "a ROCm GPU",
    13: "CUDA managed memory",
}

MAX_AXES = 64
READ_ONLY = 1  # of DLManagedTensorVersioned.flags


class DLDevice(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),  # in elements; null: packed rows
        ("byte_offset", ctypes.c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    """The older kind, in capsules named "dltensor"; it cannot say that it is read-only."""

    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class DLManagedTensorVersioned(ctypes.Structure):
    """In capsules named "dltensor_versioned"."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


# By (code, bits): the type's name in the language.
DTYPES = {
    **{(0, bits): f"i{bits}" for bits in (8, 16, 32, 64)},
    **{(1, bits): f"u{bits}" for bits in (8, 16, 32, 64)},
    **{(2, bits): f"f{bits}" for bits in (16, 32, 64)},
    (4, 16): "bf16",
    (6, 8): "bool",
    (10, 8): "f8e4m3fn",
    (12, 8): "f8e5m2",
}

_api = ctypes.pythonapi
_is_valid = _api.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
_get_pointer = _api.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_set_name = _api.PyCapsule_SetName
_set_name.restype, _set_name.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]

# A capsule keeps the pointers to its name.
_KINDS = (
    (b"dltensor_versioned", b"used_dltensor_versioned", DLManagedTensorVersioned),
    (b"dltensor", b"used_dltensor", DLManagedTensor),
)


class Unsuitable(Exception):
    """An exporter's array cannot be used; the message says why."""


def device(value) -> str | None:
    """Where an exporter's memory is if not on the host, in words."""
    kind = int(value.__dlpack_device__()[0])
    return None if kind in HOST_DEVICES else _DEVICES.get(kind, f"another device (DLPack's number {kind})")


def array(value) -> tuple[np.ndarray, bool]:
    """(the exporter's memory as an array, whether the exporter said if it may be written to).

    Raises Unsuitable, or whatever the exporter raises.
    """
    found = _take(value, HOST_DEVICES, "the host's")
    return _view(found), found.owner.versioned


def tensor(value, stream: int) -> Tensor:
    """An exporter's memory on a CUDA device; what it has begun comes before later work of `stream`.

    Raises Unsuitable, or whatever the exporter raises.
    """
    return _take(value, CUDA_DEVICES, "a CUDA device's", stream=stream)


class Tensor(NamedTuple):
    """Memory as an exporter describes it."""

    address: int
    dtype: str  # a name of the language
    shape: tuple
    strides: tuple | None  # in elements; None: packed rows
    read_only: bool
    owner: _Owner


def _take(value, devices, whose, **keywords) -> Tensor:
    try:
        capsule = value.__dlpack__(max_version=(1, 0), **keywords)
    except TypeError:  # an exporter from before versions
        capsule = value.__dlpack__(**keywords)
    for name, used, kind in _KINDS:
        if _is_valid(capsule, name):
            pointer = _get_pointer(capsule, name)
            managed = kind.from_address(pointer)
            _set_name(capsule, used)  # from here on the memory is ours to release
            return _describe(_Owner(pointer, managed), devices, whose)
    raise Unsuitable("its __dlpack__ gives no DLPack capsule")


class _Owner:
    """Memory of an exporter, released with the last array over it."""

    def __init__(self, pointer, managed):
        self._pointer = pointer
        self.managed = managed
        self.versioned = isinstance(managed, DLManagedTensorVersioned)

    def __del__(self):
        if self.managed.deleter:
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.managed.deleter)(self._pointer)


class _Memory:
    """An owner's memory as NumPy takes it; NumPy keeps a reference to it."""

    def __init__(self, owner, interface):
        self.owner = owner
        self.__array_interface__ = interface


def _describe(owner, devices, whose) -> Tensor:
    managed = owner.managed
    if owner.versioned and managed.major != 1:
        raise Unsuitable(f"it speaks DLPack {managed.major}.{managed.minor}; 1 is known here")
    tensor = managed.tensor
    name = DTYPES.get((tensor.dtype.code, tensor.dtype.bits))
    if name is None or tensor.dtype.lanes != 1:
        raise Unsuitable(
            f"its DLPack type (code {tensor.dtype.code}, {tensor.dtype.bits} bits, {tensor.dtype.lanes} lanes) "
            "is no element type of the language"
        )
    if tensor.device.device_type not in devices:
        raise Unsuitable(f"its memory is not {whose}")
    if not 0 <= tensor.ndim <= MAX_AXES:
        raise Unsuitable(f"it has {tensor.ndim} axes")
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    if any(extent < 0 for extent in shape):
        raise Unsuitable(f"its shape is {shape}")
    strides = None
    if tensor.strides and math.prod(shape):
        strides = tuple(tensor.strides[axis] for axis in range(tensor.ndim))
    read_only = owner.versioned and bool(managed.flags & READ_ONLY)
    return Tensor((tensor.data or 0) + tensor.byte_offset, name, shape, strides, read_only, owner)


def _view(tensor: Tensor) -> np.ndarray:
    dtype = numpy_dtype(tensor.dtype)
    if not math.prod(tensor.shape):
        empty = np.empty(tensor.shape, dtype)
        empty.flags.writeable = not tensor.read_only
        return empty
    carrier = dtype if dtype.isbuiltin == 1 else np.dtype(f"u{dtype.itemsize}")
    strides = None if tensor.strides is None else tuple(s * dtype.itemsize for s in tensor.strides)
    interface = {
        "version": 3,
        "shape": tensor.shape,
        "typestr": carrier.str,
        "data": (tensor.address, tensor.read_only),
        "strides": strides,
    }
    return np.asarray(_Memory(tensor.owner, interface)).view(dtype)
