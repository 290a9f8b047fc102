"""The names of the language: each documented, each with a meaning in the front end."""

import subprocess
import sys

import pytest

import intent.language as I
from intent import annotations, dtypes, intrinsics


def every_intrinsic():
    found = []
    for name in I.__all__:
        value = getattr(I, name)
        if isinstance(value, intrinsics.Intrinsic):
            found.append(value)
        if isinstance(value, (intrinsics.Intrinsic, intrinsics.Namespace)):
            found += [m for m in value._members.values() if isinstance(m, intrinsics.Intrinsic)]
    return found


def test_every_intrinsic_is_documented_and_has_a_meaning():
    from intent.frontend.operations import MEANINGS

    names = {intrinsic.name for intrinsic in every_intrinsic()}
    assert all(intrinsic.__doc__ for intrinsic in every_intrinsic())
    assert names == set(MEANINGS)


def test_dtypes_are_canonical_tokens():
    assert I.dtype("f32") is I.f32 and I.f32.itemsize == 4 and repr(I.f32) == "I.f32"
    assert {d.name for d in dtypes.ALL} <= set(dir(I))
    with pytest.raises(ValueError, match="float32"):
        I.dtype("float32")


def test_annotations_hold_what_was_written():
    annotation = I.InOut[I.f32, ("N", 4), I.constraints(noalias=True)]
    assert annotation == annotations.View("InOut", (I.f32, ("N", 4), annotations.Constraints(None, True)))
    assert I.Constexpr[int] == annotations.ConstexprAnnotation(int)


def test_importing_starts_nothing_and_loads_neither_grpc_nor_numpy():
    text = "import intent, sys; assert not {'grpc', 'numpy', 'google.protobuf', 'intent._core'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", text], check=True)


def test_the_package_may_be_used_before_its_language_is_imported():
    text = "import intent; intent.compile; import intent.language as I; assert intent.annotations.View"
    subprocess.run([sys.executable, "-c", text], check=True)
