"""The operations of the language as Python names.

An intrinsic has a signature and a documentation string; it is given its meaning where the body of
a kernel or helper is traced (`intent.frontend.intrinsics`), and calling one from ordinary Python is
an error. `intent.language` re-exports all of them.
"""

from __future__ import annotations

import inspect

from . import dtypes as _dtypes

_F32 = _dtypes.dtype("f32")


class _Members:
    """Attributes that are part of the language: `I.reduce.sum`, `I.atomic.add`."""

    name: str
    _members: dict

    def member(self, name: str):
        """Decorate a function whose signature and documentation `name` shall have."""

        def put(function):
            self._members[name] = Intrinsic(function, f"{self.name}.{name}")
            return self._members[name]

        return put

    def __getattr__(self, name):
        try:
            return self.__dict__["_members"][name]
        except KeyError:
            raise AttributeError(f"I.{self.name} has no member {name!r}") from None

    def __dir__(self):
        return [*super().__dir__(), *self._members]

    def __repr__(self) -> str:
        return f"I.{self.name}"


class Intrinsic(_Members):
    """A named operation of the language."""

    def __init__(self, function, name: str = ""):
        self.name = name or function.__name__
        self.__name__ = self.name.rpartition(".")[2]
        self.__doc__ = function.__doc__
        self.__signature__ = inspect.signature(function)
        self._members: dict[str, Intrinsic] = {}

    def __call__(self, *args, **kwargs):
        raise TypeError(f"I.{self.name} can only be used in the body of an @intent.kernel or @intent.fn")


class Namespace(_Members):
    """A group of intrinsics: `I.atomic`, `I.random`."""

    def __init__(self, name: str, doc: str, **members):
        self.name = name
        self.__doc__ = doc
        self._members: dict[str, object] = members


class Format:
    """A closed data format: of scaled elements (`I.e2m1`) or of quantised records (`I.quant.q8_k`)."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"I.{self.name}"


# Pointwise functions of one value; dtype and shape are kept.


@Intrinsic
def negate(x):
    """-x. Integers wrap."""


@Intrinsic
def abs(x):
    """|x|. Integers wrap at the minimum."""


@Intrinsic
def exp(x):
    """e to the power x."""


@Intrinsic
def exp2(x, approximate=False, flush_to_zero=False):
    """2 to the power x. `approximate` (f32 only): at most 2 ULP; it alone allows `flush_to_zero`."""


@Intrinsic
def log(x):
    """Natural logarithm."""


@Intrinsic
def log1p(x):
    """log(1 + x) without rounding 1 + x first."""


@Intrinsic
def lgamma(x):
    """log |Gamma(x)|."""


@Intrinsic
def sin(x):
    """Sine of radians."""


@Intrinsic
def asin(x):
    """Arc sine in [-pi/2, pi/2]; NaN where |x| > 1."""


@Intrinsic
def cos(x):
    """Cosine of radians."""


@Intrinsic
def floor(x):
    """The largest whole number that is not greater than x, in x's own dtype."""


@Intrinsic
def erf(x):
    """The error function."""


@Intrinsic
def erfc(x):
    """1 - erf(x), accurate where that is small."""


@Intrinsic
def i0(x):
    """The modified Bessel function of the first kind of order 0."""


@Intrinsic
def rsqrt(x):
    """1 / sqrt(x)."""


@Intrinsic
def sqrt(x):
    """Square root, correctly rounded."""


@Intrinsic
def sigmoid(x):
    """1 / (1 + exp(-x))."""


@Intrinsic
def tanh(x, approximate=False):
    """Hyperbolic tangent. `approximate` (f32 only): relative error at most 2**-11."""


# Pointwise functions of two values of one dtype, broadcast from the right.


@Intrinsic
def add(a, b):
    """a + b; also a builtin combine."""


@Intrinsic
def maximum(a, b):
    """The greater of two; NaN propagates and +0 is greater than -0. Also a builtin combine."""


@Intrinsic
def minimum(a, b):
    """The lesser of two; NaN propagates and -0 is less than +0. Also a builtin combine."""


@Intrinsic
def maximum_num(a, b):
    """The greater of two, where a single NaN is ignored."""


@Intrinsic
def minimum_num(a, b):
    """The lesser of two, where a single NaN is ignored."""


@Intrinsic
def fdiv(lhs, rhs, approximate=False, flush_to_zero=False):
    """lhs / rhs of floats. `approximate` (f32 only): at most 2 ULP for ordinary divisors."""


@Intrinsic
def select(condition, a, b):
    """Each element from `a` where `condition` is true, else from `b`. All three broadcast."""


