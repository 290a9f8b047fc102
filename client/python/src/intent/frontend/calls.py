"""Calls: helpers are traced where they are called, in a scope of their own."""

from __future__ import annotations

import ast

from ..dtypes import DType
from ..intrinsics import Intrinsic
from ..kernel import Helper, Kernel
from . import expressions, loops, operations, scopes, signature, statements
from .state import MAX_DEPTH, Frame, State
from .values import Domain, Iteration, is_leaf, is_poison


def call(state, node):
    """The value of a call expression."""
    callee = expressions.evaluate(state, node.func)
    arguments, keywords = _arguments(state, node)
    if isinstance(callee, Helper):
        return call_helper(state, node, callee, arguments, keywords)
    if isinstance(callee, Intrinsic):
        return operations.call(state, node, callee, arguments, keywords)
    if isinstance(callee, type(len)) or callee in (range, enumerate, slice):
        if keywords:
            state.fail("E0803", f"{callee.__name__} takes no keyword arguments in a kernel", node)
        return _BUILTINS[callee](state, node, arguments)
    if isinstance(callee, Kernel):
        state.fail(
            "E0802", "a kernel cannot be called from a kernel; make the shared part an @intent.fn", node
        )
    what = state.describe(callee) if is_leaf(callee) else repr(callee)
    hint = f"; I.cast(x, {callee!r}) converts" if isinstance(callee, DType) else ""
    state.fail("E0801", f"{what} cannot be called in a kernel{hint}", node)


def _arguments(state, node):
    arguments, keywords = [], {}
    for item in node.args:
        if isinstance(item, ast.Starred):
            spread = expressions.as_tuple(state, expressions.evaluate(state, item.value))
            if spread is None:
                state.fail("E0803", "only a tuple can be spread into arguments", item)
            arguments.extend(spread)
        else:
            arguments.append(expressions.evaluate(state, item))
    for item in node.keywords:
        if item.arg is None:
            state.fail("E0803", "keyword arguments cannot be spread in a kernel", node)
        keywords[item.arg] = expressions.evaluate(state, item.value)
    return arguments, keywords


# Helpers.


def call_helper(state, node, helper, arguments, keywords):
    """Traces a helper with these arguments and gives what it returns."""
    for frame in state.frames:
        if frame.definition is helper:
            name = helper.function.__name__
            chain = " -> ".join(f.definition.function.__name__ for f in state.frames if not f.is_kernel)
            state.fail("E0406", f"helpers may not recurse: {name!r} calls itself ({chain} -> {name})", node)
    if len(state.frames) > MAX_DEPTH:
        state.fail("E0901", f"helper calls are nested more than {MAX_DEPTH} deep", node)
    tree = helper.tree()
    signature.refuse_type_parameters(state, tree)
    env = _bind(state, node, helper, tree, arguments, keywords)
    caller = state.frame
    state.frame = Frame(helper, tree.body, env)
    state.frames.append(state.frame)
    try:
        ended = statements.run(state, tree.body)
    finally:
        state.frames.pop()
        state.frame = caller
    return ended.value if ended is not None else None


def _bind(state, node, helper, tree, arguments, keywords) -> dict:
    """The helper's parameters by name."""
    name = helper.function.__name__
    if tree.args.vararg or tree.args.kwarg:
        state.fail("E0804", f"{name!r} has * or ** parameters, which helpers cannot have", node)
    positional = [a.arg for a in tree.args.posonlyargs + tree.args.args]
    keyword_only = [a.arg for a in tree.args.kwonlyargs]
    if len(arguments) > len(positional):
        state.fail(
            "E0803", f"{name!r} takes {len(positional)} positional arguments, not {len(arguments)}", node
        )
    bound = dict(zip(positional, arguments))
    by_name = [a.arg for a in tree.args.args] + keyword_only
    for key, value in keywords.items():
        if key not in by_name:
            state.fail("E0803", f"{name!r} has no parameter {key!r}", node)
        if key in bound:
            state.fail("E0803", f"{name!r} is given {key!r} twice", node)
        bound[key] = value
    defaults = helper.function.__defaults__ or ()
    given = dict(zip(positional[len(positional) - len(defaults) :], defaults))
    given.update(helper.function.__kwdefaults__ or {})
    for key in positional + keyword_only:
        if key in bound:
            continue
        if key not in given:
            state.fail("E0803", f"{name!r} is called without {key!r}", node)
        bound[key] = scopes.outside(state, given[key], key, node)
    return bound


# Python's own functions that are part of the language.


def _range(state, node, arguments):
    if not 1 <= len(arguments) <= 3:
        state.fail("E0803", f"range takes 1 to 3 arguments, not {len(arguments)}", node)
    begin, end, step = ([0, *arguments, 1] if len(arguments) == 1 else [*arguments, 1])[:3]
    return make_domain(state, node, begin, end, step)


def make_domain(state, node, begin, end, step):
    bounds = [
        state.index_operand(value, f"the {what} of a domain", node)
        for value, what in ((begin, "begin"), (end, "end"), (step, "step"))
    ]
    state.at(node)
    operand = state.builder.domain(*bounds)
    return operand if is_poison(operand) else Domain(operand, *bounds)


def _enumerate(state, node, arguments):
    if len(arguments) != 1:
        state.fail("E0803", f"enumerate takes one domain, not {len(arguments)} arguments", node)
    if is_poison(arguments[0]):
        return arguments[0]
    inner = loops.as_iteration(state, arguments[0], node)
    if not inner.single or inner.enumerated:
        state.fail("E0204", "enumerate counts the coordinates of one domain", node)
    return Iteration(inner.domains, True, inner.parallel, enumerated=True)


def _slice(state, node, arguments):
    if not 1 <= len(arguments) <= 2:
        state.fail(
            "E0803", "slice takes start and stop; a step is a domain's: I.domain(begin, end, step)", node
        )
    start, stop = [None, *arguments] if len(arguments) == 1 else arguments
    return slice(*(x if x is None else state.index_operand(x, "a bound", node) for x in (start, stop)))


def _len(state: State, node, arguments):
    items = expressions.as_tuple(state, arguments[0]) if len(arguments) == 1 else None
    if items is None:
        state.fail("E0803", "len is of a tuple; the first extent of a view or tensor is x.shape[0]", node)
    return len(items)


_BUILTINS = {range: _range, enumerate: _enumerate, slice: _slice, len: _len}
