"""The names of the language: `import intent.language as I`.

Annotations of parameters
    In, Out, InOut, constraints; a dtype (a runtime scalar); Constexpr, Enum
Dtypes
    bool index i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 f8e4m3fn f8e5m2; dtype
Functions of elements, beside the operators + - * / // % ** & | ^ ~ << >> and == != < <= > >=
    abs add asin bitcast cast cos erf erfc exp exp2 fdiv floor i0 lgamma log log1p mask maximum
    maximum_num minimum minimum_num negate rsqrt saturating_cast select sigmoid sin sqrt tanh
Tensors and products
    broadcast full join permute record reshape transpose zeros; x.shape, x[...], tuples
Domains and loops
    domain indices end parallel; range and enumerate
Along axes
    reduce reduce.sum reduce.max reduce.any reduce.all arg_reduce.max scan cumsum cummax
    region_fold region_scan histogram
Products of tensors
    dot matvec vecmat matmul outer contract; scaled_contract scaled_matmul e2m1 e4m3;
    sparse sparse_contract sparse_matmul; quant quantize quantized_dot
Storage and effects
    x[...] = value; gather scatter_unique scatter_reduce buffer assume_in_bounds; atomic
Random numbers
    random.bits random.uniform
Constants
    inf LOG2E

`help(I.exp)` shows what each takes and gives, its errors (explained by `python -m intent explain`)
and an example; a first line "Example, with x: In f32 (N,)" gives the parameters of the kernel around.

Example, with x: In f32 (M, N), out: Out f32 (M, N):

    rows = x[:, :]
    peak = I.maximum(I.reduce.max(rows, axis=1), -I.inf)
    powers = I.exp2((rows - peak[:, None]) * I.LOG2E)
    out[:, :] = powers / I.reduce.sum(powers, axis=1)[:, None]
"""

from . import dtypes as _dtypes
from .annotations import Constexpr, Enum, In, InOut, Out, constraints
from .dtypes import dtype
from .intrinsics import (
    abs,
    add,
    arg_reduce,
    asin,
    assume_in_bounds,
    atomic,
    bitcast,
    broadcast,
    buffer,
    cast,
    contract,
    cos,
    cummax,
    cumsum,
    domain,
    dot,
    e2m1,
    e4m3,
    end,
    erf,
    erfc,
    exp,
    exp2,
    fdiv,
    floor,
    full,
    gather,
    histogram,
    i0,
    indices,
    join,
    lgamma,
    log,
    log1p,
    mask,
    matmul,
    matvec,
    maximum,
    maximum_num,
    minimum,
    minimum_num,
    negate,
    outer,
    parallel,
    permute,
    quant,
    quantize,
    quantized_dot,
    random,
    record,
    reduce,
    region_fold,
    region_scan,
    reshape,
    rsqrt,
    saturating_cast,
    scaled_contract,
    scaled_matmul,
    scan,
    scatter_reduce,
    scatter_unique,
    select,
    sigmoid,
    sin,
    sparse,
    sparse_contract,
    sparse_matmul,
    sqrt,
    tanh,
    transpose,
    vecmat,
    zeros,
)

bool = _dtypes.dtype("bool")
index = _dtypes.dtype("index")
i8 = _dtypes.dtype("i8")
i16 = _dtypes.dtype("i16")
i32 = _dtypes.dtype("i32")
i64 = _dtypes.dtype("i64")
u8 = _dtypes.dtype("u8")
u16 = _dtypes.dtype("u16")
u32 = _dtypes.dtype("u32")
u64 = _dtypes.dtype("u64")
f16 = _dtypes.dtype("f16")
bf16 = _dtypes.dtype("bf16")
f32 = _dtypes.dtype("f32")
f64 = _dtypes.dtype("f64")
f8e4m3fn = _dtypes.dtype("f8e4m3fn")
f8e5m2 = _dtypes.dtype("f8e5m2")

inf = float("inf")
"""Infinity, a literal."""

LOG2E = 1.4426950408889634
"""log2(e), a literal."""

__all__ = [name for name in dir() if not name.startswith("_")]
