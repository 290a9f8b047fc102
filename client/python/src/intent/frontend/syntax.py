"""Facts about syntax trees that need no types: what a statement assigns and how it may leave.

A tree is read once: what is known of a statement stays on its node, and that of several statements is put
together from theirs. What stands in a nested function belongs to no statement around it.
"""

from __future__ import annotations

import ast
from collections import Counter
from typing import Any

LOOPS = (ast.For, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


# Fields of nodes that hold no name and no statement.
_PLAIN = {"arg", "attr", "conversion", "ctx", "id", "kind", "level", "module", "op", "ops", "type_comment"}
_fields: dict[type, tuple] = {ast.Constant: (), **dict.fromkeys(_SCOPES, ())}  # those that matter, by class


class _Facts:
    """What is known of a statement or expression."""

    __slots__ = ("binds", "breaks", "carries", "continues", "loads", "returns")

    def __init__(self):
        self.binds: dict[str, ast.AST] = {}  # names that may be bound, with the first place, in source order
        self.carries: dict[str, ast.AST] = {}  # those that are bound other than as the variable of a loop
        self.loads: dict[str, int] = {}
        self.returns = False
        self.breaks = False  # of the loop around
        self.continues = False

    def add(self, other: _Facts):
        """Adds what is known of a statement inside."""
        _join(self.binds, other.binds)
        _join(self.carries, other.carries)
        for name, count in other.loads.items():
            self.loads[name] = self.loads.get(name, 0) + count
        self.returns |= other.returns
        self.breaks |= other.breaks
        self.continues |= other.continues


def _join(places: dict[str, ast.AST], later: dict[str, ast.AST]):
    """Adds names with the places of later nodes; the first place of a name stays."""
    for name, place in later.items():
        places.setdefault(name, place)


def _of(root: Any) -> _Facts:
    """The facts of one node: read at the first call, kept on it."""
    try:
        return root.intent_facts
    except AttributeError:
        facts = root.intent_facts = _read(root)
        return facts


def _read(root) -> _Facts:
    facts = _Facts()
    loads = facts.loads
    stack = [root]
    while stack:
        node = stack.pop()
        if type(node) is ast.Name:
            name = node.id
            if type(node.ctx) is ast.Load:
                loads[name] = loads.get(name, 0) + 1
            elif type(node.ctx) is ast.Store:
                facts.binds.setdefault(name, node)
                facts.carries.setdefault(name, node)
        elif isinstance(node, ast.stmt) and node is not root:
            facts.add(_of(node))
        else:
            stack += _children(node)
    if isinstance(root, ast.AugAssign) and isinstance(root.target, ast.Name):
        loads[root.target.id] = loads.get(root.target.id, 0) + 1  # `x += 1` reads x
    facts.returns |= isinstance(root, ast.Return)
    facts.breaks |= isinstance(root, ast.Break)
    facts.continues |= isinstance(root, ast.Continue)
    if isinstance(root, LOOPS):
        facts.breaks, facts.continues = breaks(root.orelse), continues(root.orelse)
    if isinstance(root, ast.For):
        facts.carries = carried(root.body)
    return facts


def _children(node) -> list:
    """The nodes in a node that may hold names or statements, the last first."""
    fields = _fields.get(type(node))
    if fields is None:
        fields = _fields[type(node)] = tuple(name for name in reversed(node._fields) if name not in _PLAIN)
    found = []
    for name in fields:
        child = getattr(node, name, None)
        if isinstance(child, list):
            found += [item for item in reversed(child) if isinstance(item, ast.AST)]
        elif isinstance(child, ast.AST):
            found.append(child)
    return found


def assigned(nodes) -> dict[str, ast.AST]:
    """Every name that the nodes may bind, with the first place that does, in source order."""
    found: dict[str, ast.AST] = {}
    for node in nodes:
        _join(found, _of(node).binds)
    return found


def carried(nodes) -> dict[str, ast.AST]:
    """The same without what is only the variable of a loop."""
    found: dict[str, ast.AST] = {}
    for node in nodes:
        _join(found, _of(node).carries)
    return found


def loads(nodes) -> Counter:
    """How often the nodes read each name; what `x += 1` updates is read too."""
    found: Counter = Counter()
    for node in nodes:
        for name, count in _of(node).loads.items():
            found[name] += count
    return found


def returns(nodes) -> bool:
    """Whether a `return` stands anywhere in the statements."""
    return any(_of(node).returns for node in nodes)


def breaks(nodes) -> bool:
    """Whether a `break` of the loop around the statements stands there."""
    return any(_of(node).breaks for node in nodes)


def continues(nodes) -> bool:
    """Whether a `continue` of the loop around the statements stands there."""
    return any(_of(node).continues for node in nodes)


def escapes(nodes) -> bool:
    """Whether the statements may end the path they are on other than by falling through."""
    return returns(nodes) or breaks(nodes) or continues(nodes)


def endless(node) -> bool:
    """Whether a statement is a loop that only a `return` leaves."""
    return (
        isinstance(node, ast.While)
        and isinstance(node.test, ast.Constant)
        and node.test.value is True
        and not breaks(node.body)
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
