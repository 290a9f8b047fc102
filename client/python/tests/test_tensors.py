"""Arrays of other libraries: their memory is used as it is, or refused by the parameter's name."""

import array
import ctypes
import gc

import ml_dtypes
import numpy as np
import pytest
from fake_service import double

from intent import dlpack, marshal
from intent.frontend.signature import Parameter


def view(name="x", dtype="f32", shape=("N",), access="In", alias=None):
    return Parameter(name, "view", 0, 0, None, dtype=dtype, shape=shape, access=access, alias=alias)


def address(value):
    return value.__array_interface__["data"][0]


class Tensor:
    """As torch's on the CPU: DLPack without versions, and __array__ that shares the memory."""

    def __init__(self, memory):
        self.memory = memory

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, stream=None):
        return self.memory.__dlpack__()

    def __array__(self, dtype=None, copy=None):
        return self.memory


class Versioned(Tensor):
    """As newer libraries': the capsule says whether the memory is read-only."""

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self.memory.__dlpack__(max_version=max_version)


class Immutable(Tensor):
    """As JAX's: a capsule that cannot say so, and a read-only __array__."""

    def __array__(self, dtype=None, copy=None):
        shown = self.memory.view()
        shown.flags.writeable = False
        return shown


class OnlyDlpack:
    """Nothing but the protocol; `patch` changes the exported structure."""

    def __init__(self, memory, patch=lambda managed: None, device=(1, 0), versioned=True):
        self.memory, self.patch, self.device, self.versioned = memory, patch, device, versioned

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, max_version=None):
        capsule = self.memory.__dlpack__(max_version=(1, 0) if self.versioned else None)
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        kind = dlpack.DLManagedTensorVersioned if self.versioned else dlpack.DLManagedTensor
        self.patch(kind.from_address(dlpack._get_pointer(capsule, name)))
        return capsule


def typed(code, bits=None, lanes=1):
    def patch(managed):
        managed.tensor.dtype.code = code
        managed.tensor.dtype.lanes = lanes
        if bits:
            managed.tensor.dtype.bits = bits

    return patch


@pytest.mark.parametrize("kind", [Tensor, Versioned, OnlyDlpack])
@pytest.mark.parametrize("access", ["In", "Out", "InOut"])
def test_the_memory_itself_is_used(kind, access):
    memory = np.arange(12, dtype=np.float32).reshape(3, 4).T[1:, ::2]
    made = marshal.as_array(view(shape=("M", "N"), access=access), kind(memory))
    assert address(made) == address(memory) and made.strides == memory.strides
    assert made.shape == memory.shape and (access == "In" or made.flags.writeable)


@pytest.mark.parametrize(
    "dtype", [d for d in dlpack.DTYPES.values() if d[0] != "b" and "8e" not in d] + ["bool"]
)
def test_every_element_type(dtype):
    memory = np.ones(3, dlpack.numpy_dtype(dtype))
    for value in (OnlyDlpack(memory), OnlyDlpack(memory, versioned=False)):
        made = marshal.as_array(view(dtype=dtype), value)
        assert made.dtype == memory.dtype and made.tolist() == memory.tolist()


@pytest.mark.parametrize(
    "dtype, code, carrier, kind",
    [
        ("bf16", 4, np.uint16, ml_dtypes.bfloat16),
        ("f8e4m3fn", 10, np.uint8, ml_dtypes.float8_e4m3fn),
        ("f8e5m2", 12, np.uint8, ml_dtypes.float8_e5m2),
    ],
)
def test_narrow_floats_come_as_ml_dtypes(dtype, code, carrier, kind):
    memory = np.array([1.5, -2, 0.25]).astype(kind).view(carrier)
    made = marshal.as_array(view(dtype=dtype, access="InOut"), OnlyDlpack(memory, typed(code)))
    assert made.dtype == kind and made.astype(np.float32).tolist() == [1.5, -2, 0.25]
    assert address(made) == address(memory)
    made[0] = 4
    assert memory.view(kind)[0] == 4


def test_run_takes_foreign_arrays_and_gives_numpys(build, service):
    service.kernel = double
    x, state, out = (np.ones(3, np.float32) for _ in range(3))
    result = build().run(Tensor(x), 1.0, OnlyDlpack(state))
    assert type(result) is np.ndarray and result.tolist() == [2, 2, 2] and state.tolist() == [2, 2, 2]
    container = Tensor(out)
    prepared = build().prepare(Versioned(x), 1.0, Tensor(state), outputs=(container,))
    prepared.launch()
    assert prepared.result() is container and out.tolist() == [2, 2, 2]


@pytest.mark.parametrize("kind", [Immutable, Versioned, OnlyDlpack, "interface", "bytes"])
@pytest.mark.parametrize("access", ["Out", "InOut"])
def test_read_only_arrays_are_refused_where_the_kernel_writes(kind, access):
    memory = np.ones(4, np.float32)
    value = memory.tobytes() if kind == "bytes" else memory
    if kind == Immutable:
        value = Immutable(memory)
    elif kind != "bytes":
        memory.flags.writeable = False
        value = memory if kind == "interface" else kind(memory)
    dtype = "u8" if kind == "bytes" else "f32"
    with pytest.raises(ValueError, match="state is written to, but its array is read-only"):
        marshal.as_array(view("state", dtype=dtype, access=access), value)
    assert marshal.as_array(view("state", dtype=dtype), value).size