@Intrinsic
def mask(value, valid, fill):
    """Each element of `value` where `valid` is true, else `fill`. All three broadcast."""


@Intrinsic
def cast(x, dtype):
    """x converted to `dtype`: modulo its width between integers, one rounding to nearest even to
    floats, truncation from float to integer."""


@Intrinsic
def saturating_cast(x, dtype):
    """x converted to `dtype` and clamped to its finite range."""


@Intrinsic
def bitcast(x, dtype):
    """The bits of x read as `dtype`, of the same width."""


# Tensors and their shapes.


@Intrinsic
def full(shape, fill, dtype):
    """An immutable tensor of `shape` with every element `fill`."""


@Intrinsic
def zeros(shape, dtype):
    """An immutable tensor of zeros."""


@Intrinsic
def reshape(value, shape):
    """The elements in row-major order under another shape; one extent may be -1."""


@Intrinsic
def transpose(value, permutation=None):
    """Axis i of the result is axis permutation[i] of `value`; without one, all axes reversed."""


@Intrinsic
def permute(value, permutation):
    """`transpose` with its permutation."""


@Intrinsic
def broadcast(value, shape):
    """`value` spread to `shape`, aligned from the right."""


@Intrinsic
def join(lhs, rhs):
    """Two equal-shaped tensors side by side on a new last axis of extent 2."""


@Intrinsic
def record(**fields):
    """A record of named, ordered fields, given by keyword."""


# Domains.


@Intrinsic
def domain(begin, end, step=1):
    """The coordinates begin, begin + step, ... below `end`. A slice of it is a subregion."""


@Intrinsic
def indices(region):
    """The coordinates of a domain or subregion as a tensor of `I.index`."""


@Intrinsic
def end(region):
    """The exclusive end of a domain or subregion."""


@Intrinsic
def parallel(domain):
    """In `for i in I.parallel(domain)`: every point once, in no order, carrying nothing."""


@Intrinsic
def assume_in_bounds(index, resource, *, axis):
    """A promise that every active element of `index` lies within that axis of a view or buffer."""


# Indexed access beyond subscripts.


@Intrinsic
def gather(source, index, valid=None, fill=None):
    """source[index] where `valid` is true, else `fill` (zero without one); nothing is read there."""


@Intrinsic
def scatter_unique(destination, index, value):
    """destination[index] = value, where no two active elements may meet."""


@Intrinsic
def scatter_reduce(destination, index, value, combine):
    """Combine every element of `value` into destination[index]; updates that meet are not lost."""


# Reductions and scans.


@Intrinsic
def reduce(value, axis, identity, combine, combine_operands=()):
    """Aggregate along `axis` (an integer or a tuple) in any order and grouping.

    `combine` is a helper of two states, or I.add, I.maximum or I.minimum; `identity` is neutral.
    """


@reduce.member("sum")
def _(value, *, axis, acc_dtype=None):
    """Sum along `axis`; short integers and floats accumulate in 32 bits."""


@reduce.member("max")
def _(value, *, axis, acc_dtype=None):
    """Maximum along `axis`; NaN propagates."""


@reduce.member("any")
def _(value, *, axis):
    """Whether any element of a bool tensor is true along `axis`."""


@reduce.member("all")
def _(value, *, axis):
    """Whether all elements of a bool tensor are true along `axis`."""


arg_reduce = Namespace("arg_reduce", "Reductions that also tell where.")


@arg_reduce.member("max")
def _(value, axis, acc_dtype=None):
    """(values, indices) of the maxima along one axis; ties go to the lowest position."""


@Intrinsic
def scan(value, axis, identity, combine, inclusive, reverse=False, combine_operands=()):
    """Every prefix aggregate along one axis, in order."""


@Intrinsic
def cumsum(value, *, axis, inclusive=True, reverse=False, acc_dtype=None):
    """Prefix sums along one axis."""


@Intrinsic
def cummax(value, *, axis, inclusive=True, reverse=False, acc_dtype=None):
    """Prefix maxima along one axis."""


@Intrinsic
def region_fold(source, axis, summarize, combine, identity, operands=()):
    """Summarise contiguous slices of `source` and combine the summaries in order."""


@Intrinsic
def region_scan(source, axis, summarize, combine, identity, initial_state, apply, emit, operands=()):
    """(outputs, final state) of slices that each see the state left by those before them."""


# Contractions.


@Intrinsic
def dot(l, r, *, acc_dtype):
    """The inner product of two vectors, as a tensor of rank 0."""


@Intrinsic
def matvec(m, v, *, acc_dtype, transpose=False):
    """[..., M, K] with [..., K] gives [..., M]."""


