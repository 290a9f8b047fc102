"""A call's arguments: checked against the signature, and laid out as allocations and views of them.

Arrays that share memory share an allocation, so what overlaps here overlaps where the kernel runs.
Nothing is copied or reinterpreted on the way in; what a kernel wrote is copied back, element by
element with the array's own strides, when the call has succeeded.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from . import dlpack
from .numbers import Misfit, accepts, numpy_dtype, scalar_bits

ALIGNMENT = 64  # of an allocation's start, here and there


@dataclass
class Allocation:
    """Memory that is sent: [low, high) of this process, placed so that alignments are kept."""

    low: int
    high: int
    reads: bool = False  # some view of it is read
    writes: bool = False
    keep: list = field(default_factory=list)  # arrays whose memory it is

    @property
    def base(self) -> int:
        """The address that the allocation's start stands for."""
        return self.low - self.low % ALIGNMENT

    @property
    def size(self) -> int:
        return self.high - self.base if self.high > self.low else 0

    def content(self, start: int = 0, stop: int | None = None) -> bytes:
        """The bytes [start, stop) of the allocation; those before the memory itself are zero."""
        stop = self.size if stop is None else min(stop, self.size)
        pad = min(max(self.low - self.base - start, 0), stop - start)
        return bytes(pad) + ctypes.string_at(self.base + start + pad, stop - start - pad)


@dataclass(frozen=True)
class ViewArgument:
    allocation: int  # position among the call's allocations
    offset: int  # in elements
    extents: tuple
    strides: tuple  # in elements


@dataclass
class Call:
    """Checked arguments, ready to be sent."""

    allocations: list[Allocation]
    arguments: list  # ViewArgument, or the bits of a scalar
    written: list  # (array, position among arguments) of Out and InOut views


def bind_shapes(parameters, arrays) -> dict:
    """Symbols by name, from the arrays given (None: not given). Raises ValueError naming both parameters."""
    symbols: dict[str, tuple[int, str]] = {}
    for parameter, array in zip(parameters, arrays):
        if parameter.kind != "view" or array is None:
            continue
        if array.ndim != len(parameter.shape):
            raise ValueError(
                f"{parameter.name} has {len(parameter.shape)} axes, its array {array.ndim} (shape {array.shape})"
            )
        for axis, (extent, actual) in enumerate(zip(parameter.shape, array.shape)):
            if isinstance(extent, int):
                if extent != actual:
                    raise ValueError(
                        f"{parameter.name}: axis {axis} has {extent} elements, its array {actual}"
                    )
                continue
            known, first = symbols.setdefault(extent, (actual, parameter.name))
            if known != actual:
                raise ValueError(
                    f"{extent} is {known} in {first} but {actual} in {parameter.name} (axis {axis})"
                )
    return {name: extent for name, (extent, _) in symbols.items()}


def check_counts(parameters, args, outputs):
    """Raises TypeError unless `args` are as many as the parameters that are not Out, and `outputs` none or all."""
    is_out = [p.kind == "view" and p.access == "Out" for p in parameters]
    if len(args) != is_out.count(False):
        names = ", ".join(p.name for p, out in zip(parameters, is_out) if not out)
        hint = "; Out arrays go to outputs=, or to a call of the artifact" if len(args) == len(is_out) else ""
        raise TypeError(f"{len(args)} arguments for {is_out.count(False)} parameters ({names}){hint}")
    if outputs and len(outputs) != is_out.count(True):
        raise TypeError(f"{len(outputs)} outputs for {is_out.count(True)} Out views")


def output_shape(parameter, symbols) -> tuple:
    """The shape of a new array for an Out view."""
    missing = [s for s in parameter.shape if isinstance(s, str) and s not in symbols]
    if missing:
        raise ValueError(
            f"{parameter.name}: no argument gives the extent {missing[0]}; pass the array itself"
        )
    return tuple(s if isinstance(s, int) else symbols[s] for s in parameter.shape)


