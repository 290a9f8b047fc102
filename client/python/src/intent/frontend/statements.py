"""Statements: assignment, branches, and what follows an early exit.

`run` traces a list of statements that reaches to the end of the function or loop body, so a branch
that leaves early is normalised by tracing the statements behind it inside the arms that go on.
Inside a loop, leaving is a matter of hidden names that are carried like any other: BROKE, RETURNED
and RETURN_VALUE.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from . import branches, expressions, hints, loops, syntax
from .branches import RESULT, Disagreement
from .state import MAX_COPIES, Abort, Failure
from .values import POISON, Domain, Unbound, is_leaf, is_poison, leaves

BROKE = "$broke"
RETURNED = "$returned"
RETURN_VALUE = "$return value"

_NOT_PART = {
    ast.With: "with",
    ast.Try: "try",
    ast.Raise: "raise",
    ast.Assert: "assert",
    ast.Import: "import inside a kernel; import at the top of the file",
    ast.ImportFrom: "import inside a kernel; import at the top of the file",
    ast.FunctionDef: "a function inside a kernel; define helpers at the top of the file with @intent.fn",
    ast.ClassDef: "a class inside a kernel",
    ast.Delete: "del",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.Match: "match; use if and elif",
    ast.AsyncFor: "async for",
    ast.AsyncWith: "async with",
    ast.AsyncFunctionDef: "async functions",
}
# Syntax that not every supported Python has.
for _name, _what in (("TryStar", "try"), ("TypeAlias", "type; define aliases at the top of the file")):
    if hasattr(ast, _name):
        _NOT_PART[getattr(ast, _name)] = _what


@dataclass
class Ended:
    """A path has come to the end of its function or loop body; `value` is what a function returns."""

    value: Any = None


def run(state, statements):
    """Traces statements; None if the path falls through to the end of the list."""
    for place, statement in enumerate(statements):
        rest = statements[place + 1 :]
        state.step(statement)
        try:
            if isinstance(statement, ast.If):
                done, ended = _if(state, statement, rest)
                if done:
                    return ended
            elif isinstance(statement, syntax.LOOPS):
                loops.trace(state, statement)
                if syntax.returns([statement]) and _is_bound(state, RETURNED):
                    return _behind_returning_loop(state, statement, rest)
            elif isinstance(statement, ast.Return):
                return _return(state, statement)
            elif isinstance(statement, ast.Break):
                return _break(state, statement)
            elif isinstance(statement, ast.Continue):
                return Ended()
            else:
                _simple(state, statement)
        except Failure:
            for name in syntax.assigned([statement]):
                state.frame.env[name] = POISON
            if isinstance(statement, (ast.Return, ast.Break)):
                return Ended(POISON)
    return None


def _is_bound(state, name) -> bool:
    return not isinstance(state.frame.env.get(name, Unbound("")), Unbound)


# Paths and where they end.


def end_of_path(state, ended) -> dict:
    """What the end of a path leaves: the function's value, or the names that the context merges."""
    if state.frame.slots is None:
        return {RESULT: ended.value if ended is not None else None}
    return {slot: state.frame.env.get(slot, Unbound("it is not assigned")) for slot in state.frame.slots}


def _merge_paths(state, node, test, arms):
    """Two arms that both reach the end of the function, loop body or branch."""
    frame = state.frame
    slots = [RESULT] if frame.slots is None else list(frame.slots)
    merged = branches.merge(state, node, test, arms, slots)
    if isinstance(merged, Disagreement):
        if merged.slot == RESULT:
            message = f"paths return different types: {merged.first} and {merged.second}"
            if "None" in (merged.first, merged.second):
                message += (
                    "; a path without `return` gives None: return something on every path, or nothing on all"
                )
            return Ended(state.error("E0806", message, node))
        _report_branches(state, node, merged)
        merged = {slot: POISON for slot in slots}
    if frame.slots is None:
        return Ended(merged[RESULT])
    for slot in slots:
        frame.env[slot] = merged.get(slot, _one_branch(node))
    return Ended()


def _report_branches(state, node, disagreement):
    name = disagreement.slot if not disagreement.slot.startswith("$") else "what is returned"
    return state.error(
        "E0407",
        f"{name!r} is {disagreement.first} in one branch and {disagreement.second} in the other; make them one type "
        "(I.cast for the dtype, I.full for the shape), or use two names"
        + hints.bare(disagreement.first, disagreement.second),
        node,
    )


