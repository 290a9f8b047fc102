"""Arguments: what is refused, by the parameter's name, and how arrays that share memory are laid out."""

import numpy as np
import pytest

from intent import marshal
from intent.arguments import complete
from intent.frontend.signature import Parameter
from intent.numbers import Misfit, scalar_bits

ml_dtypes = pytest.importorskip("ml_dtypes")


def view(name, dtype="f32", shape=("N",), access="In", alias=None):
    return Parameter(name, "view", 0, 0, None, dtype=dtype, shape=shape, access=access, alias=alias)


def scalar(name, dtype):
    return Parameter(name, "scalar", 0, 0, None, dtype=dtype)


def round_trip(parameters, arrays, change):
    """What copy_back makes of the arrays after `change` has had the allocations' contents."""
    call = marshal.lay_out(parameters, arrays)
    contents = {i: bytearray(a.content()) for i, a in enumerate(call.allocations)}
    change(call, contents)
    marshal.copy_back(call, contents)


def elements(call, contents, position, dtype=np.float32):
    """The array that a view argument describes over the contents."""
    argument = call.arguments[position]
    size = np.dtype(dtype).itemsize
    strides = tuple(s * size for s in argument.strides)
    return np.ndarray(argument.extents, dtype, contents[argument.allocation], argument.offset * size, strides)


def test_overlapping_arrays_share_an_allocation():
    memory = np.arange(20, dtype=np.float32)
    call = marshal.lay_out((view("a"), view("b", access="InOut")), [memory[:-1], memory[1:]])
    assert len(call.allocations) == 1
    assert call.arguments[1].offset - call.arguments[0].offset == 1


def test_separate_arrays_do_not():
    call = marshal.lay_out((view("a"), view("b")), [np.zeros(4, np.float32), np.zeros(4, np.float32)])
    assert len(call.allocations) == 2


def test_an_alias_group_lies_in_one_allocation():
    memory = np.zeros(8, np.float32)
    parameters = (view("a", access="InOut", alias="g"), view("b", access="InOut", alias="g"))
    assert len(marshal.lay_out(parameters, [memory[:4], memory[4:]]).allocations) == 1
    with pytest.raises(ValueError, match="a and b are of the alias group 'g'"):
        marshal.lay_out(parameters, [memory[:4], np.zeros(4, np.float32)])


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.arange(12, dtype=np.float32).reshape(3, 4)[::-1, ::-2],
        lambda: np.arange(12, dtype=np.float32).reshape(3, 4).T,
        lambda: np.arange(40, dtype=np.float32).reshape(5, 8)[1:4, 2:7:2],
        lambda: np.zeros((0, 3), np.float32),
        lambda: np.arange(2, dtype=np.float32).reshape(2, 1),
    ],
)
def test_strides_survive_there_and_back(make):
    array = make()
    before = array.copy()

    def change(call, contents):
        seen = elements(call, contents, 0)
        assert np.array_equal(seen, before)
        seen += 100

    round_trip((view("x", shape=("M", "N"), access="InOut"),), [array], change)
    assert np.array_equal(array, before + 100)


def test_what_lies_between_the_elements_is_not_touched():
    memory = np.arange(10, dtype=np.float32)

    def change(call, contents):
        contents[0][:] = b"\xff" * len(contents[0])
        elements(call, contents, 0)[:] = 0

    round_trip((view("x", access="InOut"),), [memory[::2]], change)
    assert memory.tolist() == [0, 1, 0, 3, 0, 5, 0, 7, 0, 9]


def test_a_broadcast_array_sends_each_element_once():
    row = np.arange(4, dtype=np.float32)
    call = marshal.lay_out((view("x", shape=("M", "N")),), [np.broadcast_to(row, (1000, 4))])
    assert call.allocations[0].size < 128 and call.arguments[0].strides == (0, 1)


def test_views_of_different_types_keep_their_alignment():
    memory = np.zeros(64, np.uint8)
    parts = [memory[1:9], memory[8:40].view(np.float64)]
    call = marshal.lay_out((view("a", "u8", ("M",)), view("b", "f64", ("N",))), parts)
    assert len(call.allocations) == 1
    assert (call.arguments[1].offset * 8 - call.arguments[0].offset) == 7


