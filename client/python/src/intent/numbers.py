"""Element types in NumPy's terms, and Python numbers as the bits of a parameter's dtype."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import numpy as np

try:
    import ml_dtypes
except ImportError:  # bit patterns stand in for the narrow formats
    ml_dtypes = None  # type: ignore[assignment]

_NUMPY: dict[str, np.dtype] = {
    "bool": np.dtype("?"),
    "index": np.dtype("i8"),
    "i8": np.dtype("i1"),
    "i16": np.dtype("i2"),
    "i32": np.dtype("i4"),
    "i64": np.dtype("i8"),
    "u8": np.dtype("u1"),
    "u16": np.dtype("u2"),
    "u32": np.dtype("u4"),
    "u64": np.dtype("u8"),
    "f16": np.dtype("f2"),
    "f32": np.dtype("f4"),
    "f64": np.dtype("f8"),
}

_CARRIERS: dict[str, np.dtype] = {
    "bf16": np.dtype("u2"),
    "f8e4m3fn": np.dtype("u1"),
    "f8e5m2": np.dtype("u1"),
}

_NARROW: dict[str, np.dtype] = {}
if ml_dtypes is not None:
    _NARROW = {
        "bf16": np.dtype(ml_dtypes.bfloat16),
        "f8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
        "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
    }

_MADE: dict[str, np.dtype] = {**_NUMPY, **_CARRIERS, **_NARROW}


def numpy_dtype(name: str) -> np.dtype:
    """The dtype of new arrays of an element type."""
    return _MADE[name]


def carrier_dtype(name: str) -> np.dtype | None:
    """The dtype of bit patterns that arrays of an element type may have instead of its own."""
    return _CARRIERS.get(name)


def accepts(name: str, dtype: np.dtype) -> bool:
    """Whether arrays of `dtype` hold elements of the type: its own dtype, or its bit patterns."""
    return dtype == numpy_dtype(name) or (name in _CARRIERS and dtype == _CARRIERS[name])


_INTEGERS = {
    "index": (64, True),
    **{f"i{bits}": (bits, True) for bits in (8, 16, 32, 64)},
    **{f"u{bits}": (bits, False) for bits in (8, 16, 32, 64)},
}

# bits, stored fraction bits, least exponent of a normal number, largest finite value, has infinities
_FLOATS = {
    "f16": (16, 10, -14, 65504.0, True),
    "bf16": (16, 7, -126, (2 - 2.0**-7) * 2.0**127, True),
    "f8e4m3fn": (8, 3, -6, 448.0, False),
    "f8e5m2": (8, 2, -14, 57344.0, True),
}


class Misfit(Exception):
    """A number does not fit a dtype; the message says why."""


def scalar_bits(value, dtype: str) -> int:
    """The storage bits, zero-extended, of a number for a scalar parameter."""
    if isinstance(value, np.ndarray) and value.ndim == 0 or isinstance(value, np.generic):
        value = value.item() if value.dtype.kind in "biuf" else float(value)
    if dtype == "bool":
        if not isinstance(value, bool):
            raise Misfit(f"takes a bool, not {value!r}")
        return int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Misfit(f"takes a number, not {value!r}")
    if dtype in _INTEGERS:
        bits, signed = _INTEGERS[dtype]
        if not isinstance(value, int):
            raise Misfit(f"takes an integer, not {value!r}")
        low = -(1 << (bits - 1)) if signed else 0
        if not low <= value < low + (1 << bits):
            raise Misfit(f"is {dtype}, which {value} is not in the range of")
        return value & ((1 << bits) - 1)
    return _float_bits(value, dtype)


def _float_bits(value, dtype: str) -> int:
    exact = Fraction(value) if isinstance(value, int) or math.isfinite(value) else None
    if dtype == "f64":
        if exact is not None and isinstance(value, int) and abs(value) > 2**53:
            _require_exact(value, exact, _to_float(value, dtype), dtype)
        return int.from_bytes(struct.pack("<d", value), "little")
    if dtype == "f32":
        try:
            raw = struct.pack("<f", _to_float(value, dtype) if exact is not None else value)
        except OverflowError:
            raise Misfit(f"is f32, which {value!r} is beyond the range of") from None
        if isinstance(value, int):
            _require_exact(value, exact, struct.unpack("<f", raw)[0], dtype)
        return int.from_bytes(raw, "little")
    return _narrow_bits(value, exact, dtype)


def _to_float(value, dtype) -> float:
    try:
        return float(value)
    except OverflowError:
        raise Misfit(f"is {dtype}, which {value} is beyond the range of") from None


def _require_exact(value, exact, rounded, dtype):
    if Fraction(rounded) != exact:
        raise Misfit(f"is {dtype}, which cannot hold the integer {value} exactly")


def _narrow_bits(value, exact, dtype: str) -> int:
    bits, fraction, least, largest, infinite = _FLOATS[dtype]
    sign = (1 << (bits - 1)) if math.copysign(1.0, value) < 0 else 0
    top = (1 << (bits - 1)) - 1
    if exact is None:
        if math.isnan(value) or not infinite:
            if not math.isnan(value):
                raise Misfit(f"is {dtype}, which has no infinity")
            return top
        return sign | (top >> fraction << fraction)
    magnitude = abs(exact)
    exponent = least
    if magnitude:
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        exponent = max(exponent - (magnitude < Fraction(2) ** exponent), least)
    units = round(magnitude / Fraction(2) ** (exponent - fraction))  # ties to even
    rounded = units * Fraction(2) ** (exponent - fraction)
    if rounded > Fraction(largest):
        raise Misfit(f"is {dtype}, which {value!r} is beyond the range of")
    if isinstance(value, int):
        _require_exact(abs(value), magnitude, rounded, dtype)
    return sign | (((exponent - least) << fraction) + units)
