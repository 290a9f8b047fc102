"""What to write instead of names that authors bring from NumPy, PyTorch, Triton and CUDA."""

from __future__ import annotations

import difflib

from .. import intrinsics

# Intrinsics that do not exist.
_INTRINSICS = {
    "arange": "I.indices(I.domain(begin, end))",
    "arange_like": "I.indices",
    "argmax": "I.arg_reduce.max",
    "argmin": "I.arg_reduce.max of the negated value",
    "argsort": "a sort of your own, with a buffer and loops",
    "associative_scan": "I.scan",
    "astype": "I.cast",
    "atomic_add": "I.atomic.add",
    "bincount": "I.histogram",
    "broadcast_to": "I.broadcast",
    "cat": "a buffer or view, written part by part",
    "cdiv": "(a + b - 1) // b",
    "ceil": "-I.floor(-x)",
    "clamp": "I.minimum(I.maximum(x, low), high)",
    "clip": "I.minimum(I.maximum(x, low), high)",
    "concat": "a buffer or view, written part by part",
    "concatenate": "a buffer or view, written part by part",
    "cumprod": "I.scan with a combine of your own",
    "einsum": "I.contract",
    "expand_dims": "a new axis, x[:, None]",
    "eye": "a comparison of two index tensors",
    "full_like": "I.full(x.shape, value, dtype)",
    "iota": "I.indices(I.domain(begin, end))",
    "load": "a subscript, x[i], or I.gather",
    "log2": "I.log(x) * I.LOG2E",
    "logical_and": "the operator &",
    "logical_not": "the operator ~",
    "logical_or": "the operator |",
    "logical_xor": "the operator ^",
    "max": "I.maximum of two values, or I.reduce.max along an axis",
    "mean": "I.reduce.sum divided by the extent",
    "min": "I.minimum of two values, or I.reduce with combine=I.minimum along an axis",
    "mod": "the operator %",
    "num_programs": "a domain's extent",
    "ones": "I.full(shape, 1, dtype)",
    "ones_like": "I.full(x.shape, 1, dtype)",
    "pad": "I.gather with valid and fill",
    "pow": "the operator **",
    "power": "the operator **",
    "prod": "I.reduce with a combine of your own",
    "program_id": "a loop over I.parallel(I.domain(begin, end))",
    "rand": "I.random.uniform",
    "randn": "I.random.uniform, and arithmetic on it",
    "relu": "I.maximum(x, 0.0)",
    "round": "I.floor(x + 0.5)",
    "rint": "I.floor(x + 0.5)",
    "scatter": "I.scatter_unique or I.scatter_reduce",
    "scatter_add": "I.scatter_reduce with combine=I.add",
    "sign": "I.select(x > 0, 1, I.select(x < 0, -1, 0)), cast to x's dtype",
    "softmax": "I.exp(x - peak), where peak is I.reduce.max, divided by its I.reduce.sum",
    "sort": "a sort of your own, with a buffer and loops",
    "square": "x * x",
    "squeeze": "I.reshape, or the subscript 0",
    "stack": "I.join, or a buffer written part by part",
    "static_range": "range",
    "store": "an assignment to a subscript, out[i] = value",
    "sum": "I.reduce.sum",
    "syncthreads": "nothing: every effect is visible to the statements behind it",
    "take": "a subscript by an index tensor, or I.gather",
    "tan": "I.sin(x) / I.cos(x)",
    "topk": "rounds of I.arg_reduce.max, or a sort of your own",
    "where": "I.select",
    "zeros_like": "I.zeros(x.shape, dtype)",
}

_MEMBERS = {
    "reduce.min": "I.reduce(value, axis, identity, combine=I.minimum)",
    "reduce.mean": "I.reduce.sum divided by the extent",
    "reduce.prod": "I.reduce with a combine of your own",
    "arg_reduce.min": "I.arg_reduce.max of the negated value",
    "random.rand": "I.random.uniform",
    "random.normal": "I.random.uniform, and arithmetic on it",
    "random.randn": "I.random.uniform, and arithmetic on it",
    "random.randint": "I.random.bits, and arithmetic on them",
    "atomic.sub": "I.atomic.add of the negated value",
    "atomic.cas": "I.atomic.compare_exchange",
    "atomic.xchg": "I.atomic.exchange",
    "atomic.and": "I.atomic.and_",
    "atomic.or": "I.atomic.or_",
}

