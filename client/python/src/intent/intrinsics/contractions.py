"""Products of tensors, dense and in packed formats; histograms and quantised records."""

from __future__ import annotations

from .kinds import Format, Intrinsic, Namespace, sharing

_dense = sharing(
    "Both sides have one numeric dtype (E0201; bool is E0202), and the extents that are summed over are provably equal "
    "(E0301). acc_dtype is required: the dtype of sums and of the result, such as I.i32 for products of I.i8. The order of "
    "sums is not specified; an empty sum is zero."
)


@_dense
def dot(l, r, *, acc_dtype):
    """The inner product of two vectors, [K] and [K], as a tensor of rank 0.

    Example, with x: In f32 (K,), y: In f32 (K,), out: Out f32 ():

        out[()] = I.dot(x[:], y[:], acc_dtype=I.f32)
    """


@_dense
def matvec(m, v, *, acc_dtype, transpose=False):
    """[..., M, K] with [..., K] gives [..., M]; `transpose` swaps the last two axes of the matrix first.

    Example, with m: In f32 (M, K), v: In f32 (K,), out: Out f32 (M,):

        out[:] = I.matvec(m[:, :], v[:], acc_dtype=I.f32)
    """


@_dense
def vecmat(v, m, *, acc_dtype, transpose=False):
    """[..., K] with [..., K, N] gives [..., N]; `transpose` swaps the last two axes of the matrix first.

    Example, with v: In f32 (K,), m: In f32 (K, N), out: Out f32 (N,):

        out[:] = I.vecmat(v[:], m[:, :], acc_dtype=I.f32)
    """


@_dense
def matmul(l, r, *, acc_dtype, transpose_lhs=False, transpose_rhs=False):
    """[..., M, K] with [..., K, N] gives [..., M, N]; leading axes broadcast, and the flags swap the last two axes.

    Vectors are not promoted: I.matvec and I.vecmat take them.

    Example, with a: In f16 (M, K), b: In f16 (N, K), bias: In f32 (N,), out: Out f32 (M, N):

        product = I.matmul(a[:, :], b[:, :], acc_dtype=I.f32, transpose_rhs=True)
        out[:, :] = I.maximum(product + bias[:], 0.0)
    """


@Intrinsic
def outer(l, r):
    """[M] and [N] give all products [M, N], in their own dtype; nothing is summed.

    Example, with x: In f32 (M,), y: In f32 (N,), out: Out f32 (M, N):

        out[:, :] = I.outer(x[:], y[:])
    """


@_dense
def contract(l, r, reduce, batch=(), *, acc_dtype):
    """Sum products over the pairs of axes `reduce`; pairs of `batch` go along without being summed.

    Both are tuples of (left axis, right axis); `reduce` has at least one, and no axis is in two (E0602). The result has
    the left's axes that are not reduced, in order, then the right's that are in no pair.

    Example, with a: In f32 (B, M, K), b: In f32 (B, K, N), out: Out f32 (B, M, N):

        out[:, :, :] = I.contract(a[:, :, :], b[:, :, :], reduce=((2, 1),), batch=((0, 0),), acc_dtype=I.f32)
    """


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
    """[M, G, C] with scales [M, G] and [G, C, N] with scales [N, G] give [M, N].

    Elements are decoded, scaled and multiplied. Formats are I.e4m3 (f8e4m3fn elements, C is the group size) and I.e2m1 (u8
    carriers of two, C is half of it); scales are u8 (E8M0, a power of two) or f8e4m3fn. Group sizes are equal, positive
    and known at compile time; another reduce than the default, or a batch, is E0603.

    Example, with a: In f8e4m3fn (M, G, 32), s: In u8 (M, G), b: In f8e4m3fn (G, 32, N), t: In u8 (N, G), out: Out f32 (M, N):

        out[:, :] = I.scaled_contract(
            a[:, :, :], s[:, :], b[:, :, :], t[:, :],
            lhs_format=I.e4m3, rhs_format=I.e4m3, lhs_group_size=32, rhs_group_size=32, acc_dtype=I.f32,
        )
    """