def output_array(parameter, symbols) -> np.ndarray:
    """A new array for an Out view."""
    return np.zeros(output_shape(parameter, symbols), numpy_dtype(parameter.dtype))


def as_array(parameter, value) -> np.ndarray:
    """The array of a view argument, whose memory it is. Raises TypeError or ValueError naming the parameter."""
    if isinstance(value, (np.generic, int, float, bool, list, tuple)) or value is None:
        made = ""
        if isinstance(value, (list, tuple)):
            made = f"; np.array(..., {numpy_dtype(parameter.dtype).name!r}) makes one of it"
        raise TypeError(f"{parameter.name} takes an array, not {type(value).__name__}{made}")
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{parameter.name} takes a plain array, not a masked one")
    if not isinstance(value, np.ndarray):
        value = _foreign_array(parameter, value)
    name = parameter.name
    if not value.dtype.isnative:
        raise TypeError(f"{name}: the array's byte order is not this machine's")
    if not accepts(parameter.dtype, value.dtype):
        raise TypeError(f"{name} is {parameter.dtype}, its array {value.dtype}; convert it with astype")
    if parameter.access != "In" and not value.flags.writeable:
        raise ValueError(f"{name} is written to, but its array is read-only")
    if value.size and not value.flags.aligned:
        raise ValueError(f"{name}: the array is not aligned for {value.dtype}")
    for axis, (extent, stride) in enumerate(zip(value.shape, value.strides)):
        if extent > 1 and value.size and stride % value.itemsize:
            raise ValueError(
                f"{name}: the stride of axis {axis}, {stride} bytes, is no multiple of the item size"
            )
    return value


def _foreign_array(parameter, value) -> np.ndarray:
    """The memory of another library's array, or of a buffer."""
    name, kind = parameter.name, type(value).__name__
    try:
        elsewhere = dlpack.device(value) if hasattr(value, "__dlpack_device__") else None
        if elsewhere is None and hasattr(value, "__cuda_array_interface__"):
            elsewhere = "a CUDA GPU"
        if elsewhere:
            raise TypeError(f"the memory of this {kind} is on {elsewhere}; copy it to the host first")
        if hasattr(value, "__array_interface__"):
            return np.asarray(value)
        if hasattr(value, "__dlpack__"):
            array, said = dlpack.array(value)
            if parameter.access != "In" and not said and not _promises_writes(value):
                array.flags.writeable = False
            return array
        try:
            return np.asarray(memoryview(value))
        except TypeError:
            if not hasattr(value, "__array__"):
                raise TypeError(f"it is {kind}") from None
        if parameter.access != "In":
            raise TypeError(
                f"it is written to, and this {kind} lends no memory of its own "
                "(by DLPack, __array_interface__ or the buffer protocol)"
            )
        return np.asarray(value)
    except Exception as error:  # whatever the other library's code raises
        raise TypeError(f"{name} takes an array, not {kind}: {error}") from None


def _promises_writes(value) -> bool:
    """Whether an exporter that cannot mark DLPack memory as read-only has it marked elsewhere."""
    if not hasattr(value, "__array__"):
        return True
    try:
        return np.asarray(value).flags.writeable
    except Exception:  # it has element types that NumPy lacks
        return True