def _one_branch(node):
    return Unbound(f"not every branch of the `if` in line {node.lineno} defines it")


def _return(state, node):
    frame = state.frame
    value = None if node.value is None else expressions.evaluate(state, node.value)
    if frame.is_kernel and value is not None:
        if is_leaf(value) and state.kind(value) == "buffer":
            state.error(
                "E0505",
                "a buffer may not escape its kernel; a kernel returns nothing, write to an Out view",
                node,
            )
        else:
            state.error("E0806", "a kernel returns nothing; write to an Out view", node)
        value = None
    elif any(state.kind(leaf) == "buffer" for leaf in leaves(value)):
        value = state.error(
            "E0505",
            "a buffer may not leave the helper; return what it holds, read with an index as b[:]",
            node,
        )
    if frame.loop is None:
        return Ended(value)
    if frame.loop.in_parallel:
        state.error("E0404", "return is not possible in a parallel loop; `continue` ends a point", node)
        return Ended()
    state.at(node)
    frame.env[RETURNED] = state.builder.materialize(True)
    if frame.recorded is not None:
        frame.recorded.append((node, value, [loops.type_or_literal(state, leaf) for leaf in leaves(value)]))
    else:
        frame.env[RETURN_VALUE] = value
    return Ended()


def _break(state, node):
    frame = state.frame
    if frame.loop.parallel:
        state.error(
            "E0404",
            "break is not possible in a parallel loop, whose points have no order; `continue` leaves out a point, and an "
            "ordinary loop has a break",
            node,
        )
    else:
        state.at(node)
        frame.env[BROKE] = state.builder.materialize(True)
    return Ended()


def _behind_returning_loop(state, node, rest):
    """If the loop has returned, the path ends; otherwise it goes on behind it."""
    frame = state.frame

    def left():
        return end_of_path(state, Ended(frame.env.get(RETURN_VALUE)))

    def on():
        if frame.loop is None:
            frame.env.pop(RETURNED, None)
            frame.env.pop(RETURN_VALUE, None)
        return end_of_path(state, run(state, rest))

    flag = frame.env[RETURNED]
    if is_poison(flag):
        return Ended(POISON)
    if frame.recorded is not None and frame.slots is None:
        return Ended()
    if syntax.endless(node):
        return Ended(frame.env.get(RETURN_VALUE))
    return _merge_paths(state, node, flag, (left, on))


# Branches.


def _if(state, node, rest):
    """(whether the rest has been traced too, how it ended)."""
    frame = state.frame
    test = expressions.condition(
        state, expressions.evaluate(state, node.test), "the condition of an if", node.test
    )
    if isinstance(test, bool):
        arm = node.body if test else node.orelse
        if syntax.escapes(arm):
            return True, run(state, arm + rest)
        run(state, arm)
        return False, None
    names = _live_names(state, node)
    if is_poison(test):
        for arm in (node.body, node.orelse):
            branches.discard(state, lambda arm=arm: run(state, arm))
        frame.env.update({name: POISON for name in names})
        return False, None
    key = (id(node), tuple(id(f.definition) for f in state.frames))
    if syntax.escapes(node.body + node.orelse) or key in state.disagreeing:
        return True, _branch_to_end(state, node, test, rest)
    mark = state.builder.mark()

    def trace(arm):
        saved, frame.slots = frame.slots, tuple(names)
        try:
            return end_of_path(state, run(state, arm))
        finally:
            frame.slots = saved

    arms = [lambda arm=arm: trace(arm) for arm in (node.body, node.orelse)]
    merged = branches.merge(state, node, test, arms, names)
    if isinstance(merged, Disagreement):
        if state.is_static(test):
            # The daemon keeps one arm, so what follows may differ: it is traced behind each.
            state.builder.rollback(mark)
            state.disagreeing.add(key)
            return True, _branch_to_end(state, node, test, rest)
        _report_branches(state, node, merged)
        merged = {name: POISON for name in names}
    for name in names:
        frame.env[name] = merged.get(name, _one_branch(node))
    return False, None