@pytest.mark.parametrize(
    "array, error, words",
    [
        (np.zeros(4, np.float64), TypeError, "x is f32, its array float64"),
        (np.zeros(4, ">f4"), TypeError, "x: the array's byte order"),
        (np.zeros((2, 2), np.float32), ValueError, "x has 1 axes"),
        ([1.0, 2.0], TypeError, "not list; np.array(..., 'float32'.* makes one"),
        (np.float32(1.0), TypeError, "x takes an array"),
        (np.ma.zeros(4, np.float32), TypeError, "not a masked one"),
        (
            np.frombuffer(bytes(17), np.uint8)[1:].view(np.float32),
            ValueError,
            "x is written to, but its array is read-only",
        ),
        (np.zeros(33, np.uint8)[1:33].view(np.float32), ValueError, "x: the array is not aligned"),
        (np.zeros(9, np.dtype([("a", "f4"), ("b", "u1")]))["a"], ValueError, "x: "),
    ],
)
def test_refused_arrays(array, error, words):
    with pytest.raises(error, match=words.replace("(", r"\(")):
        marshal.lay_out((view("x", access="InOut"),), [array])


def test_equal_symbols_name_both_parameters():
    with pytest.raises(ValueError, match=r"N is 3 in a but 4 in b \(axis 0\)"):
        marshal.lay_out((view("a"), view("b")), [np.zeros(3, np.float32), np.zeros(4, np.float32)])
    with pytest.raises(ValueError, match="a: axis 0 has 5 elements, its array 3"):
        marshal.lay_out((view("a", shape=(5,)),), [np.zeros(3, np.float32)])


def test_narrow_formats_come_as_their_own_dtype_or_as_bits():
    parameters = (view("a", "bf16"), view("b", "f8e4m3fn", ("M",)))
    marshal.lay_out(parameters, [np.zeros(3, ml_dtypes.bfloat16), np.zeros(3, ml_dtypes.float8_e4m3fn)])
    marshal.lay_out(parameters, [np.zeros(3, np.uint16), np.zeros(3, np.uint8)])
    with pytest.raises(TypeError, match="a is bf16"):
        marshal.lay_out(parameters, [np.zeros(3, np.float16), np.zeros(3, np.uint8)])


def test_results_of_narrow_formats_are_ml_dtypes_arrays():
    assert marshal.output_array(view("o", "bf16"), {"N": 3}).dtype == ml_dtypes.bfloat16


def test_an_output_whose_extent_no_argument_gives():
    with pytest.raises(ValueError, match="o: no argument gives the extent N"):
        marshal.output_array(view("o"), {})


@pytest.mark.parametrize(
    "value, dtype, bits",
    [
        (1.0, "f32", 0x3F800000),
        (1, "f64", 0x3FF0000000000000),
        (-1, "i8", 0xFF),
        (2**64 - 1, "u64", 2**64 - 1),
        (True, "bool", 1),
        (np.float32(1.5), "f32", 0x3FC00000),
        (np.int16(-2), "i32", 0xFFFFFFFE),
        (-0.0, "bf16", 0x8000),
        (float("inf"), "f16", 0x7C00),
        (1e-7, "f16", 0x0002),
        (448, "f8e4m3fn", 0x7E),
    ],
)
def test_scalars(value, dtype, bits):
    assert scalar_bits(value, dtype) == bits


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f8e5m2"])
def test_narrow_scalars_round_once(dtype):
    numpy_type = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8e5m2": ml_dtypes.float8_e5m2}[dtype]
    carrier = np.dtype(f"u{np.dtype(numpy_type).itemsize}")
    for value in np.random.default_rng(1).standard_normal(200).astype(np.float32):
        assert scalar_bits(float(value), dtype) == np.array(value).astype(numpy_type).view(carrier)


@pytest.mark.parametrize(
    "value, dtype",
    [
        (300, "u8"),
        (-1, "u32"),
        (1.5, "i32"),
        (True, "i32"),
        (1, "bool"),
        (2**24 + 1, "f32"),
        (1e39, "f32"),
        (10**400, "f64"),
        ("1", "i8"),
        (449, "f8e4m3fn"),
    ],
)
def test_scalars_that_do_not_fit(value, dtype):
    with pytest.raises(Misfit):
        scalar_bits(value, dtype)


def test_a_scalar_that_does_not_fit_names_its_parameter():
    with pytest.raises(ValueError, match="rate is u8, which 300"):
        marshal.lay_out((scalar("rate", "u8"),), [300])
    with pytest.raises(TypeError, match="rate takes a number"):
        marshal.lay_out((scalar("rate", "u8"),), ["no"])


def test_a_wrong_number_of_arguments_lists_the_parameters():
    with pytest.raises(TypeError, match=r"1 arguments for 2 parameters \(a, b\)"):
        marshal.lay_out((view("a"), view("b")), [np.zeros(1, np.float32)])


def test_out_arrays_too_many_or_missing_say_where_they_go():
    one = np.zeros(1, np.float32)
    parameters = (view("a"), view("b", access="Out"))
    with pytest.raises(TypeError, match="1 arguments for 2 parameters .*; `run` makes the Out arrays"):
        marshal.lay_out(parameters, [one])
    with pytest.raises(TypeError, match="2 arguments for 1 parameters .*; Out arrays go to outputs="):
        complete(parameters, [one, one])
