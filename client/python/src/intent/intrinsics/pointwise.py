"""Functions of elements: dtypes and shapes are kept, or broadcast."""

from __future__ import annotations

from .kinds import Intrinsic, sharing

_float = sharing(
    "x is a scalar or tensor of a float dtype, and the result has its dtype and shape; f16, bf16 and the f8 are computed "
    "in f32 and rounded once. Other dtypes are E0202: cast first."
)

_two = sharing(
    "Both are scalars or tensors of one numeric dtype (E0201 otherwise), whose shapes broadcast from the right (E0301); a "
    "literal takes the dtype of the other. The result has that dtype and the common shape."
)


@Intrinsic
def negate(x):
    """-x, what the operator writes too.

    x is a scalar or tensor of any numeric dtype, whose dtype and shape the result has. Integers wrap; bool is E0202.

    Example, with x: In f32 (N,), out: Out f32 (N,):

        out[:] = I.negate(x[:])
    """


@Intrinsic
def abs(x):
    """|x|.

    x is a scalar or tensor of any numeric dtype, whose dtype and shape the result has. A signed integer wraps at its
    minimum; bool is E0202.

    Example, with x: In i32 (N,), out: Out i32 (N,):

        out[:] = I.abs(x[:])
    """


@_float
def exp(x):
    """e to the power x.

    Example, with x: In f32 (N,), out: Out f32 (N,):

        out[:] = I.exp(x[:])
    """


@_float
def exp2(x, approximate=False, flush_to_zero=False):
    """2 to the power x.

    `approximate=True` (f32 only, E0605) allows an error of 2 ULP; it alone allows `flush_to_zero=True`, which may take
    subnormal numbers for zero. Both are known when the kernel is compiled (E0701).

    Example, with x: In f32 (N,), out: Out f32 (N,):

        out[:] = I.exp2(x[:] * I.LOG2E, approximate=True)
    """


@_float
def log(x):
    """The natural logarithm: -inf at 0, NaN below.

    Example, with x: In f32 (N,), out: Out f32 (N,):

        out[:] = I.log(x[:])
    """


@_float
def log1p(x):
    """log(1 + x) without rounding 1 + x first: -inf at -1, NaN below.

    Example, with x: In f32 (N,), out: Out f32 (N,):

        out[:] = I.log1p(x[:])
    """


@_float
def lgamma(x):
    """log |Gamma(x)|: +0 at 1 and 2, +inf at the poles and at both infinities.

    Example, with x: In f32 (N,), out: Out f32 (N,):

        out[:] = I.lgamma(x[:])
    """


@_float
def sin(x):
    """The sine of radians.

    Example, with x: In f32 (N,), out: Out f32 (N,):

        out[:] = I.sin(x[:])
    """


@_float
def asin(x):
    """The arc sine, in [-pi/2, pi/2]; NaN where |x| > 1.

    Example, with x: In f32 (N,), out: Out f32 (N,):

        out[:] = I.asin(x[:])
    """


@_float
def cos(x):
    """The cosine of radians.

    Example, with x: In f32 (N,), out: Out f32 (N,):

        out[:] = I.cos(x[:])
    """


@_float
def floor(x):
    """The largest whole number that is not greater than x, as a float. The ceiling is -I.floor(-x).

    Example, with x: In f32 (N,), out: Out i32 (N,):

        out[:] = I.cast(I.floor(x[:]), I.i32)
    """


@_float
def erf(x):
    """The error function.

    Example, with x: In f32 (N,), out: Out f32 (N,):

        value = x[:]
        out[:] = 0.5 * value * (1.0 + I.erf(value * 0.7071067811865476))
    """


@_float
def erfc(x):
    """1 - erf(x), accurate where that is small.

    Example, with x: In f32 (N,), out: Out f32 (N,):

        out[:] = I.erfc(x[:])
    """


@_float
def i0(x):
    """The modified Bessel function of the first kind of order 0.

    Example, with x: In f32 (N,), out: Out f32 (N,):

        out[:] = I.i0(x[:])
    """


@_float
def rsqrt(x):
    """1 / sqrt(x).

    Example, with x: In f32 (N,), out: Out f32 (N,):

        value = x[:]
        out[:] = value * I.rsqrt(I.reduce.sum(value * value, axis=0) + 1e-6)
    """


@_float
def sqrt(x):
    """The square root, correctly rounded; NaN below zero.

    Example, with x: In f32 (N,), out: Out f32 (N,):

        out[:] = I.sqrt(x[:])
    """


@_float
def sigmoid(x):
    """1 / (1 + exp(-x)).

    Example, with x: In f32 (N,), out: Out f32 (N,):

        value = x[:]
        out[:] = value * I.sigmoid(value)
    """


