"""What notebooks show."""

import re

import pytest

import intent
from intent.report import Report, ReportLine

TEXT = """
@intent.kernel
def kernel(x: I.In[I.f32, ("N",)], n: I.Constexpr[int], out: I.Out[I.f32, ("N",)]):
    out[:] = I.select(x[:] < 1.0, x[:], 2.0)


@intent.fn
def helper(a):
    return a < 1


@intent.kernel
def wrong(x: I.In[I.f32, ("N",)], out: I.Out[I.f32, ("N",)]):
    out[:] = I.foo(x[:] < 1.0)
"""


def balanced(html):
    """Whether every tag that opens closes, in order."""
    stack = []
    for closing, tag in re.findall(r"<(/?)(\w+)>", html):
        if not closing:
            stack.append(tag)
        elif not stack or stack.pop() != tag:
            return False
    return not stack


def test_a_kernel_shows_its_parameters_and_source(author):
    html = author(TEXT).kernel._repr_html_()
    assert balanced(html) and "<td>x</td><td>In</td><td>f32 (N,)</td>" in html
    assert "must be bound" in html and "x[:] &lt; 1.0" in html


def test_a_helper_shows_its_source(author):
    html = author(TEXT).helper._repr_html_()
    assert balanced(html) and "<b>fn helper</b>" in html and "a &lt; 1" in html


def test_a_diagnostic_shows_its_line_and_explanation(author):
    with pytest.raises(intent.CompileError) as caught:
        intent.lower(author(TEXT).wrong)
    html = caught.value.diagnostics[0]._repr_html_()
    assert balanced(html) and "unknown intrinsic I.foo" in html and "x[:] &lt; 1.0" in html
    assert "<summary>E0801: " in html
    shown = caught.value._render_traceback_()
    assert shown[0] == "CompileError: 1 found" and "^" in shown[1] and shown[2].endswith("explain E0801")


def test_a_report_is_shown_as_a_table():
    report = Report([], lambda ordinal: ("", 0, 0, 0, 0))
    assert report._repr_html_() == "<pre></pre>"
    report = tuple.__new__(Report, [ReportLine("loops", "8 lanes < 16", 3, "a.py")])
    assert report._repr_html_() == "<pre>line 3  loops     8 lanes &lt; 16</pre>"


def test_a_code_without_a_page_is_shown_without():
    html = intent.Diagnostic("E9999", "from the future")._repr_html_()
    assert html == "<pre>error E9999: from the future</pre>"


def test_a_kernel_without_source_says_so():
    scope = {"intent": intent}
    exec("@intent.kernel\ndef kernel():\n    pass\n", scope)
    assert "E0805" in scope["kernel"]._repr_html_()