# Attributes and methods that tensors and views do not have.
_ATTRIBUTES = {
    "T": "I.transpose(x)",
    "all": "I.reduce.all",
    "any": "I.reduce.any",
    "append": "I.buffer, which holds what changes",
    "argmax": "I.arg_reduce.max",
    "astype": "I.cast",
    "clip": "I.minimum and I.maximum",
    "copy": "a read: values never change",
    "cumsum": "I.cumsum",
    "dot": "I.dot",
    "dtype": "the dtype of the annotation",
    "exp": "I.exp",
    "fill": "an assignment, x[:] = value",
    "flatten": "I.reshape(x, (-1,))",
    "item": "a subscript",
    "max": "I.reduce.max",
    "mean": "I.reduce.sum divided by the extent",
    "min": "I.reduce with combine=I.minimum",
    "ndim": "len(x.shape)",
    "permute": "I.permute",
    "prod": "I.reduce with a combine of your own",
    "ravel": "I.reshape(x, (-1,))",
    "reshape": "I.reshape",
    "size": "the product of x.shape",
    "sqrt": "I.sqrt",
    "sum": "I.reduce.sum",
    "to": "I.cast",
    "transpose": "I.transpose",
    "view": "I.reshape, or I.bitcast",
}


def intrinsic(name: str) -> str | None:
    """What stands for `I.name`, which does not exist."""
    return _MEMBERS.get(name) or _INTRINSICS.get(name)


def function(value) -> str | None:
    """The intrinsic that does what a function of another library does, by its name."""
    name = getattr(value, "__name__", "")
    if isinstance(getattr(intrinsics, name, None), intrinsics.Intrinsic):
        return f"I.{name}"
    return _INTRINSICS.get(name)


def attribute(name: str) -> str | None:
    """What stands for `x.name` of a tensor or view."""
    return _ATTRIBUTES.get(name)


def nearest(name: str, known, prefix: str = "") -> str:
    """Which known name is most like one that is not, as the end of a sentence; empty if none is."""
    near = difflib.get_close_matches(name, known, 1)
    return f"; the nearest is {prefix}{near[0]}" if near else ""


def bare(first: str, second: str) -> str:
    """Where two dtypes that disagree may come from, as the end of a sentence: from a literal that got a name."""
    for one, other in ((first, second), (second, first)):
        if one in ("i64", "f64") and other in _OWN.split() and one != other:
            zero = "0" if one == "i64" else "0.0"
            return f"; a name bound to a bare {zero} is {one}, one bound to I.cast({zero}, I.{other}) is not"
    return ""


def dtype(value) -> str | None:
    """The language's name of a dtype that is given as a string or as another library's."""
    if isinstance(value, type) and value in _PYTHON_TYPES:
        return _PYTHON_TYPES[value]
    text = value if isinstance(value, str) else getattr(value, "__name__", str(value))
    return _DTYPES.get(text.rpartition(".")[2])


_PYTHON_TYPES = {int: "I.i64", float: "I.f64", bool: "I.bool"}

_OWN = "bool index i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 f8e4m3fn f8e5m2"

_DTYPES = {
    **{name: f"I.{name}" for name in _OWN.split()},
    **{f"{word}{bits}": f"I.{word[0]}{bits}" for word in ("int", "uint") for bits in (8, 16, 32, 64)},
    "bool_": "I.bool",
    "float16": "I.f16",
    "half": "I.f16",
    "bfloat16": "I.bf16",
    "float32": "I.f32",
    "float64": "I.f64",
    "float8_e4m3fn": "I.f8e4m3fn",
    "float8_e5m2": "I.f8e5m2",
}