class Gpu:
    def __array__(self, dtype=None, copy=None):
        raise AssertionError("nothing copies it in secret")


def gpu(**attributes):
    return type("GpuArray", (Gpu,), attributes)()


@pytest.mark.parametrize(
    "value, where",
    [
        (gpu(__dlpack_device__=lambda self: (2, 0), __dlpack__=None), "a CUDA GPU"),
        (gpu(__dlpack_device__=lambda self: (10, 1), __dlpack__=None), "a ROCm GPU"),
        (gpu(__dlpack_device__=lambda self: (99, 0), __dlpack__=None), "number 99"),
        (gpu(__cuda_array_interface__={}), "a CUDA GPU"),
    ],
)
def test_arrays_on_a_gpu_are_refused(value, where):
    with pytest.raises(TypeError, match=f"weights takes an array.* on .*{where}.*copy it to the host"):
        marshal.as_array(view("weights"), value)


def test_buffers_and_interfaces():
    numbers = array.array("f", [1, 2, 3])
    made = marshal.as_array(view(access="InOut"), numbers)
    made[0] = 9
    assert numbers[0] == 9
    raw = bytearray(4)
    marshal.as_array(view(dtype="u8", access="Out"), raw)[:] = 7
    assert raw == b"\x07\x07\x07\x07"
    assert marshal.as_array(view(dtype="u8"), b"ab").tolist() == [97, 98]
    assert marshal.as_array(view(dtype="i32"), (ctypes.c_int32 * 2)(3, 4)).tolist() == [3, 4]
    memory = np.arange(4, dtype=np.float32)
    exporter = type("Exporter", (), {"__array_interface__": memory[::2].__array_interface__})()
    assert marshal.as_array(view(access="Out"), exporter).strides == (8,)


class Copies:
    def __array__(self, dtype=None, copy=None):
        return np.ones(2, np.float32)


def test_an_array_that_lends_no_memory_is_only_read():
    assert marshal.as_array(view(), Copies()).tolist() == [1, 1]
    with pytest.raises(TypeError, match="x takes an array, not Copies: it is written to"):
        marshal.as_array(view(access="Out"), Copies())


def test_what_an_exporter_raises_is_told_with_the_parameter():
    class Tracked(Tensor):
        def __dlpack__(self, **keywords):
            raise BufferError("tensors that require gradient cannot be exported; use detach()")

    with pytest.raises(TypeError, match="x takes an array, not Tracked: .*detach"):
        marshal.as_array(view(), Tracked(None))
    with pytest.raises(TypeError, match="x takes an array, not dict"):
        marshal.as_array(view(), {})
    no_capsule = type("T", (), {"__dlpack_device__": lambda self: (1, 0), "__dlpack__": lambda self: 3})()
    with pytest.raises(TypeError, match="gives no DLPack capsule"):
        marshal.as_array(view(), no_capsule)


def patched(**fields):
    def patch(managed):
        for name, value in fields.items():
            setattr(managed if hasattr(managed, name) else managed.tensor, name, value)

    return patch


@pytest.mark.parametrize(
    "patch, words",
    [
        (typed(5, 64), "no element type"),
        (typed(2, 32, lanes=4), "4 lanes"),
        (typed(3), "no element type"),
        (patched(major=2), "DLPack 2"),
        (patched(ndim=-1), "-1 axes"),
        (patched(ndim=2**31 - 1), "axes"),
        (lambda managed: managed.tensor.shape.__setitem__(0, -5), "its shape is"),
        (lambda managed: setattr(managed.tensor.device, "device_type", 2), "not the host's"),
    ],
)
def test_structures_that_are_not_usable(patch, words):
    with pytest.raises(TypeError, match=words):
        marshal.as_array(view(), OnlyDlpack(np.ones(2, np.float32), patch))


def test_offsets_packed_rows_and_empty_arrays():
    def shifted(managed):
        managed.tensor.byte_offset += 4
        managed.tensor.shape[0] -= 1

    memory = np.arange(4, dtype=np.float32)
    assert marshal.as_array(view(), OnlyDlpack(memory, shifted)).tolist() == [1, 2, 3]
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    packed = OnlyDlpack(rows, lambda managed: setattr(managed.tensor, "strides", None))
    assert marshal.as_array(view(shape=("M", "N")), packed).tolist() == rows.tolist()
    empty = OnlyDlpack(np.zeros((0, 3), np.float32), lambda m: setattr(m.tensor, "data", None))
    assert marshal.as_array(view(shape=("M", "N"), access="Out"), empty).shape == (0, 3)


@pytest.mark.parametrize("versioned", [True, False])
def test_the_exporter_is_kept_as_long_as_its_memory_is_used_and_no_longer(versioned):
    class Watched(np.ndarray):
        dead = 0

        def __del__(self):
            Watched.dead += 1

    Watched.dead = 0
    memory = np.ones(1000, np.float32).view(Watched)
    value = OnlyDlpack(memory, versioned=versioned)
    made = marshal.as_array(view(), value)
    part = made[10:20]
    del memory, value, made
    gc.collect()
    assert not Watched.dead and part.sum() == 10
    del part
    gc.collect()
    assert Watched.dead == 1


def test_two_foreign_views_of_one_memory_share_an_allocation():
    memory = np.arange(8, dtype=np.float32)
    call = marshal.lay_out(
        (view("a"), view("b", access="InOut", shape=("M",))), [Tensor(memory[:5]), OnlyDlpack(memory[3:])]
    )
    assert len(call.allocations) == 1