@Intrinsic
def vecmat(v, m, *, acc_dtype, transpose=False):
    """[..., K] with [..., K, N] gives [..., N]."""


@Intrinsic
def matmul(l, r, *, acc_dtype, transpose_lhs=False, transpose_rhs=False):
    """Matrix products over leading axes that broadcast; the flags swap the last two axes."""


@Intrinsic
def outer(l, r):
    """All products of the elements of two vectors, in their own dtype."""


@Intrinsic
def contract(l, r, reduce, batch=(), *, acc_dtype):
    """Sum products over the paired axes of `reduce`; pairs of `batch` stay, in the left's place."""


@Intrinsic
def scaled_contract(
    lhs,
    lhs_scale,
    rhs,
    rhs_scale,
    *,
    lhs_format,
    rhs_format,
    lhs_group_size,
    rhs_group_size,
    reduce=((1, 0), (2, 1)),
    batch=(),
    acc_dtype,
):
    """[M, G, C] with scales [M, G] and [G, C, N] with scales [N, G] give [M, N]."""


@Intrinsic
def scaled_matmul(lhs, lhs_scale, rhs, rhs_scale, *, lhs_format, rhs_format, group_size, acc_dtype):
    """`scaled_contract` with one group size."""


@Intrinsic
def sparse_contract(compressed, metadata, dense_rhs, format, reduce, batch=(), *, acc_dtype):
    """`contract` whose left side is stored compressed along one axis."""


@Intrinsic
def sparse_matmul(compressed, metadata, rhs, *, format, acc_dtype):
    """[M, C] compressed along its second axis with [K, N] gives [M, N]."""


sparse = Namespace("sparse", "Formats of compressed operands.")


@sparse.member("one_of_two")
def _(*, compression_axis, logical_extent):
    """One value of each two is stored; metadata holds its place, 0 or 1."""


@sparse.member("two_of_four")
def _(*, compression_axis, logical_extent):
    """Two values of each four are stored; metadata is a record {first, second} of places."""


e2m1 = Format("e2m1")
e4m3 = Format("e4m3")

# Histograms and quantised records.


@Intrinsic
def histogram(values, bins, valid, count_dtype):
    """How often each number of [0, bins) occurs among the active values."""


@Intrinsic
def quantize(values, format):
    """f32 [G, 256] as records u8 [G, 292] of `I.quant.q8_k`."""


@Intrinsic
def quantized_dot(lhs, rhs, lhs_format, rhs_format, acc_dtype):
    """The product of q4_k records [G, 144] with q8_k records [G, 292], as a rank-0 f32 tensor."""


quant = Namespace(
    "quant", "Formats of quantised records.", q4_k=Format("quant.q4_k"), q8_k=Format("quant.q8_k")
)

# Storage, atomics, random numbers.


@Intrinsic
def buffer(shape, dtype, init=None):
    """Mutable storage of this kernel; read and written by subscripts, undefined until written."""


atomic = Namespace("atomic", "Indivisible accesses to one element: `I.atomic.add(view, index, value)`.")


@atomic.member("load")
def _(resource, index, *, order="relaxed"):
    """The element, read atomically; order relaxed or acquire."""


@atomic.member("store")
def _(resource, index, value, *, order="relaxed"):
    """Write the element atomically; order relaxed or release."""


@atomic.member("exchange")
def _(resource, index, value, *, order="relaxed"):
    """Replace the element and return the old value."""


@atomic.member("add")
def _(resource, index, value, *, order="relaxed"):
    """Add to the element and return the old value."""


@atomic.member("max")
def _(resource, index, value, *, order="relaxed"):
    """Keep the greater and return the old value."""


@atomic.member("min")
def _(resource, index, value, *, order="relaxed"):
    """Keep the lesser and return the old value."""


@atomic.member("and_")
def _(resource, index, value, *, order="relaxed"):
    """Bitwise and with the element; returns the old value."""


@atomic.member("or_")
def _(resource, index, value, *, order="relaxed"):
    """Bitwise or with the element; returns the old value."""


@atomic.member("xor")
def _(resource, index, value, *, order="relaxed"):
    """Bitwise exclusive or with the element; returns the old value."""


@atomic.member("compare_exchange")
def _(resource, index, expected, desired, *, order="relaxed"):
    """Replace the element if it is `expected`; gives a record {old_value, success}."""


random = Namespace("random", "Counter-based random numbers (Philox4x32-10): no hidden state.")


@random.member("bits")
def _(seed, counter):
    """32 random bits for a u64 seed and a counter (u64 or index, scalar or tensor)."""


@random.member("uniform")
def _(seed, counter, dtype=_F32):
    """A number in [0, 1) from the top 24 bits of `bits`."""
