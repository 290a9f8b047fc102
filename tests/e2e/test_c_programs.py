"""Kernels in C and C++ programs: a shared object and a header are all that they need."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import intent

TEXT = """
@intent.kernel
def axpy(a: I.f32, x: I.In[I.f32, ("N",)], y: I.InOut[I.f32, ("N",)]):
    y[:] = a * x[:] + y[:]


@intent.kernel
def product(double: I.In[I.f64, ("M", "K")], b: I.In[I.f64, ("K", "N")], out: I.Out[I.f64, ("M", "N")]):
    out[:, :] = I.matmul(double[:, :], b[:, :], acc_dtype=I.f64)


@intent.kernel
def mixed(
    flag: I.bool, i: I.i8, k: I.index, x: I.In[I.i16, (), I.constraints(noalias=True)], out: I.Out[I.i64, (4,)]
):
    out[0] = I.cast(flag, I.i64)
    out[1] = I.cast(i, I.i64)
    out[2] = I.cast(out.shape[0], I.i64) + I.cast(k, I.i64)
    out[3] = I.cast(x[()], I.i64)


@intent.kernel
def pick(x: I.In[I.f32, ("N",)], i: I.index, out: I.Out[I.f32, (1,)]):
    out[0] = x[i] + I.exp(I.lgamma(x[i]))


@intent.kernel
def regroup(x: I.In[I.u8, ("N",)], out: I.Out[I.u8, ("M", 2)]):
    out[:, :] = I.reshape(x[:], (out.shape[0], 2))
"""

PROGRAM = r"""
#include <math.h>
#include <stdio.h>
#include "axpy.h"
#include "product.h"
#include "mixed.h"
#include "pick.h"
#include "regroup.h"

