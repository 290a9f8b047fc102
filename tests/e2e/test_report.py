"""The compile report, at the author's lines."""

import re

import pytest

import intent

KERNEL = """
@intent.fn
def squared(x):
    return x * x


@intent.kernel
def picked(
    x: I.In[I.f32, ("N",)], i: I.In[I.i32, ("M",)], total: I.Out[I.f32, ()], chosen: I.Out[I.f32, ("M",)]
):
    values = x[:]
    total[()] = I.reduce.sum(squared(values), axis=0)
    chosen[:] = values[i[:]] + 1.0
"""


@pytest.fixture
def report_of(author, shared_daemon):
    compiler = intent.Compiler(f"unix:{shared_daemon.socket}")
    module = author(KERNEL)

    def report(target="x86-64-v3", **options):
        artifact = intent.compile(
            module.picked,
            compiler=compiler,
            target=intent.CpuTarget(target),
            options=intent.CompileOptions(**options),
        )
        return artifact.report

    report.line = {
        text: number
        for number, line in enumerate(open(module.__file__).read().splitlines(), 1)
        for text in ("squared(values)", "x * x", "values[i[:]]")
        if text in line
    }
    return report


def test_decisions_stand_at_the_authors_lines(report_of):
    report, line = report_of(), report_of.line
    [fused] = [r for r in report.about("fusion") if r.text.startswith("reduce: ")]
    assert fused.line == line["squared(values)"]
    assert fused.text == f"reduce: fused into its loops: mul (line {line['x * x']})"
    assert fused.file.endswith(".py")
    [guard] = [r for r in report.about("bounds") if r.line is not None]
    assert guard.line == line["values[i[:]]"]
    assert guard.text == "gather: axis 0 is guarded: its index is not proven to lie inside"
    [product] = [r for r in report.about("numerics") if r.line is not None]
    assert f"multiply-reduction fusion: the products of line {line['x * x']} join the sum" in product.text


def test_every_option_shows(report_of):
    def head(**options):
        return "\n".join(r.text for r in report_of(**options).about("options"))

    assert head() == "target x86-64-v3, opt_level=2, numerics=source, bounds=guard"
    assert "opt_level=0" in head(opt_level=0)
    assert "bounds=trust" in head(bounds="trust")
    assert "numerics=relaxed_normalization" in head(numerics="relaxed_normalization")
    assert "online_reduction=False" in head(numerics="relaxed_normalization", online_reduction=False)
    assert "disabled: fuse, parallel" in head(disabled_passes=("parallel", "fuse"))


def test_as_text_it_is_a_table_in_reading_order(report_of):
    report = report_of()
    rows = str(report).splitlines()
    assert len(rows) == len(report)
    assert rows[0].split()[0] == "options"
    numbered = [r.line is not None for r in report]
    first, last = numbered.index(True), len(numbered) - numbered[::-1].index(True)
    assert all(numbered[first:last])
    assert f"line {report_of.line['values[i[:]]']}" in str(report)
    assert not re.search(r"\bop \d", str(report))
    assert str(report_of()) == str(report)


def test_one_report_serves_every_hit(report_of):
    first, again = report_of(target="x86-64-v2"), report_of(target="x86-64-v2")
    assert first == again


def test_equivalent_kernels_share_a_report_but_not_its_lines(author, shared_daemon):
    compiler = intent.Compiler(f"unix:{shared_daemon.socket}")
    text = """
    @intent.kernel
    def doubled(x: I.In[I.f64, ("N",)], y: I.Out[I.f64, ("N",)]):
        {unused}
        y[:] = x[:] + x[:]
    """
    plain = intent.compile(author(text.format(unused="pass")).doubled, compiler=compiler)
    unused = "unused = x[:] * 2.0\n\n        unused = unused + 1.0"
    longer = intent.compile(author(text.format(unused=unused)).doubled, compiler=compiler)
    assert plain.id == longer.id
    assert [r.text for r in plain.report.about("loops")] == [r.text for r in longer.report.about("loops")]
    assert {b.line - a.line for a, b in zip(plain.report, longer.report) if a.line is not None} == {2}


def test_an_interpreter_has_little_to_report(author, shared_daemon):
    module = author(KERNEL)
    compiler = intent.Compiler(f"unix:{shared_daemon.socket}")
    artifact = intent.compile(module.picked, compiler=compiler, target=intent.InterpreterTarget())
    assert [r.stage for r in artifact.report] == ["options"]