@Intrinsic
def scaled_matmul(lhs, lhs_scale, rhs, rhs_scale, *, lhs_format, rhs_format, group_size, acc_dtype):
    """`I.scaled_contract` with one group size.

    Example, with a: In u8 (M, G, 16), s: In u8 (M, G), b: In u8 (G, 16, N), t: In u8 (N, G), out: Out f32 (M, N):

        out[:, :] = I.scaled_matmul(
            a[:, :, :], s[:, :], b[:, :, :], t[:, :],
            lhs_format=I.e2m1, rhs_format=I.e2m1, group_size=32, acc_dtype=I.f32,
        )
    """


@Intrinsic
def sparse_contract(compressed, metadata, dense_rhs, format, reduce, batch=(), *, acc_dtype):
    """`I.contract` whose left side is stored compressed along one axis.

    `format` is made by I.sparse.one_of_two or I.sparse.two_of_four; `metadata` has the places of the stored values, in the
    shape of `compressed` or of its groups. Metadata out of range is the caller's error.

    Example, with a: In f32 (M, H), where: In index (M, H), b: In f32 (8, N), out: Out f32 (M, N):

        layout = I.sparse.one_of_two(compression_axis=1, logical_extent=8)
        out[:, :] = I.sparse_contract(a[:, :], where[:, :], b[:, :], layout, ((1, 0),), acc_dtype=I.f32)
    """


@Intrinsic
def sparse_matmul(compressed, metadata, rhs, *, format, acc_dtype):
    """[M, C] compressed along its second axis with [K, N] gives [M, N]: `I.sparse_contract` of matrices.

    Example, with a: In f32 (M, 4), first: In index (M, 2), second: In index (M, 2), b: In f32 (8, N), out: Out f32 (M, N):

        layout = I.sparse.two_of_four(compression_axis=1, logical_extent=8)
        places = I.record(first=first[:, :], second=second[:, :])
        out[:, :] = I.sparse_matmul(a[:, :], places, b[:, :], format=layout, acc_dtype=I.f32)
    """


sparse = Namespace(
    "sparse",
    """Formats of compressed operands: one_of_two and two_of_four.

    Example, with a: In f32 (M, 4), where: In index (M, 4), b: In f32 (8, N), out: Out f32 (M, N):

        layout = I.sparse.one_of_two(compression_axis=1, logical_extent=8)
        out[:, :] = I.sparse_matmul(a[:, :], where[:, :], b[:, :], format=layout, acc_dtype=I.f32)
    """,
)


@sparse.member("one_of_two")
def _(*, compression_axis, logical_extent):
    """One value of each two is stored; metadata, `I.index` in the shape of the compressed side, holds its place 0 or 1.

    `logical_extent` is the extent before compression, divisible by 2.

    Example, with a: In f32 (M, 4), where: In index (M, 4), b: In f32 (8, N), out: Out f32 (M, N):

        layout = I.sparse.one_of_two(compression_axis=1, logical_extent=8)
        out[:, :] = I.sparse_matmul(a[:, :], where[:, :], b[:, :], format=layout, acc_dtype=I.f32)
    """


@sparse.member("two_of_four")
def _(*, compression_axis, logical_extent):
    """Two values of each four are stored; metadata is a record {first, second} of places, first < second < 4.

    Each is an `I.index` tensor with one entry for each group of four. `logical_extent` is the extent before compression,
    divisible by 4.

    Example, with a: In f32 (M, 4), p: In index (M, 2), q: In index (M, 2), b: In f32 (8, N), out: Out f32 (M, N):

        layout = I.sparse.two_of_four(compression_axis=1, logical_extent=8)
        places = I.record(first=p[:, :], second=q[:, :])
        out[:, :] = I.sparse_matmul(a[:, :], places, b[:, :], format=layout, acc_dtype=I.f32)
    """


