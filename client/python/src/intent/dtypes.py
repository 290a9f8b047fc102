"""Element types of the language: canonical tokens, compared by identity."""

from __future__ import annotations


class DType:
    """A scalar type of the language, for example `I.f32`; `name`, `bits`, `itemsize` and `kind` describe it.

    As the annotation of a kernel's parameter it declares a runtime scalar. Values of different dtypes never mix: `I.cast`
    converts (E0201). `I.index` is what coordinates and extents are, a signed integer of 64 bits distinct from `I.i64`.

    Example:

        @intent.kernel
        def kernel(x: I.In[I.f16, ("N",)], factor: I.f32, out: I.Out[I.f32, ("N",)]):
            out[:] = I.cast(x[:], I.f32) * factor
    """

    __slots__ = ("name", "bits", "kind")

    def __init__(self, name: str, bits: int, kind: str):
        self.name = name
        self.bits = bits
        self.kind = kind  # "bool", "index", "signed", "unsigned" or "float"

    @property
    def itemsize(self) -> int:
        """Bytes of one element in memory."""
        return max(1, self.bits // 8)

    def __repr__(self) -> str:
        return f"I.{self.name}"

    def __reduce__(self):
        return dtype, (self.name,)


_TABLE = {
    token.name: token
    for token in (
        DType("bool", 1, "bool"),
        DType("index", 64, "index"),
        DType("i8", 8, "signed"),
        DType("i16", 16, "signed"),
        DType("i32", 32, "signed"),
        DType("i64", 64, "signed"),
        DType("u8", 8, "unsigned"),
        DType("u16", 16, "unsigned"),
        DType("u32", 32, "unsigned"),
        DType("u64", 64, "unsigned"),
        DType("f16", 16, "float"),
        DType("bf16", 16, "float"),
        DType("f32", 32, "float"),
        DType("f64", 64, "float"),
        DType("f8e4m3fn", 8, "float"),
        DType("f8e5m2", 8, "float"),
    )
}

ALL = tuple(_TABLE.values())


def dtype(name: str) -> DType:
    """The token of a canonical name: `I.dtype("f32")` is `I.f32`. Other names are a ValueError.

    Example:

        wide = I.dtype("f64")


        @intent.kernel
        def kernel(x: I.In[I.f32, ("N",)], out: I.Out[wide, ("N",)]):
            out[:] = I.cast(x[:], wide)
    """
    try:
        return _TABLE[name]
    except KeyError:
        raise ValueError(f"no dtype is named {name!r}; there are {', '.join(_TABLE)}") from None