@_float
def tanh(x, approximate=False):
    """The hyperbolic tangent.

    `approximate=True` (f32 only, E0605) allows a relative error of 2**-11. It is known when the kernel is compiled.

    Example, with x: In f32 (N,), out: Out f32 (N,):

        out[:] = I.tanh(x[:], approximate=True)
    """


@_two
def add(a, b):
    """a + b, what the operator writes too; as a name it is a combine of reductions, scans and scatters.

    Example, with x: In f32 (N,), out: Out f32 ():

        out[()] = I.reduce(x[:], axis=0, identity=0.0, combine=I.add)
    """


@_two
def maximum(a, b):
    """The greater of two. NaN propagates, and +0 is greater than -0. Also a combine.

    Example, with x: In f32 (N,), out: Out f32 (N,):

        out[:] = I.maximum(x[:], 0.0)
    """


@_two
def minimum(a, b):
    """The lesser of two. NaN propagates, and -0 is less than +0. Also a combine.

    Example, with x: In f32 (N,), low: f32, high: f32, out: Out f32 (N,):

        out[:] = I.minimum(I.maximum(x[:], low), high)
    """


@_two
def maximum_num(a, b):
    """The greater of two, where a single NaN is ignored.

    Example, with a: In f32 (N,), b: In f32 (N,), out: Out f32 (N,):

        out[:] = I.maximum_num(a[:], b[:])
    """


@_two
def minimum_num(a, b):
    """The lesser of two, where a single NaN is ignored.

    Example, with a: In f32 (N,), b: In f32 (N,), out: Out f32 (N,):

        out[:] = I.minimum_num(a[:], b[:])
    """


@_two
def fdiv(lhs, rhs, approximate=False, flush_to_zero=False):
    """lhs / rhs of floats, what the operator writes too, with two flags.

    `approximate=True` (f32 only, E0605) allows an error of 2 ULP where |rhs| lies in [2**-126, 2**126]; beyond, a finite
    number over a huge one may become a signed zero. It alone allows `flush_to_zero=True`. Integers are E0202: use `//`.

    Example, with x: In f32 (N,), y: In f32 (N,), out: Out f32 (N,):

        out[:] = I.fdiv(x[:], y[:], approximate=True)
    """


@Intrinsic
def select(condition, a, b):
    """Each element from `a` where `condition` is true, else from `b`.

    `condition` is bool, `a` and `b` have one dtype (E0201), and all three broadcast (E0301). Both sides are computed, and
    nothing is skipped: a store that shall not happen stands under an `if`. The condition lends no dtype: two literals are
    f64 or i64 unless a cast stands around.

    Example, with x: In f32 (N,), out: Out f32 (N,):

        out[:] = I.cast(I.select(x[:] < 0.0, -1.0, 1.0), I.f32)
    """


@Intrinsic
def mask(value, valid, fill):
    """Each element of `value` where `valid` is true, else `fill`.

    `valid` is bool, `fill` has value's dtype, and all three broadcast. It changes values, not which of them are stored.

    Example, with x: In f32 (N,), keep: In bool (N,), out: Out f32 (N,):

        out[:] = I.mask(x[:], keep[:], 0.0)
    """


@Intrinsic
def cast(x, dtype):
    """x converted to `dtype`; the shape is kept.

    Between integers modulo the width; to a float one rounding to nearest even, to infinity beyond its range; from float
    to integer truncated toward zero, where NaN, infinities and numbers out of range are invalid input; to bool `x != 0`.
    `I.index` and `I.i64` are distinct: cast between them. `dtype` is a token such as `I.f32` (E0803 for a string).

    Example, with x: In f16 (N,), out: Out f32 (N,):

        out[:] = I.cast(x[:], I.f32)
    """


@Intrinsic
def saturating_cast(x, dtype):
    """x converted to `dtype` and clamped to its finite range; the shape is kept.

    Float to integer clamps, then truncates, and NaN gives 0; integers clamp; to f8e4m3fn, f8e5m2, f16 and bf16 it rounds,
    then clamps infinities too, and NaN stays NaN. Other pairs of dtypes are E0202.

    Example, with x: In f32 (N,), out: Out i8 (N,):

        out[:] = I.saturating_cast(x[:] * 127.0, I.i8)
    """


@Intrinsic
def bitcast(x, dtype):
    """The bits of x read as `dtype`, which has the same width (E0202 otherwise); the shape is kept.

    Example, with x: In f32 (N,), out: Out u32 (N,):

        out[:] = I.bitcast(x[:], I.u32) & 0x7fffffff
    """