def _live_names(state, node) -> list:
    """The names an `if` assigns that may be read behind it; the others are forgotten."""
    frame = state.frame
    inside = syntax.loads([node])
    live = []
    for name in syntax.assigned(node.body + node.orelse):
        if frame.loads[name] > inside[name] or name in (frame.slots or ()):
            live.append(name)
        elif name not in frame.env:
            frame.env[name] = Unbound(f"it belongs to a branch of the `if` in line {node.lineno}")
    return live


def _branch_to_end(state, node, test, rest):
    """Traces each arm together with all that follows it."""
    frame = state.frame
    saved = frame.copies
    if rest and syntax.falls_through(node.body) and syntax.falls_through(node.orelse):
        frame.copies *= 2
        if frame.copies > MAX_COPIES:
            state.error(
                "E0901",
                f"what follows this branch would be compiled more than {MAX_COPIES} times, because so many branches "
                "before it may leave early or choose types; use fewer, or let them set a variable",
                node,
            )
            raise Abort
    arms = [
        lambda arm=arm: end_of_path(state, run(state, arm + (rest if syntax.falls_through(arm) else [])))
        for arm in (node.body, node.orelse)
    ]
    try:
        return _merge_paths(state, node, test, arms)
    finally:
        frame.copies = saved


# Assignment and the rest.


def _simple(state, node):
    if isinstance(node, ast.Assign):
        value = expressions.evaluate(state, node.value)
        for target in node.targets:
            assign(state, target, value, node)
    elif isinstance(node, ast.AnnAssign):
        if node.value is not None:
            assign(state, node.target, expressions.evaluate(state, node.value), node)
    elif isinstance(node, ast.AugAssign):
        _augmented(state, node)
    elif isinstance(node, ast.Expr):
        if not isinstance(node.value, ast.Constant):
            expressions.evaluate(state, node.value)
    elif not isinstance(node, ast.Pass):
        what = _NOT_PART.get(type(node), type(node).__name__)
        state.fail("E0802", f"not part of the language: {what}", node)


def assign(state, target, value, node):
    """Binds a target; literals become runtime values of their own dtype."""
    if isinstance(target, ast.Name):
        if target.id == "_" and not state.frame.loads["_"]:
            return  # unpacked to be dropped
        state.at(node)
        state.frame.env[target.id] = state.settle(value)
    elif isinstance(target, ast.Subscript):
        base, index = _place(state, target)
        _store(state, base, index, value, node)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _destructure(state, target, value, node)
    else:
        state.fail("E0802", "a field cannot be assigned; make a new record with I.record", target)


def _destructure(state, target, value, node):
    starred = [part for part in target.elts if isinstance(part, ast.Starred)]
    if starred:
        state.fail("E0802", "not part of the language: unpacking with *; name every part", starred[0])
    if is_poison(value):
        items = (POISON,) * len(target.elts)
    else:
        state.at(node)
        items = expressions.as_tuple(state, value)
        if items is None:
            state.fail("E0204", f"only a tuple can be unpacked, not {state.describe(value)}", target)
    if len(items) != len(target.elts):
        state.fail("E0204", f"{len(target.elts)} names for a tuple of {len(items)}", target)
    for part, item in zip(target.elts, items):
        assign(state, part, item, node)


def _place(state, target):
    """The base and index of a subscript that is written."""
    base = expressions.evaluate(state, target.value)
    if isinstance(base, (Domain, tuple)):
        state.fail("E0204", f"{state.describe(base)} cannot be written to", target)
    base = state.operand(base, "what is written to", target)
    return base, expressions.index_terms(state, target.slice)


def _store(state, base, index, value, node):
    value = state.operand(value, "the value that is stored", node)
    state.at(node)
    state.builder.store(base, index, value)


def _augmented(state, node):
    target = node.target
    if isinstance(target, ast.Name):
        old = expressions.evaluate(state, ast.copy_location(ast.Name(target.id, ast.Load()), target))
        value = expressions.apply_binary(state, node, node.op, old, expressions.evaluate(state, node.value))
        assign(state, target, value, node)
    elif isinstance(target, ast.Subscript):
        base, index = _place(state, target)
        state.at(node)
        old = state.builder.load(base, index)
        value = expressions.apply_binary(state, node, node.op, old, expressions.evaluate(state, node.value))
        _store(state, base, index, value, node)
    else:
        state.fail("E0802", "a field cannot be assigned; make a new record with I.record", target)