e2m1 = Format(
    "e2m1",
    """Scaled elements of 4 bits: magnitudes 0, 0.5, 1, 1.5, 2, 3, 4, 6 and a sign in bit 3.

    Two travel in a u8, the earlier in the low bits. See I.scaled_matmul.

    Example, with a: In u8 (M, G, 16), s: In u8 (M, G), b: In u8 (G, 16, N), t: In u8 (N, G), out: Out f32 (M, N):

        out[:, :] = I.scaled_matmul(
            a[:, :, :], s[:, :], b[:, :, :], t[:, :],
            lhs_format=I.e2m1, rhs_format=I.e2m1, group_size=32, acc_dtype=I.f32,
        )
    """,
)
e4m3 = Format(
    "e4m3",
    """Scaled elements of 8 bits, of dtype I.f8e4m3fn. See I.scaled_matmul.

    Example, with a: In f8e4m3fn (M, G, 32), s: In u8 (M, G), b: In f8e4m3fn (G, 32, N), t: In u8 (N, G), out: Out f32 (M, N):

        out[:, :] = I.scaled_matmul(
            a[:, :, :], s[:, :], b[:, :, :], t[:, :],
            lhs_format=I.e4m3, rhs_format=I.e4m3, group_size=32, acc_dtype=I.f32,
        )
    """,
)


@Intrinsic
def histogram(values, bins, valid, count_dtype):
    """How often each number of [0, bins) occurs among the active values, as a tensor [bins].

    `values` is a tensor of integers or index, of any rank; `bins` a positive scalar; `valid` a bool scalar or tensor that
    broadcasts to the values; `count_dtype` an integer dtype, in which counts wrap. An active value out of range is a
    RunError.

    Example, with x: In u8 (N,), out: Out i32 (256,):

        out[:] = I.histogram(x[:], 256, True, I.i32)
    """


@Intrinsic
def quantize(values, format):
    """f32 [G, 256] as records u8 [G, 292]; the format is I.quant.q8_k (E0603 for others).

    Example, with x: In f32 (G, 256), out: Out u8 (G, 292):

        out[:, :] = I.quantize(x[:, :], I.quant.q8_k)
    """


@Intrinsic
def quantized_dot(lhs, rhs, lhs_format, rhs_format, acc_dtype):
    """The product of records u8 [G, 144] of q4_k with records u8 [G, 292] of q8_k, as a rank-0 f32 tensor.

    The second extents are static, G may be dynamic; other formats and dtypes are E0603.

    Example, with w: In u8 (N, G, 144), x: In f32 (G, 256), out: Out f32 (N,):

        records = I.quantize(x[:, :], I.quant.q8_k)
        for n in I.parallel(I.domain(0, w.shape[0])):
            out[n] = I.quantized_dot(w[n, :, :], records, I.quant.q4_k, I.quant.q8_k, I.f32)
    """


quant = Namespace(
    "quant",
    """Formats of quantised records of 256 numbers, the bytes of ggml's blocks: q4_k and q8_k.

    Example, with x: In f32 (G, 256), out: Out u8 (G, 292):

        out[:, :] = I.quantize(x[:, :], I.quant.q8_k)
    """,
    q4_k=Format(
        "quant.q4_k",
        """256 weights of 4 bits with 6-bit scales and minima, in 144 bytes.

        Example, with w: In u8 (G, 144), x: In f32 (G, 256), out: Out f32 ():

            records = I.quantize(x[:, :], I.quant.q8_k)
            out[()] = I.quantized_dot(w[:, :], records, I.quant.q4_k, I.quant.q8_k, I.f32)
        """,
    ),
    q8_k=Format(
        "quant.q8_k",
        """256 numbers of 8 bits with one f32 scale and sums of sixteen, in 292 bytes.

        Example, with x: In f32 (G, 256), out: Out u8 (G, 292):

            out[:, :] = I.quantize(x[:, :], I.quant.q8_k)
        """,
    ),
)
