"""Targets for GPUs: their names, budgets, and generated source in the author's words."""

import pytest

import intent
from intent import embedded, listing
from intent.commands import kernels


def test_names_of_targets_on_the_command_line():
    assert kernels.target("sm_80") == intent.CudaTarget("sm_80") == kernels.target("cuda:sm_80")
    assert kernels.target("cuda") == intent.CudaTarget()
    assert kernels.target("x86-64-v3") == intent.CpuTarget("x86-64-v3")


class Trace:
    """Operations 3 and 4 are of line 12, 5 of line 13; 6 is of none."""

    class Parameter:
        def __init__(self, kind, name):
            self.kind, self.name = kind, name

    parameters = (Parameter("view", "x"), Parameter("constexpr", "k"), Parameter("scalar", "scale"))

    def place(self, ordinal):
        return ("/home/author/rows.py", {3: 12, 4: 12, 5: 13}.get(ordinal, 0), 0, 0, 0)

    def source_line(self, _, line):
        return f"    line {line}"


def test_a_listing_names_lines_and_parameters():
    text = """\
struct Arguments {
  struct { float* data; i64 low; } view0;
  struct { float* data; i64 low; } view1;
  u64 scalar0[2];
};
  // op 1
  a = 1;
  // op 2
    b = 2;  // op 2
  // op 3
  // op 4"""
    assert (
        listing.annotated(text, Trace(), lambda ordinal: ordinal + 2)
        == """\
struct Arguments {
  struct { float* data; i64 low; } view0;  // x
  struct { float* data; i64 low; } view1;
  u64 scalar0[2];  // scale
};
  // rows.py:12: line 12
  a = 1;
    b = 2;  // op 2
  // rows.py:13: line 13
  // op 4"""
    )


@pytest.mark.parametrize("bad", [-1, 1 << 32, 1.5, True, "64"])
def test_a_budget_is_of_numbers_that_fit(bad):
    with pytest.raises(ValueError, match="registers"):
        intent.ResourceBudget(registers=bad)


def test_the_embedded_daemon_gets_the_nvrtc_of_a_package(tmp_path):
    assert embedded._nvrtc_in([tmp_path]) is None
    for part, library in (("cuda_nvrtc/lib", "libnvrtc.so.12"), ("cu13/lib", "libnvrtc.so.13")):
        (tmp_path / part).mkdir(parents=True)
        (tmp_path / part / library).touch()
        assert embedded._nvrtc_in(["/nowhere", tmp_path]) == tmp_path / part