def lay_out(parameters, values) -> Call:
    """Checks every runtime argument and lays the arrays out."""
    if len(values) != len(parameters):
        names = ", ".join(p.name for p in parameters)
        missing = len(parameters) - len(values)
        outs = sum(p.access == "Out" for p in parameters)
        hint = "; `run` makes the Out arrays" if missing == outs else ""
        raise TypeError(f"{len(values)} arguments for {len(parameters)} parameters ({names}){hint}")
    arrays = [as_array(p, v) if p.kind == "view" else None for p, v in zip(parameters, values)]
    bind_shapes(parameters, arrays)
    spans = [None if array is None else _span(array) for array in arrays]
    allocations, owners = _group(parameters, arrays, spans)
    arguments: list[Any] = []
    written = []
    for position, (parameter, array, value, span) in enumerate(zip(parameters, arrays, values, spans)):
        if parameter.kind == "scalar":
            try:
                arguments.append(scalar_bits(value, parameter.dtype))
            except Misfit as misfit:
                raise scalar_error(value)(f"{parameter.name} {misfit}") from None
            continue
        assert array is not None and span is not None  # a view's
        allocation = allocations[owners[position]]
        itemsize, shape = array.itemsize, array.shape
        offset, strides = 0, (0,) * len(shape)
        if array.size:
            offset = (span.address - allocation.base) // itemsize
            strides = tuple([s // itemsize if e > 1 else 0 for e, s in zip(shape, array.strides)])
        arguments.append(ViewArgument(owners[position], offset, shape, strides))
        if parameter.access != "In":
            written.append((array, position))
    return Call(allocations, arguments, written)


def scalar_error(value):
    """The kind of error for a value that does not fit a scalar parameter."""
    return (
        ValueError
        if isinstance(value, (int, float, np.generic)) and not isinstance(value, bool)
        else TypeError
    )


class _Span(NamedTuple):
    """Where an array lies: its first element, and the addresses [low, high) that its elements span."""

    address: int
    low: int
    high: int


def _span(array) -> _Span:
    address = array.__array_interface__["data"][0]
    if array.flags.c_contiguous or not array.size:
        return _Span(address, address, address + array.nbytes)
    reach = [(extent - 1) * stride for extent, stride in zip(array.shape, array.strides)]
    low = address + sum(r for r in reach if r < 0)
    return _Span(address, low, address + sum(r for r in reach if r > 0) + array.itemsize)


def _owner(array):
    """What an array's memory belongs to."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array if array.base is None else array.base


def _group(parameters, arrays, spans):
    """Allocations, and for each view the position of its own."""
    views = [i for i, array in enumerate(arrays) if array is not None]
    roots = _roots(parameters, arrays, spans, views)
    allocations: list[Allocation] = []
    places: dict[int, int] = {}
    owners = {}
    for i in views:
        _, low, high = spans[i]
        place = places.setdefault(roots[i], len(allocations))
        if place == len(allocations):
            allocations.append(Allocation(low, high))
        allocation = allocations[place]
        if high > low:
            if allocation.high > allocation.low:
                low, high = min(low, allocation.low), max(high, allocation.high)
            allocation.low, allocation.high = low, high
        allocation.reads |= parameters[i].access != "Out"
        allocation.writes |= parameters[i].access != "In"
        allocation.keep.append(arrays[i])
        owners[i] = place
    return allocations, owners


def _roots(parameters, arrays, spans, views) -> dict[int, int]:
    """For each view one that stands for all that share its allocation."""
    parent = {i: i for i in views}

    def root(i):
        while parent[i] != i:
            i = parent[i]
        return i

    reach, last = 0, None
    for low, high, i in sorted([(*spans[i][1:], i) for i in views if arrays[i].size]):
        if last is not None and low < reach:
            parent[root(i)] = root(last)
        if high > reach or last is None:
            reach, last = max(high, reach), i
    groups: dict[str, int] = {}
    for i in views:
        alias = parameters[i].alias
        if alias is None or not arrays[i].size:
            continue
        first = groups.setdefault(alias, i)
        if first != i:
            if _owner(arrays[first]) is not _owner(arrays[i]):
                raise ValueError(
                    f"{parameters[first].name} and {parameters[i].name} are of the alias group {alias!r}, but their "
                    "arrays do not share memory"
                )
            parent[root(i)] = root(first)
    return {i: root(i) for i in views}


def copy_back(call: Call, results: dict):
    """Copies what was written from `results` (allocation position -> buffer) into the caller's arrays."""
    for array, position in call.written:
        if not array.size:
            continue
        argument = call.arguments[position]
        memory = np.frombuffer(results[argument.allocation], np.uint8)
        source = np.ndarray(
            array.shape,
            array.dtype,
            memory,
            argument.offset * array.itemsize,
            tuple(stride * array.itemsize for stride in argument.strides),
        )
        np.copyto(array, source)
