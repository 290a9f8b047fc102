"""The names of `I`: each is documented with an example that traces, and the stubs say the same."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import intent
import intent.language as I
from intent import explain
from intent.manual import reference

STUB = Path(I.__file__).with_suffix(".pyi")


@pytest.mark.parametrize("name", reference.names())
def test_a_name_has_a_docstring_whose_example_traces(author, name):
    source = reference.example(name)
    assert source, f"I.{name} has no example"
    if not isinstance(reference.value(name), I.f32.__class__):
        assert f"I.{name}" in source
    trace = intent.lower(author(source, header="").kernel, constexprs={"n": 2} if "n: I.C" in source else {})
    assert trace.module


def test_codes_in_documentation_have_pages():
    for name in reference.names():
        for code in re.findall(r"\bE\d{4}\b", reference.documentation(name)):
            assert explain.page(code), f"I.{name} names {code}"


def test_help_begins_with_the_signature():
    assert I.reduce.sum.__doc__.startswith("I.reduce.sum(value, *, axis, acc_dtype=None)\n\n")
    for name in reference.names():
        found = reference.value(name)
        if isinstance(found, intent.intrinsics.Intrinsic):
            assert found.__doc__.startswith(reference.signature(name))


def test_the_overview_names_everything():
    overview = (
        (I.__doc__ or "")
        .partition("\n\n")[2]
        .partition("`help(")[0]
        .replace(",", " ")
        .replace(";", " ")
        .split()
    )
    known = {name.partition(".")[0] for name in reference.names()}
    assert known <= {word.partition(".")[0] for word in overview}
    assert {word for word in overview if "." in word and word[-1].isalpha()} - {"x.shape"} <= set(
        reference.names()
    )


def stub_names():
    """{name: function, class, or None} of what the stubs declare, members as "reduce.sum"."""
    found = {}
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = node
        elif isinstance(node, ast.Assign):
            found[node.targets[0].id] = node
        elif isinstance(node, ast.ImportFrom):
            found.update({alias.asname or alias.name: node for alias in node.names})
    for name, node in list(found.items()):
        kind = found.get(node.annotation.id) if _is_named(node) else None
        if isinstance(kind, ast.ClassDef):
            for member in kind.body:
                if isinstance(member, ast.FunctionDef):
                    found[name if member.name == "__call__" else f"{name}.{member.name}"] = member
                elif isinstance(member, ast.AnnAssign):
                    found[f"{name}.{member.target.id}"] = member
    return found


def _is_named(node):
    return isinstance(node, ast.AnnAssign) and isinstance(node.annotation, ast.Name)


def test_the_stubs_export_the_same_names():
    exported = next(
        ast.literal_eval(node.value)
        for node in ast.parse(STUB.read_text()).body
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
    )
    assert sorted(exported) == sorted(I.__all__)
    assert set(reference.names()) <= set(stub_names())
    ours = {name for name in stub_names() if name.partition(".")[0] in I.__all__}
    assert ours - set(reference.names()) <= {"e2m1.name", "e4m3.name"}


@pytest.mark.parametrize("name", [n for n in reference.names() if callable(reference.value(n))])
def test_the_stubs_have_the_same_signatures(name):
    node = stub_names()[name]
    if not isinstance(node, ast.FunctionDef):
        return  # annotations and enums
    parameters = inspect.signature(reference.value(name)).parameters
    stub = [(a.arg, "positional") for a in node.args.args if a.arg != "self"]
    stub += [(a.arg, "keyword") for a in node.args.kwonlyargs]
    stub += [(node.args.kwarg.arg, "rest")] if node.args.kwarg else []
    kinds = {inspect.Parameter.KEYWORD_ONLY: "keyword", inspect.Parameter.VAR_KEYWORD: "rest"}
    assert stub == [(p.name, kinds.get(p.kind, "positional")) for p in parameters.values()]
    positional = [a.arg for a in node.args.args]
    defaulted = dict(zip(positional[len(positional) - len(node.args.defaults) :], node.args.defaults))
    defaulted.update({a.arg: d for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults) if d is not None})
    for parameter in parameters.values():
        assert (parameter.name in defaulted) == (parameter.default is not inspect.Parameter.empty)
        default = defaulted.get(parameter.name)
        if default is not None and not (isinstance(default, ast.Constant) and default.value is ...):
            assert ast.literal_eval(default) == parameter.default