#define CHECK(condition) \
  do { if (!(condition)) { printf("line %d: %s\n", __LINE__, #condition); return 1; } } while (0)

static double a[70][90], b[90][60], c[70][60];

int main(void) {
  intent_error error;
  {
    float x[5] = {1, 2, 3, 4, 5}, y[5] = {1, 1, 1, 1, 1};
    axpy_arguments call = {2.0f, {&x[4], {5}, {-1}}, {y, {5}, {1}}};
    CHECK(axpy_run(&call, &error) == INTENT_OK);
    CHECK(y[0] == 11 && y[4] == 3);
    CHECK(axpy_run(&call, NULL) == INTENT_OK && y[0] == 21);
    call.y.extents[0] = 4;
    CHECK(axpy_run(&call, &error) == INTENT_BAD_SHAPE);
    CHECK(error.parameter == 1 && error.axis == 0 && error.value == 4 && error.limit == 5);
    call.x.extents[0] = -1;
    CHECK(axpy_run(&call, &error) == INTENT_NEGATIVE_EXTENT && error.parameter == 0);
    call.x.extents[0] = call.y.extents[0] = INT64_MAX;
    call.x.strides[0] = 2;
    CHECK(axpy_run(&call, &error) == INTENT_BAD_SHAPE);
    call.x.extents[0] = call.y.extents[0] = 0;
    CHECK(axpy_run(&call, &error) == INTENT_OK);
  }
  {
    product_arguments call = {{&a[0][0], {70, 90}, {90, 1}}, {&b[0][0], {90, 60}, {60, 1}}, {&c[0][0], {70, 60}, {60, 1}}};
    int i, j, k;
    for (i = 0; i < 70; ++i) for (k = 0; k < 90; ++k) a[i][k] = i + 2 * k;
    for (k = 0; k < 90; ++k) for (j = 0; j < 60; ++j) b[k][j] = k - j;
    CHECK(product_run(&call, &error) == INTENT_OK);
    for (i = 0; i < 70; ++i) for (j = 0; j < 60; ++j) {
      double sum = 0;
      for (k = 0; k < 90; ++k) sum += a[i][k] * b[k][j];
      CHECK(c[i][j] == sum);
    }
    volatile int32_t stop = 1;
    CHECK(product_run_with(&call, NULL, &stop, &error) == INTENT_CANCELLED);
  }
  {
    int16_t x = -7;
    int64_t out[4];
    mixed_arguments call = {1, -5, 1000, {&x}, {out, {4}, {1}}};
    CHECK(mixed_run(&call, &error) == INTENT_OK);
    CHECK(out[0] == 1 && out[1] == -5 && out[2] == 1004 && out[3] == -7);
    call.out.extents[0] = 3;
    CHECK(mixed_run(&call, &error) == INTENT_BAD_SHAPE && error.limit == 4);
    call.out.extents[0] = 4;
    call.x.data = (int16_t*)(void*)&out[1];
    CHECK(mixed_run(&call, &error) == INTENT_BAD_OVERLAP && error.parameter == 0);
  }
  {
    float x[3] = {2, 3, 4}, out[1] = {0};
    pick_arguments call = {{x, {3}, {1}}, 1, {out, {1}, {1}}};
    CHECK(pick_run(&call, &error) == INTENT_OK && fabs(out[0] - 5.0) < 1e-5);
    call.i = 3;
    CHECK(pick_run(&call, &error) == INTENT_OUT_OF_BOUNDS);
    CHECK(error.parameter == 0 && error.axis == 0 && error.value == 3 && error.limit == 3);
  }
  {
    uint8_t x[6] = {1, 2, 3, 4, 5, 6}, out[6] = {0};
    regroup_arguments call = {{x, {6}, {1}}, {out, {3, 2}, {2, 1}}};
    CHECK(regroup_run(&call, &error) == INTENT_OK && out[5] == 6);
    call.x.extents[0] = 5;
    CHECK(regroup_run(&call, &error) == INTENT_BAD_SHAPE);
  }
  puts("good");
  return 0;
}
"""
KERNELS = ("axpy", "product", "mixed", "pick", "regroup")
ALLOWED = set("asin cos erf erfc exp exp2 fma fmod log log1p memcpy memmove memset pow sin tanh".split())
AARCH64 = ("aarch64-linux-gnu-gcc", "qemu-aarch64")


def run(*command, cwd):
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture
def parts(shared_daemon, author, tmp_path):
    """parts(target) is a folder with the shared objects and headers of the kernels, and a program."""
    module = author(TEXT)

    def made(target):
        for name in KERNELS:
            artifact = intent.compile(
                getattr(module, name),
                compiler=f"unix:{shared_daemon.socket}",
                target=intent.CpuTarget(target),
            )
            artifact.save_shared_object(tmp_path / f"{name}.so")
            (tmp_path / f"{name}.h").write_text(artifact.c_header())
        (tmp_path / "program.c").write_text(PROGRAM)
        return tmp_path

    return made


@pytest.mark.parametrize(
    "compiler",
    [("cc", "-std=c11", "-pedantic"), ("c++", "-std=c++17", "-x", "c++")],
    ids=["c", "c++"],
)
def test_a_program_links_kernels_and_calls_them(parts, compiler):
    folder = parts("native")
    objects = [f"./{name}.so" for name in KERNELS]
    flags = ("-Wall", "-Wextra", "-Werror", "-O1", "-Wno-missing-field-initializers")
    run(*compiler, *flags, "program.c", "-c", "-o", "program.o", cwd=folder)
    run(compiler[0], "program.o", *objects, "-lm", "-o", "program", cwd=folder)
    assert run("./program", cwd=folder) == "good\n"


@pytest.mark.skipif(not all(map(shutil.which, AARCH64)), reason="no cross compiler and emulator")
def test_an_aarch64_program(parts):
    folder = parts("aarch64")
    objects = [f"./{name}.so" for name in KERNELS]
    run(AARCH64[0], "-std=c11", "-Wall", "-Werror", "program.c", *objects, "-lm", "-o", "program", cwd=folder)
    assert run(AARCH64[1], "-L", "/usr/aarch64-linux-gnu", "./program", cwd=folder) == "good\n"


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64", "aarch64+lse"])
def test_a_shared_object_stands_alone(parts, target):
    folder = parts(target)
    names = set()
    for name in KERNELS:
        symbols = run("nm", "-D", f"{name}.so", cwd=folder)
        assert set(re.findall(r" U (\w+)", symbols)) <= ALLOWED
        exported = re.findall(r" T (\w+)", symbols)
        assert len(exported) == 2 and "intent_kernel" in exported
        names |= set(exported) - {"intent_kernel"}
        dynamic = run("readelf", "-dW", "-lW", f"{name}.so", cwd=folder)
        assert not re.search(r"NEEDED|INIT|TEXTREL|RPATH|RUNPATH| RWE |\bTLS\b", dynamic), dynamic
        assert re.search(r"GNU_STACK .* RW ", dynamic), dynamic
    assert len(names) == len(KERNELS)


CONDITIONS = [  # (operands, operator, its value; None: it has none), as compile.proto says
    ((7, -9), "ADD", -2),
    ((7, 9), "SUB", -2),
    ((-7, 9), "MUL", -63),
    ((-7, 2), "FLOORDIV", -4),
    ((7, -2), "FLOORDIV", -4),
    ((-6, 2), "FLOORDIV", -3),
    ((-7, 2), "CEILDIV", -3),
    ((7, 2), "CEILDIV", 4),
    ((6, 2), "CEILDIV", 3),
    ((-7, 3), "MOD", 2),
    ((7, -3), "MOD", -2),
    ((5, -1), "MOD", 0),
    ((-(2**63), -1), "MOD", 0),
    ((3, -4), "MIN", -4),
    ((3, -4), "MAX", 3),
    ((3, 3), "EQ", 1),
    ((3, 3), "NE", 0),
    ((-(2**63), 2**63 - 1), "LT", 1),
    ((3, 3), "LE", 1),
    ((0, 5, 6), "SELECT", 6),
    ((-1, 5, 6), "SELECT", 5),
    ((2**63 - 1, 1), "ADD", None),
    ((-(2**63), 1), "SUB", None),
    ((2**62, 2), "MUL", None),
    ((1, 0), "FLOORDIV", None),
    ((-(2**63), -1), "FLOORDIV", None),
    ((1, 0), "CEILDIV", None),
    ((1, 0), "MOD", None),
]


def test_conditions_mean_what_they_mean_elsewhere(author, shared_daemon, tmp_path):
    from intent_proto.compile.v1 import compile_pb2

    from intent import _core

    made = intent.compile(author(TEXT).axpy, compiler=f"unix:{shared_daemon.socket}")
    opcode = compile_pb2.Instruction.Opcode.Value
    program = ["#include <stdio.h>"]
    for number, (operands, operator, value) in enumerate(CONDITIONS):
        manifest = compile_pb2.Manifest()
        manifest.CopyFrom(made.manifest)
        condition = manifest.checks.add().condition.instructions
        for operand in operands:
            condition.add(opcode=opcode("OPCODE_CONSTANT"), value=operand)
        condition.add(opcode=opcode(f"OPCODE_{operator}"))
        condition.add(opcode=opcode("OPCODE_CONSTANT"), value=value or 0)
        condition.add(opcode=opcode("OPCODE_EQ"))
        header = _core.c_header(
            manifest.SerializeToString(), made.payload("shared_object"), f"k{number}", ["a", "x", "y"], []
        )
        (tmp_path / f"k{number}.h").write_text(header)
        program.append(f'#include "k{number}.h"')
    program.append("int main(void) { float x = 1, y = 1; int32_t status;")
    for number, (_, _, value) in enumerate(CONDITIONS):
        wanted = "INTENT_OK" if value is not None else "INTENT_BAD_SHAPE"
        program.append(f"{{ k{number}_arguments call = {{1, {{&x, {{1}}, {{1}}}}, {{&y, {{1}}, {{1}}}}}};")
        program.append(f"status = k{number}_run(&call, NULL);")
        program.append(f'if (status != {wanted}) printf("{number}: %d\\n", status); }}')
    (tmp_path / "program.c").write_text("\n".join([*program, "return 0; }", ""]))
    made.save_shared_object(tmp_path / "k.so")
    run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "program.c", "./k.so", "-lm", "-o", "program", cwd=tmp_path)
    assert run("./program", cwd=tmp_path) == ""


def test_names_that_c_does_not_take(author, shared_daemon, tmp_path):
    module = author(
        """
        @intent.kernel
        def größe(int: I.In[I.f32, ("N",)], µ: I.f32, argument1: I.Out[I.f32, ("N",)]):
            argument1[:] = int[:] * µ
        """
    )
    made = intent.compile(module.größe, compiler=f"unix:{shared_daemon.socket}")
    assert made.run(np.ones(2, np.float32), 2.0).tolist() == [2, 2]
    header = made.c_header()
    assert header.isascii()
    (tmp_path / "k.h").write_text(header)
    (tmp_path / "k.c").write_text('#include "k.h"\nint main(void) { return 0; }\n')
    run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-c", "k.c", cwd=tmp_path)
    assert "float argument1;" in header and "} argument0;" in header


def test_other_artifacts_have_no_c(author, shared_daemon):
    made = intent.compile(
        author(TEXT).axpy, compiler=f"unix:{shared_daemon.socket}", target=intent.InterpreterTarget()
    )
    with pytest.raises(KeyError, match="holds no shared object"):
        made.c_header()


def test_intentc_writes_both(shared_daemon, tmp_path):
    from harness import ROOT, intentc

    sample = ROOT / "client" / "cpp" / "testdata" / "saxpy.kir"
    intentc("compile", sample, "-o", tmp_path, "--daemon", f"unix:{shared_daemon.socket}")
    header = (tmp_path / "kernel.h").read_text()
    assert (tmp_path / "kernel.so").read_bytes()[:4] == b"\x7fELF"
    (tmp_path / "k.c").write_text('#include "kernel.h"\nint main(void) { return 0; }\n')
    run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "k.c", "./kernel.so", "-lm", cwd=tmp_path)
    assert re.search(r"static inline int32_t \w+_run\(", header)
