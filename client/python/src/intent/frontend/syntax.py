"""Facts about syntax trees that need no types: what a statement assigns and how it may leave."""

from __future__ import annotations

import ast
from collections import Counter

LOOPS = (ast.For, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def _inner(node):
    """The children of a node, without those that belong to a nested function."""
    return () if isinstance(node, _SCOPES) else ast.iter_child_nodes(node)


def assigned(nodes) -> dict[str, ast.AST]:
    """Every name that the statements may bind, with the first place that does, in source order."""
    found: dict[str, ast.AST] = {}
    stack = list(reversed(list(nodes)))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.setdefault(node.id, node)
        stack.extend(reversed(list(_inner(node))))
    return found


def loads(nodes) -> Counter:
    """How often the statements read each name; what `x += 1` updates is read too."""
    found: Counter = Counter()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found[node.id] += 1
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] += 1
        stack.extend(_inner(node))
    return found


def returns(nodes) -> bool:
    """Whether a `return` stands anywhere in the statements."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Return):
            return True
        stack.extend(_inner(node))
    return False


def exits(nodes, kinds) -> bool:
    """Whether `break` or `continue` (as `kinds` says) of the loop around the statements stands there."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, kinds):
            return True
        if isinstance(node, LOOPS):
            stack.extend(node.orelse)
        else:
            stack.extend(_inner(node))
    return False


def escapes(nodes) -> bool:
    """Whether the statements may end the path they are on other than by falling through."""
    return returns(nodes) or exits(nodes, (ast.Break, ast.Continue))


def endless(node) -> bool:
    """Whether a statement is a loop that only a `return` leaves."""
    return (
        isinstance(node, ast.While)
        and isinstance(node.test, ast.Constant)
        and node.test.value is True
        and not exits(node.body, ast.Break)
    )


def falls_through(nodes) -> bool:
    """False only if the last statement surely ends the path."""
    if not nodes:
        return True
    last = nodes[-1]
    if isinstance(last, (ast.Return, ast.Break, ast.Continue)):
        return False
    if endless(last):
        return False
    if isinstance(last, ast.If):
        return falls_through(last.body) or falls_through(last.orelse)
    return True


def is_total(node) -> bool:
    """Whether evaluating an expression can neither fail nor cost anything to speak of."""
    allowed = (ast.Name, ast.Constant, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Attribute)
    marks = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
    return all(isinstance(child, allowed + marks) for child in ast.walk(node))
